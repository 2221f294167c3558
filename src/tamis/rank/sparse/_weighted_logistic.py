"""Logistic regression with an l1 penalty whose weight differs from column to column."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tamis.kernels.solvers.losses import LOSSES
from tamis.kernels.solvers.penalized_path import PathPoint, PenalizedPath
from tamis.rank.sparse._linear_problem import LinearProblem

_LEAST_SLOPE = 1e-4  # of the largest: columns are divided by their slopes, and must not differ too much in size


class WeightedLogistic:
    """One target; columns are divided by their penalties, which makes these equal."""

    def __init__(self, problem: LinearProblem, target: int, scale: np.ndarray, tol: float) -> None:
        self._problem, self._scale, self._tol = problem, scale, tol
        self._y = np.ascontiguousarray(problem.Y[:, target])
        equal = self._make_path(np.ones(scale.size))
        self.alpha_max, self.null_loss = equal.alpha_max, equal.null_loss

    def weighted(self, alpha: float, slopes: np.ndarray) -> PathPoint:
        """The minimum where column j has the penalty ``alpha * slopes[j]``."""
        slopes = np.maximum(slopes, _LEAST_SLOPE)
        point = self._make_path(slopes).solve(alpha)
        return replace(point, weights=point.weights / slopes[point.active])

    def _make_path(self, slopes: np.ndarray) -> PenalizedPath:
        return PenalizedPath(self._problem.columns, self._y, LOSSES["logistic"], self._scale / slopes, tol=self._tol)
