"""Evidence of Gaussian and logistic models with a prior variance for every weight, with explicit inverses."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def gaussian_evidence(X, y, variances, noise_precision):
    """Log density of a centered target under ``N(0, I / noise_precision + X B X')``, at its mean."""
    y = y - y.mean()
    X = X - X.mean(axis=0)
    C = np.eye(len(y)) / noise_precision + (X * variances) @ X.T
    return -0.5 * (len(y) * np.log(2.0 * np.pi) + np.linalg.slogdet(C)[1] + y @ np.linalg.inv(C) @ y)


def gaussian_weights(X, y, variances, noise_precision):
    """Weights and their covariance."""
    y = y - y.mean()
    X = X - X.mean(axis=0)
    covariance = np.linalg.inv(noise_precision * X.T @ X + np.diag(1.0 / variances))
    return noise_precision * covariance @ X.T @ y, covariance


def logistic_weights(X, y, variances, cost=None):
    """Weights, intercept and the covariance of Laplace's approximation, for signs y and columns as they are."""
    cost = np.ones(len(y)) if cost is None else cost

    def objective(theta):
        f = X @ theta[1:] + theta[0]
        slope = -cost * y * expit(-y * f)
        value = cost @ np.logaddexp(0.0, -y * f) + 0.5 * np.sum(theta[1:] ** 2 / variances)
        return value, np.concatenate([[slope.sum()], X.T @ slope + theta[1:] / variances])

    def hessian(theta):
        p = expit(X @ theta[1:] + theta[0])
        Z = np.column_stack([np.ones(len(y)), X])
        return Z.T @ ((cost * p * (1.0 - p))[:, None] * Z) + np.diag(np.concatenate([[0.0], 1.0 / variances]))

    theta = minimize(objective, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B").x
    for _ in range(20):  # Newton's method from nearby: to the last digit
        theta = theta - np.linalg.solve(hessian(theta), objective(theta)[1])
    return theta[1:], theta[0], np.linalg.inv(hessian(theta)[1:, 1:])


def logistic_evidence(X, y, variances, cost=None):
    """Laplace's approximation at the maximum a posteriori of weights and intercept, as an integral over the weights."""
    cost = np.ones(len(y)) if cost is None else cost
    w, b, covariance = logistic_weights(X, y, variances, cost)
    log_prior = -0.5 * np.sum(w**2 / variances + np.log(2.0 * np.pi * variances))
    log_joint = -cost @ np.logaddexp(0.0, -y * (X @ w + b)) + log_prior
    return log_joint + 0.5 * len(w) * np.log(2.0 * np.pi) + 0.5 * np.linalg.slogdet(covariance)[1]


def relevance_rounds(X, Y, n_rounds, *, loss, noise_precision=None, groups=None):
    """Precisions before every round of Lal et al. (2006, Eq. 22) and after the last, and the evidence of each.

    Columns are centered and have unit variance; none vanishes, but variances stay above 1e-12.
    """
    groups = np.arange(X.shape[1]) if groups is None else groups
    variances = np.full(X.shape[1], 0.1 / X.shape[1])
    betas, evidences = [], []
    for _ in range(n_rounds + 1):
        betas.append(1.0 / variances)
        if loss == "squared":
            found = [gaussian_weights(X, y, variances, noise_precision) for y in Y.T]
            evidences.append(sum(gaussian_evidence(X, y, variances, noise_precision) for y in Y.T))
        else:
            found = [(w, S) for w, _, S in (logistic_weights(X, y, variances) for y in Y.T)]
            evidences.append(sum(logistic_evidence(X, y, variances) for y in Y.T))
        gamma = sum(1.0 - np.diag(S) / variances for _, S in found)
        weights2 = sum(w**2 for w, _ in found)
        updated = [weights2[groups == g].sum() / gamma[groups == g].sum() for g in groups]  # one over Eq. 22
        variances = np.maximum(updated, 1e-12)
    return np.array(betas), np.array(evidences)
