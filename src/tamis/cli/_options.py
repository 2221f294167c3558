"""Options that commands share, each declared once."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.cli._environment import Environment
from tamis.cli._memory import UNITS
from tamis.cli._messages import shorten

_SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)


@dataclass(frozen=True)
class Command:
    """One command: what it is called, what it takes, what it does.

    ``run`` returns an exit code, None for success. The module of a command is imported for every run, ``tamis
    --version`` included, so ``run`` imports what it needs when called.
    """

    name: str
    summary: str
    examples: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Environment], int | None]
    usage: str | None = None


def file_path(text: str) -> Path:
    """A path that the file system takes, whether a file is there or not."""
    try:
        os.lstat(text)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{shorten(text)}: {error.strerror}; give another path") from None
    return Path(text)


def positive(text: str) -> int:
    """A whole number, at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, not '{text}'")
    return int(text)


def processes(text: str) -> int:
    """How many processes, negative as joblib counts them: -1 is one for each core."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number, such as 2, or -1 for all cores, not '{text}'")
    return value


def probability(text: str) -> float:
    """A number strictly between 0 and 1; percents are told how they are written."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, not '{text}'") from None
    if not 0.0 < value < 1.0:
        meant = f"; {value:g} percent is {value / 100:g}" if 1.0 <= value < 100.0 else ""
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, not '{text}'{meant}")
    return value


class _Once(argparse.Action):
    """An option that may be given once: of two values the first would be lost without a word."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        if vars(namespace).get(self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice, but one column is explained at a time")
        setattr(namespace, self.dest, values)


def add_global_options(parser: argparse.ArgumentParser, default: Any = False) -> None:
    """Options that every command has, before or after its name."""
    group = parser.add_argument_group("for every command")
    for flag, text in (
        ("--json", "write one JSON object to stdout, for programs"),
        ("--quiet", "show no progress bar"),
        ("--debug", "let an error end in a traceback"),
    ):
        group.add_argument(flag, action="store_true", default=default, help=text)


def add_table_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Options on the table that a command reads; returns their group."""
    group = parser.add_argument_group("the table")
    group.add_argument(
        "file",
        metavar="FILE",
        type=file_path,
        nargs="+",
        help=".csv, .tsv, .svm, .svmlight, .libsvm (all of them also .gz), .parquet, .arrow, .feather, .ipc, .npz, "
        ".mat or .arff; - is standard input",
    )
    group.add_argument(
        "--format", metavar="NAME", help="what FILE is, such as csv, where its suffix cannot tell (default for -: csv)"
    )
    group.add_argument(
        "--glob",
        action="store_true",
        help="FILE may be several, or patterns such as 'part-*.csv': rows one below the other",
    )
    group.add_argument(
        "--encoding", metavar="NAME", help="encoding of a text file, such as latin-1 (default: found out)"
    )
    group.add_argument(
        "--separator",
        metavar="MARK",
        help="mark between the cells of a text file, such as ';' or tab (default: found out)",
    )
    group.add_argument(
        "--decimal", metavar="MARK", choices=[".", ","], help="decimal mark of a text file, . or , (default: found out)"
    )
    group.add_argument(
        "--target",
        metavar="NAME",
        action=_Once,
        help="column to explain; text makes it a classification. .npz, .mat and svmlight files have one, 'y'",
    )
    group.add_argument(
        "--drop-rows-without-target",
        action="store_true",
        help="leave out rows whose target is missing; else they are refused",
    )
    group.add_argument(
        "--drop",
        "--exclude",
        metavar="NAME[,NAME]",
        action="append",
        default=[],
        help="leave these columns out, of the ranking and of --out; may be repeated",
    )
    return group


def add_meaning_options(parser: argparse.ArgumentParser) -> None:
    """Options on what columns, rows and missing values mean, for commands that rank."""
    group = parser.add_argument_group("what the columns mean")
    _add_task(group)
    group.add_argument(
        "--keep",
        metavar="NAME[,NAME]",
        action="append",
        default=[],
        help="columns that stay whatever the rule says; the others are judged by what they add. May be repeated",
    )
    group.add_argument("--weights", metavar="NAME", help="column with the weight of each row")
    _add_row_groups(group, "--stop cross-validation")
    group.add_argument(
        "--missing",
        choices=["auto", "impute", "pass", "error"],
        default="auto",
        help="missing values: impute them, pass them on to a method that takes them, or refuse them (default: auto, "
        "which passes them on where the method takes them)",
    )
    group.add_argument("--encode", action="store_true", help=argparse.SUPPRESS)  # what it asked for is always done


