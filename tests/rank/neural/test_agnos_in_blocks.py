"""AGNOS on rows that are read in blocks: one pass takes those that memory holds, and the reason tells how many."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tamis import AgnosG, AgnosS, AgnosW, TableSelector
from tamis.engine import DaskBlocks, FileTable, LocalBlocks
from tests.oracles.row_blocks import ListBlocks

pytest.importorskip("torch", reason="the extra neural brings torch")

VARIANTS = [AgnosS, AgnosW, AgnosG]
NAMES = [f"column {j}" for j in range(24)]


def make_groups(n_samples=900, noise=0.3, seed=0):
    """Four groups of six columns that measure one hidden quantity each."""
    rng = np.random.RandomState(seed)
    hidden = rng.standard_normal((n_samples, 4))
    return np.repeat(hidden, 6, axis=1) + noise * rng.standard_normal((n_samples, 24))


def in_blocks(X, n_held=None):
    """The rows in four blocks, with memory for so many of them, or for all."""
    table = ListBlocks(X, [len(X) // 5, len(X) // 5 + 1, len(X) // 2], NAMES)
    if n_held is not None:
        table.memory = 64 * X.shape[1] * n_held
    return table


def n_groups(found):
    return np.unique(found.get_support(indices=True) // 6).size


@pytest.mark.parametrize("stop", ["auto", 4])
@pytest.mark.parametrize("method", VARIANTS)
def test_rows_that_all_fit_give_what_they_give_in_memory(method, stop):
    X = make_groups()
    ranker = method(stop=stop, max_iter=60, random_state=0)
    order, scores, reason = (expected := ranker.fit(X)).order_, expected.scores_, expected.stop_.reason
    table = in_blocks(X)
    found = ranker.fit(table)
    np.testing.assert_array_equal(found.order_, order)
    np.testing.assert_array_equal(found.scores_, scores)
    assert found.stop_.reason == reason
    assert found.feature_names_in_.tolist() == NAMES
    assert table.n_passes == 1


@pytest.mark.parametrize("method", VARIANTS)
def test_rows_that_memory_holds_are_drawn_from_all_over_a_sorted_table(method):
    """The first rows alone tell of one group only: the others do not vary there."""
    X = make_groups(4000)
    X[:2000, 6:] *= 1e-3
    table = in_blocks(X, n_held=800)
    found = method(stop=4, random_state=0).fit(table)
    assert n_groups(found) == 4
    assert "ranked on 800 of 4000 rows, drawn at random (as many as the memory holds)" in found.stop_.reason
    assert table.n_passes == 1


def test_the_rule_sees_the_rows_that_memory_holds():
    found = AgnosS(max_iter=60, random_state=0).fit(in_blocks(make_groups(4000), n_held=500))
    assert "of the variance of all, leave-one-out" in found.stop_.reason
    assert "ranked on 500 of 4000 rows" in found.stop_.reason
    assert n_groups(found) == 4


@pytest.mark.parametrize("seed", [None, 3])
def test_a_seed_draws_the_same_rows_and_none_is_a_seed_too(seed):
    X = make_groups(4000)
    one, other = (AgnosS(stop=4, max_iter=20, random_state=seed).fit(in_blocks(X, n_held=300)) for _ in range(2))
    assert one.dimension_ == other.dimension_
    if seed is not None:
        np.testing.assert_array_equal(one.scores_, other.scores_)


def test_columns_that_stay_or_are_left_out_are_so_in_blocks():
    X = make_groups()
    ranker = AgnosS(stop=5, keep="column 3", exclude=["column 0", "column 20"], max_iter=40, random_state=0)
    found = ranker.fit(in_blocks(X, n_held=400))
    assert found.support_[3]
    assert not {0, 20} & set(found.order_.tolist())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_entries_that_are_no_numbers_are_refused_in_rows_that_are_not_drawn_too(value):
    X = make_groups()
    X[[3, 700], 2] = value
    what = "missing" if np.isnan(value) else "infinite"
    with pytest.raises(ValueError, match=f"column 'column 2' holds 2 {what} values"):
        AgnosS(stop=2).fit(in_blocks(X, n_held=256))


def test_parameters_are_checked_before_any_row_is_read():
    table = in_blocks(make_groups())
    with pytest.raises(ValueError, match="device='nowhere'"):
        AgnosS(device="nowhere").fit(table)
    with pytest.raises(ValueError, match="CrossValidation needs the rows in memory"):
        AgnosS(stop="cross-validation").fit(table)
    assert table.n_passes == 0


def test_ctrl_c_while_rows_are_read_leaves_nothing_fitted():
    class Interrupted(LocalBlocks):
        shape, dtype = (400, 24), np.dtype(float)

        def _read(self, columns):
            yield make_groups(200)
            raise KeyboardInterrupt

    ranker = AgnosS(stop=2)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(Interrupted())
    assert not hasattr(ranker, "support_")


class Tasks:
    """Remembers the tasks and steps that it is told of, and may end the training after some of them."""

    def __init__(self, last=np.inf):
        self.names, self.last, self.n_trained = [], last, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)
        self.n_trained += context.task_name == "train step"
        return self.n_trained >= self.last


def test_reading_and_training_report_how_far_they_are():
    tasks = Tasks()
    AgnosS(stop=4, max_iter=20, random_state=0).set_callbacks(tasks).fit(in_blocks(make_groups(), n_held=300))
    assert tasks.names.count("row sample step") == 4
    assert tasks.names.count("train step") == 20


def test_training_that_a_callback_ends_early_still_ranks_all_columns():
    ranker = AgnosS(stop=4, max_iter=60, random_state=0).set_callbacks(Tasks(last=20))
    found = ranker.fit(in_blocks(make_groups(), n_held=300))
    assert found.order_.size == 24


def test_files_are_ranked_by_name(tmp_path):
    X = make_groups(3000)
    parquet.write_table(pa.table(list(X.T), names=NAMES), tmp_path / "part-0.parquet")
    parquet.write_table(pa.table(list(X.T), names=NAMES), tmp_path / "part-1.parquet")
    files = FileTable(tmp_path / "part-*.parquet", memory=2**20)
    for table in (files, files.blocks()):
        found = AgnosS(stop=4, random_state=0).fit(table)
        assert n_groups(found) == 4
        assert found.get_feature_names_out().tolist() == [NAMES[j] for j in found.get_support(indices=True)]
    part = AgnosS(stop=2, random_state=0).fit(files.blocks(NAMES[:12]))
    assert n_groups(part) == 2


def test_mixed_columns_of_files_are_encoded_first(tmp_path):
    X = make_groups(3000)
    columns = {name: pa.array(X[:, j], mask=X[:, j] > 1.5) for j, name in enumerate(NAMES)}
    columns["city"] = np.random.RandomState(1).choice(["Lyon", "Nice"], 3000)
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = TableSelector(AgnosS(stop=6, random_state=0)).fit(FileTable(tmp_path / "t.parquet", memory=2**21))
    assert found.order_.size == 25
    assert "of 3000 rows, drawn at random" in found.stop_.reason


def test_partitions_of_dask_are_streamed_whoever_hands_them_over():
    dask = pytest.importorskip("dask.array", reason="the extra scale brings dask")
    X = dask.from_array(make_groups(), chunks=(300, 24))
    ranker = AgnosS(stop=4, max_iter=40, random_state=0)
    expected = ranker.fit(X).order_
    np.testing.assert_array_equal(ranker.fit(DaskBlocks(X)).order_, expected)
    np.testing.assert_array_equal(TableSelector(ranker).fit(X).order_, expected)
    assert "drawn at random" not in ranker.stop_.reason


def test_a_table_without_a_column_that_varies_is_refused():
    with pytest.raises(ValueError, match="every column of X is constant"):
        AgnosS().fit(ListBlocks(np.ones((400, 3)), [100]))


def test_a_run_on_rows_that_were_drawn_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    from tamis.rank import _checkpoint

    monkeypatch.setattr(_checkpoint, "_SECONDS", 0.0)
    save, saves = _checkpoint.Checkpoint.save, []

    def save_and_stop(self, state):
        save(self, state)
        saves.append(state)
        if len(saves) == 15:
            raise KeyboardInterrupt

    X = make_groups(2000)
    settings = {"stop": 3, "max_iter": 40, "random_state": 3}
    expected = AgnosS(**settings).fit(in_blocks(X, n_held=400))
    monkeypatch.setattr(_checkpoint.Checkpoint, "save", save_and_stop)
    ranker = AgnosS(checkpoint=tmp_path / "state.pt", **settings)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(in_blocks(X, n_held=400))
    np.testing.assert_array_equal(ranker.fit(in_blocks(X, n_held=400)).order_, expected.order_)
