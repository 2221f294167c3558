"""Copies of columns, whatever their unit, offset and sign."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.arrays.copies import distinct_columns, later_copies, order_by_values, order_columns, place_columns
from tamis.kernels.arrays.scaling import center_columns


def distinct(X):
    return distinct_columns(*center_columns(np.asarray(X), scale=True)).tolist()


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=st.integers(0, 2**31 - 1), copied=st.lists(st.integers(0, 5), max_size=8), kind=st.sampled_from("fd"))
def test_the_first_of_each_group_of_copies_stays(seed, copied, kind):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((12, 6))
    extra = X[:, copied] * rng.choice([-3.0, 0.5, 7.0], len(copied)) + rng.standard_normal(len(copied))
    assert distinct(np.hstack([X, extra]).astype(kind)) == list(range(6))


def test_groups_interleave():
    a, b = np.array([0.0, 1, 2, 5]), np.array([3.0, 1, 0, 0])
    assert distinct(np.column_stack([b, a, -a, 2 * b, a + 1])) == [0, 1]


def test_constant_columns_are_no_columns():
    assert distinct([[1.0, 0.0], [1.0, 2.0], [1.0, 5.0]]) == [1]


@pytest.mark.parametrize("shape", [(5, 3000), (300, 50)])
def test_columns_that_differ_are_kept_apart(shape):
    X = np.random.RandomState(0).standard_normal(shape)
    assert distinct(X) == list(range(shape[1]))


def test_columns_that_differ_in_one_entry_are_no_copies():
    X = np.repeat(np.random.RandomState(0).standard_normal((30, 1)), 2, axis=1)
    X[3, 1] += 1e-4
    assert distinct(X) == [0, 1]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_an_order_by_values_does_not_depend_on_where_columns_stood_or_which_way_up(kind):
    rng = np.random.RandomState(0)
    columns = rng.standard_normal((40, 37)).astype(kind)
    shuffle, flips = rng.permutation(40), rng.choice([-1, 1], 40).astype(kind)
    (order, sign, _), (other, other_sign, _) = (
        order_by_values(columns),
        order_by_values(columns[shuffle] * flips[:, None]),
    )
    np.testing.assert_array_equal(shuffle[other], order)
    np.testing.assert_array_equal(
        columns[order] * sign[order, None], (columns[shuffle] * flips[:, None])[other] * other_sign[other, None]
    )


def test_repeats_are_told_by_their_place_along_the_order():
    a, b = np.array([1.0, -2.0, 1.0]), np.array([3.0, 0.0, -3.0])
    order, _, repeats = order_by_values(np.array([a, b, -a, a]))
    assert sorted(order[repeats]) == [2, 3]
    assert order_by_values(np.empty((0, 3)))[2].size == 0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_every_column_has_the_place_of_its_copy_in_the_order(kind):
    X = np.random.RandomState(0).standard_normal((12, 5))
    table = np.column_stack([X, X[:, 3], X[:, 0], X[:, 3]])
    order, place = place_columns(kind(table))
    np.testing.assert_array_equal(order, order_columns(kind(table)))
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(table[:, order[place]], table)


def later(X, kind=np.asarray):
    columns = as_columns(kind(X))
    norm2 = columns.norm2
    scale = np.sqrt(np.divide(len(X), norm2, out=np.zeros_like(norm2), where=norm2 > 0))
    return later_copies(columns, scale).tolist()


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=st.integers(0, 2**31 - 1), picked=st.lists(st.integers(0, 5), min_size=1, max_size=9))
@pytest.mark.parametrize("values", ["normal", "binary", "rounded"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_later_copies_are_those_that_a_comparison_of_all_pairs_finds(seed, picked, values, kind):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((9, 6))
    X = X if values == "normal" else (X > 0).astype(float) if values == "binary" else np.round(X)
    X = X[:, picked] * rng.choice([-3.0, 1.0, 1.8], len(picked)) + rng.choice([0.0, 32.0], len(picked))
    Z = X - X.mean(axis=0)
    varies = Z.std(axis=0) > 1e-12
    Z = Z / np.where(varies, Z.std(axis=0), 1.0)
    expected = [
        j
        for j in np.flatnonzero(varies)
        if any(min(np.abs(Z[:, i] - Z[:, j]).max(), np.abs(Z[:, i] + Z[:, j]).max()) < 1e-9 for i in range(j))
    ]
    assert later(X, kind) == expected


def test_without_standardizing_another_unit_is_another_column():
    X = np.random.RandomState(0).standard_normal((8, 1)) * [1.0, 2.0, 1.0]
    assert later_copies(as_columns(X), np.ones(3)).tolist() == [2]


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_table_is_left_as_it_was(order):
    X = np.array(np.random.RandomState(0).standard_normal((20, 5)) + 3, order=order)
    before = X.copy()
    order_columns(X)
    place_columns(X)
    np.testing.assert_array_equal(X, before)
