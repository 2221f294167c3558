"""Distances between all pairs of rows, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.tolerances import EQUAL_DISTANCE, floor_count

_BLOCK = 2**20  # numbers held at a time
_CLOSE = 1e-6  # squared distance, relative to the size of the points, below which the product has lost too many digits


def pair_blocks(X: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Every pair once: ``(top, left, d2)`` with ``d2[a, b]`` the squared distance of rows ``top + a < left + b``.

    Entries of a block on the diagonal that are no such pair, on or below it, are infinite.
    """
    n = X.shape[0]
    for rows in blocks(n, _BLOCK // n):
        top, left, block = rows.start, rows.stop, X[rows]
        inside = squared_distances(block, block)
        inside[np.tril_indices(block.shape[0])] = np.inf
        yield top, top, inside
        if left < n:
            yield top, left, squared_distances(block, X[left:])


def pair_distances(X: np.ndarray) -> Iterator[np.ndarray]:
    """Distances of every pair once, in flat pieces."""
    for top, left, d2 in pair_blocks(X):
        yield np.sqrt(d2[np.isfinite(d2)] if top == left else d2.ravel())


def nearest_pairs(X: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ``count`` nearest pairs of rows: squared distances in ascending order, and both rows of each."""
    found = [np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)]
    limit = np.inf
    for top, left, d2 in pair_blocks(X):
        a, b = np.nonzero(d2 < limit)
        found = [np.concatenate(pair) for pair in zip(found, (d2[a, b], a + top, b + left), strict=True)]
        if found[0].size > count:
            kept = np.argpartition(found[0], count - 1)[:count]
            found = [values[kept] for values in found]
            limit = found[0].max()
    order = np.argsort(found[0], kind="stable")
    d2, first, second = (values[order] for values in found)
    return d2, first, second


@dataclass(frozen=True)
class ClosePairs:
    """The closest pairs of rows, and two radii to compare.

    Attributes
    ----------
    d2 : ndarray of shape (n_pairs,)
        Squared distances, ascending.
    first, second : ndarray of shape (n_pairs,)
        The rows of each pair.
    inner, outer : int
        Places of the radii among the distances.
    """

    d2: np.ndarray
    first: np.ndarray
    second: np.ndarray
    inner: int
    outer: int

    @property
    def n_inner(self) -> int:
        """Pairs within the inner radius, those at it included."""
        return int(np.searchsorted(self.d2, self.d2[self.inner] * (1 + EQUAL_DISTANCE), side="right"))

    @property
    def log_radii(self) -> float:
        """Logarithm of the outer radius over the inner one."""
        return 0.5 * float(np.log(self.d2[self.outer] / self.d2[self.inner]))


def close_pairs(X: np.ndarray, n_neighbors: int, ratio: float) -> ClosePairs | None:
    """Pairs within the radius that holds ``n_neighbors`` others of a row on average, and a share of them.

    Where many distances are equal, the inner radius gives way to the next one below, and if there is none, the outer to
    those above; None where all are equal. Rows must be distinct, and two at least.
    """
    count = -(-n_neighbors * X.shape[0] // 2)
    while True:
        d2, first, second = nearest_pairs(X, count)
        outer = d2.size - 1
        below = int(np.searchsorted(d2, d2[outer] * (1 - EQUAL_DISTANCE)))
        inner = min(max(floor_count(ratio * d2.size), 1), below) - 1
        if inner >= 0:
            return ClosePairs(d2, first, second, inner, outer)
        if d2.size < count:
            return None
        count *= 8


def distinct_rows(X: np.ndarray) -> np.ndarray:
    """The rows of which no copy comes before."""
    _, first = np.unique(hash_rows(X + 0.0), return_index=True)  # + 0.0: -0 is 0
    return X[np.sort(first)]


def hash_rows(A: np.ndarray) -> np.ndarray:
    """A number of 64 bits for each row, the same for the same bits."""
    return np.fromiter((hash(row.tobytes()) for row in A), dtype=np.int64, count=A.shape[0])


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances by a matrix product, those of close points from differences: copies are at exactly zero."""
    size_a, size_b = np.sum(A * A, axis=1), np.sum(B * B, axis=1)
    d2 = A @ B.T
    d2 *= -2.0
    d2 += size_b
    d2 += size_a[:, None]
    i, j = np.nonzero(d2 <= _CLOSE * (size_a[:, None] + size_b.max()))
    for some in blocks(i.size, _BLOCK // A.shape[1]):
        difference = A[i[some]] - B[j[some]]
        d2[i[some], j[some]] = np.sum(difference * difference, axis=1)
    return d2
