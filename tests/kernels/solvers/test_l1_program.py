"""Linear programs of l1-penalized linear machines, by column generation."""

from threading import Thread

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.solvers import l1_program
from tamis.kernels.solvers.l1_program import InfeasibleError, L1Program
from tests.oracles import l1_program as oracle

SEEDS = st.integers(0, 2**20)
LOSSES = ["hinge", "epsilon_insensitive"]


@pytest.fixture
def few_columns_at_a_time(monkeypatch):
    """Small tables need several rounds then, too."""
    monkeypatch.setattr(l1_program, "_FIRST_COLUMNS", 3)
    monkeypatch.setattr(l1_program, "_ENTERING_COLUMNS", 2)


def problem(seed, loss="hinge", n=None, d=None):
    """A centered table of a few rows and columns, some of which are copies, sums or constant; a target; costs."""
    rng = np.random.RandomState(seed)
    n, d = n or rng.randint(2, 25), d or rng.randint(1, 30)
    X = rng.randn(n, d)
    if d > 4:
        X[:, 1], X[:, 2], X[:, 3] = X[:, 0], X[:, 0] - X[:, 4], 0.0
    X *= 10.0 ** rng.uniform(-1, 1, d)
    X -= X.mean(axis=0)
    y = X[:, : max(1, d // 4)].sum(axis=1) + rng.randn(n)
    y = np.where(y > np.median(y), 1.0, -1.0) if loss == "hinge" else 7.0 + 3.0 * y
    C = 10.0 ** rng.uniform(-3, 3) * rng.uniform(0, 1, n)
    return X, y, C, rng


def dense_weights(solution, d):
    w = np.zeros(d)
    w[solution.active] = solution.weights
    return w


def check_certificate(X, y, solution, c, C, loss="hinge", epsilon=0.0, tol=1e-8):
    """Objective and dual objective agree, both from the table alone, and multipliers are feasible."""
    w = dense_weights(solution, X.shape[1])
    finite = np.where(np.isfinite(C), C, 1e300)
    largest = max(1.0, float(np.max(c)), float(np.max(np.abs(solution.multipliers), initial=0.0)))
    assert solution.converged
    assert oracle.infeasibility(X, y, solution.multipliers, c, finite, loss) <= 1e-8 * largest
    value = oracle.objective(X, y, w, solution.intercept, c, C, loss, epsilon)
    bound = oracle.dual_objective(y, solution.multipliers, loss, epsilon)
    assert solution.objective == pytest.approx(value, rel=1e-7, abs=1e-9)
    assert value - bound <= tol * max(value, 1e-2 * float(np.sum(finite[np.isfinite(C)])))
    assert -1e-12 <= solution.gap <= tol
    assert np.all(solution.weights != 0)
    assert np.all(np.diff(solution.active) > 0)


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_minimum_is_that_of_the_whole_linear_program(loss, seed):
    X, y, C, rng = problem(seed, loss)
    c, epsilon = rng.uniform(0.01, 2.0, X.shape[1]), rng.choice([0.0, 0.5, 5.0])
    solution = L1Program(as_columns(X), y, C, loss=loss, epsilon=epsilon).solve(c)
    check_certificate(X, y, solution, c, C, loss, epsilon)
    _, _, minimum = oracle.solve(X, y, c, C, loss, epsilon)
    assert solution.objective == pytest.approx(minimum, rel=1e-6, abs=1e-6 * C.sum())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.usefixtures("few_columns_at_a_time")
def test_columns_are_added_until_none_violates_its_constraint(loss):
    X, y, C, _ = problem(5, loss, n=20, d=60)
    solution = L1Program(as_columns(X), y, 10.0 * C, loss=loss, epsilon=0.1).solve(1.0)
    assert solution.n_rounds > 2
    assert solution.n_generated < 60
    check_certificate(X, y, solution, 1.0, 10.0 * C, loss, 0.1)
    _, _, minimum = oracle.solve(X, y, 1.0, 10.0 * C, loss, 0.1)
    assert solution.objective == pytest.approx(minimum, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_ends_at_the_minimum_of_a_cold_one(loss):
    X, y, C, rng = problem(3, loss, n=30, d=200)
    program = L1Program(as_columns(X), y, C, loss=loss, epsilon=0.2)
    for factor in (1e-3, 1.0, 1e3, 0.1):
        c = rng.uniform(0.1, 3.0, 200) * (rng.uniform(size=200) < 0.9)  # some weights cost nothing
        program.set_error_costs(factor * C)
        warm = program.solve(c)
        cold = L1Program(as_columns(X), y, factor * C, loss=loss, epsilon=0.2).solve(c)
        check_certificate(X, y, warm, c, factor * C, loss, 0.2)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-8, abs=1e-12)
    assert program.solve(c).n_rounds == 1


@pytest.mark.usefixtures("few_columns_at_a_time")
@pytest.mark.parametrize("loss", LOSSES)
def test_columns_that_the_last_solution_is_far_from_leave_and_the_minimum_stays(loss):
    X, y, C, rng = problem(5, loss, n=30, d=300)
    program = L1Program(as_columns(X), y, C, loss=loss, epsilon=0.2)
    n_generated = []
    for factor in (3.0, 0.3, 0.03, 0.1, 1.0, 10.0, 0.03):
        c = factor * program.max_penalty() * rng.uniform(0.3, 1.0, 300)
        warm = program.solve(c)
        n_generated.append(warm.n_generated)
        cold = L1Program(as_columns(X), y, C, loss=loss, epsilon=0.2).solve(c)
        check_certificate(X, y, warm, c, C, loss, 0.2)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-8, abs=1e-12)
        np.testing.assert_allclose(dense_weights(warm, 300), dense_weights(cold, 300), atol=1e-7)
    assert np.any(np.diff(n_generated) < 0)


@pytest.mark.usefixtures("few_columns_at_a_time")
def test_a_hard_margin_separates_with_columns_that_were_not_there_at_first():
    rng = np.random.RandomState(0)
    X = rng.randn(15, 40)
    X -= X.mean(axis=0)
    y = np.where(rng.randn(15) > 0, 1.0, -1.0)
    solution = L1Program(as_columns(X), y, np.inf).solve(1.0)
    w = dense_weights(solution, 40)
    assert np.min(y * (X @ w + solution.intercept)) >= 1 - 1e-9
    _, _, minimum = oracle.solve(X, y, 1.0, np.inf)
    assert solution.objective == pytest.approx(minimum, rel=1e-9)
    check_certificate(X, y, solution, 1.0, np.full(15, np.inf))


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_a_hard_margin_is_refused_just_where_classes_cannot_be_separated(seed):
    rng = np.random.RandomState(seed)
    X = rng.randn(12, rng.randint(1, 12))
    X -= X.mean(axis=0)
    y = np.where(rng.randn(12) > 0, 1.0, -1.0)
    program, reference = L1Program(as_columns(X), y, np.inf), oracle.solve(X, y, 1.0, np.inf)
    if reference is None:
        with pytest.raises(InfeasibleError, match="give finite"):
            program.solve(1.0)
        program.set_error_costs(1.0)
        check_certificate(X, y, program.solve(1.0), 1.0, np.ones(12))
    else:
        assert program.solve(1.0).objective == pytest.approx(reference[2], rel=1e-8, abs=1e-12)


def test_a_tube_without_errors_is_basis_pursuit():
    X, y, _, _ = problem(1, "epsilon_insensitive", n=10, d=40)
    solution = L1Program(as_columns(X), y, np.inf, loss="epsilon_insensitive").solve(1.0)
    np.testing.assert_allclose(X @ dense_weights(solution, 40) + solution.intercept, y, atol=1e-8)
    check_certificate(X, y, solution, 1.0, np.full(10, np.inf), "epsilon_insensitive")
    with pytest.raises(InfeasibleError):
        L1Program(as_columns(X[:, :2]), y, np.inf, loss="epsilon_insensitive").solve(1.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("is_balanced", [True, False])
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_all_weights_are_zero_from_the_largest_penalty_on(loss, is_balanced, seed):
    X, y, C, rng = problem(seed, loss, n=14)
    if loss == "hinge" and not is_balanced:
        y = np.where(np.arange(14) < 4, 1.0, -1.0)
    C = np.ones(14) if is_balanced else C
    epsilon = rng.choice([0.0, 1.0])
    program = L1Program(as_columns(X), y, C, loss=loss, epsilon=epsilon)
    largest = program.max_penalty()
    assert largest == pytest.approx(oracle.max_penalty(X, y, C, loss, epsilon), rel=1e-6, abs=1e-6 * C.max())
    bound = np.max(np.abs(X.T @ program.null_multipliers()))
    assert largest <= bound * (1 + 1e-9)
    if largest > 1e-6 * C.max():
        assert program.solve(1.001 * largest).active.size == 0
        assert program.solve(0.999 * largest).active.size > 0


def test_the_largest_penalty_of_balanced_classes_is_a_difference_of_class_means():
    X, _, _, rng = problem(2, n=10, d=6)
    y = np.repeat([-1.0, 1.0], 5)
    expected = 0.3 * 5 * np.max(np.abs(X[5:].mean(axis=0) - X[:5].mean(axis=0)))
    assert L1Program(as_columns(X), y, 0.3).max_penalty() == pytest.approx(expected, rel=1e-9)
    proportions = rng.uniform(1.0, 2.0, 6)
    scaled = L1Program(as_columns(X / proportions), y, 0.3).max_penalty()
    assert L1Program(as_columns(X), y, 0.3).max_penalty(proportions) == pytest.approx(scaled, rel=1e-8)


def test_no_penalty_is_largest_where_errors_are_forbidden_and_zero_where_nothing_is_to_be_gained():
    X = np.eye(4)
    with pytest.raises(ValueError, match="infinite error_costs"):
        L1Program(as_columns(X), np.array([1.0, -1, 1, -1]), np.inf).max_penalty()
    assert L1Program(as_columns(np.ones((4, 2))), np.array([1.0, -1, 1, -1]), 1.0).max_penalty() == 0.0
    assert L1Program(as_columns(X), np.ones(4), 1.0).max_penalty() == 0.0


def test_units_of_columns_and_target_do_not_matter():
    X, y, C, rng = problem(8, "epsilon_insensitive", n=20, d=30)
    units = 10.0 ** rng.uniform(-6, 6, 30)
    plain = L1Program(as_columns(X), y, C, loss="epsilon_insensitive", epsilon=0.5).solve(1.0)
    scaled = L1Program(as_columns(X * units), y, C, loss="epsilon_insensitive", epsilon=0.5).solve(units)
    np.testing.assert_array_equal(plain.active, scaled.active)
    np.testing.assert_allclose(scaled.weights * units[plain.active], plain.weights, rtol=1e-7)
    far = L1Program(as_columns(X), 1e6 * y + 1e8, C, loss="epsilon_insensitive", epsilon=0.5e6).solve(1.0)
    np.testing.assert_allclose(far.weights, 1e6 * plain.weights, rtol=1e-6)
    assert far.intercept == pytest.approx(1e6 * plain.intercept + 1e8)
    assert far.objective == pytest.approx(1e6 * plain.objective)


def test_sparse_tables_are_centered_without_being_dense():
    X = sparse.random_array((30, 50), density=0.2, rng=0)
    y = np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    dense, stored = (L1Program(as_columns(table), y, 1.0).solve(0.05) for table in (X.toarray(), X.tocsr()))
    assert dense.active.size > 0
    np.testing.assert_array_equal(dense.active, stored.active)
    np.testing.assert_allclose(dense.weights, stored.weights, rtol=1e-9)
    assert dense.intercept == pytest.approx(stored.intercept)


def test_single_precision_tables_end_too():
    X, y, C, _ = problem(4, n=30, d=300)
    solution = L1Program(as_columns(X.astype(np.float32)), y, C).solve(1.0)
    assert solution.converged
    assert solution.gap < 1e-6
    assert solution.objective == pytest.approx(L1Program(as_columns(X), y, C).solve(1.0).objective, rel=1e-5)


@pytest.mark.parametrize("y", [[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])
@pytest.mark.parametrize("cost", [1.0, np.inf])
def test_two_rows_are_enough(y, cost):
    X, y = np.array([[1.0, 0.0, 2.0], [-1.0, 0.0, 3.0]]), np.array(y)
    X = X - X.mean(axis=0)
    solution = L1Program(as_columns(X), y, cost).solve(0.1)
    check_certificate(X, y, solution, 0.1, np.full(2, cost))
    assert solution.objective == pytest.approx(0.1 if y.sum() == 0 else 0.0)


def test_constant_columns_alone_leave_the_intercept():
    y = np.array([1.0, 1.0, 1.0, -1.0])
    solution = L1Program(as_columns(np.ones((4, 3))), y, 1.0).solve(1.0)
    assert solution.converged
    assert solution.active.size == 0
    assert solution.objective == pytest.approx(2.0)
    assert solution.intercept == pytest.approx(1.0)


def test_columns_of_infinite_penalty_stay_out():
    X, y, C, _ = problem(6, n=20, d=10)
    c = np.where(np.arange(10) < 5, 0.1, np.inf)
    solution = L1Program(as_columns(X), y, C).solve(c)
    assert np.all(solution.active < 5)
    few = L1Program(as_columns(X[:, :5]), y, C).solve(0.1)
    assert solution.objective == pytest.approx(few.objective, rel=1e-9)


def test_rows_that_cost_nothing_do_not_count():
    X, y, _, _ = problem(7, n=20, d=10)
    C = np.where(np.arange(20) < 14, 1.0, 0.0)
    solution = L1Program(as_columns(X), y, C).solve(0.1)
    _, _, minimum = oracle.solve(X[:14], y[:14], 0.1, 1.0)
    assert solution.objective == pytest.approx(minimum, rel=1e-8)


@pytest.mark.usefixtures("few_columns_at_a_time")
def test_too_few_rounds_are_told_by_the_gap():
    X, y, C, _ = problem(5, n=20, d=60)
    solution = L1Program(as_columns(X), y, 10.0 * C).solve(1.0, max_rounds=1)
    assert not solution.converged
    assert solution.gap > 1e-3
    _, _, minimum = oracle.solve(X, y, 1.0, 10.0 * C)
    assert solution.objective * (1 - solution.gap) <= minimum <= solution.objective


@pytest.mark.parametrize("loss", LOSSES)
def test_large_programs_start_from_an_interior_point(loss, monkeypatch):
    X, y, C, rng = problem(11, loss, n=30, d=90)
    c = rng.uniform(0.1, 1.0, 90)
    by_simplex = L1Program(as_columns(X), y, C, loss=loss, epsilon=0.2).solve(c)
    monkeypatch.setattr(l1_program, "_INTERIOR_POINT_SIZE", 10)
    monkeypatch.setattr(l1_program, "_FIRST_COLUMNS", 20)
    by_interior_point = L1Program(as_columns(X), y, C, loss=loss, epsilon=0.2).solve(c)
    check_certificate(X, y, by_interior_point, c, C, loss, 0.2)
    assert by_interior_point.objective == pytest.approx(by_simplex.objective, rel=1e-10)


def test_the_gap_is_one_of_rounding_after_many_iterations():
    rng = np.random.RandomState(0)
    X = rng.randn(300, 120)
    y = np.where(X[:, :10].sum(axis=1) + rng.randn(300) > 0, 1.0, -1.0)
    for C in (0.1, 1e3):
        assert abs(L1Program(as_columns(X), y, C).solve(1.0).gap) < 1e-10


def test_threads_of_another_user_of_the_solver_are_left_alone():
    other = highspy.Highs()
    other.silent()
    other.setOptionValue("threads", 2)
    other.minimize(other.addVariable(lb=0, ub=1))
    X, y, C, _ = problem(9, n=30, d=20)
    assert L1Program(as_columns(X), y, C).solve(1.0).converged


def test_programs_can_be_solved_in_threads():
    X, y, C, _ = problem(9, n=30, d=200)
    found = {}

    def solve(place):
        found[place] = L1Program(as_columns(X), y, C).solve(1.0).objective

    threads = [Thread(target=solve, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found.values())) == 1


def test_a_program_that_was_interrupted_can_be_solved_afterwards(calls_that_last):
    X, y, C, _ = problem(9, n=200, d=100)
    interruptions = iter([KeyboardInterrupt])

    def interrupt_once():
        for interruption in interruptions:
            raise interruption

    program = L1Program(as_columns(X), y, C, on_wait=interrupt_once)
    with pytest.raises(KeyboardInterrupt):
        program.solve(1.0)
    check_certificate(X, y, program.solve(1.0), np.ones(100), C)


def test_wrong_input_is_named():
    X, y = as_columns(np.eye(3)), np.array([1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="y must be -1 or 1"):
        L1Program(X, np.array([0.0, 1.0, 1.0]), 1.0)
    with pytest.raises(ValueError, match="loss must be"):
        L1Program(X, y, 1.0, loss="squared")
    with pytest.raises(ValueError, match="error_costs"):
        L1Program(X, y, -1.0)
    with pytest.raises(ValueError, match="epsilon"):
        L1Program(X, y, 1.0, loss="epsilon_insensitive", epsilon=-1.0)
    with pytest.raises(ValueError, match="penalties"):
        L1Program(X, y, 1.0).solve(np.array([1.0, np.nan, 1.0]))
