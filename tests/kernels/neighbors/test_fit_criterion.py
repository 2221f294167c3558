"""The Gram form, and FIT along an order, against the plain ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.kernels.neighbors.fit_criterion import (
    fit_along,
    fit_from_gram,
    fit_of_all,
    own_neighbors,
    r2_from_neighbors,
    standardized_gram,
)


def table(seed, n=30, d=12):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.1 * rng.standard_normal((n, d))


@settings(deadline=None, max_examples=20, derandomize=True)
@given(seed=st.integers(0, 1000), d=st.integers(1, 60), itself=st.booleans())
def test_the_mean_from_the_gram_matrix_is_the_mean_over_the_features(seed, d, itself):
    X = table(seed, d=d)
    X[:, d // 2 :: 7] = 3.3
    if np.ptp(X, axis=0).max() == 0:
        return
    neighbors = own_neighbors(X, 4, itself=itself)
    r2 = r2_from_neighbors(X, neighbors)
    np.testing.assert_allclose(fit_from_gram(standardized_gram(X), neighbors), np.nanmean(r2), atol=1e-12)


def test_fit_along_an_order_is_that_of_each_selection_by_itself():
    X = table(0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    gram = standardized_gram(X)
    order = np.random.RandomState(1).permutation(12)
    sizes = [1, 4, 5, 12]
    expected = [np.mean(r2_from_neighbors(X, own_neighbors(Z[:, order[:k]], 5, itself=False))) for k in sizes]
    np.testing.assert_allclose(list(fit_along(X, order, sizes, gram, 5)), expected, atol=1e-12)
    assert fit_of_all(gram, 5) == pytest.approx(expected[-1], abs=1e-12)
    np.testing.assert_allclose(list(fit_along(sparse.csr_array(X), order, sizes, gram, 5)), expected, atol=1e-12)


def test_the_gram_matrix_of_a_sparse_table_is_that_of_the_dense_one():
    X = table(0) * (np.random.RandomState(1).uniform(size=(30, 12)) < 0.5) + 3 * np.eye(30, 12)
    X[:, 4], X[:, 7] = 2.5, 0.0
    np.testing.assert_allclose(standardized_gram(sparse.csr_array(X)), standardized_gram(X), atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_units_of_the_features_do_not_matter(scale):
    X = table(0)
    neighbors = own_neighbors(X[:, :3], 5, itself=False)
    np.testing.assert_allclose(r2_from_neighbors(scale * X + 5 * scale, neighbors), r2_from_neighbors(X, neighbors))


def test_one_neighbor_that_is_the_sample_itself_recovers_everything():
    X = table(0)
    np.testing.assert_allclose(r2_from_neighbors(X, own_neighbors(X[:, :1], 1, itself=True)), 1.0)
