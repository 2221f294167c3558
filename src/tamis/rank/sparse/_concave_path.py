r"""Minima of a loss with a concave penalty that comes near the number of weights, by successive linearization.

.. math:: F(w, b) = \sum_i p_i L(z_i^\top w + b, y_i) + \alpha \sum_j \bigl(1 - e^{-a |w_j|}\bigr)

The penalty lies below its tangent, so that the minimum of the loss plus :math:`\alpha \sum_j a e^{-a |w_j^t|} |w_j|`, a
problem with an l1 penalty, has an F that is no larger than at :math:`w^t`. It ends where nothing changes: a point that
no direction lowers (Bradley and Mangasarian 1998, Lal et al. 2006, algorithm 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from tamis.kernels.solvers.penalized_path import PathPoint

_UNCHANGED = 1e-9  # relative decrease of the objective, below which nothing has changed
_LEAST_SLOPE = 1e-9  # of the penalty, relative to its slope at zero: weights beyond are free, and scaling stays finite


class WeightedSolver(Protocol):
    """Minima of a loss with an l1 penalty whose weight differs from column to column."""

    alpha_max: float
    null_loss: float

    def weighted(
        self, alpha: float, slopes: np.ndarray, start: PathPoint | None = None, *, number: int = 0
    ) -> PathPoint:
        """The minimum where column j has the penalty ``alpha * slopes[j]``, sought from a point (from zero: None).

        ``number`` is that of the tangent along a path; problems of one number are alike from one alpha to the next.
        """


class ConcavePath:
    """One target.

    Parameters
    ----------
    solver : WeightedSolver
    n_columns : int
    steepness : float
        a.
    max_iter : int
        Linearizations at each penalty.
    """

    def __init__(self, solver: WeightedSolver, n_columns: int, steepness: float, max_iter: int) -> None:
        self._solver, self._n_columns, self._steepness, self._max_iter = solver, n_columns, steepness, max_iter
        # at w = 0 the slope is that of an l1 penalty of a times alpha
        self.alpha_max, self.null_loss = solver.alpha_max / steepness, solver.null_loss

    def linearize(self, alpha: float, point: PathPoint | None, *, number: int = 0) -> PathPoint:
        """The minimum with the tangent of the penalty at a point (at zero: None); its objective is F.

        ``number`` counts the tangents at this alpha where others follow at smaller ones.
        """
        slopes = np.ones(self._n_columns)
        if point is not None:
            slopes[point.active] = np.maximum(np.exp(-self._steepness * np.abs(point.weights)), _LEAST_SLOPE)
        found = self._solver.weighted(alpha * self._steepness, slopes, point, number=number)
        penalty = float(-np.expm1(-self._steepness * np.abs(found.weights)).sum())
        objective = found.loss + alpha * penalty if alpha > 0 else penalty  # a hard margin allows no errors
        return replace(found, alpha=alpha, objective=objective)

    def has_converged(self, before: PathPoint, after: PathPoint) -> bool:
        """Whether nothing has changed, but for rounding."""
        return before.objective - after.objective <= _UNCHANGED * before.objective

    def path(self, alphas: Sequence[float]) -> Iterator[PathPoint]:
        """Stationary points at decreasing penalties, each sought from w = 0."""
        for alpha in alphas:
            yield self._reached(float(alpha), is_numbered=True)

    def solve(self, alpha: float) -> PathPoint:
        """The stationary point that is reached from w = 0."""
        return self._reached(alpha, is_numbered=False)

    def _reached(self, alpha: float, *, is_numbered: bool) -> PathPoint:
        point = self.linearize(alpha, None)
        for number in range(1, self._max_iter):
            moved = self.linearize(alpha, point, number=number if is_numbered else 0)
            if self.has_converged(point, moved):
                return moved if moved.objective < point.objective else point
            point = moved
        return point
