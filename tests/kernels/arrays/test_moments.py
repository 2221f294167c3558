"""Moments of columns on a device, against numpy in double precision."""

import array_api_strict
import numpy as np
import pytest
import sklearn
import torch

from tamis.kernels.arrays.moments import column_moments
from tamis.kernels.arrays.transfer import from_numpy, to_numpy

NAMESPACES = {"torch": torch.asarray, "strict": array_api_strict.asarray}


@pytest.fixture(autouse=True)
def array_api():
    with sklearn.config_context(array_api_dispatch=True):
        yield


def table(n, seed=0):
    """Columns of different scales and offsets, a constant one and one of zeros."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 6)) * [1, 1e-3, 1e3, 1, 1, 1] + [0, 1, -1e3, 50, 0, 0]
    X[:, 4], X[:, 5] = 0.1, 0.0
    return X


def expected(X):
    X = X.astype(float)
    return X.mean(axis=0), np.sum((X - X.mean(axis=0)) ** 2, axis=0)


@pytest.mark.parametrize("container", NAMESPACES.values(), ids=NAMESPACES)
@pytest.mark.parametrize(("kind", "rtol"), [(np.float64, 1e-11), (np.float32, 3e-7)])
@pytest.mark.parametrize("n", [1, 7, 256, 300, 1100])
def test_moments_are_those_of_all_entries(container, kind, rtol, n):
    X = table(n).astype(kind)
    mean, scatter = expected(X)
    found = [to_numpy(each) for each in column_moments(container(X))]
    assert found[0].dtype == found[1].dtype == np.float64
    np.testing.assert_allclose(found[0], mean, rtol=rtol, atol=1e-7 * np.sqrt(np.mean(X[:, 0] ** 2)))
    varying = slice(None, 4)
    np.testing.assert_allclose(found[1][varying], scatter[varying], rtol=30 * rtol, atol=1e-30)
    assert found[1][4] <= n * (0.1 * rtol) ** 2
    assert found[1][5] == 0.0


@pytest.mark.parametrize("container", NAMESPACES.values(), ids=NAMESPACES)
def test_moments_of_some_rows_are_those_of_a_table_of_them(container):
    X = table(700)
    rows = np.flatnonzero(np.random.RandomState(1).uniform(size=700) < 0.6)
    for one, other in zip(column_moments(container(X), rows), expected(X[rows]), strict=True):
        np.testing.assert_allclose(to_numpy(one), other, rtol=1e-11, atol=1e-12)


def test_a_table_in_parts_gives_the_same(monkeypatch):
    X = torch.asarray(table(2000).astype(np.float32))
    whole = column_moments(X)
    monkeypatch.setattr("tamis.kernels.arrays.moments._PART", 6 * 512)
    for one, other in zip(column_moments(X), whole, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("container", NAMESPACES.values(), ids=NAMESPACES)
@pytest.mark.parametrize("rows", [None, np.arange(0, 300, 2)], ids=["all rows", "some rows"])
def test_numbers_whose_squares_single_precision_does_not_hold_keep_their_scatter(container, rows):
    X = (np.random.RandomState(0).standard_normal((300, 3)) * [1e-30, 1, 1e30]).astype(np.float32)
    mean, scatter = expected(X if rows is None else X[rows])
    found = [to_numpy(each) for each in column_moments(container(X), rows)]
    np.testing.assert_allclose(found[0], mean, rtol=1e-5)
    np.testing.assert_allclose(found[1], scatter, rtol=1e-6)


def test_columns_of_a_transposed_tensor_are_read_as_they_lie():
    X = table(600)
    for one, other in zip(column_moments(torch.asarray(np.ascontiguousarray(X.T)).T), expected(X), strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("given", [np.arange(5.0)[::-1], np.broadcast_to(np.float64(2), 4), np.eye(3)[:, 1]])
def test_arrays_that_are_read_backwards_or_may_not_be_written_are_moved(given):
    for container in NAMESPACES.values():
        like = container(np.zeros(1))
        xp = torch if isinstance(like, torch.Tensor) else array_api_strict
        np.testing.assert_array_equal(to_numpy(from_numpy(given, xp, like.device)), given)
