"""Support vector machines and the smallest enclosing ball, retrained as features are eliminated from their kernel."""

from __future__ import annotations

from copy import copy
from functools import partial

import numpy as np

from tamis.kernels.solvers.gram import DenseGram
from tamis.kernels.solvers.svm_bounds import TrainedSVM
from tamis.kernels.solvers.svm_dual import NOT_SEPARABLE, DualSVM


class WarmStartedSVMs:
    """One SVM per row of signs, and the smallest ball around all points or their variance.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
    signs : ndarray of shape (n_svms, n_rows)
        1 or -1.
    ridge : float or ndarray of shape (n_rows,)
        On the diagonal of K: one over the cost of squared slack, 0 for a hard margin.
    ball : bool
        Whether the smallest enclosing ball is wanted; otherwise rows weigh as often as they count.
    tol : float
        Largest violation of the KKT conditions.
    max_iter : int
        Iterations per SVM and kernel matrix.
    counts : ndarray of shape (n_rows,) or None
        How often each row counts in the variance; None is once each.

    Attributes
    ----------
    solutions : list of TrainedSVM
    weights : ndarray of shape (n_rows,)
        Of the rows in the squared radius; they sum to one.
    residual : float
        Largest violation of the KKT conditions for any kernel matrix so far.
    converged : bool
        Whether all were solved.
    n_iter : int
        Iterations so far.

    Raises
    ------
    ValueError
        If there is no ridge and the classes cannot be separated, or the matrix is not positive semi-definite.
    """

    def __init__(
        self,
        K: np.ndarray,
        signs: np.ndarray,
        *,
        ridge: float | np.ndarray,
        ball: bool,
        tol: float,
        max_iter: int,
        counts: np.ndarray | None = None,
    ) -> None:
        n = signs.shape[1]
        self._shares = np.full(n, 1.0 / n) if counts is None else counts / counts.sum()
        upper, ridges = np.full(n, np.inf), np.broadcast_to(np.asarray(ridge, dtype=float), n)
        pose = partial(DualSVM, DenseGram(K), upper=upper, ridge=ridges, tol=tol, max_iter=max_iter)
        self.signs, self.ridge = signs, ridges
        self.residual, self.converged, self.n_iter = 0.0, True, 0
        self._duals = [pose(sign, signs=sign, total=0.0) for sign in signs]
        self._ball = pose(_ball_target(K), signs=np.ones(n), total=1.0) if ball else None
        self._solve()

    def retrain(self, K: np.ndarray, column: np.ndarray | None = None) -> None:
        """Train on another kernel matrix, starting from the present solution.

        Parameters
        ----------
        K : ndarray of shape (n_rows, n_rows)
        column : ndarray of shape (n_rows,), default=None
            Given if ``K`` is the last matrix less ``column column'``: the solver is then downdated, in O(n^2).
        """
        if self._ball is not None:
            self._ball.target = _ball_target(K)
        gram = DenseGram(K)
        for dual in self._problems:
            dual.gram = gram
            if column is None:
                dual.refactorize()
            else:
                dual.downdate(column)
        self._solve()

    def retrained_copy(self, K: np.ndarray, column: np.ndarray | None = None) -> WarmStartedSVMs:
        """The SVMs on another kernel matrix; these keep their solution, and count the iterations of the copy."""
        trial = copy(self)
        trial._duals = [dual.copy() for dual in self._duals]
        trial._ball = None if self._ball is None else self._ball.copy()
        trial.retrain(K, column)
        self.residual, self.converged, self.n_iter = trial.residual, trial.converged, trial.n_iter
        return trial

    def _solve(self) -> None:
        for dual in self._problems:
            before = dual.n_iter
            dual.solve()
            if not dual.converged and not self.ridge.any() and dual is not self._ball:  # the dual is unbounded
                raise ValueError(NOT_SEPARABLE)
            self.residual = max(self.residual, dual.residual)
            self.converged = self.converged and dual.converged
            self.n_iter += dual.n_iter - before

    @property
    def _problems(self) -> list[DualSVM]:
        return self._duals if self._ball is None else [*self._duals, self._ball]

    @property
    def solutions(self) -> list[TrainedSVM]:
        """The present solutions."""
        return [
            TrainedSVM(sign, dual.v.copy(), np.sort(dual.working_set.free))
            for sign, dual in zip(self.signs, self._duals, strict=True)
        ]

    @property
    def weights(self) -> np.ndarray:
        """Present weights of the rows in the squared radius."""
        if self._ball is None:
            return self._shares
        return self._ball.v.copy()


def _ball_target(K: np.ndarray) -> np.ndarray:
    """The linear term of the ball's dual; a constant on the diagonal changes nothing."""
    return 0.5 * np.diagonal(K)
