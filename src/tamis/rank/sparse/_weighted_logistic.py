"""Logistic regression with an l1 penalty whose weight differs from column to column."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tamis.kernels.solvers.losses import LOSSES
from tamis.kernels.solvers.penalized_path import PathPoint, PenalizedPath
from tamis.rank._linear_problem import LinearProblem

_OF_SMALL_ALPHA = 1e-3  # tolerances of a path are relative to 1000 alpha where the largest alpha is far above


class WeightedLogistic:
    r"""One target: :math:`\sum_i p_i \log(1 + e^{-y_i f_i}) + \alpha \sum_j s_j |w_j|`, a group lasso of groups of one.

    Slopes s next to zero leave weights almost free. The conditions for a minimum hold to ``tol`` times alpha, which may
    be more than those penalties, so that dividing the dual point until it is feasible would prove nothing. The gap is
    that of the problem with every penalty raised to the gradient where this exceeds it: for violations of at most v it
    is :math:`\sum_j (\max(\alpha s_j, |r_j|) |w_j| - r_j w_j) + |b| v \le v (2 \sum_j |w_j| + |b|)`.
    """

    def __init__(self, problem: LinearProblem, target: int, scale: np.ndarray, tol: float) -> None:
        self._problem, self._scale, self._tol = problem, scale, tol
        self._y = np.ascontiguousarray(problem.Y[:, target])
        equal = self._make_path(np.ones(scale.size))
        self.alpha_max, self.null_loss = equal.alpha_max, equal.null_loss

    def weighted(
        self, alpha: float, slopes: np.ndarray, start: PathPoint | None = None, *, number: int = 0
    ) -> PathPoint:
        """The minimum where column j has the penalty ``alpha * slopes[j]``, sought from a point (from zero: None).

        ``number`` is not used: a point says all that there is to start from.
        """
        path = self._make_path(slopes)
        if start is not None:
            path.start_from(start)
        [point] = path.path([alpha])
        raised = point.kkt * (2.0 * float(np.abs(point.weights).sum()) + abs(point.intercept))
        return replace(point, gap=min(point.gap, raised))

    def _make_path(self, slopes: np.ndarray) -> PenalizedPath:
        loss, scale = LOSSES["logistic"], self._scale
        tol = self._tol * _OF_SMALL_ALPHA
        return PenalizedPath(self._problem.columns, self._y, loss, scale, l1_ratio=0.0, group_weights=slopes, tol=tol)
