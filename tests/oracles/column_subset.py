"""Columns that stand for all columns, the slow way: full matrices, a least-squares fit per candidate and step."""

import numpy as np

from tests.oracles.gram_schmidt import REDUNDANT, TIE, first_largest, residual


def standardized(X, standardize=True):
    """Centered columns, of unit variance if asked for; constant ones are zero. Squared norms are n times variances."""
    X = np.asarray(X, dtype=float)
    Z = X - X.mean(axis=0)
    Z[:, np.abs(Z).max(axis=0) <= 1e-12 * np.abs(X).max(axis=0)] = 0.0
    spread = Z.std(axis=0)
    return Z / np.where(spread > 0, spread, 1.0) if standardize else Z


def reconstruction(X, standardize=True, n_steps=None):
    """At each step fit all columns on every candidate subset; keep the one that leaves the least.

    Returns the order, and the share of the total variance that each step explains.
    """
    Z = standardized(X, standardize)
    size = np.sum(Z**2, axis=0)
    order, shares = [], []

    def unexplained(features):
        return np.sum(residual(Z[:, features], Z) ** 2)

    while len(order) < (Z.shape[1] if n_steps is None else n_steps):
        before = unexplained(order)
        left = np.sum(residual(Z[:, order], Z) ** 2, axis=0)
        useful = [j for j in range(Z.shape[1]) if size[j] > 0 and left[j] > REDUNDANT * size[j] and j not in order]
        if not useful:
            break
        gains = [before - unexplained([*order, j]) for j in useful]
        best = first_largest(gains)
        order.append(useful[best])
        shares.append(gains[best] / size.sum())
    return order, np.array(shares)


def squared_correlations(X):
    """All pairs; 0 where a column is constant."""
    Z = standardized(X)
    return (Z.T @ Z / len(Z)) ** 2


def medoids(X, standardize=True, n_steps=None):
    """Plain greedy search on the matrix of all pairs; returns the order and the share of the coverage per step.

    Of tied columns, the one that explains the most on its own is chosen, then the first.
    """
    weight = standardized(X, standardize).var(axis=0)
    worth = squared_correlations(X) * weight  # worth[s, j]: variance of j that s explains
    cover = np.zeros(len(worth))
    order, shares = [], []
    while len(order) < (len(worth) if n_steps is None else n_steps):
        useful = np.flatnonzero((weight > 0) & (cover < (1 - REDUNDANT) * weight))
        if not useful.size:
            break
        gains = np.maximum(worth[useful] - cover, 0).sum(axis=1)
        tied = useful[gains >= (1 - TIE) * gains.max()]
        best = int(tied[first_largest(worth[tied].sum(axis=1))])
        order.append(best)
        shares.append(gains.max() / weight.sum())
        cover = np.maximum(cover, worth[best])
        cover[best] = weight[best]
    return order, np.array(shares)


def pivots(X, standardize=True, first=None):
    """Deflate the table explicitly, always by the column of which most is left.

    Returns the order, and the standard deviation of what was left of each column when it was chosen.
    """
    Z = standardized(X, standardize)
    size = np.sum(Z**2, axis=0)
    order, spreads = [], []
    while True:
        left = np.sum(Z**2, axis=0)
        left[(size == 0) | (left <= REDUNDANT * size)] = -1
        left[order] = -1
        if left.max() <= 0:
            return order, np.array(spreads)
        best = first if first is not None and not order else first_largest(left)
        q = Z[:, best] / np.linalg.norm(Z[:, best])
        order.append(best)
        spreads.append(np.sqrt(left[best] / len(Z)))
        for _ in range(2):
            Z = Z - np.outer(q, q @ Z)


def leverages(X, n_components, standardize=True):
    """From the singular value decomposition of the whole table."""
    _, _, V = np.linalg.svd(standardized(X, standardize), full_matrices=False)
    return np.sum(V[:n_components] ** 2, axis=0)


def members_of(labels):
    """Columns of every group, groups in the order in which they first appear, and their labels."""
    names = list(dict.fromkeys(np.asarray(labels).tolist()))
    return [np.flatnonzero(np.asarray(labels) == name) for name in names], names


def reconstruction_by_groups(X, members, standardize=True):
    """At each step fit all columns on every candidate union of groups; keep the one that explains most per dimension.

    Returns the order, the share of the total variance that each step explains, and the dimensions that it adds.
    """
    Z = standardized(X, standardize)
    size = np.sqrt(np.sum(Z**2, axis=0))
    unit = Z / np.where(size > 0, size, 1.0)

    def columns(groups):
        return np.concatenate([np.empty(0, dtype=int), *(members[g] for g in groups)])

    def unexplained(groups):
        U, values, _ = np.linalg.svd(unit[:, columns(groups)], full_matrices=False)
        U = U[:, values > 1e-7]
        return np.sum((Z - U @ (U.T @ Z)) ** 2)

    order, shares, dimensions = [], [], []
    while True:
        left = residual(unit[:, columns(order)], unit)
        ranks = [0 if g in order else np.linalg.matrix_rank(left[:, m], tol=1e-5) for g, m in enumerate(members)]
        useful = [g for g, rank in enumerate(ranks) if rank > 0]
        if not useful:
            return order, np.array(shares), np.array(dimensions)
        before = unexplained(order)
        gains = [before - unexplained([*order, g]) for g in useful]
        best = first_largest([gain / ranks[g] for gain, g in zip(gains, useful, strict=True)])
        order.append(useful[best])
        shares.append(gains[best] / np.sum(Z**2))
        dimensions.append(ranks[useful[best]])


def medoids_by_groups(X, members, standardize=True):
    """Plain greedy search on the matrix of all pairs; a group explains what its best column does.

    Returns the order and the share of the coverage per step; ties go as in ``medoids``.
    """
    weight = standardized(X, standardize).var(axis=0)
    pairs = squared_correlations(X) * weight
    worth = np.array([pairs[group].max(axis=0) for group in members])
    cover = np.zeros(len(weight))
    order, shares = [], []
    while True:
        open_columns = (weight > 0) & (cover < (1 - REDUNDANT) * weight)
        useful = np.array([g for g, group in enumerate(members) if open_columns[group].any()], dtype=int)
        if not useful.size:
            return order, np.array(shares)
        gains = np.maximum(worth[useful] - cover, 0).sum(axis=1)
        tied = useful[gains >= (1 - TIE) * gains.max()]
        best = int(tied[first_largest(worth[tied].sum(axis=1))])
        order.append(best)
        shares.append(gains.max() / weight.sum())
        cover = np.maximum(cover, worth[best])
        cover[members[best]] = weight[members[best]]


def pivots_by_groups(X, members, standardize=True, first=None):
    """Deflate the table explicitly, always by the group of which most is left per column that varies.

    Returns the order, and the root mean square of what was left of each group when it was chosen.
    """
    Z = standardized(X, standardize)
    size = np.sum(Z**2, axis=0)
    varying = np.array([np.count_nonzero(size[group]) for group in members])
    order, spreads = [], []
    while True:
        chosen = np.concatenate([np.empty(0, dtype=int), *(members[g] for g in order)])
        left = np.sum(residual(Z[:, chosen] / np.sqrt(np.where(size > 0, size, 1.0))[chosen], Z) ** 2, axis=0)
        left[left <= REDUNDANT * size] = 0.0
        total = np.array([left[group].sum() for group in members]) / np.maximum(varying, 1)
        total[order] = 0.0
        if total.max() <= 0:
            return order, np.array(spreads)
        best = first if first is not None and not order else first_largest(total)
        order.append(best)
        spreads.append(np.sqrt(total[best] / len(Z)))
