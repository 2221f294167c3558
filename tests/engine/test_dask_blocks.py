"""Dask collections: sums are taken where the partitions are, by several processes, of which one may die."""

import os
import signal
import threading
import time
from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tamis import CorrelationScore, FisherScore, GramSchmidt, MaxVariance, ReliefF, TableSelector
from tamis.engine import DaskBlocks

N = 4000


def a_table(n=N):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, 10)) + np.arange(10)
    return X, X[:, 0] - X[:, 3] + rng.standard_normal(n)


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(
    "ranker", [GramSchmidt(), GramSchmidt(stop="leave-one-out"), CorrelationScore(), FisherScore(stop=2), MaxVariance()]
)
@pytest.mark.parametrize("chunks", [(900, 10), (1500, 4)])
def test_an_array_gives_what_its_rows_give_in_memory(ranker, chunks):
    X, y = a_table()
    target = (y > 0).astype(int) if isinstance(ranker, FisherScore) else y
    expected = ranker.fit(X, target)
    order, scores = expected.order_, expected.scores_
    found = ranker.fit(da.from_array(X, chunks=chunks), da.from_array(target, chunks=700))
    np.testing.assert_array_equal(found.order_[:2], order[:2])
    np.testing.assert_allclose(found.scores_, scores, rtol=1e-8)


def test_a_frame_keeps_its_names_and_transform_stays_lazy():
    X, y = a_table()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcdefghij")).assign(i=1, y=y), npartitions=5)
    found = GramSchmidt(stop=2).fit(frame.drop(columns="y"), frame["y"])
    assert found.get_feature_names_out().tolist() == ["a", "d"]
    kept = found.transform(frame.drop(columns="y"))
    assert kept.columns.tolist() == ["a", "d"]
    np.testing.assert_array_equal(kept.compute().to_numpy(), X[:, [0, 3]])


def test_unknown_chunk_sizes_are_computed():
    X, y = a_table()
    wanted = X[:, 1] > 0
    array = da.from_array(X, chunks=(900, 10))
    found = GramSchmidt(stop=2).fit(array[array[:, 1] > 0], y[wanted])
    np.testing.assert_array_equal(found.order_[:2], GramSchmidt(stop=2).fit(X[wanted], y[wanted]).order_[:2])


def test_empty_chunks_are_passed_over():
    X, y = a_table()
    array = da.concatenate([da.from_array(X[:0]), da.from_array(X, chunks=(900, 10))])
    assert GramSchmidt(stop=2).fit(array, y).order_[:2].tolist() == [0, 3]


def test_partitions_are_read_by_the_names_of_their_columns():
    X, y = a_table()
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    parts = [frame[:2000], frame[2000:][list("jihgfedcba")]]
    collection = dd.from_map(lambda place: parts[place], range(2), meta=frame[:0])
    expected = CorrelationScore(stop=2).fit(X, y).scores_
    np.testing.assert_allclose(CorrelationScore(stop=2).fit(collection, y).scores_, expected, rtol=1e-8)


def test_chunks_of_sparse_matrices_are_read():
    X, y = a_table()
    X *= X > 0
    chunks = da.from_array(X, chunks=(900, 10)).map_blocks(sparse.csr_matrix)
    expected = GramSchmidt(stop=3).fit(X, y)
    found = GramSchmidt(stop=3).fit(chunks, y)
    np.testing.assert_array_equal(found.order_, expected.order_)


def test_single_precision_and_whole_numbers():
    X, y = a_table()
    assert DaskBlocks(da.from_array(X.astype(np.float32))).dtype == np.float32
    assert DaskBlocks(da.from_array(X.astype(int))).dtype == np.float64
    assert GramSchmidt(stop=2).fit(da.from_array(X.astype(np.float32), chunks=(900, 10)), y).scores_.dtype == np.float32


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (da.zeros(10), "1 dimension"),
        (da.from_array(np.array([["a"], ["b"]])), "not numbers"),
        (da.zeros((1, 3)), "1 rows and 3 columns"),
        (
            dd.from_pandas(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), npartitions=1),
            "columns 'b' of X are not numeric",
        ),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        GramSchmidt().fit(X, np.arange(2.0))


def test_missing_entries_are_refused_by_name():
    X, y = a_table()
    X[17, 4] = np.nan
    with pytest.raises(ValueError, match=r"column 'x4' holds 1 missing value; .* X\.fillna\(X\.mean\(\)\)"):
        GramSchmidt().fit(da.from_array(X, chunks=(900, 10)), y)


