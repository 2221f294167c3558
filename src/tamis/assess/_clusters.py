"""Clusters of the samples, as the kept features show them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from tamis.assess._support import as_support, check_names
from tamis.assess._tables import kept_columns, read_table
from tamis.kernels.arrays.columns import to_numpy


def cluster_samples(
    X: Any,
    support: Any = None,
    *,
    n_clusters: int,
    n_init: int = 10,
    standardize: bool = True,
    random_state: Any = None,
) -> np.ndarray:
    r"""Cluster the samples by k-means on the kept features.

    .. math:: \min_{A_1, \dots, A_\kappa} \sum_{k=1}^\kappa \sum_{i \in A_k} \|x_{i,S} - \bar x_{k,S}\|^2

    Doquet (2019), Sec. 5.2.2: what :func:`clustering_accuracy` and :func:`normalized_mutual_info` compare with the
    true classes, at as many clusters :math:`\kappa` as there are classes.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Dense, sparse or a data frame.
    support : mask, indices or fitted ranker, default=None
        The kept features; None for all of them.
    n_clusters : int
    n_init : int, default=10
        Starts; the one of least inertia wins.
    standardize : bool, default=True
        Scale the kept columns to unit variance first. (Centering them would change nothing.)
    random_state : int, RandomState or None, default=None

    Returns
    -------
    ndarray of shape (n_samples,)
        Cluster of each sample, 0 to ``n_clusters - 1``.

    Notes
    -----
    Cost: ``n_init`` runs of scikit-learn's ``KMeans`` on the kept columns alone, in the main memory. The result
    depends on the start: average the figures made of it over several seeds.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 5.2.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis.assess import cluster_samples, clustering_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> clusters = cluster_samples(X, [2, 3], n_clusters=3, random_state=0)
    >>> round(clustering_accuracy(y, clusters), 2)
    0.96
    """
    table, names = read_table(X)
    check_names(support, names)
    kept = as_support(support, table.shape[1])
    columns, _ = kept_columns(table, kept, None, standardize=standardize)
    return KMeans(n_clusters, n_init=n_init, random_state=random_state).fit(to_numpy(columns)).labels_
