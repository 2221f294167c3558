"""Neighbors' votes in many subsets at once, against sorting of every distance and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from tamis.rank.stochastic._subset_neighbors import euclidean_keys, hamming_keys, vote_neighbors

QUICK = settings(deadline=None, max_examples=40, derandomize=True)


def make_rows(shape=(4, 40, 3), n_queries=25, n_classes=3, discrete=False, seed=0):
    rng = np.random.RandomState(seed)
    every = (shape[0], shape[1] + n_queries, shape[2])
    rows = rng.randint(-1, 2, every).astype(float) if discrete else rng.standard_normal(every)
    labels = rng.randint(n_classes, size=(2, shape[1]))
    return rows[:, : shape[1]], rows[:, shape[1] :], labels


def vote_slowly(table, query, labels, n_classes, n_neighbors, metric):
    """Sort by distance, then by place; the first of the classes with most votes."""
    if metric == "hamming":
        far = [sum(a != b for a, b in zip(row, query, strict=True)) for row in table]
    else:
        far = [sum((a - b) ** 2 for a, b in zip(row, query, strict=True)) for row in table]
    nearest = sorted(range(len(table)), key=lambda place: (far[place], place))[:n_neighbors]
    votes = [sum(labels[place] == code for place in nearest) for code in range(n_classes)]
    return votes.index(max(votes))


def check_votes(tables, queries, labels, n_classes, n_neighbors, metric):
    found = vote_neighbors(tables, queries, labels, n_classes, n_neighbors=n_neighbors, metric=metric)
    expected = [
        [[vote_slowly(table, query, line, n_classes, n_neighbors, metric) for query in asked] for line in labels]
        for table, asked in zip(tables, queries, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)


@QUICK
@given(seed=st.integers(0, 2**31 - 1), n_neighbors=st.integers(1, 12), metric=st.sampled_from(["euclidean", "hamming"]))
def test_votes_are_those_of_the_nearest_rows(seed, n_neighbors, metric):
    rows = make_rows((2, 12, 3), 5, discrete=metric == "hamming", seed=seed)
    check_votes(*rows, 3, n_neighbors, metric)


@QUICK
@given(seed=st.integers(0, 2**31 - 1), n_neighbors=st.integers(1, 12), metric=st.sampled_from(["euclidean", "hamming"]))
def test_of_rows_as_far_the_first_has_the_vote(seed, n_neighbors, metric):
    rows = make_rows((2, 50, 2), 5, discrete=True, seed=seed)
    check_votes(*rows, 3, n_neighbors, metric)


@pytest.mark.parametrize("n_neighbors", [1, 5, 40])
def test_classes_are_those_of_scikit_learn(n_neighbors):
    tables, queries, labels = make_rows()
    found = vote_neighbors(tables, queries, labels, 3, n_neighbors=n_neighbors, metric="euclidean")
    for b in range(len(tables)):
        for line, codes in enumerate(labels):
            peer = KNeighborsClassifier(n_neighbors, algorithm="brute").fit(tables[b], codes)
            np.testing.assert_array_equal(found[b, line], peer.predict(queries[b]))


def test_hamming_votes_are_those_of_scikit_learn_where_no_rows_are_as_far():
    """Chains: row i differs from the query in i columns."""
    n_columns = 8
    table = np.tril(np.ones((n_columns + 1, n_columns)), -1)
    labels = np.arange(n_columns + 1)[None] % 3
    queries = np.zeros((1, 1, n_columns))
    for n_neighbors in (1, 2, 3, 4, 9):
        found = vote_neighbors(table[None], queries, labels, 3, n_neighbors=n_neighbors, metric="hamming")
        peer = KNeighborsClassifier(n_neighbors, algorithm="brute", metric="hamming").fit(table, labels[0])
        np.testing.assert_array_equal(found[0, 0], peer.predict(queries[0]))


def test_keys_are_distances_up_to_what_all_rows_share():
    tables, queries, _ = make_rows()
    squared = ((queries[:, :, None, :] - tables[:, None, :, :]) ** 2).sum(axis=3)
    np.testing.assert_allclose(np.ptp(squared - euclidean_keys(queries, tables), axis=2), 0.0, atol=1e-12)
    tables, queries, _ = make_rows(discrete=True)
    keys = hamming_keys(queries, tables)
    differ = (queries[:, :, None, :] != tables[:, None, :, :]).sum(axis=3)
    np.testing.assert_array_equal(keys // tables.shape[1], differ)
    assert np.all(np.diff(np.sort(keys, axis=2), axis=2) > 0)


@pytest.mark.parametrize("metric", ["euclidean", "hamming"])
def test_a_column_of_zeros_changes_nothing(metric):
    tables, queries, labels = make_rows(discrete=True)
    wider = [np.concatenate([each, np.zeros((*each.shape[:2], 2))], axis=2) for each in (tables, queries)]
    found = vote_neighbors(*wider, labels, 3, n_neighbors=5, metric=metric)
    np.testing.assert_array_equal(found, vote_neighbors(tables, queries, labels, 3, n_neighbors=5, metric=metric))
