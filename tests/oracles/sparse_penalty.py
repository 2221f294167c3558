"""Losses with sparsity penalties, written out, and minimized without any thought of speed.

A penalty is ``alpha * sum over groups g of ((1 - tau) * weight_g * norm(w_g) + tau * l1(w_g)) + l2 / 2 * w'w``, and
weights are within ``bound``. Groups are lists of columns.
"""

import numpy as np
from scipy.optimize import brentq


def single(n_columns):
    """Every column as a group of its own."""
    return [[j] for j in range(n_columns)]


def penalty_value(w, groups, alpha, tau=1.0, weights=None, l2=0.0):
    """The penalty, group by group."""
    weights = np.ones(len(groups)) if weights is None else weights
    total = 0.5 * l2 * np.sum(w**2)
    for group, weight in zip(groups, weights, strict=True):
        total += alpha * (1 - tau) * weight * np.sqrt(np.sum(w[group] ** 2)) + alpha * tau * np.sum(np.abs(w[group]))
    return total


def prox_by_its_dual(v, norm_threshold, l1_threshold, n_iter=20_000):
    """The prox of ``norm_threshold * norm + l1_threshold * l1`` for one group.

    It is ``v - norm_threshold * z - l1_threshold * p`` with z in the unit ball and p in the unit box such that what
    is left is shortest: alternate between the best z and the best p.
    """
    z, p = np.zeros_like(v), np.zeros_like(v)
    for _ in range(n_iter):
        if norm_threshold > 0:
            z = (v - l1_threshold * p) / norm_threshold
            z = z / max(1.0, np.linalg.norm(z))
        if l1_threshold > 0:
            p = np.clip((v - norm_threshold * z) / l1_threshold, -1, 1)
    return v - norm_threshold * z - l1_threshold * p


def prox(v, groups, alpha, step, tau=1.0, weights=None, l2=0.0, bound=np.inf):
    """Textbook form: shrink entries, then groups, then all; the bound last."""
    weights = np.ones(len(groups)) if weights is None else weights
    u = np.zeros_like(v)
    for group, weight in zip(groups, weights, strict=True):
        part = np.array([np.sign(x) * max(0.0, abs(x) - step * alpha * tau) for x in v[group]])
        norm, threshold = np.linalg.norm(part), step * alpha * (1 - tau) * weight
        u[group] = part * (1 - threshold / norm) if norm > threshold else 0.0
    return np.clip(u / (1 + step * l2), -bound, bound)


def dual_norm(q, tau, weight):
    """The t at which the entries of q beyond t tau have the norm t (1 - tau) weight, by root finding."""

    def excess(t):
        return np.linalg.norm(np.maximum(0.0, np.abs(q) - t * tau)) - t * (1 - tau) * weight

    high = np.abs(q).sum() / max(tau, 1e-300) if tau > 0 else 2 * np.linalg.norm(q) / weight
    return brentq(excess, 0.0, max(high, 1e-300), xtol=1e-300, rtol=1e-14) if np.any(q) else 0.0


def loss_values(loss, f, y):
    """Loss of every row."""
    if loss == "squared":
        return 0.5 * (f - y) ** 2
    if loss == "logistic":
        return np.logaddexp(0.0, -y * f)
    return np.maximum(0.0, 1 - y * f) ** 2


def loss_derivatives(loss, f, y):
    """By the output, of every row."""
    if loss == "squared":
        return f - y
    if loss == "logistic":
        return -y / (1 + np.exp(y * f))
    return -2 * y * np.maximum(0.0, 1 - y * f)


def objective(Z, y, w, b, loss, groups, alpha, shares=None, **penalty):
    """Mean loss plus penalty."""
    shares = np.full(len(y), 1 / len(y)) if shares is None else shares
    penalty = {name: value for name, value in penalty.items() if name != "bound"}
    return shares @ loss_values(loss, Z @ w + b, y) + penalty_value(w, groups, alpha, **penalty)


def minimize(Z, y, loss, groups, alpha, n_iter=20_000, **penalty):
    """Proximal gradient steps with momentum, many of them; weights and intercept."""
    n = len(y)
    A = np.column_stack([Z, np.ones(n)])
    steepest = {"squared": 1.0, "logistic": 0.25, "squared_hinge": 2.0}[loss]
    step = 1 / (steepest * np.linalg.eigvalsh(A.T @ A / n)[-1])
    x = ahead = np.zeros(A.shape[1])
    for k in range(n_iter):
        moved = ahead - step * (A.T @ loss_derivatives(loss, A @ ahead, y)) / n
        moved[:-1] = prox(moved[:-1], groups, alpha, step, **penalty)
        ahead = moved + k / (k + 3) * (moved - x)
        if (ahead - moved) @ (moved - x) < 0 or k % 500 == 499:
            ahead = moved
        if k > 100 and np.array_equal(moved, x):
            break
        x = moved
    return x[:-1], x[-1]


def kkt_violation(X, y, coef, intercept, loss, alpha, *, groups=None, tau=1.0, weights=None, l2=0.0, shares=None):
    """Largest violation of the conditions for a minimum, in units of the gradient.

    ``coef`` is in the units of X, the penalty on weights of columns of unit variance; constant ones are left out.
    """
    n, d = X.shape
    shares = np.full(n, 1 / n) if shares is None else shares / np.sum(shares)
    groups = single(d) if groups is None else groups
    weights = np.ones(len(groups)) if weights is None else weights
    mean = shares @ X
    deviation = np.sqrt(shares @ (X - mean) ** 2)
    derivative = shares * loss_derivatives(loss, X @ coef + intercept, y)
    worst = abs(derivative.sum())
    for group, weight in zip(groups, weights, strict=True):
        varying = [j for j in group if deviation[j] > 1e-12 * max(1.0, np.abs(X[:, j]).max())]
        w = coef[varying] * deviation[varying]
        r = -((X[:, varying] - mean[varying]).T @ derivative) / deviation[varying] - l2 * w
        norm = np.linalg.norm(w)
        if norm == 0:
            worst = max(worst, np.linalg.norm(np.maximum(0.0, np.abs(r) - alpha * tau)) - alpha * (1 - tau) * weight)
            continue
        for r_j, w_j in zip(r, w, strict=True):
            if w_j:
                worst = max(worst, abs(r_j - alpha * tau * np.sign(w_j) - alpha * (1 - tau) * weight * w_j / norm))
            else:
                worst = max(worst, abs(r_j) - alpha * tau)
    return worst
