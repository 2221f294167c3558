"""ReliefF with approximate neighbors: nearly the scores of the exact search, for classes and quantities."""

import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tamis import ReliefF
from tamis.rank.relief._approximate_search import ApproximateSearch
from tamis.rank.relief._relief_weights import NeighborSearch, scale_to_unit_range

pytest.importorskip("faiss", reason="the extra scale brings faiss")

N = 1200


def gaussian(rng):
    return rng.standard_normal((N, 25)), rng.randint(2, size=N)


def separated(rng):
    """Queries of one class are far from all rows of the other."""
    y = rng.randint(3, size=N)
    return rng.standard_normal((N, 12)) + 10.0 * y[:, None] * (np.arange(12) < 6), y


def rare(rng):
    return rng.standard_normal((N, 12)), (rng.uniform(size=N) < 0.03).astype(int)


def copies(rng):
    return rng.standard_normal((N // 3, 8))[rng.randint(N // 3, size=N)], rng.randint(2, size=N)


def heavy_tails(rng):
    return rng.standard_cauchy((N, 10)), rng.randint(2, size=N)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("make", [gaussian, separated, rare, copies, heavy_tails])
def test_at_least_95_of_100_hits_and_misses_are_as_near_as_the_exact_ones(make, metric):
    X, y = make(np.random.RandomState(0))
    Z, _ = scale_to_unit_range(X)
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    rows = np.arange(N)
    found = ApproximateSearch(Z, metric).search_within(members, 10)(rows)
    exact = NeighborSearch(Z, metric).search_within(members, 10)(rows)
    distance = cdist(Z, Z, "cityblock" if metric == "manhattan" else "euclidean")
    for part, ours, theirs in zip(members, found, exact, strict=True):
        assert np.isin(ours, part).all()
        assert not np.any(ours == rows[:, None]), "no row is its own hit"
        assert all(np.unique(each).size == 10 for each in ours)
        radius = np.take_along_axis(distance, theirs, axis=1).max(axis=1, keepdims=True)
        assert np.mean(np.take_along_axis(distance, ours, axis=1) <= radius * (1 + 1e-9)) >= 0.95


def assert_nearly_the_same(X, y, **parameters):
    exact, approximate = (ReliefF(stop=2, neighbors=each, **parameters).fit(X, y) for each in ("exact", "approximate"))
    informative = np.abs(exact.scores_[exact.scores_ > -1]).max()
    np.testing.assert_allclose(approximate.scores_, exact.scores_, atol=0.02 * informative)
    np.testing.assert_array_equal(approximate.support_, exact.support_)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_nearly_those_of_the_exact_search(metric, task, dtype):
    X = np.random.RandomState(0).uniform(-1, 1, (800, 8)).astype(dtype)
    product = X[:, 1] * X[:, 3]
    y = product if task == "regression" else (product > 0).astype(int)
    assert_nearly_the_same(X, y, metric=metric, task=task)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_labels_take_part_in_distances(metric):
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (800, 8))
    X[:, 0], X[:, 2] = rng.randint(4, size=800), rng.randint(2, size=800)
    y = ((X[:, 0] == 2) ^ (X[:, 3] > 0)).astype(int)
    assert_nearly_the_same(X, y, metric=metric, discrete=[0, 2])


def test_missing_values_take_part_in_distances():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (800, 8))
    y = (X[:, 1] * X[:, 3] > 0).astype(int)
    X[rng.uniform(size=X.shape) < 0.15 * (np.arange(8) % 2)] = np.nan
    assert_nearly_the_same(X, y)
    X[:, 5] = np.where(np.isnan(X[:, 5]), np.nan, X[:, 5] > 0)
    assert_nearly_the_same(X, y, discrete=[5])


def test_classes_of_few_rows_give_what_they_have():
    rng = np.random.RandomState(0)
    X, y = rng.uniform(size=(400, 5)), rng.randint(2, size=400)
    y[:4], y[4] = 2, 3
    y[5:16] = 4  # one more than the neighbors asked for: all others are hits
    X[:, 1] += y
    assert_nearly_the_same(X, y)


def test_some_rows_are_compared_with_neighbors_among_all():
    X = np.random.RandomState(0).uniform(-1, 1, (900, 5))
    y = (X[:, 1] * X[:, 3] > 0).astype(int)
    assert_nearly_the_same(X, y, n_samples=200, random_state=0)


def test_a_probe_keeps_what_matters():
    X = np.random.RandomState(0).uniform(-1, 1, (500, 6))
    y = (X[:, 1] + X[:, 3] > 0).astype(int)
    assert ReliefF(neighbors="approximate").fit(X, y).get_support(indices=True).tolist() == [1, 3]


def test_the_same_rows_have_the_same_scores_whatever_the_number_of_threads():
    import faiss

    X = np.random.RandomState(0).uniform(-1, 1, (800, 8))
    y = (X[:, 1] * X[:, 3] > 0).astype(int)
    before, scores = faiss.omp_get_max_threads(), []
    try:
        for n_threads in (1, 4):
            faiss.omp_set_num_threads(n_threads)
            scores.append(ReliefF(stop=2, neighbors="approximate").fit(X, y).scores_)
    finally:
        faiss.omp_set_num_threads(before)
    np.testing.assert_array_equal(*scores)


class Names:
    """Remembers the tasks that it is told of."""

    def __init__(self):
        self.names = set()

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.names.add(context.task_name)

    def on_fit_task_end(self, estimator, context):
        pass


def test_linking_rows_tells_that_it_goes_on(calls_that_last):
    X = np.random.RandomState(0).uniform(-1, 1, (60, 4))
    names = Names()
    ReliefF(stop=1, neighbors="approximate").set_callbacks(names).fit(X, (X[:, 0] > 0).astype(int))
    assert {"graph", "compare rows"} <= names.names


def test_what_cannot_be_searched_is_refused(monkeypatch):
    X, y = np.random.RandomState(0).uniform(size=(40, 3)), np.arange(40) % 2
    with pytest.raises(ValueError, match="'neighbors' parameter of ReliefF"):
        ReliefF(neighbors="fast").fit(X, y)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install 'tamis\[scale\]'"):
        ReliefF(neighbors="approximate").fit(X, y)


def test_arrays_of_other_libraries_are_referred_to_the_exact_search():
    torch = pytest.importorskip("torch")
    from sklearn import config_context

    X = torch.rand(60, 3, generator=torch.Generator().manual_seed(0))
    with config_context(array_api_dispatch=True), pytest.raises(ValueError, match="take neighbors='exact'"):
        ReliefF(neighbors="approximate").fit(X, np.arange(60) % 2)
