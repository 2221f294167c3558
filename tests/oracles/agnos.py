"""AGNOS by the book: loops over features, units and samples (Doquet 2019, Sec. 4.4)."""

import numpy as np


def units(X, W, bias, slack=None):
    """tanh of weighted sums, sample by sample."""
    slack = np.ones(X.shape[1]) if slack is None else slack
    return np.array([[np.tanh((slack * x) @ w + b) for w, b in zip(W.T, bias, strict=True)] for x in X])


def reconstruction(X, Phi, decoder, decoder_bias):
    """Sum over features, mean over samples."""
    guess = np.tanh(Phi @ decoder + decoder_bias)
    return sum(np.sum((guess[:, i] - X[:, i]) ** 2) for i in range(X.shape[1])) / len(X)


def gradient(Phi, W, i, j, k):
    """Of unit j with respect to feature i at sample k."""
    return W[i, j] * (1.0 - Phi[k, j] ** 2)


def gradient_penalty(Phi, W):
    (n, d), D = Phi.shape, len(W)
    return sum(
        np.sqrt(sum(gradient(Phi, W, i, j, k) ** 2 for j in range(d) for k in range(n))) for i in range(D)
    )  # Eq. (4.7)


def gradient_scores(Phi, W):
    (n, d), D = Phi.shape, len(W)
    return [max(sum(gradient(Phi, W, i, j, k) ** 2 for k in range(n)) for j in range(d)) for i in range(D)]  # (4.10)


def lost_share(Phi, Y, noise, ridge):
    """Share of Y that the best linear decoder loses, found by least squares on rows that stand for noise and ridge."""
    n, d = Phi.shape
    centered = Phi - Phi.mean(axis=0)
    root = np.linalg.cholesky(n * (noise + ridge * np.eye(d)))
    B = np.linalg.lstsq(np.vstack([centered, root.T]), np.vstack([Y, np.zeros((d, Y.shape[1]))]), rcond=None)[0]
    loss = np.sum((Y - centered @ B) ** 2) + np.sum((root.T @ B) ** 2)
    return B, loss / np.sum(Y**2)
