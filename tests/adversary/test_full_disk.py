"""A file system that takes no more, here by a limit on the size of files: nothing is lost, neither new nor old."""

import io
import os
import resource
import signal
import warnings
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest

from tamis import OFW, AgnosS, AutoSelector, FisherScore, MaxVariance
from tamis.assess import compare
from tamis.assess._results_file import ResultsFile
from tamis.cli import Environment, main
from tamis.rank import _checkpoint
from tamis.rank._checkpoint import Checkpoint
from tamis.rank.stochastic import GradientDescent

OLD = "what was there before"


@contextmanager
def no_room(n_bytes=1000):
    """Writing more than so many bytes to a file fails, as on a device that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def data():
    X = np.random.default_rng(0).normal(size=(80, 6))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 4))
    table = pl.DataFrame(X, schema=list("abcd")).with_columns(y=pl.Series(X @ [1.0, 2.0, 3.0, 4.0]))
    table.write_parquet(tmp_path / "table.parquet")
    table.write_csv(tmp_path / "table.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tamis(*arguments):
    env = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    with no_room():
        code = main(list(arguments), env)
    return code, env.stdout.getvalue(), env.stderr.getvalue().splitlines()


@pytest.mark.parametrize("engine", ["memory", "blocks"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npz"])
def test_columns_that_do_not_fit_leave_the_old_file_and_the_answer(suffix, engine, folder):
    if engine == "blocks" and suffix in (".tsv", ".npz"):
        pytest.skip("not written in blocks")
    (folder / f"kept{suffix}").write_text(OLD)
    code, answer, said = tamis(
        "select", "table.parquet", "--target", "y", "--stop", "4", "--engine", engine, "--out", f"kept{suffix}"
    )
    assert code == 1
    (error,) = [line for line in said if "error" in line]
    assert error.startswith(f"tamis: error: kept{suffix} was not written: File too large; raise the limit on the size")
    assert error.endswith("or name one elsewhere. The file that was there is as it was")
    assert said[-1] == error
    assert all(f" {name} " in answer for name in "abcd")  # nobody ranks them again to know what was kept
    assert (folder / f"kept{suffix}").read_text() == OLD
    assert sorted(os.listdir(folder)) == sorted([f"kept{suffix}", "table.csv", "table.parquet"])


def test_a_model_that_does_not_fit_leaves_the_old_one_and_the_answer(folder):
    (folder / "model.skops").write_text(OLD)
    given = [
        "--budget",
        "30",
        "--rankers",
        "fisher",
        "--models",
        "ridge",
        "--model",
        "model.skops",
        "--out",
        "kept.csv",
    ]
    code, answer, said = tamis("auto", "table.csv", "--target", "y", *given)
    assert code == 1
    errors = [line for line in said if line.startswith("tamis: error: ")]
    assert [line.split()[2] for line in errors] == ["kept.csv", "model.skops"]
    assert all("File too large" in line for line in errors)
    assert any(line.startswith("expected R²") for line in said)
    assert "feature" in answer
    assert (folder / "model.skops").read_text() == OLD
    assert sorted(os.listdir(folder)) == ["model.skops", "table.csv", "table.parquet"]


def long_run(kind, path):
    X, y = data()
    if kind == "OFW":
        descent = GradientDescent(mu=2)
        return OFW("ridge", subset_size=2, n_subsets=20, method=descent, tol=0.8, checkpoint=path, random_state=0), X, y
    if kind == "AGNOS":
        return AgnosS(stop=3, max_iter=10, batch_size=40, checkpoint=path, random_state=3), X, None
    given = {"rankers": ["fisher"], "models": ["ridge"], "n_bootstraps": 10}
    return AutoSelector(50, **given, checkpoint=path, random_state=0), X, y


@pytest.mark.parametrize("kind", ["OFW", "AGNOS", "AutoSelector"])
def test_a_checkpoint_that_cannot_be_written_costs_no_fit(kind, tmp_path, monkeypatch):
    if kind == "AGNOS":
        pytest.importorskip("torch")
    monkeypatch.setattr(_checkpoint, "_SECONDS", 0.0)  # between two writes of the state
    selector, X, y = long_run(kind, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of short training
        expected = selector.fit(X, y).get_support()
        selector, X, y = long_run(kind, tmp_path / "state")
        write, written = Checkpoint.write, []

        def write_once(self, state):
            if written:
                with no_room(10):
                    write(self, state)
            written.append(write(self, state))

        monkeypatch.setattr(Checkpoint, "write", write_once)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = selector.fit(X, y).get_support()
    told = [str(warning.message) for warning in caught if "checkpoint" in str(warning.message)]
    assert len(told) == 1
    assert "File too large" in told[0]
    assert "The run goes on" in told[0]
    assert found.tolist() == expected.tolist()
    assert os.listdir(tmp_path) == []


def test_a_state_that_was_written_stays_where_the_next_does_not_fit(tmp_path):
    run = Checkpoint(tmp_path / "state", {"run": "this"})
    run.resume(0, is_free=False)
    run.save({"weights": np.arange(3.0)})
    with no_room(100), pytest.warns(UserWarning, match="resumes from the last state that was written"):
        run.save({"weights": np.arange(1000.0)})
    again = Checkpoint(tmp_path / "state", {"run": "this"})
    assert again.resume(0, is_free=False)[1]["weights"].tolist() == [0, 1, 2]
    assert os.listdir(tmp_path) == ["state"]


def test_a_comparison_goes_on_where_its_results_cannot_be_written_and_writes_them_later(tmp_path, monkeypatch):
    path, given = tmp_path / "results.jsonl", {"ks": [1], "metrics": ["fit"], "n_seeds": 2}
    expected = compare([FisherScore(), MaxVariance()], *data(), **given).frame()
    write, n_writes = ResultsFile._write, []

    def write_with_no_room(self):
        n_writes.append(1)
        with no_room(100 if len(n_writes) == 2 else 10**6):  # the first is the empty file
            write(self)

    monkeypatch.setattr(ResultsFile, "_write", write_with_no_room)
    with pytest.warns(UserWarning, match=r"results.jsonl was not written: File too large.*The comparison goes on"):
        found = compare([FisherScore(), MaxVariance()], *data(), results_file=path, **given).frame()
    for columns in (found, expected):
        columns.pop("seconds")
    assert str(found) == str(expected)
    n_tasks = len(n_writes) - 1
    assert len(path.read_text().splitlines()) == 1 + n_tasks  # those that did not fit came with the next
    assert os.listdir(tmp_path) == ["results.jsonl"]


def test_results_that_cannot_be_written_are_told_before_the_work(tmp_path):
    with no_room(10), pytest.raises(ValueError, match=r"results_file: .*r.jsonl was not written: File too large"):
        compare([FisherScore()], *data(), ks=[1], metrics=["fit"], n_seeds=1, results_file=tmp_path / "r.jsonl")
    (tmp_path / "device").symlink_to(os.devnull)
    with pytest.raises(ValueError, match=r"results_file=.*device: it is a device"):
        compare([FisherScore()], *data(), ks=[1], metrics=["fit"], n_seeds=1, results_file=tmp_path / "device")
    assert os.listdir(tmp_path) == ["device"]


@pytest.mark.parametrize("kind", ["OFW", "AGNOS", "AutoSelector"])
@pytest.mark.parametrize("place", ["device", "nowhere/state", "read-only", "n" * 300])
def test_a_checkpoint_in_a_place_that_takes_no_file_is_refused_before_the_fit(place, kind, tmp_path):
    if kind == "AGNOS":
        pytest.importorskip("torch")
    (tmp_path / "device").symlink_to(os.devnull)
    (tmp_path / "read-only").touch(mode=0o444)
    selector, X, y = long_run(kind, tmp_path / place)
    with pytest.raises(ValueError, match=r"checkpoint=.*cannot be written"):
        selector.fit(X, y)
    assert sorted(os.listdir(tmp_path)) == ["device", "read-only"]
