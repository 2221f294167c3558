"""Signals at random moments: a run that ends early loses nothing, leaves nothing, and resumes to the same result.

Each attack runs a job to its end, then again in a new folder, where a signal ends it at some moment, and then once more
there. The last run must give what the first gave, and leave the files that the first left. Files that were there before
are, after the signal, what they were or what the whole job makes of them. Jobs that can be resumed write their state
after every step, so that signals meet them writing.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tamis import OFW, AgnosS, AutoSelector, FisherScore, MaxVariance
from tamis.assess import compare
from tamis.cli import run
from tamis.rank import _checkpoint
from tamis.rank.stochastic import GradientDescent
from tests.adversary.isolation import Attack

INTERRUPTED, TERMINATED = 130, 143  # exit codes, as shells have them
_FAILED = 70  # exit code of a job that raised
_OUT = b"what was there before"


@dataclass(frozen=True)
class Job:
    """What is run in a folder of its own: its answer in plain types, and the files that it leaves when it ends."""

    act: Callable[[Path], Any]
    leaves: tuple[str, ...] = ()
    is_command: bool = False  # which takes signals, and says how it ended by its exit code


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def _compare(folder: Path) -> Any:
    rankers = [FisherScore(), MaxVariance()]
    found = compare(rankers, *_data(), ks=[1, 3], metrics=["fit"], n_seeds=2, results_file=folder / "results.jsonl")
    rows = [{name: value for name, value in row.items() if "seconds" not in name} for row in found.rows]
    return repr(rows)  # pickles of equal rows differ where texts were read, which are then no one object


def _ofw(folder: Path) -> Any:
    found = OFW(
        "ridge",
        subset_size=2,
        n_subsets=20,
        method=GradientDescent(mu=2),
        tol=0.8,
        null_control=True,
        checkpoint=folder / "state.npz",
        random_state=0,
    ).fit(*_data())
    return [found.probability_, found.order_, found.history_["energy"], found.null_energy_]


def _agnos(mode: str) -> Callable[[Path], Any]:
    def act(folder: Path) -> Any:
        path = folder / "state.pt"
        found = AgnosS(stop=3, mode=mode, max_iter=25, batch_size=40, checkpoint=path, random_state=3).fit(_data()[0])
        return [found.scores_, found.order_, found.history_["loss"]]

    return act


def _auto(folder: Path) -> Any:
    found = AutoSelector(
        50,
        rankers=["fisher"],
        models=["ridge"],
        n_bootstraps=10,
        checkpoint=folder / "race.npz",
        random_state=0,
    ).fit(*_data())
    return [found.support_, found.predict(_data()[0]), found.estimate_.value, found.estimate_.low]


def _select(*options: str, suffix: str) -> Callable[[Path], Any]:
    def act(folder: Path) -> Any:
        out = folder / f"kept{suffix}"
        arguments = ["table.csv", "--target", "y", "--out", out.name, "--method", "gram-schmidt", *options]
        sys.argv = ["tamis", "select", *arguments]
        run()

    return act


JOBS = {
    "compare": Job(_compare, leaves=("results.jsonl",)),
    "OFW": Job(_ofw),
    "AGNOS": Job(_agnos("elimination")),
    "AGNOS of the thesis": Job(_agnos("thesis")),
    "AutoSelector": Job(_auto),
    "select --out kept.csv": Job(_select(suffix=".csv"), ("kept.csv",), is_command=True),
    "select --out kept.parquet": Job(_select(suffix=".parquet"), ("kept.parquet",), is_command=True),
    "select --engine blocks": Job(_select("--engine", "blocks", suffix=".csv"), ("kept.csv",), is_command=True),
}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def _write_table(folder: Path) -> None:
    """By hand, for the pool of threads of a library that was used does not survive a fork."""
    X, y = _data()
    rows = np.tile(np.column_stack([X, X[:, 0] + 0.1 * X[:, 1] * y]), (100, 1)).round(4).tolist()
    lines = [",".join([*(f"x{j}" for j in range(X.shape[1])), "y"]), *(",".join(map(str, row)) for row in rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")


def _serve(job: Job, folder: Path, answer: Path) -> NoReturn:
    """In a forked process: do the job, and keep its answer where it has come to an end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with open(answer.with_suffix(".streams"), "wb") as streams:
        os.dup2(streams.fileno(), 1)
        os.dup2(streams.fileno(), 2)
    os.chdir(folder)
    code = 0
    try:
        found = job.act(folder)
        answer.with_suffix(".part").write_text(json.dumps(found, default=np.ndarray.tolist))  # all digits of numbers
        os.replace(answer.with_suffix(".part"), answer)
    except SystemExit as end:
        code = int(end.code or 0)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException:
        traceback.print_exc()
        code = _FAILED
    with contextlib.suppress(BaseException):  # streams that a signal has left in the middle of a line
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


