"""Outer splits: every contender learns on 70 % of the rows and is judged on the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from bench.auto.contenders import ALL, BY_HAND, PREFERENCES, Fitted, all_features, by_hand, losses, race
from bench.auto.sets import SETS, Source, Task, split
from bench.table import Targets, note, show

CONTENDERS = (*PREFERENCES, ALL, *BY_HAND)
MANY_ROWS = 200  # to learn from, from which on the interval is asked to hold


@dataclass(frozen=True)
class Judged:
    """What became of one contender on one split.

    ``error`` is in percent, ``spread`` the standard deviation of the rows' losses.
    """

    error: float
    spread: float
    n_test: int
    n_features: int
    seconds: float


@dataclass(frozen=True)
class Claim:
    """What a race said of itself on one split, as errors: one less the score, in percent.

    ``is_covered`` tells whether the test score lies in the interval for the true one, ``is_predicted`` whether in that
    for a test set of so many rows.
    """

    corrected: float
    naive: float
    reached: float
    is_covered: bool
    is_predicted: bool
    n_rows: int


@dataclass(frozen=True)
class Outcome:
    """All splits of one table."""

    source: Source
    shape: tuple[int, int]
    kind: str
    judged: dict[str, list[Judged]]
    claims: dict[str, list[Claim]]

    def error(self, name: str) -> float:
        return float(np.mean([each.error for each in self.judged[name]]))

    def share(self, name: str) -> float:
        """Of the columns that are kept."""
        return float(np.mean([each.n_features for each in self.judged[name]])) / self.shape[1]

    def standard_error(self, name: str) -> float:
        """Of the mean error over the splits, in percent."""
        variances = [each.spread**2 / each.n_test for each in self.judged[name]]
        return 100.0 * float(np.sqrt(np.mean(variances) / len(variances)))


def judge(fitted: Fitted, X: np.ndarray, y: np.ndarray, is_quantity: bool) -> Judged:
    each = losses(fitted.predictor, X, y, is_quantity)
    return Judged(100.0 * each.mean(), each.std(), y.size, fitted.n_features, fitted.seconds)


def claim(selector: Any, X: np.ndarray, y: np.ndarray) -> Claim:
    """The estimate and the score on the rows that were held out, in the selector's own metric."""
    estimate, reached = selector.estimate_, selector.score(X, y)
    low, high = estimate.prediction_interval(len(y))
    return Claim(
        corrected=100.0 * (1 - estimate.value),
        naive=100.0 * (1 - estimate.naive),
        reached=100.0 * (1 - reached),
        is_covered=estimate.low <= reached <= estimate.high,
        is_predicted=low <= reached <= high,
        n_rows=estimate.n_rows,
    )


def compete(source: Source, task: Task, n_splits: int, budget: float) -> Outcome:
    judged: dict[str, list[Judged]] = {name: [] for name in CONTENDERS}
    claims: dict[str, list[Claim]] = {name: [] for name in PREFERENCES}
    for seed in range(n_splits):
        X, X_test, y, y_test = split(task, seed)
        given = {"scoring": "r2" if task.is_quantity else "accuracy", "random_state": seed}
        for fitted in race(X, y, budget, **given):
            judged[fitted.name].append(judge(fitted, X_test, y_test, task.is_quantity))
            claims[fitted.name].append(claim(fitted.predictor, X_test, y_test))
        for fitted in (all_features(X, y, budget, **given), *by_hand(X, y, task.is_quantity)):
            judged[fitted.name].append(judge(fitted, X_test, y_test, task.is_quantity))
    return Outcome(source, task.X.shape, task.kind, judged, claims)


def outer_splits(n_splits: int, budget: float, wanted: tuple[str, ...], targets: Targets) -> dict[str, Any]:
    """Print the tables, note the targets, and return the figures."""
    outcomes: dict[str, Outcome] = {}
    for name in wanted:
        source = SETS[name]
        if not source.is_here():
            what = source.needs.replace("package:", "the package ")
            note(f"The table {name} is left out: {what} is missing (set TAMIS_DATA; group peers).")
            continue
        outcomes[name] = compete(source, source.read(), n_splits, budget)
        print(f"  {name}: {', '.join(f'{each} {outcomes[name].error(each):.1f}' for each in CONTENDERS)}", flush=True)
    show_errors(outcomes, n_splits, budget)
    show_sizes(outcomes, budget)
    show_claims(outcomes)
    check_errors(outcomes, budget, targets)
    check_claims(outcomes, targets)
    return {name: figures(outcome) for name, outcome in outcomes.items()}


