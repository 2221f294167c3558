"""The squared hinge machine ends where the paper's FISTA ends, however it came there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from tamis.kernels.solvers.squared_hinge_group_lasso import SquaredHingeGroupLasso, best_intercept
from tests.oracles.hinge_fista import duality_gap, objective, solve_by_fista, violation

QUICK = settings(deadline=None, max_examples=60, derandomize=True)


def make_problem(n=30, n_columns=8, n_targets=1, seed=0, noise=1.0, n_positive=None):
    """Standardized columns, the first of which say something of the first target."""
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((n, n_columns))
    Y = np.where(rng.standard_normal((n, n_targets)) > 0, 1.0, -1.0)
    if n_positive is None:
        Y[:, 0] = np.where(Z[:, :2].sum(axis=1) + noise * rng.standard_normal(n) > 0, 1.0, -1.0)
    else:
        Y[:] = -1.0
        Y[:n_positive] = 1.0
    Y[0], Y[1] = 1.0, -1.0  # both signs, always
    Z = Z - Z.mean(axis=0)
    return Z / np.maximum(Z.std(axis=0), 1e-12), Y


def penalty_at(Z, Y, share, width=1):
    """A share of the penalty above which no column enters."""
    free = SquaredHingeGroupLasso(Y, width)
    gradients = (Z.T @ free.signed_hinge()).reshape(Z.shape[1] // width, -1)
    return share * np.linalg.norm(gradients, axis=1).max()


def build(Z, Y, width=1):
    machine = SquaredHingeGroupLasso(Y, width)
    machine.add_columns(Z.T)
    return machine


def value(machine, penalty):
    n = len(machine.Y)
    return objective(machine.columns.T, machine.Y, machine.weights, machine.intercept, n / penalty, machine.width)


def check_end(machine, penalty, tol=1e-8):
    """By the conditions of the paper, recomputed from the columns."""
    n, Z, Y = len(machine.Y), machine.columns.T, machine.Y
    assert machine.kkt_residual <= tol
    assert violation(Z, Y, machine.weights, machine.intercept, n / penalty, machine.width) <= 2 * tol
    outputs = Z @ machine.weights + machine.intercept
    np.testing.assert_allclose(machine.signed_hinge(), Y * np.maximum(0, 1 - Y * outputs), atol=1e-8)
    np.testing.assert_allclose(machine.signed_hinge().sum(axis=0), 0.0, atol=1e-9 * n)
    np.testing.assert_allclose(machine.loss(), 0.5 * np.sum(np.maximum(0, 1 - Y * outputs) ** 2), rtol=1e-8, atol=1e-12)


def check_like_fista(machine, penalty):
    """The same objective as FISTA on the same columns."""
    n, Z, Y = len(machine.Y), machine.columns.T, machine.Y
    W, b = solve_by_fista(Z, Y, n / penalty, machine.width, max_iter=30_000, tol=1e-11)
    slow = objective(Z, Y, W, b, n / penalty, machine.width)
    np.testing.assert_allclose(value(machine, penalty), slow, rtol=1e-8)


@pytest.mark.parametrize("share", [0.7, 0.1, 0.02])
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_objective_is_that_of_fista(width, n_targets, share):
    Z, Y = make_problem(40, 6, n_targets, seed=width)
    penalty = penalty_at(Z, Y, share, width)
    machine = build(Z, Y, width)
    assert machine.solve(penalty)
    check_end(machine, penalty)
    check_like_fista(machine, penalty)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_more_columns_than_samples_are_no_trouble(n, width, n_targets):
    for seed in range(6):
        Z, Y = make_problem(n, 12, n_targets, seed)
        penalty = penalty_at(Z, Y, 10.0 ** -(seed % 3 + 0.1), width)
        machine = build(Z, Y, width)
        assert machine.solve(penalty)
        check_end(machine, penalty)
        gap = duality_gap(Z, Y, machine.weights, machine.intercept, n / penalty, width)
        assert gap <= 1e-7 * value(machine, penalty)


@QUICK
@given(
    st.integers(2, 50),
    st.integers(1, 15),
    st.integers(1, 3),
    st.integers(1, 3),
    st.floats(-3.5, 0.2),
    st.sampled_from(["nothing", "copies", "zeros", "shifted"]),
    st.integers(0, 10**6),
)
def test_the_conditions_hold_at_the_end(n, n_groups, width, n_targets, power, spoil, seed):
    Z, Y = make_problem(n, n_groups * width, n_targets, seed)
    if spoil == "copies":
        Z[:, :width] = Z[:, -width:]
    elif spoil == "zeros":
        Z[:, -width:] = 0.0
    elif spoil == "shifted":
        Z += 3.0  # features nearly collinear with the intercept
    penalty = penalty_at(Z, Y, 10.0**power, width)
    if penalty <= 1e-6:
        return  # nothing pulls
    machine = build(Z, Y, width)
    assert machine.solve(penalty)
    check_end(machine, penalty)
    # the gap is a figure near zero, the difference of two sums over n
    gap = duality_gap(Z, Y, machine.weights, machine.intercept, n / penalty, width)
    assert gap <= 1e-6 * value(machine, penalty) + 1e-9


@pytest.mark.parametrize("C", [10.0, 40.0, 200.0])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("distance", [0.1, 0.01])
def test_columns_that_are_nearly_alike_are_solved_in_some_steps(distance, width, C):
    rng = np.random.RandomState(6)
    x = rng.uniform(-3, 3, size=80)
    Y = np.where(np.sin(5 * x) + 0.8 * rng.standard_normal(80) > 0, 1.0, -1.0)[:, None]
    phase = x[:, None] * (5.0 + distance * np.arange(-8, 9))  # neighbors on a line of frequencies
    Z = np.stack([np.sin(phase), np.cos(phase)], axis=2).reshape(80, -1)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    machine = build(Z, Y, width)
    assert machine.solve(len(Y) / C, 1e-6)
    assert machine.n_iter <= 100
    check_end(machine, len(Y) / C, 1e-6)
    gap = duality_gap(Z, Y, machine.weights, machine.intercept, C, width)
    assert gap <= 1e-5 * value(machine, len(Y) / C)


@pytest.mark.parametrize("n_positive", [1, 2, 39])
def test_unbalanced_classes_are_solved(n_positive):
    Z, Y = make_problem(40, 6, n_positive=n_positive, seed=1)
    for share in (0.5, 0.05):
        penalty = penalty_at(Z, Y, share)
        machine = build(Z, Y)
        assert machine.solve(penalty)
        check_end(machine, penalty)
        check_like_fista(machine, penalty)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("C", [1e3, 1e5])
def test_separable_classes_are_solved_at_a_large_C(C, width):
    Z, Y = make_problem(30, 4, noise=0.0, seed=2)
    machine = build(Z, Y, width)
    assert machine.solve(len(Y) / C)
    check_end(machine, len(Y) / C)
    gap = duality_gap(Z, Y, machine.weights, machine.intercept, C, width)
    assert gap <= 1e-6 * value(machine, len(Y) / C)
    assert np.all(Y * (Z @ machine.weights + machine.intercept) > 0)


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("width", [1, 2])
def test_a_warm_start_ends_where_a_cold_one_does_whether_the_penalty_falls_or_rises(width, n_targets):
    Z, Y = make_problem(50, 10, n_targets, seed=3)
    largest = penalty_at(Z, Y, 1.0, width)
    warm = build(Z, Y, width)
    for share in (0.9, 0.5, 0.1, 0.01, 0.1, 0.5, 1.1, 0.3):
        cold = build(Z, Y, width)
        assert warm.solve(share * largest)
        assert cold.solve(share * largest)
        check_end(warm, share * largest)
        np.testing.assert_allclose(value(warm, share * largest), value(cold, share * largest), rtol=1e-8)
        np.testing.assert_allclose(warm.weights, cold.weights, atol=1e-5)


def test_a_solution_is_left_alone():
    Z, Y = make_problem()
    machine = build(Z, Y)
    machine.solve(penalty_at(Z, Y, 0.1))
    weights, steps = machine.weights.copy(), machine.n_iter
    assert machine.solve(penalty_at(Z, Y, 0.1))
    assert machine.n_iter == steps
    assert np.array_equal(machine.weights, weights)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("width", [1, 3])
def test_columns_may_come_one_group_after_the_other(width, n_targets):
    Z, Y = make_problem(40, 12, n_targets, seed=4)
    penalty = penalty_at(Z, Y, 0.1, width)
    machine, before = SquaredHingeGroupLasso(Y, width), np.inf
    for start in range(0, 12, width):
        machine.add_columns(Z[:, start : start + width].T)
        assert machine.solve(penalty)
        check_end(machine, penalty)
        assert value(machine, penalty) <= before * (1 + 1e-12)
        before = value(machine, penalty)
    whole = build(Z, Y, width)
    assert whole.solve(penalty)
    np.testing.assert_allclose(before, value(whole, penalty), rtol=1e-8)
    check_like_fista(machine, penalty)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("width", [1, 2])
def test_groups_without_a_weight_may_leave_and_others_come(width, n_targets):
    Z, Y = make_problem(40, 12, n_targets, seed=5)
    penalty = penalty_at(Z, Y, 0.6, width)
    machine = build(Z[:, :8], Y, width)
    machine.solve(penalty)
    alive = np.flatnonzero(machine.group_norms > 0)
    assert 0 < alive.size < 8 // width
    old = value(machine, penalty)
    machine.keep_groups(alive)
    assert len(machine.weights) == len(machine.columns) == alive.size * width
    np.testing.assert_allclose(value(machine, penalty), old, rtol=1e-12)
    machine.add_columns(Z[:, 8:].T)
    for share in (1.0, 0.2):
        assert machine.solve(share * penalty)
        check_end(machine, share * penalty)
        check_like_fista(machine, share * penalty)


def test_all_groups_may_leave():
    Z, Y = make_problem()
    machine = build(Z, Y)
    machine.solve(penalty_at(Z, Y, 1.01))
    assert not machine.weights.any()
    machine.keep_groups(np.array([], dtype=int))
    penalty = penalty_at(Z, Y, 0.2)
    assert machine.solve(penalty)
    machine.add_columns(Z.T)
    assert machine.solve(penalty)
    check_end(machine, penalty)
    check_like_fista(machine, penalty)


def test_without_columns_there_are_the_intercepts():
    _, Y = make_problem(20, 1, 3)
    machine = SquaredHingeGroupLasso(Y)
    assert machine.solve(1.0)
    assert machine.weights.shape == (0, 3)
    # at b in [-1, 1] every sample counts, and the best of them is the mean
    np.testing.assert_allclose(machine.intercept, Y.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(machine.signed_hinge().sum(axis=0), 0.0, atol=1e-12)


def test_a_penalty_above_every_pull_leaves_all_weights_at_zero():
    Z, Y = make_problem(30, 6, 2)
    machine = build(Z, Y, 2)
    assert machine.solve(penalty_at(Z, Y, 1.001, 2))
    assert not machine.weights.any()
    assert machine.solve(penalty_at(Z, Y, 0.999, 2))
    assert machine.weights.any()


def test_targets_do_not_matter_to_each_other_where_no_group_is_shared():
    Z, Y = make_problem(40, 5, 1, seed=6)
    twice = build(np.column_stack([Z, Z]), np.column_stack([Y, Y]))
    once = build(Z, Y)
    # one norm over two equal targets is sqrt(2) times that of one, whose loss is half of theirs
    penalty = penalty_at(Z, Y, 0.1)
    assert once.solve(penalty)
    assert twice.solve(penalty * np.sqrt(2))
    summed = twice.weights[:5] + twice.weights[5:]
    np.testing.assert_allclose(summed, np.repeat(once.weights, 2, axis=1), atol=1e-6)


@QUICK
@given(st.integers(2, 40), st.floats(-3, 3), st.floats(-3, 3), st.booleans(), st.integers(0, 10**6))
def test_the_intercept_is_the_best_one(n, power, start, is_coarse, seed):
    rng = np.random.RandomState(seed)
    y = np.where(rng.standard_normal(n) > rng.standard_normal(), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    f = 10.0**power * rng.standard_normal(n)
    f = np.round(f) if is_coarse else f

    def cost(b):
        return np.sum(np.maximum(0.0, 1.0 - y * (f + b)) ** 2)

    b = best_intercept(y, f, start * 10.0**power)
    reach = 2.0 + np.abs(f).max()
    best = minimize_scalar(cost, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-10})
    assert cost(b) <= best.fun + 1e-9 * (1.0 + best.fun)
    assert abs(np.sum(y * np.maximum(0.0, 1.0 - y * (f + b)))) <= 1e-10 * n * reach


@pytest.mark.parametrize("start", [-1e6, -1.0, 0.0, 1.0, 1e6])
def test_the_best_intercept_does_not_depend_on_where_the_search_starts(start):
    rng = np.random.RandomState(0)
    y, f = np.where(rng.standard_normal(30) > 0.7, 1.0, -1.0), rng.standard_normal(30)
    np.testing.assert_allclose(best_intercept(y, f, start), best_intercept(y, f, 0.0), atol=1e-10)


@pytest.mark.parametrize("power", [-6, 6])
def test_units_of_columns_and_penalty_cancel(power):
    Z, Y = make_problem(40, 6, seed=7)
    penalty, unit = penalty_at(Z, Y, 0.1), 10.0**power
    plain, scaled = build(Z, Y), build(Z * unit, Y)
    assert plain.solve(penalty)
    scaled.solve(penalty * unit)
    np.testing.assert_allclose(scaled.weights * unit, plain.weights, atol=1e-6)
