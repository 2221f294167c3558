"""Scaling factors of given p-norm, as a loop around scikit-learn's machines, and linear programs of the margin."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from tests.oracles.zero_norm import train


def scaling_factors(Z, Y, p, C, loss, tol=1e-3, max_iter=100, groups=None):
    """Factors with ``sum sigma^p = 1`` before every round, and after the last; and the objective of every round."""
    groups = np.arange(Z.shape[1]) if groups is None else groups
    sigma, history, objectives = np.full(Z.shape[1], Z.shape[1] ** (-1.0 / p)), [], []
    for _ in range(max_iter):
        history.append(sigma)
        machines = [train(Z * sigma, y, C, loss) for y in Y.T]
        values = [objective(w * sigma, b, Z, y, sigma, C, loss) for (w, b), y in zip(machines, Y.T, strict=True)]
        objectives.append(sum(values))
        W2 = np.sum([(w * sigma) ** 2 for w, _ in machines], axis=0)
        size = np.sqrt([np.mean(W2[groups == g]) for g in groups])
        updated = size ** (2.0 / (2.0 + p))
        updated[updated <= 1e-5 * updated.max()] = 0.0
        updated /= np.sum(updated**p) ** (1.0 / p)
        change = np.abs(updated - sigma).max() / updated.max()
        sigma = updated
        if change <= tol:
            break
    return [*history, sigma], objectives


def objective(w, b, Z, y, sigma, C, loss):
    """``1/2 sum_j w_j^2 / sigma_j^2 + C sum_i loss_i`` of weights of the columns as they are."""
    left = sigma > 0
    return 0.5 * np.sum((w[left] / sigma[left]) ** 2) + C * np.sum(losses(Z @ w + b, y, loss))


def losses(outputs, y, loss):
    """Of every row."""
    if loss == "squared":
        return (y - outputs) ** 2
    errors = np.maximum(0.0, 1.0 - y * outputs)
    return errors if loss == "hinge" else errors**2


def margin_program(Z, y, C=np.inf):
    """The printed dual of (19): ``max sum_k alpha_k`` with ``0 <= alpha <= C, alpha' y = 0, |Z' (alpha y)| <= 1``.

    Returns the optimum, alpha, and the sums of the multipliers of the two constraints of every column.
    """
    A = (Z * y[:, None]).T
    upper = None if np.isinf(C) else C
    found = linprog(
        -np.ones(len(y)),
        A_ub=np.vstack([A, -A]),
        b_ub=np.ones(2 * len(A)),
        A_eq=y[None, :],
        b_eq=[0.0],
        bounds=[(0.0, upper)] * len(y),
        method="highs",
    )
    assert found.status == 0
    multipliers = -found.ineqlin.marginals
    return -found.fun, found.x, multipliers[: len(A)] + multipliers[len(A) :]
