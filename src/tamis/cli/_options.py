"""Options that commands share, each declared once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.cli._environment import Environment


@dataclass(frozen=True)
class Command:
    """One command: what it is called, what it takes, what it does.

    Its module is imported for every run, ``tamis --version`` included, so ``run`` imports what it needs when called.
    """

    name: str
    summary: str
    examples: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Environment], None]


def add_global_options(parser: argparse.ArgumentParser, default: Any = False) -> None:
    """Options that every command has, before or after its name."""
    group = parser.add_argument_group("for every command")
    for flag, text in (
        ("--json", "write one JSON object to stdout, for programs"),
        ("--quiet", "show no progress bar"),
        ("--debug", "let an error end in a traceback"),
    ):
        group.add_argument(flag, action="store_true", default=default, help=text)


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Options on the table that a command reads."""
    group = parser.add_argument_group("the table")
    group.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help=".csv, .tsv, .svm, .svmlight, .libsvm (all of them also .gz), .parquet, .arrow, .feather, .ipc, .npz, "
        ".mat or .arff",
    )
    group.add_argument(
        "--target",
        metavar="NAME",
        help="column to explain; text makes it a classification. .npz, .mat and svmlight files have one, 'y'",
    )
    group.add_argument(
        "--drop", metavar="NAME[,NAME]", action="append", default=[], help="leave these columns out; may be repeated"
    )
    group.add_argument(
        "--encode",
        action="store_true",
        help="one-hot encode text and boolean columns; the levels of a column are kept or dropped together",
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
    group.add_argument("--seed", metavar="INT", type=int, help="seed, where the method or the rule draws at random")
    group.add_argument("--jobs", metavar="INT", type=int, help="processes, where the method or the rule can use them")


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
    level.add_argument("--risk", metavar="R", type=float, help="risk that a rule accepts, such as 0.05")
    level.add_argument("--fdr", metavar="Q", type=float, help="false discovery rate to hold instead of a risk")
    group.add_argument("--draws", metavar="N", type=int, help="most random draws of a rule")
    group.add_argument(
        "--stop-param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="parameter of the rule, as --param; may be repeated",
    )
