"""Run one attack in a process of its own, within limits of time, memory and file size."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60  # that no attack on a small table may take
MEMORY = 3 * 2**30  # bytes that an attack may take beside what is loaded already
MOST_BYTES_ON_DISK = 2**30
_VERDICT = ".verdict"
_RIGHT = "right"


@dataclass(frozen=True)
class Attack:
    """What is tried. ``act`` is given a folder of its own and returns what went wrong, "" if nothing did."""

    kind: str
    subject: str  # the method, the format or the job that is attacked
    name: str
    act: Callable[[Path], str]


@dataclass(frozen=True)
class Outcome:
    """What came of it; ``wrong`` is "" where everything that is promised was kept."""

    attack: Attack
    number: int
    wrong: str
    seconds: float


def run_all(attacks: Iterator[tuple[int, Attack]], n_jobs: int) -> Iterator[Outcome]:
    """Run attacks in ``n_jobs`` processes at a time, forked from this one, which should have loaded everything."""
    running: dict[int, tuple[int, Attack, Path, float]] = {}
    while True:
        while len(running) < n_jobs and (following := next(attacks, None)) is not None:
            number, attack = following
            folder = Path(tempfile.mkdtemp(prefix="tamis-adversary-"))
            sys.stdout.flush()
            if (process := os.fork()) == 0:
                _serve(attack, folder)
            running[process] = number, attack, folder, time.perf_counter()
        if not running:
            return
        process, status = os.wait()
        number, attack, folder, start = running.pop(process)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # what it has started and left behind
        wrong = _read_verdict(folder, status)
        shutil.rmtree(folder, ignore_errors=True)
        yield Outcome(attack, number, wrong, time.perf_counter() - start)


def limit_memory(extra: int = MEMORY) -> None:
    """Allow so many bytes of address space beside those in use."""
    with open("/proc/self/statm") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + extra, in_use + extra))


def _serve(attack: Attack, folder: Path) -> None:
    """In the forked process: act, leave the verdict as a file, and end without any cleaning up of the parent's."""
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # kills, even where Python is not asked
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory()
    work = folder / "work"
    work.mkdir()
    os.chdir(work)
    try:
        wrong = attack.act(work)
    except BaseException:
        wrong = traceback.format_exc()
    (folder / _VERDICT).write_text(json.dumps(wrong or _RIGHT))
    os._exit(0)


def _read_verdict(folder: Path, status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"still running after {SECONDS} s" if number == signal.SIGALRM else f"killed by signal {number}"
    try:
        verdict = json.loads((folder / _VERDICT).read_text())
    except (OSError, ValueError):
        return f"ended with status {status} and no verdict"
    return "" if verdict == _RIGHT else verdict
