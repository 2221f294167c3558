"""The paper's solver: FISTA (Beck and Teboulle 2009), here with restart, on all columns at once; and proofs of an end.

A point is at the minimum if it meets the conditions of Eq. (3), and a feasible point of the dual bounds how far above
it can be. Both are written here as the paper has them, one group after the other.
"""

from __future__ import annotations

import numpy as np


def objective(Z, Y, W, b, C, width):
    """Eq. (2) of Flamary et al., summed over targets, with one norm per group over all targets."""
    hinge = np.maximum(0.0, 1.0 - Y * (Z @ W + b))
    norms = [np.linalg.norm(W[g : g + width]) for g in range(0, len(W), width)]
    return C / (2 * len(Y)) * np.sum(hinge**2) + np.sum(norms)


def negative_gradients(Z, Y, W, b, C, width):
    """``r`` of Eq. (3), one block of rows per group, and what is its like for the intercepts."""
    signed_hinge = C / len(Y) * Y * np.maximum(0.0, 1.0 - Y * (Z @ W + b))
    return (Z.T @ signed_hinge).reshape(-1, width, Y.shape[1]), signed_hinge.sum(axis=0)


def violation(Z, Y, W, b, C, width):
    """Largest violation of the conditions of Eq. (3), and of the one for a free intercept."""
    gradients, free = negative_gradients(Z, Y, W, b, C, width)
    worst = float(np.abs(free).max())
    for r, w in zip(gradients, W.reshape(-1, width, Y.shape[1]), strict=True):
        size = np.linalg.norm(w)
        worst = max(worst, np.linalg.norm(r - w / size) if size > 0 else np.linalg.norm(r) - 1.0)
    return worst


def duality_gap(Z, Y, W, b, C, width):
    """How much the objective can be above its minimum, by the hinges shrunk until they are feasible for the dual.

    The dual is to maximize ``sum(a) - n / (2 C) sum(a**2)`` over ``a >= 0`` with ``sum_i a_i y_i = 0`` and a norm of at
    most one of every ``sum_i a_i y_i phi_g(x_i)``. The sum over y must vanish already.
    """
    gradients, _ = negative_gradients(Z, Y, W, b, C, width)
    largest = max((np.linalg.norm(r) for r in gradients), default=0.0)
    a = C / len(Y) * np.maximum(0.0, 1.0 - Y * (Z @ W + b)) / max(1.0, largest)
    return objective(Z, Y, W, b, C, width) - (a.sum() - len(Y) / (2 * C) * np.sum(a**2))


def shrink(W, width, amount):
    """Proximal operator of the group norms."""
    groups = W.reshape(len(W) // width, -1)
    size = np.linalg.norm(groups, axis=1, keepdims=True)
    return (groups * np.maximum(0.0, 1.0 - amount / np.maximum(size, 1e-300))).reshape(W.shape)


def solve_by_fista(Z, Y, C, width=1, max_iter=100_000, tol=1e-12):
    """Weights and intercepts at which a step of the proximal gradient moves nothing by more than ``tol``."""
    n = len(Y)
    step = n / (C * np.linalg.norm(np.column_stack([Z, np.ones(n)]), 2) ** 2)
    W, b = np.zeros((Z.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    V, c, t = W, b, 1.0
    for _ in range(max_iter):
        signed_hinge = Y * np.maximum(0.0, 1.0 - Y * (Z @ V + c))
        W_new = shrink(V + step * C / n * Z.T @ signed_hinge, width, step)
        b_new = c + step * C / n * signed_hinge.sum(axis=0)
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


def quadratic_objective(G, C, U, penalty, width):
    """``sum_k u_k' G_k u_k / 2 - c_k' u_k`` with a norm per group of rows."""
    smooth = sum(0.5 * u @ Gk @ u - c @ u for Gk, c, u in zip(G, C.T, U.T, strict=True))
    return smooth + penalty * sum(np.linalg.norm(U[g : g + width]) for g in range(0, len(U), width))


def solve_quadratic(G, C, penalty, width, max_iter=50_000, tol=1e-13):
    """Minimize :func:`quadratic_objective` by the accelerated proximal gradient, with restart."""
    step = 1.0 / max(max(np.linalg.eigvalsh(Gk)[-1] for Gk in G), 1e-300)
    U = V = np.zeros_like(C)
    t = 1.0
    for _ in range(max_iter):
        gradient = np.column_stack([Gk @ v - c for Gk, c, v in zip(G, C.T, V.T, strict=True)])
        new = shrink(V - step * gradient, width, step * penalty)
        uphill = np.vdot(V - new, new - U) > 0
        t_new = 1.0 if uphill else 0.5 + np.sqrt(0.25 + t * t)
        moved = np.abs(new - U).max()
        V = new if uphill else new + (t - 1.0) / t_new * (new - U)
        U, t = new, t_new
        if moved <= tol * max(1.0, np.abs(U).max()) and not uphill:
            break
    return U
