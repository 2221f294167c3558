"""A fitted selector in the terms of the table that the user gave."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.base import Ranker
from tamis.cli._large import LargeTable
from tamis.cli._naming import enumerate_names
from tamis.cli._table import Table

if TYPE_CHECKING:
    from tamis import TableSelector
    from tamis.table import Findings

_MOST_OF_A_KIND = 3
_GRAVEST_FIRST = (
    "leak",
    "rounded",
    "outlying-target",
    "rare-class",
    "telling-missingness",
    "mostly-missing",
    "copy",
    "near-copy",
    "identifier",
    "constant",
    "text-number",
    "text-date",
    "heavy-tail",
)
_NOT_RANKED = "not ranked: "
_NUMBER = re.compile(r" \(.* in every row\)")  # the value of a constant column
# phrase in what was done to a column -> the same in short
_IN_SHORT = {
    "one-hot": "one-hot",
    "mean target": "levels by their mean target",
    "as codes": "levels as codes",
    "how frequent": "levels by frequency",
    ", 1 is ": "two levels as 0 and 1",
    "boolean": "booleans as 0 and 1",
    "text that holds numbers": "text as numbers",
    "duration": "durations as numbers",
    "date as": "dates as days and cycles",
    "days since 1970": "dates as days",
    " at the median": "missing values imputed",
    " at the mean": "missing values imputed",
    "left to the ranker": "missing values left to the method",
}


@dataclass(frozen=True)
class Feature:
    """One feature of an order.

    Attributes
    ----------
    rank : int
        1 is best.
    name : str
    score : float
    curve : float or None
        What the stopping rule saw when this feature was the last one.
    """

    rank: int
    name: str
    score: float
    curve: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Fields for JSON; the curve only where there is one."""
        fields: dict[str, Any] = {"rank": self.rank, "name": self.name, "score": self.score}
        if self.curve is not None:
            fields["curve"] = self.curve
        return fields


def ranked_features(
    selector: Ranker | TableSelector, table: Table | LargeTable, most: int | None = None
) -> list[Feature]:
    """The order of a fitted selector: whole, or its first ``most`` features."""
    curve = dict(zip(selector.stop_.curve_at.tolist(), selector.stop_.curve.tolist(), strict=True))
    if not _curve_counts_features(selector):
        curve = {}
    names = table.names
    return [
        Feature(
            place,
            names[column],
            float(selector.scores_[column]),
            curve.get(place) if names[column] not in table.keep else None,  # kept as asked, whatever the rule says
        )
        for place, column in enumerate(selector.order_[:most].tolist(), start=1)
    ]


def curve_label(selector: Ranker | TableSelector) -> str:
    """What the stopping rule looked at; empty where it is told of no feature."""
    return selector.stop_.label if _curve_counts_features(selector) else ""


def _curve_counts_features(selector: Ranker | TableSelector) -> bool:
    """Whether places on the curve are features: a ranker that knows no groups counts encoded columns instead."""
    if isinstance(selector, Ranker) or "groups" in selector.ranker_.provides:
        return True
    return all(len(encoded) <= 1 for encoded in selector.encoded_as_.values())


def not_ranked(selector: Ranker | TableSelector) -> Collection[str]:
    """Columns that were not given to the ranker, and are named with the cause."""
    return () if isinstance(selector, Ranker) else selector.not_ranked_


def kept_features(selector: Ranker | TableSelector, table: Table | LargeTable) -> list[Feature]:
    """The features that a fitted selector keeps, best first."""
    return ranked_features(selector, table, selector.stop_.n_features)


def task_sentence(task: str, table: Table | LargeTable) -> str:
    """What the target was taken for."""
    if task == "classification":
        return f"classification of {np.unique(np.asarray(table.y)).size} classes: '{table.target}'"
    return (
        f"regression on '{table.target}'" if task == "regression" else "no target: features are ranked among themselves"
    )


def encoding_lines(encoding: dict[str, str]) -> list[str]:
    """What was done to which columns, in one line, and those that are not ranked, with the cause, in another."""
    done: dict[str, list[str]] = {}
    causes: dict[str, list[str]] = {}
    for name, sentence in encoding.items():
        if sentence.startswith(_NOT_RANKED):
            causes.setdefault(_NUMBER.sub("", sentence.removeprefix(_NOT_RANKED)), []).append(name)
        for phrase, short in _IN_SHORT.items():
            if phrase in sentence:
                done.setdefault(short, []).append(name)
    lines = ["; ".join(f"{short}: {enumerate_names(names)}" for short, names in done.items())]
    if causes:
        lines.append(
            "not ranked: " + "; ".join(f"{enumerate_names(names)} ({cause})" for cause, names in causes.items())
        )
    return [line for line in lines if line]


def finding_lines(findings: Findings, not_ranked: Collection[str]) -> list[str]:
    """What a person should look at, gravest first, one line for each or for many of a kind.

    Missing values and columns that are not ranked are told elsewhere, and so are targets that look like counts.
    """
    lines = []
    for code in _GRAVEST_FIRST:
        found = [finding for finding in findings if finding.code == code and finding.column not in not_ranked]
        if len(found) <= _MOST_OF_A_KIND:
            lines += [str(finding) for finding in found]
        else:
            names = enumerate_names([str(finding.column) for finding in found])
            lines.append(f"{code}: {names}; {found[0].advice}")
    return lines
