"""The losses, Newton's method between the axes, and the search that grafts weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.solvers.orthant_newton import LOSSES, minimize_in_orthant
from tamis.rank.forward._grafting_search import GraftingSearch
from tests.oracles import grafting as oracle

NAMES = sorted(LOSSES)
SEEDS = st.integers(0, 2**20)


def problem(loss, seed=0, n=40, d=6, n_targets=1):
    """Correlated columns with means, and a target that depends on three of them."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d))) + rng.uniform(-2, 2, d)
    Y = X[:, :3] @ rng.standard_normal((3, n_targets)) + rng.standard_normal((n, n_targets))
    Y -= np.median(Y, axis=0)
    return X, Y if loss == "squared" else np.where(Y > 0, 1.0, -1.0)


def search_on(X, Y, loss, **options):
    return GraftingSearch(as_columns(X), Y, LOSSES[loss], scale=np.ones(X.shape[1]), **options)


def full_weights(search, X):
    features, weights, intercept = search.weights()
    full = np.zeros((X.shape[1], intercept.size))
    full[features] = weights
    return full, intercept - X.mean(axis=0) @ full  # the search sees centered columns


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_the_loss(name):
    loss, f = LOSSES[name], np.linspace(-3.05, 3.05, 40)
    for y in (-1.0, 1.0):
        y = np.full(f.size, y)
        slope = (loss.value(f + 1e-6, y) - loss.value(f - 1e-6, y)) / 2e-6
        np.testing.assert_allclose(loss.slope(f, y), slope, atol=1e-8)
        curvature = (loss.slope(f + 1e-6, y) - loss.slope(f - 1e-6, y)) / 2e-6
        np.testing.assert_allclose(loss.curvature(f, y), curvature, atol=1e-8)
        expected = [oracle.loss_value(name, a, b) for a, b in zip(f, y, strict=True)]
        np.testing.assert_allclose(loss.value(f, y), expected, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_conjugate_is_the_largest_distance_below_a_line(name):
    loss, f = LOSSES[name], np.linspace(-3, 3, 41)
    for label in (-1.0, 1.0):
        y = np.full(f.size, label)
        slope = loss.slope(f, y)
        np.testing.assert_allclose(loss.value(f, y) + loss.conjugate(slope, y), slope * f, atol=1e-12)
        for share in (0.0, 0.3, 1.0):
            u = share * slope[:, None]
            below = u * f[None, :] - loss.value(f, y)[None, :]
            assert np.all(below <= loss.conjugate(u, np.full_like(u, label)) + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_losses_of_very_large_outputs_do_not_overflow(name):
    f, y = np.array([-1e4, 1e4]), np.array([1.0, 1.0])
    for function in (LOSSES[name].value, LOSSES[name].slope, LOSSES[name].curvature):
        assert np.all(np.isfinite(function(f, y)))


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_newton_ends_at_a_minimum_over_the_columns_that_it_keeps(name, seed):
    X, Y = problem(name, seed)
    y, sign = Y[:, 0], np.random.RandomState(seed).choice([-1.0, 1.0], X.shape[1])
    fit = minimize_in_orthant(X, y, LOSSES[name], np.zeros(X.shape[1]), 0.0, sign, alpha=0.05, l2=0.01, tol=1e-11)
    assert fit.converged
    assert np.all(fit.weights * sign[fit.kept] > 0)
    kept = X[:, fit.kept]
    assert oracle.violation(kept, y, fit.weights, fit.intercept, name, 0.05, 0.01) < 1e-10
    value = oracle.objective(kept, y, fit.weights, fit.intercept, name, 0.05, 0.01)
    assert fit.objective == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(fit.outputs, kept @ fit.weights + fit.intercept, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_newton_copes_with_columns_that_depend_on_each_other(name):
    X, Y = problem(name)
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
    fit = minimize_in_orthant(X, Y[:, 0], LOSSES[name], np.zeros(8), 0.0, np.ones(8), alpha=0.01, l2=0.0, tol=1e-10)
    assert fit.converged


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
    assert search.is_settled
    assert search.violation() <= search.tol
    assert search.gap() <= 1e-8 * max(1.0, search.objective())


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
        assert search.gap() >= search.objective() - least - 1e-9
        gaps.append(search.gap())
    assert gaps[0] > 1e-3
    assert gaps[-1] < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_alpha_max_is_the_smallest_alpha_at_which_no_weight_enters(name):
    X, Y = problem(name)
    search = search_on(X, Y, name)
    assert not list(search.descend(search.alpha_max))
    assert len(list(search.descend(0.999 * search.alpha_max))) == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_graft_lowers_the_objective_and_had_the_largest_slope(name):
    X, Y = problem(name, n_targets=2)
    search = search_on(X, Y, name)
    slopes, before = np.abs(search.gradient), np.inf
    for graft in search.descend(0.02 * search.alpha_max):
        assert graft.slope == slopes[graft.feature, graft.target] > graft.alpha
        assert graft.objective < before
        before = graft.objective
        slopes = np.where(search._is_in, 0.0, np.abs(search.gradient))
        assert search.holds(graft)


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
    held = sum(part.Z.shape[1] for part in search._parts)
    assert held == search.weights()[0].size < 10


def test_a_target_that_nothing_is_correlated_with_has_no_alpha_at_which_a_weight_enters():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    Y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    search = search_on(X, Y, "logistic")
    assert search.alpha_max == 0.0
    assert not list(search.descend(0.0))
    assert search.is_settled
