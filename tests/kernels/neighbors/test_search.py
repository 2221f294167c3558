"""The neighbor search against all pairs of rows."""

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import config_context

from tamis._sklearn import get_namespace_and_device
from tamis.kernels.neighbors import search as module
from tamis.kernels.neighbors.search import nearest_neighbors
from tests.oracles import neighbors as oracle


@pytest.mark.parametrize("n_columns", [1, 3, 40])
@pytest.mark.parametrize("own", [True, False])
def test_it_finds_the_nearest_rows(n_columns, own):
    rng = np.random.RandomState(0)
    X, query = rng.standard_normal((60, n_columns)), None if own else rng.standard_normal((20, n_columns))
    indices, distances = nearest_neighbors(X, 7, query=query)
    expected = oracle.nearest(X, 7, query)
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(distances, expected[1], rtol=1e-12)


@pytest.mark.parametrize("n_columns", [2, 30])
def test_equal_rows_are_at_distance_zero_even_far_from_the_origin(n_columns):
    X = 1e8 + np.random.RandomState(0).standard_normal((30, n_columns))
    X[[4, 9]] = X[2]
    indices, distances = nearest_neighbors(X, 2)
    assert (distances[[2, 4, 9]] == 0).all()
    assert indices[2].tolist() == [4, 9]
    assert indices[4].tolist() == [2, 9]


@settings(deadline=None, max_examples=40, derandomize=True)
@given(table=hnp.arrays(np.int8, st.tuples(st.integers(2, 12), st.integers(1, 16)), elements=st.integers(-2, 2)))
def test_the_distances_are_right_whatever_the_ties(table):
    X = table.astype(float)
    for n_neighbors in (1, len(X) - 1):
        indices, distances = nearest_neighbors(X, n_neighbors)
        assert (indices != np.arange(len(X))[:, None]).all()
        np.testing.assert_allclose(distances, oracle.nearest(X, n_neighbors)[1], rtol=1e-12)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    table=hnp.arrays(np.int8, st.tuples(st.integers(20, 40), st.integers(1, 16)), elements=st.integers(0, 1)),
    kind=st.sampled_from(["dense", "sparse", "device"]),
    n_neighbors=st.integers(1, 12),
)
def test_ties_go_to_the_lowest_row_however_many_there_are(table, kind, n_neighbors):
    X = table.astype(float)
    expected = oracle.nearest(X, n_neighbors)
    with config_context(array_api_dispatch=kind == "device"):
        given = {"dense": X, "sparse": sparse.csr_array(X), "device": array_api_strict.asarray(X)}[kind]
        indices, distances = nearest_neighbors(given, n_neighbors)
        np.testing.assert_allclose(np.asarray(distances), expected[1], rtol=1e-12)
        np.testing.assert_array_equal(np.asarray(indices), expected[0])


@pytest.mark.parametrize("n_columns", [3, 40])
@pytest.mark.parametrize("kind", ["host", "device"])
def test_rows_that_nearly_coincide_are_told_apart(n_columns, kind):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, n_columns))
    X[:20] = X[0] + 1e-9 * rng.standard_normal((20, n_columns))
    expected = oracle.nearest(X - X.mean(axis=0), 3)
    with config_context(array_api_dispatch=kind == "device"):
        indices, distances = nearest_neighbors(X if kind == "host" else array_api_strict.asarray(X), 3)
        np.testing.assert_array_equal(np.asarray(indices), expected[0])
        np.testing.assert_allclose(np.asarray(distances), expected[1], rtol=1e-12)


@pytest.mark.parametrize("n_neighbors", [2, 30])
def test_the_ways_to_search_agree(n_neighbors, monkeypatch):
    X = np.random.RandomState(0).standard_normal((80, 30)) * 10.0 ** np.linspace(-3, 3, 30)
    expected = oracle.nearest(X - X.mean(axis=0), n_neighbors)
    for few, tree in ((100, 0), (0, 0), (0, 100)):
        monkeypatch.setattr(module, "_FEW", few)
        monkeypatch.setattr(module, "_TREE_COLUMNS", tree)
        monkeypatch.setattr(module, "_PRODUCT_BLOCK", 500)
        indices, distances = nearest_neighbors(X, n_neighbors)
        np.testing.assert_array_equal(indices, expected[0])
        np.testing.assert_allclose(distances, expected[1], rtol=1e-12)


