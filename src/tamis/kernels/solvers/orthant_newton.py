r"""Smooth losses of a linear output, and their minimum with an l1 term where no weight changes its sign.

For given signs :math:`s` the objective

.. math:: \frac{1}{m} \sum_i L(z_i^\top w + b, y_i) + l_2 \|w\|_2^2 + \alpha s^\top w, \qquad s_j w_j \ge 0,

is smooth. Newton's method walks down to its minimum; a weight that would change its sign stops at zero and leaves. What
is left has no zero among its weights, and minimizes the l1 objective over the features it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit, xlogy

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Loss:
    """A convex loss L(f, y), sample by sample.

    Attributes
    ----------
    value, slope, curvature : callable
        L and its first two derivatives (the second one from one side, where there is a kink) by f.
    conjugate : callable
        ``sup_f u f - L(f, y)`` of slopes u that the loss can have, and of those brought nearer to zero.
    """

    value: Function
    slope: Function
    curvature: Function
    conjugate: Function


def _entropy(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    share = np.clip(-u * y, 0.0, 1.0)
    return xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)


LOSSES = {
    "logistic": Loss(
        lambda f, y: np.logaddexp(0.0, -y * f),
        lambda f, y: -y * expit(-y * f),
        lambda f, y: expit(f) * expit(-f),
        _entropy,
    ),
    "squared": Loss(
        lambda f, y: 0.5 * (f - y) ** 2,
        lambda f, y: f - y,
        lambda f, y: np.ones_like(f),
        lambda u, y: 0.5 * u**2 + u * y,
    ),
    "squared_hinge": Loss(
        lambda f, y: np.maximum(0.0, 1.0 - y * f) ** 2,
        lambda f, y: -2.0 * y * np.maximum(0.0, 1.0 - y * f),
        lambda f, y: 2.0 * (y * f < 1.0),
        lambda u, y: 0.25 * u**2 + u * y,
    ),
}


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
        Without any count of the weights.
    residual : float
        Largest entry of the gradient, by weights and intercept.
    converged : bool
    """

    kept: np.ndarray
    weights: np.ndarray
    intercept: float
    outputs: np.ndarray
    objective: float
    residual: float
    converged: bool


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
    max_iter: int = 200,
) -> OrthantFit:
    """Minimize over the columns of ``Z``, from weights that have the given signs or are zero.

    Cost per Newton step: O(m k^2 + k^3) for k columns; mostly two to five steps, and one per weight that leaves.
    """
    n_samples = len(y)
    kept, w, b, converged = np.arange(weights.size), weights.astype(float), float(intercept), False
    for _ in range(max_iter):
        f = Z @ w + b
        slope = loss.slope(f, y) / n_samples
        gradient = np.append(slope @ Z + 2.0 * l2 * w + alpha * sign, slope.sum())
        residual = float(np.abs(gradient).max())
        if converged := residual <= tol:
            break
        step = _newton_step(Z, loss.curvature(f, y) / n_samples, l2, gradient)
        stays = (w != 0) | (sign * step[:-1] > 0)  # of the new ones, at least one goes where its sign says
        if np.all(stays):
            with np.errstate(divide="ignore", invalid="ignore"):
                crossing = np.where(sign * step[:-1] < 0, -w / step[:-1], np.inf)
            reach = float(np.min(crossing, initial=np.inf))
            line = _Line(loss, f, y, Z @ step[:-1] + step[-1], w, step[:-1], sign, alpha, l2)
            length = line.search(float(gradient @ step), min(1.0, reach))
            w, b = w + length * step[:-1], b + length * step[-1]
            w[crossing <= length] = 0.0
            stays = w != 0
        if not np.all(stays):
            kept, w, sign, Z = kept[stays], w[stays], sign[stays], Z[:, stays]
    objective = float(np.mean(loss.value(f, y)) + l2 * (w @ w) + alpha * np.abs(w).sum())
    return OrthantFit(kept, w, b, f, objective, residual, converged)


def _newton_step(Z: np.ndarray, curvature: np.ndarray, l2: float, gradient: np.ndarray) -> np.ndarray:
    """Solve with the Hessian by weights and intercept; the least ridge that makes it definite is added."""
    A = np.column_stack([Z, np.ones(len(Z))])
    hessian = (A * curvature[:, None]).T @ A
    diagonal = np.diag_indices_from(hessian)
    hessian[diagonal] += np.append(np.full(Z.shape[1], 2.0 * l2), 0.0)
    size = hessian[diagonal]
    size = np.maximum(size, 1e-10 * max(float(size.max()), 1e-10))
    ridge = 1e-14
    while True:
        try:
            shifted = hessian.copy()
            shifted[diagonal] += ridge * size
            return -cho_solve(cho_factor(shifted, lower=True, overwrite_a=True), gradient)
        except LinAlgError:
            ridge *= 100.0


@dataclass(frozen=True)
class _Line:
    """The objective along a direction, within an orthant."""

    loss: Loss
    f: np.ndarray
    y: np.ndarray
    df: np.ndarray
    w: np.ndarray
    dw: np.ndarray
    sign: np.ndarray
    alpha: float
    l2: float

    def value(self, t: float) -> float:
        w = self.w + t * self.dw
        return float(
            np.mean(self.loss.value(self.f + t * self.df, self.y)) + w @ (self.l2 * w + self.alpha * self.sign)
        )

    def slope(self, t: float) -> float:
        pull = 2.0 * self.l2 * (self.w + t * self.dw) + self.alpha * self.sign
        return float(np.mean(self.loss.slope(self.f + t * self.df, self.y) * self.df) + self.dw @ pull)

    def search(self, slope: float, longest: float) -> float:
        """A step of at most ``longest`` that lowers the objective enough, halfway to the minimum or better."""
        start, low, high, t = self.value(0.0), 0.0, longest, longest
        rounding = 1e-14 * abs(start)
        for _ in range(100):
            with np.errstate(over="ignore", invalid="ignore"):
                value, there = self.value(t), self.slope(t)
            # close to the minimum values differ by less than their rounding, slopes do not
            is_flat = value <= start + rounding and abs(there) <= 0.5 * abs(slope)
            if value <= start + 0.1 * t * slope or is_flat or (t == longest and there <= 0):
                break
            low, high = (t, high) if there < 0 else (low, t)
            t = 0.5 * (low + high)
        return t
