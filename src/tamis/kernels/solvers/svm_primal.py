r"""Linear machines with more rows than features, by Newton's method in the primal.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_i c_i \ell(y_i, \langle w, z_i \rangle),

with the squared hinge, the square or the logistic loss; the first entry of z may be an intercept (p = 0: free). For the
first two the curvature changes only where rows join or leave those that count, so that the inverse of the Hessian is
kept: rows are worked in by Woodbury's formula, features leave by

.. math:: (H_{-j,-j})^{-1} = A_{-j,-j} - A_{-j,j} A_{jj}^{-1} A_{j,-j}, \qquad A = H^{-1},

so that eliminating one costs :math:`O(d^2 + nd)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

_AGE = 64  # eliminations after which the inverse is computed anew
_HALVINGS = 30
_DAMPING = 1e-13  # of a Hessian's unit diagonal, so that it can always be inverted
_SHRUNK = 1e6  # an inverse that was once so many times larger has lost too many digits


class PrimalMachine:
    """One linear machine, kept optimal while its table loses features.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n_entries, n_samples)
        One feature per row, the intercept first; shared by machines on the same rows, and never written to.
    penalty : ndarray of shape (n_entries,)
        1 for features; 0 or 1 for the intercept.
    target : ndarray of shape (n_samples,)
        1 and -1, or a quantity for the square.
    cost : ndarray of shape (n_samples,)
    loss : {"squared_hinge", "ridge", "logistic"}
    tol : float
        Largest entry of the gradient, relative to what the data alone could pull.
    max_iter : int
    """

    def __init__(
        self,
        table: Any,
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
        self.w, self.f = np.zeros(penalty.size), np.zeros(target.size)
        self.known: np.ndarray | None = None  # curvature of the rows in the inverse
        self.inverse = np.empty((0, 0))
        self.n_iter, self.residual, self._age, self._largest = 0, np.inf, 0, 0.0

    @property
    def converged(self) -> bool:
        """Whether the last :meth:`solve` was."""
        return self.residual <= self.tol

    def keep(self, kept: np.ndarray, gone: np.ndarray, table: Any) -> None:
        """Go on with the entries ``kept``, which ``table`` holds, without those that are ``gone``."""
        self.f -= self.w[gone] @ self.table[gone]
        if self.known is not None:
            across = self.inverse[np.ix_(kept, gone)]
            inner = self.inverse[np.ix_(gone, gone)]
            self.inverse = self.inverse[np.ix_(kept, kept)]
            self.inverse -= across @ np.linalg.solve(inner, across.T)
        self.w, self.penalty, self.table = self.w[kept], self.penalty[kept], table
        self._age += 1
        if self._age >= _AGE:
            self.known = None
            self.f = self.w @ table

    def solve(self) -> None:
        """Newton steps, halved where they would not descend, until the gradient is zero."""
        unit = np.abs(self.table @ (self.cost * np.abs(self.target))).max() + np.finfo(float).tiny
        for number in range(self.max_iter):
            pull, curvature = self._derivatives()
            gradient = self.penalty * self.w - self.table @ pull
            self.residual = float(np.abs(gradient).max() / unit)
            if self.residual <= self.tol:
                return
            self.n_iter += 1
            self._curve(curvature, repeated=number > 0)
            self._descend(-(self.inverse @ gradient))

    def _derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Minus the slope and the curvature of the loss of every row."""
        if self.loss == "logistic":
            chance = expit(-self.target * self.f)
            return self.cost * self.target * chance, self.cost * chance * (1.0 - chance)
        left = self.target - self.f
        counts = np.ones(left.size, dtype=bool) if self.loss == "ridge" else self.target * left > 0
        return np.where(counts, 2.0 * self.cost * left, 0.0), np.where(counts, 2.0 * self.cost, 0.0)

    def _curve(self, curvature: np.ndarray, *, repeated: bool) -> None:
        """Bring the inverse up to date with the curvature of the rows; if a step has not helped, compute it anew."""
        changed = None if self.known is None else np.flatnonzero(self.known != curvature)
        if changed is None or changed.size > self.w.size // 4 or (repeated and not changed.size):
            self._invert(curvature)
        elif changed.size:
            self._work_in(changed, (curvature - self.known)[changed])
            self._largest = max(self._largest, size := float(self.inverse.diagonal().max()))
            if self._largest > _SHRUNK * size:
                self._invert(curvature)
        self.known = curvature

    def _invert(self, curvature: np.ndarray) -> None:
        self.inverse, self._age = _invert(_hessian(self.table, curvature), self.penalty), 0
        self._largest = float(self.inverse.diagonal().max())

    def _work_in(self, rows: np.ndarray, change: np.ndarray) -> None:
        """Woodbury: ``(H + Z' diag(change) Z)^-1``."""
        Z = self.table[:, rows].T
        Z = Z.toarray() if sparse.issparse(Z) else Z
        across = Z @ self.inverse
        inner = across @ Z.T
        inner[np.arange(rows.size), np.arange(rows.size)] += 1.0 / change
        self.inverse -= across.T @ np.linalg.solve(inner, across)

    def _descend(self, step: np.ndarray) -> None:
        along = step @ self.table
        start = self._objective(self.w, self.f)
        length = 1.0
        for _ in range(_HALVINGS):
            moved = self.w + length * step, self.f + length * along
            if self._objective(*moved) <= start + 1e-14 * abs(start):
                break
            length /= 2.0
        self.w, self.f = moved

    def _objective(self, w: np.ndarray, f: np.ndarray) -> float:
        size = 0.5 * float(self.penalty @ w**2)
        if self.loss == "logistic":
            return size + float(self.cost @ np.logaddexp(0.0, -self.target * f))
        left = self.target - f
        return size + float(self.cost @ np.where((self.loss == "ridge") | (self.target * left > 0), left, 0.0) ** 2)


def _hessian(table: Any, curvature: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(curvature)
    part = table[:, rows]
    if not sparse.issparse(part):
        return (part * curvature[rows]) @ part.T
    return (part @ sparse.diags_array(curvature[rows]) @ part.T).toarray()


def _invert(hessian: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Inverse with the penalty, computed in units that make the diagonal one."""
    diagonal = np.arange(penalty.size)
    hessian[diagonal, diagonal] += penalty
    size = hessian[diagonal, diagonal]
    unit = np.sqrt(np.maximum(size, np.finfo(float).eps * size.max()))
    hessian /= unit[:, None] * unit
    hessian[diagonal, diagonal] += _DAMPING
    return np.linalg.inv(hessian) / (unit[:, None] * unit)
