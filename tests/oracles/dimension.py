"""Intrinsic dimension, one pair of points at a time and with all distances in memory."""

import math
from itertools import combinations

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path


def standardize(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def distance_matrix(X):
    return np.array([[math.dist(a, b) for b in X] for a in X])


def sorted_neighbors(X):
    """Distances from each row to all others, ascending."""
    D = distance_matrix(X)
    return [sorted(D[i, j] for j in range(len(X)) if j != i) for i in range(len(X))]


def two_nn(X, discard=0.1):
    """The recipe of the thesis: F = i / N, the first floor((1 - discard) N) + 1, a line through the origin."""
    n = len(X)
    ratios = sorted(near[1] / near[0] if near[0] > 0 else math.inf for near in sorted_neighbors(X))
    numerator = denominator = 0.0
    for i, ratio in enumerate(ratios, start=1):
        if i <= math.floor((1 - discard) * n + 1e-9) + 1 and i < n and ratio < math.inf:
            numerator += math.log(ratio) * -math.log(1 - i / n)
            denominator += math.log(ratio) ** 2
    return numerator / denominator


def mle(X, k, aggregate):
    """Levina and Bickel's local dimensions, and their mean or the inverse of the mean inverse."""
    logs = [[math.log(near[k - 1] / near[j]) for j in range(k - 1)] for near in sorted_neighbors(X)]
    local = [(k - 2) / sum(each) for each in logs]
    if aggregate == "mean":
        return local, sum(local) / len(local)
    return local, 1 / (sum(sum(each) / (k - 1) for each in logs) / len(logs))


def close_pairs(X, k, ratio):
    """Distances of the k n / 2 closest pairs in order, and the places of the two radii."""
    distances = sorted(math.dist(a, b) for a, b in combinations(X, 2))
    distances = distances[: math.ceil(k * len(X) / 2)]
    return distances, max(int(ratio * len(distances)), 1) - 1, len(distances) - 1


def correlation_dimension(X, k, ratio):
    distances, inner, outer = close_pairs(X, k, ratio)
    r1, r2 = distances[inner], distances[outer]
    c1, c2 = (sum(d <= r for d in distances) for r in (r1, r2))
    return math.log(c2 / c1) / math.log(r2 / r1)


def packing_number(X, radius, order):
    taken = []
    for i in order:
        if all(math.dist(X[i], X[j]) >= radius for j in taken):
            taken.append(i)
    return len(taken)


def packing_dimension(X, k, ratio, orders):
    distances, inner, outer = close_pairs(X, k, ratio)
    r1, r2 = distances[inner], distances[outer]
    m1, m2 = (np.mean([math.log(packing_number(X, r, order)) for order in orders]) for r in (r1, r2))
    return -(m2 - m1) / (math.log(r2) - math.log(r1))


def occupied_boxes(X, halvings):
    corner = X.min(axis=0)
    side = (X.max(axis=0) - corner).max() / 2**halvings
    return len(
        {tuple(min(int((v - c) / side), 2**halvings - 1) for v, c in zip(row, corner, strict=True)) for row in X}
    )


def pairwise_sparsity(X):
    distances = [math.dist(a, b) for a, b in combinations(X, 2)]
    return np.mean(distances) ** 2 / (2 * np.var(distances))


def geodesic_tree_length(graph, samples):
    """All shortest paths of the graph, then the tree over those between the samples."""
    geodesic = shortest_path(graph, directed=False)[np.ix_(samples, samples)]
    return minimum_spanning_tree(np.where(np.isfinite(geodesic), geodesic, 0.0)).sum()
