r"""What a sample of the rows tells of a gradient beyond its first order.

Gradients over all rows are known at weights u, and the Hessian H at weights v near them. To first order
:math:`\nabla(w) = \nabla(u) + H (w - u)`; what that leaves out is a sum over rows,

.. math:: \sum_i c_i \bigl(\ell'(m_i(w)) - \ell'(m_i(u)) - \ell''(m_i(v)) (m_i(w) - m_i(u))\bigr) y_i z_i,

which a sample of them, whose costs stand for those of all, estimates well enough to gain a digit or two: the
remainder is small, and so is the error of its estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tamis.kernels.solvers.loss_sums import curvatures, slopes
from tamis.kernels.solvers.svm_primal import PrimalLinearModel

_MOST_ENTRIES = 2**19  # of the rows that a remainder is computed of, which is done for one model after the other
_ROWS_PER_ROW = 16  # one row in so many is enough: all remainders together take less time than a pass over the rows
# Rows per weight that must have a share in a remainder; with fewer, its estimate is no better than none. Of the squared
# hinge few have one once weights are nearly right: those that cross the margin.
_FEWEST_ROWS_PER_ENTRY = 4


@dataclass(frozen=True)
class RowSample:
    """Rows of a model of two classes, drawn at random.

    Attributes
    ----------
    loss : {"squared_hinge", "logistic"}
    table : ndarray of shape (n_entries, n_sampled)
        One entry of the weights per row.
    signs : ndarray of shape (n_sampled,)
        1 and -1.
    cost : ndarray of shape (n_sampled,)
        Their sum is that over all rows, about.
    n_rows : int
        How many rows there are in all.
    """

    loss: str
    table: np.ndarray
    signs: np.ndarray
    cost: np.ndarray
    n_rows: int

    def outputs(self, w: np.ndarray) -> np.ndarray:
        """Of all sampled rows."""
        entries = np.flatnonzero(w)
        return np.asarray(w[entries] @ self.table[entries])

    def remainder(
        self, entries: np.ndarray, u: np.ndarray, outputs_of_v: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray] | None:
        """The function from weights to what the first order leaves out of their gradient; None if rows are too few.

        Parameters
        ----------
        entries : ndarray of int
            Of all weights in question; others are zero.
        u : ndarray of shape (n_entries,)
        outputs_of_v : ndarray of shape (n_sampled,)
            At the weights of the Hessian.
        """
        n_sampled = self.signs.size
        n_wanted = min(_MOST_ENTRIES // entries.size, self.n_rows // _ROWS_PER_ROW, n_sampled)
        if n_wanted < _FEWEST_ROWS_PER_ENTRY * entries.size:
            return None
        some = slice(None, None, -(-n_sampled // n_wanted))
        table, signs = self.table[:, some][entries], self.signs[some]
        cost = self.cost[some] * (n_sampled / signs.size)
        start = u[entries] @ table
        slope = slopes(self.loss, signs * start)
        curvature = curvatures(self.loss, signs * outputs_of_v[some])

        def of(w: np.ndarray) -> np.ndarray:
            outputs = w[entries] @ table
            beyond = slopes(self.loss, signs * outputs) - slope - curvature * (signs * (outputs - start))
            beyond *= cost
            gradient = np.zeros(w.size)
            n_effective = np.abs(beyond).sum() ** 2 / (beyond @ beyond or 1.0)
            if n_effective >= _FEWEST_ROWS_PER_ENTRY * entries.size:
                gradient[entries] = table @ (signs * beyond)
            return gradient

        return of

    def minimum(self, remains: np.ndarray, penalty: np.ndarray, start: np.ndarray, tol: float) -> np.ndarray:
        """Weights of the model of these rows alone, on some entries.

        Parameters
        ----------
        remains : ndarray of bool of shape (n_entries,)
        penalty, start : ndarray of shape (n_entries,)
        tol : float
        """
        table = np.ascontiguousarray(self.table[remains])
        model = PrimalLinearModel(table, penalty[remains], self.signs, self.cost, loss=self.loss, tol=tol)
        model.w = start[remains]
        model.f = model.w @ table
        model.solve()
        weights = np.zeros(remains.size)
        weights[remains] = model.w
        return weights
