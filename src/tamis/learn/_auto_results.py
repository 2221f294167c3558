"""What was tried, what would do as well, and why the choice is what it is: for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.base._summary import as_frame
from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.arrays.correlations import squared_correlations
from tamis.learn._choice import paired
from tamis.learn._configurations import Configuration
from tamis.learn._learning_table import LearningTable
from tamis.learn._portfolio import ALL
from tamis.learn._race import Race
from tamis.learn._verdict import Verdict

_INTERCHANGEABLE = 0.9  # squared correlation
_MOST_ALTERNATIVES = 10
_MOST_EXPLAINED = 1000  # kept features for which others are looked for


@dataclass(frozen=True)
class Alternative:
    """A configuration that is as good, with another set of features.

    Attributes
    ----------
    ranker, model : str
    n_features : int
    features : list of str
        By the rankings of the folds together, where the ranker was not run on all rows.
    score : float
        Cross-validated.
    """

    ranker: str
    model: str
    n_features: int
    features: list[str]
    score: float


class Results(Mapping[str, list[Any]]):
    """One row per configuration, as columns by name; :meth:`frame` gives them as a data frame.

    Parameters
    ----------
    columns : dict of str to list
    library : str or None
        Of the data frame.
    """

    def __init__(self, columns: dict[str, list[Any]], library: str | None) -> None:
        self._columns, self._library = columns, library

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def frame(self) -> Any:
        """A data frame of the library of the table given to ``fit``, else of pandas or polars, else a dict."""
        return as_frame(dict(self._columns), self._library)


def tabulate(race: Race, verdict: Verdict, library: str | None) -> Results:
    """Every configuration with what became of it, in the order in which they were to run."""
    place = {each.key: i for i, each in enumerate(verdict.complete)}
    chosen = {each.key for each in verdict.chosen}
    seconds, folds, errors = _by_key(race)
    rows = [
        _row(each, _judged_by(race, verdict, each, place), seconds, folds, errors, race.dropped, each.key in place)
        for each in race.configurations
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["chosen"] = [each.key in chosen and not verdict.is_noise for each in race.configurations]
    return Results(columns, library)


def _by_key(race: Race) -> tuple[dict[str, float], dict[str, int], dict[str, str]]:
    """Seconds, number of folds and first error of every configuration."""
    seconds: dict[str, float] = {}
    folds: dict[str, int] = {}
    errors: dict[str, str] = {}
    for (key, _), outcome in race.ledger.outputs.items():
        seconds[key] = seconds.get(key, 0.0) + outcome.seconds
        folds[key] = folds.get(key, 0) + (outcome.output is not None)
        if outcome.error:
            errors.setdefault(key, outcome.error)
    return seconds, folds, errors


def _judged_by(
    race: Race, verdict: Verdict, each: Configuration, place: Mapping[str, int]
) -> tuple[float, float, bool]:
    """Score, standard error of the difference from the best, and whether that is within one.

    Scores on other partitions of the rows are not to be compared: of a configuration that was dropped before the last
    of them, the difference from the best on those that both ran on counts.
    """
    if (i := place.get(each.key)) is not None:
        return float(verdict.scores[i]), float(verdict.errors[i]), bool(verdict.within[i])
    folds = race.folds_of_whole_partitions(each)
    if not folds:
        return float("nan"), float("nan"), False
    losses, scales = race.losses(race.outputs([each, verdict.best], folds), folds), race.scales(race.rows(folds))
    difference, error = paired(losses, scales, 0, 1)
    return float(race.metric.score(np.array(verdict.best_loss + difference))), error, False


def _row(
    each: Configuration,
    judged: tuple[float, float, bool],
    seconds: Mapping[str, float],
    folds: Mapping[str, int],
    errors: Mapping[str, str],
    dropped: set[str],
    is_complete: bool,
) -> dict[str, Any]:
    status = "complete" if is_complete else "failed" if each.key in errors else "dropped"
    if status == "dropped" and each.key not in dropped:
        status = "not run"
    score, error, is_within = judged
    return {
        "ranker": each.ranker,
        "scaling": each.scaling,
        "model": each.model,
        "n_features": each.n_features,
        "score": score,
        "standard_error": error,
        "n_folds": folds.get(each.key, 0),
        "seconds": seconds.get(each.key, 0.0),
        "status": status,
        "error": errors.get(each.key, ""),
        "chosen": False,
        "within_one_se": is_within,
    }


def find_alternatives(
    race: Race, verdict: Verdict, orders: Mapping[str, np.ndarray], kept: np.ndarray, names: Sequence[str]
) -> list[Alternative]:
    """Configurations within one standard error of the best that keep other sets, the best first, each set once."""
    seen = {frozenset(kept.tolist())}
    found: list[Alternative] = []
    for i in np.argsort(-verdict.scores, kind="stable").tolist():
        each = verdict.complete[i]
        if not verdict.within[i] or len(found) == _MOST_ALTERNATIVES:
            continue
        features = features_of(race, each, orders)
        if (as_set := frozenset(features.tolist())) not in seen:
            seen.add(as_set)
            called = [names[j] for j in features.tolist()]
            found.append(Alternative(each.ranker, each.model, len(called), called, float(verdict.scores[i])))
    return found


def features_of(race: Race, configuration: Configuration, orders: Mapping[str, np.ndarray]) -> np.ndarray:
    """Features of a configuration: by the ranking on all rows, or else by the mean rank over the folds."""
    n_columns, ranker = race.data.n_columns, configuration.ranker
    if ranker == ALL:
        return np.arange(n_columns)
    order = orders.get(ranker)
    if order is None:
        total = np.zeros(n_columns)
        for fold in range(len(race.folds)):
            ranked = np.asarray(race.ledger.orders[ranker, fold].output)
            ranks = np.full(n_columns, n_columns)
            ranks[ranked] = np.arange(ranked.size)
            total += ranks
        order = np.argsort(total, kind="stable")
    return order[: configuration.n_features]


def selection_shares(race: Race, chosen: Sequence[Configuration], kept: np.ndarray) -> np.ndarray:
    """Share of the folds in which each kept feature is selected, by any of the configurations chosen."""
    count = np.zeros(race.data.n_columns)
    for fold in range(len(race.folds)):
        selected = np.zeros(race.data.n_columns, dtype=bool)
        for each in chosen:
            if each.ranker == ALL:
                selected[:] = True
            else:
                selected[np.asarray(race.ledger.orders[each.ranker, fold].output)[: each.n_features]] = True
        count += selected
    return count[kept] / len(race.folds)


def interchangeable(data: LearningTable, kept: np.ndarray, names: Sequence[str]) -> dict[str, list[str]]:
    """For every kept feature the others whose numbers it explains by 90 % or more, the most similar first."""
    if kept.size > _MOST_EXPLAINED:
        return {}
    fold = data.all_rows()
    columns = as_columns(fold.train)
    encoded = fold.columns_of(kept)
    found: dict[int, np.ndarray] = {}
    for column, r2 in zip(
        encoded.tolist(), squared_correlations(columns, encoded, np.asarray(columns.norm2) > 0), strict=True
    ):
        place = int(fold.places[column])
        near = np.flatnonzero(r2 >= _INTERCHANGEABLE)
        best = found.setdefault(place, np.zeros(data.n_columns))
        np.maximum.at(best, fold.places[near], r2[near])
    return {names[place]: _others(found, place, names) for place in kept.tolist()}


def _others(found: Mapping[int, np.ndarray], place: int, names: Sequence[str]) -> list[str]:
    """Names of the columns that are similar to one, the most similar first."""
    if place not in found:
        return []
    near = np.flatnonzero(found[place])
    near = near[near != place]
    return [names[j] for j in near[np.argsort(-found[place][near], kind="stable")].tolist()]


def explain(
    race: Race, verdict: Verdict, n_kept: int, *, confidence: float, seconds: float, notes: Sequence[str]
) -> str:
    """Why, in words."""
    estimate, metric = verdict.refused or verdict.estimate, race.metric
    n_complete, n_all = len(verdict.complete), len(race.configurations)
    interval = f"{estimate.value:.3g} ({confidence:.0%} interval {estimate.low:.3g} to {estimate.high:.3g})"
    if verdict.is_noise:
        said = "nothing is kept: no configuration is better than guessing, which predict does"
    else:
        said = _choice_in_words(verdict, n_kept, race.data.n_columns)
    found = f"{metric.words} of the choice on rows it did not see is {interval}, and {estimate.chance:.3g} by guessing"
    ran = f"{n_complete} of {n_all} configurations ran on all folds, {seconds:.3g} of {race.budget:g} s were used"
    return "; ".join([said, found, ran, *_never_tried(race), *notes])


def _never_tried(race: Race) -> list[str]:
    """Rankers and models for which there was no time at all."""
    tried = {(each.ranker, each.model) for each in race.configurations if (each.key, 0) in race.ledger.outputs}
    rankers = race.rankers.keys() - {ranker for ranker, _ in tried}
    models = {entry.name for entry in race.models.values()} - {race.models[model].name for _, model in tried}
    names = [
        name
        for name in (*race.rankers, *dict.fromkeys(e.name for e in race.models.values()))
        if name in rankers | models
    ]
    return [f"there was no time for {', '.join(names)}: raise time_budget"] if names else []


def _choice_in_words(verdict: Verdict, n_kept: int, n_columns: int) -> str:
    if len(verdict.chosen) > 1:
        n_voters = len(verdict.chosen)
        return f"a vote of the {n_voters} best configurations, which keep {n_kept} of {n_columns} features together"
    chosen = verdict.chosen[0]
    score = dict(zip((each.key for each in verdict.complete), verdict.scores.tolist(), strict=True))
    told = f"{chosen} (cross-validated score {score[chosen.key]:.4g})"
    if chosen.key == verdict.best.key:
        why = "the best of all"
    elif verdict.needs_support and chosen.ranker == ALL:
        best = f"{verdict.best}, {score[verdict.best.key]:.4g}"
        why = f"fewer features are not better by enough with so few rows (the best: {best})"
    else:
        share = {"balanced": "half a", "small": "one"}.get(verdict.prefer, "half a")
        why = f"the fewest within {share} standard error of the best ({verdict.best}, {score[verdict.best.key]:.4g})"
    if verdict.reference is not None and chosen.ranker != ALL:
        why += f"; all features do {score[verdict.reference.key]:.4g} at best, with {verdict.reference.model}"
    return f"{told}: {why}"
