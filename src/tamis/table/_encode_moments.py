"""Dates and times: the time that passed, and where in the year, the week and the day a moment lies."""

from __future__ import annotations

import numpy as np

from tamis.table._encode_numbers import has_indicator, impute, missing_sentence
from tamis.table._encoded import Block, Part, Wishes
from tamis.table._source import Source

_MICROSECONDS_PER_DAY = 86_400e6


def encode_moments(source: Source, wishes: Wishes) -> Part:
    """Every column of dates that vary."""
    blocks: list[Block] = []
    sentences: dict[int, str] = {}
    not_ranked: dict[int, str] = {}
    for j, moments in source.moments.items():
        is_missing = np.isnat(moments)
        n_missing = int(is_missing.sum())
        filled = moments[~is_missing]
        if filled.size == 0:
            not_ranked[j] = "every value is missing"
            continue
        if filled.min() == filled.max() and n_missing == 0:
            not_ranked[j] = f"constant ({filled[0]} in every row)"
            continue
        values, names, words = _parts(moments, is_missing)
        sentence = f"date as {' and '.join(words)}"
        if written := source.written.get(j):
            sentence = f"text that holds dates, {written}; {sentence}"
        if n_missing and not wishes.takes_missing:
            values = impute(values)
            sentence += f"; {missing_sentence(n_missing, source.n_rows, 'the median of each')}"
            if has_indicator(n_missing, source.n_rows) or not np.ptp(values, axis=0).any():
                values, names = np.column_stack([values, is_missing.astype(float)]), [*names, "is missing"]
        varies = np.flatnonzero(
            (np.fmax.reduce(values, axis=0) > np.fmin.reduce(values, axis=0)) | np.isnan(values).any(axis=0)
        )
        columns = [f"{source.names[j]} {names[k]}" for k in varies]
        blocks.append(Block(np.full(varies.size, j), values[:, varies], columns))
        sentences[j] = sentence
    return Part(blocks, sentences, not_ranked)


def _parts(moments: np.ndarray, is_missing: np.ndarray) -> tuple[np.ndarray, list[str], list[str]]:
    """Days since the first, and sine and cosine of the parts of a cycle that vary."""
    first = moments[~is_missing].min()
    days = (moments - first).astype("timedelta64[us]").astype(float) / _MICROSECONDS_PER_DAY
    within_year = moments.astype("datetime64[M]").astype(np.int64) % 12 / 12
    within_week = (
        (moments.astype("datetime64[D]").astype(np.int64) + 3) % 7 / 7
    )  # the first of January 1970: a Thursday
    within_day = (moments - moments.astype("datetime64[D]")).astype(float) / _MICROSECONDS_PER_DAY
    columns, names, words = [days], ["days"], ["days"]
    for name, cycle in (("month", within_year), ("weekday", within_week), ("hour", within_day)):
        seen = cycle[~is_missing]
        if seen.min() < seen.max():
            columns += [np.sin(2 * np.pi * cycle), np.cos(2 * np.pi * cycle)]
            names += [f"{name} (sine)", f"{name} (cosine)"]
            words.append(name)
    values = np.column_stack(columns)
    values[is_missing] = np.nan
    return values, names, words if len(words) == 1 else [words[0], f"{', '.join(words[1:])} (sine and cosine)"]
