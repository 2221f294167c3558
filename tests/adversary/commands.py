"""Run the command line in this process, which was forked for it, and say what is wrong with how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tamis.cli import main

LONGEST_LINE = 1500  # characters of an error
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
_PICKLED = "pickle-ran"  # a file that a pickle would create, were it loaded


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> dict:
        """What ``--json`` wrote."""
        return json.loads(self.stdout)


@contextlib.contextmanager
def _redirected(stream: int, path: Path) -> Iterator[None]:
    """File descriptor ``stream`` writes to ``path``, whoever writes to it: libraries in other languages, too."""
    kept, target = os.dup(stream), os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(target, stream)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(kept, stream)
        os.close(target)
        os.close(kept)


def run_command(arguments: Sequence[str], elsewhere: Path, stdin: Path | None = None) -> Ending:
    """Run ``tamis`` with these arguments; its streams are files beside the working folder."""
    streams = elsewhere / ".stdout", elsewhere / ".stderr"
    if stdin is not None:
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the process ends with it
    with _redirected(1, streams[0]), _redirected(2, streams[1]):
        code = main(list(arguments))
    stdout, stderr = (path.read_bytes().decode(errors="surrogateescape") for path in streams)
    return Ending(code, stdout, stderr)


def what_is_wrong_with_ending(ending: Ending) -> str:
    """ "" where it did its work, or refused it in one line that a person can read."""
    lines = ending.stderr.splitlines()
    errors = [line for line in lines if not line.startswith("tamis: warning: ")]
    if ending.code not in (0, 2):
        return f"exit code {ending.code}: {ending.stderr[-600:]}"
    if found := _CONTROL.search(ending.stdout + ending.stderr):
        return f"control character {found.group()!r} in the output"
    if ending.code == 0:
        failed = [line for line in errors if line.startswith(("tamis: error", "Traceback", "thread '"))]
        return f"done, but said: {failed}" if failed else ""
    said = [line.startswith("tamis: error: ") for line in errors]  # after notes on what was read until then
    if sum(said) != 1 or not said[-1] or len(errors[-1]) > LONGEST_LINE:
        return f"refused in {len(errors)} lines, {len(ending.stderr)} characters: {ending.stderr[:600]}"
    return f"refused, but wrote {ending.stdout[:200]!r}" if ending.stdout else ""


def what_is_left(folder: Path, before: dict[str, bytes], allowed: Sequence[str]) -> str:
    """ "" where no file has changed or come to be, but for those that were asked for."""
    if (folder / _PICKLED).exists():
        return "a pickle ran"
    after = {path.name for path in folder.iterdir()}
    if new := after - before.keys() - set(allowed):
        return f"left behind: {sorted(new)}"
    changed = [name for name in before if name not in allowed and _content(folder / name) != before[name]]
    return f"changed: {changed}" if changed else ""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: _content(path) for path in folder.iterdir()}


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
