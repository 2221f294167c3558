"""Files and streams that once cost memory, permissions or a traceback: the command line in a process of its own."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time

import numpy as np
import polars as pl
import pytest

from tamis.base._written_whole import _HOST, what_prevents_writing

SECONDS = 60  # that no refusal takes, however slow the machine is
MEMORY = 4 * 2**30  # bytes of address space, less than a table of names of what headers claim


def tamis(*arguments, cwd, **options):
    return subprocess.run(
        [sys.executable, "-m", "tamis", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        **options,
    )


def refuses(outcome, *words):
    assert outcome.returncode == 2, outcome.stderr
    assert outcome.stdout == ""
    lines = outcome.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("tamis: error: ")
    for word in words:
        assert word in lines[0]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 60))
    pl.DataFrame({"a": a, "b": b, "y": (a + 0.1 * b).round(3)}).write_csv(tmp_path / "table.csv")
    return tmp_path


def limited():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def test_indexes_that_claim_endless_columns_are_refused_in_a_line(folder):
    lines = "".join(f"{i % 2} 1:{i} 300000000:1\n" for i in range(30))
    (folder / "wide.svm").write_text(lines)
    parts = {"data": np.ones(60), "indices": np.zeros(60, dtype=int), "indptr": np.arange(61)}
    np.savez(folder / "wide.npz", **parts, shape=np.array([60, 10**9]), y=np.arange(60) % 2)
    for name in ("wide.svm", "wide.npz"):
        refuses(tamis("rank", name, "--target", "y", cwd=folder, preexec_fn=limited), name, "columns, more than the")


def test_a_sparse_table_that_lacks_a_part_is_named(folder):
    np.savez(folder / "part.npz", indices=np.zeros(60, dtype=int), indptr=np.arange(61), shape=[60, 4], y=np.arange(60))
    refuses(tamis("rank", "part.npz", "--target", "y", cwd=folder), "'indptr' and no 'data'")


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_stream_is_no_error(folder, closed):
    redirection = {"stdout": ">&-", "stderr": "2>&-"}[closed]
    command = f"{sys.executable} -m tamis list {redirection}"
    outcome = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert outcome.returncode == 0
    assert "Traceback" not in outcome.stderr


def test_patterns_in_the_name_of_a_file_are_its_name(folder):
    table = pl.read_csv(folder / "table.csv")
    table.write_csv(folder / "table[ab].csv")
    table.rename({"a": "b", "b": "a"}).write_csv(folder / "tablea.csv")
    outcome = tamis("select", "table[ab].csv", "--target", "y", "--out", "kept.csv", cwd=folder)
    assert outcome.returncode == 0, outcome.stderr
    assert pl.read_csv(folder / "kept.csv").columns[0] == "a"


@pytest.mark.parametrize(
    ("cell", "words"),
    [("x", ["row 5 holds 'x'", "59 of 60 rows hold numbers"]), ("y" * 2_000_000, ["2000000 characters"])],
)
def test_one_bad_cell_makes_no_classes_of_a_quantity(folder, cell, words):
    table = pl.read_csv(folder / "table.csv").with_columns(pl.col("y").cast(str))
    table[4, "y"] = cell
    table.write_csv(folder / "bad.csv")
    refuses(tamis("select", "bad.csv", "--target", "y", cwd=folder), "--target y", *words)


def test_a_label_for_every_row_is_no_target(folder):
    pl.read_csv(folder / "table.csv").with_columns(y="name " + pl.col("y").cast(str)).write_csv(folder / "names.csv")
    refuses(tamis("select", "names.csv", "--target", "y", cwd=folder), "different texts in 60 rows")


def test_a_file_that_is_written_over_keeps_its_mode_and_a_link_stays_one(folder):
    (folder / "private.csv").touch(mode=0o600)
    (folder / "link.csv").symlink_to("real.csv")
    (folder / f".private.csv.{_HOST}-999999999-0a.part").touch()
    elsewhere = folder / ".private.csv.elsewhere-999999999-0a.part"  # where its process may be running
    elsewhere.touch()
    for name in ("private.csv", "link.csv"):
        outcome = tamis("select", "table.csv", "--target", "y", "--out", name, cwd=folder)
        assert outcome.returncode == 0, outcome.stderr
    assert stat.S_IMODE((folder / "private.csv").stat().st_mode) == 0o600
    assert (folder / "link.csv").is_symlink()
    assert pl.read_csv(folder / "real.csv").columns[-1] == "y"
    assert list(folder.glob(".*.part")) == [elsewhere]


def test_a_read_only_file_is_refused_before_any_work(folder):
    (folder / "kept.csv").touch(mode=0o444)
    refuses(tamis("select", "table.csv", "--target", "y", "--out", "kept.csv", cwd=folder), "read-only")
    outcome = tamis("select", "none.csv", "--target", "y", "--out", "/proc/kept.csv", cwd=folder)
    refuses(outcome, "--out /proc/kept.csv", "no file can be made there")


def test_a_terminated_run_leaves_nothing_behind(folder):
    rng = np.random.default_rng(0)
    table = pl.DataFrame(rng.normal(size=(20_000, 30)), schema=[f"x{j}" for j in range(30)])
    table.with_columns(y=pl.col("x0")).write_parquet(folder / "large.parquet")
    before = set(os.listdir(folder))
    command = [sys.executable, "-m", "tamis", "select", "large.parquet", "--target", "y", "--out", "kept.csv"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None and not list(folder.glob(".kept.csv.*.part")):
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=SECONDS) in (143, 0)
    assert set(os.listdir(folder)) - before <= {"kept.csv"}


def test_whether_a_file_can_be_written_is_found_out_without_leaving_a_name(tmp_path, monkeypatch):
    """A process may be killed at any moment, also while it tries."""
    unnamed, seen = tempfile.TemporaryFile, []

    def watched(**given):
        file = unnamed(**given)
        seen.append(os.listdir(tmp_path))
        return file

    monkeypatch.setattr(tempfile, "TemporaryFile", watched)
    assert what_prevents_writing(tmp_path / "kept.csv") == ""
    assert seen == [[]]
    assert "name a file elsewhere" in what_prevents_writing(tmp_path / ("k" * 300))
