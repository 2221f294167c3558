"""Sums over rows, one row after another."""

import numpy as np


def centered_products(X, weight=None):
    """Weighted mean and products about it, in two passes of plain loops."""
    weight = np.ones(len(X)) if weight is None else weight
    mean = sum(w * row for w, row in zip(weight, X, strict=True)) / weight.sum()
    products = sum(w * np.outer(row - mean, row - mean) for w, row in zip(weight, X, strict=True))
    return mean, products


def leave_one_out_errors(Z, y, weight=None):
    """Sum of squared errors of least squares with an intercept, each row of positive weight predicted without it."""
    weight = np.ones(len(Z)) if weight is None else weight
    design = np.column_stack([np.ones(len(Z)), Z])
    total = 0.0
    for row in np.flatnonzero(weight):
        others = weight.copy()
        others[row] = 0.0
        root = np.sqrt(others)[:, None]
        coef = np.linalg.lstsq(root * design, root * y, rcond=None)[0]
        total += weight[row] * float(np.sum((y[row] - design[row] @ coef) ** 2))
    return total