def test_single_precision_is_kept_and_agrees():
    X = np.random.RandomState(0).standard_normal((50, 30))
    indices, distances = nearest_neighbors(X.astype(np.float32), 3)
    assert distances.dtype == np.float32
    np.testing.assert_array_equal(indices, nearest_neighbors(X, 3)[0])


@pytest.mark.parametrize("own", [True, False])
def test_sparse_rows_have_the_same_neighbors(own):
    X = sparse.random_array((40, 30), density=0.3, rng=0, format="csr")
    query = None if own else sparse.random_array((10, 30), density=0.3, rng=1, format="csr")
    indices, distances = nearest_neighbors(X, 4, query=query)
    expected = nearest_neighbors(X.toarray(), 4, query=None if own else query.toarray())
    np.testing.assert_allclose(distances, expected[1], rtol=1e-12)
    np.testing.assert_array_equal(indices, expected[0])


@pytest.mark.parametrize("container", [torch.asarray, array_api_strict.asarray], ids=["torch", "strict"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("own", [True, False])
def test_array_api_input_stays_in_its_namespace(container, dtype, own, monkeypatch):
    rng = np.random.RandomState(0)
    X, query = rng.standard_normal((40, 20)).astype(dtype), rng.standard_normal((9, 20)).astype(dtype)
    expected = nearest_neighbors(X, 4, query=None if own else query)
    monkeypatch.setattr(module, "_BLOCK", {True: 2**20, False: 150})  # several blocks of rows
    with config_context(array_api_dispatch=True):
        indices, distances = nearest_neighbors(container(X), 4, query=None if own else container(query))
        assert type(indices) is type(distances) is type(container(X))
        assert distances.dtype == container(X).dtype
        np.testing.assert_array_equal(np.asarray(indices), expected[0])
        np.testing.assert_allclose(np.asarray(distances), expected[1], rtol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("container", [torch.asarray, array_api_strict.asarray], ids=["torch", "strict"])
def test_single_precision_on_a_device_is_exact_where_its_products_cannot_tell(container, monkeypatch):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 600))
    X[:20] = X[0] + 1e-3 * rng.standard_normal((20, 600))  # closer to each other than rounding errors of a product
    X[30] *= 100.0
    X = X.astype(np.float32)
    expected = oracle.nearest(X.astype(float), 3)
    monkeypatch.setattr(module, "_BLOCK", {True: 2**20, False: 9000})
    with config_context(array_api_dispatch=True):
        indices, distances = nearest_neighbors(container(X), 3)
        np.testing.assert_array_equal(np.asarray(indices), expected[0])
        np.testing.assert_allclose(np.asarray(distances), expected[1], rtol=1e-4)


@pytest.mark.parametrize("is_told", [True, False])
def test_neighbors_do_not_depend_on_the_precision_that_torch_was_told_to_multiply_with(is_told, monkeypatch):
    def precision():
        if is_told:
            return "medium"
        raise RuntimeError("mix of the legacy and new APIs")

    X = np.random.RandomState(0).standard_normal((30, 50)).astype(np.float32)
    expected = nearest_neighbors(X, 3)
    with config_context(array_api_dispatch=True):
        xp, _, device = get_namespace_and_device(torch.asarray(X))
        monkeypatch.setattr(xp, "get_float32_matmul_precision", precision)
        assert module.in_full_precision(xp, device, torch.asarray(X)).dtype == torch.float64
        np.testing.assert_array_equal(np.asarray(nearest_neighbors(torch.asarray(X), 3)[0]), expected[0])


@pytest.mark.parametrize("n_neighbors", [0, 5])
def test_more_neighbors_than_rows_are_refused(n_neighbors):
    with pytest.raises(ValueError, match="between 1 and 4"):
        nearest_neighbors(np.eye(5), n_neighbors)
