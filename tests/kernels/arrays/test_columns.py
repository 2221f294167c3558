"""Candidate columns answer as the explicit, centered and weighted table would."""

import array_api_strict
import numpy as np
import pytest
import sklearn
import torch
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tests.oracles.gram_schmidt import centered

N, D = 37, 9
EVERY = np.arange(D)

CONTAINERS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "csc": sparse.csc_array,
    "csr": sparse.csr_array,
    "csc matrix": sparse.csc_matrix,
    "torch": torch.asarray,
    "strict": array_api_strict.asarray,
}
WEIGHTS = {
    "no weights": None,
    "whole weights": np.arange(N) % 4.0,
    "any weights": 0.2 + np.random.RandomState(3).uniform(size=N),
}


@pytest.fixture(autouse=True)
def array_api():
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture
def table():
    """Columns of different scales, many zeros, one of them constant and one all zero."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((N, D)) * np.logspace(-3, 3, D)
    X[rng.uniform(size=X.shape) < 0.5] = 0.0
    X[:, 4] = 0.1
    X[:, 7] = 0.0
    return X


def as_numpy(array):
    return np.asarray(array.detach() if isinstance(array, torch.Tensor) else array)


def directions(columns, weight, fit_intercept, m=3):
    """A few vectors such as a search sends: orthogonal to the intercept if there is one."""
    V = np.random.RandomState(1).standard_normal((N, m))
    if fit_intercept:
        unit = np.sqrt(np.ones(N) if weight is None else weight)
        unit = unit / np.linalg.norm(unit)
        V -= np.outer(unit, unit @ V)
    return V, columns.as_array(V)


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_norms_products_columns_and_means_equal_those_of_the_explicit_table(table, container, weight, fit_intercept):
    Z = centered(table, weight, fit_intercept)
    columns = as_columns(container(table), weight, fit_intercept=fit_intercept)
    size = np.linalg.norm(table, axis=0)

    np.testing.assert_allclose(as_numpy(columns.norm2), np.sum(Z**2, axis=0), rtol=1e-10, atol=1e-25)
    V, sent = directions(columns, weight, fit_intercept)
    np.testing.assert_allclose(as_numpy(columns.dot(sent)), Z.T @ V, rtol=1e-9, atol=1e-13 * size.max())
    some = np.array([8, 0, 4])
    np.testing.assert_allclose(as_numpy(columns.columns(some)), Z[:, some], rtol=1e-9, atol=1e-15)
    w = np.ones(N) if weight is None else weight
    expected = w @ table / w.sum() if fit_intercept else np.zeros(D)
    np.testing.assert_allclose(columns.means(EVERY), expected, rtol=1e-12)
    assert columns.total == pytest.approx(w.sum())
    assert (columns.n_samples, columns.n_candidates) == (N, D)


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
@pytest.mark.parametrize("constant", [0.1, -3.7, 1e9, 1e-9, 0.0])
def test_a_constant_column_has_a_norm_of_exactly_zero(container, constant):
    X = np.random.RandomState(0).standard_normal((N, D))
    X[:, 2] = constant
    norm2 = as_numpy(as_columns(container(X)).norm2)
    assert norm2[2] == 0.0
    assert np.all(np.delete(norm2, 2) > 1.0)


@pytest.mark.parametrize("weight", [None, 0.5 + np.random.RandomState(5).uniform(size=N)], ids=["plain", "weighted"])
@pytest.mark.parametrize("offset", [1e4, 1e7, 1e9])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_a_mean_that_dwarfs_the_spread_blurs_neither_norm_nor_product(container, offset, weight):
    X = np.random.RandomState(0).standard_normal((N, D))
    X[:, 3] += offset
    w = np.ones(N) if weight is None else weight
    exact = X.astype(np.longdouble)
    exact -= w @ exact / w.sum()
    Z = (np.sqrt(w)[:, None] * exact).astype(float)

    columns = as_columns(container(X), weight)
    np.testing.assert_allclose(as_numpy(columns.norm2), np.sum(Z**2, axis=0), rtol=1e-6)
    V, sent = directions(columns, weight, True)
    lost = 50 * np.finfo(float).eps * offset * N  # what the last bits of a sum of such numbers may hold
    np.testing.assert_allclose(as_numpy(columns.dot(sent)), Z.T @ V, rtol=1e-6, atol=max(1e-9, lost))
    np.testing.assert_allclose(as_numpy(columns.columns(np.array([3]))), Z[:, [3]], rtol=1e-5, atol=1e-6)


def test_float32_columns_keep_what_single_precision_holds_of_an_ill_centred_column():
    X = np.random.RandomState(0).standard_normal((N, D)).astype(np.float32)
    X[:, 3] = 5000 + X[:, 3]
    Z = centered(X)
    columns = as_columns(X)
    np.testing.assert_allclose(columns.norm2, np.sum(Z**2, axis=0), rtol=1e-5)
    V, sent = directions(columns, None, True)
    np.testing.assert_allclose(columns.dot(sent), Z.T @ V, atol=1e-4)
    np.testing.assert_allclose(columns.columns(EVERY), Z, atol=1e-10)


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("container", [np.asarray, torch.asarray, sparse.csc_array], ids=["numpy", "torch", "csc"])
def test_float32_products_agree_with_double_ones_to_single_precision(table, container, weight, fit_intercept):
    X = (table / np.logspace(-3, 3, D)).astype(np.float32)
    Z = centered(X, weight, fit_intercept)
    columns = as_columns(container(X), weight, fit_intercept=fit_intercept)
    np.testing.assert_allclose(as_numpy(columns.norm2), np.sum(Z**2, axis=0), rtol=1e-6, atol=1e-12)
    V, sent = directions(columns, weight, fit_intercept)
    np.testing.assert_allclose(as_numpy(columns.dot(sent)), Z.T @ V, atol=1e-4)
    assert as_numpy(columns.dot(sent)).dtype == np.float64


def test_a_table_wider_and_longer_than_one_tile_is_summed_entirely():
    X = np.random.RandomState(0).standard_normal((300, 5000))
    columns = as_columns(X)
    Z = X - X.mean(axis=0)
    np.testing.assert_allclose(columns.norm2, np.sum(Z**2, axis=0), rtol=1e-10)
    np.testing.assert_allclose(columns.means(np.arange(5000)), X.mean(axis=0), atol=1e-14)


def test_center_rows_makes_targets_orthogonal_to_the_weighted_intercept():
    weight = WEIGHTS["any weights"]
    Y = 5 + np.random.RandomState(0).standard_normal((N, 2))
    out = as_columns(np.eye(N), weight).center_rows(Y)
    np.testing.assert_allclose(out, centered(Y, weight), rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(weight) @ out, 0, atol=1e-12)
    np.testing.assert_array_equal(as_columns(np.eye(N), fit_intercept=False).center_rows(Y), Y)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, torch.asarray], ids=["numpy", "csr", "torch"])
def test_the_table_is_not_written_to(table, container):
    before = table.copy()
    columns = as_columns(container(table), WEIGHTS["any weights"])
    columns.dot(directions(columns, WEIGHTS["any weights"], True)[1])
    columns.columns(EVERY)
    np.testing.assert_array_equal(table, before)
