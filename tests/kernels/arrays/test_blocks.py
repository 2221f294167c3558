"""Pieces cover the whole, in order, whoever works on them."""

import numpy as np
import pytest

from tamis.kernels.arrays import blocks as module
from tamis.kernels.arrays.blocks import blocks, map_in_threads, sum_entries, sum_in_threads


@pytest.mark.parametrize(("total", "size"), [(0, 3), (1, 3), (9, 3), (10, 3), (5, 0), (5, 100)])
def test_blocks_cover_every_index_once(total, size):
    pieces = list(blocks(total, size))
    assert [i for piece in pieces for i in range(total)[piece]] == list(range(total))
    assert all(1 <= piece.stop - piece.start <= max(size, 1) for piece in pieces)
    assert all(piece.stop <= total for piece in pieces)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_results_come_in_the_order_of_the_parts(n_threads, monkeypatch):
    monkeypatch.setattr(module, "openmp_effective_n_threads", lambda: n_threads)
    parts = [np.arange(i, i + 5) for i in range(20)]
    assert list(map_in_threads(np.sum, parts)) == [int(part.sum()) for part in parts]
    assert list(map_in_threads(np.sum, [])) == []


@pytest.mark.parametrize("n_products", [1, 2**30])
def test_sums_over_parts_are_the_same_with_and_without_threads(n_products):
    values = np.arange(1000.0)
    found = sum_in_threads(lambda part: np.array([values[part].sum(), 1.0]), list(blocks(1000, 64)), n_products)
    np.testing.assert_array_equal(found, [values.sum(), 16.0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_of_entries_tell_of_one_that_is_no_number_in_tables_that_threads_share(order):
    X = np.ones((3000, 3000), order=order)
    assert sum_entries(X) == X.size
    assert sum_entries(X[::2, ::2]) == 1500**2
    X[1234, 2345] = np.inf
    assert sum_entries(X) == np.inf
    X[-1, -1] = -np.inf
    assert np.isnan(sum_entries(X))
