"""The group lasso in a Gram matrix ends where a slow proximal gradient ends, and where its conditions say."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tamis.kernels.solvers.group_lasso import (
    GroupLasso,
    group_directions,
    group_dots,
    group_norms,
    kkt_violation,
    line_search,
)
from tests.oracles.hinge_fista import quadratic_objective, solve_quadratic

# a failure is not shrunk: what does not converge takes long
QUICK = settings(deadline=None, max_examples=60, derandomize=True, phases=(Phase.explicit, Phase.generate))


def make_problem(n=30, n_groups=5, width=1, n_targets=1, share=0.1, seed=0, spoil="nothing"):
    """A least-squares problem per target, and a penalty that is a share of the one at which all weights are zero."""
    rng = np.random.RandomState(seed)
    tables = rng.standard_normal((n_targets, n, n_groups * width))
    if spoil == "copies" and n_groups > 1:
        tables[:, :, :width] = tables[:, :, -width:]
    elif spoil == "zeros":
        tables[:, :, -width:] = 0.0
    elif spoil == "one zero":
        tables[:, :, -1] = 0.0
    elif spoil == "collinear":
        tables = tables[:, :, :1] + 1e-4 * tables
    G = np.einsum("tni,tnj->tij", tables, tables)
    C = np.einsum("tni,tn->it", tables, rng.standard_normal((n_targets, n)))
    return G, C, share * group_norms(C, width).max()


def largest_violation(G, C, U, penalty, width):
    """By the conditions as the module's text has them, group by group."""
    R = np.column_stack([c - Gk @ u for Gk, c, u in zip(G, C.T, U.T, strict=True)])
    worst = 0.0
    for g in range(0, len(U), width):
        r, u = R[g : g + width], U[g : g + width]
        size = np.linalg.norm(u)
        worst = max(worst, np.linalg.norm(r - penalty * u / size) if size > 0 else np.linalg.norm(r) - penalty)
    return worst


def check_end(G, C, U, penalty, width, tol=1e-8):
    # a figure that is the difference of two large ones is not known better than their rounding
    rounding = 1e-14 * max(np.abs(C).max(), np.max([np.abs(Gk) @ np.abs(u) for Gk, u in zip(G, U.T, strict=True)]))
    assert np.isfinite(U).all()
    assert largest_violation(G, C, U, penalty, width) <= tol * penalty + rounding


def solve(G, C, penalty, width, start=None):
    start = np.zeros_like(C) if start is None else start
    return GroupLasso(G, C, penalty, width).minimize(start, 1e-9 * penalty, 300)


@pytest.mark.parametrize("spoil", ["nothing", "copies", "zeros", "one zero"])
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("n", [40, 8])
def test_the_objective_is_that_of_a_slow_proximal_gradient(n, width, n_targets, spoil):
    G, C, penalty = make_problem(n, 6, width, n_targets, 0.1, seed=n + width, spoil=spoil)
    U = solve(G, C, penalty, width)
    check_end(G, C, U, penalty, width)
    slow = quadratic_objective(G, C, solve_quadratic(G, C, penalty, width), penalty, width)
    fast = quadratic_objective(G, C, U, penalty, width)
    assert fast <= slow + 1e-9 * abs(slow)
    np.testing.assert_allclose(fast, slow, rtol=1e-8)


@QUICK
@given(
    st.sampled_from([2, 3, 5, 10, 40]),
    st.sampled_from([1, 2, 7, 30]),
    st.integers(1, 3),
    st.sampled_from([1, 3]),
    st.floats(-4, -0.05),
    st.sampled_from(["nothing", "copies", "zeros", "one zero"]),
    st.integers(0, 10**6),
)
def test_the_conditions_hold_at_the_end(n, n_groups, width, n_targets, power, spoil, seed):
    G, C, penalty = make_problem(n, n_groups, width, n_targets, 10.0**power, seed, spoil)
    if penalty > 0:
        check_end(G, C, solve(G, C, penalty, width), penalty, width)


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize(("n", "n_groups"), [(40, 2), (10, 7), (5, 30)])
def test_columns_that_are_nearly_alike_are_solved(n, n_groups, width, n_targets):
    for seed in range(3):
        G, C, penalty = make_problem(n, n_groups, width, n_targets, 10.0 ** -(0.1 + seed), seed, "collinear")
        check_end(G, C, solve(G, C, penalty, width), penalty, width, tol=1e-6)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_many_columns_of_few_samples_are_solved(width, n_targets):
    for seed in range(20):
        G, C, penalty = make_problem(3, 40, width, n_targets, 10.0 ** -(seed % 4), seed)
        check_end(G, C, solve(G, C, penalty, width), penalty, width)


