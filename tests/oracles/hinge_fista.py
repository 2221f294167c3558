"""The paper's solver: FISTA (Beck and Teboulle 2009), here with restart, on all columns at once."""

from __future__ import annotations

import numpy as np


def objective(Z, Y, W, b, C, width):
    """Eq. (2) of Flamary et al., summed over targets, with one norm per group over all targets."""
    hinge = np.maximum(0.0, 1.0 - Y * (Z @ W + b))
    norms = [np.linalg.norm(W[g : g + width]) for g in range(0, len(W), width)]
    return C / (2 * len(Y)) * np.sum(hinge**2) + np.sum(norms)


def shrink(W, width, amount):
    """Proximal operator of the group norms."""
    W = W.copy()
    for g in range(0, len(W), width):
        size = np.linalg.norm(W[g : g + width])
        W[g : g + width] *= max(0.0, 1.0 - amount / size) if size > 0 else 0.0
    return W


def solve_by_fista(Z, Y, C, width=1, max_iter=100_000, tol=1e-12):
    """Weights and intercepts at which a step of the proximal gradient moves nothing by more than ``tol``."""
    n = len(Y)
    step = n / (C * np.linalg.norm(np.column_stack([Z, np.ones(n)]), 2) ** 2)
    W, b = np.zeros((Z.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    V, c, t = W, b, 1.0
    for _ in range(max_iter):
        pull = Y * np.maximum(0.0, 1.0 - Y * (Z @ V + c))
        W_new = shrink(V + step * C / n * Z.T @ pull, width, step)
        b_new = c + step * C / n * pull.sum(axis=0)
        # momentum that points uphill is dropped (O'Donoghue and Candes)
        uphill = np.vdot(V - W_new, W_new - W) + np.vdot(c - b_new, b_new - b) > 0
        t_new = 1.0 if uphill else 0.5 + np.sqrt(0.25 + t * t)
        ahead = 0.0 if uphill else (t - 1.0) / t_new
        moved = max(np.abs(W_new - W).max(initial=0.0), np.abs(b_new - b).max())
        V, c = W_new + ahead * (W_new - W), b_new + ahead * (b_new - b)
        W, b, t = W_new, b_new, t_new
        if moved <= tol and not uphill:
            break
    return W, b
