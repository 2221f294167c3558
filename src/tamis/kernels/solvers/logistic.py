r"""Kernel logistic regression by Newton's method, warm-started.

.. math:: \min_{v, b} \tfrac12 v^\top K v + \sum_i c_i \log(1 + e^{-y_i f_i}), \qquad f = K v + b,

whose optimum has :math:`v_i = c_i y_i \sigma(-y_i f_i)` and, with a free intercept, :math:`\sum_i v_i = 0`. The weights
of a linear model are :math:`X^\top v`. A Newton step is a weighted ridge regression (iteratively reweighted least
squares): one factorization of an n x n matrix. For a linear kernel and more rows than columns
:mod:`~tamis.kernels.solvers.svm_primal` factors D x D matrices instead.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.gram import Gram

_MAX_HALVINGS = 30
_MIN_CURVATURE = 1e-14  # of the loss of a row, relative to its cost: far from the margin it underflows


class KernelLogisticRegression:
    """One model, kept optimal while the kernel loses features; the interface is that of ``DualSVM``.

    Parameters
    ----------
    gram : Gram
    signs : ndarray of shape (n,)
        Labels, 1 or -1.
    cost : ndarray of shape (n,)
    free_intercept : bool
    tol : float
        Largest error of :math:`v_i = c_i y_i \\sigma(-y_i f_i)`, relative to :math:`c_i`.
    max_iter : int
    """

    def __init__(
        self,
        gram: Gram,
        signs: np.ndarray,
        cost: np.ndarray,
        *,
        free_intercept: bool,
        tol: float = 1e-10,
        max_iter: int = 100,
    ) -> None:
        self.gram, self.signs, self.cost, self.free_intercept = gram, signs, cost, free_intercept
        self.tol, self.max_iter = tol, max_iter
        self.v, self.kv, self.b = np.zeros(signs.size), np.zeros(signs.size), 0.0
        self.n_iter, self.residual = 0, np.inf

    @property
    def squared_norm(self) -> float:
        """``v' K v``."""
        return float(self.v @ self.kv)

    @property
    def converged(self) -> bool:
        """Whether the last :meth:`solve` met the tolerance."""
        return self.residual <= self.tol

    def downdate(self, column: np.ndarray) -> None:
        """Follow a kernel matrix that has just lost ``column column'``."""
        self.kv -= float(column @ self.v) * column

    def downdate_many(self, columns: np.ndarray) -> None:
        """Follow a kernel matrix that has just lost ``columns' columns``."""
        self.kv -= (columns @ self.v) @ columns

    def refactorize(self) -> None:
        """Follow any change of the kernel matrix."""
        self.kv = self.gram.times(self.v)

    def solve(self) -> None:
        """Newton steps with a line search, until the conditions for an optimum hold."""
        rows = np.arange(self.signs.size)
        for _ in range(self.max_iter):
            probability = expit(-self.signs * (self.kv + self.b))  # of the other class
            negative_slope = self.cost * self.signs * probability
            self.residual = float(np.abs((negative_slope - self.v) / self.cost).max())
            if self.free_intercept:
                self.residual = max(self.residual, abs(float(negative_slope.sum())) / float(self.cost.sum()))
            if self.residual <= self.tol:
                return
            self.n_iter += 1
            curvature = self.cost * np.maximum(probability * (1.0 - probability), _MIN_CURVATURE)
            try:
                v, b = self._newton_point(rows, curvature, negative_slope)
            except np.linalg.LinAlgError:  # the kernel is so large that the unit diagonal is lost to rounding
                return
            self._line_search(v - self.v, b - self.b)

    def _newton_point(
        self, rows: np.ndarray, curvature: np.ndarray, negative_slope: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Minimum of the quadratic model: ``(K + 1 / curvature) v + b = f + negative_slope / curvature``."""
        root = np.sqrt(curvature)
        system = self.gram.block(rows) * (root[:, None] * root)
        system[rows, rows] += 1.0
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        response = root * (self.kv + self.b) + negative_slope / root
        if not self.free_intercept:
            return root * cho_solve(factor, response, check_finite=False), 0.0
        both = cho_solve(factor, np.column_stack([response, root]), check_finite=False) * root[:, None]
        b = float(both[:, 0].sum() / both[:, 1].sum())
        return both[:, 0] - b * both[:, 1], b

    def _line_search(self, v: np.ndarray, b: float) -> None:
        """Take the step, halved until the objective does not increase."""
        along = self.gram.times(v)
        start = self._objective(self.v, self.kv, self.b)
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            moved = self.v + length * v, self.kv + length * along, self.b + length * b
            if self._objective(*moved) <= start + OBJECTIVE_ROUNDING * abs(start):
                break
            length /= 2.0
        self.v, self.kv, self.b = moved

    def _objective(self, v: np.ndarray, kv: np.ndarray, b: float) -> float:
        return float(0.5 * v @ kv + self.cost @ np.logaddexp(0.0, -self.signs * (kv + b)))
