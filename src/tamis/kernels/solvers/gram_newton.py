r"""Ridge and squared-hinge models with many more rows than features, from sums over their rows.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_{i \in S} c_i (y_i - \langle w, z_i \rangle)^2

with S all rows (ridge) or those inside the margin, :math:`y_i \langle w, z_i \rangle < 1` (squared hinge). With

.. math:: H = 2 \sum_{i \in S} c_i z_i z_i^\top, \qquad r = 2 \sum_{i \in S} c_i y_i z_i

the minimum for a given S is :math:`(\mathrm{diag}(p) + H) w = r`. A feature is eliminated by deleting its row and
column of H and its entry of r; S changes by few rows then, which are added to or taken from both sums. These are looked
for among rows whose distance to the margin, at the weights v where all outputs were last computed, is not much larger
than the root mean square of what outputs have changed by,

.. math:: \bigl(\tfrac1n (w - v)^\top Z^\top Z (w - v)\bigr)^{1/2},

and once these cross the margin no more, all outputs are computed and all rows looked at. So an elimination takes one
pass over the table for the squared hinge, and none for ridge regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks, limit_blas_threads
from tamis.kernels.arrays.tolerances import HESSIAN_RIDGE, OBJECTIVE_ROUNDING
from tamis.kernels.solvers.svm_primal import LinearModel

_MOST_ENTRIES = 600  # of the weights: a system is factored at every step
_FEWEST_ROWS_PER_ENTRY = 8
_NEAR = 3.0  # root mean squares of the change of outputs within which rows are looked at
_REMAINING_SHARE = 0.75  # of the columns, below which the rows are copied without those eliminated
_MAX_ELIMINATIONS = 64  # after which sums are computed anew, so that rounding does not accumulate
_MAX_UNSETTLED = 6  # steps after which rows crossed the margin, before steps are shortened where it pays
_MAX_HALVINGS = 30


def pays(table: Any, loss: str) -> bool:
    """Whether sums over the rows pay for a table of one feature per row."""
    is_quadratic = loss in ("ridge", "squared_hinge") and isinstance(table, np.ndarray)
    return (
        is_quadratic and table.shape[0] <= _MOST_ENTRIES and table.shape[1] >= _FEWEST_ROWS_PER_ENTRY * table.shape[0]
    )


class GramNewton(LinearModel):
    """One linear model, kept optimal while features are eliminated.

    Parameters and attributes are those of :class:`~tamis.kernels.solvers.svm_primal.PrimalLinearModel`, for the losses
    "ridge" and "squared_hinge".
    """

    _gram: np.ndarray
    _products: np.ndarray

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
        self.penalty, self.target, self.cost, self.loss = penalty, target, cost, loss
        self.tol, self.max_iter = tol, max_iter
        self.w = np.zeros(penalty.size)
        self.n_iter, self.residual = 0, np.inf
        self._gradient_unit = np.abs(table @ (cost * np.abs(target)))
        self._rows = np.ascontiguousarray(table.T)  # in which single rows are read at once
        self._places = np.arange(penalty.size)  # of the entries that remain, in the rows
        self._inside = np.ones(target.size, dtype=bool)  # the margin; at weights of zero all rows are
        self._set_sums()
        if loss == "squared_hinge":
            self._all_products = self._rows.T @ self._rows
            self._set_reference()

    @property
    def f(self) -> np.ndarray:  # type: ignore[override]
        """Outputs of all rows, at the weights as they are."""
        return self._rows @ self._in_rows(self.w)

    def eliminate(self, eliminated: np.ndarray, columns: np.ndarray, kept: np.ndarray, table: np.ndarray) -> None:
        """Remove the entries ``eliminated``; those ``kept`` stay, in this order."""
        self.w, self.penalty, self._places = self.w[kept], self.penalty[kept], self._places[kept]
        self._gradient_unit = self._gradient_unit[kept]
        self._gram, self._products = self._gram[np.ix_(kept, kept)], self._products[kept]
        self._n_eliminations += 1
        if self.loss == "ridge":
            return
        if self._places.size < _REMAINING_SHARE * self._rows.shape[1]:
            self._rows = self._rows[:, self._places]
            self._all_products = self._all_products[np.ix_(self._places, self._places)]
            self._places = np.arange(self._places.size)
            self._set_reference()
        if self._n_eliminations >= _MAX_ELIMINATIONS:
            self._set_sums()

    def solve(self) -> None:
        """Newton steps, until the gradient is zero and no row crosses the margin."""
        unit = self._gradient_unit.max() + np.finfo(float).tiny
        n_unsettled = 0
        for _ in range(self.max_iter):
            step = self._newton_point() - self.w
            self.n_iter += 1
            if n_unsettled > _MAX_UNSETTLED:
                step *= self._shortened(step)
            self.w = self.w + step
            n_crossed = 0
            if self.loss == "squared_hinge":
                n_crossed = self._cross_margin(self._near_margin()) or self._cross_margin(None)
                n_unsettled += n_crossed > 0
            gradient = self.penalty * self.w + self._gram @ self.w - self._products
            self.residual = float(np.abs(gradient).max() / unit)
            if n_crossed == 0 and self.residual <= self.tol:
                return
        if n_crossed:  # rows still cross the margin: the sums may not be those of the weights
            self.residual = np.inf

    def _newton_point(self) -> np.ndarray:
        """Minimum of the quadratic function of the rows inside the margin."""
        matrix = self._gram.copy()
        diagonal = np.arange(len(matrix))
        matrix[diagonal, diagonal] += self.penalty
        size = matrix[diagonal, diagonal]
        unit = np.sqrt(np.maximum(size, np.finfo(float).eps * size.max()))
        matrix /= unit[:, None] * unit
        right = self._products / unit
        scaled = matrix.copy()
        scaled[diagonal, diagonal] += HESSIAN_RIDGE
        with limit_blas_threads(matrix.size):
            inverse = np.linalg.inv(scaled)
            solution = inverse @ right
            for _ in range(2):  # what the ridge and rounding leave
                solution += inverse @ (right - matrix @ solution)
        return solution / unit

    def _shortened(self, step: np.ndarray) -> float:
        """Length at which the objective does not increase, where rows cross the margin back and forth."""
        f, along = self.f, self._rows @ self._in_rows(step)
        start, length = self._objective(self.w, f), 1.0
        for _ in range(_MAX_HALVINGS):
            if self._objective(self.w + length * step, f + length * along) <= start + OBJECTIVE_ROUNDING * abs(start):
                break
            length /= 2.0
        return length

    def _in_rows(self, entries: np.ndarray) -> np.ndarray:
        """Entries at their places in the rows, with zeros for what was eliminated."""
        every = np.zeros(self._rows.shape[1])
        every[self._places] = entries
        return every

    def _near_margin(self) -> np.ndarray:
        """Rows that may have crossed the margin since all outputs were computed."""
        change = self._in_rows(self.w) - self._reference
        size = np.sqrt(max(float(change @ self._all_products @ change), 0.0) / self.target.size)
        return np.flatnonzero(self._distance <= _NEAR * size)

    def _cross_margin(self, looked_at: np.ndarray | None) -> int:
        """Move those of the given, or of all, rows into the sums or out of them that have crossed the margin."""
        if looked_at is None:
            inside = self._set_reference()
            crossed = np.flatnonzero(inside != self._inside)
            inside = inside[crossed]
        else:
            inside = self.target[looked_at] * (self._rows[looked_at] @ self._in_rows(self.w)) < 1.0
            is_new = inside != self._inside[looked_at]
            crossed, inside = looked_at[is_new], inside[is_new]
        self._inside[crossed] = inside
        if crossed.size > self.target.size // 4:
            self._set_sums()
        elif crossed.size:
            self._add_rows(crossed, np.where(inside, 2.0, -2.0) * self.cost[crossed])
        return crossed.size

    def _set_reference(self) -> np.ndarray:
        """Distance of all rows to the margin, at the weights as they are; which of them are inside."""
        self._reference = self._in_rows(self.w)
        margin = 1.0 - self.target * (self._rows @ self._reference)
        self._distance = np.abs(margin)
        return margin > 0

    def _set_sums(self) -> None:
        """Both sums over the rows inside the margin."""
        self._n_eliminations = 0
        self._gram, self._products = np.zeros((self.w.size, self.w.size)), np.zeros(self.w.size)
        rows = np.flatnonzero(self._inside)
        self._add_rows(rows, 2.0 * self.cost[rows])

    def _add_rows(self, rows: np.ndarray, cost: np.ndarray) -> None:
        """Add rows to both sums, or take them out where their cost is negative."""
        products, gram = np.zeros(self._rows.shape[1]), np.zeros((self._rows.shape[1],) * 2)
        for part in blocks(rows.size, CACHE_ENTRIES // self._rows.shape[1]):
            block = self._rows[rows[part]]
            products += (cost[part] * self.target[rows[part]]) @ block
            is_taken_out = cost[part] < 0
            block *= np.sqrt(np.abs(cost[part]))[:, None]
            for sign, some in ((1.0, block[~is_taken_out]), (-1.0, block[is_taken_out])):
                if len(some):
                    gram += sign * (some.T @ some)
        self._products += products[self._places]
        self._gram += gram[np.ix_(self._places, self._places)]
