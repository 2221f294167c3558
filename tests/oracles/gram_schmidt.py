"""Gram-Schmidt ranking the slow way: a least-squares fit per candidate and step, or explicit deflation."""

import numpy as np

TIE = 1e-9
REDUNDANT = 1e-10


def centered(table, weight=None, fit_intercept=True):
    """Rows times sqrt(weight), after taking the weighted mean out of every column."""
    table = np.asarray(table, dtype=float)
    weight = np.ones(len(table)) if weight is None else np.asarray(weight, dtype=float)
    mean = weight @ table / weight.sum() if fit_intercept else np.zeros(table.shape[1])
    return np.sqrt(weight)[:, None] * (table - mean)


def residual(A, B):
    """What least squares on the columns of A leaves of B."""
    if A.shape[1] == 0:
        return B
    return B - A @ np.linalg.lstsq(A, B, rcond=None)[0]


def first_largest(values):
    """Index of the largest, the lowest one among ties up to rounding."""
    values = np.asarray(values)
    return int(np.flatnonzero(values >= values.max() - TIE * abs(values.max()))[0])


def brute_force(X, Y, weight=None, fit_intercept=True, n_steps=None):
    """At each step try every remaining candidate and keep the one that leaves the smallest det(Y' P Y).

    Y holds one column, or class indicators; with an intercept these are dependent, so that the last is left out.
    Returns the order, and 1 - det after / det before at each step.
    """
    X, Y = np.asarray(X, dtype=float), np.asarray(Y, dtype=float)
    if Y.shape[1] > 1 and fit_intercept:
        Y = Y[:, :-1]
    root = np.ones(len(X)) if weight is None else np.sqrt(weight)
    base = root[:, None] * (np.ones((len(X), 1)) if fit_intercept else np.empty((len(X), 0)))
    WX, WY = root[:, None] * X, root[:, None] * Y
    size = np.sum(residual(base, WX) ** 2, axis=0)
    order, shares = [], []

    def scatter(features):
        left = residual(np.hstack([base, WX[:, features]]), WY)
        return np.linalg.det(left.T @ left)

    before = scatter([])
    most = X.shape[1] if n_steps is None else n_steps
    while len(order) < most:
        left = np.sum(residual(np.hstack([base, WX[:, order]]), WX) ** 2, axis=0)
        useful = [j for j in range(X.shape[1]) if j not in order and size[j] > 0 and left[j] > REDUNDANT * size[j]]
        if not useful:
            break
        gains = [1 - scatter([*order, j]) / before for j in useful]
        best = first_largest(gains)
        order.append(useful[best])
        shares.append(gains[best])
        before = scatter(order)
    return order, np.array(shares)


def deflation(X, Y, weight=None, fit_intercept=True, n_steps=None, project_candidates=True):
    """Project every candidate and the target explicitly, one direction at a time (Eq. 1 in the projected space).

    Without ``project_candidates`` the cosine is taken with the candidates as they came: orthogonal matching pursuit.
    Returns the order, the squared cosine in the projected space, and the candidates that each step left nothing of.
    """
    Z, Y = centered(X, weight, fit_intercept), centered(Y, weight, fit_intercept)
    original = Z.copy()
    size = np.sum(Z**2, axis=0)
    alive = size > 1e-20 * np.sum(np.asarray(X, dtype=float) ** 2, axis=0)
    order, shares, redundant = [], [], []
    most = Z.shape[1] if n_steps is None else n_steps
    while len(order) < most and alive.any():
        U, values, _ = np.linalg.svd(Y, full_matrices=False)
        U = U[:, values > 1e-10 * max(values[0], 1e-300)]
        side = Z if project_candidates else original
        cos2 = np.full(Z.shape[1], -np.inf)
        cos2[alive] = np.sum((U.T @ side[:, alive]) ** 2, axis=0) / np.sum(side[:, alive] ** 2, axis=0)
        best = first_largest(cos2)
        q = Z[:, best] / np.linalg.norm(Z[:, best])
        order.append(best)
        shares.append(float(np.sum((U.T @ q) ** 2)))
        Z, Y = Z - np.outer(q, q @ Z), Y - np.outer(q, q @ Y)
        left = alive & (np.sum(Z**2, axis=0) > REDUNDANT * size)
        left[best] = False
        redundant.append([j for j in np.flatnonzero(alive & ~left) if j != best])
        alive = left
    return order, np.array(shares), redundant
