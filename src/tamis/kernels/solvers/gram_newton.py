r"""Ridge and squared-hinge models with many more rows than features, from sums over their rows.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_{i \in S} c_i (y_i - \langle w, z_i \rangle)^2

with S all rows (ridge) or those inside the margin, :math:`y_i \langle w, z_i \rangle < 1` (squared hinge). With

.. math:: H = 2 \sum_{i \in S} c_i z_i z_i^\top, \qquad r = 2 \sum_{i \in S} c_i y_i z_i

the minimum for a given S is :math:`(\mathrm{diag}(p) + H) w = r`. A feature is eliminated by deleting its row and
column of H and its entry of r; S changes by few rows then, which are added to or taken from both sums. These are among
the rows that may have crossed the margin since all outputs were last computed, at weights :math:`v`:

.. math:: |1 - y_i \langle v, z_i \rangle| \le \|z_i\| \|w - v\|.

So an elimination takes no pass over the table for ridge regression, and part of one for the squared hinge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tamis.kernels.arrays.tolerances import HESSIAN_RIDGE, OBJECTIVE_ROUNDING

_MOST_ENTRIES = 600  # of the weights: a system is factored at every step
_FEWEST_ROWS_PER_ENTRY = 8
_MOST_ROWS_LOOKED_AT = 0.25  # share of the rows above which all outputs are computed anew
_MAX_ELIMINATIONS = 64  # after which sums are computed anew, so that rounding does not accumulate
_MAX_HALVINGS = 30


def pays(table: Any, loss: str) -> bool:
    """Whether sums over the rows pay for a table of one feature per row."""
    is_quadratic = loss in ("ridge", "squared_hinge") and isinstance(table, np.ndarray)
    return (
        is_quadratic and table.shape[0] <= _MOST_ENTRIES and table.shape[1] >= _FEWEST_ROWS_PER_ENTRY * table.shape[0]
    )


class GramNewton:
    """One linear model, kept optimal while features are eliminated.

    Parameters and attributes are those of :class:`~tamis.kernels.solvers.svm_primal.PrimalLinearModel`, for the losses
    "ridge" and "squared_hinge".
    """

    weight_error = 0.0  # what is told of weights that are compared

    def __init__(
        self,
        table: np.ndarray,
        penalty: np.ndarray,
        target: np.ndarray,
        cost: np.ndarray,
        *,
        loss: str,
        tol: float = 1e-10,
        max_iter: int = 100,
    ) -> None:
        self.table, self.penalty, self.target, self.cost, self.loss = table, penalty, target, cost, loss
        self.tol, self.max_iter = tol, max_iter
        self.w = np.zeros(penalty.size)
        self.n_iter, self.residual = 0, np.inf
        self._gradient_unit = np.abs(table @ (cost * np.abs(target)))
        self._inside = np.ones(target.size, dtype=bool)  # the margin; at weights of zero all rows are
        self._set_sums()
        self._set_reference()

    @property
    def weights(self) -> np.ndarray:
        """The weights."""
        return self.w

    @property
    def converged(self) -> bool:
        """Whether the last :meth:`solve` met the tolerance."""
        return self.residual <= self.tol

    @property
    def f(self) -> np.ndarray:
        """Outputs of all rows, at the weights as they are."""
        return self.w @ self.table

    @property
    def objective(self) -> float:
        """Penalty and loss, at the weights as they are."""
        return self._objective(self.w, self.f)

    def eliminate(self, eliminated: np.ndarray, columns: np.ndarray, kept: np.ndarray, table: np.ndarray) -> None:
        """Remove the entries ``eliminated``; ``table`` holds those ``kept``, in their order."""
        self.w, self.penalty, self.table = self.w[kept], self.penalty[kept], table
        self._gradient_unit = self._gradient_unit[kept]
        self._gram, self._products = self._gram[np.ix_(kept, kept)], self._products[kept]
        # their part of the outputs is gone: the reference's weights of these entries are part of what changed
        self._moved2 += float(np.sum(self._reference[eliminated] ** 2))
        self._reference = self._reference[kept]
        self._n_eliminations += 1
        if self._n_eliminations >= _MAX_ELIMINATIONS:
            self._set_sums()

    def solve(self) -> None:
        """Newton steps, until the gradient is zero and no row crosses the margin."""
        unit = self._gradient_unit.max() + np.finfo(float).tiny
        for number in range(self.max_iter):
            step = self._newton_point() - self.w
            self.n_iter += 1
            if self.loss == "squared_hinge" and number > 2:
                step *= self._shortened(step)
            self.w = self.w + step
            n_crossed = self._cross_margin() if self.loss == "squared_hinge" else 0
            gradient = self.penalty * self.w + self._gram @ self.w - self._products
            self.residual = float(np.abs(gradient).max() / unit)
            if n_crossed == 0 and self.residual <= self.tol:
                return

    def _newton_point(self) -> np.ndarray:
        """Minimum of the quadratic function of the rows inside the margin."""
        matrix = self._gram.copy()
        diagonal = np.arange(len(matrix))
        matrix[diagonal, diagonal] += self.penalty
        size = matrix[diagonal, diagonal]
        unit = np.sqrt(np.maximum(size, np.finfo(float).eps * size.max()))
        matrix /= unit[:, None] * unit
        scaled = matrix.copy()
        scaled[diagonal, diagonal] += HESSIAN_RIDGE
        right = self._products / unit
        try:
            factor = cho_factor(scaled)
        except LinAlgError:
            return np.linalg.lstsq(matrix, right, rcond=None)[0] / unit
        solution = cho_solve(factor, right)
        for _ in range(2):  # what the ridge and rounding leave
            solution += cho_solve(factor, right - matrix @ solution)
        return solution / unit

    def _shortened(self, step: np.ndarray) -> float:
        """Length at which the objective does not increase, where rows cross the margin back and forth."""
        f, along = self.f, step @ self.table
        start, length = self._objective(self.w, f), 1.0
        for _ in range(_MAX_HALVINGS):
            if self._objective(self.w + length * step, f + length * along) <= start + OBJECTIVE_ROUNDING * abs(start):
                break
            length /= 2.0
        return length

    def _objective(self, w: np.ndarray, f: np.ndarray) -> float:
        error = self.target - f
        in_loss = (self.loss == "ridge") | (self.target * error > 0)
        return 0.5 * float(self.penalty @ w**2) + float(self.cost @ np.where(in_loss, error, 0.0) ** 2)

    def _cross_margin(self) -> int:
        """Move rows that have crossed the margin into the sums or out of them; how many have."""
        far = np.sqrt(self._moved2 + float(np.sum((self.w - self._reference) ** 2)))
        looked_at = np.flatnonzero(self._slack <= self._row_norm * far)
        if looked_at.size > _MOST_ROWS_LOOKED_AT * self.target.size:
            self._set_reference()
            inside = self._margin > 0
        else:
            inside = self._inside.copy()
            inside[looked_at] = self.target[looked_at] * (self.w @ self.table[:, looked_at]) < 1.0
        crossed = np.flatnonzero(inside != self._inside)
        if crossed.size > self.w.size:
            self._inside = inside
            self._set_sums()
        elif crossed.size:
            self._inside[crossed] = inside[crossed]
            self._add_rows(crossed, np.where(inside[crossed], 2.0, -2.0) * self.cost[crossed])
        return crossed.size

    def _set_reference(self) -> None:
        """Outputs of all rows, and how far each is from the margin."""
        self._reference, self._moved2 = self.w.copy(), 0.0
        if self.loss == "ridge":
            return
        self._margin = 1.0 - self.target * self.f
        self._row_norm = np.sqrt(np.einsum("ji,ji->i", self.table, self.table))
        # rounding of the outputs: a row that lies on the margin is looked at every time
        self._slack = np.maximum(np.abs(self._margin) - 1e-12 * (1.0 + np.abs(self._margin)), 0.0)

    def _set_sums(self) -> None:
        """Both sums over the rows inside the margin."""
        self._n_eliminations = 0
        self._gram, self._products = np.zeros((self.w.size, self.w.size)), np.zeros(self.w.size)
        rows = np.flatnonzero(self._inside)
        self._add_rows(rows, 2.0 * self.cost[rows])

    def _add_rows(self, rows: np.ndarray, cost: np.ndarray) -> None:
        """Add rows to both sums, or take them out where their cost is negative."""
        part = self.table if rows.size == self.table.shape[1] else self.table[:, rows]
        self._products += part @ (cost * self.target[rows])
        root = np.sqrt(np.abs(cost))
        for sign in (1.0, -1.0):
            some = np.flatnonzero(np.sign(cost) == sign)
            if some.size:
                weighted = (part if some.size == rows.size else part[:, some]) * root[some]
                self._gram += sign * (weighted @ weighted.T)
