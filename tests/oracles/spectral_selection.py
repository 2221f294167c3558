"""NDFS and what grew from it, as printed: dense matrices, one term after the other."""

import numpy as np


def planted(n_samples=90, n_informative=6, n_noise=12, seed=0):
    """Three Gaussian clusters that the first columns carry; the others are noise of the same variance."""
    rng = np.random.RandomState(seed)
    y = np.arange(n_samples) % 3
    X = rng.standard_normal((n_samples, n_informative + n_noise))
    centers = np.array([[4.0, 0.0, -4.0], [-4.0, 4.0, 0.0]])[np.arange(n_informative) % 2].T
    X[:, :n_informative] += centers[y]
    return X / X.std(axis=0), y


def standardized(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def lengths(A, smoothing=1e-8):
    return np.sqrt(np.sum(A**2, axis=1) + smoothing**2)


def ridge(Z, Y, penalty, pull=0.0, row_weight=None):
    """Minimizer of ``sum_i d_i ||y_i - z_i A||^2 + sum_j p_j ||a_j||^2 - 2 <T, A>`` from its normal equations."""
    d = np.ones(len(Z)) if row_weight is None else row_weight
    return np.linalg.solve(Z.T @ (d[:, None] * Z) + np.diag(penalty), Z.T @ (d[:, None] * Y) + pull)


def ridge_loss(Z, Y, A, penalty, pull=0.0, row_weight=None):
    d = np.ones(len(Z)) if row_weight is None else row_weight
    return np.sum(d[:, None] * (Y - Z @ A) ** 2) + np.sum(penalty[:, None] * A**2) - 2 * np.sum(pull * A)


def normalized_laplacian(graph):
    """``I - Delta^-1/2 M Delta^-1/2`` from the dense weights."""
    M = graph.dot(np.eye(graph.n_samples)) + graph.loop * np.eye(graph.n_samples)
    root = M.sum(axis=1) ** -0.5
    return np.eye(graph.n_samples) - root[:, None] * M * root


def shape(L, F, gamma):
    return np.trace(F.T @ L @ F) + gamma / 2 * np.linalg.norm(F.T @ F - np.eye(F.shape[1])) ** 2


def ndfs(Z, L, F, A, alpha, beta, gamma):
    return shape(L, F, gamma) + alpha * (np.linalg.norm(F - Z @ A) ** 2 + beta * lengths(A).sum())


def cgssl(Z, L, F, A, Q, alpha, beta, gamma, structure):
    return ndfs(Z, L, F, A, alpha, beta, gamma) + structure * np.linalg.norm(A - Q @ (Q.T @ A)) ** 2


def rsfs(Z, L, F, A, C, alpha, beta, gamma, noise):
    loss = np.linalg.norm(F - C - Z @ A) ** 2 + beta * lengths(A).sum()
    return shape(L, F, gamma) + alpha * loss + noise * np.abs(C).sum()


def rufs(Z, L, F, A, C, nu, alpha, beta, gamma, reconstruction):
    small = 0.01 / np.sqrt(len(Z))
    rough = shape(nu * L, F, gamma)
    loss = alpha * lengths(F - Z @ A, small).sum() + beta * lengths(A).sum()
    return rough + loss + reconstruction * lengths((Z - F @ C) / np.linalg.norm(Z), small).sum()


def sogfs(Z, S, W, F, alpha, gamma, laplacian):
    def squared_distances(P):
        return np.sum((P[:, None, :] - P[None, :, :]) ** 2, axis=2)

    apart = squared_distances(Z @ W) + laplacian * squared_distances(F)
    return np.sum(apart * S + alpha * S**2) + gamma * lengths(W).sum()


def project_onto_simplex(v):
    """By bisection on the threshold."""
    low, high = v.max() - 1.0, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(v - middle, 0).sum() > 1.0:
            low = middle
        else:
            high = middle
    return np.maximum(v - high, 0.0)
