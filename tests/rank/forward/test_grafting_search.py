"""The search that grafts weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.solvers.losses import LOSSES
from tamis.rank.forward._grafting_search import GraftingSearch
from tests.oracles import grafting as oracle
from tests.oracles.grafting import problem

NAMES = sorted(LOSSES)
SEEDS = st.integers(0, 2**20)


def search_on(X, Y, loss, **options):
    return GraftingSearch(as_columns(X), Y, LOSSES[loss], scale=np.ones(X.shape[1]), **options)


def full_weights(search, X):
    features, weights, intercept = search.weights()
    full = np.zeros((X.shape[1], intercept.size))
    full[features] = weights
    return full, intercept - X.mean(axis=0) @ full  # the search sees centered columns


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("l2", [0.0, 0.02])
@given(seed=SEEDS, share=st.floats(0.01, 0.9), step=st.sampled_from([1, 3]), n_targets=st.sampled_from([1, 3]))
@settings(max_examples=15, deadline=None)
def test_a_descent_ends_at_the_minimum_over_all_features(name, l2, seed, share, step, n_targets):
    X, Y = problem(name, seed, n_targets=n_targets)
    search = search_on(X, Y, name, l2=l2, step=step)
    alpha = share * search.alpha_max
    list(search.descend(alpha))
    W, b = full_weights(search, X)
    for target in range(n_targets):
        worst = oracle.violation(X, Y[:, target], W[:, target], b[target], name, alpha, l2)
        assert worst <= 1e-9 * max(1.0, search.alpha_max)
    assert search.has_ended
    assert search.kkt_violation() <= search.tol
    assert search.duality_gap() <= 1e-8 * max(1.0, search.objective())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("l2", [0.0, 0.02])
def test_the_gap_bounds_how_far_a_search_that_was_cut_short_is_from_the_minimum(name, l2):
    X, Y = problem(name)
    search = search_on(X, Y, name, l2=l2)
    alpha = 0.05 * search.alpha_max
    w, b = oracle.fit(X, Y[:, 0], name, alpha, l2)
    least = oracle.objective(X, Y[:, 0], w, b, name, alpha, l2)
    gaps = []
    for graft in search.descend(alpha):
        assert graft.objective >= least - 1e-9
        assert search.duality_gap() >= search.objective() - least - 1e-9
        gaps.append(search.duality_gap())
    assert gaps[0] > 1e-3
    assert gaps[-1] < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_alpha_max_is_the_smallest_alpha_at_which_no_weight_enters(name):
    X, Y = problem(name)
    search = search_on(X, Y, name)
    assert not list(search.descend(search.alpha_max))
    assert len(list(search.descend(0.999 * search.alpha_max))) == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_graft_lowers_the_objective_and_had_the_largest_gradient(name):
    X, Y = problem(name, n_targets=2)
    search = search_on(X, Y, name)
    gradients, before = np.abs(search.gradient), np.inf
    for graft in search.descend(0.02 * search.alpha_max):
        assert graft.gradient == gradients[graft.feature, graft.target] > graft.alpha
        assert graft.objective < before
        before = graft.objective
        gradients = np.where(search._is_active, 0.0, np.abs(search.gradient))
        assert search.is_active(graft)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_twenty_weights_enter_one_at_a_time(name):
    X, Y = problem(name, n=200, d=40)
    searches = [search_on(X, Y, name, step=step) for step in (1, "auto")]
    grafts = [list(search.descend(0.001 * search.alpha_max)) for search in searches]
    assert len(grafts[0]) > 25
    assert len({graft.objective for graft in grafts[1]}) < len(grafts[1])  # some entered together
    for one, other in zip(grafts[0][:20], grafts[1][:20], strict=True):
        assert one.feature == other.feature
        assert one.gradient == pytest.approx(other.gradient, rel=1e-6)


def test_a_warm_start_ends_where_a_cold_one_does():
    X, Y = problem("logistic", d=10)
    warm, cold = search_on(X, Y, "logistic"), search_on(X, Y, "logistic")
    for share in (0.8, 0.1, 0.5):  # up again, too: weights leave
        list(warm.descend(share * warm.alpha_max))
    list(cold.descend(0.5 * cold.alpha_max))
    for a, b in zip(warm.weights(), cold.weights(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_the_search_holds_no_column_but_those_that_are_in():
    X, Y = problem("logistic", n=60, d=5)
    wide = sparse.hstack([sparse.csr_array(X), sparse.random_array((60, 500), density=0.02, rng=0)]).tocsr()
    search = GraftingSearch(as_columns(wide), Y, LOSSES["logistic"], scale=np.ones(505))
    list(search.descend(0.5 * search.alpha_max))
    held = sum(model.Z.shape[1] for model in search._models)
    assert held == search.weights()[0].size < 10


def test_a_target_that_nothing_is_correlated_with_has_no_alpha_at_which_a_weight_enters():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    Y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    search = search_on(X, Y, "logistic")
    assert search.alpha_max == 0.0
    assert not list(search.descend(0.0))
    assert search.has_ended
