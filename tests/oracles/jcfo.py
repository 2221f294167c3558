"""The posterior of joint classifier and feature optimization, term by term, and its maximum by a plain minimizer."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm


def kernel(x, z, theta, name, degree=3.0, coef0=0.0):
    """Of two rows."""
    if name == "rbf":
        return np.exp(-np.sum(theta * (x - z) ** 2))
    inner = np.sum(theta * x * z)
    return inner if name == "linear" else (inner + coef0) ** degree


def loss(f, y, name):
    """Negative log-likelihood of an output."""
    if name == "probit":
        return -norm.logcdf(y * f)
    return np.logaddexp(0.0, -y * f) if name == "logistic" else 0.5 * (f - y) ** 2


def negative_log_posterior(A, Y, cost, theta, alpha, intercept, *, name, likelihood, penalties, degree=3.0, coef0=0.0):
    """One row after another."""
    total = penalties[0] * np.abs(alpha).sum() + penalties[1] * theta.sum()
    for i, x in enumerate(A):
        values = np.array([kernel(x, z, theta, name, degree, coef0) for z in A])
        for t in range(Y.shape[1]):
            total += cost[i] * loss(values @ alpha[:, t] + intercept[t], Y[i, t], likelihood)
    return float(total)


def lowest_from(A, Y, cost, theta, alpha, intercept, **options):
    """Where a minimizer with numerical gradients ends, over theta, the two parts of alpha, and the intercept."""
    d, n, t = A.shape[1], *Y.shape

    def unpack(z):
        plus, minus = z[d : d + n * t].reshape(n, t), z[d + n * t : d + 2 * n * t].reshape(n, t)
        return z[:d], plus - minus, z[d + 2 * n * t :], float((plus + minus).sum())

    def objective(z):
        factors, weights, b, size = unpack(z)
        value = negative_log_posterior(A, Y, cost, factors, weights, b, **options)
        return value + options["penalties"][0] * (size - np.abs(weights).sum())

    start = np.concatenate([theta, np.maximum(alpha, 0).ravel(), np.maximum(-alpha, 0).ravel(), intercept])
    bounds = [(0.0, None)] * (d + 2 * n * t) + [(None, None)] * t
    return minimize(objective, start, method="L-BFGS-B", bounds=bounds).fun
