r"""The posterior of joint classifier and feature optimization, its gradients and the steps that raise it.

With rows x in units of one, factors :math:`\theta \ge 0` and a kernel that is a function of a sum over columns,

.. math:: k_\theta(x, x') = \varphi\Bigl(\sum_j \theta_j u_j(x, x')\Bigr), \qquad
          f_t(x) = \sum_k \alpha_{kt}\, k_\theta(x, x_k) + b_t,

where :math:`u_j = x_j x_j'` (linear and polynomial kernels) or :math:`(x_j - x_j')^2` (rbf), the negative logarithm of
the posterior is, up to a constant,

.. math:: J(\alpha, b, \theta) = \sum_{i,t} c_i L(f_t(x_i), y_{it}) + \gamma_1 \sum_{k,t} |\alpha_{kt}|
          + \gamma_2 \sum_g \theta_g .

It is stationary where, with :math:`q_{it} = c_i L'(f_t(x_i), y_{it})`,

.. math:: -\partial_{\alpha_{kt}} = -(K^\top q)_{kt} \in \gamma_1 \partial |\alpha_{kt}|, \qquad \sum_i q_{it} = 0,
          \qquad \partial_{\theta_g} J = \sum_{i,k} (q \alpha^\top)_{ik}\, \varphi'_{ik}\, u_g(x_i, x_k) + \gamma_2
          \ \begin{cases} = 0 & \theta_g > 0 \\ \ge 0 & \theta_g = 0 \end{cases}.

J is convex in :math:`(\alpha, b)`; for a linear kernel, whose outputs are linear in :math:`\theta`, also in
:math:`(\theta, b)`. A linear kernel gives the same outputs for :math:`(c\,\alpha, \theta / c)`: only the product of the
two penalties matters then, and c is chosen in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.solvers.feature_kernel import check_kernel_is_finite
from tamis.kernels.solvers.losses import Loss
from tamis.kernels.solvers.penalized_path import PenalizedPath, best_shift

_ALPHA_TOL = 1e-9  # of the convex problem in alpha
_LARGEST_GTOL = 1e-3  # of L-BFGS-B, in variables of order one
_CORRECTIONS = 20  # pairs of gradients that L-BFGS-B remembers
_FIRST_ENTERING = 50  # factors at zero that may enter at a time, besides as many as are positive


@dataclass(frozen=True)
class Point:
    """A classifier.

    Attributes
    ----------
    theta : ndarray of shape (n_factors,)
    alpha : ndarray of shape (n_samples, n_targets)
    intercept : ndarray of shape (n_targets,)
    """

    theta: np.ndarray
    alpha: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class Posterior:
    r"""J over the factors of some columns.

    Attributes
    ----------
    A : table of shape (n_samples, n_columns)
        Rows in units of one; a sparse one with the linear kernel only.
    means : ndarray of shape (n_columns,)
        What is still to be subtracted from the columns: zero for a dense table.
    owner : ndarray of shape (n_columns,)
        The factor of every column: columns of a group share one.
    Y : ndarray of shape (n_samples, n_targets)
    cost : ndarray of shape (n_samples,)
    loss : Loss
        Negative log-likelihood of an output.
    kernel : {"linear", "rbf", "poly"}
    degree, coef0 : float
    sample_penalty, feature_penalty : float
        :math:`\gamma_1` and :math:`\gamma_2`.
    """

    A: Any
    means: np.ndarray
    owner: np.ndarray
    Y: np.ndarray
    cost: np.ndarray
    loss: Loss
    kernel: str
    degree: float
    coef0: float
    sample_penalty: float
    feature_penalty: float

    @cached_property
    def n_factors(self) -> int:
        """Groups, or columns."""
        return int(self.owner.max(initial=-1)) + 1

    def restrict_to(self, factors: np.ndarray) -> Posterior:
        """The posterior with all other factors at zero; ``factors`` are places, ascending."""
        place = np.full(self.n_factors, -1)
        place[factors] = np.arange(factors.size)
        columns = np.flatnonzero(place[self.owner] >= 0)
        return replace(self, A=self.A[:, columns], means=self.means[columns], owner=place[self.owner[columns]])

    # outputs

    def kernel_sums(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """``sum_j theta_j u_j`` between all rows and some of them."""
        scale = theta[self.owner]
        if self.kernel == "rbf":
            Z = self.A * np.sqrt(scale)
            norm2 = np.einsum("ij,ij->i", Z, Z)
            sums = np.maximum(norm2[:, None] + norm2[rows] - 2.0 * (Z @ Z[rows].T), 0.0)
            sums[rows, np.arange(rows.size)] = 0.0
            return sums
        if not sparse.issparse(self.A):
            return (self.A * scale) @ self.A[rows].T
        shift = np.asarray(self.A @ (scale * self.means))  # of columns that are centered here, without being formed
        product = (self.A @ sparse.diags_array(scale) @ self.A[rows].T).toarray()
        return product - shift[:, None] - shift[rows] + float(self.means @ (scale * self.means))

    def kernel_values(self, sums: np.ndarray) -> np.ndarray:
        r""":math:`\varphi`."""
        if self.kernel == "rbf":
            return np.exp(-sums)
        return sums if self.kernel == "linear" else (sums + self.coef0) ** self.degree

    def kernel_slopes(self, sums: np.ndarray) -> np.ndarray:
        r""":math:`\varphi'`."""
        if self.kernel == "rbf":
            return -np.exp(-sums)
        return np.ones_like(sums) if self.kernel == "linear" else self.degree * (sums + self.coef0) ** (self.degree - 1)

    def projections(self, V: np.ndarray) -> np.ndarray:
        """``A' V`` of centered columns."""
        return np.asarray(self.A.T @ V) - self.means[:, None] * V.sum(axis=0)

    def coefficients(self, point: Point) -> np.ndarray:
        """Weights of the columns with a linear kernel, of shape (n_columns, n_targets)."""
        return point.theta[self.owner][:, None] * self.projections(point.alpha)

    def by_factor(self, values: np.ndarray) -> np.ndarray:
        """Sums over the columns of every factor."""
        return np.bincount(self.owner, weights=values, minlength=self.n_factors)

    def value(self, point: Point) -> float:
        """J."""
        return self.derivatives(point)[0]

    def derivatives(self, point: Point) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """J, and the gradients of its first and last term by theta, of the first by alpha's rows in use, by b.

        The gradient by alpha is for the rows that have any weight only, of shape (n_used, n_targets).
        """
        rows = np.flatnonzero(np.any(point.alpha != 0, axis=1))
        alpha = point.alpha[rows]
        if self.kernel == "linear":
            v = self.projections(point.alpha)
            w = point.theta[self.owner][:, None] * v
            f = np.asarray(self.A @ w) - self.means @ w + point.intercept
        else:
            sums = self.kernel_sums(point.theta, rows)
            K = self.kernel_values(sums)
            f = K @ alpha + point.intercept
        q = self.cost[:, None] * self.loss.derivative(f, self.Y)
        penalty = self.sample_penalty * np.abs(alpha).sum() + self.feature_penalty * point.theta.sum()
        value = float(self.cost @ self.loss.value(f, self.Y).sum(axis=1) + penalty)
        if self.kernel == "linear":
            u = self.projections(q)
            by_column = np.einsum("jt,jt->j", v, u)
            weighted = point.theta[self.owner][:, None] * u
            by_alpha = np.asarray(self.A[rows] @ weighted) - self.means @ weighted
        else:
            M = (q @ alpha.T) * self.kernel_slopes(sums)
            by_column, by_alpha = self._sum_of_terms(M, rows), K.T @ q
        return value, self.by_factor(by_column) + self.feature_penalty, by_alpha, q.sum(axis=0)

    def _sum_of_terms(self, M: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """``sum_ik M_ik u_j(x_i, x_k)`` for all columns j at once."""
        A, used = self.A, self.A[rows]
        products = np.einsum("ij,ij->j", A, M @ used)
        if self.kernel != "rbf":
            return products
        return M.sum(axis=1) @ (A * A) + M.sum(axis=0) @ (used * used) - 2.0 * products

    def output_slopes(self, point: Point) -> np.ndarray:
        r"""Standard deviation over the rows, as they are weighted, of :math:`\partial f / \partial\theta_g`.

        Not the mean square, for the intercept makes up for a constant. Times :math:`\theta_g` it is how far a feature
        moves the outputs: with a linear kernel the absolute weight of a column in units of one.
        """
        share = self.cost / self.cost.sum()
        rows = np.flatnonzero(np.any(point.alpha != 0, axis=1))
        squares = np.zeros(self.owner.size)
        if self.kernel == "linear":
            A2 = self.A.multiply(self.A) if sparse.issparse(self.A) else self.A * self.A
            variance = np.asarray(share @ A2) - np.asarray(share @ self.A) ** 2
            squares = np.sum(self.projections(point.alpha) ** 2, axis=1) * np.maximum(variance, 0.0)
        else:
            slopes, used = self.kernel_slopes(self.kernel_sums(point.theta, rows)), self.A[rows]
            for alpha in point.alpha[rows].T:
                M = slopes * alpha
                change = self.A * (M @ used)
                if self.kernel == "rbf":
                    change = self.A**2 * M.sum(axis=1)[:, None] + M @ used**2 - 2.0 * change
                squares += share @ (change - share @ change) ** 2
        return np.sqrt(self.by_factor(squares))


# steps


def best_alpha(posterior: Posterior, theta: np.ndarray) -> tuple[Point, float]:
    """The minimum in alpha and b, and the largest sample penalty that leaves any alpha.

    This is where EM over the latent variables of a probit model ends: a convex problem, by proximal Newton steps.
    """
    n_rows = len(posterior.Y)
    with np.errstate(over="ignore", invalid="ignore"):
        K = posterior.kernel_values(posterior.kernel_sums(theta, np.arange(n_rows)))
    check_kernel_is_finite(K, posterior.kernel, float(theta.max(initial=0.0)), posterior.degree, posterior.coef0)
    columns = as_columns(K, posterior.cost)
    scale = (columns.norm2 > 0).astype(float)
    total = float(posterior.cost.sum())
    alpha, intercept = np.zeros(posterior.Y.shape), np.zeros(posterior.Y.shape[1])
    largest = 0.0
    for t, y in enumerate(np.ascontiguousarray(posterior.Y.T)):
        path = PenalizedPath(columns, y, posterior.loss, scale, tol=_ALPHA_TOL)
        largest = max(largest, total * path.alpha_max)
        if total * path.alpha_max <= posterior.sample_penalty:
            intercept[t] = best_shift(posterior.loss, posterior.cost / total, y, np.zeros(n_rows))
            continue
        found = path.solve(posterior.sample_penalty / total)
        alpha[found.active, t] = found.weights
        intercept[t] = found.intercept - float(columns.means(found.active) @ found.weights)
    return Point(theta, alpha, intercept), largest


def raise_factors(posterior: Posterior, point: Point, *, max_iter: int, with_alpha: bool) -> Point:
    """L-BFGS-B in theta >= 0 and b, and in alpha within its orthant if asked for; never worse than ``point``.

    Only over factors that are positive, or whose gradient at zero points inwards.
    """
    start, by_theta, _, _ = posterior.derivatives(point)
    factors = _free_factors(point.theta, by_theta)
    part, rows = posterior.restrict_to(factors), np.flatnonzero(np.any(point.alpha != 0, axis=1))
    entries = np.nonzero(point.alpha[rows]) if with_alpha else (np.empty(0, dtype=int), np.empty(0, dtype=int))
    signs = np.sign(point.alpha[rows][entries])
    unit = _size(point.theta[factors])  # all variables are of order one
    alpha_unit = _size(np.abs(point.alpha[rows][entries]))
    n_theta, n_alpha = factors.size, signs.size

    def unpack(z: np.ndarray) -> Point:
        alpha = point.alpha.copy()
        alpha[rows[entries[0]], entries[1]] = alpha_unit * signs * z[n_theta : n_theta + n_alpha]
        return Point(unit * z[:n_theta], alpha, z[n_theta + n_alpha :])

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        moved = unpack(z)
        value, by_theta, by_alpha, by_intercept = part.derivatives(moved)
        in_use = np.zeros_like(moved.alpha)
        in_use[np.any(moved.alpha != 0, axis=1)] = by_alpha
        along = signs * in_use[rows[entries[0]], entries[1]] + part.sample_penalty
        return value, np.concatenate([unit * by_theta, alpha_unit * along, by_intercept])

    z = np.concatenate([point.theta[factors] / unit, np.abs(point.alpha[rows][entries]) / alpha_unit, point.intercept])
    bounds = [(0.0, None)] * (n_theta + n_alpha) + [(None, None)] * point.intercept.size
    # a projected gradient is at most as long as the way to a bound, which is about one: larger tolerances end at once
    gtol = min(1e-9 * max(abs(start), 1.0), _LARGEST_GTOL)
    options = {"maxiter": max_iter, "maxcor": _CORRECTIONS, "ftol": 1e-15, "gtol": gtol}
    with np.errstate(over="ignore", invalid="ignore"):  # of a step that is too long, and is not taken
        found = minimize(objective, z, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    if not found.fun <= start:
        return point
    moved = unpack(found.x)
    theta = np.zeros_like(point.theta)
    theta[factors] = moved.theta
    return replace(moved, theta=theta)


def _free_factors(theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Those that are positive, and the ones at zero with the most negative gradients."""
    positive, inwards = np.flatnonzero(theta > 0), np.flatnonzero((theta == 0) & (gradient < 0))
    most = _FIRST_ENTERING + positive.size
    if inwards.size > most:
        inwards = inwards[np.argsort(gradient[inwards], kind="stable")[:most]]
    return np.union1d(positive, inwards)


def _size(values: np.ndarray) -> float:
    """Mean of the positive ones."""
    return float(values[values > 0].mean()) if np.any(values > 0) else 1.0


def balanced(posterior: Posterior, point: Point) -> Point:
    r"""The pair :math:`(c^d \alpha, \theta / c)`, which has the same outputs, of the least penalty.

    Kernels that are homogeneous of degree d in theta only: linear ones, and polynomials without a constant.
    """
    of_alpha = posterior.sample_penalty * float(np.abs(point.alpha).sum())
    of_theta = posterior.feature_penalty * float(point.theta.sum())
    is_homogeneous = posterior.kernel == "linear" or (posterior.kernel == "poly" and posterior.coef0 == 0.0)
    if not is_homogeneous or of_alpha == 0.0 or of_theta == 0.0:
        return point
    degree = 1.0 if posterior.kernel == "linear" else posterior.degree
    c = (of_theta / (degree * of_alpha)) ** (1.0 / (degree + 1.0))
    return replace(point, theta=point.theta / c, alpha=point.alpha * c**degree)


def contributions(posterior: Posterior, point: Point) -> np.ndarray:
    """How far every feature moves the outputs; those at zero follow, by how far they would."""
    slopes = posterior.output_slopes(point)
    moves = point.theta * slopes
    smallest = float(moves[moves > 0].min(initial=1.0))
    return np.where(moves > 0, moves, 1e-3 * smallest * slopes / max(float(slopes.max()), np.finfo(float).tiny))


def residuals(posterior: Posterior, point: Point) -> tuple[float, float]:
    """Projected gradient by theta over the feature penalty, and KKT residual of alpha over the sample penalty.

    Both over all factors and rows, also those at zero.
    """
    _, by_theta, _, _ = posterior.derivatives(point)
    projected = np.where(point.theta > 0, np.abs(by_theta), np.maximum(-by_theta, 0.0))
    rows = np.arange(len(posterior.Y))
    K = posterior.kernel_values(posterior.kernel_sums(point.theta, rows))
    f = K @ point.alpha + point.intercept
    q = posterior.cost[:, None] * posterior.loss.derivative(f, posterior.Y)
    slope, bound = -(K.T @ q), posterior.sample_penalty
    violation = np.where(
        point.alpha != 0, np.abs(slope - bound * np.sign(point.alpha)), np.maximum(np.abs(slope) - bound, 0.0)
    )
    return float(projected.max(initial=0.0)) / posterior.feature_penalty, float(violation.max(initial=0.0)) / bound
