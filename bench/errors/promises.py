"""How often anything is kept where nothing is related to the target: rules with rankers, beside what they promise.

All that is kept is false then, so that a risk and a false discovery rate promise the same: anything is kept in at most
that share of tables. What is promised is in docs/errors.md; a rate in brackets is one of which nothing is promised
there. Seeds of rankers, rules and tables are fixed.

Of hundreds of rates at their promise some exceed it by two standard errors by chance. So, laid down before any was
seen: what does is repeated on fresh tables, four times as many; what does again, on fresh tables eight times as many,
and what exceeds its promise there, too, breaks it. A pair of rule and ranker is judged on every design, and on all
designs together. Standard errors are those of a rate at the promise.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.errors.null_designs import NULL_DESIGNS
from bench.errors.null_pairs import KINDS, RULES, Pair, pairs
from bench.table import Targets, note, show

STAGES = (1, 4, 8)  # how many times the repetitions of the first
TOGETHER = "all promised"  # designs
QUICK = {  # kinds of rankers, designs and repetitions of a look that takes a minute
    "kinds": ("CorrelationScore", "ReliefF", "GramSchmidt", "RFE, linear SVM", "TreeSelector", "Lasso", "ZeroNorm"),
    "designs": ("Gaussian", "rare binary, classes"),
    "repetitions": 2,
}
FAILED = -1  # columns kept of a table on which a fit ended with an error
Kept = dict[str, np.ndarray]  # by design: how many columns of each table
FAILURES: dict[str, int] = {}  # of this run, by pair, design and message: how many


@dataclass(frozen=True)
class Rate:
    """The share of tables of which anything was kept, and the share promised."""

    value: float
    n: int
    level: float

    @classmethod
    def of(cls, kept: np.ndarray, level: float) -> Rate:
        return cls(float(np.mean(kept > 0)), kept.size, level)

    @property
    def standard_error(self) -> float:
        return float(np.sqrt(self.level * (1 - self.level) / self.n))

    @property
    def most(self) -> float:
        return self.level + 2 * self.standard_error

    @property
    def exceeds(self) -> bool:
        return self.value > self.most

    def __str__(self) -> str:
        return f"{self.value:.3f} of {self.n}, <= {self.most:.3f}"


def measure(pair: Pair, stage: int, labels: Sequence[str]) -> Kept:
    """How many columns are kept of each table of a stage; the stages share no table."""
    n = STAGES[stage] * pair.repetitions
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {label: np.array([n_kept(pair, label, (stage, seed)) for seed in range(n)]) for label in labels}


def n_kept(pair: Pair, label: str, seed: tuple[int, int]) -> int:
    """How many columns of a table are kept; errors are counted, for no table here is one to be refused."""
    try:
        return pair.n_kept(label, seed)
    except Exception as error:
        what = f"{pair.rule} with {pair.kind} on {label}: {type(error).__name__}: {error}"
        FAILURES[what] = FAILURES.get(what, 0) + 1
        return FAILED


def rates(pair: Pair, kept: Kept) -> dict[str, Rate]:
    """Of the designs on which something is promised, and of these together."""
    levels = {label: pair.level(label) for label in kept}
    promised = {label: level for label, level in levels.items() if level is not None}
    found = {label: Rate.of(kept[label], level) for label, level in promised.items()}
    if found:
        together = np.concatenate([kept[label] for label in promised])
        found[TOGETHER] = Rate.of(together, max(promised.values()))
    return found


@dataclass(frozen=True)
class Suspect:
    """A rate beyond its promise by more than two standard errors, and what repetitions made of it."""

    pair: Pair
    where: str  # a design, or all of them
    stages: tuple[Rate, ...]

    @property
    def breaks_promise(self) -> bool:
        return len(self.stages) == len(STAGES) and self.stages[-1].exceeds

    @property
    def verdict(self) -> str:
        return "beyond its promise" if self.breaks_promise else "by chance"


def follow(pair: Pair, where: str, first: Rate, labels: Sequence[str]) -> Suspect:
    """Repeat on fresh tables for as long as the promise is exceeded."""
    stages = [first]
    while stages[-1].exceeds and len(stages) < len(STAGES):
        kept = measure(pair, len(stages), labels if where == TOGETHER else [where])
        stages.append(rates(pair, kept)[where])
    return Suspect(pair, where, tuple(stages))


def suspects_of(pair: Pair, kept: Kept) -> list[Suspect]:
    found = rates(pair, kept)
    labels = [label for label in found if label != TOGETHER]
    return [follow(pair, where, rate, labels) for where, rate in found.items() if rate.exceeds]


def show_rule(rule: str, found: Mapping[Pair, Kept]) -> None:
    """Rates of one rule that promises something, a row per ranker."""
    labels = [label for label in NULL_DESIGNS if any(label in kept for kept in found.values())]
    rows = []
    for pair, kept in found.items():
        promised = rates(pair, kept)
        together = promised.get(TOGETHER)
        cells = [cell(kept[label], label in promised) if label in kept else "" for label in labels]
        one = next(iter(promised.values()), None)
        rows.append(
            (
                pair.kind,
                f"{pair.shape[0]} x {pair.shape[1]}",
                pair.repetitions,
                f"{one.standard_error:.3f}" if one else "-",
                *cells,
                together or f"({np.mean(np.concatenate(list(kept.values())) > 0):.3f})",
            )
        )
    level = RULES[rule].level
    show(
        f"{rule}: share of tables of which anything was kept, promised {level:g}",
        ("ranker", "table", "repetitions per design", "s.e.", *labels, TOGETHER),
        rows,
    )


def cell(kept: np.ndarray, is_promised: bool) -> str:
    rate = f"{np.mean(kept > 0):.3f}"
    return rate if is_promised else f"({rate})"


def show_without_promise(found: Mapping[Pair, Kept]) -> None:
    rows = [
        (
            pair.rule,
            pair.kind,
            f"{pair.shape[0]} x {pair.shape[1]}",
            sum(each.size for each in kept.values()),
            "-",
            f"{np.mean(np.concatenate(list(kept.values())) > 0):.2f}",
            f"{np.mean(np.maximum(np.concatenate(list(kept.values())), 0)):.1f}",
        )
        for pair, kept in found.items()
    ]
    show(
        "Rules that promise nothing, for information: all designs together",
        ("rule", "ranker", "table", "tables", "promise", "share with anything kept", "columns kept, mean"),
        rows,
    )


def show_suspects(suspects: Sequence[Suspect]) -> None:
    rows = [
        (
            each.pair.rule,
            each.pair.kind,
            f"{each.pair.shape[0]} x {each.pair.shape[1]}",
            each.where,
            *(str(each.stages[i]) if i < len(each.stages) else "" for i in range(len(STAGES))),
            each.verdict,
        )
        for each in suspects
    ]
    times = [f"repeated, {times} times as many" for times in STAGES[1:]]
    show(
        "Beyond the promise by more than two standard errors at first, and what fresh tables say",
        ("rule", "ranker", "table", "design", "at first", *times, "verdict"),
        rows or [("none", *[""] * (5 + len(STAGES) - 1))],
    )


def check(suspects: Sequence[Suspect], n_judged: int) -> bool:
    breaking = [each for each in suspects if each.breaks_promise]
    which = "; ".join(f"{each.pair.rule} with {each.pair.kind} on {each.where}" for each in breaking)
    targets = Targets()
    targets.add(
        f"of {n_judged} rates, beyond their promise by more than two standard errors",
        f"{len(breaking)}{': ' if which else ''}{which}",
        "0",
        not breaking,
    )
    targets.add("fits that ended with an error", str(sum(FAILURES.values())), "0", not FAILURES)
    return targets.show()


def planned(quick: bool) -> list[Pair]:
    if not quick:
        return list(pairs())
    few = []
    for pair in pairs():
        labels = tuple(label for label in pair.designs if label in QUICK["designs"])
        if pair.kind in QUICK["kinds"] and labels:
            few.append(Pair(pair.rule, pair.kind, pair.shape, labels, QUICK["repetitions"]))
    return few


def summarized(found: Mapping[Pair, Kept]) -> list[dict[str, Any]]:
    return [
        {
            "rule": pair.rule,
            "ranker": pair.kind,
            "table": pair.shape,
            "repetitions": pair.repetitions,
            "any_kept": {label: float(np.mean(each > 0)) for label, each in kept.items()},
            "promised": {label: rate.level for label, rate in rates(pair, kept).items() if label != TOGETHER},
        }
        for pair, kept in found.items()
    ]


def run(*, quick: bool = False) -> dict[str, Any]:
    found: dict[Pair, Kept] = {}
    suspects: list[Suspect] = []
    note(f"{len(RULES)} rules, {len(KINDS)} rankers, {len(NULL_DESIGNS)} designs.")
    for rule in RULES:
        here = {pair: measure(pair, 0, pair.designs) for pair in planned(quick) if pair.rule == rule}
        found |= here
        if here and RULES[rule].level is not None:
            show_rule(rule, here)
            for pair, kept in here.items():
                suspects += suspects_of(pair, kept)
    show_without_promise({pair: kept for pair, kept in found.items() if RULES[pair.rule].level is None})
    show_suspects(suspects)
    n_judged = sum(len(rates(pair, kept)) for pair, kept in found.items())
    for what, n in FAILURES.items():
        note(f"{n} times: {what}")
    reached = check(suspects, n_judged)
    figures = {"bench": "promises", "pairs": summarized(found), "judged": n_judged}
    return {**figures, **({} if quick else {"reached": reached})}
