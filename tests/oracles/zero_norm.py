"""Multiplicative updates of scaling factors, as a loop around scikit-learn's machines on explicitly scaled columns."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.svm import SVC


def train(Z, y, C, loss):
    """Weights and intercept of ``1/2 |w|^2 + C sum_i loss_i`` with a free intercept; C is a number or one per row."""
    costs = np.broadcast_to(np.asarray(C, dtype=float), y.shape)
    if loss == "squared":
        machine = Ridge(alpha=0.5, solver="cholesky").fit(Z, y, sample_weight=costs)
        return np.ravel(machine.coef_), float(machine.intercept_)
    K = Z @ Z.T
    if loss == "squared_hinge":  # a hard margin with 1 / (2 C) added to the diagonal of the kernel
        machine = SVC(kernel="precomputed", C=1e8, tol=1e-10).fit(K + np.diag(0.5 / costs), y)
    else:
        machine = SVC(kernel="precomputed", C=1.0, tol=1e-10).fit(K, y, sample_weight=costs.copy())
    return machine.dual_coef_[0] @ Z[machine.support_], float(machine.intercept_[0])


def scaling_factors(Z, Y, C=1.0, loss="squared_hinge", tol=1e-3, max_iter=100, fewest=0, groups=None):
    """Scaling factors before every round, and after the last; ends before fewer than ``fewest`` columns are left.

    Columns are divided by the root of their number, so that rows have squared norms of about one.
    """
    Z = Z / np.sqrt(Z.shape[1])
    groups = np.arange(Z.shape[1]) if groups is None else groups
    sigma, history = np.ones(Z.shape[1]), []
    for _ in range(max_iter):
        history.append(sigma)
        W = np.array([train(Z * sigma, y, C, loss)[0] for y in Y.T])
        W2 = np.sum(W**2, axis=0)
        size = np.sqrt([np.mean(W2[groups == g]) for g in groups])
        updated = sigma * size
        updated[updated <= 1e-5 * updated.max()] = 0.0
        updated *= np.sqrt(Z.shape[1] / np.sum(updated**2))
        if len(np.unique(groups[updated > 0])) < fewest:
            break
        change = np.abs(updated - sigma).max() / updated.max()
        sigma = updated
        if change <= tol:
            break
    return [*history, sigma]
