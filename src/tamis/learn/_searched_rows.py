"""Rows that a search looks at, where the table is too tall for its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.learn._configurations import Configuration
from tamis.learn._costs import Guard
from tamis.learn._final_fit import Final, fit_final
from tamis.learn._learning_table import LearningTable
from tamis.learn._portfolio import ALL, ModelEntry, RankerEntry
from tamis.learn._race import Race
from tamis.learn._timed_results import LEAST_RESERVE
from tamis.table._source_columns import take_rows

_ENTRIES_PER_SECOND = 4000  # of the table: with more of them fewer rankers and models have their turn
_FEWEST_ROWS = 2000  # on which scores of 0 and 1 have a standard error of about a point
_FEWEST_OF_CLASS = 50
_RESERVE = 0.25  # of the budget, for the final fit to more rows than were searched
_LARGEST_SHARE = 0.5  # of the rows; a sample of more saves too little


@dataclass(frozen=True)
class SearchedRows:
    """A table, and the rows of it that are searched.

    Attributes
    ----------
    every : LearningTable
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

    every: LearningTable
    data: LearningTable
    row_groups: np.ndarray | None
    rows: np.ndarray | None
    seed: int

    def least_reserve(self) -> float:
        """Share of the budget to be kept for the final fit."""
        return LEAST_RESERVE if self.rows is None else _RESERVE

    def fit(self, race: Race, chosen: Sequence[Configuration], X: Any, labels: np.ndarray) -> Final:
        """What was chosen, fitted to as many rows as there is time for.

        A support vector machine that runs out of steps on more rows than were searched is worse than it was there, so
        that it is then fitted to these.
        """
        n_rows = self.every.y.size if self.rows is None else _n_rows_to_fit(race, chosen, self.every.y.size)
        final = self._fit_to(n_rows, race, chosen, X, labels)
        if final.ended_early and n_rows > race.data.y.size:
            return self._fit_to(race.data.y.size, race, chosen, X, labels)
        return final

    def _fit_to(self, n_rows: int, race: Race, chosen: Sequence[Configuration], X: Any, labels: np.ndarray) -> Final:
        data = self.every
        if self.rows is not None and n_rows < data.y.size:
            rows = _add_rows(self.rows, data.y.size, n_rows, self.seed)
            data, X, labels = data.take_rows(rows), take_rows(X, rows), labels[rows]
        return fit_final(data, X, labels, chosen, race.rankers, race.models, race.problem, race.threshold)

    def notes(self, n_fitted: int | None = None) -> list[str]:
        """What to say of rows that were not searched, and of the rows that the choice is fitted to."""
        if self.rows is None:
            return []
        n_rows = self.every.y.size
        said = f"{self.rows.size} of {n_rows} rows, drawn at random, were searched, for there is no time for all"
        if n_fitted is None:
            return [said]
        fitted = "all" if n_fitted == n_rows else "these" if n_fitted == self.rows.size else f"{n_fitted}"
        return [f"{said}, and what was chosen is fitted to {fitted}"]


def choose_searched_rows(
    every: LearningTable, time_budget: float, row_groups: np.ndarray | None, seed: int, *, may_draw: bool
) -> SearchedRows:
    """All rows, or where the time is short for them and they may be drawn, some at random."""
    rows = draw_rows(every, time_budget, row_groups, seed) if may_draw else None
    if rows is None:
        return SearchedRows(every, every, row_groups, None, seed)
    return SearchedRows(every, every.take_rows(rows), None if row_groups is None else row_groups[rows], rows, seed)


def draw_rows(every: LearningTable, time_budget: float, row_groups: np.ndarray | None, seed: int) -> np.ndarray | None:
    """Rows drawn at random, ascending; None where there is time for all of them.

    Groups of rows are drawn as a whole, and every class has 50 rows or all that there are. How many rows depends on
    the table and the budget only, not on the speed of the machine: a run that goes on looks at the same ones.
    """
    y = every.y
    there_is_time_for = _ENTRIES_PER_SECOND * time_budget / _entries_per_row(every)
    if max(_FEWEST_ROWS, there_is_time_for) > _LARGEST_SHARE * y.size:
        return None
    wanted = max(_FEWEST_ROWS, int(there_is_time_for))
    group = np.arange(y.size) if row_groups is None else np.unique(row_groups, return_inverse=True)[1].ravel()
    draw = np.random.RandomState(seed).permutation(int(group.max()) + 1)[group]  # when the group of a row is drawn
    last = np.sort(draw)[wanted - 1]
    if every.task == "classification":
        for code in np.unique(y):
            of_class = np.sort(draw[y == code])
            last = max(last, of_class[min(_FEWEST_OF_CLASS, of_class.size) - 1])
    rows = np.flatnonzero(draw <= last)
    return None if rows.size > _LARGEST_SHARE * y.size else rows


def _entries_per_row(data: LearningTable) -> float:
    n_entries = data.table.nnz if sparse.issparse(data.table) else data.y.size * data.n_columns
    return max(1.0, n_entries / data.y.size)


def _add_rows(rows: np.ndarray, n_rows: int, n_wanted: int, seed: int) -> np.ndarray:
    """So many rows of a table, ascending: those given, and others at random."""
    others = np.setdiff1d(np.arange(n_rows), rows)
    more = np.random.RandomState(seed).permutation(others)[: n_wanted - rows.size]
    return np.sort(np.concatenate([rows, more]))


def _n_rows_to_fit(race: Race, chosen: Sequence[Configuration], n_rows: int) -> int:
    """Rows that there is time to fit some configurations to: all, a half, a quarter, or those searched."""
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
    return sum(
        race.costs.predict(name, n_rows, n_columns, (entry.row_exponent, entry.column_exponent)) or 0.0
        for entry, name, n_columns in fits
    )
