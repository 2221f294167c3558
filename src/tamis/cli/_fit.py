"""What the commands that rank have in common: load a table, fit a selector on it, say what was done."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import sparse

from tamis._signals import INTERRUPTED, begin_work
from tamis.base import Ranker
from tamis.cli._environment import Environment
from tamis.cli._frame import Frame
from tamis.cli._large import LargeTable, fit_large, is_large, is_read_in_blocks, load_large
from tamis.cli._memory import UNLIMITED, Budget, default_size
from tamis.cli._methods import check_splits_rows, check_takes_missing, check_takes_weights, kebab
from tamis.cli._progress import progress_bar
from tamis.cli._read_text import TextFormat
from tamis.cli._results import encoding_lines, finding_lines, not_ranked, task_sentence
from tamis.cli._sources import STANDARD_INPUT, read_table
from tamis.cli._table import Columns, Table, prepare

if TYPE_CHECKING:
    from tamis import TableSelector
    from tamis.table import Findings


def check_options(args: argparse.Namespace, ranker: Ranker) -> None:
    """Refuse options that the method has no use for, before any work is done."""
    if args.weights is not None:
        check_takes_weights(ranker)
    if args.row_groups is not None:
        check_splits_rows(ranker)
    if args.missing == "pass":
        check_takes_missing(ranker)


def load(args: argparse.Namespace, env: Environment, ranker: Ranker) -> Table | LargeTable:
    """Read the table that the options describe, and say what a person should know about how."""
    begin_work()
    method = type(ranker)
    if is_large(args, ranker):
        return load_large(args, env, method, text_format(args))
    budget = memory_budget(args, _cure(args, ranker))
    frame = read_frame(args, env, budget)
    columns = Columns(args.target, args.weights, args.row_groups, args.drop, args.keep, args.task)
    table = prepare(
        frame,
        columns,
        drop_rows_without_target=args.drop_rows_without_target,
        needed_by=kebab(method.__name__) if method.supervised else None,
        budget=budget,
    )
    if not args.json:
        for note in notes(args, table):
            env.say(note)
    return table


def memory_budget(args: argparse.Namespace, cure: str = "") -> Budget:
    """The memory that a table may take: what is asked for, or half of what is free."""
    return Budget(default_size() if args.memory is None else args.memory, cure)


def _cure(args: argparse.Namespace, ranker: Ranker) -> str:
    """What helps where a file is too large, beside more memory."""
    if STANDARD_INPUT in args.file or not is_read_in_blocks(args):
        return ""
    if "row_blocks" in ranker.provides:
        return ", and --engine blocks reads it in blocks of rows"
    return ", and gram-schmidt, among others, reads it in blocks of rows with --engine blocks"


def read_frame(args: argparse.Namespace, env: Environment, budget: Budget) -> Frame:
    """The columns of the file or files that the options describe."""
    begin_work()
    return read_table(
        args.file,
        several=args.glob,
        suffix=None if args.format is None else f".{args.format.lower().removeprefix('.')}",
        text_format=text_format(args),
        stdin=env.input,
        budget=budget,
    )


def text_format(args: argparse.Namespace) -> TextFormat:
    """How a table of text is written, as far as the options say."""
    separator = {"tab": "\t", "\\t": "\t"}.get(args.separator, args.separator)
    if separator is not None and len(separator.encode()) != 1:
        raise ValueError(f"--separator {shlex.quote(separator)}: one character, such as ';', or the word tab")
    return TextFormat(args.encoding, separator, args.decimal)


def file_field(files: Sequence[Path]) -> str | list[str]:
    """The files of a command for JSON: one as such, several as a list."""
    return str(files[0]) if len(files) == 1 else [str(path) for path in files]


def reading_notes(table: Table) -> list[str]:
    """What a person should know about how the table was read."""
    found = list(table.features.notes)
    if n_dropped := table.n_rows_dropped:
        found.append(f"left out {n_dropped} of {table.n_rows + n_dropped} rows, which have no target")
    return found


def notes(args: argparse.Namespace, table: Table) -> list[str]:
    """The same, and what became of an option that is not needed any more."""
    found = reading_notes(table)
    if args.encode:
        found.append("--encode is not needed: text, booleans and dates are encoded by themselves")
    return found


def fit(
    ranker: Ranker,
    table: Table | LargeTable,
    env: Environment,
    *,
    missing: str = "auto",
    quiet: bool,
    budget: Budget = UNLIMITED,
) -> Ranker | TableSelector:
    """Fit, with a progress bar for whoever watches; errors speak of columns by name.

    A table of numbers without holes goes to the ranker as it is, any other through :class:`tamis.TableSelector`.
    """
    if table.keep:
        ranker.set_params(keep=list(table.keep))
    with contextlib.nullcontext() if quiet else progress_bar(ranker, env):
        try:
            if isinstance(table, LargeTable):
                return fit_large(ranker, table, missing)
            if table.is_numeric():
                return _fit_numbers(ranker, table, budget)
            return _fit_mixed(ranker, table, missing, budget)
        except ValueError as error:
            message = str(error)
            about_target = message.startswith(("y ", "Input y"))
            option = f"--target {shlex.quote(str(table.target))}"
            raise ValueError(f"{option}: {message}" if about_target else message) from error


def _fit_numbers(ranker: Ranker, table: Table, budget: Budget) -> Ranker:
    X = table.features.matrix()
    if sparse.issparse(X) and "sparse" not in ranker.provides:
        table.features.check_dense(budget, f"which {kebab(type(ranker).__name__)} needs")
        X = X.toarray()
    ranker.name_features(table.names)
    if table.weights is None:
        return ranker.fit(X, table.y, row_groups=table.row_groups)
    return ranker.fit(X, table.y, sample_weight=table.weights, row_groups=table.row_groups)


def _fit_mixed(ranker: Ranker, table: Table, missing: str, budget: Budget) -> TableSelector:
    from tamis import TableSelector

    table.features.check_dense(budget, "which columns of text, dates or missing values need beside it")
    selector = TableSelector(ranker, missing=missing)
    return selector.fit(table.features.dense(), table.y, sample_weight=table.weights, row_groups=table.row_groups)


def report_of(selector: Ranker | TableSelector, table: Table | LargeTable) -> dict[str, Any]:
    """What JSON tells of the table, of what was done to it and of what was found in it."""
    return {
        "target": table.target,
        "task": selector.task_,
        "n_rows": table.n_rows,
        "n_rows_without_target": table.n_rows_dropped,
        "n_features": table.n_features,
        "encoding": _encoding(selector),
        "findings": [asdict(finding) for finding in _findings(selector, table)],
        "notes": list(table.notes),
        "interrupted": _is_interrupted(selector),
    }


def say_what_was_done(selector: Ranker | TableSelector, table: Table | LargeTable, env: Environment) -> None:
    """The task, what was done to which columns, and what was found in them."""
    env.say(task_sentence(selector.task_, table))
    findings = finding_lines(_findings(selector, table), not_ranked(selector))
    for line in (*encoding_lines(_encoding(selector)), *findings):
        env.say(line)
    if _is_interrupted(selector):
        env.say("unfinished: interrupted by Ctrl-C; this is what was found until then")


def exit_code(selector: Ranker | TableSelector) -> int:
    """That of an interrupted program where Ctrl-C ended the ranking."""
    return INTERRUPTED if _is_interrupted(selector) else 0


def _is_interrupted(selector: Ranker | TableSelector) -> bool:
    ranker = selector if isinstance(selector, Ranker) else selector.ranker_
    return bool(ranker.certificate_.get("interrupted", False))


def _encoding(selector: Ranker | TableSelector) -> dict[str, str]:
    return {} if isinstance(selector, Ranker) else dict(selector.encoding_)


def _findings(selector: Ranker | TableSelector, table: Table | LargeTable) -> Findings:
    """What is odd about the table; nothing is looked for in sparse ones."""
    from tamis.table import Findings, check_table

    if not isinstance(selector, Ranker):
        return selector.findings_
    if isinstance(table, LargeTable) or table.features.block is not None:
        return Findings()
    is_supervised = selector.task_ != "unsupervised"
    return check_table(
        table.features.columns, table.y if is_supervised else None, task=selector.task_ if is_supervised else "auto"
    )
