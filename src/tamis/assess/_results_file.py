"""Results on disk: written whole after each task, so that a run that ends early can go on where it was."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib import delayed
from scipy import sparse
from sklearn.base import BaseEstimator

from tamis.base import SentOnce, open_parallel, remove_abandoned_parts, what_prevents_writing, written_whole

Row = dict[str, Any]

_HEADER = {"format": "tamis comparison", "version": 1}
_GOES_ON = "The comparison goes on, and tries again after the next task"
_SETTLED = ("stop", "random_state", "n_jobs")  # set by the comparison, or without effect on the result


class ResultsFile:
    """Finished tasks by key, each with the fingerprint of what it was computed from.

    One JSON object per line: a header, then one task each. Opening reads what is there, and refuses a file that is
    damaged or something else. Several processes may write to one file: each keeps the tasks of the others.

    Parameters
    ----------
    path : path-like
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if reason := what_prevents_writing(self.path):
            raise ValueError(f"results_file={self.path}: {reason}")
        self._fingerprints: dict[str, str] = {}
        self._lines: dict[str, str] = {}
        self._seen: tuple[int, ...] | None = None  # of the file, as this process knows it
        with _locked(self.path.parent):
            remove_abandoned_parts(self.path)
            if self.path.exists():
                self._read()
            else:
                self._begin()

    def rows(self, key: str, fingerprint: str) -> list[Row] | None:
        """Rows of a finished task; None if it was never finished, had errors, or was another task."""
        if self._fingerprints.get(key) != fingerprint:
            return None
        rows = [_decode_row(row) for row in json.loads(self._lines[key])["rows"]]
        return None if any(row["error"] for row in rows) else rows

    def add(self, key: str, fingerprint: str, rows: Iterable[Row]) -> None:
        """Keep the rows of a finished task, and write the file.

        Where that fails, they are written with those of the next task, and the run goes on.
        """
        task = {"task": key, "fingerprint": fingerprint, "rows": [_encode_row(row) for row in rows]}
        with _locked(self.path.parent):
            if self.path.exists() and _identify(self.path) != self._seen:
                self._read()
            self._fingerprints[key] = fingerprint
            self._lines[key] = json.dumps(task, allow_nan=False)
            try:
                self._write()
            except OSError as error:
                warnings.warn(f"results_file: {error}. {_GOES_ON}", UserWarning, stacklevel=2)

    def _read(self) -> None:
        try:
            header, *lines = self.path.read_text(encoding="utf-8").splitlines()
            known = json.loads(header) == _HEADER
        except ValueError:  # also what is not text, and what is not JSON
            known = False
        if not known:
            raise ValueError(
                f"results_file={self.path} exists and is not a file of results; it is left as it is. Name another, or "
                "move it away"
            )
        for number, line in enumerate(lines, start=2):
            try:
                task = json.loads(line)
                key, fingerprint, rows = str(task["task"]), str(task["fingerprint"]), task["rows"]
                [_decode_row(row)["error"] for row in rows]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f"results_file={self.path} is damaged at line {number}; it is left as it is. Remove the line, or "
                    "move the file away"
                ) from error
            self._fingerprints[key], self._lines[key] = fingerprint, line
        self._seen = _identify(self.path)

    def _begin(self) -> None:
        """Write at once: what cannot be written should be known before the work is done."""
        try:
            self._write()
        except OSError as error:
            raise ValueError(f"results_file: {error}") from error

    def _write(self) -> None:
        """A reader finds the old file or the new one, always whole."""
        with written_whole(self.path) as part, open(part, "x", encoding="utf-8") as file:
            file.write("\n".join([json.dumps(_HEADER), *self._lines.values()]) + "\n")
        self._seen = _identify(self.path)


def _identify(path: Path) -> tuple[int, ...]:
    """What changes when another process puts a file of its own in the place of this one."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """No other process that asks for the same writes to files of a folder meanwhile.

    On systems without such locks nothing is held.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def run_tasks(
    run: Callable[..., list[Row]],
    tasks: Mapping[str, Sequence[Any]],
    fingerprints: Mapping[str, str] | None = None,
    *,
    n_jobs: int | None = None,
    shared: Sequence[SentOnce] = (),
    file: ResultsFile | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, list[Row]]:
    """Rows of every task by its key, in the order of ``tasks``; what ``file`` knows by its fingerprint is not run.

    A task is what ``run`` is called with. Workers are sent what is ``shared`` once, and not with every task.
    """
    found: dict[str, list[Row]] = {}
    if file is not None and fingerprints is not None:
        known = {key: file.rows(key, fingerprints[key]) for key in tasks}
        found = {key: rows for key, rows in known.items() if rows is not None}
    pending = [key for key in tasks if key not in found]
    with open_parallel(n_jobs, "generator_unordered", shared=shared) as parallel:
        results = parallel(delayed(_run_keyed)(run, key, *tasks[key]) for key in pending)
        try:
            for key, rows in results:
                found[key] = rows
                if file is not None and fingerprints is not None:
                    file.add(key, fingerprints[key], rows)
                if progress is not None:
                    progress(len(found), len(tasks))
        except BaseException:  # Ctrl-C too: what is finished is saved, and the rest is given up without a further word
            with warnings.catch_warnings():
                message = ".*tasks which were still being processed"
                warnings.filterwarnings("ignore", message=message, category=UserWarning)
                if isinstance(results, Generator):
                    results.close()
            raise
    return {key: found[key] for key in tasks}


def _run_keyed(run: Callable[..., list[Row]], key: str, *task: Any) -> tuple[str, list[Row]]:
    return key, run(*task)


def _encode_row(row: Row) -> Row:
    """A row as JSON knows it, which has no NaN."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}


def _decode_row(row: Row) -> Row:
    return {**row, "value": math.nan if row["value"] is None else row["value"]}


def fingerprint(*parts: Any) -> str:
    """Digest of what a task's rows depend on."""
    return hashlib.sha256("\n".join(describe(part) for part in parts).encode()).hexdigest()


def describe(value: Any) -> str:
    """Text that differs between values that matter to a result; estimators by class and parameters, arrays by digest.

    A function is known by its name, not by what it does.
    """
    if isinstance(value, BaseEstimator):
        parameters = {
            name: each for name, each in value.get_params(deep=False).items() if name.split("__")[-1] not in _SETTLED
        }
        return f"{type(value).__module__}.{type(value).__qualname__}{describe(parameters)}"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__qualname__}{describe({each.name: getattr(value, each.name) for each in fields(value)})}"
    if isinstance(value, Mapping):
        return str(sorted((describe(key), describe(each)) for key, each in value.items()))
    if isinstance(value, (list, tuple)):
        return str([describe(each) for each in value])
    if sparse.issparse(value):
        return describe([value.format, value.shape, value.data, value.indices, value.indptr])
    if isinstance(value, np.ndarray):
        return str(joblib.hash(value))
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)
