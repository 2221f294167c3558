r"""The feature of least weight, for models that change little from one query to the next.

The weight of feature j is :math:`\|w_j\|, w_{jc} = \langle x_j, v_c \rangle`, over the models c, :math:`v_c` being
their dual variables. Since

.. math:: \bigl|\, \|w_j(V)\| - \|w_j(V')\| \,\bigr| \le \|x_j\| \, \|V - V'\|_F,

a feature whose weight was large stays above the least one until the dual variables have moved far enough. So the
weights of a few candidates are computed at each query, and those of all features only when this bound no longer
excludes the others: the answer is exact, and a pass over the table serves many queries.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.tolerances import NEGLIGIBLE_WEIGHT2, TIE, WEIGHT_ERROR
from tamis.rank.backward._device_table import DeviceTable

_MIN_CANDIDATES = 512
_FEATURES_PER_CANDIDATE = 8  # or one in so many of the remaining features
_FEATURES_PER_SUSPECT = 8  # with more suspects, all weights are computed
_MAX_IN_VAIN = 8  # passes, after which candidates are copied only once in so many
_SUSPECTS_AT_A_TIME = 1024
_TURNS_AT_A_TIME = 16
_COMPACT = 0.7  # fraction of remaining rows below which the table is copied without the eliminated ones


class WeightSearch:
    """Finds the remaining feature of least weight, and eliminates features.

    Parameters
    ----------
    table : ndarray, CSR array or DeviceTable of shape (n_features, n_samples)
        One feature per row.

    Attributes
    ----------
    n_remaining : int
        How many features remain.
    n_passes : int
        Times that the weights of all features were computed.
    """

    def __init__(self, table: Any) -> None:
        self.n_passes, self.n_remaining = 0, table.shape[0]
        self._n_passes_in_vain = 0  # in a row, whose candidates did not last for another query
        self._table, self._features = table, np.arange(table.shape[0])
        self._row = np.arange(table.shape[0])  # of every feature in the table
        self._is_remaining = np.ones(table.shape[0], dtype=bool)
        self._norm = row_norms(table)
        self._V_at_end: np.ndarray | None = None  # where all weights were computed last, but for :meth:`least`
        self._drop_candidates()

    @property
    def features(self) -> np.ndarray:
        """Remaining features, ascending."""
        return self._features[self._is_remaining]

    @property
    def table(self) -> Any:
        """Rows of the remaining features."""
        self._compact(1.0)
        return self._table

    def weights(self, V: np.ndarray) -> np.ndarray:
        """Squared weights of the remaining features: one pass over the table."""
        self.n_passes += 1
        return squared_weights(self.table, V)

    def least(self, V: np.ndarray) -> tuple[int, float]:
        """The feature of least squared weight, the last of equals; ``V`` has one row of dual variables per model."""
        if self._candidate_table is not None:
            squares = squared_weights(self._candidate_table, V)
            squares += self._elimination_penalty
            drift = (V - self._V_at_pass).ravel()
            bound = self._least_of_others - self._norm * math.sqrt(float(drift @ drift))  # of any other's weight
            suspects = np.flatnonzero(bound <= math.sqrt(self._with_ties(float(squares.min()))))
            if suspects.size <= self.n_remaining // _FEATURES_PER_SUSPECT:
                self._n_passes_in_vain = 0
                return self._pick_among(squares, suspects, V)
        squares = self._choose_candidates(V)
        return self._pick(squares, self._candidate_rows)

    def _pick_among(self, squares: np.ndarray, suspects: np.ndarray, V: np.ndarray) -> tuple[int, float]:
        """The least of the candidates and of other rows of the table."""
        if not suspects.size:
            return self._pick(squares, self._candidate_rows)
        rows = np.concatenate([self._candidate_rows, suspects])
        ascending = np.argsort(rows)
        squares = np.concatenate([squares, squared_weights(self._table[suspects], V)])
        return self._pick(squares[ascending], rows[ascending])

    def rounding_tol(self, V: np.ndarray) -> float:
        """Squared weight that rounding alone explains."""
        return (WEIGHT_ERROR * float(self._norm.max()) * float(np.linalg.norm(V))) ** 2

    def remove_one(self, feature: int) -> Any:
        """Eliminate a feature, and return its row of the table."""
        row = self._row[feature]
        self._is_remaining[row] = False
        self.n_remaining -= 1
        if self._candidate_table is not None:
            self._least_of_others[row] = np.inf
            if self._candidate[row] >= 0:
                self._elimination_penalty[self._candidate[row]] = np.inf
        return self._table[row]

    def remove(self, features: np.ndarray) -> Any:
        """Eliminate features, and return their rows of the table."""
        rows = self._row[features]
        self._is_remaining[rows] = False
        self.n_remaining -= rows.size
        if self._candidate_table is not None:
            self._least_of_others[rows] = np.inf
            candidates = self._candidate[rows]
            self._elimination_penalty[candidates[candidates >= 0]] = np.inf
        return self._table[rows]

    def choose_candidates(self, V: np.ndarray, n_most: int) -> np.ndarray:
        """Remaining features of the least weights, ascending: one pass over the table.

        At most ``n_most`` but for ties. They stand in for all features in :meth:`n_certain` and :meth:`pick_place`.
        """
        self._compact(_COMPACT)
        self._drop_candidates()
        if self._V_at_end is None or not np.array_equal(V, self._V_at_end):
            self._pass(V)
        self._squares_at_pass = np.where(self._is_remaining, self._squares_at_end, np.inf)
        self._set_weight2_tol(self._squares_at_pass, V)
        self._V_at_pass = V.copy()
        if n_most < self.n_remaining:
            highest = np.partition(self._squares_at_pass, n_most - 1)[n_most - 1]
            self._chosen_rows = np.flatnonzero(self._squares_at_pass <= self._with_ties(highest))
        else:
            self._chosen_rows = np.flatnonzero(self._is_remaining)
        return self._features[self._chosen_rows]

    def pick_place(self, squares: np.ndarray) -> int:
        """The last place of the least of the squared weights, but for rounding."""
        is_least = squares <= self._with_ties(squares.min())
        return is_least.size - 1 - int(is_least[::-1].argmax())

    def n_certain(self, duals: np.ndarray, least: np.ndarray) -> int:
        """How many of several models in turn have no feature as small as ``least`` but those that were chosen.

        ``duals`` has the shape (n_turns, n_models, n_samples), ``least`` holds a squared weight for each turn. Weights
        of all features are known at the last pass and computed for the last turn, which bounds those in between; those
        of the features that these bounds do not exclude are computed for all turns.
        """
        self._pass(duals[-1])
        limit = np.sqrt(self._with_ties(least))
        ends = [(self._squares_at_pass, self._V_at_pass), (self._squares_at_end, self._V_at_end)]
        drifts = [np.sqrt(((duals - V) ** 2).sum(axis=(1, 2))) for _, V in ends]
        is_other = self._is_remaining.copy()
        is_other[self._chosen_rows] = False
        others = np.flatnonzero(is_other)
        roots, norm = [np.sqrt(squares[others]) for squares, _ in ends], self._norm[others]
        suspects = others[_may_fall_below(limit, norm, roots, drifts)]
        n_turns = len(least)
        for part in blocks(suspects.size, _SUSPECTS_AT_A_TIME):
            table = self._table[suspects[part]]
            squares = sum((table @ duals[:n_turns, m].T) ** 2 for m in range(duals.shape[1]))
            is_certain = np.asarray(squares).min(axis=0) > limit[:n_turns] ** 2
            n_turns = n_turns if is_certain.all() else int(np.argmin(is_certain))
        return n_turns

    def rows(self, features: np.ndarray) -> Any:
        """Rows of the table, on the host."""
        rows = self._table[self._row[features]]
        return rows.toarray() if isinstance(rows, DeviceTable) else rows

    def _pass(self, V: np.ndarray) -> None:
        """Compute the weights of all features."""
        self.n_passes += 1
        self._squares_at_end, self._V_at_end = squared_weights(self._table, V), V.copy()

    def _with_ties(self, least: Any) -> Any:
        """Squared weight up to which features are as small as the least, but for rounding."""
        return least * (1.0 + TIE.float64) + self._weight2_tol

    def _set_weight2_tol(self, squares: np.ndarray, V: np.ndarray) -> None:
        self._weight2_tol = max(NEGLIGIBLE_WEIGHT2 * float(squares[self._is_remaining].max()), self.rounding_tol(V))

    def _pick(self, squares: np.ndarray, rows: np.ndarray) -> tuple[int, float]:
        """The least, given rows of the table in ascending order."""
        last = self.pick_place(squares)
        return int(self._features[rows[last]]), float(squares[last])

    def _drop_candidates(self) -> None:
        self._candidate_table: Any = None

    def _choose_candidates(self, V: np.ndarray) -> np.ndarray:
        """Compute all weights and choose the candidates for the next queries; their squared weights."""
        self.n_passes += 1
        self._compact(_COMPACT)
        squares = np.where(self._is_remaining, squared_weights(self._table, V), np.inf)
        self._set_weight2_tol(squares, V)
        n_candidates = max(_MIN_CANDIDATES, self.n_remaining // _FEATURES_PER_CANDIDATE)
        self._least_of_others = np.sqrt(squares)
        if n_candidates < self.n_remaining:
            highest = self._with_ties(np.partition(squares, n_candidates - 1)[n_candidates - 1])
            self._candidate_rows = np.flatnonzero(squares <= highest)
        else:
            self._candidate_rows = np.flatnonzero(self._is_remaining)
        self._least_of_others[self._candidate_rows] = np.inf
        self._n_passes_in_vain += 1
        if self._n_passes_in_vain > _MAX_IN_VAIN and self._n_passes_in_vain % _MAX_IN_VAIN:
            self._drop_candidates()
            return squares[self._candidate_rows]
        self._candidate_table, self._V_at_pass = self._table[self._candidate_rows], V.copy()
        self._elimination_penalty = np.zeros(self._candidate_rows.size)  # infinite for candidates eliminated since
        self._candidate = np.full(self._features.size, -1)  # position of every row of the table among the candidates
        self._candidate[self._candidate_rows] = np.arange(self._candidate_rows.size)
        return squares[self._candidate_rows]

    def _compact(self, share: float) -> None:
        """Copy the remaining rows where they are less than ``share`` of the table."""
        if self.n_remaining >= share * self._is_remaining.size:
            return
        self._table, self._features, self._norm = (
            values[self._is_remaining] for values in (self._table, self._features, self._norm)
        )
        self._row[self._features] = np.arange(self._features.size)
        self._is_remaining = np.ones(self._features.size, dtype=bool)
        self._V_at_end = None
        self._drop_candidates()


def _may_fall_below(
    limit: np.ndarray, norm: np.ndarray, roots: list[np.ndarray], drifts: list[np.ndarray]
) -> np.ndarray:
    """Which features may have weights below the limit of some turn, given theirs at two points and the way to these."""
    below = np.zeros(norm.size, dtype=bool)
    for part in blocks(limit.size, _TURNS_AT_A_TIME):
        bounds = [root - norm * drift[part].max() for root, drift in zip(roots, drifts, strict=True)]
        below |= np.maximum(*bounds) <= limit[part].max()
    return below


def squared_weights(table: Any, V: np.ndarray) -> np.ndarray:
    """Squared weight of every row of a table, summed over the models."""
    if len(V) == 1:
        return np.square(table @ V[0])
    W = table @ V.T
    return np.einsum("ij,ij->i", W, W)


def row_norms(table: Any) -> np.ndarray:
    """Euclidean norm of every row."""
    if isinstance(table, DeviceTable):
        return np.sqrt(table.squared_norms())
    if sparse.issparse(table):
        return np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", table, table))
