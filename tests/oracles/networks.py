"""Networks with one loop per unit, derivatives by differences, and tables in which a few columns matter."""

import numpy as np


def planted(seed, task="regression", n_samples=300, n_features=15):
    """The first three columns decide: one by itself, two only together."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_samples, n_features))
    signal = np.tanh(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n_samples)
    if task == "regression":
        return X, signal
    edges = {"two classes": [0.0], "three classes": np.quantile(signal, [1 / 3, 2 / 3])}[task]
    return X, np.digitize(signal, edges)


def outputs(layers, x, factors=None):
    """Outputs for one sample, unit by unit; ``layers`` are pairs of weights and biases."""
    values = [value * (1.0 if factors is None else factors[j]) for j, value in enumerate(x)]
    for depth, (weights, bias) in enumerate(layers):
        received = [bias[k] + sum(values[j] * weights[j][k] for j in range(len(values))) for k in range(len(bias))]
        values = received if depth == len(layers) - 1 else [np.tanh(value) for value in received]
    return np.array(values)


def probabilities(logits):
    weight = np.exp(logits - logits.max())
    return weight / weight.sum()


def loss(layers, X, wanted, is_class, factors=None):
    """Mean cross-entropy, or mean squared error."""
    total = 0.0
    for x, target in zip(X, wanted, strict=True):
        found = outputs(layers, x, factors)
        total += -np.log(probabilities(found) @ target) if is_class else np.sum((found - target) ** 2)
    return total / len(X)


def without(X, j):
    """The table with column j at zero."""
    held = X.copy()
    held[:, j] = 0.0
    return held


def slope(function, x, width=1e-5):
    """Gradient by central differences."""
    found = np.empty(x.size)
    for i in range(x.size):
        move = np.zeros(x.size)
        move[i] = width
        found[i] = (function(x + move) - function(x - move)) / (2 * width)
    return found


def bend(function, x, width=1e-3):
    """Second derivative in every coordinate, by differences of fourth order."""
    found = np.empty(x.size)
    for i in range(x.size):
        move = np.zeros(x.size)
        move[i] = width
        near, far = (function(x + k * move) + function(x - k * move) for k in (1, 2))
        found[i] = (-far + 16 * near - 30 * function(x)) / (12 * width**2)
    return found
