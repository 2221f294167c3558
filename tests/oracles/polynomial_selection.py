"""Pruning of a polynomial by fitting it again without every monomial in turn."""

from itertools import combinations_with_replacement

import numpy as np
from scipy import stats

from tests.oracles import least_squares


def monomials(X, degree):
    """Factors and values of all monomials of standardized columns."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    factors = [f for d in range(1, degree + 1) for f in combinations_with_replacement(range(X.shape[1]), d)]
    return factors, np.column_stack([np.prod(Z[:, f], axis=1) for f in factors])


def scatter(M, Y):
    """Determinant of the residuals' products; the last of several indicators is told by the others."""
    coef, intercept = least_squares.fit(M, Y)
    residual = Y - M @ coef - intercept
    residual = residual[:, : max(1, Y.shape[1] - 1)]
    return np.linalg.det(residual.T @ residual)


def fisher_p_value(small, complete, n_targets, n_removed, dof):
    """Exact test of one target (Fisher), or of two (Wilks), from the two determinants."""
    root = (small / complete) ** (1 / n_targets)
    if n_targets == 1:
        return stats.f.sf((root - 1) * dof / n_removed, n_removed, dof)
    assert n_targets == 2
    return stats.f.sf((root - 1) * (dof - 1) / n_removed, 2 * n_removed, 2 * (dof - 1))


def prune_by_fisher(M, Y, risk):
    """Columns in the order in which they leave."""
    remaining, removed = list(range(M.shape[1])), []
    complete, dof, n_targets = scatter(M, Y), len(M) - 1 - M.shape[1], max(1, Y.shape[1] - 1)
    while remaining:
        costs = [scatter(M[:, [k for k in remaining if k != j]], Y) for j in remaining]
        worst = int(np.argmin(costs))
        if fisher_p_value(costs[worst], complete, n_targets, len(removed) + 1, dof) <= risk:
            break
        removed.append(remaining.pop(worst))
    return removed


def prune_by_leave_one_out(M, Y):
    """Columns in the order in which they leave."""
    remaining, removed = list(range(M.shape[1])), []
    while remaining:
        costs = [least_squares.leave_one_out(M[:, [k for k in remaining if k != j]], Y) for j in remaining]
        worst = int(np.argmin(costs))
        if costs[worst] > least_squares.leave_one_out(M[:, remaining], Y):
            break
        removed.append(remaining.pop(worst))
    return removed
