r"""Logistic regression with many more rows than features, by Newton's method with one Hessian.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_i c_i \log(1 + e^{-y_i \langle w, z_i \rangle})

The Hessian :math:`H = \mathrm{diag}(p) + Z^\top \mathrm{diag}(c \, \sigma (1 - \sigma)) Z`, with :math:`\sigma` the
probabilities, takes :math:`O(nd^2)`, a gradient :math:`O(nd)`. With many more rows than features the elimination of one
hardly changes the curvature of the loss, so that steps

.. math:: w \leftarrow w - A \, \nabla(w), \qquad A = H^{-1} \text{ at an earlier w, downdated by each elimination},

the chord method, gain several digits each. H is computed anew when steps that gain little have cost as much as that,
in single precision unless columns are nearly dependent: the steps need no more, it is the gradients that decide.

Several eliminations to come are solved together, see :mod:`~tamis.kernels.solvers.look_ahead`: first by gradients whose
difference to that at the present weights is summed in single precision,

.. math:: \sigma(a + \delta) - \sigma(a) = \frac{2 \sigma(a) (1 - \sigma(a)) \, t}{1 + (2 \sigma(a) - 1) \, t},
          \qquad t = \tanh(\delta / 2),

for differences are small, and so are their errors; then by those in double precision. Of the solvers of
logistic regression this is the one for dense tables with many more rows than features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks, sum_in_threads
from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.elimination_sequence import EliminationSequence
from tamis.kernels.solvers.look_ahead import (
    FEW_ROUNDS,
    MAX_RATE,
    ROWS_PER_ROW_OF_START,
    START_TOL,
    Gradients,
    LookAheadModel,
)
from tamis.kernels.solvers.svm_primal import invert_hessian

_MOST_ENTRIES = 600  # of the weights: a matrix of that size is inverted
_FEWEST_ROWS_PER_ENTRY = 8
_RATE_OF_START = 0.1  # that is expected of a Hessian over a sample of the rows
_LEAST_RATE = 1e-15  # to which one that is zero is raised
_TIME_OF_ONE_AMONG_MANY = 0.3  # of one gradient, where several are evaluated together
_MAX_HALVINGS = 30
_MAX_INFLATION = 1e3  # of the variance of a weight by the others, up to which a Hessian in single precision is enough
_FEWEST_ROUGH = 8  # models for which single precision saves more than it takes to change to it
_ROUGH_TOL = 1e-9  # that gradients whose differences are in single precision are searched to


def pays(table: Any, loss: str) -> bool:
    """Whether the chord method pays for a table of one feature per row."""
    if loss != "logistic" or not isinstance(table, np.ndarray):
        return False
    n_entries, n_rows = table.shape
    return n_entries <= _MOST_ENTRIES and n_rows >= _FEWEST_ROWS_PER_ENTRY * n_entries


def _steps_per_hessian(n_entries: int) -> float:
    """Evaluations of one gradient that take the time of a Hessian, which is O(nd^2) in larger products."""
    return 1.5 + n_entries / 25.0  # measured


class ChordNewton(LookAheadModel):
    """One linear model, kept optimal while features are eliminated.

    Parameters and attributes are those of :class:`~tamis.kernels.solvers.svm_primal.PrimalLinearModel`, for the
    logistic loss.
    """

    loss = "logistic"

    def __init__(
        self,
        table: np.ndarray,
        penalty: np.ndarray,
        target: np.ndarray,
        cost: np.ndarray,
        *,
        tol: float = 1e-10,
        max_iter: int = 100,
    ) -> None:
        self.table, self.penalty, self.target, self.cost = table, penalty, target, cost
        self.tol, self.max_iter = tol, max_iter
        self.w, self.inverse = np.zeros(penalty.size), np.empty((0, 0))
        self.n_iter, self.residual = 0, np.inf
        self._gradient_unit = np.abs(table @ (cost * np.abs(target)))
        self._scale = np.ones(penalty.size)  # roots of the diagonal of the Hessian
        self._rate = 1.0  # of the gradient after a step to that before it
        self._excess = np.inf  # evaluations that a Hessian at the present weights would have saved; there is none yet
        self.n_rounds = 0  # of steps in the last search
        self._ahead, self._is_solved = [], False

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
            if self._rate > MAX_RATE:
                if not is_new:
                    self._rate = 1.0
                    continue
                moved = self._line_search(step)
                new = self._gradients(moved[None])[0]
            else:
                self._update_inverse(step, new - gradient)
            self.w, gradient = moved, new
            self._excess += self.n_rounds > FEW_ROUNDS
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
        if not self._has_many_rows:
            return
        rows = slice(None, None, ROWS_PER_ROW_OF_START)
        cost = self.cost[rows] * ROWS_PER_ROW_OF_START
        sample = ChordNewton(
            np.ascontiguousarray(self.table[:, rows]),
            self.penalty,
            self.target[rows],
            cost,
            tol=START_TOL,
            max_iter=self.max_iter,
        )
        sample.solve()
        self.w = sample.w
        if sample.inverse.size:  # else its rows tell nothing of the target, and no step was taken
            self.inverse, self._scale, self._rate = sample.inverse, sample._scale, _RATE_OF_START

    def _set_hessian(self) -> None:
        """Invert the Hessian at the weights as they are, in single precision if that is enough."""
        if not self._invert(self._hessian(np.float32), _MAX_INFLATION):
            self._invert(self._hessian(np.float64), np.inf)
        self._excess = 0.0

    def _hessian(self, dtype: type) -> np.ndarray:
        """The part of the loss, with products in some precision."""

        def partial(part: slice) -> np.ndarray:
            block = self.table[:, part]
            root = np.sqrt(self._curvature(self.w @ block, part))
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # see _invert
                block = np.multiply(block, root, dtype=dtype, casting="same_kind")
                return (block @ block.T).astype(float)

        with np.errstate(invalid="ignore"):
            return self._sum(partial, self.w.size)

    def _invert(self, hessian: np.ndarray, max_inflation: float) -> bool:
        """Invert a Hessian; False where it is not finite or positive, or the variance of weights is inflated."""
        diagonal = hessian.diagonal() + self.penalty
        if np.isfinite(max_inflation) and not (np.isfinite(hessian).all() and (diagonal > 0.0).all()):
            return False
        self._scale = np.where(diagonal > 0.0, np.sqrt(diagonal), 1.0)
        self.inverse = invert_hessian(hessian, self.penalty)
        return bool((self.inverse.diagonal() * diagonal <= max_inflation).all())

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
        column = self._take_ahead(eliminated)
        if column is not None:
            self.inverse -= column[:, None] * column
        elif self.inverse.size:
            across = self.inverse[eliminated]
            solved = np.linalg.solve(across[:, eliminated], across)
            self.w = self.w - self.w[eliminated] @ solved
            self.inverse = self.inverse - across.T @ solved
        self._keep_entries(kept, table)
        if self.inverse.size:
            self.inverse, self._scale = self.inverse[np.ix_(kept, kept)], self._scale[kept]

    def predict(self, n_most: int) -> EliminationSequence:
        """A sequence of eliminations from the weights as they are, to be filled."""
        if self._excess > _steps_per_hessian(self.w.size):
            self._set_hessian()
        return EliminationSequence(self.w, n_most)

    def _gradients_ahead(self, W: np.ndarray) -> Iterator[tuple[Gradients, float]]:
        if self.tol < _ROUGH_TOL and len(W) >= _FEWEST_ROUGH:
            yield self._rough_gradients(), _ROUGH_TOL
        yield self._gradients, self.tol

    def _count_steps(self, n_models: int) -> None:
        super()._count_steps(n_models)
        self._excess += _TIME_OF_ONE_AMONG_MANY * n_models * (self.n_rounds > FEW_ROUNDS)

    # Sums over the rows.

    def _gradients(self, W: np.ndarray) -> np.ndarray:
        """Of the objective, for weights in each row."""

        def partial(part: slice) -> np.ndarray:
            block = self.table[:, part]
            return self._negative_slope(W @ block, part) @ block.T

        return self.penalty * W - self._sum(partial, len(W))

    def _rough_gradients(self) -> Gradients:
        """The function from weights in rows to gradients, whose difference to that at ``w`` is in single precision."""
        start, probability = self.w, expit(-self.target * self.f)  # of the other class
        slope = self.cost * self.target * probability
        gradient = self.penalty * start - self.table @ slope
        half_sign, odds = (-0.5 * self.target).astype(np.float32), (2.0 * probability - 1.0).astype(np.float32)
        twice_curvature = (2.0 * slope * (1.0 - probability)).astype(np.float32)

        def gradients(W: np.ndarray) -> np.ndarray:
            moved = (W - start).astype(np.float32)

            def partial(part: slice) -> np.ndarray:
                with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is not taken for a zero
                    block = self.table[:, part].astype(np.float32)
                    change = moved @ block
                    change *= half_sign[part]
                    np.tanh(change, out=change)
                    scale = change * odds[part]
                    scale += 1.0
                    change /= np.maximum(scale, np.finfo(np.float32).eps, out=scale)
                    change *= twice_curvature[part]
                    return (change @ block.T).astype(float)

            rounded = W - start - moved  # which every row would see alike
            across = np.linalg.solve(self.inverse, rounded.T).T
            with np.errstate(invalid="ignore"):
                return gradient + self.penalty * moved + across - self._sum(partial, len(W))

        return gradients

    def _sum(self, partial: Callable[[slice], np.ndarray], n_vectors: int) -> np.ndarray:
        """Sum of what each block of rows contributes."""
        n_entries, n_rows = self.table.shape
        parts = list(blocks(n_rows, max(1024, CACHE_ENTRIES // (2 * (n_entries + n_vectors)))))
        return sum_in_threads(partial, parts, n_entries * n_rows * n_vectors)

    def _negative_slope(self, f: np.ndarray, part: slice) -> np.ndarray:
        """Minus the derivative of the loss in outputs, which are overwritten."""
        f *= -self.target[part]
        expit(f, out=f)
        f *= self.cost[part] * self.target[part]
        return f

    def _curvature(self, f: np.ndarray, part: slice) -> np.ndarray:
        """Second derivative of the loss in outputs."""
        probability = expit(f)
        return self.cost[part] * probability * (1.0 - probability)
