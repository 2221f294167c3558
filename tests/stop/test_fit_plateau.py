"""The plateau of FIT: how many features stand for all."""

import tracemalloc

import array_api_strict
import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn import config_context

from tamis import GramSchmidt, LaplacianScore, MaxVariance, RandomSelection
from tamis.assess import fit_score
from tamis.dictionary import Monomials
from tamis.stop import FITPlateau
from tamis.stop._fit_plateau import tried_sizes


def curved(n=200, d=30, latent=3, noise=0.01, seed=0):
    """Smooth functions of a few hidden variables, which are the first columns and vary most."""
    rng = np.random.RandomState(seed)
    t = rng.uniform(-1, 1, (n, latent))
    mixed = np.tanh(t @ rng.standard_normal((latent, d - latent)))
    return np.column_stack([3 * t, mixed]) + noise * rng.standard_normal((n, d))


def test_the_curve_is_the_leave_one_out_fit_of_each_number_of_features():
    X = curved()
    ranker = MaxVariance(stop=FITPlateau()).fit(X)
    decision = ranker.stop_
    for k, value in zip(decision.curve_at, decision.curve, strict=True):
        assert value == pytest.approx(fit_score(X, ranker.order_[:k]), abs=1e-9)


def test_it_keeps_the_fewest_features_within_the_tolerance_of_the_best():
    X = curved()
    decision = MaxVariance(stop=FITPlateau(0.02)).fit(X).stop_
    best = max(decision.curve.max(), fit_score(X, None))
    within = decision.curve >= best - 0.02
    assert decision.n_features == decision.curve_at[within][0]
    assert decision.threshold == pytest.approx(best - 0.02)
    assert f"the first {decision.n_features} features" in decision.reason


def test_three_hidden_variables_need_three_features():
    assert MaxVariance(stop="fit-plateau").fit(curved()).stop_.n_features == 3


def test_a_larger_tolerance_never_keeps_more():
    X = curved(noise=0.3)
    kept = [MaxVariance(stop=FITPlateau(eps)).fit(X).stop_.n_features for eps in (0.0, 0.01, 0.05, 0.2)]
    assert kept == sorted(kept, reverse=True)


def test_every_size_is_tried_at_first_and_the_last_always():
    for most in (1, 31, 32, 33, 1000):
        sizes = tried_sizes(most)
        assert sizes[0] == 1
        assert sizes[-1] == most
        assert (np.diff(sizes) >= 1).all()
    assert tried_sizes(1000).size < 80


def test_large_tables_are_judged_on_some_rows_and_repeatably():
    X = curved(500)
    rule = FITPlateau(max_samples=100, random_state=3)
    first, second = MaxVariance(stop=rule).fit(X).stop_, MaxVariance(stop=rule).fit(X).stop_
    np.testing.assert_array_equal(first.curve, second.curve)
    other = MaxVariance(stop=FITPlateau(max_samples=100, random_state=4)).fit(X).stop_
    assert not np.array_equal(first.curve, other.curve)


def test_sparse_tables_are_judged_too():
    X = sparse.csr_array(curved() * (np.random.RandomState(0).uniform(size=(200, 30)) < 0.5))
    found, dense = MaxVariance(stop=FITPlateau()).fit(X).stop_, MaxVariance(stop=FITPlateau()).fit(X.toarray()).stop_
    np.testing.assert_allclose(found.curve, dense.curve, atol=1e-9)


@pytest.mark.parametrize("container", [torch.asarray, array_api_strict.asarray], ids=["torch", "strict"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_on_a_device_are_judged_as_on_the_host(container, dtype):
    X = curved(n=80).astype(dtype)
    rule = FITPlateau(max_samples=60)
    expected = MaxVariance(stop=rule).fit(X)
    with config_context(array_api_dispatch=True):
        found = MaxVariance(stop=rule).fit(container(X))
    np.testing.assert_allclose(found.stop_.curve, expected.stop_.curve, atol=1e-10 if dtype == np.float64 else 1e-4)
    assert found.stop_.n_features == expected.stop_.n_features


def test_products_and_neighbors_of_rows_leave_the_device_but_not_the_table(transfers):
    X = torch.asarray(curved(n=50, d=400))
    with config_context(array_api_dispatch=True):
        MaxVariance(stop=FITPlateau()).fit(X)
    assert 0 < max(transfers) <= 50**2


def test_two_rows_cannot_tell():
    ranker = LaplacianScore().fit([[0.0, 1.0], [1.0, 3.0]])
    assert ranker.stop_.n_features == 2
    assert "too few rows" in ranker.stop_.reason


def test_it_works_with_any_ranker():
    assert 1 <= RandomSelection(stop=FITPlateau(), random_state=0).fit(curved()).stop_.n_features <= 30


@pytest.mark.parametrize("arguments", [{"tolerance": -1}, {"n_neighbors": 0}, {"max_samples": 2}])
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        MaxVariance(stop=FITPlateau(**arguments)).fit(curved())


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_ties_and_offsets_are_judged_as_fit_score_judges_them(offset):
    X = np.random.RandomState(0).randint(0, 3, (80, 6)) * [1.0, 2, 3, 4, 5, 6] + offset
    ranker = MaxVariance(stop=FITPlateau()).fit(X)
    expected = [fit_score(X, ranker.order_[:k]) for k in ranker.stop_.curve_at]
    np.testing.assert_allclose(ranker.stop_.curve, expected, atol=1e-9)


def test_a_wide_sparse_table_is_never_made_dense():
    X = sparse.random_array((200, 200_000), density=1e-4, rng=0, format="csr")
    tracemalloc.start()
    MaxVariance(stop=FITPlateau()).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 200 * 200_000 / 2


def test_features_of_a_dictionary_are_refused():
    X = curved(50, 5)
    with pytest.raises(ValueError, match="ranks features of a dictionary"):
        GramSchmidt(dictionary=Monomials(2), stop=FITPlateau()).fit(X, X[:, 0])


def test_noise_that_nothing_recovers_is_called_so():
    X = np.random.RandomState(0).standard_normal((40, 400))
    decision = MaxVariance(stop=FITPlateau()).fit(X).stop_
    assert decision.curve.max() < 0
    assert "no better than the means" in decision.reason


def test_fewer_features_than_those_that_stay_are_not_judged():
    X = curved()
    decision = MaxVariance(stop=FITPlateau(), keep=[20, 21]).fit(X).stop_
    assert decision.curve_at[0] == 2
    kept = decision.curve_at.tolist().index(decision.n_features)
    assert f"{decision.curve[kept]:.1%} of the variance" in decision.reason
    assert MaxVariance(stop=FITPlateau(), keep=list(range(30))).fit(X).stop_.n_features == 30
