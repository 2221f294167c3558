"""The argument parser, put together from the commands."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

import tamis
from tamis.cli._auto import COMMAND as AUTO
from tamis.cli._demo import COMMAND as DEMO
from tamis.cli._dimension import COMMAND as DIMENSION
from tamis.cli._environment import Environment
from tamis.cli._list import COMMAND as LIST
from tamis.cli._naming import suggest
from tamis.cli._options import Command, add_global_options
from tamis.cli._rank import COMMAND as RANK
from tamis.cli._select import COMMAND as SELECT

_OPTION = re.compile(r"--[a-z][a-z-]*[a-z]")

COMMANDS: tuple[Command, ...] = (SELECT, AUTO, RANK, DIMENSION, LIST, DEMO)

_EXAMPLES = """\
examples:
  tamis demo
  tamis select table.csv --target price
  tamis select table.parquet --target price --risk 0.01 --out kept.parquet
  tamis auto table.csv --target price --budget 120 --model price.skops
  tamis rank spam.npz --top 10

`tamis COMMAND --help` says more about each command. Exit codes: 0 done (keeping
nothing is an answer too), 2 bad input or options, 1 the work failed, 130
interrupted (what was found until then is printed, marked unfinished)."""


class _Parser(argparse.ArgumentParser):
    """Reports a bad option in one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = _Parser(
        prog="tamis",
        description="A sieve for features: which columns of a table matter, how many to keep,\nand how sure that is.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tamis {tamis.__version__}")
    add_global_options(parser)
    subparsers = parser.add_subparsers(metavar="COMMAND", title="commands")
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.name,
            usage=command.usage,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=f"examples:\n{command.examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_options(subparser)
        # suppressed, so that an option given before the command is not reset after it
        add_global_options(subparser, default=argparse.SUPPRESS)
        subparser.set_defaults(run=command.run, known_options=_OPTION.findall(subparser.format_help()))
    return parser


def parse(args: Sequence[str] | None, env: Environment) -> argparse.Namespace:
    """Parse ``args``; help and version go to ``env.stdout`` and end in SystemExit."""
    text = io.StringIO()  # argparse would pass over an error in writing
    try:
        with contextlib.redirect_stdout(text):
            options, unknown = build_parser().parse_known_args(args)
    except SystemExit:
        env.emit(text.getvalue().removesuffix("\n"))
        env.flush()
        raise
    if unknown:
        (name, *_), known = unknown, getattr(options, "known_options", [])
        meant = suggest(name.partition("=")[0], dict.fromkeys(known)) if name.startswith("--") else ""
        raise ValueError(f"unrecognized arguments: {' '.join(unknown)}{meant} (see tamis --help)")
    if not hasattr(options, "run"):
        names = ", ".join(command.name for command in COMMANDS)
        raise ValueError(f"choose a command: {names} (see tamis --help)")
    options.given = list(sys.argv[1:] if args is None else args)
    return options
