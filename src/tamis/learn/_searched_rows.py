"""Rows that a search looks at, where the table is too tall for its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from tamis.learn._configurations import Configuration
from tamis.learn._costs import Guard
from tamis.learn._final_fit import Final, fit_final
from tamis.learn._learning_table import LearningTable
from tamis.learn._metrics import Metric
from tamis.learn._portfolio import ALL, ModelEntry, RankerEntry
from tamis.learn._race import Race
from tamis.learn._timed_results import LEAST_RESERVE
from tamis.table._source_columns import take_rows

_ENTRIES_PER_SECOND = 4000  # of the table: with more of them fewer rankers and models have their turn
_FEWEST_ROWS = 2000  # on which scores of 0 and 1 have a standard error of about a point
_FEWEST_GROUPS = 20  # of rows that belong together, so that folds and samples of them differ
_FEWEST_OF_CLASS = 10  # rows, so that every fold has some to learn from and to test
_FEWEST_OF_CLASS_THAT_COUNTS = 50  # the same where a rare class counts as much as a frequent one
_RESERVE = 0.25  # of the budget, for the final fit to more rows than were searched
_LARGEST_SHARE = 0.5  # of the rows; a sample of more saves too little


@dataclass(frozen=True)
class SearchedRows:
    """A table, and the rows of it that are searched.

    Attributes
    ----------
    whole : LearningTable
        All rows.
    data : LearningTable
        Those searched.
    row_groups : ndarray or None
        Of the rows searched.
    rows : ndarray or None
        Their places, ascending; None where they are all.
    seed : int
        Of the draw.
    """

    whole: LearningTable
    data: LearningTable
    row_groups: np.ndarray | None
    rows: np.ndarray | None
    seed: int

    def least_reserve(self) -> float:
        """Share of the budget to be kept for the final fit."""
        return LEAST_RESERVE if self.rows is None else _RESERVE

    def fit(self, race: Race, chosen: Sequence[Configuration], X: Any, labels: np.ndarray, *, in_haste: bool) -> Final:
        """What was chosen, fitted to as many rows as there is time for: ``in_haste`` to those searched.

        It is fitted to these too where it fails on more of them, as a logarithm does by a negative number in a row
        that was not searched, and where a support vector machine runs out of steps, which would make it worse than it
        was among those searched.
        """
        n_searched = self.data.y.size
        if self.rows is not None and not in_haste:
            n_rows = _n_rows_to_fit(race, chosen, self.whole.y.size)
            rows = add_rows(self.rows, self.whole, n_rows, self.seed)
            if rows.size > n_searched:
                try:
                    final = self._fit_to(rows, race, chosen, X, labels)
                except ValueError:
                    pass
                else:
                    if not final.ended_early:
                        return final
        return self._fit_to(self.rows, race, chosen, X, labels)

    def _fit_to(
        self, rows: np.ndarray | None, race: Race, chosen: Sequence[Configuration], X: Any, labels: np.ndarray
    ) -> Final:
        data = self.whole
        if rows is not None and rows.size < data.y.size:
            data, X, labels = data.take_rows(rows), take_rows(X, rows), labels[rows]
        return fit_final(data, X, labels, chosen, race.rankers, race.models, race.problem, race.threshold)

    def notes(self, n_fitted: int | None = None) -> list[str]:
        """What to say of rows that were not searched, and of the rows that the choice is fitted to."""
        if self.rows is None:
            return []
        n_rows = self.whole.y.size
        said = f"{self.rows.size} of {n_rows} rows, drawn at random, were searched, for there is no time for all"
        if n_fitted is None:
            return [said]
        fitted = "all" if n_fitted == n_rows else "these" if n_fitted == self.rows.size else f"{n_fitted}"
        return [f"{said}, and what was chosen is fitted to {fitted}"]


def choose_searched_rows(
    whole: LearningTable,
    time_budget: float,
    row_groups: np.ndarray | None,
    cv: Any,
    metric: Metric,
    seed: int,
) -> SearchedRows:
    """All rows, or where the time is short for them, some at random; folds that are given may name rows."""
    fewest = _FEWEST_OF_CLASS_THAT_COUNTS if metric.counts_classes_alike else _FEWEST_OF_CLASS
    is_a_number = cv is None or isinstance(cv, Integral)
    rows = draw_rows(whole, time_budget, row_groups, seed, fewest) if is_a_number else None
    if rows is None:
        return SearchedRows(whole, whole, row_groups, None, seed)
    return SearchedRows(whole, whole.take_rows(rows), None if row_groups is None else row_groups[rows], rows, seed)


def draw_rows(
    whole: LearningTable,
    time_budget: float,
    row_groups: np.ndarray | None,
    seed: int,
    fewest_of_class: int = _FEWEST_OF_CLASS_THAT_COUNTS,
) -> np.ndarray | None:
    """Rows drawn at random, ascending; None where there is time for all of them.

    Groups of rows are drawn as a whole, at least 20 of them. Of a class that so few rows hold too little of, more are
    drawn, up to ``fewest_of_class`` or all. How many rows depends on the table and the budget only, not on the speed of
    the machine: a run that goes on looks at the same ones.
    """
    y = whole.y
    there_is_time_for = _ENTRIES_PER_SECOND * time_budget / _entries_per_row(whole)
    if max(_FEWEST_ROWS, there_is_time_for) > _LARGEST_SHARE * y.size:
        return None
    group = np.arange(y.size) if row_groups is None else np.unique(row_groups, return_inverse=True)[1].ravel()
    n_groups = int(group.max()) + 1
    place = np.random.RandomState(seed).permutation(n_groups)  # of each group among those drawn one after the other
    place_of_row = place[group]
    last = np.sort(place_of_row)[max(_FEWEST_ROWS, int(there_is_time_for)) - 1]
    is_drawn = place <= max(last, _FEWEST_GROUPS - 1)
    if whole.task == "classification":
        for code in np.unique(y):
            of_class = np.sort(place_of_row[y == code])
            enough = of_class[min(fewest_of_class, of_class.size) - 1]
            is_drawn[np.unique(group[(y == code) & (place_of_row <= enough)])] = True
    rows = np.flatnonzero(is_drawn[group])
    return None if rows.size > _LARGEST_SHARE * y.size else rows


def _entries_per_row(data: LearningTable) -> float:
    n_entries = data.table.nnz if sparse.issparse(data.table) else data.y.size * data.n_columns
    return max(1.0, n_entries / data.y.size)


def add_rows(rows: np.ndarray, whole: LearningTable, n_wanted: int, seed: int) -> np.ndarray:
    """So many rows of a table or fewer, ascending: those given, and others at random.

    Where more were drawn of a rare class, every class grows by one factor: models and borders are for the shares that
    were searched.
    """
    others = np.random.RandomState(seed).permutation(np.setdiff1d(np.arange(whole.y.size), rows))
    if whole.task == "regression" or not _has_other_shares(whole.y, rows):
        return np.sort(np.concatenate([rows, others[: n_wanted - rows.size]]))
    _, codes = np.unique(whole.y, return_inverse=True)
    searched = np.bincount(codes[rows])
    factor = min(n_wanted / rows.size, float((np.bincount(codes) / searched).min()))
    wanted = np.floor(factor * searched).astype(int) - searched
    more = [others[codes[others] == code][: wanted[code]] for code in range(searched.size)]
    return np.sort(np.concatenate([rows, *more]))


def _has_other_shares(y: np.ndarray, rows: np.ndarray) -> bool:
    """Whether some class is drawn more often than chance has it: by more than four standard deviations."""
    _, codes = np.unique(y, return_inverse=True)
    shares, drawn = np.bincount(codes) / y.size, np.bincount(codes[rows], minlength=codes.max() + 1)
    return bool(np.any(drawn - shares * rows.size > 4.0 * np.sqrt(shares * rows.size) + 1.0))


def _n_rows_to_fit(race: Race, chosen: Sequence[Configuration], n_rows: int) -> int:
    """Rows that there is time to fit some configurations to: all, a half, a quarter ..., or those searched."""
    n_searched = race.data.y.size
    guard = Guard(race.started + race.budget, race.clock)
    while n_rows > n_searched and not guard.allows(seconds_to_fit(race, chosen, n_rows)):
        n_rows //= 2
    return max(n_rows, n_searched)


def seconds_to_fit(race: Race, chosen: Sequence[Configuration], n_rows: int) -> float:
    """What fits of some configurations to so many rows take, told from the folds."""
    fits: list[tuple[ModelEntry | RankerEntry, str, int]] = []
    for each in chosen:
        fits.append((race.models[each.model], each.model, race.ledger.outputs[each.key, 0].n_columns))
    for name in sorted({each.ranker for each in chosen} - {ALL}):
        fits.append((race.rankers[name], name, race.ledger.orders[name, 0].n_columns))
    told = [
        race.costs.predict(name, n_rows, n_columns, (entry.row_exponent, entry.column_exponent))
        for entry, name, n_columns in fits
    ]
    return sum(np.inf if seconds is None else seconds for seconds in told)
