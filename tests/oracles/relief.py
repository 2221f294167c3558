"""ReliefF and RReliefF the slow way: loops over samples, classes and columns, as the papers write them."""

import math

import numpy as np


def scaled(X):
    """Columns from 0 to 1; constant ones are 0."""
    X = np.asarray(X, dtype=float)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def distance(a, b, metric):
    if metric == "manhattan":
        return sum(abs(u - v) for u, v in zip(a, b, strict=True))
    return math.sqrt(sum((u - v) ** 2 for u, v in zip(a, b, strict=True)))


def nearest(X, i, others, k, metric):
    """The k nearest of the others, never i itself; of equally far ones the first."""
    others = [n for n in others if n != i]
    return sorted(others, key=lambda n: (round(distance(X[i], X[n], metric), 9), n))[:k]


def relief_f(X, y, k, metric="euclidean", power=1, references=None):
    X, y = scaled(X), np.asarray(y)
    references = range(len(X)) if references is None else references
    prior = {c: np.mean(y == c) for c in np.unique(y)}
    weights = np.zeros(X.shape[1])
    for i in references:
        for c in prior:
            neighbors = nearest(X, i, np.flatnonzero(y == c), k, metric)
            for n in neighbors:
                factor = -1.0 if c == y[i] else prior[c] / (1 - prior[y[i]])
                for j in range(X.shape[1]):
                    weights[j] += factor * abs(X[i, j] - X[n, j]) ** power / len(neighbors) / len(references)
    return mark_constant(X, weights)


def relief_of_the_thesis(X, y):
    """Eq. (3.9), on scaled columns: squared differences to the nearest miss and the nearest hit."""
    X, n = scaled(X), len(X)
    scores = np.zeros(X.shape[1])
    for i in range(n):
        [miss] = nearest(X, i, [m for m in range(n) if y[m] != y[i]], 1, "euclidean")
        [hit] = nearest(X, i, [h for h in range(n) if y[h] == y[i]], 1, "euclidean")
        scores += (np.abs(X[i] - X[miss]) ** 2 - np.abs(X[i] - X[hit]) ** 2) / n
    return scores


def rrelief_f(X, y, k, sigma, metric="euclidean", power=1, references=None):
    X, y = scaled(X), scaled(np.asarray(y)[:, None])[:, 0]
    references = range(len(X)) if references is None else references
    n_dc, n_da, n_dcda = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in references:
        neighbors = nearest(X, i, range(len(X)), k, metric)
        influence = [1.0 if sigma is None else math.exp(-((r / sigma) ** 2)) for r in range(1, len(neighbors) + 1)]
        for n, d1 in zip(neighbors, influence, strict=True):
            d = d1 / sum(influence)
            dc = abs(y[i] - y[n]) ** power
            n_dc += dc * d
            for j in range(X.shape[1]):
                da = abs(X[i, j] - X[n, j]) ** power
                n_da[j] += da * d
                n_dcda[j] += dc * da * d
    return mark_constant(X, n_dcda / n_dc - (n_da - n_dcda) / (len(references) - n_dc))


def mark_constant(X, weights):
    """Constant columns have the worst score there is."""
    return np.where(X.max(axis=0) == X.min(axis=0), -1.0, weights)


def expected_difference(values, i, n, codes, is_discrete, power):
    """Of a column whose missing values stand for those that rows of the class have (of any row, if these have none)."""

    def possible(row):
        if not np.isnan(values[row]):
            return [values[row]]
        of_class = [v for v, c in zip(values, codes, strict=True) if c == codes[row] and not np.isnan(v)]
        return of_class or [v for v in values if not np.isnan(v)]

    pairs = [(a, b) for a in possible(i) for b in possible(n)]
    return np.mean([float(a != b) if is_discrete else abs(a - b) ** power for a, b in pairs])


def mixed_relief_f(X, y, k, discrete, power=1, task="classification", sigma=None):
    """ReliefF, or RReliefF, on columns of labels and of quantities with missing values; squared distances."""
    X, y = np.array(X, dtype=float), np.asarray(y)
    for j in set(range(X.shape[1])) - set(discrete):
        X[:, j] = (X[:, j] - np.nanmin(X[:, j])) / (np.nanmax(X[:, j]) - np.nanmin(X[:, j]))
    n, D = X.shape
    codes = y if task == "classification" else np.zeros(n)
    difference, squared = np.empty((2, n, n, D))
    for i, m, j in np.ndindex(n, n, D):
        difference[i, m, j] = expected_difference(X[:, j], i, m, codes, j in discrete, power)
        squared[i, m, j] = expected_difference(X[:, j], i, m, codes, j in discrete, 2)
    distance = squared.sum(axis=2).round(9)

    def nearest_of(i, others):
        return sorted((m for m in others if m != i), key=lambda m: (distance[i, m], m))[:k]

    if task == "classification":
        weights, prior = np.zeros(D), {c: np.mean(y == c) for c in np.unique(y)}
        for i in range(n):
            for c in prior:
                neighbors = nearest_of(i, np.flatnonzero(y == c))
                factor = -1.0 if c == y[i] else prior[c] / (1 - prior[y[i]])
                weights += factor * difference[i, neighbors].sum(axis=0) / len(neighbors) / n
        return weights
    target, n_dc, n_da, n_dcda = scaled(y[:, None])[:, 0], 0.0, np.zeros(D), np.zeros(D)
    for i in range(n):
        neighbors = nearest_of(i, range(n))
        influence = [1.0 if sigma is None else math.exp(-((r / sigma) ** 2)) for r in range(1, k + 1)]
        for m, d in zip(neighbors, influence, strict=True):
            dc = abs(target[i] - target[m]) ** power
            n_dc += dc * d / sum(influence)
            n_da += difference[i, m] * d / sum(influence)
            n_dcda += dc * difference[i, m] * d / sum(influence)
    return n_dcda / n_dc - (n_da - n_dcda) / (n - n_dc)
