"""Tasks run on dask and on Ray as on one machine, and workers are sent the table once."""

import sys

import joblib
import numpy as np
import pytest

from tamis import RFE, CorrelationScore, GramSchmidt
from tamis.assess import compare
from tamis.base import ColumnCandidates
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


def test_tasks_on_dask_give_what_one_process_gives():
    from distributed import Client, LocalCluster

    expected = draws_folds_and_comparison()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        assert_same(draws_folds_and_comparison(), expected)


@pytest.mark.slow  # Ray starts processes for every call of joblib
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")  # of Ray: files and sockets that it leaves open, settings that will change
def test_tasks_on_ray_give_what_one_process_gives():
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.util.joblib import register_ray

    expected = draws_folds_and_comparison()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        register_ray()
        with joblib.parallel_config("ray"):
            assert_same(draws_folds_and_comparison(), expected)
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
