"""The linear program of an l1-penalized linear machine, whole, as in textbooks; and what certifies an optimum."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def losses(y, f, loss, epsilon):
    """Errors ``xi`` of outputs ``f``."""
    if loss == "hinge":
        return np.maximum(0.0, 1.0 - y * f)
    return np.maximum(0.0, np.abs(y - f) - epsilon)


def objective(X, y, w, b, c, C, loss="hinge", epsilon=0.0):
    """``sum_j c_j |w_j| + sum_i C_i xi_i``; errors of rounding are free where C is infinite."""
    xi = losses(y, X @ w + b, loss, epsilon)
    costs = np.broadcast_to(C, y.shape)
    return float(np.sum(c * np.abs(w)) + np.sum(np.where(np.isinf(costs) & (xi < 1e-8), 0.0, costs) * xi))


def dual_objective(y, beta, loss="hinge", epsilon=0.0):
    """What bounds every objective from below where ``beta`` is feasible."""
    return float(y @ beta) if loss == "hinge" else float(y @ beta - epsilon * np.sum(np.abs(beta)))


def infeasibility(X, y, beta, c, C, loss="hinge"):
    """Largest violation of ``|X'beta| <= c``, ``sum(beta) = 0`` and the box of ``beta``."""
    box = [np.max(np.abs(beta) - C)]
    if loss == "hinge":
        box.append(np.max(-y * beta))
    return float(max(np.max(np.abs(X.T @ beta) - c), abs(beta.sum()), *box))


def solve(X, y, c, C, loss="hinge", epsilon=0.0):
    """Weights, intercept and minimum over ``w = u - v``; None where infinite costs leave no feasible point."""
    n, d = X.shape
    c, C = np.broadcast_to(c, d), np.broadcast_to(C, n)
    A = np.hstack([X, -X, np.ones((n, 1))])
    if loss == "hinge":
        rows = [np.hstack([-y[:, None] * A, -np.eye(n)])]
        right = [-np.ones(n)]
    else:
        rows = [np.hstack([sign * A, -np.eye(n)]) for sign in (1.0, -1.0)]
        right = [y + epsilon, epsilon - y]
    free_error = np.isfinite(C)
    cost = np.concatenate([c, c, [0.0], np.where(free_error, C, 0.0)])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None if free else 0) for free in free_error]
    result = linprog(cost, np.vstack(rows), np.concatenate(right), bounds=bounds, method="highs")
    if result.status == 2:
        return None
    assert result.status == 0, result.message
    return result.x[:d] - result.x[d : 2 * d], result.x[2 * d], result.fun


def max_penalty(X, y, C, loss="hinge", epsilon=0.0):
    """``min max_j |X'beta|_j`` over all multipliers that are optimal at w = 0: a program in (beta+, beta-, t)."""
    n, d = X.shape
    unit = np.max(C)  # linprog has absolute tolerances
    C = np.broadcast_to(C / unit, n)
    _, _, minimum = solve(np.zeros((n, 1)), y, 1.0, C, loss, epsilon)
    gain = np.concatenate([y, -y]) - (0.0 if loss == "hinge" else epsilon)
    upper = [np.where(y > 0, C, 0.0), np.where(y < 0, C, 0.0)] if loss == "hinge" else [C, C]
    X2, ones = np.vstack([X, -X]), np.ones((d, 1))
    result = linprog(
        np.append(np.zeros(2 * n), 1.0),
        np.vstack([np.hstack([X2.T, -ones]), np.hstack([-X2.T, -ones]), np.append(-gain, 0.0)]),
        np.append(np.zeros(2 * d), -minimum * (1 - 1e-12)),
        np.append(np.repeat([1.0, -1.0], n), 0.0)[None, :],
        [0.0],
        bounds=[(0, u) for u in np.concatenate(upper)] + [(0, None)],
        method="highs",
    )
    assert result.status == 0, result.message
    return unit * result.fun
