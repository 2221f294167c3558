"""What an automatic selection found: as one would tell a colleague, and for programs."""

from __future__ import annotations

import argparse
import re
import shutil
from dataclasses import asdict, dataclass
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
_ESTIMATE = re.compile(r"; [^;]* of the choice on rows it did not see is [^;]*")  # which is told as an error here


@dataclass(frozen=True)
class Kept:
    """A feature that is kept.

    Attributes
    ----------
    name : str
    stability : float
        Share of the folds in which it is selected.
    would_do_as_well : list of str
        Features interchangeable with it.
    """

    name: str
    stability: float
    would_do_as_well: list[str]


def kept_features(selector: AutoSelector, table: Table) -> list[Kept]:
    """The features that are kept, in the order of the table, by the names of the file."""
    name_of = {selector.feature_name(j): name for j, name in enumerate(table.names)}
    places = np.flatnonzero(selector.get_support()).tolist()
    mates = ([name_of[each] for each in selector.groups_.get(selector.feature_name(j), ())] for j in places)
    return [
        Kept(table.names[j], float(share), found)
        for j, share, found in zip(places, selector.stability_, mates, strict=True)
    ]


def say_answer(selector: AutoSelector, table: Table, args: argparse.Namespace, env: Environment) -> None:
    """What to keep and why, what to expect of it, what would do as well, and what was written."""
    env.say(task_sentence(selector.task_, table))
    for line in finding_lines(_findings(selector, table), ()):
        env.say(line)
    kept = kept_features(selector, table)
    if args.out is None and kept:
        env.emit(_kept_table(kept))
    if is_interrupted(selector):
        resume = "" if args.checkpoint is None else f"; the same command goes on from {args.checkpoint}"
        env.say(f"unfinished: interrupted by Ctrl-C; this is the best of what was tried until then{resume}")
    env.say(f"keep {len(kept)} of {table.n_features} features: {_ESTIMATE.sub('', selector.reason_)}")
    if selector.task_ != "unsupervised":  # where the reason says it
        env.say(estimate_sentence(selector.estimate_, args.confidence))
    if selector.alternatives_:
        env.say(f"as good, to within one standard error: {_alternatives(selector)}")
    if args.out is not None:
        names = enumerate_names([feature.name for feature in kept])
        env.say(f"wrote {args.out}" + (f": {names}" if names else ""))
    if args.model is not None:
        env.say(f"wrote {args.model}, for skops.io.load")


def is_interrupted(selector: AutoSelector) -> bool:
    """Whether Ctrl-C ended the search."""
    return "interrupted after" in selector.reason_


def _kept_table(kept: list[Kept]) -> str:
    """Kept features, in how many of the folds they are selected, and what would do in their place."""
    rows = [
        (each.name, f"{100 * each.stability:.0f} %", enumerate_names(each.would_do_as_well) or "-") for each in kept
    ]
    width = shutil.get_terminal_size(_WITHOUT_TERMINAL).columns
    return text_table(("feature", "in folds", "would do as well"), rows, "<><", width=width)


def _alternatives(selector: AutoSelector) -> str:
    """Other sets of features and what they reach, the best first."""
    metric = selector.estimate_.metric
    told = [
        f"{each.n_features} by {each.ranker} with {each.model} ({score_text(metric, each.score)})"
        for each in selector.alternatives_[:_MOST_ALTERNATIVES]
    ]
    n_more = len(selector.alternatives_) - len(told)
    return "; ".join(told) + (f"; and {n_more} more" if n_more else "")


def _findings(selector: AutoSelector, table: Table) -> Findings:
    """What is odd about the table; nothing is looked for in sparse ones."""
    from tamis.table import Findings, check_table

    if table.features.block is not None:
        return Findings()
    is_supervised = selector.task_ != "unsupervised"
    return check_table(
        table.features.columns, table.y if is_supervised else None, task=selector.task_ if is_supervised else "auto"
    )


def report_of(selector: AutoSelector, table: Table, args: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """The same for programs."""
    from tamis.cli._fit import file_field

    kept = kept_features(selector, table)
    return {
        "file": file_field(args.file),
        "target": table.target,
        "task": selector.task_,
        "n_rows": table.n_rows,
        "n_rows_without_target": table.n_rows_dropped,
        "n_features": table.n_features,
        "findings": [asdict(finding) for finding in _findings(selector, table)],
        "notes": list(table.notes),
        "interrupted": is_interrupted(selector),
        "n_kept": len(kept),
        "reason": selector.reason_,
        "features": [asdict(each) for each in kept],
        "estimate": asdict(selector.estimate_),
        "alternatives": [asdict(each) for each in selector.alternatives_],
        "results": {name: list(column) for name, column in selector.results_.items()},
        "seconds": seconds,
        "out": None if args.out is None else str(args.out),
        "model": None if args.model is None else str(args.model),
    }
