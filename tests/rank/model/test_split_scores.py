"""Single splits, all columns and thresholds at once, against every threshold in turn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.rank.model._split_scores import rank_values, split_information, split_variance
from tests.oracles.splits import best_split, entropy


def table(seed, n=25, d=6):
    """Whole numbers with many zeros and ties, a constant, and a column without zeros."""
    rng = np.random.RandomState(seed)
    X = rng.randint(-3, 4, size=(n, d)) * (rng.uniform(size=(n, d)) < 0.6)
    X[:, 1], X[:, 2] = 4, rng.randint(1, 5, size=n)
    return X.astype(float)


@given(st.integers(0, 10**6), st.integers(1, 14), st.sampled_from([np.asarray, sparse.csc_array, sparse.csr_array]))
@settings(max_examples=40, deadline=None)
def test_the_best_split_is_that_of_every_threshold_in_turn(seed, min_samples_leaf, container):
    X, rng = table(seed), np.random.RandomState(seed)
    codes = rank_values(container(X))
    labels = np.append([0, 1, 2], rng.randint(3, size=len(X) - 3))
    quantity = rng.standard_normal(len(X))
    quantity -= quantity.mean()
    told = [best_split(column, labels, entropy, min_samples_leaf) for column in X.T]
    np.testing.assert_allclose(split_information(codes, labels, min_samples_leaf), told, atol=1e-12)
    told = [best_split(column, quantity, np.var, min_samples_leaf) / np.var(quantity) for column in X.T]
    np.testing.assert_allclose(split_variance(codes, quantity, min_samples_leaf), told, atol=1e-12)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_ranks_keep_the_order_of_the_values_and_the_zeros(seed):
    X = table(seed) * 1e200
    dense, stored = rank_values(X), rank_values(sparse.csr_array(X))
    np.testing.assert_array_equal(dense, np.column_stack([np.unique(c, return_inverse=True)[1] for c in X.T]))
    back = stored.toarray()
    np.testing.assert_array_equal(back == 0, X == 0)
    np.testing.assert_array_equal(np.sign(back[:, None] - back[None]), np.sign(X[:, None] - X[None]))


def test_blocks_of_columns_change_nothing(monkeypatch):
    X = table(0)
    whole = rank_values(X)
    monkeypatch.setattr("tamis.rank.model._split_scores._ENTRIES", 1)
    np.testing.assert_array_equal(rank_values(X), whole)


@pytest.mark.parametrize("container", [np.asarray, sparse.csc_array])
def test_the_input_stays_as_it_was(container):
    X = container(table(0))
    before = X.copy()
    rank_values(X)
    assert (before != X).sum() == 0
