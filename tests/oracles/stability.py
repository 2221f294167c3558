"""Stability of selections, one pair and one feature at a time."""

from itertools import combinations

import numpy as np


def pairwise(Z, measure):
    """Mean of a measure of two sets over all pairs."""
    d = len(Z[0])
    values = []
    for a, b in combinations([{f for f in range(d) if row[f]} for row in Z], 2):
        if measure == "jaccard":
            values.append(len(a & b) / len(a | b) if a | b else 1.0)
        elif measure == "hamming":
            values.append(len(a ^ b) / d)
        elif measure == "kuncheva":
            k = len(a)
            values.append((len(a & b) * d - k**2) / (k * (d - k)) if k not in (0, d) else 1.0)
    return sum(values) / len(values)


def nogueira(Z):
    """Definition 4 of Nogueira, Sechidis and Brown (2018), feature by feature."""
    Z = np.asarray(Z, dtype=float)
    M, d = Z.shape
    mean_size = sum(sum(row) for row in Z) / M
    variance = sum(Z[:, f].var(ddof=1) for f in range(d)) / d
    by_chance = mean_size / d * (1 - mean_size / d)
    return 1.0 if by_chance == 0 else 1 - variance / by_chance


def nogueira_variance(Z):
    """Variance of the estimate (Theorem 7 of the same paper), set by set."""
    Z = np.asarray(Z, dtype=float)
    M, d = Z.shape
    stability, p = nogueira(Z), Z.mean(axis=0)
    kbar = sum(p)
    phi = []
    for i in range(M):
        k = sum(Z[i])
        typical = sum(Z[i, f] * p[f] for f in range(d)) / d
        correction = 2 * kbar * k / d**2 - k / d - kbar / d + 1
        phi.append((typical - k * kbar / d**2 + stability / 2 * correction) / (kbar / d * (1 - kbar / d)))
    return 4 / M**2 * sum((each - sum(phi) / M) ** 2 for each in phi)


def jackknife_variance(Z, step=1e-6):
    """The same from first principles, up to a share 1 / M: how the estimate moves as one set counts a little more."""
    Z = np.asarray(Z, dtype=float)
    M = len(Z)

    def estimate(i, step):
        weights = np.full(M, (1 - step) / M)
        weights[i] += step
        p = weights @ Z
        return 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))

    influence = [(estimate(i, step) - estimate(i, -step)) / (2 * step) for i in range(M)]
    return sum(each**2 for each in influence) / M**2
