r"""Logistic regression and the squared hinge with many more rows than features, by Newton's method with one Hessian.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_i c_i \ell(y_i \langle w, z_i \rangle)

The Hessian :math:`H = \mathrm{diag}(p) + Z^\top \mathrm{diag}(\ell'') Z` takes :math:`O(nd^2)`, a gradient
:math:`O(nd)`. With many more rows than features the elimination of one hardly changes the curvature of the loss, so
that steps

.. math:: w \leftarrow w - A \, \nabla(w), \qquad A = H^{-1} \text{ at an earlier w, downdated by each elimination},

the chord method, gain several digits each. H is computed anew when steps that gain little have cost as much as that.

Weights after several eliminations to come are predicted from the quadratic function with that Hessian
(:class:`~tamis.kernels.solvers.elimination_sequence.EliminationSequence`) and then made exact together: their gradients
are one product with the table, which is read once for all of them. Each is held to the same tolerance as a model that
is trained by itself. Whether the features are those that should be eliminated is up to the caller, who drops what
follows the first one that is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks, map_in_threads
from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.elimination_sequence import EliminationSequence
from tamis.kernels.solvers.svm_primal import LinearModel, invert_hessian

_MOST_ENTRIES = 600  # of the weights: a matrix of that size is inverted
# with fewer rows, too large a share of them crosses the margin at once; measured
_FEWEST_ROWS_PER_ENTRY = {"logistic": 8, "squared_hinge": 40}
_FEW_PRODUCTS = 2**22  # multiplications of an evaluation, up to which threads cost more than they save
_ROWS_PER_ROW_OF_START = 4  # one row in so many is in the sample by which weights start
_ROWS_OF_START = 24  # fewest rows per entry of that sample
_START_TOL = 1e-3  # of the model of that sample
_MAX_RATE = 0.5  # of the gradient after a step to that before it: beyond, the step is not taken as it is
_LEAST_RATE = 1e-15  # to which one that is zero is raised
_FEW_ROUNDS = 2  # steps that are expected of a good Hessian
_TIME_OF_ONE_AMONG_MANY = 0.3  # of one gradient, where several are evaluated together
_MAX_ROUNDS = 6  # of steps on several eliminations
_MAX_HALVINGS = 30


def pays(table: Any, loss: str) -> bool:
    """Whether the chord method pays for a table of one feature per row."""
    if loss not in _FEWEST_ROWS_PER_ENTRY or not isinstance(table, np.ndarray):
        return False
    n_entries, n_rows = table.shape
    return n_entries <= _MOST_ENTRIES and n_rows >= _FEWEST_ROWS_PER_ENTRY[loss] * n_entries


def _steps_per_hessian(n_entries: int) -> float:
    """Evaluations of one gradient that take the time of a Hessian, which is O(nd^2) in larger products."""
    return 1.5 + n_entries / 25.0  # measured


class ChordNewton(LinearModel):
    """One linear model, kept optimal while features are eliminated.

    Parameters and attributes are those of :class:`~tamis.kernels.solvers.svm_primal.PrimalLinearModel`, for the losses
    "logistic" and "squared_hinge".
    """

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
        self.w, self.inverse = np.zeros(penalty.size), np.empty((0, 0))
        self.n_iter, self.residual = 0, np.inf
        self._gradient_unit = np.abs(table @ (cost * np.abs(target)))
        self._rate = 1.0  # of the gradient after a step to that before it
        self._excess = np.inf  # evaluations that a Hessian at the present weights would have saved; there is none yet
        self.n_rounds = 0  # of steps in the last search
        self._ahead: list[tuple[int, np.ndarray, np.ndarray, float]] = []
        self._is_solved = False

    @property
    def f(self) -> np.ndarray:  # type: ignore[override]
        """Outputs of all rows, at the weights as they are."""
        return self.w @ self.table

    # Training.

    def solve(self) -> None:
        """Newton steps with an earlier Hessian, or with a new one and a line search, until the gradient is zero."""
        if self._is_solved:
            return
        if self.n_iter == 0:
            self._start()
        self._is_solved, self.n_rounds = True, 0
        unit = self._unit(self._gradient_unit)
        gradient = self._gradients(self.w[None])[0]
        for _ in range(self.max_iter):
            self.residual = float(np.abs(gradient).max()) / unit
            if self.residual <= self.tol:
                break
            self.n_iter, self.n_rounds = self.n_iter + 1, self.n_rounds + 1
            is_new = self._steps_left() > _steps_per_hessian(self.w.size)
            if is_new:
                self._set_hessian()
            step = -(self.inverse @ gradient)
            moved = self.w + step
            new = self._gradients(moved[None])[0]
            self._rate = max(self._size(new) / self._size(gradient), _LEAST_RATE)
            if self._rate > _MAX_RATE:
                if not is_new:
                    self._rate = 1.0
                    continue
                moved = self._line_search(step)
                new = self._gradients(moved[None])[0]
            else:
                self._update_inverse(step, new - gradient)
            self.w, gradient = moved, new
            self._excess += self.n_rounds > _FEW_ROUNDS
        if self.n_rounds == self.n_iter:
            self._excess = np.inf  # weights have come a long way
        if self.converged and self.inverse.size:
            self.w = self.w - self.inverse @ gradient  # a step that costs no evaluation

    def _steps_left(self) -> float:
        """Until the gradient is zero to the tolerance, if it decreases as by the last step."""
        return np.inf if self._rate >= 1.0 else math.log(self.tol / self.residual) / math.log(self._rate)

    def _size(self, gradient: np.ndarray) -> float:
        return float(np.linalg.norm(gradient / self._scale))

    def _update_inverse(self, step: np.ndarray, change: np.ndarray) -> None:
        """Broyden, Fletcher, Goldfarb and Shanno: the inverse that takes a change of the gradient to its step."""
        curved = float(step @ change)
        if curved > 0.0:
            solved = self.inverse @ change
            factor = (1.0 + float(change @ solved) / curved) / curved
            across = (solved[:, None] * step) / curved
            self.inverse += (factor * step[:, None]) * step - across - across.T

    def _start(self) -> None:
        """Weights of a model of one row in some, which starts in the same way."""
        if self.target.size < _ROWS_PER_ROW_OF_START * _ROWS_OF_START * self.w.size:
            return
        rows = slice(None, None, _ROWS_PER_ROW_OF_START)
        cost = self.cost[rows] * _ROWS_PER_ROW_OF_START
        sample = ChordNewton(
            np.ascontiguousarray(self.table[:, rows]),
            self.penalty,
            self.target[rows],
            cost,
            loss=self.loss,
            tol=_START_TOL,
            max_iter=self.max_iter,
        )
        sample.solve()
        self.w = sample.w

    def _set_hessian(self) -> None:
        """Invert the Hessian at the weights as they are."""

        def partial(part: slice) -> np.ndarray:
            block = self.table[:, part]
            curvature = self._curvature(self.w @ block, part)
            rows = np.flatnonzero(curvature)
            if 2 * rows.size < curvature.size:
                block, curvature = block[:, rows], curvature[rows]
            block = block * np.sqrt(curvature)
            return block @ block.T

        hessian = self._sum(partial, self.w.size)
        self._scale = np.sqrt(hessian.diagonal() + self.penalty)
        self._scale[self._scale == 0.0] = 1.0
        self.inverse = invert_hessian(hessian, self.penalty)
        self._excess = 0.0

    def _line_search(self, step: np.ndarray) -> np.ndarray:
        """The weights after the step, halved until the objective does not increase."""
        f, along = self.f, step @ self.table
        start, length = self._objective(self.w, f), 1.0
        for _ in range(_MAX_HALVINGS):
            if self._objective(self.w + length * step, f + length * along) <= start + OBJECTIVE_ROUNDING * abs(start):
                break
            length /= 2.0
        return self.w + length * step

    # Eliminations.

    def eliminate(self, eliminated: np.ndarray, columns: Any, kept: np.ndarray, table: np.ndarray) -> None:
        """Remove the entries ``eliminated``; ``table`` holds those ``kept``, in their order."""
        self._is_solved = False
        if self._ahead and eliminated.size == 1 and self._ahead[0][0] == eliminated[0]:
            _, self.w, column, self.residual = self._ahead.pop(0)
            self.inverse -= column[:, None] * column
            self._is_solved = True
        else:
            self._ahead = []
            if self.inverse.size:
                across = self.inverse[eliminated]
                solved = np.linalg.solve(across[:, eliminated], across)
                self.w = self.w - self.w[eliminated] @ solved
                self.inverse = self.inverse - across.T @ solved
        places = np.full(self.w.size, -1)
        places[kept] = np.arange(kept.size)
        self._ahead = [(int(places[place]), w[kept], column[kept], left) for place, w, column, left in self._ahead]
        self.w, self.penalty, self.table = self.w[kept], self.penalty[kept], table
        self._gradient_unit = self._gradient_unit[kept]
        if self.inverse.size:
            self.inverse, self._scale = self.inverse[np.ix_(kept, kept)], self._scale[kept]

    def predict(self, n_most: int) -> EliminationSequence:
        """A sequence of eliminations from the weights as they are, to be filled."""
        if self._excess > _steps_per_hessian(self.w.size):
            self._set_hessian()
        return EliminationSequence(self.w, n_most)

    def solve_ahead(self, sequence: EliminationSequence) -> int:
        """Make the weights along a sequence exact; how many of its eliminations are solved.

        Those that come next take their weights from here, as long as :meth:`eliminate` is called in this order.
        """
        W, places = sequence.minima, sequence.places
        remains = np.ones(W.shape, dtype=bool)
        for t, place in enumerate(places):
            remains[t:, place] = False
        unit = np.array([self._unit(self._gradient_unit[row]) for row in remains])
        residual, searched = np.full(len(W), np.inf), np.arange(len(W))
        for self.n_rounds in range(1, _MAX_ROUNDS + 1):
            self.n_iter += searched.size
            self._excess += _TIME_OF_ONE_AMONG_MANY * searched.size * (self.n_rounds > _FEW_ROUNDS)
            gradient = np.zeros(W.shape)
            gradient[searched] = np.where(remains[searched], self._gradients(W[searched]), 0.0)
            W = W - sequence.solve(gradient, self.inverse)
            before, residual[searched] = residual[searched], np.abs(gradient[searched]).max(axis=1) / unit[searched]
            size = residual[searched]
            searched = searched[(size > self.tol) & (size <= _MAX_RATE * before)]
            if not searched.size:
                break
        is_solved = residual <= self.tol
        n_solved = len(W) if is_solved.all() else int(np.argmin(is_solved))
        self._ahead = [(places[t], W[t], sequence.factor[t].copy(), float(residual[t])) for t in range(n_solved)]
        return n_solved

    def keep_ahead(self, n_kept: int) -> None:
        """Forget all but the next eliminations of those that were solved ahead."""
        del self._ahead[n_kept:]

    # Sums over the rows.

    def _unit(self, gradient_unit: np.ndarray) -> float:
        return float(gradient_unit.max() + np.finfo(float).tiny)

    def _gradients(self, W: np.ndarray) -> np.ndarray:
        """Of the objective, for weights in each row."""

        def partial(part: slice) -> np.ndarray:
            block = self.table[:, part]
            return self._negative_slope(W @ block, part) @ block.T

        return self.penalty * W - self._sum(partial, len(W))

    def _sum(self, partial: Callable[[slice], np.ndarray], n_vectors: int) -> np.ndarray:
        """Sum of what each block of rows contributes, the blocks shared out among threads if that pays."""
        n_entries, n_rows = self.table.shape
        parts = list(blocks(n_rows, max(1024, CACHE_ENTRIES // (2 * (n_entries + n_vectors)))))
        is_long = n_entries * n_rows * n_vectors > _FEW_PRODUCTS
        each = iter(map_in_threads(partial, parts) if is_long else map(partial, parts))
        total = next(each)
        for one in each:
            total += one
        return total

    def _negative_slope(self, f: np.ndarray, part: slice) -> np.ndarray:
        """Minus the derivative of the loss in outputs, which are overwritten."""
        if self.loss == "logistic":
            f *= -self.target[part]
            expit(f, out=f)
            f *= self.cost[part] * self.target[part]
        else:
            f *= self.target[part]
            np.subtract(1.0, f, out=f)
            np.maximum(f, 0.0, out=f)
            f *= 2.0 * self.cost[part] * self.target[part]
        return f

    def _curvature(self, f: np.ndarray, part: slice) -> np.ndarray:
        """Second derivative of the loss in outputs."""
        if self.loss == "logistic":
            probability = expit(f)
            return self.cost[part] * probability * (1.0 - probability)
        return np.where(self.target[part] * f < 1.0, 2.0 * self.cost[part], 0.0)
