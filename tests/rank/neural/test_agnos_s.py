import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tamis import AgnosG, AgnosS, AgnosW
from tamis.assess import fit_score

torch = pytest.importorskip("torch", reason="the extra neural brings torch")

from tamis.rank.neural import _batch_loader  # noqa: E402
from tamis.rank.neural._standardized_rows import standardize_rows  # noqa: E402

VARIANTS = [AgnosS, AgnosW, AgnosG]


def make_groups(n_samples=120, n_groups=4, size=6, noise=0.3, seed=0):
    """Groups of columns that measure one hidden quantity each."""
    rng = np.random.RandomState(seed)
    hidden = rng.standard_normal((n_samples, n_groups))
    return np.repeat(hidden, size, axis=1) + noise * rng.standard_normal((n_samples, n_groups * size))


@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize("mode", ["elimination", "thesis"])
def test_one_feature_of_each_group_is_kept(method, mode):
    """The thesis's own training is held to most of the groups: its scores are noisier."""
    found = []
    for seed in range(3):
        X = make_groups(seed=seed)
        parameters = {"max_iter": 600, "learning_rate": 0.01, "n_components": 4} if mode == "thesis" else {}
        kept = method(stop=4, mode=mode, random_state=seed, **parameters).fit(X).get_support(indices=True)
        found.append(np.unique(kept // 6).size)
    assert min(found) >= (4 if mode == "elimination" else 2)


@pytest.mark.parametrize("method", VARIANTS)
def test_elimination_recovers_more_than_random_selections_do(method):
    X = make_groups(n_groups=6, size=10, noise=0.5)
    kept = method(stop=6, random_state=0).fit(X).support_
    draws = [np.random.RandomState(seed).choice(60, 6, replace=False) for seed in range(20)]
    assert fit_score(X, kept) > np.mean([fit_score(X, draw) for draw in draws]) + 0.05


@pytest.mark.parametrize("method", VARIANTS)
def test_a_rank_tells_when_the_feature_left(method):
    X = make_groups()
    found = method(stop=None, random_state=0).fit(X)
    in_use = found.history_["n_features"]
    assert np.all(np.diff(in_use) <= 0)
    assert in_use[0] == X.shape[1]
    assert found.order_.size == X.shape[1]
    assert found.certificate_["n_iter"] == 350
    assert np.all(np.isfinite(found.history_["loss"]))


def test_what_is_lost_grows_as_features_leave():
    loss = AgnosS(stop=1, random_state=0).fit(make_groups()).history_["loss"]
    assert loss[-1] > 2 * loss[:60].min()


@pytest.mark.parametrize("mode", ["elimination", "thesis"])
def test_units_offsets_and_signs_do_not_matter(mode):
    X = make_groups(n_samples=40)
    rng = np.random.RandomState(1)
    turned = X * rng.choice([-1.0, 1.0], X.shape[1]) * 10 ** rng.uniform(-3, 3, X.shape[1]) + 5.0
    one, other = (AgnosS(stop=None, mode=mode, max_iter=80, random_state=0).fit(table) for table in (X, turned))
    assert np.mean(one.order_[:8] == other.order_[:8]) == 1


def test_copies_and_constant_columns_never_enter():
    X = make_groups()[:, :8]
    table = np.column_stack([X, X[:, 2], 3.0 - 2.0 * X[:, 5], np.full(len(X), 7.0)])
    found = AgnosS(stop=None, random_state=0).fit(table)
    assert set(found.order_) == set(range(8))
    assert np.isnan(found.scores_[8:]).all()
    np.testing.assert_array_equal(found.order_, AgnosS(stop=None, random_state=0).fit(X).order_)


def test_columns_that_agree_on_the_first_rows_only_are_no_copies():
    rng = np.random.RandomState(0)
    X = (rng.uniform(size=(600, 6)) < 0.3).astype(float)
    X[:300] = 0.0
    X[0] = 1.0
    X[300:, 1] = X[300:, 0][::-1]  # same count, same spread, other rows
    assert set(AgnosS(stop=None, max_iter=40, random_state=0).fit(X).order_) == set(range(6))


@pytest.mark.parametrize("shape", [(2, 5), (3, 1), (5, 40), (40, 2)])
@pytest.mark.parametrize("mode", ["elimination", "thesis"])
@pytest.mark.parametrize("method", VARIANTS)
def test_small_tables_are_ranked(method, mode, shape):
    X = np.random.RandomState(0).standard_normal(shape)
    found = method(stop=1, mode=mode, max_iter=30, random_state=0).fit(X)
    assert found.support_.sum() == 1
    assert 1 <= found.n_components_ <= max(1, min(shape[0] - 1, shape[1]))


def test_deeper_encoders_rank_too():
    found = AgnosS(stop=4, hidden_units=(12, 8), random_state=0).fit(make_groups())
    assert np.unique(found.get_support(indices=True) // 6).size >= 3
    with pytest.raises(ValueError, match="hidden_units"):
        AgnosS(hidden_units=(0,)).fit(make_groups())
    with pytest.raises(ValueError, match="mode='thesis'"):
        AgnosS(hidden_units=(4,), mode="thesis").fit(make_groups())


def test_training_that_diverges_says_so():
    with pytest.warns(ConvergenceWarning, match="learning_rate"):
        AgnosS(stop=1, mode="thesis", max_iter=20, learning_rate=3e37, random_state=0).fit(make_groups(n_samples=20))


@pytest.mark.parametrize("mode", ["elimination", "thesis"])
def test_batches_of_any_kind_of_table_give_the_same(mode, tmp_path):
    """numpy, a memory map, a sparse matrix and a dask array hold the same rows."""
    dask = pytest.importorskip("dask.array", reason="the extra scale brings dask")
    X = np.where(np.random.RandomState(0).uniform(size=(300, 12)) < 0.5, make_groups(300, 4, 3), 0.0).astype(np.float32)
    np.save(tmp_path / "table.npy", X)
    method = AgnosS(stop=3, mode=mode, max_iter=40, batch_size=75, random_state=0)
    expected = method.fit(X).order_
    for table in (np.load(tmp_path / "table.npy", mmap_mode="r"), sparse.csr_array(X), sparse.csc_matrix(X)):
        np.testing.assert_array_equal(method.fit(table).order_, expected)
    chunked = dask.from_array(X, chunks=(75, 5))
    found = method.fit(chunked)
    assert found.n_features_in_ == 12
    again = method.fit(chunked).order_
    np.testing.assert_array_equal(found.order_, again)
    kept = found.transform(chunked)
    assert isinstance(kept, dask.Array)
    np.testing.assert_array_equal(kept.compute(), X[:, found.support_])


def test_batches_select_as_well_as_all_rows_at_once():
    X = make_groups(2000, 5, 8)
    kept = AgnosS(stop=5, batch_size=250, random_state=0).fit(X).get_support(indices=True)
    assert np.unique(kept // 8).size == 5


def test_dask_data_frames_keep_their_names():
    frames = pytest.importorskip("dask.dataframe", reason="the extra scale brings dask")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(make_groups(90, 3, 2), columns=list("abcdef"))
    found = AgnosS(max_iter=60, random_state=0).fit(frames.from_pandas(table, npartitions=3))
    assert found.feature_names_in_.tolist() == list("abcdef")
    assert found.stop_.reason
    kept = found.transform(frames.from_pandas(table, npartitions=3)).compute()
    assert kept.columns.tolist() == found.get_feature_names_out().tolist()


def test_bad_dask_tables_are_refused():
    dask = pytest.importorskip("dask.array", reason="the extra scale brings dask")
    bad = make_groups(40)
    bad[3, 2] = np.nan
    for table, words in [
        (dask.from_array(bad, chunks=10), "NaN or infinity in columns 'x2'"),
        (dask.zeros((20, 3), chunks=5), "constant"),
        (dask.zeros(20, chunks=5), "1 dimension"),
        (dask.from_array(np.array([["a", "b"]] * 4), chunks=2), "not numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            AgnosS().fit(table)


def test_a_target_of_another_length_is_refused_before_dask_is_read():
    dask = pytest.importorskip("dask.array", reason="the extra scale brings dask")
    with pytest.raises(ValueError, match="X has 20 rows, but y has 3"):
        AgnosS().fit(dask.from_array(make_groups(20), chunks=10), [1, 2, 3])


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="device='nowhere'"):
        AgnosS(device="nowhere").fit(make_groups())


RUN = """
import time, numpy as np
import tamis.rank._checkpoint as checkpoint
from tamis import AgnosS
checkpoint._SECONDS = 0.0
save = checkpoint.Checkpoint.save
def slowly(self, state):
    save(self, state)
    print("saved", flush=True)
    time.sleep(0.05)
checkpoint.Checkpoint.save = slowly
X = np.load({table!r})
AgnosS(stop=3, mode={mode!r}, max_iter=40, batch_size=40, checkpoint={path!r}, random_state=3).fit(X)
print("ended", flush=True)
"""


@pytest.mark.parametrize("mode", ["elimination", "thesis"])
def test_a_run_that_was_killed_goes_on_to_the_same_result(mode, tmp_path):
    np.save(tmp_path / "table.npy", make_groups(160, 4, 4))
    path = tmp_path / "state.pt"
    script = RUN.format(table=str(tmp_path / "table.npy"), path=str(path), mode=mode)
    running = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    for _ in range(15):
        assert running.stdout.readline() == "saved\n"
    running.send_signal(signal.SIGKILL)
    assert "ended" not in running.stdout.read()
    running.wait()
    running.stdout.close()
    assert path.exists()
    X, settings = (
        np.load(tmp_path / "table.npy"),
        {"stop": 3, "mode": mode, "max_iter": 40, "batch_size": 40, "random_state": 3},
    )
    resumed = AgnosS(checkpoint=path, **settings).fit(X)
    assert not path.exists(), "a run that ended leaves no state behind"
    whole = AgnosS(**settings).fit(X)
    np.testing.assert_array_equal(resumed.order_, whole.order_)
    np.testing.assert_array_equal(resumed.scores_, whole.scores_)
    np.testing.assert_array_equal(resumed.history_["loss"], whole.history_["loss"])
    assert len(resumed.history_["loss"]) == 40
    assert os.listdir(tmp_path).count("state.pt") == 0


def test_an_interrupted_run_ends_as_one_that_was_not(tmp_path, monkeypatch):
    from tamis.rank import _checkpoint

    monkeypatch.setattr(_checkpoint, "_SECONDS", 0.0)
    X, path = make_groups(160, 4, 4), tmp_path / "state.pt"
    method = AgnosS(stop=3, max_iter=60, batch_size=40, random_state=3)
    expected = method.fit(X)
    order, loss = expected.order_, expected.history_["loss"]
    save, saves = _checkpoint.Checkpoint.save, []

    def save_and_stop(self, state):
        save(self, state)
        saves.append(time.monotonic())
        if len(saves) == 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(_checkpoint.Checkpoint, "save", save_and_stop)
    method.set_params(checkpoint=path)
    with pytest.raises(KeyboardInterrupt):
        method.fit(X)
    found = method.fit(X)
    np.testing.assert_array_equal(found.order_, order)
    np.testing.assert_array_equal(found.history_["loss"], loss)
    assert not path.exists()


def test_folds_keep_no_checkpoint(tmp_path):
    from tamis.base import fresh

    method = AgnosS(checkpoint=tmp_path / "state.pt")
    assert fresh(method, stop=2).checkpoint is None
    assert method.checkpoint is not None


def test_the_state_of_another_run_is_refused(tmp_path, monkeypatch):
    from tamis.rank import _checkpoint

    path = tmp_path / "state.pt"
    path.write_bytes(b"no state")
    with pytest.raises(ValueError, match="is no state of a training run"):
        AgnosS(checkpoint=path, max_iter=20).fit(make_groups())
    path.unlink()
    monkeypatch.setattr(_checkpoint, "_SECONDS", 0.0)
    monkeypatch.setattr(_checkpoint.Checkpoint, "discard", lambda self: None)
    AgnosS(checkpoint=path, max_iter=20, stop=2, random_state=0).fit(make_groups())
    with pytest.raises(ValueError, match=r"another run \(X differ\)"):
        AgnosS(checkpoint=path, max_iter=20, stop=2).fit(make_groups(seed=1))
    with pytest.raises(ValueError, match=r"\(max_iter differ\)"):
        AgnosS(checkpoint=path, max_iter=30, stop=2).fit(make_groups())


WITHIN_MEMORY = """
import resource, sys, numpy as np, torch
from tamis import AgnosS
torch.set_num_threads(1)
AgnosS(stop=1, max_iter=5).fit(np.random.RandomState(0).standard_normal((30, 4)))  # all that is loaded and reserved
status = dict(line.split(":") for line in open("/proc/self/status"))
held = 1024 * int(status["VmData"].split()[0])
resource.setrlimit(resource.RLIMIT_DATA, (held + {spare}, held + {spare}))
X = np.load({table!r}, mmap_mode="r")
print(np.unique(AgnosS(stop=5, max_iter=30, random_state=0).fit(X).get_support(indices=True) // 100).size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited through Linux")
def test_a_memory_map_is_ranked_in_less_memory_than_it_takes(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "table.npy"
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(100_000, 500))
    for start in range(0, len(table), 10_000):
        hidden = rng.standard_normal((10_000, 5), dtype=np.float32)
        noise = rng.standard_normal((10_000, 500), dtype=np.float32)
        table[start : start + 10_000] = np.repeat(hidden, 100, axis=1) + 0.5 * noise
    table.flush()
    script = WITHIN_MEMORY.format(table=str(path), spare=table.nbytes * 9 // 10)
    # what is freed goes back to the system at once, so that what is held is what is counted
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "1000000"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "5"


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array, "dask"])
def test_numbers_as_large_as_there_are_do_no_harm(kind):
    X = make_groups(40, 3, 3)
    wide = X / np.abs(X).max() * 1.7e308
    wide[:, 0] = np.abs(wide[:, 0])
    wide[:, 1] = -1.7e308
    wide[0, 1] = 1.7e308
    if kind == "dask":
        kind = pytest.importorskip("dask.array", reason="the extra scale brings dask").from_array
    found, plain = (AgnosS(stop=None, max_iter=30, random_state=0).fit(t) for t in (kind(wide), wide / 2.0**900))
    np.testing.assert_array_equal(found.order_, plain.order_)
    assert found.order_.size == 9


@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize("chunk", [1, 65])
def test_chunks_of_any_size_are_read_in_batches_worth_learning_from(method, chunk):
    dask = pytest.importorskip("dask.array", reason="the extra scale brings dask")
    X = make_groups(300, 4, 6)
    found = method(stop=4, batch_size=64, max_iter=60, random_state=0).fit(dask.from_array(X, chunks=(chunk, 24)))
    assert np.unique(found.get_support(indices=True) // 6).size == 4
    assert found.history_["loss"].max() < 1.0  # a batch of one row would tell nothing


def test_no_batch_is_a_single_row():
    X = np.random.RandomState(0).standard_normal((3, 1))
    assert AgnosS(stop=1, batch_size=2, max_iter=20, random_state=0).fit(X).order_.tolist() == [0]


@pytest.mark.parametrize("kind", [">f8", ">f4", "longdouble", "float16", "uint16"])
def test_dask_arrays_of_any_number_type_are_ranked(kind):
    dask = pytest.importorskip("dask.array", reason="the extra scale brings dask")
    X = np.abs(10 * make_groups(60, 3, 3)).astype(kind)
    found = AgnosS(stop=None, max_iter=20, random_state=0).fit(dask.from_array(X, chunks=(25, 9)))
    np.testing.assert_array_equal(found.order_, AgnosS(stop=None, max_iter=20, random_state=0).fit(X).order_)


def test_dask_data_frames_of_mixed_types_are_ranked_and_bad_columns_named():
    frames = pytest.importorskip("dask.dataframe", reason="the extra scale brings dask")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(make_groups(90, 3, 2), columns=list("abcdef"))
    table["yes"], table["count"] = table["a"] > 0, np.arange(90)
    method = AgnosS(stop=3, max_iter=20, random_state=0)
    found = method.fit(frames.from_pandas(table, npartitions=3))
    np.testing.assert_array_equal(found.order_, AgnosS(stop=3, max_iter=20, random_state=0).fit(table).order_)
    with pytest.raises(ValueError, match="X lacks 'a' and holds 'z', which fit has not seen"):
        found.transform(frames.from_pandas(table.rename(columns={"a": "z"}), npartitions=3))
    with pytest.raises(ValueError, match="columns 'word' of X are not numeric"):
        method.fit(frames.from_pandas(table.assign(word="w"), npartitions=3))
    with pytest.raises(ValueError, match="NaN or infinity in columns 'c'"):
        method.fit(frames.from_pandas(table.assign(c=np.nan), npartitions=3))


def test_a_checkpoint_that_cannot_be_written_is_refused_before_training(tmp_path):
    with pytest.raises(ValueError, match=r"checkpoint=.* there is no folder .*nowhere"):
        AgnosS(checkpoint=tmp_path / "nowhere" / "state.pt").fit(make_groups())
    with pytest.raises(ValueError, match=r"checkpoint=.* is a folder"):
        AgnosS(checkpoint=tmp_path).fit(make_groups())


def test_a_run_with_another_seed_is_another_run(tmp_path, monkeypatch):
    from tamis.rank import _checkpoint

    monkeypatch.setattr(_checkpoint, "_SECONDS", 0.0)
    monkeypatch.setattr(_checkpoint.Checkpoint, "discard", lambda self: None)
    method = AgnosS(checkpoint=tmp_path / "state.pt", max_iter=20, stop=2, random_state=0).fit(make_groups())
    with pytest.raises(ValueError, match=r"\(random_state differ\)"):
        method.set_params(random_state=1).fit(make_groups())
    method.set_params(random_state=None).fit(make_groups())


def test_a_learning_rate_or_penalty_beyond_reason_is_told_and_leaves_no_nan():
    for parameters, words in (({"learning_rate": 1e30}, "lower learning_rate"), ({"alpha": 1e6}, "alpha=1e\\+06")):
        with pytest.warns(ConvergenceWarning, match=words):
            found = AgnosS(stop=2, random_state=0, **parameters).fit(make_groups())
        assert np.isfinite(found.scores_).all()


@pytest.mark.parametrize("mode", ["elimination", "thesis"])
def test_what_torch_is_set_to_does_not_matter(mode):
    import torch

    X = make_groups(40)
    method = AgnosS(stop=None, mode=mode, max_iter=20, random_state=0)
    expected = method.fit(X).order_
    for context in (torch.no_grad(), torch.inference_mode(), torch.device("meta")):
        with context:
            np.testing.assert_array_equal(method.fit(X).order_, expected)
    try:
        torch.set_default_dtype(torch.float64)
        np.testing.assert_array_equal(method.fit(X).order_, expected)
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_device_that_holds_no_numbers_is_refused():
    with pytest.raises(ValueError, match="device='meta' cannot be used"):
        AgnosS(device="meta").fit(make_groups())


def test_a_step_on_the_cpu_takes_batches_of_a_table_with_very_many_rows(monkeypatch):
    monkeypatch.setattr(_batch_loader, "_MOST_ROWS", 60)
    X, cpu = make_groups(n_samples=150), torch.device("cpu")
    loader = _batch_loader.BatchLoader(standardize_rows(X), cpu, None, 0)
    assert loader.size == 60
    assert sorted(np.concatenate([np.arange(150)[batch] for batch in loader.batches]).tolist()) == list(range(150))
    assert _batch_loader.BatchLoader(standardize_rows(X[:60]), cpu, None, 0).tensor is not None
    kept = AgnosS(stop=4, random_state=0, device="cpu").fit(X).get_support(indices=True)
    assert np.unique(kept // 6).size == 4
