"""Candidates in single precision, and the comparison of rows in doubt, against all distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.neighbors import search as module
from tamis.kernels.neighbors.search import nearest_neighbors


def agree(X, k):
    indices, distances = nearest_neighbors(X, k)
    everything = np.linalg.norm(X[:, None] - X, axis=2)
    expected = np.sort(everything + np.diag(np.full(len(X), np.inf)), axis=1)[:, :k]
    rounding = 1e-14 * np.abs(X).max()
    np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=rounding)
    np.testing.assert_allclose(distances, np.take_along_axis(everything, indices, axis=1), rtol=1e-9, atol=rounding)
    assert not np.any(indices == np.arange(len(X))[:, None])
    assert all(np.unique(row).size == k for row in indices)


@pytest.mark.parametrize("block", [1, 1000, 2**22])
@pytest.mark.parametrize("k", [1, 2, 9, 40])
@pytest.mark.parametrize("n_columns", [13, 100])
def test_random_tables_in_blocks_of_any_size(monkeypatch, block, k, n_columns):
    monkeypatch.setattr(module, "_PRODUCT_BLOCK", block)
    agree(np.random.RandomState(k).standard_normal((90, n_columns)), k)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), levels=st.integers(1, 4), k=st.integers(1, 5))
def test_copies_and_ties(seed, levels, k):
    agree(np.random.RandomState(seed).randint(0, levels, size=(40, 14)).astype(float), k)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_rows_nearer_to_each_other_than_single_precision_can_tell(gap):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((5, 20)).repeat(12, axis=0)
    agree(X + gap * rng.standard_normal(X.shape), 3)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_sizes_beyond_single_precision_and_an_outlier(scale):
    X = np.random.RandomState(0).standard_normal((60, 20))
    X[7] *= 1e6
    X[11] += 1e4
    agree(scale * X, 2)


def test_all_others_may_be_asked_for():
    X = np.random.RandomState(0).standard_normal((4, 20))
    for k in (1, 2, 3):
        agree(X, k)
