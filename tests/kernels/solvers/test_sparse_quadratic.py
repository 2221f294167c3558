"""Quadratics with sparsity penalties end where their conditions say, no higher than many proximal steps."""

import numpy as np
import pytest

from tamis.kernels.solvers.sparse_quadratic import minimize_quadratic
from tamis.kernels.solvers.sparsity_penalty import SparsityPenalty
from tests.oracles import sparse_penalty as oracle

SIZES = np.array([1, 3, 2, 5, 4, 1, 4])  # 20 columns
STARTS = np.cumsum(SIZES) - SIZES
GROUPS = [list(range(s, s + k)) for s, k in zip(STARTS, SIZES, strict=True)]


def make_quadratic(n=40, correlation=0.0, seed=0, copies=False):
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((n, 20)) + correlation * rng.standard_normal((n, 1))
    if copies:
        Z[:, 5], Z[:, 8] = Z[:, 1], Z[:, 7]
    y = Z[:, [1, 6, 7]] @ [1.0, -2.0, 1.0] + rng.standard_normal(n)
    return Z.T @ Z / n, Z.T @ y / n


def by_proximal_steps(G, c, penalty, n_iter=20_000):
    step, u = 1 / np.linalg.eigvalsh(G)[-1], np.zeros(len(c))
    ahead = u
    for k in range(n_iter):
        moved = penalty.prox(ahead + step * (c - G @ ahead), step)
        ahead, u = moved + (k / (k + 3) if k % 500 else 0.0) * (moved - u), moved
    return u


@pytest.mark.parametrize("share", [0.5, 0.05, 0.001])
@pytest.mark.parametrize(
    ("ratio", "l2", "bound"),
    [
        (0.0, 0.0, np.inf),
        (0.5, 0.0, np.inf),
        (0.5, 0.3, np.inf),
        (1.0, 0.3, np.inf),
        (1.0, 0.0, 0.2),
        (1.0, 0.0, np.inf),
    ],
)
@pytest.mark.parametrize("table", [{}, {"n": 12}, {"correlation": 3.0}, {"copies": True}])
def test_no_condition_is_violated(share, ratio, l2, bound, table):
    G, c = make_quadratic(**table)
    penalty = SparsityPenalty(0.0, STARTS, 20, l1_ratio=ratio, group_weights=np.sqrt(SIZES), l2=l2, bound=bound)
    penalty = penalty.at(share * penalty.dual_norms(c).max(), l2)
    tol = 1e-10 * np.abs(c).max()
    u = minimize_quadratic(G, c, penalty, np.zeros(20), tol=tol)
    assert penalty.kkt_violation(c - G @ u, u).max() <= tol
    assert np.abs(u).max() <= bound


@pytest.mark.parametrize(("ratio", "bound"), [(0.0, np.inf), (0.5, np.inf), (1.0, 0.2)])
def test_the_objective_is_that_of_many_proximal_steps(ratio, bound):
    G, c = make_quadratic(correlation=1.0)
    penalty = SparsityPenalty(0.0, STARTS, 20, l1_ratio=ratio, group_weights=np.sqrt(SIZES), bound=bound)
    penalty = penalty.at(0.1 * penalty.dual_norms(c).max(), 0.0)
    u = minimize_quadratic(G, c, penalty, np.zeros(20), tol=1e-12)
    slow = by_proximal_steps(G, c, penalty, 5000)

    def value(w):
        norms = {"tau": ratio, "weights": np.sqrt(SIZES)}
        return 0.5 * w @ G @ w - c @ w + oracle.penalty_value(w, GROUPS, penalty.alpha, **norms)

    assert value(u) == pytest.approx(value(slow), abs=1e-10)
    np.testing.assert_allclose(u, slow, atol=1e-6)


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_a_start_far_away_ends_where_zero_does(ratio):
    G, c = make_quadratic()
    penalty = SparsityPenalty(0.1, STARTS, 20, l1_ratio=ratio)
    start = 100 * np.random.RandomState(1).standard_normal(20)
    copy = start.copy()
    far = minimize_quadratic(G, c, penalty, start, tol=1e-11)
    np.testing.assert_allclose(far, minimize_quadratic(G, c, penalty, np.zeros(20), tol=1e-11), atol=1e-8)
    np.testing.assert_array_equal(start, copy)


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_groups_of_one_are_the_lasso(ratio):
    G, c = make_quadratic()
    lasso = minimize_quadratic(G, c, SparsityPenalty(0.2, np.arange(20), 20), np.zeros(20), tol=1e-12)
    grouped = minimize_quadratic(G, c, SparsityPenalty(0.2, np.arange(20), 20, l1_ratio=ratio), np.zeros(20), tol=1e-12)
    np.testing.assert_allclose(grouped, lasso, atol=1e-9)
    assert np.array_equal(grouped != 0, lasso != 0)


def test_a_loose_bound_is_none():
    G, c = make_quadratic()
    free = minimize_quadratic(G, c, SparsityPenalty(0.1, np.arange(20), 20), np.zeros(20), tol=1e-12)
    bounded = minimize_quadratic(G, c, SparsityPenalty(0.1, np.arange(20), 20, bound=1e3), np.zeros(20), tol=1e-12)
    np.testing.assert_allclose(bounded, free, atol=1e-9)


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_a_tolerance_below_rounding_ends_too(ratio):
    G, c = make_quadratic(n=12)
    penalty = SparsityPenalty(1e-3, STARTS, 20, l1_ratio=ratio)
    u = minimize_quadratic(G, c, penalty, np.zeros(20), tol=0.0)
    assert penalty.kkt_violation(c - G @ u, u).max() <= 1e-9


def test_a_table_of_zeros_has_no_weights():
    penalty = SparsityPenalty(0.1, STARTS, 20, l1_ratio=0.5)
    u = minimize_quadratic(np.zeros((20, 20)), np.zeros(20), penalty, np.zeros(20), tol=1e-12)
    assert not u.any()
