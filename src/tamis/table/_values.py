"""What the values of one column are: numbers, levels, points in time, or something that cannot be ranked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from tamis._sklearn import is_pandas_na
from tamis.table._dates_in_text import read_dates
from tamis.table._numbers_in_text import read_numbers

_DECLARED = "holds dates that were declared as categories; it stays so: give dates if they are to be read as such"


@dataclass(frozen=True)
class Numbers:
    """A quantity, NaN where it is missing, and how it was read: "number", "boolean", "duration", "time" or "text"."""

    values: np.ndarray
    read_as: str


@dataclass(frozen=True)
class Levels:
    """Text or categories.

    Attributes
    ----------
    codes : ndarray of int
        Place of each row's level in ``levels``, -1 where it is missing.
    levels : list
        In the order in which they appear.
    n_parsed : int
        How many of the levels are text that reads as a number; not all of them are.
    not_dates : str
        Why text that looks like dates is not read as such, in words.
    """

    codes: np.ndarray
    levels: list[Any]
    n_parsed: int = 0
    not_dates: str = ""

    @property
    def counts(self) -> np.ndarray:
        """Rows of each level."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))


@dataclass(frozen=True)
class Moments:
    """Dates and times, NaT where missing, and how they are written where they stand as text."""

    values: np.ndarray
    written: str = ""


@dataclass(frozen=True)
class Unreadable:
    """Values that are neither numbers, text nor dates."""

    holds: str


Column = Numbers | Levels | Moments | Unreadable


def read_series(series: Any) -> Column:
    """A column of a data frame, as narwhals wraps it."""
    dtype = series.dtype
    if dtype.is_integer() or dtype.is_float():
        return Numbers(_floats(series.to_list()), "number")
    if dtype == nw.Boolean and not series.null_count():
        return Numbers(series.to_numpy().astype(float), "boolean")
    if dtype.is_temporal() and str(dtype).startswith(("Datetime", "Date")):
        has_zone = str(dtype).startswith("Datetime") and dtype.time_zone is not None
        series = series.dt.replace_time_zone(None) if has_zone else series  # hours as clocks showed them
        return Moments(_moments(series.to_list()))
    return read_objects(series.to_list(), is_declared=str(dtype).startswith(("Categorical", "Enum")))


def read_array(values: np.ndarray) -> Column:
    """A column that is a numpy array."""
    if values.dtype.kind == "b":
        return Numbers(values.astype(float), "boolean")
    if values.dtype.kind in "fiu":
        return Numbers(values.astype(float), "number")
    if values.dtype.kind == "M":
        return Moments(values.astype("datetime64[us]"))
    if values.dtype.kind == "m":
        return Numbers(_seconds_of(values), "duration")
    return read_objects(values.tolist(), is_declared=False)


def read_objects(values: Sequence[Any], *, is_declared: bool) -> Column:
    """A column of Python objects, by what those that are not missing are.

    Parameters
    ----------
    values : sequence
    is_declared : bool
        Whether the column was declared as categories, which are not taken for numbers whatever they look like.
    """
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:
        return Unreadable(_holds(values))
    filled = [value for value in distinct if not is_missing(value)]
    if is_declared:
        column = _levels(values, distinct, filled)
        holds_dates = _all_are(filled, (str,)) and read_dates(filled) is not None
        return replace(column, not_dates=_DECLARED) if holds_dates else column
    if _all_are(filled, (bool, np.bool_)) and filled:
        return Numbers(_looked_up(values, distinct), "boolean")
    if _all_are(filled, (Real, Decimal)):  # a column with nothing filled in is one of numbers, all missing
        return Numbers(_looked_up(values, distinct), "number")
    if _all_are(filled, (date, np.datetime64)):
        return Moments(_moments(values))
    if _all_are(filled, (timedelta, np.timedelta64)):
        return Numbers(_seconds_of(np.array([_or_nat(value) for value in values], dtype="timedelta64[us]")), "duration")
    if _all_are(filled, (time,)):
        return Numbers(_floats([None if is_missing(value) else _clock(value) for value in values]), "time")
    if not _all_are(filled, (str, bytes, Real)):
        return Unreadable(_holds(filled))
    return _read_text(_levels(values, distinct, filled))


def _read_text(column: Levels) -> Column:
    """Levels as the numbers or dates that they stand for, where all of them do."""
    texts = [str(level) for level in column.levels]
    if (numbers := read_numbers(texts)) is not None:
        is_number = ~np.isnan(numbers)
        if not is_number.all():
            return replace(column, n_parsed=int(is_number.sum()))
        return Numbers(np.append(numbers, np.nan)[column.codes], "text")
    if (dates := read_dates(texts)) is None:
        return column
    if dates.values is None:
        return replace(column, not_dates=dates.sentence)
    return Moments(np.append(dates.values, np.datetime64("NaT"))[column.codes], dates.sentence)


def is_missing(value: Any) -> bool:
    """None, NaN, NaT or the missing value of pandas."""
    if isinstance(value, (str, bool)):
        return False
    if isinstance(value, float):
        return value != value
    if value is None or is_pandas_na(value):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def _levels(values: Sequence[Any], distinct: list[Any], filled: list[Any]) -> Levels:
    place = dict.fromkeys(distinct, -1) | {value: code for code, value in enumerate(filled)}
    return Levels(np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values)), filled)


def _all_are(values: Iterable[Any], types: tuple[type, ...]) -> bool:
    return all(issubclass(kind, types) for kind in set(map(type, values)))


def _looked_up(values: Sequence[Any], distinct: list[Any]) -> np.ndarray:
    """Each value as a float, by way of the distinct ones: these are few where a column is long."""
    number = dict(zip(distinct, _floats(distinct).tolist(), strict=True))
    return np.fromiter(map(number.__getitem__, values), dtype=float, count=len(values))


def _floats(values: Sequence[Any]) -> np.ndarray:
    try:
        return np.array(values, dtype=float)  # None becomes NaN
    except (TypeError, ValueError, OverflowError):  # other missing values, or whole numbers that are too large
        return np.array([np.nan if is_missing(value) else _float(value) for value in values], dtype=float)


def _float(value: Any) -> float:
    """A number in double precision; infinite where it is too large for that, as text such as "1e400" is, too."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _moments(values: Sequence[Any]) -> np.ndarray:
    return np.array([_or_nat(value) for value in values], dtype="datetime64[us]")


def _or_nat(value: Any) -> Any:
    """A value that numpy reads as a point in time or a duration; without a zone, which numpy does not know."""
    if is_missing(value):
        return np.datetime64("NaT") if not isinstance(value, (timedelta, np.timedelta64)) else np.timedelta64("NaT")
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _seconds_of(durations: np.ndarray) -> np.ndarray:
    seconds = durations.astype("timedelta64[us]").astype(float) / 1e6
    seconds[np.isnat(durations)] = np.nan
    return seconds


def _clock(value: time) -> float:
    return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond / 1e6


def _holds(values: Sequence[Any]) -> str:
    """``list, dict``: the types of what a column holds."""
    return ", ".join(sorted({type(value).__name__ for value in values if value is not None}))
