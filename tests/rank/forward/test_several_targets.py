"""Several quantities explained by the same features."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

from tamis import CorrelationScore, ForwardLeastSquares, GramSchmidt
from tamis.stop import CrossValidation, LeaveOneOut, MonteCarloProbe
from tests.oracles.gram_schmidt import deflation

METHODS = [GramSchmidt, ForwardLeastSquares]


def problem(seed=0, n=80, d=10):
    """The first target needs x0 and x1, the second x1 and x2, in other units."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d))
    Y = np.column_stack([X[:, 0] + X[:, 1], 1e6 * (X[:, 1] - X[:, 2])]) + rng.standard_normal((n, 2)) * [0.5, 5e5]
    return X, Y


@pytest.mark.parametrize("method", METHODS)
def test_features_of_either_target_are_kept_by_the_default_probe(method):
    X, Y = problem()
    found = method().fit(X, Y)
    assert sorted(found.get_support(indices=True)) == [0, 1, 2]
    assert found.task_ == "regression"
    assert "2 quantities" in found.stop_.reason


def test_the_order_is_that_of_a_plain_deflation_by_wilks_lambda():
    X, Y = problem()
    order = deflation(X, Y / Y.std(axis=0))[0]
    np.testing.assert_array_equal(GramSchmidt(stop=6).fit(X, Y).order_, order[:6])


def test_the_probe_keeps_noise_no_more_often_than_its_risk():
    kept = 0
    for seed in range(60):
        rng = np.random.RandomState(seed)
        found = GramSchmidt(stop=None, max_features=1).fit(rng.standard_normal((40, 20)), rng.standard_normal((40, 2)))
        rule = GramSchmidt()._stopping_rule()
        kept += rule._analytic(found.path_)[0] <= 0.2
    assert kept <= 23  # 12 expected; a chance of 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_model_is_that_of_least_squares(method, weighted):
    X, Y = problem()
    weight = np.random.RandomState(1).randint(1, 4, len(X)) if weighted else None
    found = method(stop=3).fit(X, Y, sample_weight=weight)
    kept = X[:, found.estimator_.features]
    expected = LinearRegression().fit(kept, Y, sample_weight=weight)
    np.testing.assert_allclose(found.estimator_.predict(kept), expected.predict(kept), rtol=1e-8, atol=1e-3)
    coef, intercept = found.estimator_.coefficients(X.shape[1])
    np.testing.assert_allclose(X @ coef.T + intercept, expected.predict(kept), rtol=1e-8, atol=1e-3)
    if not weighted:
        shares = 1 - ((Y - expected.predict(kept)) ** 2).mean(axis=0) / Y.var(axis=0)
        assert found.estimator_.r2 == pytest.approx(shares.mean(), rel=1e-9)


@pytest.mark.parametrize("method", [*METHODS, CorrelationScore])
def test_units_and_offsets_of_the_targets_do_not_matter(method):
    X, Y = problem()
    plain, other = (method(stop=3).fit(X, T) for T in (Y, Y * [1e-9, -1e3] + [5e-9, 1e9]))
    np.testing.assert_array_equal(plain.order_[:3], other.order_[:3])
    np.testing.assert_allclose(plain.scores_, other.scores_, rtol=1e-6)


@pytest.mark.parametrize("rule", [LeaveOneOut(), CrossValidation(cv=3), MonteCarloProbe(n_draws=19)], ids=repr)
def test_rules_take_several_targets(rule):
    X, Y = problem()
    assert set(GramSchmidt(stop=rule).fit(X, Y).get_support(indices=True)) >= {0, 1, 2}
    assert CorrelationScore(stop=MonteCarloProbe(n_draws=19)).fit(X, Y).support_[1]


@pytest.mark.parametrize("method", [*METHODS, CorrelationScore])
def test_targets_may_come_as_a_data_frame(method):
    X, Y = problem()
    expected = method(stop=3).fit(X, Y)
    columns = {"a": Y[:, 0], "b": Y[:, 1]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        np.testing.assert_array_equal(method(stop=3).fit(X, frame).order_, expected.order_)


def test_groups_are_ranked_for_several_targets():
    X, Y = problem()
    found = GramSchmidt(groups=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]).fit(X, Y)
    assert found.get_support(indices=True).tolist() == [0, 1, 2, 3]


def test_one_column_is_one_target():
    X, Y = problem()
    np.testing.assert_array_equal(GramSchmidt().fit(X, Y[:, :1]).scores_, GramSchmidt().fit(X, Y[:, 0]).scores_)


@pytest.mark.parametrize(
    ("Y", "task", "words"),
    [
        (np.array([["a", "b"]] * 40 + [["b", "a"]] * 40), "auto", "not all of which are numbers"),
        (np.column_stack([np.arange(80), np.ones(80)]), "auto", "column 1 of y is constant"),
        (np.arange(160).reshape(80, 2) % 2, "classification", "several quantities"),
        (np.column_stack([np.arange(80.0), np.full(80, np.nan)]), "auto", "NaN"),
    ],
    ids=["labels", "constant", "classes", "missing"],
)
def test_bad_targets_are_named(Y, task, words):
    with pytest.raises(ValueError, match=words):
        GramSchmidt(task=task).fit(problem()[0], Y)
