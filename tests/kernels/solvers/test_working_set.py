"""The inverse of the KKT matrix follows every change of the working set, and steps stay inside the box."""

import numpy as np
import pytest

from tamis.kernels.solvers import working_set
from tamis.kernels.solvers.working_set import KKTInverse, WorkingSet


def make_block(n_free, seed=0):
    X = np.random.RandomState(seed).standard_normal((n_free, 2 * n_free))
    return X @ X.T + np.eye(n_free)


def kkt_matrix(block, has_equality):
    if not has_equality:
        return block
    n = len(block)
    return np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), block]])


def inverse_of(block, has_equality):
    inverse = KKTInverse(has_equality=has_equality)
    assert inverse.refactorize(block)
    return inverse


def assert_inverts(inverse, block, has_equality):
    np.testing.assert_allclose(inverse.matrix, np.linalg.inv(kkt_matrix(block, has_equality)), atol=1e-10)


@pytest.mark.parametrize("has_equality", [True, False])
def test_a_variable_is_appended_to_the_inverse_and_deleted_from_it(has_equality):
    block = make_block(6)
    inverse = inverse_of(block[:5, :5], has_equality)
    column = inverse.bordered(1.0, block[5, :5])
    solved = inverse.matrix @ column
    inverse.append(solved, block[5, 5] - column @ solved)
    assert_inverts(inverse, block, has_equality)
    inverse.delete(2)
    kept = [0, 1, 3, 4, 5]
    assert_inverts(inverse, block[np.ix_(kept, kept)], has_equality)


@pytest.mark.parametrize("has_equality", [True, False])
def test_nothing_is_inverted_where_no_variable_is_free(has_equality):
    inverse = inverse_of(make_block(1), has_equality)
    inverse.delete(0)
    assert inverse.matrix.shape == (inverse.border, inverse.border)
    assert not inverse.matrix.any()
    assert inverse.refactorize(np.zeros((0, 0)))


@pytest.mark.parametrize("has_equality", [True, False])
def test_features_are_downdated_one_by_one_or_together(has_equality):
    X = np.random.RandomState(1).standard_normal((3, 5))
    block = make_block(5) + X.T @ X
    one_by_one, together = inverse_of(block, has_equality), inverse_of(block, has_equality)
    for x in X:
        column = one_by_one.bordered(0.0, x)
        solved = one_by_one.matrix @ column
        assert one_by_one.downdate(solved, 1.0 - column @ solved)
    assert together.downdate_many(X)
    assert_inverts(one_by_one, block - X.T @ X, has_equality)
    assert_inverts(together, block - X.T @ X, has_equality)


def test_a_downdate_to_a_singular_matrix_is_refused():
    X = np.random.RandomState(2).standard_normal((4, 4))
    inverse = inverse_of(X.T @ X, False)
    assert not inverse.downdate_many(X[:2])


def test_an_inverse_is_due_anew_after_many_downdates(monkeypatch):
    monkeypatch.setattr(working_set, "_MAX_DOWNDATES", 3)
    block = make_block(4)
    inverse = inverse_of(block, True)
    zero = np.zeros(5)
    assert [inverse.downdate(zero, 1.0) for _ in range(3)] == [True, True, False]
    inverse.refactorize(block)
    assert inverse.downdate(zero, 1.0)


def test_an_inverse_of_dependent_variables_is_told_to_be_inaccurate():
    assert not KKTInverse(has_equality=False).refactorize(np.ones((3, 3)))


def test_a_step_ends_at_the_first_bound():
    box = WorkingSet(4, np.array([1.0, -1.0, 1.0, 1.0]), np.array([2.0, 2.0, np.inf, 2.0]))
    box.replace(np.array([0, 1, 2]))
    values = np.array([1.0, -1.0, 3.0])
    assert box.contains(values)
    assert box.ratio_test(values, np.array([0.5, 0.0, 1.0]), 1.0) == (1.0, -1)
    assert box.ratio_test(values, np.array([0.5, -4.0, 1.0]), 1.0) == (0.25, 1)  # the negative variable to its bound -2
    assert box.is_rising(1, -4.0)
    assert box.bound(1, at_upper=True) == -2.0
    assert not box.contains(np.array([1.0, -3.0, 3.0]))
    assert not box.contains(np.array([1.0, 0.5, 3.0]))


def test_a_variable_at_a_bound_can_only_move_into_the_box():
    box = WorkingSet(3, np.array([1.0, -1.0, 1.0]), np.full(3, 2.0))
    np.testing.assert_array_equal(box.feasible_direction, [1.0, -1.0, 1.0])  # all at zero
    box.append(1)
    box.append(2)
    np.testing.assert_array_equal(box.free, [1, 2])
    twin = box.copy()
    box.delete(0, at_upper=True)
    np.testing.assert_array_equal(box.free, [2])
    np.testing.assert_array_equal(box.feasible_direction, [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(twin.free, [1, 2])
    np.testing.assert_array_equal(twin.feasible_direction, [1.0, 0.0, 0.0])


def test_without_bounds_every_variable_is_free():
    box = WorkingSet(3, None, np.full(3, np.inf))
    np.testing.assert_array_equal(box.free, [0, 1, 2])
    assert box.contains(np.array([-9.0, 0.0, 9.0]))
