"""Leave-one-out along the path, against models fitted again without each row."""

import numpy as np
import pytest

from tamis import CorrelationScore, ForwardLeastSquares, GramSchmidt
from tamis.datasets import make_linear
from tamis.stop import LeaveOneOut
from tests.oracles.least_squares import leave_one_out


@pytest.mark.parametrize("ranker", [GramSchmidt, ForwardLeastSquares])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_number_kept_minimizes_the_explicit_error(ranker, seed, weighted):
    X, y = make_linear(30, n_features=10, noise=1.5, random_state=seed)
    weight = 0.5 + np.random.RandomState(seed).uniform(size=30) if weighted else None
    found = ranker(stop=LeaveOneOut(patience=None)).fit(X, y, sample_weight=weight)
    expected = [leave_one_out(X[:, found.order_[:k]], y[:, None], weight) for k in range(11)]
    np.testing.assert_allclose(found.stop_.curve, expected, rtol=1e-8)
    np.testing.assert_array_equal(found.stop_.curve_at, np.arange(11))
    assert found.stop_.n_features == np.argmin(expected)


def test_the_empty_model_wins_on_noise_and_the_reason_says_so():
    rng = np.random.RandomState(3)
    found = GramSchmidt(stop=LeaveOneOut()).fit(rng.standard_normal((40, 1)), rng.standard_normal(40))
    assert found.stop_.n_features == 0
    assert "mean alone" in found.stop_.reason


def test_patience_ends_the_path_that_many_steps_after_the_minimum():
    X, y = make_linear(100, n_features=40, coef=[3, 3, 3], noise=1.0, random_state=0)
    whole = GramSchmidt(stop=LeaveOneOut(patience=None)).fit(X, y)
    found = GramSchmidt(stop=LeaveOneOut(patience=4)).fit(X, y)
    best = 1 + int(np.argmin(found.stop_.curve[1:]))
    assert len(found.path_) == best + 4 < len(whole.path_)
    np.testing.assert_allclose(found.stop_.curve, whole.stop_.curve[: len(found.stop_.curve)], rtol=1e-10)


def test_with_more_features_than_rows_the_saturated_models_are_not_chosen():
    X, y = make_linear(12, n_features=40, random_state=0)
    found = GramSchmidt(stop=LeaveOneOut(patience=None)).fit(X, y)
    assert found.stop_.n_features < 11
    assert np.isfinite(found.stop_.curve[found.stop_.n_features])


def test_a_ranker_without_a_least_squares_path_is_refused_and_both_are_named():
    with pytest.raises(ValueError, match=r"LeaveOneOut is for methods.*GramSchmidt.*CorrelationScore"):
        CorrelationScore(stop="leave-one-out").fit(*make_linear(random_state=0))
