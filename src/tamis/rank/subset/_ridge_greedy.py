r"""Forward selection of the columns from which ridge regression best predicts all columns.

With unit columns ``z_j``, ``K = sum_j z_j z_j'`` and ``M = lambda (K_S + lambda I)^{-1}``, which maps a vector to its
residual in ridge regression on the columns of S, a step adds the column that minimizes ``trace(K M)``:

    gain_j = z_j' M K M z_j / (lambda + z_j' M z_j) = num_j / (lambda + unexplained_j).

With ``u = M z / sqrt(lambda + z' M z)`` of the chosen column, M becomes ``M - u u'``, so that the two products
``t = Z' u`` and ``w = Z' M K u`` (one pass over the table) downdate both terms:

    num_j  <-  num_j - 2 t_j w_j + t_j^2 u' K u,        unexplained_j  <-  unexplained_j - t_j^2.

The ridge keeps the denominator away from zero: no digits are lost, unlike in least squares, where lambda is zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from tamis.kernels.arrays.tolerances import TIE
from tamis.kernels.subset.column_subset import first_largest


class RidgeSearch:
    """Choose columns one at a time; iterate for (column, gain), gains as shares of ``trace(K)``.

    Parameters
    ----------
    Y : ndarray of shape (n_rows, n_columns)
        Columns of unit norm.
    alpha : float
        lambda: how many unit columns along a direction it takes to explain half of it.
    gram : ndarray of shape (n_rows, n_rows)
        K; there may be more columns to explain than to choose from.
    forms : ndarray of shape (n_columns,)
        ``z_j' K z_j``.
    first : sequence of int
        Columns that are chosen before all others, whatever their gain.
    """

    def __init__(
        self, Y: np.ndarray, alpha: float, gram: np.ndarray, forms: np.ndarray, first: Sequence[int] = ()
    ) -> None:
        self.Y = Y
        self.first = first
        self.alpha = alpha
        self.gram = gram
        self._unexplained = np.einsum("ij,ij->j", Y, Y, dtype=float)
        self._num = forms.copy()
        self._is_chosen = np.zeros(forms.size, dtype=bool)
        self._directions = np.empty((8, Y.shape[0]))  # rows u
        self._n_chosen = 0

    def gains(self) -> np.ndarray:
        """Share of all that each column would explain beyond those chosen; -inf for these."""
        gains = np.maximum(self._num, 0.0) / (self.alpha + np.maximum(self._unexplained, 0.0)) / np.trace(self.gram)
        gains[self._is_chosen] = -np.inf
        return gains

    def __iter__(self) -> Iterator[tuple[int, float]]:
        tie = TIE.of(self.Y)
        while not self._is_chosen.all():
            gains = self.gains()
            column = self.first[self._n_chosen] if self._n_chosen < len(self.first) else first_largest(gains, tie)
            self._downdate(column)
            yield column, float(gains[column])

    def _downdate(self, column: int) -> None:
        z = self.Y[:, column].astype(float)
        u = self._apply_M(z)
        u /= np.sqrt(self.alpha + z @ u)
        Ku = self.gram @ u
        pair = np.stack([u, self._apply_M(Ku)]).astype(self.Y.dtype, copy=False)
        t, w = (pair @ self.Y).astype(float, copy=False)
        self._num -= t * (2.0 * w - t * (u @ Ku))
        self._unexplained -= t * t
        self._is_chosen[column] = True
        if self._n_chosen == len(self._directions):
            self._directions = np.vstack([self._directions, np.empty_like(self._directions)])
        self._directions[self._n_chosen] = u
        self._n_chosen += 1

    def _apply_M(self, vector: np.ndarray) -> np.ndarray:
        """``M v``."""
        directions = self._directions[: self._n_chosen]
        return vector - (directions @ vector) @ directions


def rank_columns(search: RidgeSearch, one_by_one: int) -> Iterator[tuple[int, float]]:
    """All columns with their gains; those beyond ``one_by_one`` by their gain at that time, at once."""
    yield from islice(search, one_by_one)
    gains = search.gains()
    for column in np.argsort(-gains, kind="stable"):
        if gains[column] > -np.inf:
            yield int(column), float(gains[column])
