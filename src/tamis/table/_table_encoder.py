"""A table of mixed columns as numbers, with what its training rows teach, for rows that come later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tamis._sklearn import StrOptions, fit_context
from tamis.table._encode_levels import MOST_LEVELS, is_identifier
from tamis.table._encode_numbers import has_indicator, medians
from tamis.table._ordered_means import ordered_means
from tamis.table._source import Source, count_missing, held_otherwise, read_source
from tamis.table._target import read_target, target_columns

_LEAST_ROWS, _LEAST_SHARE = 5, 0.01  # of a level that has a column of its own
_MISSING = "missing"
_MICROSECONDS_PER_DAY = 86_400e6


@dataclass(frozen=True)
class NumberPlan:
    """Numbers: the median where they are missing; ``indicated`` have a column that says so."""

    places: np.ndarray
    medians: np.ndarray
    indicated: np.ndarray


@dataclass(frozen=True)
class LevelPlan:
    """Text: the row of ``table`` that stands for each level; the last row for any other."""

    place: int
    labels: list[str]
    table: np.ndarray


@dataclass(frozen=True)
class MomentPlan:
    """Dates: days since the first, sine and cosine of the cycles that vary; the medians of these where missing."""

    place: int
    first: int
    cycles: list[str]
    medians: np.ndarray


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""Encode the columns of a table as numbers for any model, by what the rows given to ``fit`` hold.

    Source column :math:`j` becomes :math:`Z_j`: numbers stay, with the median where they are missing and an indicator
    of that; text of at most 30 levels is one-hot encoded, rare levels as one; more levels are each given the mean
    target of their rows, in training that of the rows before in a random order; dates become days, and sine and cosine
    of month, weekday and hour where these vary. Columns that cannot tell rows apart have no :math:`Z_j`.

    Parameters
    ----------
    task : {"classification", "regression", "unsupervised"}, default="unsupervised"
        What the target is; without one, many levels are replaced by how frequent they are.

    Attributes
    ----------
    places_ : ndarray of int
        Source column of every encoded column, ascending within each kind.
    names_ : list of str
        Source columns.

    Examples
    --------
    >>> from tamis.table._table_encoder import TableEncoder
    >>> X = {"size": [1.0, 2.0, float("nan"), 4.0], "city": ["a", "b", "a", "b"]}
    >>> TableEncoder().fit_transform(X).tolist()
    [[1.0, 0.0], [2.0, 1.0], [2.0, 0.0], [4.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict] = {"task": [StrOptions({"classification", "regression", "unsupervised"})]}

    def __init__(self, task: str = "unsupervised") -> None:
        self.task = task

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn medians, levels and their means.

        Parameters
        ----------
        X : data frame, mapping or array
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self.fit_source(read_source(X), y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn, and encode the training rows, levels by the mean target of other rows.

        Parameters
        ----------
        X : data frame, mapping or array
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        ndarray
        """
        return self.fit_source(read_source(X), y)

    def transform(self, X: Any) -> np.ndarray:
        """Encode rows.

        Parameters
        ----------
        X : data frame, mapping or array
            With the columns of that given to ``fit``.

        Returns
        -------
        ndarray
        """
        return self.transform_source(read_source(X))

    def fit_source(self, source: Source, y: Any = None) -> np.ndarray:
        """The same of a table that was read before; returns the training rows, encoded."""
        y = read_target(y, source.n_rows)
        targets = None if y is None or self.task == "unsupervised" else target_columns(y, self.task)
        self.names_ = list(source.names)
        self.numbers_ = _plan_numbers(source)
        self.moments_ = [plan for j in source.moments if (plan := _plan_moments(source, j)) is not None]
        self.levels_: list[LevelPlan] = []
        ordered: dict[int, np.ndarray] = {}
        for j, column in source.levels.items():
            if is_identifier(column) or column.counts.max(initial=0) == source.n_rows or not column.counts.any():
                continue
            levels, codes, by_target = _plan_levels(j, _labels_of(source, j), targets)
            self.levels_.append(levels)
            if by_target and targets is not None:
                ordered[j] = ordered_means(codes, targets)
        self.places_ = np.concatenate(
            [
                self.numbers_.places,
                self.numbers_.places[self.numbers_.indicated],
                *(np.full(plan.table.shape[1], plan.place) for plan in self.levels_),
                *(np.full(plan.medians.size, plan.place) for plan in self.moments_),
            ]
        ).astype(int)
        return self._encode(source, ordered)

    def transform_source(self, source: Source) -> np.ndarray:
        """The same of a table that was read before."""
        if list(source.names) != self.names_:
            raise ValueError(f"X has the columns {list(source.names)[:5]}, and fit was given {self.names_[:5]}")
        return self._encode(source, {})

    def _encode(self, source: Source, ordered: dict[int, np.ndarray]) -> np.ndarray:
        """``ordered`` holds what stands for levels in the training rows."""
        values = _numbers_at(source, self.numbers_.places)
        is_missing = np.isnan(values)
        parts = [np.where(is_missing, self.numbers_.medians, values), is_missing[:, self.numbers_.indicated]]
        for plan in self.levels_:
            if plan.place in ordered:
                parts.append(ordered[plan.place])
                continue
            row_of = {label: row for row, label in enumerate(plan.labels)}
            rows = [row_of.get(label, len(plan.labels)) for label in _labels_of(source, plan.place)]
            parts.append(plan.table[rows])
        parts += [_fill(_moment_columns(_moments_at(source, plan.place), plan), plan.medians) for plan in self.moments_]
        return np.hstack(parts)


