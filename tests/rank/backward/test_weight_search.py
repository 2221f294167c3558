"""The feature of least weight is found without looking at all of them every time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.rank.backward._weight_search import WeightSearch, row_norms, squared_weights

QUICK = settings(deadline=None, max_examples=25, derandomize=True)
MAKERS = {"dense": np.asarray, "sparse": sparse.csr_array}


def make_table(n_features, n_samples, seed, shape="plain"):
    """One feature per row."""
    rng = np.random.RandomState(seed)
    table = rng.standard_normal((n_features, n_samples)) * rng.lognormal(0.0, 2.0, (n_features, 1))
    if shape == "thin":
        table *= rng.random_sample(table.shape) < 0.2
    elif shape == "copies":
        table[rng.permutation(n_features)] = table[rng.randint(0, max(1, n_features // 3), n_features)]
    elif shape == "zeros":
        table[rng.random_sample(n_features) < 0.3] = 0.0
    elif shape == "integers":
        table = np.round(rng.standard_normal(table.shape))
    return table


def brute_force(table, V, left):
    """The feature left of least squared weight, the last of equal ones, and that weight."""
    squares = ((table[left] @ V.T) ** 2).sum(axis=1)
    equal = np.flatnonzero(squares <= squares.min() * (1.0 + 1e-10) + 1e-26 * squares.max())
    return left[equal[-1]], squares[equal[-1]]


def walk(table, make, n_models, pace, seed):
    """Ask for the least feature, remove it, move the dual variables, until none is left: the number of passes."""
    rng = np.random.RandomState(seed)
    V = rng.standard_normal((n_models, table.shape[1]))
    search, left = WeightSearch(make(table)), np.arange(len(table))
    while left.size:
        feature, weight = search.least(V)
        expected, expected_weight = brute_force(table, V, left)
        assert feature == expected
        scale = (np.linalg.norm(table[feature]) * np.linalg.norm(V)) ** 2
        np.testing.assert_allclose(weight, expected_weight, rtol=1e-8, atol=1e-20 * scale)
        np.testing.assert_array_equal(search.features, left)
        assert search.n_remaining == left.size
        column = search.remove(np.array([feature]))
        np.testing.assert_array_equal(column.toarray() if sparse.issparse(column) else column, table[[feature]])
        left = left[left != feature]
        V = V + pace * rng.standard_normal(V.shape)
    return search.n_passes


@QUICK
@given(
    st.integers(1, 250),
    st.sampled_from(["plain", "thin", "copies", "zeros", "integers"]),
    st.sampled_from([1, 3]),
    st.sampled_from([0.0, 1e-3, 0.1, 3.0]),
    st.sampled_from(sorted(MAKERS)),
    st.integers(0, 10**6),
)
def test_the_least_feature_is_that_of_a_look_at_all(n_features, shape, n_models, pace, kind, seed):
    walk(make_table(n_features, 8, seed, shape), MAKERS[kind], n_models, pace, seed)


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_models_that_change_little_need_few_passes(kind):
    assert walk(make_table(600, 10, 0), MAKERS[kind], 2, 1e-4, 1) < 600 / 10


def test_of_copies_the_last_is_the_least():
    table = np.tile(make_table(1, 6, 0), (200, 1))
    search, V = WeightSearch(table), np.random.RandomState(1).standard_normal((1, 6))
    for expected in range(199, -1, -1):
        feature, _ = search.least(V)
        assert feature == expected
        search.remove(np.array([feature]))


def test_many_features_may_leave_between_two_questions():
    rng = np.random.RandomState(0)
    table, left = make_table(300, 7, 2), np.arange(300)
    search, V = WeightSearch(table.copy()), rng.standard_normal((2, 7))
    while left.size > 10:
        assert search.least(V)[0] == brute_force(table, V, left)[0]
        gone = rng.permutation(left)[: rng.randint(1, 9)]
        np.testing.assert_array_equal(search.remove(gone), table[gone])
        left = np.setdiff1d(left, gone)
        if rng.randint(3) == 0:
            np.testing.assert_allclose(search.weights(V), squared_weights(table[left], V))
            np.testing.assert_array_equal(search.table, table[left])
        V = V + 0.01 * rng.standard_normal(V.shape)


def test_weights_of_all_are_a_pass():
    search = WeightSearch(make_table(20, 5, 0))
    V = np.ones((1, 5))
    search.weights(V)
    search.least(V)
    assert search.n_passes == 2
    search.least(V)
    assert search.n_passes == 2


def test_the_table_is_not_written_to():
    table = make_table(100, 5, 0)
    table.setflags(write=False)
    walk(table, np.asarray, 1, 0.1, 0)


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_norms_and_weights_follow_their_formulas(kind):
    table, V = make_table(9, 5, 3, "thin"), np.random.RandomState(0).standard_normal((2, 5))
    np.testing.assert_allclose(row_norms(MAKERS[kind](table)), np.linalg.norm(table, axis=1))
    np.testing.assert_allclose(squared_weights(MAKERS[kind](table), V), ((table @ V.T) ** 2).sum(axis=1))
