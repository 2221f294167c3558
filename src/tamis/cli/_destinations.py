"""Files that a command writes: none of them is one that it reads, or another that it writes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from tamis.cli._environment import Environment
from tamis.cli._sources import STANDARD_INPUT, find_files


def check_apart(destinations: Mapping[str, Any], files: Sequence[Path], *, several: bool, env: Environment) -> None:
    """Refuse to write over what is read, or twice to one place, before any work is done.

    Parameters
    ----------
    destinations : mapping
        Path that each option gives; what is none is left to whoever reads the option.
    files : sequence of Path
        What is read, as it was given.
    several : bool
        Whether these may be patterns.
    env : Environment
    """
    places = {option: path for option, path in destinations.items() if isinstance(path, str | os.PathLike)}
    if not places:
        return
    read = {_identity(path.stat()): path for path in find_files(files, several=several) if path.exists()}
    if STANDARD_INPUT in files and (piped := env.input_status()) is not None:
        read[_identity(piped)] = STANDARD_INPUT
    for option, path in places.items():
        if os.path.exists(path) and (source := read.get(_identity(os.stat(path)))) is not None:
            raise ValueError(f"{option} {path}: it is {_what_is_read(source, files)}; name another file")
    for (option, path), (other, other_path) in combinations(places.items(), 2):
        if os.path.realpath(path) == os.path.realpath(other_path) or (
            os.path.exists(path) and os.path.exists(other_path) and os.path.samefile(path, other_path)
        ):
            raise ValueError(f"{other} {other_path}: it is the file that {option} writes, too; name another file")


def _identity(status: os.stat_result) -> tuple[int, int]:
    """What tells a file from all others, by whatever path or link it is reached."""
    return status.st_dev, status.st_ino


def _what_is_read(source: Path, files: Sequence[Path]) -> str:
    if source == STANDARD_INPUT:
        return "the file to read, on standard input"
    return "the file to read" if source in files else f"a file to read, {source}, which --glob finds"
