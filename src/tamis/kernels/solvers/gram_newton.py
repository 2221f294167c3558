r"""Ridge and squared-hinge models with many more rows than features, from sums over their rows.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_{i \in S} c_i (y_i - \langle w, z_i \rangle)^2

with S all rows (ridge) or those inside the margin, :math:`y_i \langle w, z_i \rangle < 1` (squared hinge). With

.. math:: H = 2 \sum_{i \in S} c_i z_i z_i^\top, \qquad r = 2 \sum_{i \in S} c_i y_i z_i

the minimum for a given S is :math:`(\mathrm{diag}(p) + H) w = r`. A feature is eliminated by deleting its row and
column of H and its entry of r; S changes by few rows then, which are added to or taken from both sums. These are looked
for among rows whose distance to the margin, at the weights v where all outputs were last computed, is not much larger
than the root mean square, over the rows of S, of what outputs have changed by,

.. math:: \bigl((w - v)^\top H (w - v) \big/ 2 \textstyle\sum_{i \in S} c_i\bigr)^{1/2},

and once these cross the margin no more, all outputs are computed and all rows looked at. So an elimination takes one
pass over the table for the squared hinge, and none for ridge regression.

With many more rows than features several eliminations of the squared hinge are solved together
(:mod:`~tamis.kernels.solvers.look_ahead`). The gradient at weights w of some model is

.. math:: \mathrm{diag}(p) w + H w - r - 2 \sum_{i \in S \triangle S_w} c_i y_i |1 - y_i \langle w, z_i \rangle| z_i,

with :math:`S_w` the rows inside the margin at w: besides the outputs it takes the few rows that are in one of S and
:math:`S_w` only. It is zero first over the rows near the margin, then over all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks, limit_blas_threads, sum_in_threads
from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.elimination_sequence import EliminationSequence
from tamis.kernels.solvers.look_ahead import ROWS_PER_ROW_OF_START, START_TOL, Gradients, LookAheadModel
from tamis.kernels.solvers.svm_primal import invert_hessian

_MOST_ENTRIES = 600  # of the weights: a system is factored at every step
_FEWEST_ROWS_PER_ENTRY = 8
_FEWEST_ROWS_AHEAD = 40  # per entry: with fewer, too large a share of them crosses the margin at once; measured
_NEAR = 3.0  # root mean squares of the change of outputs within which rows are looked at
_FEW_NEAR = 0.1  # of the rows: more are not gathered, for all outputs take less time
_NEAR_AHEAD = 4.0  # the same, for several eliminations, which are looked at in vain if one row was missed
_MAX_ELIMINATIONS = 64  # after which sums are computed anew, so that rounding does not accumulate
_MAX_UNSETTLED = 6  # steps after which rows crossed the margin, before steps are shortened where it pays
_MAX_HALVINGS = 30


def pays(table: Any, loss: str) -> bool:
    """Whether sums over the rows pay for a table of one feature per row."""
    is_quadratic = loss in ("ridge", "squared_hinge") and isinstance(table, np.ndarray)
    return (
        is_quadratic and table.shape[0] <= _MOST_ENTRIES and table.shape[1] >= _FEWEST_ROWS_PER_ENTRY * table.shape[0]
    )


class _Rows(NamedTuple):
    """Some rows of a table of one feature per row: what the sums over those that crossed the margin take."""

    table: np.ndarray
    target: np.ndarray
    cost: np.ndarray
    inside: np.ndarray


class GramNewton(LookAheadModel):
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
        self.table, self.penalty, self.target, self.cost, self.loss = table, penalty, target, cost, loss
        self.tol, self.max_iter = tol, max_iter
        self.can_look_ahead = loss == "squared_hinge" and target.size >= _FEWEST_ROWS_AHEAD * penalty.size
        self.w, self.inverse = np.zeros(penalty.size), np.empty((0, 0))
        self.n_iter, self.n_rounds, self.residual = 0, 0, np.inf
        self._gradient_unit = np.abs(table @ (cost * np.abs(target)))
        self._inside = np.ones(target.size, dtype=bool)  # the margin; at weights of zero all rows are
        self._reference: np.ndarray | None = None  # weights at which all outputs were computed last
        self._ahead, self._is_solved = [], False

    @property
    def f(self) -> np.ndarray:  # type: ignore[override]
        """Outputs of all rows, at the weights as they are."""
        return self.w @ self.table

    # Training.

    def solve(self) -> None:
        """Newton steps, until the gradient is zero and no row crosses the margin."""
        if self._is_solved:
            return
        if self.n_iter == 0:
            self._start()
        self._is_solved, self.n_rounds = True, 0
        unit, n_unsettled = self._unit(self._gradient_unit), 0
        for _ in range(self.max_iter):
            step = self._newton_point() - self.w
            self.n_iter, self.n_rounds = self.n_iter + 1, self.n_rounds + 1
            if n_unsettled > _MAX_UNSETTLED:
                step *= self._shortened(step)
            self.w = self.w + step
            n_crossed = 0
            if self.loss == "squared_hinge":
                n_crossed = self._cross_near_margin() or self._cross_margin(None)
                n_unsettled += n_crossed > 0
            gradient = self.penalty * self.w + self._gram @ self.w - self._products
            self.residual = float(np.abs(gradient).max() / unit)
            if n_crossed == 0 and self.residual <= self.tol:
                return
        if n_crossed:  # rows still cross the margin: the sums may not be those of the weights
            self.residual = np.inf

    def _start(self) -> None:
        """Weights of a model of one row in some, if there are many, and the sums at these."""
        if self.loss == "squared_hinge":
            if self._has_many_rows:
                rows = slice(None, None, ROWS_PER_ROW_OF_START)
                sample = GramNewton(
                    np.ascontiguousarray(self.table[:, rows]),
                    self.penalty,
                    self.target[rows],
                    self.cost[rows] * ROWS_PER_ROW_OF_START,
                    loss=self.loss,
                    tol=START_TOL,
                    max_iter=self.max_iter,
                )
                sample.solve()
                self.w = sample.w
            self._inside = self._set_reference()
        self._set_sums()

    def _newton_point(self) -> np.ndarray:
        """Minimum of the quadratic function of the rows inside the margin."""
        with limit_blas_threads(self._gram.size):
            self.inverse = invert_hessian(self._gram.copy(), self.penalty)
            solution = self.inverse @ self._products
            for _ in range(2):  # what the ridge and rounding leave
                left = self._products - self._gram @ solution - self.penalty * solution
                solution += self.inverse @ left
        return solution

    def _shortened(self, step: np.ndarray) -> float:
        """Length at which the objective does not increase, where rows cross the margin back and forth."""
        f, along = self.f, step @ self.table
        start, length = self._objective(self.w, f), 1.0
        for _ in range(_MAX_HALVINGS):
            if self._objective(self.w + length * step, f + length * along) <= start + OBJECTIVE_ROUNDING * abs(start):
                break
            length /= 2.0
        return length

    # Rows that cross the margin.

    def _near_margin(self, W: np.ndarray, n_deviations: float) -> np.ndarray:
        """Rows that may have crossed the margin, at some of the weights in rows, since all outputs were computed."""
        change = W - self._reference
        squares = np.einsum("ij,ij->i", change @ self._gram, change) / (2.0 * float(self.cost @ self._inside) or 1.0)
        return np.flatnonzero(self._distance <= n_deviations * np.sqrt(max(float(squares.max()), 0.0)))

    def _cross_near_margin(self) -> int:
        """Move rows near the margin that have crossed it; none if all are to be looked at."""
        if self._reference is None:
            return 0
        near = self._near_margin(self.w[None], _NEAR)
        return self._cross_margin(near) if near.size <= _FEW_NEAR * self.target.size else 0

    def _cross_margin(self, looked_at: np.ndarray | None) -> int:
        """Move those of the given, or of all, rows into the sums or out of them that have crossed the margin."""
        if looked_at is None:
            inside = self._set_reference()
            crossed = np.flatnonzero(inside != self._inside)
            inside = inside[crossed]
        else:
            inside = self.target[looked_at] * (self.w @ self.table[:, looked_at]) < 1.0
            is_new = inside != self._inside[looked_at]
            crossed, inside = looked_at[is_new], inside[is_new]
        self._inside[crossed] = inside
        if crossed.size > self.target.size // 4:
            self._set_sums()
        else:
            self._add_rows(crossed[inside], 1.0)
            self._add_rows(crossed[~inside], -1.0)
        return crossed.size

    def _set_reference(self) -> np.ndarray:
        """Distance of all rows to the margin, at the weights as they are; which of them are inside."""
        self._reference = self.w
        margin = 1.0 - self.target * self.f
        self._distance = np.abs(margin)
        return margin > 0

    def _set_sums(self) -> None:
        """Both sums over the rows inside the margin."""
        self._n_eliminations = 0
        self._gram, self._products = np.zeros((self.w.size, self.w.size)), np.zeros(self.w.size)
        self._add_rows(np.flatnonzero(self._inside), 1.0)

    def _add_rows(self, rows: np.ndarray, sign: float) -> None:
        """Add rows to both sums, or take them out where the sign is negative."""
        if not rows.size:
            return
        n_entries = self.w.size

        def both(part: slice) -> np.ndarray:
            some = rows[part]
            root = np.sqrt(2.0 * self.cost[some])
            block = self.table[:, some] * root
            return np.column_stack([block @ block.T, block @ (root * self.target[some])])

        parts = list(blocks(rows.size, max(1024, CACHE_ENTRIES // (2 * n_entries))))
        sums = sum_in_threads(both, parts, rows.size * n_entries**2)
        self._gram += sign * sums[:, :n_entries]
        self._products += sign * sums[:, n_entries]

    # Eliminations.

    def eliminate(self, eliminated: np.ndarray, columns: np.ndarray, kept: np.ndarray, table: np.ndarray) -> None:
        """Remove the entries ``eliminated``; ``table`` holds those ``kept``, in their order."""
        self._take_ahead(eliminated)
        self._reference = None
        self._keep_entries(kept, table)
        self._gram, self._products = self._gram[np.ix_(kept, kept)], self._products[kept]
        self._n_eliminations += 1
        if self.loss == "squared_hinge" and self._n_eliminations >= _MAX_ELIMINATIONS:
            self._set_sums()

    def predict(self, n_most: int) -> EliminationSequence:
        """A sequence of eliminations from the weights as they are, to be filled."""
        if self._reference is not self.w:
            self._cross_margin(None)
        self.inverse = invert_hessian(self._gram.copy(), self.penalty)
        return EliminationSequence(self.w, n_most)

    def _gradients_ahead(self, W: np.ndarray) -> Iterator[tuple[Gradients, float]]:
        near = self._near_margin(W, _NEAR_AHEAD)
        if 2 * near.size < self.target.size:
            some = _Rows(self.table[:, near], self.target[near], self.cost[near], self._inside[near])
            yield partial(self._gradients, some), self.tol
        yield partial(self._gradients, _Rows(self.table, self.target, self.cost, self._inside)), self.tol

    def _gradients(self, rows: _Rows, W: np.ndarray) -> np.ndarray:
        """Of the objective, for weights in each row, if none but the given rows may have crossed the margin."""
        n_entries, n_rows = rows.table.shape

        def over_crossed(part: slice) -> np.ndarray:
            margin = W @ rows.table[:, part]
            margin *= rows.target[part]
            has_crossed = (margin < 1.0) != rows.inside[part]
            some = np.flatnonzero(has_crossed.any(axis=0))
            size = np.abs(1.0 - margin[:, some]) * has_crossed[:, some]
            size *= 2.0 * rows.cost[part][some] * rows.target[part][some]
            return size @ rows.table[:, part][:, some].T

        gradient = self.penalty * W + W @ self._gram - self._products
        if n_rows:
            parts = list(blocks(n_rows, max(1024, CACHE_ENTRIES // (2 * (n_entries + len(W))))))
            gradient -= sum_in_threads(over_crossed, parts, n_entries * n_rows * len(W))
        return gradient
