"""Sums over blocks of rows against plain loops; they keep their digits whatever the mean is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.engine import ProductSums, sum_products
from tamis.engine._products import blocks_of_rows
from tests.oracles.products import centered_products


def parts(X, weight, cuts):
    for rows in np.split(np.arange(len(X)), cuts):
        yield (X[rows],), None if weight is None else weight[rows]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_products_are_those_of_plain_loops(offset, weighted):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 4)) * [1, 10, 0.1, 1] + offset
    weight = rng.randint(0, 4, 60).astype(float) if weighted else None
    mean, sums = sum_products(lambda: parts(X, weight, [7, 30]), 4)
    expected_mean, expected = centered_products(X, weight)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-14)
    np.testing.assert_allclose(sums.centered(), expected, rtol=1e-8, atol=1e-9)
    assert sums.total == (60 if weight is None else weight.sum())


def test_columns_that_drift_far_are_summed_again_about_their_mean():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((4000, 2))
    X[0] = 1e6  # where the sums begin
    n_passes = []

    def read():
        n_passes.append(1)
        return parts(X, None, [1, 200])

    _, sums = sum_products(read, 2)
    assert len(n_passes) == 2
    np.testing.assert_allclose(sums.centered(), centered_products(X)[1], rtol=1e-12)


def test_without_intercept_products_are_about_zero():
    X = np.random.RandomState(0).standard_normal((30, 3)) + 2
    mean, sums = sum_products(lambda: parts(X, None, [4]), 3, fit_intercept=False)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(sums.second, X.T @ X, rtol=1e-13)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 49), min_size=1, max_size=4, unique=True), st.integers(0, 10**6))
def test_sums_over_parts_merge_to_those_over_all(cuts, seed):
    rng = np.random.RandomState(seed)
    X, weight = rng.standard_normal((50, 3)) + rng.randint(-5, 5), rng.uniform(0.1, 2, 50)
    every = [
        sum_products(lambda p=p: [p], 3)[1] for p in parts(X, weight, sorted(cuts))
    ]  # each about a shift of its own
    merged = every[0]
    for other in every[1:]:
        merged = merged.merge(other)
    mean, products = centered_products(X, weight)
    np.testing.assert_allclose(merged.mean, mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(merged.centered(), products, rtol=1e-10, atol=1e-10)
    assert merged.n_rows == 50


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        sum_products(list, 2)


def test_blocks_hold_all_rows_of_tables_side_by_side():
    X, Y = np.arange(20.0).reshape(10, 2), np.arange(10.0)[:, None]
    found = list(blocks_of_rows((X, Y), np.arange(10.0)))
    np.testing.assert_array_equal(np.concatenate([np.hstack(block) for block, _ in found]), np.hstack([X, Y]))
    np.testing.assert_array_equal(np.concatenate([weight for _, weight in found]), np.arange(10.0))


def test_an_empty_sum_can_be_merged():
    X = np.random.RandomState(0).standard_normal((9, 2))
    _, sums = sum_products(lambda: [((X,), None)], 2)
    merged = ProductSums.empty(np.zeros(2)).merge(sums)
    np.testing.assert_allclose(merged.centered(), sums.centered(), rtol=1e-12)


def test_a_constant_column_takes_no_second_pass():
    X = np.column_stack([np.full(4000, 0.1), np.random.RandomState(0).standard_normal(4000)])
    n_passes = []

    def read():
        n_passes.append(1)
        return parts(X, None, [7, 200])

    sum_products(read, 2)
    assert len(n_passes) == 1
