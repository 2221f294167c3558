"""Sums over blocks of rows against plain loops; they keep their digits whatever the mean is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.engine import ArrayBlocks, BlankedBlocks, NonFiniteError, ProductSums, sum_products
from tamis.engine import _products as products_module
from tamis.engine import _row_blocks as row_blocks_module
from tests.oracles.products import centered_products
from tests.oracles.row_blocks import ListBlocks


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_products_are_those_of_plain_loops(offset, weighted):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 4)) * [1, 10, 0.1, 1] + offset
    weight = rng.randint(0, 4, 60).astype(float) if weighted else None
    mean, sums = sum_products(ListBlocks(X, [7, 30]), weight=weight)
    expected_mean, expected = centered_products(X, weight)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-14)
    np.testing.assert_allclose(sums.centered(), expected, rtol=1e-8, atol=1e-9)
    assert sums.total == (60 if weight is None else weight.sum())


def test_columns_that_drift_far_are_summed_again_about_their_mean(monkeypatch):
    monkeypatch.setattr(products_module, "_HEAD_ROWS", 1)
    rng = np.random.RandomState(0)
    X = rng.standard_normal((4000, 2))
    X[0] = 1e6  # where the sums begin
    table = ListBlocks(X, [1, 200])
    _, sums = sum_products(table)
    assert table.n_passes == 2
    np.testing.assert_allclose(sums.centered(), centered_products(X)[1], rtol=1e-12)


def test_without_intercept_products_are_about_zero():
    X = np.random.RandomState(0).standard_normal((30, 3)) + 2
    mean, sums = sum_products(ListBlocks(X, [4]), fit_intercept=False)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(sums.second, X.T @ X, rtol=1e-13)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 49), min_size=1, max_size=4, unique=True), st.integers(0, 10**6))
def test_sums_over_parts_merge_to_those_over_all(cuts, seed):
    rng = np.random.RandomState(seed)
    X, weight = rng.standard_normal((50, 3)) + rng.randint(-5, 5), rng.uniform(0.1, 2, 50)
    places = np.split(np.arange(50), sorted(cuts))
    every = [sum_products(ListBlocks(X[rows]), weight=weight[rows])[1] for rows in places]  # each about its own shift
    merged = every[0]
    for other in every[1:]:
        merged = merged.merge(other)
    mean, products = centered_products(X, weight)
    np.testing.assert_allclose(merged.mean, mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(merged.centered(), products, rtol=1e-10, atol=1e-10)
    assert merged.n_rows == 50


def test_no_rows_are_refused():
    for table in (ListBlocks(np.empty((0, 2))), ArrayBlocks(np.empty((0, 2)))):
        table.parts = []
        with pytest.raises(ValueError, match="no rows"):
            table.reduce(len, max)


def test_an_empty_sum_can_be_merged():
    X = np.random.RandomState(0).standard_normal((9, 2))
    _, sums = sum_products(ArrayBlocks(X))
    merged = ProductSums.empty(np.zeros(2)).merge(sums)
    np.testing.assert_allclose(merged.centered(), sums.centered(), rtol=1e-12)


def test_a_constant_column_takes_no_second_pass():
    X = np.column_stack([np.full(4000, 0.1), np.random.RandomState(0).standard_normal(4000)])
    table = ListBlocks(X, [7, 200])
    sum_products(table)
    assert table.n_passes == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_powers_give_skewness_and_kurtosis(weighted):
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.exponential(size=300) + 50, rng.standard_normal(300), np.full(300, 0.3)])
    weight = rng.randint(1, 4, 300).astype(float) if weighted else None
    _, sums = sum_products(ListBlocks(X, [20, 100]), weight=weight, with_powers=True)
    share = np.ones(300) / 300 if weight is None else weight / weight.sum()
    standard = X[:, :2] - share @ X[:, :2]
    standard /= np.sqrt(share @ standard**2)
    skewness, kurtosis = sums.shapes()
    np.testing.assert_allclose(skewness, [*(share @ standard**3), 0.0], rtol=1e-8)
    np.testing.assert_allclose(kurtosis, [*(share @ standard**4 - 3), 0.0], rtol=1e-8)


def test_powers_that_were_not_summed_are_not_told():
    with pytest.raises(ValueError, match="powers were not summed"):
        ProductSums.empty(np.zeros(2)).shapes()


def test_entries_that_are_no_numbers_are_counted():
    X = np.random.RandomState(0).standard_normal((50, 3))
    X[[3, 40], 1], X[7, 2] = np.nan, -np.inf
    with pytest.raises(NonFiniteError) as caught:
        sum_products(ListBlocks(X, [10]))
    np.testing.assert_array_equal(caught.value.n_missing, [0, 2, 0])
    np.testing.assert_array_equal(caught.value.n_infinite, [0, 0, 1])


def test_numbers_whose_squares_overflow_are_refused():
    X = np.random.RandomState(0).standard_normal((50, 3)) * [1, 1e200, 1]
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="divide its columns"):
        sum_products(ListBlocks(X, [10]))


def test_blanked_columns_hold_zeros_in_every_pass():
    X = np.random.RandomState(0).standard_normal((50, 4)) + 3
    X[0, 1] = np.nan
    table = BlankedBlocks(ListBlocks(X, [10]), np.array([1]))
    expected = np.where([True, False, True, True], X, 0.0)
    np.testing.assert_array_equal(table.take_rows(np.arange(50)), expected)
    np.testing.assert_array_equal(table.head(12), expected[:12])
    np.testing.assert_array_equal(table.take_rows(np.array([0, 20]), np.array([2, 1])), expected[[0, 20]][:, [2, 1]])


def test_rows_in_memory_are_cut_into_blocks_that_hold_all_of_them(monkeypatch):
    monkeypatch.setattr(row_blocks_module, "_BLOCK_ENTRIES", 60)
    monkeypatch.setattr(row_blocks_module, "_ROWS_PER_COLUMN", 1)
    X, weight = np.arange(200.0).reshape(100, 2), np.arange(100.0)
    table = ArrayBlocks(X)
    sizes = table.reduce(lambda block: [len(block)], lambda first, second: first + second)
    assert sum(sizes) == 100
    assert len(sizes) == 4
    total, dot = table.sum(lambda block, weight: (block.sum(axis=0), weight @ block), weight)
    np.testing.assert_allclose(total, X.sum(axis=0))
    np.testing.assert_allclose(dot, weight @ X)
    np.testing.assert_array_equal(table.take_rows(np.array([3, 70])), X[[3, 70]])


def test_blocks_that_do_not_hold_the_rows_that_the_table_says_are_refused():
    table = ListBlocks(np.zeros((50, 2)), [10])
    table.shape = (60, 2)
    with pytest.raises(ValueError, match="the blocks hold 50 rows, but the table says that it has 60"):
        table.sum(lambda block: (block.sum(axis=0),))
