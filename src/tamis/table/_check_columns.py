"""Checks that look at the columns alone: constants, copies, identifiers, tails, missing values, text to be parsed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.table._encode_levels import is_identifier
from tamis.table._findings import Finding
from tamis.table._source import Source, constant_in_words
from tamis.table._tails import find_heavy_tails

_NEAR_COPY = 0.999  # absolute correlation
_MOST_COMPARED = 1000  # columns of which all pairs are
_SAME = 1e-9  # largest difference of the entries of two standardized copies, as in kernels/arrays/copies.py
_SHARE, _LARGE_SHARE = 0.05, 0.5  # missing
_DAYS_PER_YEAR = 365.2425
_FAR_DATE, _FAR_QUARTILES = 50 * _DAYS_PER_YEAR, 10  # days from the median, and ranges between quartiles
_BLOCK = 256


def check_columns(source: Source, sample: Source, n_missing: np.ndarray, told: str) -> Iterator[Finding]:
    """Findings of all columns.

    Parameters
    ----------
    source : Source
        All rows.
    sample : Source
        Some of them, for what is estimated.
    n_missing : ndarray of shape (n_columns,)
    told : str
        How many rows the sample has, for sentences; empty if all.
    """
    yield from _constants(source, n_missing)
    yield from _identifiers(source)
    for j, holds in source.unreadable.items():
        yield Finding(
            "unreadable", source.names[j], f"holds {holds}, neither numbers, text nor dates; it is not ranked"
        )
    yield from _numbers_in_text(source)
    yield from _dates_in_text(source)
    yield from _missing_shares(source, n_missing)
    yield from _tails(source)
    yield from _copies(source, sample, told)


def skipped_columns(source: Source) -> list[str]:
    """What was not looked at."""
    if source.places.size <= _MOST_COMPARED:
        return []
    return [f"near-copies were not looked for among {source.places.size} columns of numbers, exact copies were"]


def _constants(source: Source, n_missing: np.ndarray) -> Iterator[Finding]:
    low, high = np.fmin.reduce(source.numbers, axis=0), np.fmax.reduce(source.numbers, axis=0)
    for i in np.flatnonzero((low == high) & (n_missing[source.places] == 0)).tolist():
        place = int(source.places[i])
        if place in source.rounded:
            sentence = f"holds {constant_in_words(source, place, low[i])}; it is not ranked"
            yield Finding("rounded", source.names[place], sentence)
        else:
            yield Finding("constant", source.names[place], f"is {low[i]:g} in every row; it is not ranked")
    for j, column in source.levels.items():
        if column.counts.max(initial=0) == source.n_rows:
            value = str(column.levels[int(column.counts.argmax())])
            yield Finding("constant", source.names[j], f"is {value!r} in every row; it is not ranked")
    for j, moments in source.moments.items():
        if n_missing[j] == 0 and moments.min() == moments.max():
            yield Finding("constant", source.names[j], f"is {moments[0]} in every row; it is not ranked")


def _identifiers(source: Source) -> Iterator[Finding]:
    for j, column in source.levels.items():
        if is_identifier(column):
            counts = column.counts
            sentence = f"holds {np.count_nonzero(counts)} different texts in {counts.sum()} rows; it is not ranked"
            yield Finding("identifier", source.names[j], sentence)
    if source.n_rows < 10:
        return
    first = source.numbers[0]
    with np.errstate(over="ignore", invalid="ignore"):
        step = source.numbers[1] - first
        last = first + step * (source.n_rows - 1)
    for i in np.flatnonzero((np.abs(step) == 1) & (source.numbers[-1] == last)).tolist():
        if np.all(np.diff(source.numbers[:, i]) == step[i]):
            yield Finding("identifier", source.names[source.places[i]], "counts the rows; it is ranked all the same")


def _numbers_in_text(source: Source) -> Iterator[Finding]:
    for j, how in source.read_as.items():
        if how == "text":
            yield Finding("text-number", source.names[j], "holds numbers as text; it is read as numbers")
    for j, column in source.levels.items():
        if column.n_parsed:
            sentence = f"holds text of which {column.n_parsed} of {len(column.levels)} levels read as numbers"
            yield Finding("text-number", source.names[j], f"{sentence}; it stays text: mend the others first")


def _dates_in_text(source: Source) -> Iterator[Finding]:
    for j, written in source.written.items():
        yield Finding("text-date", source.names[j], f"holds dates as text, {written}; it is read as dates")
    for j, column in source.levels.items():
        if column.not_dates:
            yield Finding("text-date", source.names[j], column.not_dates)


def _missing_shares(source: Source, n_missing: np.ndarray) -> Iterator[Finding]:
    share = n_missing / source.n_rows
    for j in np.flatnonzero(share > _SHARE).tolist():
        code = "missing" if share[j] <= _LARGE_SHARE else "mostly-missing"
        yield Finding(code, source.names[j], f"has no value in {n_missing[j]} of {source.n_rows} rows ({share[j]:.0%})")


def _tails(source: Source) -> Iterator[Finding]:
    tails = find_heavy_tails(source)
    for i, reach in zip(tails.columns.tolist(), tails.reach.tolist(), strict=True):
        sentence = f"reaches {reach:.0f} robust standard deviations from its median"
        yield Finding("heavy-tail", source.names[source.places[i]], sentence)
    for j, moments in source.moments.items():
        days = moments[~np.isnat(moments)].astype("datetime64[D]").astype(np.int64)
        if not days.size:
            continue
        low, median, high = np.quantile(days, [0.25, 0.5, 0.75])
        farthest = days[np.abs(days - median).argmax()]
        distance = abs(farthest - median)
        if distance > max(_FAR_DATE, _FAR_QUARTILES * (high - low)):
            sentence = (
                f"reaches {np.datetime64(int(farthest), 'D')}, {distance / _DAYS_PER_YEAR:.0f} years from its median: "
                "if that stands for a missing date, make it one"
            )
            yield Finding("heavy-tail", source.names[j], sentence)


def _copies(source: Source, sample: Source, told: str) -> Iterator[Finding]:
    seen: dict[Any, int] = {}
    for j, column in source.levels.items():
        if len(column.levels) < 2:
            continue
        first = seen.setdefault(column.codes.tobytes(), j)
        if first != j:
            yield Finding("copy", source.names[j], f"has a level for each level of '{source.names[first]}'")
    Z = _standardized(sample.numbers)
    varying = np.flatnonzero(np.einsum("ij,ij->j", Z, Z) > 0.5)
    exact = _exact_copies(source, Z, varying)
    for later, first in sorted(exact.items()):
        names = source.names[source.places[later]], source.names[source.places[first]]
        yield Finding("copy", names[0], f"is '{names[1]}', up to unit and offset")
    if varying.size <= _MOST_COMPARED and sample.n_rows > 10:
        rest = np.setdiff1d(varying, list(exact))
        for later, first, r in _near_copies(Z, rest):
            names = source.names[source.places[later]], source.names[source.places[first]]
            yield Finding("near-copy", names[0], f"has a correlation of {r:.4f} with '{names[1]}'{told}")


def _standardized(numbers: np.ndarray) -> np.ndarray:
    """Columns of mean zero and unit norm, missing values at the mean; constant columns are zero."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        has_missing = np.isnan(numbers.sum(axis=0)).any()
        Z = numbers - (np.nanmean(_at_least_one(numbers), axis=0) if has_missing else numbers.mean(axis=0))
        Z = np.nan_to_num(Z, copy=False, nan=0.0) if has_missing else Z
        size = np.abs(Z).max(axis=0, initial=0.0)
        norm = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    is_constant = size <= 1e-12 * np.abs(np.nan_to_num(numbers)).max(axis=0, initial=0.0)
    return Z / np.where(is_constant | (norm == 0), np.inf, norm)


