"""Tasks run on dask and on Ray as on one machine, and workers are sent the table once."""

import sys

import joblib
import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from tamis import OFW, RFE, CorrelationScore, GramSchmidt, LogisticLasso, ZeroNorm
from tamis.assess import compare
from tamis.base import ColumnCandidates
from tamis.dimension import TwoNN
from tamis.stop import CrossValidation, MonteCarloProbe


def a_table():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 12))
    return X, X[:, 0] - X[:, 3] + 0.5 * rng.standard_normal(60)


def draws_folds_and_comparison():
    X, y = a_table()
    probe = RFE("ridge", stop=MonteCarloProbe(n_draws=19, n_jobs=2)).fit(X, y)
    folds = GramSchmidt(stop=CrossValidation(n_jobs=2)).fit(X, y)
    judged = compare([CorrelationScore()], X, y, ks=[1, 2], n_seeds=1, n_random=10, n_jobs=2)
    values = [row["value"] for row in judged.rows]
    return probe.scores_, folds.stop_.curve, np.array(values, dtype=float)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.fixture(scope="module")
def two_processes():
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def messages(monkeypatch):
    """Bytes of every message that client and scheduler, which are in this process, send."""
    from distributed.comm import tcp

    sizes, to_frames = [], tcp.to_frames

    async def counted(*arguments, **options):
        frames = await to_frames(*arguments, **options)
        sizes.append(sum(memoryview(frame).nbytes for frame in frames))
        return frames

    monkeypatch.setattr(tcp, "to_frames", counted)
    return sizes


def test_tasks_on_dask_give_what_one_process_gives(two_processes):
    expected = draws_folds_and_comparison()
    with joblib.parallel_config("dask"):
        assert_same(draws_folds_and_comparison(), expected)


def probe(X, y):
    return RFE("ridge", step=0.5, stop=MonteCarloProbe(n_draws=39, n_jobs=2)).fit(X, y)


def folds(X, y):
    return GramSchmidt(stop=CrossValidation(Ridge(), cv=10, n_features=[1, 2], n_jobs=2)).fit(X, y)


def penalties(X, y):
    return LogisticLasso(cv=10, n_alphas=3, n_jobs=2).fit(X, y > 0)


def costs(X, y):
    return ZeroNorm(C="auto", cv=2, n_jobs=2, stop=2).fit(X, y > 0)


def subsets(X, y):
    tree = DecisionTreeClassifier(max_depth=1)
    return OFW(tree, n_subsets=4, max_iter=3, tol=1e-9, subset_size=2, n_jobs=2, random_state=0).fit(X, y > 0)


def dimension(X, y):
    return TwoNN(n_subsamples=12, n_jobs=2, random_state=0).fit(X)


def comparison(X, y):
    return compare([CorrelationScore()], X, y, ks=[1, 2], metrics="knn_r2", n_seeds=3, n_random=10, n_jobs=2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("run", [probe, folds, penalties, costs, subsets, dimension, comparison])
def test_a_cluster_of_dask_is_sent_the_table_once(two_processes, messages, run):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 3000))
    with joblib.parallel_config("dask"):
        run(X, X[:, 0] + 0.1 * rng.standard_normal(60))
    large = [size for size in messages if size > X.nbytes / 2]
    assert len(messages) > 10, "the workers were asked"
    assert len(large) == 2, "from the client to the scheduler, and from there to a worker"
    assert sum(messages) - sum(large) < 2 * X.nbytes


@pytest.mark.slow  # Ray starts processes for every call of joblib
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")  # of Ray: files and sockets that it leaves open, settings that will change
def test_tasks_on_ray_give_what_one_process_gives_and_share_one_table(monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.util.joblib import register_ray

    expected = draws_folds_and_comparison()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    stored, put = [], ray.put
    monkeypatch.setattr(ray, "put", lambda value: stored.append(value) or put(value))
    try:
        register_ray()
        with joblib.parallel_config("ray"):
            assert_same(draws_folds_and_comparison(), expected)
        assert sum("table" in value or "X" in value for value in stored if isinstance(value, dict)) == 3
    finally:
        ray.shutdown()


class Store:
    """Stands for Ray: what is put into it, and how often."""

    def __init__(self):
        self.held = []

    def is_initialized(self):
        return True

    def put(self, value):
        self.held.append(value)
        return len(self.held) - 1

    def get(self, reference):
        return self.held[reference]


def test_the_table_is_put_into_the_store_of_ray_once(monkeypatch):
    import pickle

    store = Store()
    monkeypatch.setitem(sys.modules, "ray", store)
    X, _ = a_table()
    candidates = ColumnCandidates(X, column_names=[f"c{j}" for j in range(12)])
    received = [pickle.loads(pickle.dumps(candidates)) for _ in range(3)]
    assert len(store.held) == 1
    for each in received:
        np.testing.assert_array_equal(each.table, X)
        assert each.name(3) == "c3"
    candidates.keep = np.array([2])  # another state is another entry
    assert pickle.loads(pickle.dumps(candidates)).keep.tolist() == [2]
    assert len(store.held) == 2


def test_candidates_say_how_large_they_are_so_that_dask_scatters_them():
    X, _ = a_table()
    assert sys.getsizeof(ColumnCandidates(X)) >= X.nbytes


def test_candidates_are_pickled_as_ever_without_ray():
    import pickle

    X, _ = a_table()
    received = pickle.loads(pickle.dumps(ColumnCandidates(X)))
    np.testing.assert_array_equal(received.table, X)
