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
