"""Units in which trees lose nothing: exact maps that keep every order, and what is lost without them."""

import numpy as np
import pytest
from scipy import sparse

from tamis.kernels.arrays.tree_units import (
    columns_lost_to_trees,
    in_tree_units,
    is_quantity_lost_to_trees,
    quantity_in_tree_units,
)

UNREADABLE = {
    "an offset": lambda X: X + 1e9,
    "a negative offset": lambda X: X - 1e9,
    "tiny units": lambda X: X * 1e-9,
    "subnormal numbers": lambda X: X * 1e-310,
    "huge units": lambda X: X * 1e60,
}


def make_table(seed=0):
    return np.random.default_rng(seed).normal(size=(50, 4))


@pytest.mark.parametrize("change", UNREADABLE)
def test_single_precision_tells_all_values_apart_that_were_lost(change):
    X = make_table()
    X[:, 1] = UNREADABLE[change](X[:, 1])
    assert columns_lost_to_trees(X).tolist() == [1]
    Z = in_tree_units(X)
    assert columns_lost_to_trees(Z).size == 0
    np.testing.assert_array_equal(np.argsort(Z.astype(np.float32), axis=0), np.argsort(X, axis=0))
    np.testing.assert_array_equal(Z[:, [0, 2, 3]], X[:, [0, 2, 3]])


def test_a_table_that_trees_can_read_is_left_as_it_is():
    for X in (make_table(), make_table() * 1e-3 + 0.5, make_table() * 1e20, np.full((5, 2), 1e9), np.zeros((5, 2))):
        assert columns_lost_to_trees(X).size == 0
        np.testing.assert_array_equal(in_tree_units(X), X)


def test_few_values_that_single_precision_holds_are_not_lost_however_far_from_zero():
    X = np.array([[2.0**25], [2.0**25 + 4], [2.0**25 + 8]])
    assert columns_lost_to_trees(X).size == 0


def test_missing_values_stay_missing_and_hide_nothing():
    X = make_table() + 1e9
    X[::7, 2] = np.nan
    np.testing.assert_array_equal(np.isnan(in_tree_units(X)), np.isnan(X))
    assert columns_lost_to_trees(X).tolist() == [0, 1, 2, 3]


def test_sparse_columns_are_rescaled_and_stay_sparse():
    X = np.where(make_table() > 0, make_table() * 1e-9, 0.0)
    Z = in_tree_units(sparse.csr_array(X))
    assert sparse.issparse(Z)
    np.testing.assert_array_equal(Z.toarray(), in_tree_units(X))


@pytest.mark.parametrize(
    ("change", "is_lost"),
    [
        (lambda y: y, False),
        (lambda y: 1e-5 * y, False),
        (lambda y: 1e5 * y, False),
        (lambda y: y + 1e6, False),
        (lambda y: 1e-9 * y, True),
        (lambda y: y + 1e9, True),
        (lambda y: 1e-160 * y, True),
        (lambda y: 1e160 * y, False),  # which is refused for its squares
    ],
)
def test_quantities_are_lost_whose_variance_is_near_rounding(change, is_lost):
    y = change(make_table()[:, 0])
    assert is_quantity_lost_to_trees(y) is is_lost
    moved = quantity_in_tree_units(y)
    assert not is_quantity_lost_to_trees(moved)
    assert 0.1 < np.abs(moved).max() <= 1
    np.testing.assert_array_equal(np.argsort(moved), np.argsort(y))


def test_columns_that_single_precision_holds_are_left_alone_however_wide_their_range():
    rng = np.random.default_rng(0)
    X = 10.0 ** rng.uniform(0, 37, size=(200, 3))
    assert in_tree_units(X) is X
