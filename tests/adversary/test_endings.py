"""How the program ends: signals from its first moments on, streams that are full or gone, places that take no file."""

import io
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tamis.cli import Environment, main

SECONDS = 60  # that no run takes, however slow the machine is
ROOT = Path(__file__).parents[2]
SIGNALLED = Path(__file__).with_name("signalled.py")
ENTRY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["tamis"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
SELECT = ("select", "table.csv", "--target", "y")
GRID = np.arange(0.0, 1.55, 0.05).round(2).tolist()
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 60))
    pl.DataFrame({"a": a, "b": b, "c": c, "y": (a + 0.1 * b).round(3)}).write_csv(tmp_path / "table.csv")
    return tmp_path


def shell(command, cwd):
    return subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env=BUFFERED,  # as people run it
    )


def tamis(arguments, cwd):
    command = [sys.executable, "-m", "tamis", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False, env=BUFFERED)


# signals


@pytest.mark.parametrize("sent", CODES, ids=lambda sent: sent.name)
@pytest.mark.parametrize("moment", [20, 60, 250, 500, 900, 1400, 2000])
def test_a_signal_among_the_imports_ends_the_program_without_a_traceback(moment, sent, folder):
    command = [sys.executable, str(SIGNALLED), str(moment), str(int(sent)), ENTRY, *SELECT]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert outcome.returncode == CODES[sent], outcome.stderr
    assert "Traceback" not in outcome.stderr
    said = "tamis: interrupted\n" if sent == signal.SIGINT else ""
    assert outcome.stderr.removeprefix("regression on 'y'\n") == said


@pytest.mark.parametrize("sent", CODES, ids=lambda sent: sent.name)
@pytest.mark.parametrize("start", [("-m", "tamis"), ("-c", f"from {ENTRY.replace(':', ' import ')}; run()")])
@pytest.mark.parametrize("seconds", [0.05, 0.3, *(pytest.param(each, marks=pytest.mark.slow) for each in GRID)])
def test_no_moment_of_a_signal_shows_a_traceback_of_ours(seconds, start, sent, folder):
    process = subprocess.Popen(
        [sys.executable, *start, *SELECT], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(seconds)
    process.send_signal(sent)
    _, said = process.communicate(timeout=SECONDS)
    if "Traceback" in said:  # of Python itself, before any line of ours was run
        assert str(ROOT / "src") not in said
        return
    assert process.returncode in {0, CODES[sent], -sent, 1}
    if process.returncode == 1:
        assert "KeyboardInterrupt" in said
        assert str(ROOT / "src") not in said


def test_signals_that_were_ignored_at_the_start_stay_ignored(folder):
    command = f"trap '' INT TERM; {sys.executable} {SIGNALLED} 300 2 {ENTRY} {' '.join(SELECT)}"
    outcome = shell(command, folder)
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".npz"])
@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_ctrl_c_in_the_writing_leaves_nothing_and_the_old_file_as_it_was(suffix, engine, folder):
    if engine == "blocks" and suffix in (".tsv", ".npz"):
        pytest.skip("not written in blocks")
    (folder / f"kept{suffix}").write_text("old")
    program = (
        "import os, signal, sys\n"
        "def watch(event, given):\n"
        "    if event == 'os.chmod' and str(given[0]).endswith('.part'):\n"  # complete, and not yet moved
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.addaudithook(watch)\n"
        f"sys.argv = ['tamis', *{[*SELECT, '--engine', engine, '--out', f'kept{suffix}']}]\n"
        "from tamis.__main__ import run\nrun()"
    )
    command = [sys.executable, "-c", program]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert outcome.returncode == 130, outcome.stderr
    assert f"kept 'b', 'a'; kept{suffix} was not written\ntamis: interrupted\n" in outcome.stderr.replace(
        "'a', 'b'", "'b', 'a'"
    )
    assert (folder / f"kept{suffix}").read_text() == "old"
    assert sorted(os.listdir(folder)) == [f"kept{suffix}", "table.csv"]


# streams


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "command", ["list", "--help", "--version", "rank table.csv --target y", "rank table.csv --json"]
)
def test_an_answer_that_does_not_fit_is_an_error_of_one_line(command, folder):
    with_method = command.replace("--json", "--json --method max-variance")
    outcome = shell(f"{sys.executable} -m tamis {with_method} > /dev/full", folder)
    assert outcome.returncode == 1
    (said,) = [line for line in outcome.stderr.splitlines() if line != "regression on 'y'"]
    assert said.startswith("tamis: error: standard output: No space left on device")
    assert "make room" in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("stream", ["2> /dev/full", "2> >(true)", "2>&-"])
@pytest.mark.parametrize(("arguments", "code"), [("--target y", 0), ("--target nobody", 2)])
def test_messages_that_nobody_can_read_cost_no_answer(stream, arguments, code, folder):
    outcome = shell(f"{sys.executable} -m tamis rank table.csv {arguments} {stream}", folder)
    assert outcome.returncode == code
    assert ("rank  feature" in outcome.stdout) == (code == 0)


@pytest.mark.parametrize("command", ["--help", "--version", "rank table.csv --target y"])
def test_a_reader_that_is_gone_ends_the_program_in_silence(command, folder):
    outcome = shell(f"set -o pipefail; {sys.executable} -m tamis {command} | true", folder)
    assert outcome.returncode == 0
    assert outcome.stderr in ("", "regression on 'y'\n")


# places that take no file: told before anything is read, for the table is missing

LONG = "n" * 300


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere/kept.SUFFIX", ["there is no folder nowhere", "create it first"]),
        ("table.csv/kept.SUFFIX", ["there is no folder table.csv"]),
        ("/proc/kept.SUFFIX", ["no file can be made there"]),
        ("folder.SUFFIX", ["it is a folder"]),
        ("device.SUFFIX", ["a device or a pipe"]),
        ("read-only.SUFFIX", ["read-only", "make it writable"]),
        (f"{LONG}.SUFFIX", ["File name too long"]),
        (f"{'d/' * 3000}kept.SUFFIX", ["File name too long"]),
    ],
)
@pytest.mark.parametrize(
    ("command", "option", "suffix"),
    [
        ("select", "--out", "csv"),
        ("auto", "--out", "parquet"),
        ("auto", "--model", "skops"),
        ("auto", "--checkpoint", "state"),
    ],
)
def test_a_place_that_takes_no_file_is_refused_before_any_work(
    command, option, suffix, place, words, folder, monkeypatch
):
    if place.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("no /proc")
    (folder / f"folder.{suffix}").mkdir()
    (folder / f"device.{suffix}").symlink_to(os.devnull)
    (folder / f"read-only.{suffix}").touch(mode=0o444)
    before = sorted(os.listdir(folder))
    monkeypatch.chdir(folder)
    env = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    code = main([command, "missing.csv", "--target", "y", option, place.replace("SUFFIX", suffix)], env)
    assert (code, env.stdout.getvalue()) == (2, "")
    (said,) = env.stderr.getvalue().splitlines()
    assert said.startswith("tamis: error: ")
    assert option in said
    assert len(said) < 600
    for word in words:
        assert word in said
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("given", [["rank", f"{LONG}.csv"], ["rank", f"{'d/' * 3000}t.csv"], ["rank", "--glob", LONG]])
def test_a_file_whose_path_is_too_long_is_bad_input(given, folder):
    outcome = tamis(given, folder)
    assert outcome.returncode == 2
    (said,) = outcome.stderr.splitlines()
    assert "FILE" in said
    assert "File name too long" in said
    assert len(said) < 600
