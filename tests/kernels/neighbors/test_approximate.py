"""Approximate neighbors are nearly the exact ones, and the same ones every time."""

import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from tamis.kernels.neighbors import approximate as approximate_module
from tamis.kernels.neighbors.approximate import SearchGraph, approximate_neighbors
from tamis.kernels.neighbors.search import nearest_neighbors

N = 1500


def gaussian(rng):
    return rng.standard_normal((N, 30))


def low_rank(rng):
    return rng.standard_normal((N, 4)) @ rng.standard_normal((4, 60)) + 0.01 * rng.standard_normal((N, 60))


def clusters(rng):
    return 50.0 * rng.standard_normal((20, 10))[rng.randint(20, size=N)] + rng.standard_normal((N, 10))


def offset_and_outlier(rng):
    X = rng.standard_normal((N, 20)) + 1000.0
    X[0] *= 100
    return X


def copies(rng):
    return rng.standard_normal((N // 3, 8))[rng.randint(N // 3, size=N)]


def whole_numbers(rng):
    return rng.randint(3, size=(N, 12)).astype(float)


TABLES = [gaussian, low_rank, clusters, offset_and_outlier, copies, whole_numbers]


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("n_neighbors", [1, 5, 30])
def test_at_least_95_of_100_rows_are_as_near_as_the_exact_neighbors(make, n_neighbors):
    X = make(np.random.RandomState(0))
    rows, distances = approximate_neighbors(X, n_neighbors)
    exact = nearest_neighbors(X, n_neighbors)[1]
    assert np.mean(distances <= exact[:, -1:] * (1 + 1e-12)) >= 0.95
    assert np.all(distances >= exact * (1 - 1e-12)), "no row is nearer than the nearest"
    true = np.sqrt(((X[:, None, :] - X[rows]) ** 2).sum(axis=2))
    np.testing.assert_allclose(distances, true, rtol=1e-12)
    assert np.all(np.diff(distances, axis=1) >= 0)
    assert not np.any(rows == np.arange(N)[:, None]), "no row is its own neighbor"
    assert all(np.unique(each).size == n_neighbors for each in rows)


def test_other_points_can_ask_for_their_neighbors():
    rng = np.random.RandomState(0)
    X, query = rng.standard_normal((N, 6)), rng.standard_normal((50, 6))
    rows, distances = approximate_neighbors(X, 4, query=query)
    exact_rows, exact = nearest_neighbors(X, 4, query=query)
    assert np.mean(rows == exact_rows) >= 0.95
    assert distances.shape == exact.shape


def test_the_same_rows_have_the_same_neighbors_whatever_the_number_of_threads():
    faiss = pytest.importorskip("faiss")
    X = gaussian(np.random.RandomState(0))
    before = faiss.omp_get_max_threads()
    found = []
    try:
        for n_threads in (1, 4, 4):
            faiss.omp_set_num_threads(n_threads)
            found.append(approximate_neighbors(X, 10)[0])
            assert faiss.omp_get_max_threads() == n_threads
    finally:
        faiss.omp_set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[1], found[2])


@pytest.mark.parametrize("n", [2, 3, 12])
def test_few_rows_are_all_neighbors(n):
    X = np.random.RandomState(0).standard_normal((n, 3))
    np.testing.assert_array_equal(approximate_neighbors(X, n - 1)[0], nearest_neighbors(X, n - 1)[0])


def test_constant_tables_have_neighbors_at_distance_zero():
    rows, distances = approximate_neighbors(np.ones((300, 4)), 5)
    assert not distances.any()
    assert not np.any(rows == np.arange(300)[:, None])


class NothingFound:
    """A graph in which no walk meets a row."""

    def search(self, queries, n_found):
        return None, np.full((len(queries), n_found), -1)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_queries_whose_walk_meets_too_few_rows_are_searched_exactly(metric, monkeypatch):
    monkeypatch.setattr(approximate_module, "_link_rows", lambda points, n_found, metric: NothingFound())
    X = np.random.RandomState(0).standard_normal((60, 4))
    queries = np.vstack([X[:20], X[:20] + 0.1])
    own = np.concatenate([np.arange(20), np.full(20, -1)])
    rows, distances = SearchGraph(X, 5, metric=metric).nearest(queries, own)
    exact = cdist(queries, X, "cityblock" if metric == "manhattan" else "euclidean")
    exact[np.arange(20), np.arange(20)] = np.inf
    np.testing.assert_array_equal(rows, np.argsort(exact, axis=1)[:, :5])
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :5], rtol=1e-12)


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(ValueError, match="must lie between 1 and 9"):
        approximate_neighbors(np.ones((10, 2)), 10)
    with pytest.raises(ValueError, match="neighbors='exact'"):
        approximate_neighbors(sparse.csr_array(np.ones((10, 2))), 2)


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install 'tamis\[scale\]'"):
        approximate_neighbors(np.ones((10, 2)), 2)