def test_a_penalty_next_to_nothing_gives_least_squares():
    G, C, penalty = make_problem(50, 6, share=1e-10)
    U = solve(G, C, penalty, 1)
    np.testing.assert_allclose(U[:, 0], np.linalg.solve(G[0], C[:, 0]), rtol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_a_penalty_above_every_pull_gives_nothing_but_zeros(width, n_targets):
    G, C, penalty = make_problem(20, 5, width, n_targets, 1.0001)
    assert not solve(G, C, penalty, width).any()
    somewhere = np.random.RandomState(0).standard_normal(C.shape)
    assert not solve(G, C, penalty, width, somewhere).any()


@QUICK
@given(st.integers(1, 3), st.sampled_from([1, 3]), st.floats(-3, -0.1), st.integers(0, 10**6))
def test_the_start_does_not_matter(width, n_targets, power, seed):
    G, C, penalty = make_problem(25, 6, width, n_targets, 10.0**power, seed)
    cold = solve(G, C, penalty, width)
    far = np.random.RandomState(seed).standard_normal(C.shape)
    np.testing.assert_allclose(solve(G, C, penalty, width, far), cold, atol=1e-7)
    np.testing.assert_allclose(solve(G, C, penalty, width, cold), cold, atol=1e-7)


def test_the_start_is_not_changed():
    G, C, penalty = make_problem()
    start = np.ones_like(C)
    GroupLasso(G, C, penalty, 1).minimize(start, 1e-9)
    assert np.all(start == 1.0)


def test_no_columns_are_no_trouble():
    assert GroupLasso(np.zeros((1, 0, 0)), np.zeros((0, 1)), 1.0, 1).minimize(np.zeros((0, 1)), 1e-9).shape == (0, 1)


def test_columns_of_zeros_stay_out():
    G, C, penalty = make_problem(20, 5, 1, spoil="zeros", share=1e-3)
    U = solve(G, C, penalty, 1)
    assert U[-1] == 0.0
    nothing = solve(np.zeros_like(G), np.zeros_like(C), 1.0, 1)
    assert not nothing.any()


@QUICK
@given(st.floats(-8, 8), st.integers(1, 2), st.integers(0, 10**6))
def test_units_do_not_matter(power, width, seed):
    G, C, penalty = make_problem(20, 5, width, 1, 0.05, seed)
    unit = 10.0**power
    U = solve(G, C, penalty, width)
    np.testing.assert_allclose(solve(G * unit**2, C * unit, penalty * unit, width) * unit, U, atol=1e-7)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_norms_directions_and_dots_are_those_of_the_groups(width):
    rng = np.random.RandomState(0)
    U, V = rng.standard_normal((2, 6, 2))
    U[:width] = 0.0
    norms = group_norms(U, width)
    groups = [slice(g, g + width) for g in range(0, 6, width)]
    np.testing.assert_allclose(norms, [np.linalg.norm(U[g]) for g in groups])
    np.testing.assert_allclose(group_dots(U, V, width), [np.sum(U[g] * V[g]) for g in groups])
    np.testing.assert_allclose(group_norms(group_directions(U, norms, width), width), norms > 0)
    assert not group_directions(U, norms, width)[:width].any()


@pytest.mark.parametrize("width", [1, 2])
def test_the_violation_is_that_of_the_conditions(width):
    rng = np.random.RandomState(1)
    R, U = rng.standard_normal((2, 6, 2))
    U[:width] = 0.0
    by_group = kkt_violation(R, U, width, 0.7)
    expected = []
    for g in range(0, 6, width):
        r, u = R[g : g + width], U[g : g + width]
        size = np.linalg.norm(u)
        expected.append(np.linalg.norm(r - 0.7 * u / size) if size > 0 else np.linalg.norm(r) - 0.7)
    np.testing.assert_allclose(by_group, expected)
    np.testing.assert_allclose(kkt_violation(R, 0 * U, width, 0.7), group_norms(R, width) - 0.7)


@QUICK
@given(st.floats(0.001, 3.0), st.floats(0.1, 100.0))
def test_a_line_search_ends_no_higher_than_it_began_and_near_the_minimum(where, bend):
    def slope(t):
        return bend * (t - where)

    def value(t):
        return 0.5 * bend * (t - where) ** 2

    t = line_search(slope, value)
    assert 0 < t <= 1
    assert value(t) <= value(0.0)
    assert abs(slope(t)) <= 0.1 * abs(slope(0.0)) or (t == 1.0 and where >= 1.0)
