r"""Newton's method for an l1-penalized loss within one orthant of the weights.

For given signs :math:`s` the objective

.. math:: F(w, b) = \frac{1}{m} \sum_i L(z_i^\top w + b, y_i) + l_2 \|w\|_2^2 + \alpha s^\top w,
          \qquad s_j w_j \ge 0,

is smooth, and equals the one with :math:`\alpha \|w\|_1`. A step that would take a weight across zero ends there, and
the weight leaves the problem. At the end :math:`\nabla F = 0` and no weight is zero: of the conditions (KKT) for a
minimum of the l1 objective over all columns,

.. math:: \partial_j \left(\tfrac{1}{m} \textstyle\sum_i L_i + l_2 \|w\|_2^2\right) = -\alpha\, \mathrm{sign}(w_j)
          \text{ where } w_j \ne 0, \qquad |\cdot| \le \alpha \text{ where } w_j = 0,

the first holds, and the caller checks the second for the columns that left or were never in.

The Hessian of the loss, :math:`A^\top \mathrm{diag}(h) A` with A the columns and a constant one, :math:`h = L'' / m`,
is kept as long as steps by it lower the gradient well (the chord method), also while columns leave and enter: computing
it costs O(m k^2), a step O(m k + k^3 / 3). For the squared loss it is exact at all times, so that only rows of columns
that enter are computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.losses import Loss

_SUFFICIENT_DECREASE = 0.1  # share of the decrease that the gradient promises, for a step to be accepted (Armijo)
_SLOW = 0.1  # of the largest entry of the gradient that is left after a step: above, the Hessian is computed anew
_FLAT = 0.5  # share of the first slope along the line below which a step is accepted where values are only rounding


@dataclass(frozen=True)
class Curvature:
    """The Hessian of the mean loss at some outputs.

    Attributes
    ----------
    matrix : ndarray of shape (n_columns + 1, n_columns + 1)
        By the weights, and by the intercept last.
    weight : ndarray of shape (n_samples,)
        Second derivatives of the mean loss by the outputs.
    """

    matrix: np.ndarray
    weight: np.ndarray

    @classmethod
    def compute(cls, Z: np.ndarray, weight: np.ndarray) -> Curvature:
        """Over all columns: O(m k^2)."""
        k = Z.shape[1]
        matrix = np.empty((k + 1, k + 1))
        weighted = Z * np.sqrt(weight)[:, None]
        matrix[:k, :k] = weighted.T @ weighted
        matrix[k, :k] = matrix[:k, k] = weight @ Z
        matrix[k, k] = weight.sum()
        return cls(matrix, weight)

    def restrict_to(self, columns: np.ndarray) -> Curvature:
        """Over some of the columns, given as a mask or places."""
        places = np.append(np.arange(len(self.matrix) - 1)[columns], len(self.matrix) - 1)
        return replace(self, matrix=self.matrix[np.ix_(places, places)])

    def append(self, Z: np.ndarray, n_new: int) -> Curvature:
        """Over all columns of ``Z``, of which the last ``n_new`` are new: O(m k n_new)."""
        k = Z.shape[1]
        old = np.append(np.arange(k - n_new), k)
        weighted = Z[:, k - n_new :] * self.weight[:, None]
        matrix = np.empty((k + 1, k + 1))
        matrix[np.ix_(old, old)] = self.matrix
        matrix[:k, k - n_new : k] = Z.T @ weighted
        matrix[k, k - n_new : k] = weighted.sum(axis=0)
        matrix[k - n_new : k] = matrix[:, k - n_new : k].T
        return replace(self, matrix=matrix)


@dataclass(frozen=True)
class OrthantFit:
    """The minimum over some features.

    Attributes
    ----------
    kept : ndarray of int
        Places of the features whose weights are not zero.
    weights : ndarray of shape (n_kept,)
    intercept : float
    outputs : ndarray of shape (n_samples,)
        ``Z w + b``.
    objective : float
        F, without any count of the weights.
    gradient_norm : float
        Largest entry of the gradient of F, by weights and intercept.
    converged : bool
    curvature : Curvature or None
        Over the kept features, for the next search; None where no step was made.
    """

    kept: np.ndarray
    weights: np.ndarray
    intercept: float
    outputs: np.ndarray
    objective: float
    gradient_norm: float
    converged: bool
    curvature: Curvature | None = None


def minimize_in_orthant(
    Z: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    weights: np.ndarray,
    intercept: float,
    sign: np.ndarray,
    *,
    alpha: float,
    l2: float,
    tol: float,
    curvature: Curvature | None = None,
    max_iter: int = 1000,
) -> OrthantFit:
    """Minimize F over the columns of ``Z``, from weights that have the given signs or are zero.

    ``curvature`` is the Hessian of the loss at outputs that are not far, to start with; None computes it.

    Cost per step: O(m k + k^3 / 3) for k columns, and O(m k^2) where the Hessian is computed anew; one step more per
    weight that leaves.
    """
    problem = _OrthantProblem(Z, y, loss, sign, alpha, l2)
    kept, w, b, converged = np.arange(weights.size), weights.astype(float), float(intercept), False
    factor, last_norm = None, np.inf
    for _ in range(max_iter):
        f = problem.Z @ w + b
        gradient = problem.gradient(f, w)
        gradient_norm = float(np.abs(gradient).max())
        if converged := gradient_norm <= tol:
            break
        if curvature is None or gradient_norm > _SLOW * last_norm:
            curvature, factor = problem.curvature(f), None
        factor = factor or _factorize(curvature.matrix, l2)
        direction, last_norm = -cho_solve(factor, gradient), gradient_norm
        if problem.leaves_orthant(w, direction) and not problem.is_current(curvature, f):
            curvature = problem.curvature(f)  # whether a weight leaves is not for an old Hessian to decide
            factor = _factorize(curvature.matrix, l2)
            direction = -cho_solve(factor, gradient)
        # Entering weights, still zero, whose direction points out of the orthant leave before any step is made. Not all
        # of them do where the other weights are at their minimum: gradient @ direction < 0 is a sum over entering ones.
        inside = (w != 0) | (problem.sign * direction[:-1] > 0)
        if np.all(inside):
            w, b = problem.step_along(direction, f, w, b, float(gradient @ direction))
            inside = w != 0
        if not np.all(inside):
            kept, w, problem = kept[inside], w[inside], problem.restrict_to(inside)
            curvature, factor, last_norm = curvature.restrict_to(inside), None, np.inf
    return OrthantFit(kept, w, b, f, problem.objective(f, w), gradient_norm, converged, curvature)


def _factorize(hessian: np.ndarray, l2: float) -> tuple[np.ndarray, bool]:
    """Cholesky factor with the penalty; the least ridge that makes the matrix positive definite is added to it."""
    hessian = hessian.copy()
    diagonal = np.diag_indices_from(hessian)
    hessian[diagonal] += np.append(np.full(len(hessian) - 1, 2.0 * l2), 0.0)
    size = hessian[diagonal]
    size = np.maximum(size, 1e-10 * max(float(size.max()), 1e-10))
    ridge = 1e-14
    while True:
        try:
            shifted = hessian.copy()
            shifted[diagonal] += ridge * size
            return cho_factor(shifted, lower=True, overwrite_a=True)
        except LinAlgError:
            ridge *= 100.0


@dataclass(frozen=True)
class _OrthantProblem:
    """F and its derivatives; ``f = Z w + b`` is given wherever it is known already."""

    Z: np.ndarray
    y: np.ndarray
    loss: Loss
    sign: np.ndarray
    alpha: float
    l2: float

    def restrict_to(self, columns: np.ndarray) -> _OrthantProblem:
        return replace(self, Z=self.Z[:, columns], sign=self.sign[columns])

    def objective(self, f: np.ndarray, w: np.ndarray) -> float:
        return float(np.mean(self.loss.value(f, self.y)) + w @ (self.l2 * w + self.alpha * self.sign))

    def penalty_gradient(self, w: np.ndarray) -> np.ndarray:
        return 2.0 * self.l2 * w + self.alpha * self.sign

    def gradient(self, f: np.ndarray, w: np.ndarray) -> np.ndarray:
        """By the weights, and by the intercept last."""
        by_output = self.loss.derivative(f, self.y) / len(self.y)
        return np.append(by_output @ self.Z + self.penalty_gradient(w), by_output.sum())

    def curvature(self, f: np.ndarray) -> Curvature:
        return Curvature.compute(self.Z, self.loss.second_derivative(f, self.y) / len(self.y))

    def is_current(self, curvature: Curvature, f: np.ndarray) -> bool:
        """Whether a Hessian is the one at given outputs."""
        return np.array_equal(curvature.weight, self.loss.second_derivative(f, self.y) / len(self.y))

    def leaves_orthant(self, w: np.ndarray, direction: np.ndarray) -> bool:
        """Whether a full step takes a weight to zero or beyond."""
        return bool(np.any(self.sign * (w + direction[:-1]) <= 0))

    def step_along(
        self, direction: np.ndarray, f: np.ndarray, w: np.ndarray, b: float, slope: float
    ) -> tuple[np.ndarray, float]:
        """Weights and intercept after a line search that ends at the first weight to reach zero, which becomes zero."""
        dw, db = direction[:-1], direction[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.where(self.sign * dw < 0, -w / dw, np.inf)
        longest = min(1.0, float(np.min(crossing, initial=np.inf)))
        length = self.line_search(f, self.Z @ dw + db, w, dw, slope, longest)
        w = w + length * dw
        w[crossing <= length] = 0.0
        return w, b + length * db

    def line_search(
        self, f: np.ndarray, df: np.ndarray, w: np.ndarray, dw: np.ndarray, slope: float, longest: float
    ) -> float:
        """Length of a step, at most ``longest``, that lowers F enough; found by bisection on the sign of the slope."""
        start = self.objective(f, w)
        low, high, t = 0.0, longest, longest
        rounding = OBJECTIVE_ROUNDING * abs(start)
        for _ in range(100):
            with np.errstate(over="ignore", invalid="ignore"):
                f_t, w_t = f + t * df, w + t * dw
                value = self.objective(f_t, w_t)
                slope_t = float(np.mean(self.loss.derivative(f_t, self.y) * df) + dw @ self.penalty_gradient(w_t))
            # close to the minimum values differ by less than their rounding, slopes do not
            is_flat = value <= start + rounding and abs(slope_t) <= _FLAT * abs(slope)
            is_descent = value <= start + _SUFFICIENT_DECREASE * t * slope
            if is_descent or is_flat or (t == longest and slope_t <= 0):
                break
            low, high = (t, high) if slope_t < 0 else (low, t)
            t = 0.5 * (low + high)
        return t
