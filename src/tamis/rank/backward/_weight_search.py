r"""Features of least weight, for machines that change little from one question to the next.

The weight of feature j is :math:`\|w_j\|, w_{jc} = \langle x_j, v_c \rangle`, over the machines c. Since

.. math:: \bigl|\, \|w_j(V)\| - \|w_j(V')\| \,\bigr| \le \|x_j\| \, \|V - V'\|_F,

a feature whose weight was large stays above the least one until the machines have moved far enough. So the weights of a
few features are computed each time, and those of all only when this bound no longer excludes the others: the answer is
exact, and a pass over the table serves many questions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

_TIE = 1e-10  # squared weights this close, relatively, are equal
_NOTHING = 1e-26  # and so are those below this part of the largest
_ROUNDING = 8 * float(np.finfo(float).eps)
_FEWEST = 512  # features watched at a time
_SHARE = 8  # or one in so many of those left
_COMPACT = 0.7  # share of the table in use below which it is copied


class WeightSearch:
    """Watches the features of least weight.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n_features, n_samples)
        One feature per row.

    Attributes
    ----------
    n_left : int
        How many features are left.
    n_passes : int
        Times that the weights of all were computed.
    """

    def __init__(self, table: Any) -> None:
        self.n_passes, self.n_left = 0, table.shape[0]
        self._table, self._features = table, np.arange(table.shape[0])
        self._place = np.arange(table.shape[0])  # of every feature in the table
        self._left = np.ones(table.shape[0], dtype=bool)
        self._norm = row_norms(table)
        self._stop_watching()

    @property
    def features(self) -> np.ndarray:
        """Features left, ascending."""
        return self._features[self._left]

    @property
    def table(self) -> Any:
        """Rows of the features left."""
        self._compact(1.0)
        return self._table

    def weights(self, V: np.ndarray) -> np.ndarray:
        """Squared weights of the features left: one pass over the table."""
        self.n_passes += 1
        return squared_weights(self.table, V)

    def least(self, V: np.ndarray) -> tuple[int, float]:
        """The feature of least squared weight, the last of equals; ``V`` has one row per machine."""
        if self._watched is not None:
            squares = squared_weights(self._watched, V)
            squares += self._gone
            least = float(squares.min())
            drift = (V - self._seen).ravel()
            limit = self._floor - self._reach * math.sqrt(float(drift @ drift))
            if limit > 0 and least * (1.0 + _TIE) + self._nothing < limit**2:
                return self._pick(squares, least)
        squares = self._watch(V)
        return self._pick(squares, squares.min())

    def noise(self, V: np.ndarray) -> float:
        """Squared weight that rounding alone explains."""
        return (_ROUNDING * float(self._norm.max()) * float(np.linalg.norm(V))) ** 2

    def remove_one(self, feature: int) -> Any:
        """Remove a feature, and return its row of the table."""
        place = self._place[feature]
        self._left[place] = False
        self.n_left -= 1
        if self._watched is not None and self._watcher[place] >= 0:
            self._gone[self._watcher[place]] = np.inf
        return self._table[place]

    def remove(self, features: np.ndarray) -> Any:
        """Remove features, and return their rows of the table."""
        places = self._place[features]
        self._left[places] = False
        self.n_left -= places.size
        if self._watched is not None:
            watchers = self._watcher[places]
            self._gone[watchers[watchers >= 0]] = np.inf
        return self._table[places]

    def _pick(self, squares: np.ndarray, least: float) -> tuple[int, float]:
        is_least = squares <= least * (1.0 + _TIE) + self._nothing
        place = is_least.size - 1 - int(is_least[::-1].argmax())  # places ascend with features
        return int(self._features[self._places[place]]), float(squares[place])

    def _stop_watching(self) -> None:
        self._watched: Any = None

    def _watch(self, V: np.ndarray) -> np.ndarray:
        """Look at all features and choose those to watch from now on: their squared weights."""
        self.n_passes += 1
        self._compact(_COMPACT)
        squares = np.where(self._left, squared_weights(self._table, V), np.inf)
        self._nothing = max(_NOTHING * float(squares[self._left].max()), self.noise(V))
        self._floor, self._reach = np.inf, 0.0
        n_watched = max(_FEWEST, self.n_left // _SHARE)
        others = np.zeros(0, dtype=bool)
        if n_watched < self.n_left:
            highest = np.partition(squares, n_watched - 1)[n_watched - 1] * (1.0 + _TIE) + self._nothing
            others = self._left & (squares > highest)
            self._places = np.flatnonzero(squares <= highest)
        else:
            self._places = np.flatnonzero(self._left)
        if others.any():
            self._floor, self._reach = float(np.sqrt(squares[others].min())), float(self._norm[others].max())
        self._watched, self._seen = self._table[self._places], V.copy()
        self._gone = np.zeros(self._places.size)  # infinite for features that were removed since
        self._watcher = np.full(self._features.size, -1)
        self._watcher[self._places] = np.arange(self._places.size)
        return squares[self._places]

    def _compact(self, share: float) -> None:
        """Copy the rows in use where they are less than ``share`` of the table."""
        if self.n_left >= share * self._left.size:
            return
        self._table, self._features, self._norm = (
            values[self._left] for values in (self._table, self._features, self._norm)
        )
        self._place[self._features] = np.arange(self._features.size)
        self._left = np.ones(self._features.size, dtype=bool)
        self._stop_watching()


def squared_weights(table: Any, V: np.ndarray) -> np.ndarray:
    """Squared weight of every row of a table, summed over the machines."""
    if len(V) == 1:
        return np.square(table @ V[0])
    W = table @ V.T
    return np.einsum("ij,ij->i", W, W)


def row_norms(table: Any) -> np.ndarray:
    """Euclidean norm of every row."""
    if sparse.issparse(table):
        return np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", table, table))