def slow_chunk(rows, seed):
    time.sleep(0.15)
    return np.random.RandomState(seed).standard_normal((rows, 10))


def slow_array(n_chunks=16, rows=500):
    make = dask.delayed(slow_chunk, pure=True)
    parts = [da.from_delayed(make(rows, seed), (rows, 10), float) for seed in range(n_chunks)]
    return da.concatenate(parts)


def target_of(array):
    with dask.config.set(scheduler="threads"):
        return np.asarray((array[:, 0] - array[:, 3]).compute()) + np.random.RandomState(1).standard_normal(
            array.shape[0]
        )


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.worker.daemon": False, "distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as running,
        Client(running) as client,
    ):
        yield client


def on_cluster(client, call):
    with dask.config.set(scheduler=client):
        return call()


def test_a_cluster_of_processes_gives_the_same(cluster):
    array = slow_array()
    y = target_of(array)
    found = on_cluster(cluster, lambda: GramSchmidt().fit(array, y))
    with dask.config.set(scheduler="threads"):
        expected = GramSchmidt().fit(array.compute(), y)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.scores_[:4], expected.scores_[:4], rtol=1e-8)


def test_a_worker_that_dies_changes_nothing_but_the_time(cluster):
    array = slow_array()
    y = target_of(array)
    expected = on_cluster(cluster, lambda: GramSchmidt(stop=3).fit(array, y))
    (victim, *_) = cluster.run(os.getpid).values()
    threading.Timer(0.5, partial(os.kill, victim, signal.SIGKILL)).start()
    found = on_cluster(cluster, lambda: GramSchmidt(stop=3).fit(array, y))
    with pytest.raises(ProcessLookupError):  # it died, and another took its place
        os.kill(victim, 0)
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-12)


def test_the_client_never_holds_the_table(cluster):
    """The largest array that reaches the client is a matrix of products, not rows."""
    from distributed import wait

    rows, n_chunks = 20_000, 8
    array = da.random.default_rng(0).standard_normal((rows * n_chunks, 10), chunks=(rows, 10))
    array = on_cluster(cluster, array.persist)
    wait(array)
    y = on_cluster(cluster, (array[:, 2] + array[:, 5]).compute)
    received = []
    stream = cluster.gather

    def gather(futures, *given, **options):
        found = stream(futures, *given, **options)
        received.append(sum(getattr(each, "nbytes", 0) for each in _arrays(found)))
        return found

    cluster.gather = gather
    try:
        found = on_cluster(cluster, lambda: GramSchmidt().fit(array, y))
    finally:
        del cluster.gather
    assert sorted(found.get_support(indices=True).tolist()) == [2, 5]
    assert received
    assert max(received) < array.nbytes / 10


def _arrays(found):
    if isinstance(found, np.ndarray):
        return [found]
    if isinstance(found, list | tuple):
        return [array for each in found for array in _arrays(each)]
    return (
        [value for value in vars(found).values() if isinstance(value, np.ndarray)] if hasattr(found, "__dict__") else []
    )


def test_table_selector_ranks_a_dask_frame_by_its_names_and_leaves_it_lazy():
    X, y = a_table()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcdefghij")).assign(y=y), npartitions=5)
    features = frame.drop(columns="y")
    found = TableSelector(GramSchmidt(stop=2)).fit(features, frame["y"])
    assert found.get_feature_names_out().tolist() == ["a", "d"]
    assert found.feature_names_in_.tolist() == list("abcdefghij")
    kept = found.transform(features)
    assert kept.columns.tolist() == ["a", "d"]
    np.testing.assert_array_equal(kept.compute().to_numpy(), X[:, [0, 3]])
    with pytest.raises(ValueError, match="The feature names should match"):
        found.transform(features[list("jihgfedcba")])


def test_table_selector_names_what_it_cannot_rank_in_a_dask_frame():
    X, y = a_table(100)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    with pytest.raises(ValueError, match="'city' of X are not numeric"):
        TableSelector(GramSchmidt(stop=1)).fit(dd.from_pandas(frame.assign(city="Nice"), npartitions=2), y)
    frame.loc[3, "b"] = np.nan
    with pytest.raises(ValueError, match="'b'"):
        TableSelector(GramSchmidt(stop=1)).fit(dd.from_pandas(frame, npartitions=2), y)
    with pytest.raises(ValueError, match="needs all rows in memory"):
        TableSelector(ReliefF(stop=1)).fit(dd.from_pandas(frame, npartitions=2), y)