def add_automatic_meaning_options(parser: argparse.ArgumentParser) -> None:
    """Those of these options that an automatic selection has a use for."""
    group = parser.add_argument_group("what the columns mean")
    _add_task(group)
    _add_row_groups(group, "cross-validation")


def _add_task(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--task",
        choices=["auto", "classification", "regression"],
        default="auto",
        help="what the target is: classes or a quantity (default: auto, which the first line of the answer tells)",
    )


def _add_row_groups(group: argparse._ArgumentGroup, splitter: str) -> None:
    group.add_argument(
        "--row-groups",
        metavar="NAME",
        help="column that tells which rows belong together, such as a patient's: they are not split by " + splitter,
    )


def add_method_options(parser: argparse.ArgumentParser) -> None:
    """Options on the ranking method."""
    group = parser.add_argument_group("the method")
    group.add_argument(
        "--method", metavar="NAME", default="gram-schmidt", help="how to rank (default: %(default)s); see tamis list"
    )
    group.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="parameter of the method, its value as JSON or plain text; may be repeated",
    )
    add_run_options(group, "the method or the rule")


def add_run_options(group: argparse._ArgumentGroup, who: str) -> None:
    """Options on chance and processes."""
    group.add_argument("--seed", metavar="INT", type=int, help=f"seed, where {who} draws at random")
    group.add_argument("--jobs", metavar="INT", type=processes, help=f"processes, where {who} can use them")


def add_out_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Where the kept columns go."""
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=file_path,
        help="write the kept columns and the target here, as they were read: .csv, .tsv, .parquet, .arrow, .feather, "
        ".ipc or .npz (numbers only)",
    )
    parser.add_argument(
        "--safe-csv",
        action="store_true",
        help="for --out .csv and .tsv that people open in a spreadsheet: cells of text and names that begin with =, +, "
        "-, @ (also after blanks), a tab or a line break, which it would take for formulas, get a ' before "
        "them; numbers stay as they are",
    )


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """Options on the stopping rule."""
    group = parser.add_argument_group("the stopping rule")
    group.add_argument(
        "--stop",
        metavar="RULE",
        default="auto",
        help="name of a rule (see tamis list), a number of features, a fraction of them, or auto, the method's own "
        "rule (default)",
    )
    level = group.add_mutually_exclusive_group()
    level.add_argument("--risk", metavar="R", type=probability, help="risk that a rule accepts, such as 0.05")
    level.add_argument("--fdr", metavar="Q", type=probability, help="false discovery rate to hold instead of a risk")
    group.add_argument(
        "--min-features", metavar="N", type=positive, help="keep at least so many, whatever the rule says"
    )
    group.add_argument("--draws", metavar="N", type=int, help="most random draws of a rule")
    group.add_argument(
        "--stop-param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="parameter of the rule, as --param; may be repeated",
    )


def seconds(text: str) -> float:
    """A length of time, above zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, such as 120, not '{text}'")
    return value


def names_with_commas(text: str) -> list[str] | str:
    """Names between commas; the word auto stands alone."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("must be names with commas between them, or auto")
    return "auto" if names == ["auto"] else names


def memory_size(text: str) -> int:
    """A number of bytes, such as 2GB or 500MB."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"must be a size such as 2GB or 500MB, not '{text}'")
    return int(float(found[1]) * UNITS[found[2].upper()])


def add_memory_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup, more: str = "") -> None:
    """How much memory a table may take."""
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=memory_size,
        help="memory that a table may take while it is read, such as 2GB (default: half of what is free): what takes "
        f"more is refused before it is taken{more}",
    )


def add_size_options(parser: argparse.ArgumentParser) -> None:
    """Options on tables that are larger than memory."""
    group = parser.add_argument_group("tables larger than memory")
    more = (
        ", but for Parquet, Arrow and text files, which are read in blocks of rows then, by methods that can. --engine "
        "dask has partitions of its own size"
    )
    add_memory_option(group, more)
    group.add_argument(
        "--engine",
        choices=["auto", "memory", "blocks", "dask"],
        default="auto",
        help="where rows are: in memory, read in blocks, or partitions of dask, of which every thread or worker holds "
        "one at a time whatever --memory says: row groups of Parquet, or 64 MB of text (default: auto, by size)",
    )
    group.add_argument("--scheduler", metavar="ADDRESS", help="of a dask cluster, such as tcp://host:8786")
