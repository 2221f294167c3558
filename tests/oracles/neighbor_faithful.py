"""Neighbor-faithful selection the slow way: every figure from its definition."""

from itertools import combinations

import numpy as np


def unit_columns(X):
    """Centered columns of unit norm."""
    Z = np.asarray(X, dtype=float) - np.mean(X, axis=0)
    return Z / np.linalg.norm(Z, axis=0)


def loo_fit(X, kept, n_neighbors=5):
    """Mean R^2 over features, each row predicted by the mean of its nearest others on the kept features."""
    Z = unit_columns(X)
    total = 0.0
    for i in range(len(Z)):
        apart = np.sum((Z[:, kept] - Z[i, kept]) ** 2, axis=1)
        apart[i] = np.inf
        neighbors = np.argsort(apart, kind="stable")[:n_neighbors]
        total += np.sum((Z[i] - Z[neighbors].mean(axis=0)) ** 2)
    return 1.0 - total / Z.shape[1]


def every_fit(X, k, n_neighbors=5):
    """FIT of every set of k features."""
    return np.array([loo_fit(X, list(kept), n_neighbors) for kept in combinations(range(X.shape[1]), k)])


def alignment(Y, T, kept):
    """Cosine, up to a constant, of the similarities on the kept columns and T."""
    K = Y[:, kept] @ Y[:, kept].T
    return np.sum(K * T) / np.linalg.norm(K)


def component_target(Y, r, power=0.7):
    """Leading components of all similarities, weighed by a power of their variance."""
    values, vectors = np.linalg.eigh(Y @ Y.T)
    values, vectors = np.maximum(values[::-1][:r], 0), vectors[:, ::-1][:, :r]
    return vectors * values**power @ vectors.T


def ridge_loss(Y, kept, alpha):
    """Share of all columns that the ridge smoother on the kept ones leaves."""
    K = Y @ Y.T
    inside = Y[:, kept] @ Y[:, kept].T + alpha * np.eye(len(Y))
    return alpha * np.trace(np.linalg.solve(inside, K)) / np.trace(K)


def ridge_order(Y, alpha, k):
    """Forward selection of the columns that leave least, and by how much each lowers what is left."""
    order, gains = [], []
    for _ in range(k):
        rest = [j for j in range(Y.shape[1]) if j not in order]
        losses = [ridge_loss(Y, [*order, j], alpha) for j in rest]
        gains.append(ridge_loss(Y, order, alpha) - min(losses))
        order.append(rest[int(np.argmin(losses))])
    return order, gains
