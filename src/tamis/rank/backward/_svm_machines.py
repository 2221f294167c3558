"""Support vector machines and an enclosing ball that follow a kernel matrix while features leave it."""

from __future__ import annotations

from copy import copy
from functools import partial

import numpy as np

from tamis.kernels.solvers.gram import DenseGram
from tamis.kernels.solvers.svm_dual import NOT_SEPARABLE, DualMachine
from tamis.rank.backward._svm_bounds import Machine


class Machines:
    """One machine per row of signs, and the ball around all points or their variance.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
    signs : ndarray of shape (n_machines, n_rows)
        1 or -1.
    ridge : float
        On the diagonal: one over the cost of squared slack, 0 for a hard margin.
    ball : bool
        Whether the smallest enclosing ball is wanted; otherwise all rows weigh the same.
    tol : float
        Largest violation of optimality.
    max_iter : int
        Steps per machine and matrix.

    Attributes
    ----------
    machines : list of Machine
    weights : ndarray of shape (n_rows,)
        Of the rows in the squared radius; they sum to one.
    residual : float
        Largest violation of optimality at any matrix so far.
    converged : bool
        Whether all were solved.
    n_iter : int
        Steps so far.

    Raises
    ------
    ValueError
        If there is no ridge and the classes cannot be separated, or the matrix is no kernel.
    """

    def __init__(
        self, K: np.ndarray, signs: np.ndarray, *, ridge: float, ball: bool, tol: float, max_iter: int
    ) -> None:
        n = signs.shape[1]
        upper, ridges = np.full(n, np.inf), np.full(n, ridge)
        pose = partial(DualMachine, DenseGram(K), upper=upper, ridge=ridges, tol=tol, max_iter=max_iter)
        self.signs, self.ridge = signs, ridge
        self.residual, self.converged, self.n_iter = 0.0, True, 0
        self._duals = [pose(sign, signs=sign, total=0.0) for sign in signs]
        self._ball = pose(_ball_target(K), signs=np.ones(n), total=1.0) if ball else None
        self._solve()

    def follow(self, K: np.ndarray, column: np.ndarray | None = None) -> None:
        """Train on another matrix, from where the last one ended.

        Parameters
        ----------
        K : ndarray of shape (n_rows, n_rows)
        column : ndarray of shape (n_rows,), default=None
            If all that ``K`` has lost is ``column column'``: what the solver knows is down-dated then, in O(n^2).
        """
        if self._ball is not None:
            self._ball.target = _ball_target(K)
        gram = DenseGram(K)
        for dual in self._problems:
            dual.gram = gram
            if column is None:
                dual.rebase()
            else:
                dual.forget(column)
        self._solve()

    def tried_on(self, K: np.ndarray, column: np.ndarray | None = None) -> Machines:
        """What would become of them on another matrix; these stay as they are, but for the account of the work."""
        trial = copy(self)
        trial._duals = [_duplicate(dual) for dual in self._duals]
        trial._ball = None if self._ball is None else _duplicate(self._ball)
        trial.follow(K, column)
        self.residual, self.converged, self.n_iter = trial.residual, trial.converged, trial.n_iter
        return trial

    def _solve(self) -> None:
        for dual in self._problems:
            before = dual.n_iter
            dual.solve()
            solution = dual.solution()
            if not solution.converged and not self.ridge and dual is not self._ball:  # the dual has no end
                raise ValueError(NOT_SEPARABLE)
            self.residual = max(self.residual, solution.residual)
            self.converged = self.converged and solution.converged
            self.n_iter += dual.n_iter - before

    @property
    def _problems(self) -> list[DualMachine]:
        return self._duals if self._ball is None else [*self._duals, self._ball]

    @property
    def machines(self) -> list[Machine]:
        """As they are now."""
        return [
            Machine(sign, dual.v.copy(), np.sort(dual.free)) for sign, dual in zip(self.signs, self._duals, strict=True)
        ]

    @property
    def weights(self) -> np.ndarray:
        """Of the rows in the squared radius, as they are now."""
        if self._ball is None:
            return np.full(self.signs.shape[1], 1.0 / self.signs.shape[1])
        return self._ball.v.copy()


def _ball_target(K: np.ndarray) -> np.ndarray:
    """The linear term of the ball's dual; a constant on the diagonal changes nothing."""
    return 0.5 * np.diagonal(K)


def _duplicate(dual: DualMachine) -> DualMachine:
    """A copy that shares no array, for training writes to some; but for the matrix."""
    twin = copy(dual)
    for name, value in vars(dual).items():
        if isinstance(value, np.ndarray):
            setattr(twin, name, value.copy())
    return twin
