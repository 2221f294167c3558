r"""Logistic regression in the dual, by Newton's method, from a start that is nearly right.

.. math:: \min_{v, b} \tfrac12 v^\top K v + \sum_i c_i \log(1 + e^{-y_i f_i}), \qquad f = K v + b,

whose optimum has :math:`v_i = c_i y_i \sigma(-y_i f_i)` and, with a free intercept, :math:`\sum_i v_i = 0`. A linear
machine's weights are :math:`X^\top v`. A Newton step solves a weighted ridge regression: one factorization of an
n x n matrix.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from tamis.kernels.solvers.gram import Gram

_HALVINGS = 30
_FLAT = 1e-14  # least curvature of the loss of a row, relative to its cost: far from the margin there is none


class LogisticMachine:
    """One machine, kept optimal while its matrix loses features; the interface is that of ``DualMachine``.

    Parameters
    ----------
    gram : Gram
    signs : ndarray of shape (n,)
        Labels, 1 or -1.
    cost : ndarray of shape (n,)
    free_intercept : bool
    tol : float
        Largest difference between the dual and what it should be, relative to its cost.
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
        """Whether the last :meth:`solve` was."""
        return self.residual <= self.tol

    def forget(self, column: np.ndarray) -> None:
        """Take note that the matrix has just lost ``column column'``."""
        self.kv -= float(column @ self.v) * column

    def forget_many(self, columns: np.ndarray) -> None:
        """Take note that the matrix has just lost ``columns' columns``."""
        self.kv -= (columns @ self.v) @ columns

    def rebase(self) -> None:
        """Take note that the matrix is another one."""
        self.kv = self.gram.times(self.v)

    def solve(self) -> None:
        """Newton steps, halved where they would not descend, until the dual is what it should be."""
        everything = np.arange(self.signs.size)
        for _ in range(self.max_iter):
            chance = expit(-self.signs * (self.kv + self.b))
            aim = self.cost * self.signs * chance
            self.residual = float(np.abs((aim - self.v) / self.cost).max())
            if self.free_intercept:
                self.residual = max(self.residual, abs(float(aim.sum())) / float(self.cost.sum()))
            if self.residual <= self.tol:
                return
            self.n_iter += 1
            curvature = self.cost * np.maximum(chance * (1.0 - chance), _FLAT)
            try:
                v, b = self._newton(everything, curvature, aim)
            except np.linalg.LinAlgError:  # values so large that only rounding is left of the ones on the diagonal
                return
            self._descend(v - self.v, b - self.b)

    def _newton(self, rows: np.ndarray, curvature: np.ndarray, aim: np.ndarray) -> tuple[np.ndarray, float]:
        """Minimum of the quadratic that touches the objective: ``(K + 1 / curvature) v + b = f + aim / curvature``."""
        root = np.sqrt(curvature)
        system = self.gram.block(rows) * (root[:, None] * root)
        system[rows, rows] += 1.0
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        goal = root * (self.kv + self.b) + aim / root
        if not self.free_intercept:
            return root * cho_solve(factor, goal, check_finite=False), 0.0
        both = cho_solve(factor, np.column_stack([goal, root]), check_finite=False) * root[:, None]
        b = float(both[:, 0].sum() / both[:, 1].sum())
        return both[:, 0] - b * both[:, 1], b

    def _descend(self, v: np.ndarray, b: float) -> None:
        along = self.gram.times(v)
        start = self._objective(self.v, self.kv, self.b)
        length = 1.0
        for _ in range(_HALVINGS):
            moved = self.v + length * v, self.kv + length * along, self.b + length * b
            if self._objective(*moved) <= start + 1e-14 * abs(start):
                break
            length /= 2.0
        self.v, self.kv, self.b = moved

    def _objective(self, v: np.ndarray, kv: np.ndarray, b: float) -> float:
        return float(0.5 * v @ kv + self.cost @ np.logaddexp(0.0, -self.signs * (kv + b)))
