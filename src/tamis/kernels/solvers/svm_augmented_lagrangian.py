r"""Linear support vector machines with more rows than features, by an augmented Lagrangian method.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_i c_i \ell(r_i), \qquad r_i = t_i - \langle w, z_i \rangle,
          \qquad \ell(r) = \max_{l_i \le \beta \le u_i} \beta r - \varepsilon |\beta|,

which is the hinge for :math:`t_i = y_i`, :math:`\varepsilon = 0` and :math:`\beta` between 0 and :math:`y_i`, and the
:math:`\varepsilon`-insensitive loss for :math:`\beta` between -1 and 1. The first entry of z may be an intercept
(p = 0: not penalized). Neither loss has a second derivative. With a proximal term
:math:`-(\beta - \bar\beta_i)^2 / 2 s` inside the maximum, which is then attained at

.. math:: \beta_i(r_i) = \mathrm{clip}\bigl(\mathrm{soft}(\bar\beta_i + s r_i, s \varepsilon), l_i, u_i\bigr),

the objective is piecewise quadratic, its gradient is :math:`p w - \sum_i c_i \beta_i z_i`, and its generalized Hessian
:math:`\mathrm{diag}(p) + s \sum_{i \in J} c_i z_i z_i^\top` over the rows J between their bounds, about as many as
columns. It is minimized by semismooth Newton steps with a line search; then :math:`\bar\beta` moves to :math:`\beta`,
and s doubles. The KKT conditions of the problem itself hold but for that gradient and
:math:`|\beta_i - \bar\beta_i| / s`.

A Newton step costs :math:`O(nd + |J| d^2 + d^3)`, and the number of steps hardly depends on n, where the active-set
method of :mod:`~tamis.kernels.solvers.svm_dual` must change the status of one row at a time.

References
----------
Li, Sun and Toh, "A highly efficient semismooth Newton augmented Lagrangian method for solving Lasso problems", SIAM
Journal on Optimization 28, 2018. Yan and Li, "An efficient augmented Lagrangian method for support vector machine",
Optimization Methods and Software 35, 2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from tamis.kernels.arrays.tolerances import HESSIAN_RIDGE, WEIGHT_ERROR
from tamis.kernels.solvers.svm_primal import weighted_gram

_COLD_SIZE = 0.5  # s at the start, in units of the targets: with f = 0 every row of a hinge is between its bounds
_WARM_SIZE = 3.0  # s when a solution is at hand
_GROWTH = 2.0
_MAX_SIZE = 1e12
_INNER_PRECISION = 0.01  # gradient at which an inner problem is left, relative to the violation by the rows
_MAX_NEWTON_STEPS = 100  # per inner problem
_SLOPE_DECREASE = 0.1  # of the line search
_MAX_SEARCH = 60
_MAX_DIFFERENCE = 1e-6  # between w and Z v, relative to the largest weight, or to that of outputs of 1e-6
_INTERCEPT_CURVATURE = 1e-6  # per unit of cost, of an intercept without penalty where no row is between its bounds


class AugmentedLagrangianSVM:
    """One linear model, kept optimal while features are eliminated; the interface is that of ``PrimalLinearModel``.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n_entries, n_samples)
        One feature per row, the intercept first; shared by models on the same rows, and never written to.
    penalty : ndarray of shape (n_entries,)
        1 for features; 0 or 1 for the intercept.
    target : ndarray of shape (n_samples,)
        1 and -1, or a quantity.
    cost : ndarray of shape (n_samples,)
        Finite.
    epsilon : float or None
        Half the width of the tube of the epsilon-insensitive loss; None for the hinge.
    tol : float
        Largest violation of the KKT conditions: entries of the gradient relative to the cost of all rows, errors of
        rows relative to the largest target.
    max_iter : int
        Newton steps of one :meth:`solve`.

    Attributes
    ----------
    w, f : ndarray
        The weights by Newton's method, and their outputs.
    v : ndarray of shape (n_samples,)
        The dual variables.
    residual : float
        Largest violation of the KKT conditions after the last :meth:`solve`.
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
        epsilon: float | None = None,
        tol: float = 1e-10,
        max_iter: int = 2000,
    ) -> None:
        self.table, self.penalty, self.target, self.cost = table, penalty, target, cost
        self.tol, self.max_iter, self.epsilon = tol, max_iter, epsilon or 0.0
        is_hinge = epsilon is None
        self.lower = np.minimum(target, 0.0) if is_hinge else np.full(target.size, -1.0)
        self.upper = np.maximum(target, 0.0) if is_hinge else np.ones(target.size)
        self.w, self.f, self.v = np.zeros(penalty.size), np.zeros(target.size), np.zeros(target.size)
        self._product = np.zeros(penalty.size)  # Z v
        self._norm2 = (table.multiply(table) if sparse.issparse(table) else table * table).sum(axis=1)
        self._center, self._scale = np.zeros(target.size), float(np.abs(target).max()) or 1.0
        self._size = _COLD_SIZE / self._scale
        self._gradient_unit = abs(table) @ cost + np.finfo(float).tiny
        self.n_iter, self.residual = 0, np.inf

    @property
    def converged(self) -> bool:
        """Whether the last :meth:`solve` met the tolerance."""
        return self.residual <= self.tol

    @property
    def weights(self) -> np.ndarray:
        """``Z v``, which is the same for equal columns; w where costs or values are so large that rounding decides.

        Of an intercept without penalty, for which ``Z v`` is zero, w.
        """
        return self.w if self._product_is_rounded else np.where(self.penalty > 0, self._product, self.w)

    @property
    def weight_error(self) -> float:
        """Error of a weight by rounding."""
        if self._product_is_rounded:
            return 0.0
        return WEIGHT_ERROR * float(self._norm2.sum() * (self.v @ self.v)) ** 0.5

    @property
    def _product_is_rounded(self) -> bool:
        penalized = self.penalty > 0
        difference = np.abs(self.w - self._product)[penalized].max(initial=0.0)
        row_size = float(self._norm2.sum() / self.target.size) ** 0.5
        largest = max(float(np.abs(self.w[penalized]).max(initial=0.0)), _MAX_DIFFERENCE * self._scale / row_size)
        return bool(difference > _MAX_DIFFERENCE * largest)

    def eliminate(self, eliminated: np.ndarray, columns: Any, kept: np.ndarray, table: Any) -> None:
        """Remove the entries ``eliminated``, with these ``columns``; ``table`` holds those ``kept``, in their order."""
        self.f = self.f - self.w[eliminated] @ columns
        self.w, self.penalty, self.table = self.w[kept], self.penalty[kept], table
        self._gradient_unit, self._norm2 = self._gradient_unit[kept], self._norm2[kept]
        self._size = _WARM_SIZE / self._scale

    def solve(self) -> None:
        """Proximal steps, each solved by Newton's method, until the KKT conditions hold."""
        end = self.n_iter + self.max_iter
        while True:
            share, gradient_error = self._minimize(end)
            row_error = float(np.abs(share - self._center).max()) / (self._size * self._scale)
            self.residual = max(gradient_error, row_error)
            self._center = share
            if self.residual <= self.tol or self.n_iter >= end or self._size * self._scale > _MAX_SIZE:
                return
            self._size *= _GROWTH

    def _minimize(self, end: int) -> tuple[np.ndarray, float]:
        """Newton steps for one center of the proximal term: ``beta`` of every row, and the error of the gradient."""
        for number in range(_MAX_NEWTON_STEPS + 1):
            share, is_between = self._shares(self.f)
            self.v = self.cost * share
            self._product = self.table @ self.v
            gradient = self.penalty * self.w - self._product
            error = float(np.abs(gradient).max() / self._gradient_unit.max())
            row_error = float(np.abs(share - self._center).max()) / (self._size * self._scale)
            if (
                error <= max(self.tol, _INNER_PRECISION * row_error)
                or number == _MAX_NEWTON_STEPS
                or self.n_iter >= end
            ):
                break
            self.n_iter += 1
            step = self._newton_direction(gradient, is_between)
            along = step @ self.table
            length = self._line_search(step, along, float(gradient @ step))
            if length == 0.0:
                break
            self.w, self.f = self.w + length * step, self.f + length * along
        return share, error

    def _shares(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``beta`` of every row, and whether it is where its derivative is not zero."""
        position = self._center + self._size * (self.target - f)
        if self.epsilon:
            position = np.sign(position) * np.maximum(np.abs(position) - self._size * self.epsilon, 0.0)
        share = np.minimum(np.maximum(position, self.lower), self.upper)
        is_between = share == position
        return share, is_between & (position != 0.0) if self.epsilon else is_between

    def _newton_direction(self, gradient: np.ndarray, is_between: np.ndarray) -> np.ndarray:
        """Minus the inverse of the generalized Hessian times the gradient, in units that make the diagonal one."""
        rows = np.flatnonzero(is_between)
        hessian = weighted_gram(self.table, rows, self._size * self.cost[rows])
        diagonal = np.arange(gradient.size)
        hessian[diagonal, diagonal] += np.where(
            self.penalty > 0, self.penalty, _INTERCEPT_CURVATURE * self._gradient_unit
        )
        unit = np.sqrt(hessian[diagonal, diagonal])
        hessian /= unit[:, None] * unit
        hessian[diagonal, diagonal] += HESSIAN_RIDGE
        factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
        return -cho_solve(factor, gradient / unit, check_finite=False) / unit

    def _line_search(self, step: np.ndarray, along: np.ndarray, slope: float) -> float:
        """Length at which the slope along a direction has fallen to a part of what it was; 0 if rounding hides it.

        The slope increases with the length: the root is bracketed, and found by the secant method and bisection.
        """
        linear, square = float(self.penalty @ (self.w * step)), float(self.penalty @ step**2)
        weighted = self.cost * along

        def slope_at(length: float) -> float:
            return linear + length * square - float(self._shares(self.f + length * along)[0] @ weighted)

        enough = -_SLOPE_DECREASE * slope
        if enough <= 0.0:
            return 0.0
        low, slope_low, high, slope_high = 0.0, slope, 1.0, slope_at(1.0)
        for number in range(_MAX_SEARCH):
            if abs(slope_high) <= enough:
                return high
            if slope_high < 0.0:  # the root is farther
                low, slope_low, high = high, slope_high, 2.0 * high
                slope_high = slope_at(high)
                continue
            between = low + 0.5 * (high - low)
            if number % 3 < 2:
                between = low - slope_low * (high - low) / (slope_high - slope_low)
            slope_between = slope_at(between)
            if abs(slope_between) <= enough:
                return between
            if slope_between > 0.0:
                high, slope_high = between, slope_between
            else:
                low, slope_low = between, slope_between
        return low
