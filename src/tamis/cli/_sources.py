"""Where a table comes from: a file, standard input, or several files one below the other."""

from __future__ import annotations

import contextlib
import glob
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tamis.cli._frame import Frame, kind, missing
from tamis.cli._memory import UNLIMITED, Budget
from tamis.cli._read import read
from tamis.cli._read_text import TextFormat

_BLOCK = 2**20
STANDARD_INPUT = Path("-")
NO_ROWS = "--glob: none of the files holds any rows"


def read_table(
    files: Sequence[Path],
    *,
    several: bool,
    suffix: str | None,
    text_format: TextFormat,
    stdin: Callable[[], BinaryIO],
    budget: Budget = UNLIMITED,
) -> Frame:
    """Read the table that the options describe.

    Parameters
    ----------
    files : sequence of Path
        ``-`` is standard input.
    several : bool
        Whether these are several files or patterns, whose rows belong below each other.
    suffix : str or None
        Format of the file, as its suffix; None takes the file's own, and ``.csv`` for standard input.
    text_format : TextFormat
        How a table of text is written.
    stdin : callable
        Gives the binary stream of standard input.
    budget : Budget
        Memory that all files together may take.
    """
    paths = find_files(files, several=several)
    if not several:
        return _read_one(paths[0], suffix, text_format, stdin, budget)
    frames: dict[Path, Frame] = {}
    for path in paths:
        left = budget.after(sum(map(_size, frames.values())))
        frames[path] = _read_one(path, suffix, text_format, stdin, left, may_be_empty=True)
    return _stack(frames)


def _size(frame: Frame) -> int:
    """Bytes of the columns of a frame, each put below others of its kind later: twice."""
    return 2 * sum(values.nbytes for values in frame.columns.values())


def find_files(files: Sequence[Path], *, several: bool) -> list[Path]:
    """The one file that is given, or several and those that patterns stand for."""
    return [path for given in files for path in _matches(given)] if several else [_the_only(files)]


def _the_only(files: Sequence[Path]) -> Path:
    if len(files) > 1:
        given = shlex.join(map(str, files))
        raise ValueError(f"{len(files)} files are given; to read their rows one below the other, say --glob {given}")
    (path,) = files
    if path != STANDARD_INPUT and not path.exists() and glob.has_magic(str(path)):
        pattern = shlex.quote(str(path))
        raise ValueError(f"cannot read {path}: no such file; for all files of that pattern say --glob {pattern}")
    return path


def _matches(given: Path) -> list[Path]:
    """The files that a pattern stands for, sorted; a file that is there stands for itself."""
    if given == STANDARD_INPUT or given.exists():
        return [given]
    if not (found := sorted(map(Path, glob.glob(str(given), recursive=True)))):
        raise ValueError(f"--glob {given}: no file matches")
    return found


def _read_one(
    path: Path,
    suffix: str | None,
    text_format: TextFormat,
    stdin: Callable[[], BinaryIO],
    budget: Budget,
    *,
    may_be_empty: bool = False,
) -> Frame:
    if path != STANDARD_INPUT:
        frame = read(path, suffix=suffix, text_format=text_format, may_be_empty=may_be_empty, budget=budget)
        return _with_one_note(frame, str(path))
    with _spooled(stdin(), budget) as spooled:
        frame = read(
            spooled,
            suffix=suffix or ".csv",
            text_format=text_format,
            name="standard input",
            may_be_empty=may_be_empty,
            budget=budget,
        )
    return _with_one_note(frame, "standard input")


def _with_one_note(frame: Frame, name: str) -> Frame:
    """All notes on a file in one, with its name before it."""
    return replace(frame, notes=(f"{name}: {'; '.join(frame.notes)}",) if frame.notes else ())


@contextlib.contextmanager
def _spooled(stdin: BinaryIO, budget: Budget) -> Iterator[Path]:
    """Standard input as a file, which every reader takes; one that does not end is no table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with open(path, "wb") as file:
            file.writelines(budget.counted(iter(lambda: stdin.read(_BLOCK), b""), "standard input"))
        yield path


def _stack(frames: dict[Path, Frame]) -> Frame:
    """The rows of all frames one below the other, in the columns of the first."""
    (first_path, first), *others = frames.items()
    if any(frame.block is not None for frame in frames.values()):
        raise ValueError(f"--glob: {first_path} is sparse; sparse files are read one at a time")
    for path, frame in others:
        odd = [f"has no column '{name}'" for name in first.names if name not in frame.columns]
        odd += [f"has a column '{name}'" for name in frame.names if name not in first.columns]
        if odd:
            raise ValueError(f"--glob: {path} {odd[0]}, unlike {first_path}; all files need the same columns")
    n_files = len(frames)
    frames = {path: frame for path, frame in frames.items() if frame.n_rows}  # a part without rows has no types either
    if not frames:
        raise ValueError(NO_ROWS)
    columns = {
        name: _stack_column(name, {path: frame.columns[name] for path, frame in frames.items()}) for name in first.names
    }
    originals = {
        name: np.concatenate([_as_written(frame, name) for frame in frames.values()])
        for name in {name for frame in frames.values() for name in frame.originals}
    }
    notes = [note for frame in frames.values() for note in frame.notes]
    n_rows = sum(frame.n_rows for frame in frames.values())
    return Frame(
        columns, target=first.target, originals=originals, notes=(*notes, f"read {n_rows} rows of {n_files} files")
    )


def _as_written(frame: Frame, name: str) -> np.ndarray:
    """A column as its file has it, None where it holds nothing."""
    values = frame.columns[name]
    if name not in frame.originals and missing(values).all():
        return np.full(len(values), None, dtype=object)
    if kind(values) == "text":  # whose cells share their texts, as originals need not
        return values
    return np.array(list(frame.originals.get(name, values)), dtype=object)


def _stack_column(name: str, parts: dict[Path, np.ndarray]) -> np.ndarray:
    """One column of all files; a part without any value takes the kind of the others."""
    empty = {path for path, values in parts.items() if missing(values).all()}
    kinds = {path: kind(values) for path, values in parts.items() if path not in empty}
    odd = next((path for path, each in kinds.items() if each != next(iter(kinds.values()))), None)
    if odd is not None:
        first, common = next(iter(kinds.items()))
        raise ValueError(
            f"--glob: column '{name}' holds {_PLURAL[kinds[odd]]} in {odd} and {_PLURAL[common]} in {first}; a column "
            "holds one kind of values in all files"
        )
    like = next((parts[path] for path in kinds), None)
    if like is None or not empty or like.dtype.kind in "iuf":
        return np.concatenate(list(parts.values()))
    nothing = np.datetime64("NaT") if like.dtype.kind == "M" else None
    dtype = like.dtype if like.dtype.kind == "M" else object
    return np.concatenate(
        [np.full(values.size, nothing, dtype=dtype) if path in empty else values for path, values in parts.items()]
    )


_PLURAL = {"number": "numbers", "boolean": "booleans", "text": "text", "date": "dates", "other": "other values"}
