"""Relief weights: how much more a column differs between a row and its nearest misses than its nearest hits.

Rows are taken in blocks. A block's distances to all rows are one matrix product, whose rounding errors never decide:
rows closer than these are compared by their differences, and of equally distant ones the first is the nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from scipy.spatial.distance import cdist

from tamis.kernels.arrays.blocks import blocks, map_in_threads
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.tolerances import ROUNDING, Tolerance
from tamis.kernels.arrays.transfer import to_numpy

T = TypeVar("T")
Watch = Callable[[Iterator[Any], int], Generator[Any, None, None]]

_EPS = Tolerance(2.0**-52, 2.0**-23)  # distance of one to the next number
_MOST_ROWS = 128  # rows of a block: enough for a fast matrix product, few enough to keep all threads busy
_MOST_DISTANCES = 2**20  # entries of a block of distances
_MOST_DIFFERENCES = 2**18  # entries of a table of differences, which should stay in cache


def _unwatched(results: Iterator[Any], n_results: int) -> Generator[Any, None, None]:
    yield from results


def scale_to_unit_range(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns divided by their range and centered, in C order, and which of them are constant up to rounding.

    Centering changes no difference, and avoids most of the rounding error of the matrix product. Missing values stay,
    but in constant columns.
    """
    incomplete = has_missing(X)
    if incomplete:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    spread = high / 2 - low / 2  # of halves, for the range of the largest numbers overflows
    constant = ~(spread > 2 * np.finfo(X.dtype).eps * size)  # also where no value is available
    divisor = np.where(constant, 1, spread)
    Z = np.multiply(X, X.dtype.type(0.5), order="C")
    Z -= low / 2
    Z /= divisor
    Z[:, constant] = 0
    Z -= np.nanmean(Z, axis=0) if incomplete else Z.mean(axis=0)
    return Z, constant


class PairDifferences(Protocol):
    """Columns in which rows are compared."""

    @property
    def n_columns(self) -> int:
        """How many there are."""

    def differences(self, rows: np.ndarray, neighbors: np.ndarray, power: int) -> np.ndarray:
        """Of each row and each of its neighbors, of shape (n_rows, n_neighbors, n_columns)."""

    def sum_differences(self, rows: np.ndarray, neighbors: np.ndarray, weights: np.ndarray, power: int) -> np.ndarray:
        """As :func:`sum_differences`."""


@dataclass(frozen=True)
class _PlainColumns:
    """Numbers, none of which is missing."""

    Z: np.ndarray

    @property
    def n_columns(self) -> int:
        return self.Z.shape[1]

    def differences(self, rows: np.ndarray, neighbors: np.ndarray, power: int) -> np.ndarray:
        return _differences(self.Z, rows, neighbors, power)

    def sum_differences(self, rows: np.ndarray, neighbors: np.ndarray, weights: np.ndarray, power: int) -> np.ndarray:
        return sum_differences(self.Z, rows, neighbors, weights, power)