def show_errors(outcomes: dict[str, Outcome], n_splits: int, budget: float) -> None:
    rows = [
        (
            name,
            "yes" if each.source.was_used else "no",
            f"{each.shape[0]} x {each.shape[1]}",
            each.kind,
            *(f"{each.error(contender):.1f}" for contender in CONTENDERS),
            f"{each.standard_error(ALL):.1f}",
        )
        for name, each in outcomes.items()
    ]
    groups = {"all": outcomes, "portfolio chosen on": subset(outcomes, True), "not seen": subset(outcomes, False)}
    for label, some in groups.items():
        if some:
            means = mean_ranks(some)
            ranks = (f"{means[contender]:.2f}" for contender in CONTENDERS)
            rows.append((f"mean rank, {label}", "", str(len(some)), "", *ranks, ""))
    show(
        f"Test error in percent (quantities: 100 (1 - R^2)), {n_splits} outer splits, {budget:g} s per race",
        ("table", "seen", "rows x columns", "target", *CONTENDERS, "s.e. of all"),
        rows,
    )


def subset(outcomes: dict[str, Outcome], was_used: bool) -> dict[str, Outcome]:
    return {name: each for name, each in outcomes.items() if each.source.was_used == was_used}


def mean_ranks(outcomes: dict[str, Outcome]) -> dict[str, float]:
    """Over tables, 1 the least error; equal errors share their ranks."""
    ranks = [rankdata([round(each.error(name), 6) for name in CONTENDERS]) for each in outcomes.values()]
    return dict(zip(CONTENDERS, np.mean(ranks, axis=0).tolist(), strict=True))


def show_sizes(outcomes: dict[str, Outcome], budget: float) -> None:
    def mean(judged: list[Judged], of: Callable[[Judged], float]) -> float:
        return float(np.mean([of(each) for each in judged]))

    rows = [
        (
            name,
            *(f"{mean(each.judged[contender], lambda one: one.n_features):.0f}" for contender in CONTENDERS),
            *(
                f"{mean(each.judged[contender], lambda one: one.seconds):.1f}"
                for contender in ("balanced", ALL, *BY_HAND)
            ),
            f"{max(one.seconds for one in each.judged['balanced']) / budget - 1:+.0%}",
        )
        for name, each in outcomes.items()
    ]
    rows.append(("median share kept", *(f"{median_share(outcomes, name):.0%}" for name in CONTENDERS), *[""] * 6))
    seconds = (f"{name}, s" for name in ("race", ALL, *BY_HAND))
    show(
        "Columns kept, seconds, and what the longest race took beyond its budget",
        ("table", *CONTENDERS, *seconds, "over budget"),
        rows,
    )


def median_share(outcomes: dict[str, Outcome], name: str) -> float:
    return float(np.median([each.share(name) for each in outcomes.values()]))


def show_claims(outcomes: dict[str, Outcome]) -> None:
    """Of the default preference by table, and of every preference over all."""
    rows = []
    for name, each in outcomes.items():
        some = each.claims["balanced"]
        for label, of in (("corrected", lambda one: one.corrected), ("naive", lambda one: one.naive)):
            less = [of(one) - one.reached for one in some]
            told = ("is_covered", "is_predicted") if label == "corrected" else ()
            covered = [" ".join("yes" if getattr(one, of) else "NO" for one in some) for of in told] or ["", ""]
            rows.append((name, some[0].n_rows, label, " ".join(f"{x:+.1f}" for x in less), *covered))
    show(
        "Estimated error less test error in points, by split (balanced); whether the intervals held the test score",
        ("table", "rows", "estimate", "less test error", "interval", "prediction interval"),
        rows,
    )
    show(
        "The same over all tables",
        (
            "preference",
            "rows",
            "splits",
            "corrected",
            "naive",
            "tables not below: corrected",
            "naive",
            "interval",
            "prediction interval",
        ),
        [row for name in PREFERENCES for row in claims_of(outcomes, name)],
    )


