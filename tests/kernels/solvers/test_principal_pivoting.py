"""Block principal pivoting follows eliminations to the solutions that a cold start finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.solvers import principal_pivoting
from tamis.kernels.solvers.gram import DenseGram
from tamis.kernels.solvers.principal_pivoting import BlockPivoting, can_pivot
from tamis.kernels.solvers.svm_dual import DualSVM


def pose(X, y, *, free, C=1.0, upper=np.inf):
    """The machine on a table of one feature per row, not solved."""
    n = y.size
    total = 0.0 if free else None
    return DualSVM(DenseGram(X.T @ X), y, signs=y, upper=np.full(n, upper), ridge=np.full(n, 0.5 / C), total=total)


def solved(X, y, **options):
    machine = pose(X, y, **options)
    machine.solve()
    return machine


def a_table(n=40, d=60, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((d, n))
    y = np.where(X[0] + X[1] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


def assert_same_solution(machine, X, y, **options):
    fresh = solved(X, y, **options)
    np.testing.assert_allclose(machine.v, fresh.v, atol=1e-8)
    np.testing.assert_allclose(machine.b, fresh.b, atol=1e-8)
    np.testing.assert_allclose(machine.kv, X.T @ (X @ machine.v), atol=1e-8)
    assert set(machine.working_set.free) == set(fresh.working_set.free)
    assert machine.converged


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("C", [0.02, 1.0, 100.0])
def test_every_solution_is_that_of_the_problem_without_the_features(free, C):
    X, y = a_table()
    machine = solved(X, y, free=free, C=C)
    pivoting, remaining, n_exchanged = BlockPivoting(machine), list(range(len(X))), 0
    for feature in np.random.RandomState(1).permutation(np.arange(2, len(X))).tolist():
        remaining.remove(feature)
        assert pivoting.eliminate(X[feature])
        n_exchanged += pivoting.n_exchanged
        assert_same_solution(machine, X[remaining], y, free=free, C=C)
        if pivoting.is_due:
            machine.gram.replace(X[remaining].T @ X[remaining])
            pivoting.update()
    assert n_exchanged > 0


def test_the_machine_gets_the_inverse_of_its_working_set_back():
    X, y = a_table()
    machine = solved(X, y, free=True)
    pivoting = BlockPivoting(machine)
    for feature in range(20, 30):
        assert pivoting.eliminate(X[feature])
    left = np.delete(X, np.arange(20, 30), axis=0)
    machine.gram.replace(left.T @ left)
    pivoting.release()
    released = machine.inverse.matrix
    machine.refactorize()
    np.testing.assert_allclose(released, machine.inverse.matrix, atol=1e-10)


def test_a_matrix_that_has_lost_its_digits_is_computed_anew():
    X, y = a_table()
    machine = solved(X, y, free=True)
    pivoting = BlockPivoting(machine)
    pivoting._matrix *= 1.0 + 1e-6 * np.random.RandomState(0).standard_normal(pivoting._matrix.shape)
    remaining = list(range(len(X)))
    for feature in range(10, 14):  # the residual tells, and is refined or refused
        remaining.remove(feature)
        if not pivoting.eliminate(X[feature]):
            break
        assert_same_solution(machine, X[remaining], y, free=True)
    else:
        machine.gram.replace(X[remaining].T @ X[remaining])
        pivoting.update()
        exact = BlockPivoting(solved(X[remaining], y, free=True))
        np.testing.assert_allclose(pivoting._matrix, exact._matrix, atol=1e-9)


def test_exchanges_that_do_not_end_leave_the_machine_where_it_was(monkeypatch):
    monkeypatch.setattr(principal_pivoting, "_MAX_ROUNDS", 1)
    X, y = a_table(d=20)
    machine = solved(X, y, free=True)
    before = machine.v.copy(), machine.b, set(machine.working_set.free)
    pivoting = BlockPivoting(machine)
    assert not pivoting.eliminate(X[0])  # of large weight: some rows cross the margin
    np.testing.assert_array_equal(machine.v, before[0])
    assert (machine.b, set(machine.working_set.free)) == before[1:]
    machine.gram.replace(X[1:].T @ X[1:])
    machine.refactorize()
    machine.solve()
    assert_same_solution(machine, X[1:], y, free=True)


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([3, 8, 25]), st.sampled_from([1e-3, 1.0, 1e4]), st.booleans())
def test_damped_exchanges_end_where_full_ones_cycle(seed, d, C, free):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((d, 60)) * np.exp(rng.standard_normal((d, 1)))
    y = np.where(rng.random_sample(60) > 0.4, 1.0, -1.0)
    machine = solved(X, y, free=free, C=C)
    pivoting = BlockPivoting(machine)
    if pivoting.eliminate(X[-1]):
        fresh = solved(X[:-1], y, free=free, C=C)
        np.testing.assert_allclose(machine.objective, fresh.objective, rtol=1e-7)


def test_only_strictly_convex_problems_bounded_from_one_side_are_pivoted():
    X, y = a_table()
    assert can_pivot(pose(X, y, free=True))
    assert not can_pivot(pose(X, y, free=True, upper=1.0))
    unbounded = DualSVM(
        DenseGram(X.T @ X), y, signs=None, upper=np.full(y.size, np.inf), ridge=np.ones(y.size), total=0
    )
    assert not can_pivot(unbounded)


def test_a_point_that_is_not_a_number_is_refused():
    X, y = a_table()
    machine = solved(X, y, free=True)
    before = machine.v.copy()
    pivoting = BlockPivoting(machine)
    pivoting._matrix[:] = np.nan
    assert not pivoting.eliminate(X[0])
    np.testing.assert_array_equal(machine.v, before)


def test_costs_that_make_variables_large_are_pivoted_too():
    X, y = a_table(n=40, d=12, seed=3)
    machine = solved(X, y, free=True, C=1e5)
    pivoting, remaining, n_solved = BlockPivoting(machine), list(range(len(X))), 0
    for feature in range(11, 3, -1):
        remaining.remove(feature)
        is_solved = pivoting.eliminate(X[feature])
        machine.gram.replace(X[remaining].T @ X[remaining])
        if not is_solved:  # as the caller does
            machine.refactorize()
            machine.solve()
            pivoting = BlockPivoting(machine)
        else:
            n_solved += 1
            pivoting.update()
        fresh = solved(X[remaining], y, free=True, C=1e5)
        np.testing.assert_allclose(machine.objective, fresh.objective, rtol=1e-7)
    assert n_solved > 0
