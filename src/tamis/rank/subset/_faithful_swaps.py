r"""Exchange kept features one at a time so that the neighbors they define recover all features better.

The leave-one-out FIT of a set S (see :mod:`tamis.kernels.neighbors.faithfulness`),

    FIT(S) = 1 - mean_i || phi_i - mean_{k in N_S(i)} phi_k ||^2,    (phi_i' phi_k) = K,

depends on S through the p nearest neighbors ``N_S(i)`` only, and squared distances add up over features. Exchanging one
of many features changes distances little: for a while, neighbors are looked for among the W nearest of each row (all
rows, where there are few). With one feature taken out, those after any other is put in are nearly always among the L
nearest without it, since distances only grow: candidates are compared on these, for some rows, all at once, and only
the best are tried on all W. Every so often the W nearest are found anew and FIT is computed from all distances; should
it have fallen after all, the exchanges since are undone.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.neighbors.faithfulness import fit_from_gram
from tamis.rank.subset._alignment import AlignmentSearch

_NEAR, _NEAR_FOR_ONE = 24, 240  # L at least, and for a single column: an exchange among few moves rows further
_WIDE, _WIDE_FOR_ONE = 128, 5000  # the same for W
_ALL = 513  # rows up to which W is all others
_ROUND = 10  # columns taken out before the W nearest are found anew
_CANDIDATES = 64  # columns compared in place of one
_TRIED = 3  # of these, how many are tried on W rows
_TIE = 1e-11  # relative difference of squared distances below which the lower row is the nearer
_RISE = 1e-9  # of FIT, less is rounding
_BLOCK = 2**21  # distances held at a time


def nearest_rows(Z: np.ndarray, kept: list[int], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other rows of each row on the kept columns, ascending by place, and their squared distances.

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
    return np.argpartition(distance2 + _TIE * scale * places, count - 1, axis=1)[:, :count]


def fit_among(near: np.ndarray, distance2: np.ndarray, gram: np.ndarray, n_neighbors: int) -> float:
    """Leave-one-out FIT with the nearest of the rows ``near`` each row as neighbors."""
    neighbors = np.take_along_axis(near, _smallest(distance2, near, n_neighbors), axis=1)
    return fit_from_gram(gram, neighbors)


class SwapSearch:
    """A set of columns whose FIT rises with every round of exchanges.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Columns of one norm.
    gram : ndarray of shape (n_rows, n_rows)
        ``K``, with n_rows as its trace.
    alignment : AlignmentSearch
        The set to begin with; it proposes the candidates and follows the exchanges.
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
        Exchanges that led to it.
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
        wide = max(_WIDE, _WIDE_FOR_ONE // len(alignment.kept), 4 * n_neighbors)
        self._near = max(_NEAR, _NEAR_FOR_ONE // len(alignment.kept), 3 * n_neighbors)
        self._width = len(Z) - 1 if len(Z) <= _ALL else min(wide, len(Z) - 1)
        self._columns = np.ascontiguousarray(Z.T, dtype=np.float32)
        self._gram = gram.astype(np.float32)
        self._look_around()
        self.kept = list(alignment.kept)
        self.history = [self._fit]

    def run_pass(self, tries: int) -> float:
        """Go once over the kept columns, those that are missed least first, at most ``tries``; how much FIT rose."""
        before = self.history[-1]
        order = self.alignment.from_least_loss()[:tries]
        for some in blocks(len(order), _ROUND):
            swaps = sum(self._exchange(column) for column in order[some])
            self._look_around()
            if self._fit < self.history[-1]:
                self._undo()
            else:
                self.kept = list(self.alignment.kept)
                self.history.append(self._fit)
                self.n_swaps += swaps
        return self.history[-1] - before

    def _undo(self) -> None:
        """Return to the best set so far."""
        now = list(self.alignment.kept)
        for column in sorted(set(now).difference(self.kept)):
            self.alignment.drop(column)
        for column in sorted(set(self.kept).difference(now)):
            self.alignment.add(column)
        self._look_around()

    def _look_around(self) -> None:
        """Find the nearest rows anew, and FIT."""
        self._rows, self._distance2 = nearest_rows(self.Z, self.alignment.kept, self._width)
        self._fit = fit_among(self._rows, self._distance2, self.gram, self.n_neighbors)

    def _exchange(self, column: int) -> bool:
        """Put in place of a column one that makes FIT higher, if there is any."""
        squares = self.alignment.drop(column)
        reduced = self._distance2 - self._apart2(column)
        for candidate in self._candidates(column, reduced[self.queries]):
            distance2 = reduced + self._apart2(candidate)
            fit = fit_among(self._rows, distance2, self.gram, self.n_neighbors)
            if fit > self._fit + _RISE:
                self._distance2, self._fit = distance2, fit
                self.alignment.add(candidate)
                return True
        self.alignment.add(column, squares)
        return False

    def _candidates(self, column: int, reduced: np.ndarray) -> list[int]:
        """The few most promising columns, best first: those better than ``column`` itself by near rows alone."""
        values = self.alignment.alignment_with()
        values[column] = -np.inf
        count = min(_CANDIDATES, int(np.count_nonzero(values > -np.inf)))
        proposed = np.sort(np.argpartition(-values, min(count, values.size - 1))[:count])
        figures = self._compare(np.append(proposed, column), reduced)
        n_better = int(np.count_nonzero(figures[:-1] > figures[-1]))
        best = np.argsort(-figures[:-1], kind="stable")[: min(_TRIED, n_better)]
        return [int(proposed[place]) for place in best]

    def _compare(self, columns: np.ndarray, reduced: np.ndarray) -> np.ndarray:
        """FIT over the queries that each column would give, up to a constant and a factor; by near rows alone."""
        rows = self._rows[self.queries]
        place = _smallest(reduced, rows, min(self._near, rows.shape[1]))
        near, base = (np.take_along_axis(each, place, axis=1) for each in (rows, reduced))
        values = self._columns[columns]
        distance2 = values[:, near]  # (columns, queries, near)
        distance2 -= values[:, self.queries, None]
        distance2 *= distance2
        distance2 += base.astype(np.float32)
        reach = np.partition(distance2, self.n_neighbors - 1, axis=-1)[:, :, self.n_neighbors - 1, None]
        chosen = (distance2 <= reach).astype(np.float32).transpose(1, 0, 2)
        pull = chosen @ self._gram[near[:, :, None], near[:, None, :]]
        pull -= (2 * self.n_neighbors) * self._gram[self.queries[:, None], near][:, None, :]
        return -np.einsum("icl,icl->c", pull, chosen)

    def _apart2(self, column: int) -> np.ndarray:
        values = self.Z[:, column].astype(float)
        apart = values[self._rows]
        apart -= values[:, None]
        return np.multiply(apart, apart, out=apart)
