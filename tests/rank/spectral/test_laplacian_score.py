"""Laplacian score against its double sum, and its identity with the Fisher score."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context

from tamis import FisherScore, LaplacianScore
from tests.oracles.graph import heat_matrix, laplacian_score


def table(n=30, d=5, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d))


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("weight", ["heat", "binary", "cosine"])
@pytest.mark.parametrize("self_loops", [True, False])
def test_it_is_the_double_sum_over_pairs(weight, self_loops):
    X = standardized(table())
    M = heat_matrix(X, 5, 1.5, weight) + self_loops * np.eye(30)
    expected = [-laplacian_score(M, f) for f in X.T]
    found = LaplacianScore(weight=weight, width=1.5, self_loops=self_loops, standardize=False).fit(X)
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-10)


@settings(deadline=None, max_examples=25, derandomize=True)
@given(seed=st.integers(0, 10_000), sizes=st.lists(st.integers(2, 12), min_size=2, max_size=4))
def test_with_classes_it_is_one_over_one_plus_the_fisher_score(seed, sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = table(y.size, 4, seed) + 0.5 * y[:, None]
    laplacian = LaplacianScore(weight="class").fit(X, y)
    fisher = FisherScore().fit(X, y)
    np.testing.assert_allclose(-laplacian.scores_, 1 / (1 + fisher.scores_), rtol=1e-9)
    np.testing.assert_array_equal(laplacian.order_, fisher.order_)


def test_smooth_features_come_first():
    rng = np.random.RandomState(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    smooth = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.column_stack([rng.standard_normal((200, 2)), smooth + 0.05 * rng.standard_normal((200, 2))])
    assert set(LaplacianScore(stop=2).fit(X).order_[:2]) == {2, 3}


def test_units_do_not_matter():
    X = table()
    scaled = X * 10.0 ** np.arange(-2, 3) + 7
    np.testing.assert_allclose(LaplacianScore().fit(scaled).scores_, LaplacianScore().fit(X).scores_, rtol=1e-8)


def test_sparse_and_array_api_tables_give_the_same_scores():
    X = sparse.random_array((60, 8), density=0.5, rng=0, format="csr")
    expected = LaplacianScore(stop=3).fit(X.toarray())
    np.testing.assert_allclose(LaplacianScore(stop=3).fit(X).scores_, expected.scores_, rtol=1e-9)
    with config_context(array_api_dispatch=True):
        found = LaplacianScore(stop=3).fit(array_api_strict.asarray(X.toarray()))
        np.testing.assert_allclose(np.asarray(found.scores_), expected.scores_, rtol=1e-9)


def test_a_kernel_so_narrow_that_nothing_is_tied_is_refused():
    with pytest.raises(ValueError, match="width=1e-06 is so small"):
        LaplacianScore(width=1e-6).fit(table())


def test_tying_by_class_needs_classes():
    with pytest.raises(ValueError, match="give their classes as y"):
        LaplacianScore(weight="class").fit(table())
    with pytest.raises(ValueError, match="30 rows, but y has 2"):
        LaplacianScore(weight="class").fit(table(), [0, 1])


def test_more_neighbors_than_samples_tie_all():
    found = LaplacianScore(n_neighbors=500).fit(table(8))
    assert np.isfinite(found.scores_).all()


def test_rows_of_zeros_have_no_cosine():
    X = np.abs(table(30, 4))
    X[:3] = 0
    expected = LaplacianScore(weight="cosine", standardize=False).fit(X).scores_
    for layout in (np.asfortranarray, sparse.csr_array):
        found = LaplacianScore(weight="cosine", standardize=False).fit(layout(X)).scores_
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_samples_that_all_point_elsewhere_cannot_be_tied_by_cosine():
    with pytest.raises(ValueError, match="no two samples point the same way"):
        LaplacianScore(weight="cosine").fit(np.eye(5))


def test_missing_classes_are_refused():
    with pytest.raises(ValueError, match="contains NaN or no label in 1 of 30 rows"):
        LaplacianScore(weight="class").fit(table(), [None, *["a", "b"] * 14, "a"])