def _at_least_one(numbers: np.ndarray) -> np.ndarray:
    """Zeros in columns that hold nothing, whose mean would be none."""
    return np.where(np.isnan(numbers).all(axis=0), 0.0, numbers)


def _exact_copies(source: Source, Z: np.ndarray, varying: np.ndarray) -> dict[int, int]:
    """For columns that equal an earlier one up to unit and offset, that one: their products with a vector are equal."""
    vector = np.random.RandomState(0).standard_normal(Z.shape[0])
    key = np.abs(vector @ Z[:, varying])
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-np.inf) > _SAME * np.linalg.norm(vector))
    sizes = np.diff(starts, append=order.size)
    copies: dict[int, int] = {}
    for k in np.flatnonzero(sizes > 1).tolist():
        first, *others = np.sort(varying[order[starts[k] : starts[k] + sizes[k]]]).tolist()
        for block in blocks(len(others), _BLOCK):
            later = np.array(others)[block]
            copies |= dict.fromkeys(later[_are_copies(source.numbers, first, later)].tolist(), first)
    return copies


def _are_copies(numbers: np.ndarray, first: int, later: np.ndarray) -> np.ndarray:
    """Which of some columns equal one before them, up to unit and offset."""
    both = numbers[:, [first, *later.tolist()]]
    is_missing = np.isnan(both)
    Z = _standardized(both)
    distance = np.abs(Z[:, :1] - np.sign(Z[:, 0] @ Z[:, 1:]) * Z[:, 1:]).max(axis=0)
    return np.all(is_missing[:, 1:] == is_missing[:, :1], axis=0) & (distance <= 10 * _SAME)


def _near_copies(Z: np.ndarray, columns: np.ndarray) -> Iterator[tuple[int, int, float]]:
    """Each column with the first before it that it is close to; all pairs, a block at a time."""
    for block in blocks(columns.size, _BLOCK):
        correlation = Z[:, columns].T @ Z[:, columns[block]]
        for k, later in enumerate(columns[block].tolist()):
            before = np.flatnonzero((np.abs(correlation[:, k]) > _NEAR_COPY) & (columns < later))
            if before.size:
                yield later, int(columns[before[0]]), float(correlation[before[0], k])
