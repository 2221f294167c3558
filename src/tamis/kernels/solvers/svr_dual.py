r"""Support vector regression in the dual, by the active-set method of support vector machines.

.. math:: \min_v \tfrac12 v^\top K v - t^\top v + \varepsilon \sum_i |v_i| \quad\text{subject to}\quad
          |v_i| \le c_i, \qquad \textstyle\sum_i v_i = 0,

the equality only where there is a free intercept. With :math:`v = v^+ + v^-`, :math:`v^+ \ge 0 \ge v^-`, it is the
problem of :mod:`~tamis.kernels.solvers.svm_dual` in twice as many variables, with the targets
:math:`t \mp \varepsilon`; of a pair at most one is not zero.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels.solvers.gram import Gram
from tamis.kernels.solvers.svm_dual import DualSVM


class DualSVR:
    """One regression, kept optimal while the kernel loses features; the interface is that of ``DualSVM``.

    Parameters
    ----------
    gram : Gram
        K.
    target : ndarray of shape (n,)
    cost : ndarray of shape (n,)
    epsilon : float
        Half the width of the tube in which errors cost nothing.
    free_intercept : bool
    tol : float
        Largest violation of the KKT conditions, in units of the largest target.
    """

    def __init__(
        self,
        gram: Gram,
        target: np.ndarray,
        cost: np.ndarray,
        *,
        epsilon: float,
        free_intercept: bool,
        tol: float = 1e-10,
    ) -> None:
        self._n = target.size
        self._dual = DualSVM(
            _RepeatedGram(gram),
            np.concatenate([target - epsilon, target + epsilon]),
            signs=np.repeat([1.0, -1.0], self._n),
            upper=np.tile(cost, 2),
            ridge=np.zeros(2 * self._n),
            total=0.0 if free_intercept else None,
            tol=tol,
        )

    @property
    def v(self) -> np.ndarray:
        """The dual variables; the weights of a linear model are ``X' v``."""
        return self._dual.v[: self._n] + self._dual.v[self._n :]

    @property
    def b(self) -> float:
        """The intercept."""
        return self._dual.b

    @property
    def squared_norm(self) -> float:
        """``v' K v``."""
        return self._dual.squared_norm

    @property
    def residual(self) -> float:
        """Largest violation of the KKT conditions, in units of the largest target."""
        return self._dual.residual

    @property
    def converged(self) -> bool:
        """Whether the KKT conditions hold, to the tolerance or to rounding."""
        return self._dual.converged

    @property
    def n_iter(self) -> int:
        """Iterations so far."""
        return self._dual.n_iter

    def solve(self) -> None:
        """Iterate until the KKT conditions hold."""
        self._dual.solve()

    def refactorize(self) -> None:
        """Follow any change of the kernel matrix."""
        self._dual.refactorize()

    def downdate(self, column: np.ndarray) -> None:
        """Follow a kernel matrix that has just lost ``column column'``."""
        self._dual.downdate(np.tile(column, 2))

    def downdate_many(self, columns: np.ndarray) -> None:
        """Follow a kernel matrix that has just lost ``columns' columns``."""
        self._dual.downdate_many(np.tile(columns, (1, 2)))


class _RepeatedGram:
    """``[[K, K], [K, K]]``, never formed."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram

    @property
    def diagonal(self) -> np.ndarray:
        return np.tile(self.gram.diagonal, 2)

    def times(self, values: np.ndarray) -> np.ndarray:
        n = values.size // 2
        return np.tile(self.gram.times(values[:n] + values[n:]), 2)

    def column(self, rows: np.ndarray, j: int) -> np.ndarray:
        n = self.gram.diagonal.size
        return self.gram.column(rows % n, j % n)

    def block(self, rows: np.ndarray) -> np.ndarray:
        return self.gram.block(rows % self.gram.diagonal.size)