@dataclass(frozen=True)
class Run:
    """How a run of a job ended: by which signal or exit code, with what answer, and what it left."""

    status: int
    answer: str | None
    streams: str
    files: dict[str, bytes]
    seconds: float

    @property
    def code(self) -> int:
        """Exit code; that of the signal, negative, where one ended it."""
        return os.waitstatus_to_exitcode(self.status)


def _run(job: Job, folder: Path, answer: Path, *, sent: int = 0, after: float = 0.0) -> Run:
    """Run a job in a process of its own, to which a signal is sent after so many seconds."""
    answer.unlink(missing_ok=True)
    start = time.perf_counter()
    if (process := os.fork()) == 0:
        _serve(job, folder, answer)
    if sent:
        time.sleep(after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, sent)
    _, status = os.waitpid(process, 0)
    seconds = time.perf_counter() - start
    streams = answer.with_suffix(".streams").read_text(errors="replace")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return Run(status, answer.read_text() if answer.exists() else None, streams, files, seconds)


def _prepare(job: Job, folder: Path) -> None:
    folder.mkdir()
    if job.is_command:
        _write_table(folder)
        (folder / job.leaves[0]).write_bytes(_OUT)


def _is_same(job: Job, one: Run, other: Run) -> bool:
    """Whether two runs gave the same: commands in the file that they wrote, others in their answers."""
    if job.is_command:
        return one.files[job.leaves[0]] == other.files[job.leaves[0]]
    return one.answer == other.answer


def attack_job(name: str, sent: int, moment: float, folder: Path) -> str:
    """End a job by a signal after this part of its time, run it again, and say what is wrong."""
    job, answer = JOBS[name], folder.parent / "answer"
    _checkpoint._SECONDS = 0.0  # between two writes of the state
    whole, broken = folder / "whole", folder / "broken"
    _prepare(job, whole)
    first = _run(job, whole, answer)
    if first.code or set(first.files) != {*job.leaves, *(["table.csv"] if job.is_command else [])}:
        return f"without a signal: code {first.code}, {sorted(first.files)}: {first.streams[-600:]}"
    _prepare(job, broken)
    ended = _run(job, broken, answer, sent=sent, after=moment * first.seconds)
    if wrong := _what_is_wrong_with_end(job, first, ended, sent):
        return f"after {moment * first.seconds:.3f} s: {wrong}"
    again = _run(job, broken, answer)
    if again.code:
        return f"run again: code {again.code}: {again.streams[-600:]}"
    if not _is_same(job, first, again):
        return "run again, the result is another one"
    left = again.files.keys() ^ first.files.keys()
    return f"run again, it left {sorted(left)}" if left else ""


def _what_is_wrong_with_end(job: Job, first: Run, ended: Run, sent: int) -> str:
    """ "" where a run that a signal may have ended was ended by it, with nothing written in part."""
    allowed = {0, -sent}
    if sent == signal.SIGINT:
        allowed = {0, INTERRUPTED}
    elif job.is_command and sent == signal.SIGTERM:
        allowed = {0, TERMINATED, -sent}  # the last before it has set its handler
    if ended.code not in allowed:
        return f"code {ended.code}: {ended.streams[-600:]}"
    if "Traceback" in ended.streams:
        return f"said {ended.streams[-600:]}"
    if not job.is_command:
        return ""
    out = ended.files[job.leaves[0]]
    if out not in (_OUT, first.files[job.leaves[0]]) and sent != signal.SIGINT:  # which may have ended the ranking
        return f"{job.leaves[0]} was written in part: {len(out)} bytes"
    left = set() if sent == signal.SIGKILL else ended.files.keys() - first.files.keys()
    return f"left {sorted(left)}" if left else ""


def make_attack(rng: np.random.Generator, index: int) -> Attack:
    """A job, each in its turn, a signal and a moment."""
    name = list(JOBS)[index % len(JOBS)]
    sent = SIGNALS[int(rng.choice(len(SIGNALS), p=[0.5, 0.25, 0.25]))]
    moment = float(rng.random() * 1.05)
    return Attack("signals", name, f"{name}, {sent.name}", lambda folder: attack_job(name, sent, moment, folder))
