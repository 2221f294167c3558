"""Clusters of the samples on the kept features."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from tamis import MaxVariance
from tamis.assess._clusters import cluster_samples
from tamis.assess._labels import clustering_accuracy


def data(seed=0, n=90):
    """Three classes that column 1 tells apart, beside columns of noise that are far larger, and a constant one."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, 5)) * [100.0, 0.01, 100.0, 100.0, 0.0] + 5.0
    X[:, 1] += y
    return X, y


def test_the_kept_columns_alone_make_the_clusters():
    X, y = data()
    assert clustering_accuracy(y, cluster_samples(X, [1], n_clusters=3, random_state=0)) == 1
    assert clustering_accuracy(y, cluster_samples(X, [0, 2], n_clusters=3, random_state=0)) < 0.7


def test_standardized_clusters_are_those_of_k_means_on_standardized_columns():
    X, _ = data()
    found = cluster_samples(X, [0, 1, 4], n_clusters=4, random_state=3)
    reference = KMeans(4, n_init=10, random_state=3).fit_predict(StandardScaler().fit_transform(X[:, [0, 1, 4]]))
    assert clustering_accuracy(reference, found) == 1


def test_without_standardization_large_columns_rule():
    X, y = data()
    accuracy = [
        clustering_accuracy(y, cluster_samples(X, [0, 1], n_clusters=3, standardize=standardize, random_state=0))
        for standardize in (True, False)
    ]
    assert accuracy[0] > accuracy[1]


def test_masks_rankers_and_every_kind_of_table_give_the_same_clusters():
    X, _ = data()
    X[::4, 1] = 0.0
    expected = cluster_samples(X, [1, 2], n_clusters=3, random_state=0)
    names = list("abcde")
    mask = [name in "bc" for name in names]
    tables = [sparse.csr_array(X), X.tolist()]
    tables += [library.DataFrame(dict(zip(names, X.T, strict=True))) for library in (pd, pl)]
    for table in tables:
        assert clustering_accuracy(expected, cluster_samples(table, mask, n_clusters=3, random_state=0)) == 1
    with config_context(array_api_dispatch=True):
        found = cluster_samples(torch.asarray(X), mask, n_clusters=3, random_state=0)
    assert isinstance(found, np.ndarray)
    assert clustering_accuracy(expected, found) == 1
    ranker = MaxVariance(stop=1).fit(X)
    of_ranker = cluster_samples(X, ranker, n_clusters=3, random_state=0)
    np.testing.assert_array_equal(of_ranker, cluster_samples(X, ranker.support_, n_clusters=3, random_state=0))


def test_the_same_seed_gives_the_same_clusters():
    X, _ = data()
    first, second = (cluster_samples(X, n_clusters=5, n_init=1, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert set(first) == set(range(5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 91}, "n_clusters=91"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 3, "support": []}, "nothing to judge"),
        ({"n_clusters": 3, "support": [7]}, "index 7, but there are 5 features"),
    ],
)
def test_bad_arguments_are_refused_with_their_reason(arguments, message):
    with pytest.raises(ValueError, match=message):
        cluster_samples(data()[0], **arguments)


def test_a_ranker_fitted_on_other_columns_is_refused():
    X, _ = data()
    ranker = MaxVariance(stop=1).fit(pd.DataFrame(X, columns=list("abcde")))
    with pytest.raises(ValueError, match="column 0 of X is 'e', but MaxVariance was fitted with 'a'"):
        cluster_samples(pd.DataFrame(X, columns=list("edcba")), ranker, n_clusters=2)
