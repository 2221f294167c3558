"""Permuted targets: the law of the best remaining candidate, against a naive loop."""

import numpy as np
import pytest
import sklearn
import torch
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.solvers.orthogonal_search import OrthogonalSearch
from tamis.stop._permuted_cosines import permuted_counts
from tests.oracles.chance import fewest, most
from tests.oracles.probes import permuted_best


def search_after(X, y, kept, weight=None, fit_intercept=True):
    search = OrthogonalSearch(as_columns(X, weight, fit_intercept=fit_intercept), y)
    assert [step.feature for step in search.follow(kept)] == kept
    return search


@pytest.mark.parametrize("kept", [[], [4], [4, 1, 6]])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csc_array, torch.asarray], ids=["numpy", "csc", "torch"])
def test_draws_reach_a_level_exactly_when_the_naive_loop_says_so(kept, fit_intercept, container):
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((25, 8)), rng.standard_normal(25)
    rest = np.setdiff1d(np.arange(8), kept)
    best = permuted_best(X, y, kept, rest, 60, np.random.RandomState(7), fit_intercept)
    level = np.median(best)
    with sklearn.config_context(array_api_dispatch=True):
        search = search_after(container(X), y[:, None], kept, fit_intercept=fit_intercept)
        counts = permuted_counts(search, level, 60, np.random.RandomState(7))
    np.testing.assert_array_equal(counts > 0, best >= level)
    assert counts.max() <= rest.size


def test_a_row_of_weight_three_is_permuted_as_three_rows():
    rng = np.random.RandomState(0)
    X, y, weight = rng.lognormal(size=(20, 5)), rng.lognormal(size=(20, 1)), rng.randint(0, 4, size=20).astype(float)
    copies = np.repeat(np.arange(20), weight.astype(int))
    n_draws = 3000
    weighted = search_after(X, y, [2], weight)
    repeated = search_after(X[copies], y[copies], [2])
    level = 0.1
    rate = np.mean(permuted_counts(repeated, level, n_draws, np.random.RandomState(1)) > 0)
    reached = np.sum(permuted_counts(weighted, level, n_draws, np.random.RandomState(2)) > 0)
    assert 0.1 < rate < 0.9
    # both sides are estimates, so that the bound is taken at twice the spread: as many draws of half the size
    assert fewest(n_draws // 2, rate) <= reached / 2 <= most(n_draws // 2, rate)


def test_with_several_classes_all_of_what_is_left_of_the_indicators_is_permuted():
    rng = np.random.RandomState(0)
    X, labels = rng.standard_normal((30, 6)), np.arange(30) % 3
    search = search_after(X, np.eye(3)[labels], [])
    Z = X - X.mean(axis=0)
    expected = []
    draws = np.random.RandomState(3)
    for _ in range(40):
        shuffled = labels[draws.permutation(30)]
        means = np.array([Z[shuffled == c].mean(axis=0) for c in range(3)])
        expected.append(np.max(10 * np.sum(means**2, axis=0) / np.sum(Z**2, axis=0)))  # between over total scatter
    level = np.median(expected)
    counts = permuted_counts(search, level, 40, np.random.RandomState(3))
    np.testing.assert_array_equal(counts > 0, np.array(expected) >= level)


def test_candidates_out_of_play_are_not_counted():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((20, 6)), rng.standard_normal((20, 1))
    X[:, 5] = X[:, 0]
    X[:, 3] = 1.0
    assert np.all(permuted_counts(search_after(X, y, [0]), 0.0, 5, np.random.RandomState(0)) == 3)