def _plan_numbers(source: Source) -> NumberPlan:
    table = source.numbers
    n_missing = count_missing(table)
    is_empty = n_missing == source.n_rows
    low, high = np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)
    kept = np.flatnonzero(~is_empty & ((low < high) | (n_missing > 0)))
    indicated = [i for i, j in enumerate(kept) if has_indicator(int(n_missing[j]), source.n_rows)]
    return NumberPlan(source.places[kept], medians(table[:, kept], n_missing[kept]), np.array(indicated, dtype=int))


def _plan_levels(place: int, labels: list[str], targets: np.ndarray | None) -> tuple[LevelPlan, np.ndarray, bool]:
    """How levels are encoded, the code of each row, and whether it is by the mean target."""
    known = sorted(set(labels))
    place_of = {label: k for k, label in enumerate(known)}  # an array of text is as wide as the longest everywhere
    codes = np.fromiter(map(place_of.__getitem__, labels), dtype=np.intp, count=len(labels))
    counts = np.bincount(codes)
    if len(known) <= MOST_LEVELS:
        own = (
            counts >= max(_LEAST_ROWS, int(_LEAST_SHARE * len(labels))) if len(known) > 2 else np.ones(len(known), bool)
        )
        table = np.zeros((len(known) + 1, int(own.sum()) + 1))
        column = np.where(own, np.cumsum(own) - 1, own.sum())
        table[np.arange(len(known)), column] = 1.0
        table[-1, -1] = 1.0
        varies = np.ptp(table[:-1], axis=0) > 0
        table = table[:, varies]
        return LevelPlan(place, known, table[:, 1:] if len(known) == 2 else table), codes, False
    if targets is None:
        return LevelPlan(place, known, np.append(counts, 0.0)[:, None]), codes, False
    center = targets - targets.mean(axis=0)
    sums = np.zeros((len(known) + 1, targets.shape[1]))
    np.add.at(sums, codes, center)
    return LevelPlan(place, known, sums / (1.0 + np.append(counts, 0))[:, None]), codes, True


def _plan_moments(source: Source, place: int) -> MomentPlan | None:
    values = _moments_at(source, place)
    filled = values[~np.isnat(values)]
    if filled.size == 0 or (filled.min() == filled.max() and filled.size == values.size):
        return None
    cycles = [name for name, cycle in _cycles(filled).items() if cycle.min() < cycle.max()]
    plan = MomentPlan(place, int(filled.min().astype(np.int64)), cycles, np.zeros(0))
    columns = _moment_columns(filled, plan)
    return MomentPlan(place, plan.first, cycles, np.median(columns, axis=0))


def _cycles(moments: np.ndarray) -> dict[str, np.ndarray]:
    """Where in the year, the week and the day moments lie, as shares; the first of January 1970 was a Thursday."""
    days = moments.astype("datetime64[D]")
    return {
        "month": moments.astype("datetime64[M]").astype(np.int64) % 12 / 12,
        "weekday": (days.astype(np.int64) + 3) % 7 / 7,
        "hour": (moments - days).astype(float) / _MICROSECONDS_PER_DAY,
    }


def _moment_columns(moments: np.ndarray, plan: MomentPlan) -> np.ndarray:
    """Days and cycles, NaN where missing."""
    cycles = _cycles(moments)
    columns = [(moments.astype(np.int64) - plan.first) / _MICROSECONDS_PER_DAY]
    for name in plan.cycles:
        columns += [np.sin(2 * np.pi * cycles[name]), np.cos(2 * np.pi * cycles[name])]
    values = np.column_stack(columns)
    values[np.isnat(moments)] = np.nan
    return values


def _fill(values: np.ndarray, medians: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), medians, values)


def _numbers_at(source: Source, places: np.ndarray) -> np.ndarray:
    """Columns of numbers; those that hold nothing at all in these rows may have been read as anything."""
    if np.array_equal(places, source.places):
        return source.numbers
    at = {int(place): i for i, place in enumerate(source.places)}
    values = np.full((source.n_rows, places.size), np.nan)
    for i, place in enumerate(places.tolist()):
        if place in at:
            values[:, i] = source.numbers[:, at[place]]
        elif source.n_missing()[place] < source.n_rows:
            raise held_otherwise(source.names[place], "numbers")
    return values


def _moments_at(source: Source, place: int) -> np.ndarray:
    if place in source.moments:
        return source.moments[place].astype("datetime64[us]")
    if source.n_missing()[place] < source.n_rows:
        raise held_otherwise(source.names[place], "dates")
    return np.full(source.n_rows, np.datetime64("NaT"), dtype="datetime64[us]")


def _labels_of(source: Source, place: int) -> list[str]:
    """Levels as text, also of a column that reads as numbers or dates in the rows at hand."""
    if place in source.levels:
        column = source.levels[place]
        labels = [*map(str, column.levels), _MISSING]
        return [labels[code] for code in column.codes.tolist()]
    if place in source.moments:
        return [_MISSING if np.isnat(value) else str(value) for value in source.moments[place]]
    at = np.flatnonzero(source.places == place)
    if at.size == 0:
        return [_MISSING] * source.n_rows
    return [_MISSING if value != value else f"{value:g}" for value in source.numbers[:, at[0]].tolist()]
