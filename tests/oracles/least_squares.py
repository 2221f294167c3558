"""Linear models along a path, and their leave-one-out error by fitting again without each row."""

import numpy as np


def fit(X, Y, weight=None, fit_intercept=True):
    """Coefficients and intercept of weighted least squares."""
    root = np.ones(len(X)) if weight is None else np.sqrt(weight)
    design = np.column_stack([X, np.ones(len(X))]) if fit_intercept else np.asarray(X, dtype=float)
    solution = np.linalg.lstsq(root[:, None] * design, root[:, None] * Y, rcond=None)[0]
    k = X.shape[1]
    return solution[:k], solution[k] if fit_intercept else np.zeros(Y.shape[1])


def squared_error(X, Y, weight=None, fit_intercept=True):
    """Weighted sum of squared residuals."""
    weight = np.ones(len(X)) if weight is None else weight
    coef, intercept = fit(X, Y, weight, fit_intercept)
    return float(np.sum(weight[:, None] * (Y - X @ coef - intercept) ** 2))


def leave_one_out(X, Y, weight=None, fit_intercept=True):
    """Mean squared error of each row under the model fitted without it (with its whole weight)."""
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    total = 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        coef, intercept = fit(X[others], Y[others], weight[others], fit_intercept)
        total += weight[i] * np.sum((Y[i] - X[i] @ coef - intercept) ** 2)
    return total / weight.sum()
