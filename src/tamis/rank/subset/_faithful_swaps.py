r"""Local search by swaps: kept features are replaced one at a time while the leave-one-out FIT of the set increases.

The leave-one-out FIT of a set S (see :mod:`tamis.kernels.neighbors.fit_criterion`),

    FIT(S) = 1 - mean_i || phi_i - mean_{k in N_S(i)} phi_k ||^2,    (phi_i' phi_k) = K,

depends on S through the p nearest neighbors ``N_S(i)`` only, and squared distances are sums over features. A swap of
one feature out of many changes distances little, so that neighbors are searched in short lists:

- W nearest rows of each row (all rows, where these are few), found from all distances every few swaps. FIT is then
  exact; should it have decreased, the swaps since the last time are rolled back;
- L nearest rows once a feature has been removed. Adding one only increases distances, so that the neighbors with any
  candidate added are nearly always among them: all candidates are screened on these, for a sample of rows, and only the
  best are tried on all W.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.tolerances import NEAREST_TIE
from tamis.kernels.neighbors.fit_criterion import fit_from_gram
from tamis.rank.subset._alignment import AlignmentSearch

# Least L, and for a single column, as a swap among few columns changes distances more; the same for W.
_MIN_SHORTLIST, _MIN_SHORTLIST_FOR_ONE = 24, 240
_MIN_NEIGHBORS, _MIN_NEIGHBORS_FOR_ONE = 128, 5000
_FEW_ROWS = 513  # rows up to which W is all others
_COLUMNS_PER_REFRESH = 10  # columns tried before the W nearest are found anew
_CANDIDATES = 64  # columns screened to replace one
_MAX_TRIED = 3  # of these, at most so many are tried on W rows
_MIN_INCREASE = 1e-9  # of FIT; less is rounding
_BLOCK = 2**21  # distances held at a time


def nearest_rows(Z: np.ndarray, kept: list[int], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other rows of each row on the kept columns, ascending by index, and their squared distances.

    Ties go to the lowest row. Memory for a block of distances beside the result.
    """
    some = Z[:, kept].astype(float)
    size = np.einsum("ij,ij->i", some, some)
    near, distances2 = (np.empty((len(Z), count), dtype=kind) for kind in (np.int64, float))
    for rows in blocks(len(Z), _BLOCK // len(Z)):
        distance2 = size[rows, None] + size - 2.0 * some[rows] @ some.T
        np.fill_diagonal(distance2[:, rows], np.inf)
        near[rows] = np.sort(_smallest(distance2, np.arange(len(Z)), count), axis=1)
        distances2[rows] = np.maximum(np.take_along_axis(distance2, near[rows], axis=1), 0.0)
    return near, distances2


def _smallest(distance2: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """Where the smallest distances of every row are; of equal ones, those at the lowest places."""
    if count == distance2.shape[1]:
        return np.broadcast_to(np.arange(count), distance2.shape)
    scale = np.mean(distance2[0], where=np.isfinite(distance2[0]))
    shifted = np.broadcast_to(places, distance2.shape) * (NEAREST_TIE * scale)
    shifted += distance2
    return np.argpartition(shifted, count - 1, axis=1)[:, :count]


def fit_among(near: np.ndarray, distance2: np.ndarray, gram: np.ndarray, n_neighbors: int) -> float:
    """Leave-one-out FIT with the nearest of the rows ``near`` each row as neighbors."""
    neighbors = np.take_along_axis(near, _smallest(distance2, near, n_neighbors), axis=1)
    return fit_from_gram(gram, neighbors)


class SwapSearch:
    """A set of columns whose FIT increases with every round of swaps.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Columns of one norm.
    gram : ndarray of shape (n_rows, n_rows)
        ``K``, with n_rows as its trace.
    alignment : AlignmentSearch
        The initial set; it proposes the candidates and is updated with the swaps.
    n_neighbors : int
        p, less than n_rows - 1.
    queries : ndarray
        Rows on which candidates are compared.

    Attributes
    ----------
    kept : list of int
        The best set so far.
    history : list of float
        Its FIT, from all distances, at the start and after each round.
    n_swaps : int
        Swaps that led to it.
    """

    def __init__(
        self, Z: np.ndarray, gram: np.ndarray, alignment: AlignmentSearch, n_neighbors: int, queries: np.ndarray
    ) -> None:
        self.Z = Z
        self.gram = gram
        self.alignment = alignment
        self.n_neighbors = n_neighbors
        self.queries = queries
        self.n_swaps = 0
        wide = max(_MIN_NEIGHBORS, _MIN_NEIGHBORS_FOR_ONE // len(alignment.kept), 4 * n_neighbors)
        self._n_near = max(_MIN_SHORTLIST, _MIN_SHORTLIST_FOR_ONE // len(alignment.kept), 3 * n_neighbors)
        self._n_wide = len(Z) - 1 if len(Z) <= _FEW_ROWS else min(wide, len(Z) - 1)
        self._columns = np.ascontiguousarray(Z.T, dtype=np.float32)
        self._gram = gram.astype(np.float32)
        self._find_neighbors()
        self.kept = list(alignment.kept)
        self.history = [self._fit]

    def run_pass(self, tries: int) -> float:
        """Try to swap at most ``tries`` of the kept columns, the least useful first; how much FIT increased."""
        before = self.history[-1]
        order = self.alignment.by_least_loss()[:tries]
        for some in blocks(len(order), _COLUMNS_PER_REFRESH):
            n_swaps = sum(self._swap(column) for column in order[some])
            self._find_neighbors()
            if self._fit < self.history[-1]:
                self._restore_best()
            else:
                self.kept = list(self.alignment.kept)
                self.history.append(self._fit)
                self.n_swaps += n_swaps
        return self.history[-1] - before

    def _restore_best(self) -> None:
        """Return to the best set so far."""
        now = list(self.alignment.kept)
        for column in sorted(set(now).difference(self.kept)):
            self.alignment.remove(column)
        for column in sorted(set(self.kept).difference(now)):
            self.alignment.add(column)
        self._find_neighbors()

    def _find_neighbors(self) -> None:
        """Find the W nearest rows from all distances, and the exact FIT."""
        self._rows = self._distance2 = np.empty((0, 0))  # those before are not held meanwhile
        self._rows, self._distance2 = nearest_rows(self.Z, self.alignment.kept, self._n_wide)
        self._fit = fit_among(self._rows, self._distance2, self.gram, self.n_neighbors)

    def _swap(self, column: int) -> bool:
        """Replace a column by one that increases FIT, if there is any."""
        squares = self.alignment.remove(column)
        without = self._distance2 - self._column_distance2(column)
        for candidate in self._candidates(column, without[self.queries]):
            distance2 = without + self._column_distance2(candidate)
            fit = fit_among(self._rows, distance2, self.gram, self.n_neighbors)
            if fit > self._fit + _MIN_INCREASE:
                self._distance2, self._fit = distance2, fit
                self.alignment.add(candidate)
                return True
        self.alignment.add(column, squares)
        return False

    def _candidates(self, column: int, without: np.ndarray) -> list[int]:
        """The best columns by screening, best first, if better than ``column`` itself.

        ``without`` holds the squared distances of the queries on the other kept columns.
        """
        values = self.alignment.alignment_with()
        values[column] = -np.inf
        count = min(_CANDIDATES, int(np.count_nonzero(values > -np.inf)))
        proposed = np.sort(np.argpartition(-values, min(count, values.size - 1))[:count])
        fits = self._screen(np.append(proposed, column), without)
        n_better = int(np.count_nonzero(fits[:-1] > fits[-1]))
        best = np.argsort(-fits[:-1], kind="stable")[: min(_MAX_TRIED, n_better)]
        return [int(proposed[place]) for place in best]

    def _screen(self, columns: np.ndarray, without: np.ndarray) -> np.ndarray:
        """FIT over the queries with each column added, up to a constant and a factor, by the L nearest rows alone.

        With s the indicator of the neighbors of query i among its L nearest rows, and K the Gram matrix of these,

            p^2 || phi_i - mean_{k in N(i)} phi_k ||^2 = s' K s - 2 p k_i' s + p^2 K_ii.
        """
        rows = self._rows[self.queries]
        place = _smallest(without, rows, min(self._n_near, rows.shape[1]))
        near, near_distance2 = (np.take_along_axis(each, place, axis=1) for each in (rows, without))
        values = self._columns[columns]
        height = _BLOCK // (near.shape[1] * max(near.shape[1], columns.size))
        errors = [
            self._errors(values, self.queries[some], near[some], near_distance2[some])
            for some in blocks(len(near), height)
        ]
        return -np.sum(errors, axis=0)

    def _errors(
        self, values: np.ndarray, queries: np.ndarray, near: np.ndarray, near_distance2: np.ndarray
    ) -> np.ndarray:
        """``s' K s - 2 p k_i' s`` of :meth:`_screen`, summed over queries, for each of the columns of ``values``."""
        p, n_rows = self.n_neighbors, len(self._gram)
        distance2 = values.take(near, axis=1)  # (columns, queries, near)
        distance2 -= values[:, queries, None]
        distance2 *= distance2
        distance2 += near_distance2.astype(np.float32)
        farthest = np.partition(distance2, p - 1, axis=-1)[:, :, p - 1, None]
        is_neighbor = (distance2 <= farthest).astype(np.float32).transpose(1, 0, 2)

        forms = is_neighbor @ self._gram.take((near * n_rows)[:, :, None] + near[:, None, :])
        forms -= (2 * p) * self._gram.take((queries * n_rows)[:, None] + near)[:, None, :]
        return np.einsum("icl,icl->c", forms, is_neighbor)

    def _column_distance2(self, column: int) -> np.ndarray:
        values = self.Z[:, column].astype(float)
        difference = values[self._rows]
        difference -= values[:, None]
        return np.multiply(difference, difference, out=difference)