class NeighborSearch:
    """Nearest neighbors among the rows of a table.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Scaled columns, or coordinates in which the distances are those that are meant.
    metric : {"euclidean", "manhattan"}
        Euclidean distances are squared throughout.
    columns : PairDifferences or None
        What is summed over pairs; None: differences of the columns of ``Z``.
    variance : ndarray of shape (n_rows,) or None
        Added to the squared distances of a row, for values that are not known.

    Attributes
    ----------
    uses_threads : bool
        Whether blocks of rows may be shared out among threads.
    """

    uses_threads: ClassVar[bool] = True

    def __init__(
        self,
        Z: np.ndarray,
        metric: str,
        *,
        columns: PairDifferences | None = None,
        variance: np.ndarray | None = None,
    ) -> None:
        self.Z = Z
        self.metric = metric
        self.columns = _PlainColumns(Z) if columns is None else columns
        self.variance = variance
        self._norm2 = self._squared_norms()
        if variance is not None:
            self._norm2 += variance.astype(Z.dtype)
        self._rounding = ROUNDING.of(Z)
        # two distances that differ by more than their rounding error are ordered with certainty
        if metric == "manhattan":
            self._distance_error = self._rounding * Z.shape[1]
        else:
            relative = 16 * _EPS.of(Z) * Z.shape[1] ** 0.5 + 4 * self._rounding
            self._distance_error = relative * float(to_numpy(self._norm2).max())

    def _squared_norms(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self.Z, self.Z, dtype=float).astype(self.Z.dtype)

    def n_rows_at_once(self) -> int:
        """Rows whose distances to all others are held at a time."""
        return min(_MOST_ROWS, max(32, _MOST_DISTANCES // self.Z.shape[0]))

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """Distances of some rows to all, up to rounding and a term per row, which no order depends on.

        Those of rows to themselves are infinite.
        """
        if self.metric == "manhattan":
            distance = cdist(self.Z[rows], self.Z, "cityblock")
        else:
            distance = (-2 * self.Z[rows]) @ self.Z.T
            distance += self._norm2
        distance[np.arange(rows.size), rows] = np.inf
        return distance

    def pair_distances(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Distance of each row to its counterpart, from their differences, in double precision."""
        distance = np.empty(rows.size)
        for part in blocks(rows.size, _MOST_DIFFERENCES // self.Z.shape[1]):
            difference = self.Z[rows[part]].astype(float, copy=False) - self.Z[others[part]]
            if self.metric == "manhattan":
                distance[part] = np.abs(difference).sum(axis=1)
            else:
                distance[part] = np.einsum("ij,ij->i", difference, difference)
        if self.variance is not None:
            distance += self.variance[rows] + self.variance[others]
        return distance

    def distances_to(self, distance: Any, candidates: np.ndarray) -> Any:
        """The columns of :meth:`distances` that belong to some rows."""
        return distance.take(candidates, axis=1)

    def search_within(
        self, parts: Sequence[np.ndarray], k: int, *, in_order: bool = False
    ) -> Callable[[np.ndarray], list[np.ndarray]]:
        """A function of some rows that gives the ``k`` nearest of each within every part.

        Parameters
        ----------
        parts : sequence of ndarray
            Rows among which neighbors are searched, in increasing order, more than ``k`` of them.
        k : int
        in_order : bool, default=False
            Whether the nearest comes first.
        """

        def find(rows: np.ndarray) -> list[np.ndarray]:
            distance = self.distances(rows)
            among = (distance if part.size == self.Z.shape[0] else self.distances_to(distance, part) for part in parts)
            return [self.nearest(rows, part, d, k, in_order=in_order) for part, d in zip(parts, among, strict=True)]

        return find

    def _near_pairs(self, distance: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and distance of all pairs that may be among the ``k`` nearest, and of few others."""
        radius = _bound_smallest(distance, k)[:, None] + self._distance_error
        row, column = np.divmod(np.flatnonzero(distance <= radius), distance.shape[1])
        return row, column, distance[row, column]

    def nearest(
        self, rows: np.ndarray, candidates: np.ndarray, distance: Any, k: int, *, in_order: bool = False
    ) -> np.ndarray:
        """The ``k`` candidates, fewer than all, that are nearest to each row; nearest first if ``in_order``.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
        candidates : ndarray of shape (n_candidates,)
            In increasing order: the first of equally distant ones are taken.
        distance : array of shape (n_rows, n_candidates)
            As given by :meth:`distances` and :meth:`distances_to`.
        k : int
        in_order : bool, default=False
        """
        row, column, near = self._near_pairs(distance, k)
        order = np.lexsort((near, row))
        row, column, near = row[order], column[order], near[order]
        first = np.flatnonzero(np.diff(row, prepend=-1))
        chosen = column[first[:, None] + np.arange(k)]
        last = near[first + k - 1][row]
        within = near <= last + self._distance_error
        uncertain = (np.bincount(row[within]) > k) | in_order
        if uncertain.any():
            kept = np.flatnonzero(within & uncertain[row])
            row, column, near_boundary = row[kept], column[kept], in_order | (near >= last - self._distance_error)[kept]
            exact = np.full(row.size, -1.0)  # -1, before all others, for those that are certainly among the nearest
            exact[near_boundary] = self.pair_distances(rows[row[near_boundary]], candidates[column[near_boundary]])
            chosen[uncertain] = _first_nearest(row, column, exact, k, self._rounding)
        return candidates[chosen]


def _bound_smallest(values: np.ndarray, k: int) -> np.ndarray:
    """Upper bound on the k-th smallest value of each row, seldom much larger: the k-th of minima over some columns."""
    height = max(1, values.shape[1] // (8 * k))
    width = values.shape[1] // height
    minima = values[:, : height * width].reshape(-1, height, width).min(axis=1)
    return np.partition(minima, k - 1, axis=1)[:, k - 1]


def _first_nearest(row: np.ndarray, column: np.ndarray, distance: np.ndarray, k: int, rounding: float) -> np.ndarray:
    """Each row's ``k`` columns of smallest (distance, column), where distances equal up to rounding are ties."""
    order = np.lexsort((distance, row))
    row, column, distance = row[order], column[order], distance[order]
    first = np.flatnonzero(np.diff(row, prepend=-1))
    new = np.diff(distance, prepend=-np.inf) > rounding * distance
    new[first] = True
    column = column[np.lexsort((column, np.cumsum(new)))]
    return column[first[:, None] + np.arange(k)]


def sum_differences(
    Z: np.ndarray, rows: np.ndarray, neighbors: np.ndarray, weights: np.ndarray, power: int
) -> np.ndarray:
    r"""Weighted sums :math:`\sum_{ik} w_{qik} |z_i - z_{n(i,k)}|^p` of every column, of shape (n_sums, n_columns).

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
    rows : ndarray of shape (n_rows,)
    neighbors : ndarray of shape (n_rows, n_neighbors)
    weights : ndarray of shape (n_sums, n_rows, n_neighbors)
    power : {1, 2}
    """
    return sum_over_pairs(partial(_differences, Z, power=power), Z.shape[1], rows, neighbors, weights, Z.dtype)


def _differences(Z: np.ndarray, rows: np.ndarray, neighbors: np.ndarray, power: int) -> np.ndarray:
    """Of each row and each of its neighbors, of shape (n_rows, n_neighbors, n_columns)."""
    difference = Z[neighbors]
    difference -= Z[rows, None]
    return (np.abs if power == 1 else np.square)(difference, out=difference)


def sum_over_pairs(
    differences: Callable[[np.ndarray, np.ndarray], np.ndarray],
    n_columns: int,
    rows: np.ndarray,
    neighbors: np.ndarray,
    weights: np.ndarray,
    dtype: Any,
) -> np.ndarray:
    """Weighted sums of differences of each row and its neighbors, as :func:`sum_differences`; some pairs at a time."""
    total = np.zeros((len(weights), n_columns))
    weights = weights.astype(dtype, copy=False)
    n_pairs = max(1, _MOST_DIFFERENCES // n_columns)
    width = min(neighbors.shape[1], n_pairs)
    height = max(1, n_pairs // width)
    for some in blocks(rows.size, height):
        for slots in blocks(neighbors.shape[1], width):
            tile = some, slots
            difference = differences(rows[some], neighbors[tile])
            for q, weight in enumerate(weights):
                # unlike a BLAS product, einsum treats all columns alike: duplicates get the same sum, bit for bit
                total[q] += np.einsum("ik,ikj->j", weight[tile], difference)
    return total


def compare_classes(
    rows: NeighborSearch,
    codes: np.ndarray,
    references: np.ndarray,
    n_neighbors: int,
    power: int = 1,
    watch: Watch = _unwatched,
) -> tuple[np.ndarray, int]:
    """Mean difference to the nearest misses, by class prior, less that to the nearest hits, for every column.

    Parameters
    ----------
    rows : NeighborSearch
    codes : ndarray of shape (n_samples,)
        Class of each row, counted from 0; at least two classes.
    references : ndarray of shape (n_references,)
        Rows that are compared with their neighbors.
    n_neighbors : int
        Hits, and misses of every other class; a smaller class gives what it has.
    power : {1, 2}, default=1
    watch : callable
        Given results of blocks of rows and their number, yields them, or ends early.

    Returns
    -------
    scores : ndarray of shape (n_columns,)
    n_compared : int
        References that were compared, all unless it ended early.
    """
    counts = np.bincount(codes)
    members = [np.flatnonzero(codes == c) for c in range(counts.size)]
    taken = np.minimum(n_neighbors, counts)
    n_hits = np.minimum(n_neighbors, counts - 1)
    large = np.flatnonzero(counts > n_neighbors)
    find_nearest = rows.search_within([members[c] for c in large], n_neighbors)

    def compare(block: np.ndarray) -> tuple[np.ndarray, int]:
        own = codes[block]
        nearest = dict(zip(large.tolist(), find_nearest(block), strict=True))
        neighbors, weights = [], []
        for c, candidates in enumerate(members):
            chosen = nearest.get(c, np.broadcast_to(candidates, (block.size, counts[c])))
            miss = counts[c] / (codes.size - counts[own]) / taken[c]  # P(c) / (1 - P(own)), averaged
            weight = np.where(own == c, -1 / max(n_hits[c], 1), miss)
            neighbors.append(chosen)
            # a row is none of its own hits: where its values are missing they would differ in expectation
            weights.append(np.where(chosen == block[:, None], 0.0, weight[:, None]))
        sums = rows.columns.sum_differences(block, np.hstack(neighbors), np.hstack(weights)[None], power)
        return sums[0], block.size

    total, n_compared = np.zeros(rows.columns.n_columns), 0
    for part, n_rows in _work_in_blocks(compare, references, rows, watch):
        total += part
        n_compared += n_rows
    return total / max(n_compared, 1), n_compared


def compare_targets(
    rows: NeighborSearch,
    y: np.ndarray,
    references: np.ndarray,
    n_neighbors: int,
    sigma: float | None,
    power: int = 1,
    watch: Watch = _unwatched,
) -> tuple[np.ndarray, int]:
    """Share of neighbors that differ in a column where they differ in the target, less where they do not.

    Parameters
    ----------
    rows : NeighborSearch
    y : ndarray of shape (n_samples,)
        Target, not constant.
    references : ndarray of shape (n_references,)
        Rows that are compared with their neighbors.
    n_neighbors : int
    sigma : float or None
        The r-th neighbor weighs exp(-(r / sigma)^2); all the same if None.
    power : {1, 2}, default=1
    watch : callable
        As for :func:`compare_classes`, and so is what is returned.
    """
    everyone = np.arange(y.size)
    k = min(n_neighbors, y.size - 1)
    by_rank = np.ones(k) if sigma is None else np.exp((1 - np.arange(1, k + 1) ** 2) / sigma**2)
    by_rank /= by_rank.sum()
    target = (y / 2 - y.min() / 2) / (y.max() / 2 - y.min() / 2)
    find_nearest = rows.search_within([everyone], k, in_order=sigma is not None)

    def compare(block: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        [neighbors] = find_nearest(block)
        changed = by_rank * np.abs(target[block, None] - target[neighbors]) ** power
        weights = np.stack([changed, by_rank - changed])
        return rows.columns.sum_differences(block, neighbors, weights, power), weights.sum(axis=(1, 2)), block.size

    differences, totals, n_compared = np.zeros((2, rows.columns.n_columns)), np.zeros(2), 0
    for part, total, n_rows in _work_in_blocks(compare, references, rows, watch):
        differences += part  # N_dC&dA and N_dA - N_dC&dA of Robnik-Sikonja and Kononenko
        totals += total  # N_dC and m - N_dC
        n_compared += n_rows
    return _share(differences[0], totals[0]) - _share(differences[1], totals[1]), n_compared


def _share(part: np.ndarray, total: float) -> np.ndarray:
    """``part / total``, zero where the total is."""
    return part / total if total > 0 else np.zeros_like(part)


def _work_in_blocks(
    task: Callable[[np.ndarray], T], references: np.ndarray, rows: NeighborSearch, watch: Watch
) -> Iterator[T]:
    """Results of a task on blocks of rows, in order; how rows are cut does not depend on the number of threads."""
    parts = np.array_split(references, -(-references.size // rows.n_rows_at_once()))
    found = map_in_threads(task, parts) if rows.uses_threads else (task(part) for part in parts)
    with closing(found) as results, closing(watch(results, len(parts))) as watched:
        yield from watched
