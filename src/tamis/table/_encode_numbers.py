"""Numbers as they are; missing ones at the median, with an indicator of them beside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tamis.table._encoded import Block, Part, Wishes
from tamis.table._source import Source, constant_in_words, count_missing
from tamis.table._tails import compress_tails, find_heavy_tails

_COMPRESSED = "heavy tails, by the inverse hyperbolic sine of the distance from the median"
LEAST_ROWS = 5  # that an indicator must tell from the others: fewer are single cases, not a pattern
_HOW_READ = {
    "boolean": "boolean, as 0 and 1",
    "duration": "duration, in seconds",
    "time": "time of day, in seconds",
    "text": "text that holds numbers, read as such",
}


def encode_numbers(source: Source, wishes: Wishes) -> Part:
    """Every column that varies; one block for all of them, and one for the indicators."""
    if source.places.size == 0:
        return Part()
    heavy: list[int] = []
    if wishes.layout == "few":  # models of all columns at once, which a few values of one column can spoil
        source, heavy = _with_compressed_tails(source)
    table, places = source.numbers, source.places
    n_missing = count_missing(table)
    low, high = np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)
    is_empty, is_single = n_missing == source.n_rows, low == high
    varies = ~is_empty & (~is_single | (n_missing > 0))
    not_ranked = {
        int(places[i]): "every value is missing" if is_empty[i] else constant_in_words(source, int(places[i]), low[i])
        for i in np.flatnonzero(~varies)
    }
    sentences = {j: _HOW_READ.get(source.read_as.get(j, ""), "number, as it is") for j in places[varies].tolist()}
    sentences |= {j: f"{sentences[j].removesuffix(', as it is')}; {_COMPRESSED}" for j in heavy}
    incomplete = np.flatnonzero(varies & (n_missing > 0))
    kept = np.flatnonzero(varies)
    blocks = [Block(places[kept], table if varies.all() else table[:, kept], [source.names[j] for j in places[kept]])]
    if wishes.takes_missing:
        left = {int(places[i]): _left_missing(sentences[int(places[i])], int(n_missing[i])) for i in incomplete}
        return Part(blocks, sentences | left, not_ranked)
    if incomplete.size:
        blocks, told = _impute(source, kept, incomplete, n_missing)
        sentences |= {j: f"{sentences[j].removesuffix(', as it is')}; {sentence}" for j, sentence in told.items()}
    return Part(blocks, sentences, not_ranked)


def _with_compressed_tails(source: Source) -> tuple[Source, list[int]]:
    """The same columns of numbers, those with heavy tails compressed, and the places of these."""
    tails = find_heavy_tails(source)
    if tails.columns.size == 0:
        return source, []
    table = source.numbers.copy()
    table[:, tails.columns] = compress_tails(table[:, tails.columns], tails)
    return replace(source, numbers=table), source.places[tails.columns].tolist()


def impute(values: np.ndarray) -> np.ndarray:
    """The median of each column where it is missing."""
    is_missing = np.isnan(values)
    return np.where(is_missing, medians(values, is_missing.sum(axis=0)), values)


def medians(values: np.ndarray, n_missing: np.ndarray) -> np.ndarray:
    """Median of what each column holds; sorting puts NaN last."""
    n_filled = values.shape[0] - n_missing
    ordered = np.sort(values, axis=0)
    columns = np.arange(values.shape[1])
    return ordered[(n_filled - 1) // 2, columns] / 2 + ordered[n_filled // 2, columns] / 2  # the sum might overflow


def missing_sentence(n_missing: int, n_rows: int, at: str) -> str:
    """``12 missing values at the median 3.5, with an indicator of them``."""
    told = f"{n_missing} missing value{'s' * (n_missing != 1)} at {at}"
    return f"{told}, with an indicator of them" if has_indicator(n_missing, n_rows) else told


def has_indicator(n_missing: int, n_rows: int) -> bool:
    """Whether enough rows are on both sides."""
    return min(n_missing, n_rows - n_missing) >= LEAST_ROWS


def _left_missing(sentence: str, n_missing: int) -> str:
    return f"{sentence}; {n_missing} missing value{'s' * (n_missing != 1)} left to the ranker"


def _impute(
    source: Source, kept: np.ndarray, incomplete: np.ndarray, n_missing: np.ndarray
) -> tuple[list[Block], dict[int, str]]:
    """The columns that vary with missing values filled in, and the indicators."""
    values = source.numbers[:, incomplete]
    middle = medians(values, n_missing[incomplete])
    is_missing = np.isnan(values)
    filled = source.numbers[:, kept]
    filled = filled if not np.shares_memory(filled, source.numbers) else filled.copy()
    filled[:, np.searchsorted(kept, incomplete)] = np.where(is_missing, middle, values)
    has_two = np.array([has_indicator(int(n_missing[i]), source.n_rows) for i in incomplete])
    # of one value and missing ones the indicator tells all
    is_constant = np.flatnonzero(filled.min(axis=0) == filled.max(axis=0))
    stays = np.setdiff1d(np.arange(kept.size), is_constant)
    places = source.places
    blocks = [Block(places[kept[stays]], filled[:, stays] if is_constant.size else filled, _names(source, kept[stays]))]
    alone = np.isin(incomplete, kept[is_constant])
    wanted = np.flatnonzero(has_two | alone)
    if wanted.size:
        names = [f"{name} is missing" for name in _names(source, incomplete[wanted])]
        blocks.append(Block(places[incomplete[wanted]], is_missing[:, wanted].astype(filled.dtype), names))
    told = {
        int(places[i]): missing_sentence(int(n_missing[i]), source.n_rows, f"the median {middle[k]:g}")
        for k, i in enumerate(incomplete)
    }
    return blocks, told


def _names(source: Source, columns: np.ndarray) -> list[str]:
    return [source.names[j] for j in source.places[columns].tolist()]
