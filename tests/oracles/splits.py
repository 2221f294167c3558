"""The best split of one column by trying every threshold."""

import numpy as np


def entropy(labels):
    """In nats."""
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return -np.sum(share * np.log(share))


def best_split(column, y, impurity, min_samples_leaf=1):
    """Largest drop of the impurity over the thresholds between two values; NaN where there is none."""
    gains = [np.nan]
    for threshold in np.unique(column)[:-1]:
        left = column <= threshold
        if min(left.sum(), (~left).sum()) >= min_samples_leaf:
            gains.append(impurity(y) - left.mean() * impurity(y[left]) - (~left).mean() * impurity(y[~left]))
    return np.nanmax(gains) if len(gains) > 1 else np.nan


def error(labels):
    """Share of rows outside of the most frequent class."""
    return 1.0 - np.unique(labels, return_counts=True)[1].max() / len(labels)


def thresholds(column, y, min_samples_leaf):
    """Of every allowed threshold: mutual information, its ratio to the entropy of sides, drop of the error, rows."""
    found = []
    for threshold in np.unique(column)[:-1]:
        left = column <= threshold
        if min(left.sum(), (~left).sum()) < min_samples_leaf:
            continue
        drops = [
            impurity(y) - left.mean() * impurity(y[left]) - (~left).mean() * impurity(y[~left])
            for impurity in (entropy, error)
        ]
        found.append((drops[0], drops[0] / entropy(left), drops[1], left))
    return found


def by_gain_ratio(X, y, min_samples_leaf):
    """Column, rows on the lower side and mutual information of the split that C4.5 makes; None for a leaf."""
    best = {}
    for j, column in enumerate(X.T):
        for gain, ratio, _, left in thresholds(column, y, min_samples_leaf):
            if gain > 1e-10 and (j not in best or gain > best[j][1] + 1e-12):
                best[j] = (ratio, gain, left)
    if not best:
        return None
    mean = np.mean([gain for _, gain, _ in best.values()])
    eligible = [j for j in best if best[j][1] >= mean - 1e-12]
    j = max(eligible, key=lambda j: (round(best[j][0], 11), -j))
    return j, best[j][2], best[j][1]


def by_error(X, y, min_samples_leaf):
    """The same for the split with the fewest errors, of these the most informative, and the drop of the error."""
    splits = [
        (round(drop, 11), round(gain, 11), -j, left)
        for j, column in enumerate(X.T)
        for gain, _, drop, left in thresholds(column, y, min_samples_leaf)
    ]
    if not splits or max(gain for _, gain, _, _ in splits) <= 0:
        return None
    drop, _, place, left = max(splits, key=lambda split: split[:3])
    return -place, left, drop


def tree_gains(X, y, find_split, max_depth=None, min_samples_leaf=1):
    """What the splits of a tree on every column gain, weighted by their share of the rows."""
    gains = np.zeros(X.shape[1])

    def grow(rows, depth):
        split = None if depth == max_depth or len(set(y[rows])) == 1 else find_split(X[rows], y[rows], min_samples_leaf)
        if split is None:
            return
        column, left, gain = split
        gains[column] += gain * len(rows) / len(y)
        grow(rows[left], depth + 1)
        grow(rows[~left], depth + 1)

    grow(np.arange(len(y)), 0)
    return gains
