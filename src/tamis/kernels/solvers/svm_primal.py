r"""Linear models with more rows than features, by Newton's method in the primal.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_i c_i \ell(y_i, f_i), \qquad f_i = \langle w, z_i \rangle,

with the squared hinge, the square or the logistic loss; the first entry of z may be an intercept (p = 0: not
penalized). The Hessian is :math:`H = \mathrm{diag}(p) + Z^\top \mathrm{diag}(\ell'') Z`. For the first two losses it
changes only where rows cross the margin, so that its inverse is kept: such rows enter by Woodbury's formula, and a
feature is eliminated by

.. math:: (H_{-j,-j})^{-1} = A_{-j,-j} - A_{-j,j} A_{jj}^{-1} A_{j,-j}, \qquad A = H^{-1},

in :math:`O(d^2 + nd)`. The curvature of the logistic loss changes everywhere: Newton's equations are solved by
conjugate gradients, with an inverse Hessian of an earlier step as the preconditioner. One is computed when conjugate
gradients have cost as much as that.

Of the solvers of the squared hinge this is the one for more rows than columns: the active-set method of
:mod:`~tamis.kernels.solvers.svm_dual` inverts a matrix over all rows inside the margin, of which there are more than
columns, and :mod:`~tamis.kernels.solvers.squared_hinge_group_lasso` has a group norm as its penalty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import expit

from tamis.kernels.arrays.tolerances import HESSIAN_RIDGE, OBJECTIVE_ROUNDING

_MAX_DOWNDATES = 64  # eliminations after which the inverse is computed anew, so that rounding does not accumulate
_MAX_HALVINGS = 30
_MIN_FORCING, _MAX_FORCING = 1e-3, 0.1  # error that conjugate gradients leave of a Newton step, relative to the step
_MIN_CURVATURE = 1e-14  # of the logistic loss of a row, relative to its cost: far from the margin it underflows
_MAX_SHRINKAGE = 1e6  # an inverse that was once so many times larger has lost too many digits


class LinearModel:
    """What linear models that are kept optimal have in common: weights, outputs, and the objective at these."""

    penalty: np.ndarray
    target: np.ndarray
    cost: np.ndarray
    loss: str
    tol: float
    residual: float
    w: np.ndarray
    f: Any
    weight_error = 0.0  # what is told of weights that are compared

    @property
    def weights(self) -> np.ndarray:
        """The weights."""
        return self.w

    @property
    def converged(self) -> bool:
        """Whether the last :meth:`solve` met the tolerance."""
        return self.residual <= self.tol

    @property
    def objective(self) -> float:
        """Penalty and loss, at the weights as they are."""
        return self._objective(self.w, self.f)

    def _objective(self, w: np.ndarray, f: np.ndarray) -> float:
        penalty = 0.5 * float(self.penalty @ w**2)
        if self.loss == "logistic":
            return penalty + float(self.cost @ np.logaddexp(0.0, -self.target * f))
        error = self.target - f
        return penalty + float(
            self.cost @ np.where((self.loss == "ridge") | (self.target * error > 0), error, 0.0) ** 2
        )


class PrimalLinearModel(LinearModel):
    """One linear model, kept optimal while features are eliminated.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n_entries, n_samples)
        One feature per row, the intercept first; shared by models on the same rows, and never written to.
    penalty : ndarray of shape (n_entries,)
        1 for features; 0 or 1 for the intercept.
    target : ndarray of shape (n_samples,)
        1 and -1, or a quantity for the square.
    cost : ndarray of shape (n_samples,)
    loss : {"squared_hinge", "ridge", "logistic"}
    tol : float
        Largest entry of the gradient, relative to that of the loss at errors as large as the targets.
    max_iter : int

    Attributes
    ----------
    w : ndarray of shape (n_entries,)
        The weights.
    f : ndarray of shape (n_samples,)
        The outputs.
    residual : float
        Largest entry of the gradient, in the units of ``tol``, after the last :meth:`solve`.
    n_iter : int
        Newton steps so far.
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
        self.inverse = np.empty((0, 0))
        self._curvature: np.ndarray | None = (
            None  # of the rows, in the Hessian that was inverted; None if there is none
        )
        self.n_iter, self.residual, self._n_downdates, self._largest = 0, np.inf, 0, 0.0
        self._gradient_unit = np.abs(table @ (cost * np.abs(target)))
        self._norm2 = (
            table.multiply(table).sum(axis=1) if sparse.issparse(table) else np.einsum("ij,ij->i", table, table)
        )
        self._n_products = 0  # of conjugate gradients since the Hessian was inverted, but for one a step

    def eliminate(self, eliminated: np.ndarray, columns: Any, kept: np.ndarray, table: Any) -> None:
        """Remove the entries ``eliminated``, with these ``columns``; ``table`` holds those ``kept``, in their order."""
        leaving, self.w = self.w[eliminated], self.w[kept]
        self.f -= leaving @ columns
        if self._curvature is not None:
            across = self.inverse[np.ix_(kept, eliminated)]
            solved = np.linalg.solve(self.inverse[np.ix_(eliminated, eliminated)], across.T)
            self.inverse = self.inverse[np.ix_(kept, kept)]
            self.inverse -= across @ solved
            # the minimum if no row crosses the margin; far more rows would, were the other weights left as they are
            step = -(leaving @ solved)
            self.w += step
            self.f += step @ table
        self.penalty, self.table = self.penalty[kept], table
        self._gradient_unit, self._norm2 = self._gradient_unit[kept], self._norm2[kept]
        self._n_downdates += 1
        if self._n_downdates >= _MAX_DOWNDATES:
            self._curvature = None
            self.f = self.w @ table

    def solve(self) -> None:
        """Newton steps with a line search, until the gradient is zero."""
        unit = self._gradient_unit.max() + np.finfo(float).tiny
        for number in range(self.max_iter):
            negative_slope, curvature = self._derivatives()
            gradient = self.penalty * self.w - self.table @ negative_slope
            self.residual = float(np.abs(gradient).max() / unit)
            if self.residual <= self.tol:
                return
            self.n_iter += 1
            if self.loss == "logistic":
                step = self._conjugate_gradients(gradient, curvature)
            else:
                self._update_inverse(curvature, repeated=number > 0)
                step = -(self.inverse @ gradient)
            self._line_search(step)

    def _derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Minus the first, and the second derivative of the loss of every row in its output."""
        if self.loss == "logistic":
            probability = expit(-self.target * self.f)  # of the other class
            curvature = self.cost * np.maximum(probability * (1.0 - probability), _MIN_CURVATURE)
            return self.cost * self.target * probability, curvature
        error = self.target - self.f
        in_loss = np.ones(error.size, dtype=bool) if self.loss == "ridge" else self.target * error > 0
        return np.where(in_loss, 2.0 * self.cost * error, 0.0), np.where(in_loss, 2.0 * self.cost, 0.0)

    def _update_inverse(self, curvature: np.ndarray, *, repeated: bool) -> None:
        """Follow the curvature of the rows; invert anew if it is the same as at a step that did not converge."""
        changed = None if self._curvature is None else np.flatnonzero(self._curvature != curvature)
        if changed is None or changed.size > self.w.size // 4 or (repeated and not changed.size):
            self._invert(curvature)
        elif changed.size:
            self._update_rows(changed, (curvature - self._curvature)[changed])
            self._largest = max(self._largest, size := float(self.inverse.diagonal().max()))
            if self._largest > _MAX_SHRINKAGE * size:
                self._invert(curvature)
        self._curvature = curvature

    def _conjugate_gradients(self, gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """A Newton step by conjugate gradients, as exact as the present gradient deserves."""
        if self._n_products > _products_per_inversion(*self.table.shape):
            self._invert(curvature)
            self._curvature, self._n_products = curvature, 0
        diagonal = self.penalty + self._norm2 * curvature.mean()
        forcing = min(_MAX_FORCING, max(_MIN_FORCING, self.residual**0.5, 0.1 * self.tol / self.residual))
        step, left = np.zeros(gradient.size), -gradient
        preconditioned = left / diagonal if self._curvature is None else self.inverse @ left
        direction, size = preconditioned, float(left @ preconditioned)
        enough = forcing**2 * size
        for number in range(gradient.size):
            product = self.penalty * direction + self.table @ (curvature * (direction @ self.table))
            self._n_products += number > 0
            curved = float(direction @ product)
            if not curved > 0.0:  # lost to rounding
                break
            length = size / curved
            step, left = step + length * direction, left - length * product
            preconditioned = left / diagonal if self._curvature is None else self.inverse @ left
            last, size = size, float(left @ preconditioned)
            if size <= enough:
                break
            direction = preconditioned + (size / last) * direction
        return step

    def _invert(self, curvature: np.ndarray) -> None:
        rows = np.flatnonzero(curvature)
        self.inverse, self._n_downdates = (
            invert_hessian(weighted_gram(self.table, rows, curvature[rows]), self.penalty),
            0,
        )
        self._largest = float(self.inverse.diagonal().max())

    def _update_rows(self, rows: np.ndarray, change: np.ndarray) -> None:
        """Woodbury: ``(H + Z' diag(change) Z)^-1``."""
        Z = self.table[:, rows].T
        Z = Z.toarray() if sparse.issparse(Z) else Z
        across = Z @ self.inverse
        inner = across @ Z.T
        inner[np.arange(rows.size), np.arange(rows.size)] += 1.0 / change
        self.inverse -= across.T @ np.linalg.solve(inner, across)

    def _line_search(self, step: np.ndarray) -> None:
        """Take the step, halved until the objective does not increase."""
        along = step @ self.table
        start = self._objective(self.w, self.f)
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            moved = self.w + length * step, self.f + length * along
            if self._objective(*moved) <= start + OBJECTIVE_ROUNDING * abs(start):
                break
            length /= 2.0
        self.w, self.f = moved


def _products_per_inversion(n_entries: int, n_samples: int) -> float:
    """Products of the Hessian and a vector that take the time of computing it, in O(nd^2), and inverting it, O(d^3)."""
    return 4.0 + n_entries / 30.0 + n_entries**2 / (3.0 * n_samples)  # measured


def weighted_gram(table: Any, rows: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """``Z' diag(curvature) Z`` over some rows, the columns of ``table``; curvatures are not negative."""
    root = np.sqrt(curvature)
    part = table if rows.size == table.shape[1] else table[:, rows]
    if not sparse.issparse(part):
        part = part * root
        return part @ part.T  # which BLAS computes at half the cost, for it is symmetric
    part = part @ sparse.diags_array(root)
    return (part @ part.T).toarray()


def invert_hessian(hessian: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Inverse with the penalty, computed in units that make the diagonal one."""
    diagonal = np.arange(penalty.size)
    hessian[diagonal, diagonal] += penalty
    size = hessian[diagonal, diagonal]
    unit = np.sqrt(np.maximum(size, np.finfo(float).eps * size.max()))
    hessian /= unit[:, None] * unit
    hessian[diagonal, diagonal] += HESSIAN_RIDGE
    return _invert_symmetric(hessian) / (unit[:, None] * unit)


def _invert_symmetric(matrix: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric matrix, by Cholesky factors if it is positive definite, which is half the work."""
    factor, failed = dpotrf(matrix, lower=1)
    if failed:
        return np.linalg.inv(matrix)
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)  # the lower triangle
    return np.ascontiguousarray(np.tril(inverse) + np.tril(inverse, -1).T)
