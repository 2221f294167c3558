"""Dates that stand in a table as text: '2023-06-03 14:05', '03/06/2023', '03.06.2023'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_MOST_TRIED = 20  # levels looked at before all are
_LEAST_SHARE = 0.8  # of the levels that must look like dates for a column to be called one of dates
_DATE = re.compile(
    r"(?:(?P<year>\d{4})(?P<mark>[-/.])(?P<second_number>\d\d?)(?P=mark)(?P<third_number>\d\d?)"
    r"|(?P<first_number>\d\d?)(?P<other_mark>[-/.])(?P<middle_number>\d\d?)(?P=other_mark)(?P<last_year>\d{4}))"
    r"(?:(?:T| +)(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?: ?(?P<zone>Z|[-+]\d\d:?\d\d))?)?",
    re.ASCII,
)
_MEND = "write them all as 2023-06-03, or give dates"

_Texts = Sequence[str | None]


@dataclass(frozen=True)
class DatesInText:
    """Levels that hold dates.

    Attributes
    ----------
    values : ndarray of datetime64[us] or None
        The date of each level; None where they stay text.
    sentence : str
        How they are written, or why they stay text.
    """

    values: np.ndarray | None
    sentence: str


def read_dates(levels: Sequence[str]) -> DatesInText | None:
    """The date that each text stands for, if all of them are dates of one format; None where the column holds none.

    The year has four digits. Where it comes first the month follows; where it comes last, a number above 12 among all
    levels tells the day from the month. Where none does, dates with dots are read day first, and others stay text.
    Hours are those that clocks showed, whatever the time zone.
    """
    if not levels or _n_dates(levels[:_MOST_TRIED]) < _LEAST_SHARE * min(len(levels), _MOST_TRIED):
        return None
    matches = [_DATE.fullmatch(level.strip()) for level in levels]
    parts = [match.groups() for match in matches if match is not None]
    if len(parts) < _LEAST_SHARE * len(levels):
        return None
    if len(parts) < len(levels):
        return _refused(f"holds text of which {len(parts)} of {len(levels)} levels are dates", "mend the others first")
    return _read(levels, dict(zip(_DATE.groupindex, zip(*parts, strict=True), strict=True)))


def _n_dates(levels: Sequence[str]) -> int:
    return sum(_DATE.fullmatch(level.strip()) is not None for level in levels)


def _read(levels: Sequence[str], parts: dict[str, _Texts]) -> DatesInText:
    """Dates of one format, in the order of day and month that fits."""
    marks = {*parts["mark"], *parts["other_mark"]} - {None}
    if len(marks) > 1 or any(_is_mixed(parts[name]) for name in ("year", "hour", "zone")):
        return _refused("holds dates written in more than one way", _MEND)
    [mark] = marks
    clock = [_integers(parts[name]) for name in ("hour", "minute", "second")]
    clock.append(_integers([None if digits is None else digits.ljust(6, "0")[:6] for digits in parts["fraction"]]))
    if parts["year"][0] is not None:
        dates = [_integers(parts[name]) for name in ("year", "second_number", "third_number")]
        return _dates_or_refused(levels, _moments(*dates, *clock), f"written year{mark}month{mark}day")
    first, second, year = (_integers(parts[name]) for name in ("first_number", "middle_number", "last_year"))
    day_first, month_first = f"day{mark}month{mark}year", f"month{mark}day{mark}year"
    fits_day_first, fits_month_first = second.max() <= 12, first.max() <= 12
    if not fits_day_first and not fits_month_first:
        return _refused(f"holds dates that are neither {day_first} nor {month_first} in every row", _MEND)
    if fits_day_first and fits_month_first and mark != ".":
        return _refused(f"holds dates such as {levels[0]!r} that fit both {day_first} and {month_first}", _MEND)
    if fits_day_first:
        as_well = f" ({month_first} fits as well)" if fits_month_first else ""
        return _dates_or_refused(levels, _moments(year, second, first, *clock), f"written {day_first}{as_well}")
    return _dates_or_refused(levels, _moments(year, first, second, *clock), f"written {month_first}")


def _is_mixed(texts: _Texts) -> bool:
    """Whether a part is there in some of the levels only."""
    return None in texts and len(set(texts)) > 1


def _integers(texts: _Texts) -> np.ndarray:
    """Each text as a number, 0 where there is none, by way of the distinct ones."""
    number = {text: int(text or 0) for text in set(texts)}
    return np.fromiter(map(number.__getitem__, texts), dtype=np.int64, count=len(texts))


def _moments(
    year: np.ndarray,
    month: np.ndarray,
    day: np.ndarray,
    hour: np.ndarray,
    minute: np.ndarray,
    second: np.ndarray,
    microsecond: np.ndarray,
) -> np.ndarray:
    """Points in time, NaT where the calendar or the clock has none such."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    exists = (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("datetime64[M]") == months)
    exists &= (hour < 24) & (minute < 60) & (second < 60)
    since_midnight = ((hour * 60 + minute) * 60 + second) * 1_000_000 + microsecond
    moments = days.astype("datetime64[us]") + since_midnight
    moments[~exists] = np.datetime64("NaT")
    return moments


def _dates_or_refused(levels: Sequence[str], values: np.ndarray, written: str) -> DatesInText:
    nowhere = np.flatnonzero(np.isnat(values))
    if nowhere.size:
        return _refused(f"holds dates, but {levels[int(nowhere[0])]!r} is in no calendar", "mend it first")
    return DatesInText(values, written)


def _refused(what: str, mend: str) -> DatesInText:
    return DatesInText(None, f"{what}; it stays text: {mend}")
