"""Correlation dimension, and the pairs behind it."""

from itertools import combinations

import numpy as np
import pytest

from tamis.dimension import CorrelationDimension, _pairs
from tamis.dimension._pairs import squared_distances
from tests.oracles import dimension as oracle


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("k", "ratio"), [(1, 0.5), (4, 0.1), (10, 0.1), (500, 0.02)])
def test_the_estimate_follows_its_formula(seed, k, ratio):
    X = np.random.RandomState(seed).standard_normal((35, 3))
    found = CorrelationDimension(n_neighbors=k, ratio=ratio, standardize=False, n_subsamples=0).fit(X)
    assert found.dimension_ == pytest.approx(oracle.correlation_dimension(X, k, ratio), rel=1e-9)


@pytest.mark.parametrize("block", [1, 50, 10**6])
def test_blocks_of_any_size_hold_every_pair_once(monkeypatch, block):
    monkeypatch.setattr(_pairs, "_BLOCK", block)
    X = np.random.RandomState(0).standard_normal((23, 4))
    D = oracle.distance_matrix(X)
    expected = {(i, j): D[i, j] for i, j in combinations(range(23), 2)}
    found = {
        (top + a, left + b): np.sqrt(d2[a, b])
        for top, left, d2 in _pairs.pair_blocks(X)
        for a, b in zip(*np.nonzero(np.isfinite(d2)), strict=True)
    }
    assert found == pytest.approx(expected)
    np.testing.assert_allclose(np.sort(np.concatenate(list(_pairs.pair_distances(X)))), sorted(expected.values()))
    d2, first, second = _pairs.nearest_pairs(X, 40)
    np.testing.assert_allclose(np.sqrt(d2), sorted(expected.values())[:40])
    np.testing.assert_allclose(np.sqrt(d2), D[first, second])


def test_pairs_that_nearly_coincide_keep_their_digits():
    X = np.random.RandomState(0).standard_normal((20, 300))
    X[1] = X[0]
    X[2] = X[0] + 1e-9
    d2 = squared_distances(X, X)
    assert d2[0, 1] == 0
    assert np.sqrt(d2[0, 2]) == pytest.approx(1e-9 * np.sqrt(300), rel=1e-5)


def test_copies_count_once():
    X = np.random.RandomState(0).standard_normal((60, 2))
    alone = CorrelationDimension(n_subsamples=0).fit(X).dimension_
    assert CorrelationDimension(n_subsamples=0).fit(np.vstack([X, X])).dimension_ == pytest.approx(alone, rel=1e-9)


def test_equal_distances_give_way_to_the_next_or_are_infinite():
    assert CorrelationDimension(standardize=False).fit(np.eye(6)).dimension_ == np.inf
    grid = np.array([[i, j] for i in range(20) for j in range(20)], dtype=float)
    for k in (1, 3, 5, 9, 20):
        assert 0.5 < CorrelationDimension(n_neighbors=k, n_subsamples=0).fit(grid).dimension_ < 3
