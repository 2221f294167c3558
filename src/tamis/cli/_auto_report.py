"""What an automatic selection found: as one would tell a colleague, and for programs."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.cli._environment import Environment
from tamis.cli._estimate import estimate_sentence, score_text
from tamis.cli._naming import enumerate_names
from tamis.cli._render import text_table
from tamis.cli._results import finding_lines, task_sentence
from tamis.cli._table import Table

if TYPE_CHECKING:
    from tamis import AutoSelector
    from tamis.table import Findings

_WITHOUT_TERMINAL = (100, 24)
_MOST_ALTERNATIVES = 5


def kept_names(selector: AutoSelector, table: Table) -> list[str]:
    """Features that are kept, in the order of the table."""
    return [name for name, is_kept in zip(table.names, selector.get_support(), strict=True) if is_kept]


def say_answer(
    selector: AutoSelector, table: Table, args: argparse.Namespace, env: Environment, elapsed: float
) -> None:
    """What to keep and why, what to expect of it, what would do as well, and what was written."""
    env.say(task_sentence(selector.task_, table))
    for line in finding_lines(_findings(selector, table), ()):
        env.say(line)
    kept = kept_names(selector, table)
    if args.out is None and kept:
        env.emit(_kept_table(selector, table, kept))
    env.say(f"keep {len(kept)} of {table.n_features} features: {selector.reason_}")
    if selector.estimate_ is not None:
        env.say(estimate_sentence(selector.estimate_, args.confidence))
    if as_good := _alternatives(selector):
        env.say(f"as good, to within one standard error: {as_good}")
    env.say(_effort(selector, elapsed))
    if args.out is not None:
        env.say(f"wrote {args.out}" + (f": {enumerate_names(kept)}" if kept else ""))
    if args.model is not None:
        env.say(f"wrote {args.model}, which skops.io.load reads")


def report_of(selector: AutoSelector, table: Table, args: argparse.Namespace, elapsed: float) -> dict[str, Any]:
    """The same for programs."""
    from tamis.cli._fit import file_field

    kept = kept_names(selector, table)
    return {
        "file": file_field(args.file),
        "target": table.target,
        "task": selector.task_,
        "n_rows": table.n_rows,
        "n_rows_without_target": table.n_rows_dropped,
        "n_features": table.n_features,
        "findings": [asdict(finding) for finding in _findings(selector, table)],
        "notes": list(table.notes),
        "n_kept": len(kept),
        "reason": selector.reason_,
        "features": [
            {"name": name, "stability": _stability(selector, table, name), "would_do_as_well": _mates(selector, name)}
            for name in kept
        ],
        "estimate": None if selector.estimate_ is None else asdict(selector.estimate_),
        "alternatives": [_as_plain(alternative) for alternative in selector.alternatives_],
        "results": {name: np.asarray(column).tolist() for name, column in selector.results_.items()},
        "seconds": elapsed,
        "out": None if args.out is None else str(args.out),
        "model": None if args.model is None else str(args.model),
    }


def _kept_table(selector: AutoSelector, table: Table, kept: Sequence[str]) -> str:
    """Kept features, how often samples of the rows keep them, and what would do in their place."""
    rows = []
    for name in kept:
        stability = _stability(selector, table, name)
        share = "-" if stability is None else f"{100 * stability:.0f} %"
        rows.append((name, share, enumerate_names(_mates(selector, name))))
    width = shutil.get_terminal_size(_WITHOUT_TERMINAL).columns
    return text_table(("feature", "stability", "would do as well"), rows, "<><", width=width)
