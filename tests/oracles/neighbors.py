"""Nearest neighbors and what they predict, one pair of rows at a time."""

import numpy as np
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor


def nearest(X, n_neighbors, query=None):
    """Indices and distances, ties to the lowest row; a row is no neighbor of itself."""
    asking = X if query is None else query
    distance = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in X] for a in asking])
    if query is None:
        np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1, kind="stable")[:, :n_neighbors]
    return order, np.take_along_axis(distance, order, axis=1)


def feature_r2(X, kept, n_neighbors, mode):
    """One scikit-learn regressor per feature; leave-one-out by really leaving one out."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    found = []
    for j in range(X.shape[1]):
        if mode == "thesis":
            guess = KNeighborsRegressor(n_neighbors).fit(Z[:, kept], X[:, j]).predict(Z[:, kept])
        else:
            guess = np.empty(len(X))
            for i in range(len(X)):
                others = np.delete(np.arange(len(X)), i)
                regressor = KNeighborsRegressor(n_neighbors).fit(Z[others][:, kept], X[others, j])
                guess[i] = regressor.predict(Z[i : i + 1][:, kept])[0]
        found.append(r2_score(X[:, j], guess))
    return np.array(found)
