"""ALMA as its paper states it, row by row and with w itself; the largest margin by convex optimization."""

import numpy as np
from scipy.optimize import minimize, nnls


def gradient_of_half_squared_norm(w, q):
    """f(w) of the paper."""
    norm = np.sum(np.abs(w) ** q) ** (1 / q)
    return np.zeros_like(w) if norm == 0 else np.sign(w) * np.abs(w) ** (q - 1) / norm ** (q - 2)


def alma(X, y, p, alpha, slack=0.0, max_passes=5000):
    """Weights, slack weights, corrections and passes; slack features are columns of their own, in the 2-norm."""
    n, d = X.shape
    q = p / (p - 1)
    rows = np.hstack([X, slack * np.eye(n)]) / np.sqrt(1 + slack**2)

    def forward(w):
        return np.concatenate([gradient_of_half_squared_norm(w[:d], q), w[d:]])

    def back(theta):
        return np.concatenate([gradient_of_half_squared_norm(theta[:d], p), theta[d:]])

    w, k = np.zeros(d + n), 1
    for n_pass in range(1, max_passes + 1):
        n_passes, corrected = n_pass, False
        for x, label in zip(rows, y, strict=True):
            gamma = np.sqrt(8) / alpha * np.sqrt(p - 1) / np.sqrt(k)
            if label * (w @ x) <= (1 - alpha) * gamma:
                eta = np.sqrt(2) / (np.sqrt(p - 1) * np.sqrt(k))
                w = back(forward(w) + eta * label * x)
                w = w / max(1.0, np.hypot(np.sum(np.abs(w[:d]) ** q) ** (1 / q), np.linalg.norm(w[d:])))
                k, corrected = k + 1, True
        if not corrected:
            break
    return w[:d], w[d:], k - 1, n_passes


def largest_margin(X, y, p):
    """max over ||w||_q <= 1 of min_i y_i w.x_i, from the smallest q-norm of the weights with unit margins."""
    q = p / (p - 1)
    Z = y[:, None] * X
    start = np.linalg.lstsq(Z, np.ones(len(Z)), rcond=None)[0]
    start = start / min(1.0, max(1e-3, (Z @ start).min()))

    def slope(w):
        return q * w * (w**2 + 1e-14) ** (q / 2 - 1)

    found = minimize(
        lambda w: np.sum((w**2 + 1e-14) ** (q / 2)),
        start,
        jac=slope,
        constraints={"type": "ineq", "fun": lambda w: Z @ w - 1, "jac": lambda w: Z},
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    w = found.x
    margin = (Z @ w).min() / np.sum(np.abs(w) ** q) ** (1 / q)  # attained
    closest = Z[Z @ w < 1 + 1e-4]
    multipliers, _ = nnls(closest.T, slope(w))
    bound = np.sum(np.abs(closest.T @ multipliers / multipliers.sum()) ** p) ** (1 / p)  # no margin can be larger
    assert bound <= margin * (1 + 1e-3)
    return margin
