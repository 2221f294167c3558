"""Gaussian knockoffs from their definition: the joint correlation written out, its inverse, one row at a time.

Candès, Fan, Janson and Lv (2018) for the law; Spector and Janson (2022) for the diagonal that makes each column as hard
to reconstruct from all others and all knockoffs as it can be; Barber and Candès (2015) for the threshold.
"""

import numpy as np
from scipy.optimize import brentq


def joint_correlation(R, s):
    """Of the columns and their knockoffs: ``[[R, R - S], [R - S, R]]`` with ``S = diag(s)``."""
    R, S = np.asarray(R, dtype=float), np.diag(s)
    return np.block([[R, R - S], [R - S, R]])


def remaining_variances(R, s):
    """Of every column given all other columns and all knockoffs, each by its own conditional variance."""
    G = joint_correlation(R, s)
    variances = []
    for j in range(len(R)):
        others = np.arange(len(G)) != j
        b = G[others, j]
        variances.append(G[j, j] - b @ np.linalg.solve(G[np.ix_(others, others)], b))
    return np.array(variances)


def reconstructability(R, s):
    """Sum over columns of one over their remaining variance; infinite where the joint correlation is not definite.

    A column and its knockoff are exchangeable, so that this is half of the trace of the inverse of the joint
    correlation. In the sums and the differences of a column and its knockoff, that is block diagonal with the blocks
    ``2 R - S`` and ``S``, so that it is also ``(Tr (2 R - S)^-1 + Tr S^-1) / 2``.
    """
    G = joint_correlation(R, s)
    lowest = np.linalg.eigvalsh(G)[0]
    return np.trace(np.linalg.inv(G)) / 2 if lowest > 0 else np.inf


def largest_entry(R, s, j):
    """Of the diagonal at place j, the others as they are, before the joint correlation is singular."""
    M = 2 * np.asarray(R, dtype=float) - np.diag(s)
    M[j, j] += s[j]
    others = np.arange(len(M)) != j
    b = M[others, j]
    return M[j, j] - b @ np.linalg.solve(M[np.ix_(others, others)], b)


def slopes(R, s):
    """Derivatives of the reconstructability by the entries of the diagonal, as shares of their two terms.

    The terms ``[(2 R - S)^-2]_jj`` and ``1 / s_j^2`` are equal where it is least.
    """
    inverse = np.linalg.inv(2 * np.asarray(R, dtype=float) - np.diag(s))
    first, second = np.diag(inverse @ inverse), 1 / np.asarray(s) ** 2
    return (first - second) / (first + second)


def least_reconstructable(R, tol=1e-12, max_rounds=2000):
    """Diagonal of least reconstructability: it is convex, so one entry after another is put where its slope is 0."""
    R = np.asarray(R, dtype=float)
    s = np.full(len(R), np.linalg.eigvalsh(R)[0])
    for _ in range(max_rounds):
        before = s.copy()
        for j in range(len(R)):
            s[j] = entry_of_no_slope(R, s, j)
        if np.abs(s - before).max() <= tol:
            break
    return s


def entry_of_no_slope(R, s, j):
    """Entry j of the diagonal that is best beside the other entries."""
    margin = 1e-9 * largest_entry(R, s, j)

    def slope(entry):
        return slopes(R, np.where(np.arange(len(R)) == j, entry, s))[j]

    return brentq(slope, margin, largest_entry(R, s, j) - margin, xtol=1e-15)


def conditional_law(x, R, s):
    """Mean and covariance of the knockoffs of one row, given the row, from the joint law of both."""
    p = len(R)
    G = joint_correlation(R, s)
    mean = G[p:, :p] @ np.linalg.solve(G[:p, :p], x)
    covariance = G[p:, p:] - G[p:, :p] @ np.linalg.solve(G[:p, :p], G[:p, p:])
    return mean, covariance


def draw(X, R, s, rng):
    """Knockoffs of rows of zero mean and correlation R, row by row."""
    return np.array([rng.multivariate_normal(*conditional_law(x, R, s), method="eigh") for x in X])


def knockoff_plus(W, rate):
    """Kept places: statistics at or above the least ``t > 0`` with ``(1 + #{W <= -t}) / max(1, #{W >= t}) <= rate``."""
    for t in sorted(abs(w) for w in W if w != 0):
        if (1 + sum(w <= -t for w in W)) / max(1, sum(w >= t for w in W)) <= rate:
            return {j for j, w in enumerate(W) if w >= t}
    return set()
