"""Neighbors and differences of Relief, against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.arrays import blocks
from tamis.rank.relief import _relief_weights as relief
from tamis.rank.relief._relief_weights import NeighborSearch, compare_classes, scale_to_unit_range, sum_differences
from tests.oracles.relief import nearest, scaled

METRICS = ("euclidean", "manhattan")


def table(seed, n_rows, n_columns, levels=None):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n_rows, n_columns)) if levels is None else rng.randint(levels, size=(n_rows, n_columns))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_scaled_columns_span_one_whatever_their_unit_and_size(dtype, order):
    X = table(0, 30, 4) * [1e-30, 1.0, 1e6, 1e30] + [0, 1e3, 0, 0]
    largest = np.finfo(dtype).max
    X = np.column_stack([X, np.where(X[:, 0] > 0, largest, -largest)]).astype(dtype, order=order)
    Z, constant = scale_to_unit_range(X)
    assert Z.dtype == dtype
    assert Z.flags.c_contiguous
    assert not constant.any()
    np.testing.assert_allclose(np.ptp(Z, axis=0), 1, rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e9, 1e300])
def test_columns_that_vary_by_rounding_alone_are_constant(value):
    X = table(0, 10, 3)
    X[:, 1] = value
    X[4, 1] = np.nextafter(value, 0)
    Z, constant = scale_to_unit_range(X)
    assert constant.tolist() == [False, True, False]
    assert np.all(Z[:, 1] == 0)


CASES = {
    "seed": st.integers(0, 10**6),
    "n_rows": st.integers(3, 25),
    "n_columns": st.integers(1, 4),
    "levels": st.sampled_from([None, 2, 4]),
    "metric": st.sampled_from(METRICS),
    "dtype": st.sampled_from([np.float64, np.float32]),
    "in_order": st.booleans(),
    "data": st.data(),
}


@settings(deadline=None, max_examples=150, derandomize=True)
@given(**CASES)
def test_the_nearest_are_those_of_a_plain_sort_and_ties_go_to_the_first(
    seed, n_rows, n_columns, levels, metric, dtype, in_order, data
):
    X = table(seed, n_rows, n_columns, levels)
    k = data.draw(st.integers(1, n_rows - 2))
    Z, _ = scale_to_unit_range(X.astype(dtype))
    rows, block = NeighborSearch(Z, metric), np.arange(1, n_rows)
    candidates = np.arange(1, n_rows)  # not all
    found = rows.nearest(block, candidates, rows.distances(block)[:, candidates], k, in_order=in_order)
    for i, chosen in zip(block, found, strict=True):
        expected = nearest(scaled(X), i, candidates.tolist(), k, metric)
        assert (chosen.tolist() if in_order else sorted(chosen)) == (expected if in_order else sorted(expected))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_of_the_matrix_product_never_decides(dtype):
    """Copies of one row far from the origin: all distances are zero, and what the product says of them is noise."""
    X = np.repeat(table(0, 40, 300), 6, axis=0)
    Z, _ = scale_to_unit_range(X.astype(dtype))
    rows, everyone = NeighborSearch(Z + dtype(5), "euclidean"), np.arange(len(Z))
    found = rows.nearest(everyone, everyone, rows.distances(everyone), 3)
    for i, chosen in enumerate(found):
        copies = [n for n in range(i - i % 6, i - i % 6 + 6) if n != i]
        assert sorted(chosen) == copies[:3]


@pytest.mark.parametrize("most", [1, 7, 50, 10**6])
@pytest.mark.parametrize("power", [1, 2])
def test_sums_of_differences_do_not_depend_on_how_they_are_cut(most, power, monkeypatch):
    rng = np.random.RandomState(0)
    Z, rows = rng.uniform(size=(20, 3)), np.array([4, 9, 11, 2, 0])
    neighbors, weights = rng.randint(20, size=(5, 7)), rng.standard_normal((2, 5, 7))
    expected = np.zeros((2, 3))
    for q, i, k in np.ndindex(weights.shape):
        expected[q] += weights[q, i, k] * np.abs(Z[rows[i]] - Z[neighbors[i, k]]) ** power
    monkeypatch.setattr(relief, "_MOST_DIFFERENCES", most)
    np.testing.assert_allclose(sum_differences(Z, rows, neighbors, weights, power), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_copies_of_a_column_get_the_same_sum_bit_for_bit_wherever_they_stand(dtype):
    rng = np.random.RandomState(0)
    Z = np.repeat(rng.uniform(size=(50, 1)), 1003, axis=1).astype(dtype)
    neighbors, weights = rng.randint(50, size=(50, 6)), rng.standard_normal((2, 50, 6))
    for total in sum_differences(Z, np.arange(50), neighbors, weights, 1):
        assert np.unique(total).size == 1


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_neither_threads_nor_blocks_change_the_result(n_threads, monkeypatch):
    X, codes = table(0, 150, 6), np.arange(150) % 3
    rows, everyone = NeighborSearch(scale_to_unit_range(X)[0], "euclidean"), np.arange(150)
    expected, _ = compare_classes(rows, codes, everyone, 4)
    monkeypatch.setattr(blocks, "openmp_effective_n_threads", lambda: n_threads)
    monkeypatch.setattr(relief, "_MOST_ROWS", 16)
    np.testing.assert_allclose(compare_classes(rows, codes, everyone, 4)[0], expected, rtol=1e-12, atol=1e-15)
