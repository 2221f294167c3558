"""Grafting's objective, written out, and minimized without any thought of speed."""

import numpy as np
from scipy.optimize import minimize


def loss_value(name, f, y):
    """Loss of one sample."""
    if name == "logistic":
        return np.log1p(np.exp(-abs(y * f))) + max(0.0, -y * f)
    return 0.5 * (f - y) ** 2 if name == "squared" else max(0.0, 1.0 - y * f) ** 2


def loss_derivative(name, f, y):
    """Derivative of it by the output."""
    if name == "logistic":
        return -y / (1.0 + np.exp(y * f))
    return f - y if name == "squared" else -2.0 * y * max(0.0, 1.0 - y * f)


def objective(X, y, w, b, loss, alpha=0.0, l2=0.0, l0=0.0):
    """Eq. 12, with a squared norm."""
    mean = np.mean([loss_value(loss, x @ w + b, target) for x, target in zip(X, y, strict=True)])
    return mean + l2 * np.sum(w**2) + alpha * np.sum(np.abs(w)) + l0 * np.count_nonzero(w)


def gradient(X, y, w, b, loss):
    """Of the mean loss, by the weights, and by the intercept."""
    derivatives = np.array([loss_derivative(loss, x @ w + b, target) for x, target in zip(X, y, strict=True)])
    return np.array([np.mean(derivatives * column) for column in X.T]), derivatives.mean()


def violation(X, y, w, b, loss, alpha, l2=0.0):
    """Largest violation of the conditions for a minimum without l0: zero must be in the subdifferential."""
    by_weight, by_intercept = gradient(X, y, w, b, loss)
    worst = abs(by_intercept)
    for g, weight in zip(by_weight, w, strict=True):
        worst = max(worst, abs(g + 2 * l2 * weight + alpha * np.sign(weight)) if weight else max(0.0, abs(g) - alpha))
    return worst


def fit(X, y, loss, alpha=0.0, l2=0.0):
    """Minimize over w = u - v with u, v >= 0, where the objective is smooth."""
    d = X.shape[1]

    def smooth(z):
        w = z[:d] - z[d : 2 * d]
        by_weight, by_intercept = gradient(X, y, w, z[-1], loss)
        by_weight = by_weight + 2 * l2 * w
        value = objective(X, y, w, z[-1], loss, l2=l2) + alpha * z[: 2 * d].sum()
        return value, np.concatenate([by_weight + alpha, alpha - by_weight, [by_intercept]])

    options = {"maxiter": 20000, "maxfun": 20000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 30}
    bounds = [(0, None)] * (2 * d) + [(None, None)]
    found = minimize(smooth, np.zeros(2 * d + 1), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return found.x[:d] - found.x[d : 2 * d], found.x[-1]


def lowest(X, y, features, loss, alpha, l2=0.0, l0=0.0):
    """Least objective over the given features, each of which costs l0."""
    features = np.array(sorted(features), dtype=int)
    w, b = fit(X[:, features], y, loss, alpha, l2)
    return objective(X[:, features], y, w, b, loss, alpha, l2) + l0 * features.size


def graft(X, y, loss, alpha, l2=0.0):
    """Features in the order in which they enter, from nothing to the minimum; and those with a weight at the end."""
    inside, entered = [], []
    while True:
        w, b = np.zeros(X.shape[1]), 0.0
        w[inside], b = fit(X[:, inside], y, loss, alpha, l2)
        inside = [j for j in inside if abs(w[j]) > 1e-6]
        excess, _ = gradient(X, y, w, b, loss)
        excess = np.abs(excess) - alpha
        excess[inside] = -np.inf
        if excess.max() < 1e-5:
            return entered, sorted(inside)
        entered.append(int(excess.argmax()))
        inside.append(entered[-1])


def problem(loss, seed=0, n=40, d=6, n_targets=1):
    """Correlated columns with means, and a target that depends on three of them."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d))) + rng.uniform(-2, 2, d)
    Y = X[:, :3] @ rng.standard_normal((3, n_targets)) + rng.standard_normal((n, n_targets))
    Y -= np.median(Y, axis=0)
    return X, Y if loss == "squared" else np.where(Y > 0, 1.0, -1.0)