def claims_of(outcomes: dict[str, Outcome], name: str) -> list[tuple[Any, ...]]:
    rows = []
    for label, is_large in ((f">= {MANY_ROWS}", True), (f"< {MANY_ROWS}", False)):
        by_table = [each.claims[name] for each in outcomes.values() if is_many(each) == is_large]
        if by_table:
            every = [one for some in by_table for one in some]
            corrected = np.array([one.corrected - one.reached for one in every])
            naive = np.array([one.naive - one.reached for one in every])
            rows.append(
                (
                    name,
                    label,
                    len(every),
                    f"{corrected.mean():+.1f} +- {corrected.std():.1f}",
                    f"{naive.mean():+.1f} +- {naive.std():.1f}",
                    f"{share_not_below(by_table, lambda one: one.corrected):.0%}",
                    f"{share_not_below(by_table, lambda one: one.naive):.0%}",
                    f"{np.mean([one.is_covered for one in every]):.0%}",
                    f"{np.mean([one.is_predicted for one in every]):.0%}",
                )
            )
    return rows


def is_many(outcome: Outcome) -> bool:
    return outcome.claims["balanced"][0].n_rows >= MANY_ROWS


def share_not_below(by_table: list[list[Claim]], of: Callable[[Claim], float]) -> float:
    """Tables on which the mean estimate over the splits is at least the mean error."""
    return float(np.mean([np.mean([of(one) - one.reached for one in some]) >= 0 for some in by_table]))


def check_errors(outcomes: dict[str, Outcome], budget: float, targets: Targets) -> None:
    for name in PREFERENCES:
        near = [each.error(name) <= each.error(ALL) + each.standard_error(ALL) for each in outcomes.values()]
        share = median_share(outcomes, name)
        targets.add(
            f"{name}: within one s.e. of {ALL}; median share kept",
            f"{sum(near)} of {len(near)}; {share:.0%}",
            "9 of 10; <= 33 %",
            np.mean(near) >= 0.9 and share <= 1 / 3,
        )
    means = mean_ranks(outcomes)
    first = min(means, key=lambda name: means[name])
    targets.add("mean rank first", f"{first} ({means[first]:.2f})", "one of the race's", first in PREFERENCES)
    longest = max(one.seconds for each in outcomes.values() for one in each.judged["balanced"])
    targets.add("longest race", f"{longest:.1f} s", f"<= {1.2 * budget:g} s", longest <= 1.2 * budget)


def check_claims(outcomes: dict[str, Outcome], targets: Targets) -> None:
    for name in PREFERENCES:
        below = share_not_below([each.claims[name] for each in outcomes.values()], lambda one: one.corrected)
        targets.add(
            f"{name}: tables with the estimate not below the test error", f"{below:.0%}", ">= 80 %", below >= 0.8
        )
        many = [one for each in outcomes.values() if is_many(each) for one in each.claims[name]]
        if many:
            share = float(np.mean([one.is_predicted for one in many]))
            targets.add(
                f"{name}: splits in the prediction interval, n >= {MANY_ROWS}",
                f"{share:.0%}; in that of the true score {np.mean([one.is_covered for one in many]):.0%}",
                ">= 90 %",
                share >= 0.9,
            )


def figures(outcome: Outcome) -> dict[str, Any]:
    return {
        "seen": outcome.source.was_used,
        "errors": {name: [round(each.error, 2) for each in some] for name, some in outcome.judged.items()},
        "kept": {name: [each.n_features for each in some] for name, some in outcome.judged.items()},
        "seconds": {name: [round(each.seconds, 2) for each in some] for name, some in outcome.judged.items()},
        "estimates": {
            name: [
                [
                    round(one.corrected, 2),
                    round(one.naive, 2),
                    round(one.reached, 2),
                    one.is_covered,
                    one.is_predicted,
                ]
                for one in some
            ]
            for name, some in outcome.claims.items()
        },
    }
