"""Nearest neighbors searched once, for the whole table and for every subsample of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis._sklearn import safe_indexing
from tamis.kernels.arrays.columns import to_numpy
from tamis.kernels.neighbors.approximate import SEARCHES
from tamis.kernels.neighbors.search import nearest_neighbors


@dataclass(frozen=True)
class Neighborhoods:
    """Neighbors of every row, more than are needed, so that enough are left in a subsample.

    Attributes
    ----------
    X : table
    indices, distances : ndarray of shape (n_samples, n_found)
        Nearest first.
    """

    X: Any
    indices: np.ndarray
    distances: np.ndarray

    def within(self, rows: np.ndarray, n_neighbors: int) -> np.ndarray:
        """Distances from each of the given rows to its nearest among them, shape (n_rows, n_neighbors)."""
        member = np.zeros(self.X.shape[0], dtype=bool)
        member[rows] = True
        there = member[self.indices[rows]]
        place = np.argsort(~there, axis=1, kind="stable")[:, :n_neighbors]
        distances = np.take_along_axis(self.distances[rows], place, axis=1)
        short = np.flatnonzero(there.sum(axis=1) < n_neighbors)
        if short.size:
            among, asking = safe_indexing(self.X, rows), safe_indexing(self.X, rows[short])
            # the first one found is the row itself, or a copy of it: both are at distance zero
            distances[short] = to_numpy(nearest_neighbors(among, n_neighbors + 1, query=asking)[1])[:, 1:]
        return distances


def find_neighborhoods(X: Any, n_neighbors: int, share: float, neighbors: str = "exact") -> Neighborhoods:
    """Neighbors, exact or approximate, enough that a subsample of the given share rarely has to search again."""
    n_found = min(int(np.ceil((n_neighbors + 2 * n_neighbors**0.5 + 1) / share)), X.shape[0] - 1)
    if share == 1:
        n_found = n_neighbors
    indices, distances = SEARCHES[neighbors](X, n_found)
    return Neighborhoods(X, to_numpy(indices), to_numpy(distances).astype(float, copy=False))
