"""Importance of features in a fitted model, one prediction at a time."""

import numpy as np
from sklearn.metrics import get_scorer


def permutation_drops(model, X, y, members, permutations, scoring):
    """Score on the table less the mean score on copies of it in which the columns of a candidate are permuted."""
    scorer = get_scorer(scoring)
    whole = scorer(model, X, y)
    drops = []
    for columns in members:
        scores = []
        for rows in permutations:
            permuted = X.copy()
            for column in columns:
                permuted[:, column] = X[rows, column]
            scores.append(scorer(model, permuted, y))
        drops.append(whole - np.mean(scores))
    return np.array(drops)


def linear_contributions(weights, seen, unseen, members):
    """Mean norm, over outputs, of what the columns of a candidate add to a linear model."""
    means = seen.mean(axis=0)
    found = []
    for columns in members:
        sizes = []
        for row in unseen:
            added = [sum(w[j] * (row[j] - means[j]) for j in columns) for w in np.atleast_2d(weights)]
            sizes.append(np.sqrt(np.sum(np.square(added))))
        found.append(np.mean(sizes))
    return np.array(found)
