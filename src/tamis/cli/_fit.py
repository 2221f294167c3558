"""What the commands that rank have in common: load a table, fit a selector on it, say what was done."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import sparse

from tamis.base import Ranker
from tamis.cli._environment import Environment
from tamis.cli._methods import kebab
from tamis.cli._progress import progress_bar
from tamis.cli._read_text import TextFormat
from tamis.cli._results import encoding_sentence, finding_lines, task_sentence
from tamis.cli._sources import read_table
from tamis.cli._table import Columns, Table, prepare

if TYPE_CHECKING:
    from tamis import TableSelector


def load(args: argparse.Namespace, env: Environment, method: type[Ranker]) -> Table:
    """Read the table that the options describe, and say what a person should know about how."""
    frame = read_frame(args, env)
    columns = Columns(args.target, args.weights, args.row_groups, args.drop, args.keep)
    table = prepare(
        frame,
        columns,
        drop_rows_without_target=args.drop_rows_without_target,
        needed_by=kebab(method.__name__) if method.supervised else None,
    )
    if not args.json:
        for note in notes(args, table):
            env.say(note)
    return table


def read_frame(args: argparse.Namespace, env: Environment) -> Any:
    """The columns of the file or files that the options describe."""
    separator = {"tab": "\t", "\\t": "\t"}.get(args.separator, args.separator)
    if separator is not None and len(separator.encode()) != 1:
        raise ValueError(f"--separator {shlex.quote(separator)}: one character, such as ';', or the word tab")
    return read_table(
        args.file,
        several=args.glob,
        suffix=None if args.format is None else f".{args.format.lower().removeprefix('.')}",
        text_format=TextFormat(args.encoding, separator, args.decimal),
        stdin=env.input,
    )


def file_field(files: Sequence[Path]) -> str | list[str]:
    """The files of a command for JSON: one as such, several as a list."""
    return str(files[0]) if len(files) == 1 else [str(path) for path in files]


def notes(args: argparse.Namespace, table: Table) -> list[str]:
    """What a person should know about how the table was read."""
    found = list(table.features.notes)
    if n_dropped := table.n_rows_dropped:
        found.append(f"left out {n_dropped} of {table.n_rows + n_dropped} rows, which have no target")
    if args.encode:
        found.append("--encode is not needed: text, booleans and dates are encoded by themselves")
    return found


def fit(ranker: Ranker, table: Table, env: Environment, *, missing: str = "auto", quiet: bool) -> Ranker | TableSelector:
    """Fit, with a progress bar for whoever watches; errors speak of columns by name.

    A table of numbers without holes goes to the ranker as it is, any other through :class:`tamis.TableSelector`.
    """
    with contextlib.nullcontext() if quiet else progress_bar(ranker, env):
        try:
            return _fit_numbers(ranker, table) if table.is_numeric() else _fit_mixed(ranker, table, missing)
        except ValueError as error:
            message = str(error)
            about_target = message.startswith(("y ", "Input y"))
            option = f"--target {shlex.quote(str(table.target))}"
            raise ValueError(f"{option}: {message}" if about_target else message) from error


def _fit_numbers(ranker: Ranker, table: Table) -> Ranker:
    X = table.features.matrix()
    if sparse.issparse(X) and "sparse" not in ranker.provides:
        X = X.toarray()
    ranker.name_features(table.names)
    if table.weights is None:
        return ranker.fit(X, table.y, row_groups=table.row_groups)
    return ranker.fit(X, table.y, sample_weight=table.weights, row_groups=table.row_groups)


def _fit_mixed(ranker: Ranker, table: Table, missing: str) -> TableSelector:
    from tamis import TableSelector

    selector = TableSelector(ranker, missing=missing)
    return selector.fit(table.features.dense(), table.y, sample_weight=table.weights, row_groups=table.row_groups)
