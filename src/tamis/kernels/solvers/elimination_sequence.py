r"""Eliminations, one after another, from the minimum of a quadratic function.

Let w be the minimum of a function whose Hessian has the inverse A. Without the entries E the minimum is

.. math:: w - A_{\cdot E} (A_{EE})^{-1} w_E, \qquad \text{with the inverse Hessian} \qquad
          A - A_{\cdot E} (A_{EE})^{-1} A_{E \cdot} = A - C C^\top

on the entries that remain. Column t of C comes from those before it, as in a Cholesky factorization whose pivot is the
entry that is eliminated: t eliminations of d entries take O(t^2 d) and t rows of A, which is not written to.
"""

from __future__ import annotations

import math

import numpy as np

_MIN_PIVOT = 1e-8  # relative to the diagonal of A: below, the entry is decided by the others but for rounding


class EliminationSequence:
    """Minima along a sequence of eliminations.

    Parameters
    ----------
    w : ndarray of shape (d,)
        The minimum with all entries.
    n_most : int
        Eliminations that there is room for.

    Attributes
    ----------
    places : list of int
        Entries eliminated, in their order.
    w : ndarray of shape (d,)
        The minimum without them, and zeros in their places.
    """

    def __init__(self, w: np.ndarray, n_most: int) -> None:
        self.w = w
        self.places: list[int] = []
        self._remains = np.ones(w.size)  # zero where an entry was eliminated
        self._factor, self._minima = np.zeros((n_most, w.size)), np.zeros((n_most, w.size))

    @property
    def factor(self) -> np.ndarray:
        """C', one elimination per row."""
        return self._factor[: len(self.places)]

    @property
    def minima(self) -> np.ndarray:
        """The minimum after each elimination, one per row, with zeros for what was eliminated."""
        return self._minima[: len(self.places)]

    def eliminate(self, place: int, row: np.ndarray) -> bool:
        """Go on without an entry, given its row of A; False, and nothing is done, where rounding would decide."""
        t = len(self.places)
        column = row - self._factor[:t, place] @ self._factor[:t]
        pivot = float(column[place])
        if not pivot > _MIN_PIVOT * float(row[place]):
            return False
        column /= math.sqrt(pivot)
        column *= self._remains  # what rounding leaves of those eliminated before
        self.w = self.w - column * (self.w[place] / column[place])
        self._remains[place] = 0.0
        self.w *= self._remains
        self.places.append(place)
        self._factor[t], self._minima[t] = column, self.w
        return True

    def truncate(self, n_kept: int) -> None:
        """Take back all but the first eliminations; none can be added then."""
        del self.places[n_kept:]

    def solve(self, right: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Inverse Hessians of the entries that remain times vectors: row t with what is left after t + 1 eliminations.

        Entries of the right-hand sides where something was eliminated must be zero; those of the solutions are.
        """
        factor = self._factor[: len(right)]
        solved = right @ inverse - np.tril(right @ factor.T) @ factor
        for t, place in enumerate(self.places[: len(right)]):
            solved[t:, place] = 0.0
        return solved

    def solve_after(self, n_eliminated: int, right: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """The inverse Hessian of what remains after the first eliminations times one vector, zero for the others."""
        factor = self._factor[:n_eliminated]
        solved = inverse @ right - (factor @ right) @ factor
        solved[self.places[:n_eliminated]] = 0.0
        return solved
