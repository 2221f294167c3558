"""CART with the Gini impurity the slow way: one tree, recursive, in exact arithmetic."""

from fractions import Fraction
from itertools import pairwise


def class_weights(labels, weight, n_classes):
    return [sum((w for y, w in zip(labels, weight, strict=True) if y == c), Fraction(0)) for c in range(n_classes)]


def impurity(totals):
    """Gini impurity times the weight of the node."""
    return sum(totals) - sum(t * t for t in totals) / sum(totals)


def best_split(X, labels, weight, n_classes, min_samples_leaf):
    """Column and threshold of least impurity; of equally good ones the first column's, then the lowest."""
    candidates = []
    for j in range(len(X[0])):
        values = sorted({x[j] for x in X})
        for low, high in pairwise(values):
            goes_left = [x[j] <= low for x in X]
            if min(sum(goes_left), len(X) - sum(goes_left)) < min_samples_leaf:
                continue
            sides = [[i for i, is_left in enumerate(goes_left) if is_left == side] for side in (True, False)]
            cost = sum(
                impurity(class_weights([labels[i] for i in side], [weight[i] for i in side], n_classes))
                for side in sides
            )
            candidates.append((cost, j, (low + high) / 2))
    return min(candidates, default=None)


def grow(X, labels, weight, n_classes, max_depth=None, min_samples_leaf=1):
    """A leaf is a class code; a split is (column, threshold, left, right). ``X`` is a list of rows."""
    counted = [i for i, w in enumerate(weight) if w > 0]
    X, labels, weight = [X[i] for i in counted], [labels[i] for i in counted], [Fraction(weight[i]) for i in counted]
    totals = class_weights(labels, weight, n_classes)
    split = None
    if max_depth != 0 and impurity(totals) > 0:
        split = best_split(X, labels, weight, n_classes, min_samples_leaf)
    if split is None:
        return totals.index(max(totals))
    _, j, threshold = split
    deeper = None if max_depth is None else max_depth - 1
    branches = []
    for side in (True, False):
        at = [i for i, x in enumerate(X) if (x[j] <= threshold) == side]
        part = [X[i] for i in at], [labels[i] for i in at], [weight[i] for i in at]
        branches.append(grow(*part, n_classes, deeper, min_samples_leaf))
    return (j, threshold, *branches)
