"""Graphs of samples as full matrices, and scores from their definitions."""

import numpy as np
from scipy import linalg


def heat_matrix(X, n_neighbors, width, weight="heat"):
    """Symmetric neighbor weights, no loops."""
    n = len(X)
    if weight == "cosine":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    distance2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    M = np.zeros((n, n))
    for i in range(n):
        others = [k for k in np.argsort(distance2[i], kind="stable") if k != i][:n_neighbors]
        for k in others:
            values = {"heat": np.exp(-distance2[i, k] / (2 * width**2)), "binary": 1.0, "cosine": max(0.0, X[i] @ X[k])}
            M[i, k] = values[weight]
    return np.maximum(M, M.T)


def laplacian_score(M, f):
    """Eq. 3.21, corrected, by the double sum."""
    degree = M.sum(axis=1)
    mean = (degree * f).sum() / degree.sum()
    difference = sum(M[i, k] * (f[i] - f[k]) ** 2 for i in range(len(f)) for k in range(len(f))) / 2
    return difference / (degree * (f - mean) ** 2).sum()


def spec_scores(M, f, n_clusters):
    """Eqs. 3.24 to 3.26 by a whole eigen-decomposition."""
    degree = M.sum(axis=1)
    root = np.sqrt(degree)
    L = np.eye(len(f)) - M / np.outer(root, root)
    values, vectors = linalg.eigh(L)
    unit = root * f / np.linalg.norm(root * f)
    first = root / np.linalg.norm(root)
    phi1 = unit @ L @ unit
    phi2 = phi1 / (1 - (unit @ first) ** 2)
    phi3 = sum((2 - values[k]) * (unit @ vectors[:, k]) ** 2 for k in range(1, n_clusters + 1))
    return phi1, phi2, phi3
