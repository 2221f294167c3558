"""Columns of files that memory need not hold, as blocks of numbers: what a first pass tells is enough to encode them.

A number stays one, with the mean in the place of missing values and an indicator of them beside; booleans are 0 and 1,
dates days since 1970, and text of few levels is one-hot. What one pass over rows in any order cannot encode, such as
text of many levels, is not ranked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tamis.engine import DaskBlocks, FileTable, LocalBlocks, read_ahead, to_numpy
from tamis.table._encode_levels import MOST_LEVELS
from tamis.table._encoded import Encoded
from tamis.table._source import Source

_DAY = 86_400e6  # microseconds
_LARGEST_WHOLE = 2.0**53  # up to which double precision holds all whole numbers


@dataclass
class ColumnProfile:
    """What one pass over the rows tells of a column.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "date", "text", "other"}
    n_rows, n_missing : int
    total, lowest, highest : float
        Sum and extent of the numbers.
    levels : Counter
        Rows of every level of text, as long as there are few.
    """

    name: str
    kind: str
    n_rows: int = 0
    n_missing: int = 0
    total: float = 0.0
    lowest: float = np.inf
    highest: float = -np.inf
    levels: Counter = field(default_factory=Counter)

    def add(self, column: Any) -> None:
        """Look at further rows, an Arrow column."""
        self.n_rows += len(column)
        if self.kind == "text":
            if len(self.words) <= MOST_LEVELS:
                counts = column.value_counts()
                self.levels.update(
                    dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
                )
            self.n_missing += column.null_count
            return
        if self.kind == "other":
            return
        known = _numbers(column, self.kind)
        with np.errstate(over="ignore", invalid="ignore"):  # of which the extent tells
            has_missing = bool(np.isnan(known.sum()))
        if has_missing:
            is_missing = np.isnan(known)
            self.n_missing += int(is_missing.sum())
            known = known[~is_missing]
        if known.size:
            with np.errstate(over="ignore", invalid="ignore"):
                self.total += float(known.sum(dtype=float))
            self.lowest = min(self.lowest, float(known.min()))
            self.highest = max(self.highest, float(known.max()))

    @property
    def mean(self) -> float:
        """Of the numbers that are there."""
        return self.total / max(self.n_rows - self.n_missing, 1)

    @property
    def words(self) -> list[str]:
        """Levels of text, the most frequent first."""
        found = [(word, count) for word, count in self.levels.items() if word is not None]
        return [word for word, _ in sorted(found, key=lambda each: (-each[1], each[0]))]

    @property
    def is_infinite(self) -> bool:
        """Whether any number is."""
        return (
            self.n_missing < self.n_rows and self.highest >= self.lowest and not np.isfinite(self.lowest + self.highest)
        )

    def cause_not_ranked(self) -> str:
        """Why the column cannot be ranked; empty where it can."""
        if self.kind == "other":
            return "neither numbers nor text nor dates"
        if self.n_missing == self.n_rows:
            return "no value in any row"
        if self.kind == "text":
            if len(self.words) > MOST_LEVELS:
                return f"text of more than {MOST_LEVELS} levels, which needs the rows in memory"
            return f"constant ({self.words[0]!r} in every row)" if len(self.levels) == 1 else ""
        if self.lowest == self.highest and not self.n_missing:
            if abs(self.lowest) >= _LARGEST_WHOLE:
                return f"{self.lowest:g} in every row once rounded: where rows differ by less, subtract an offset"
            return f"constant ({self.lowest:g} in every row)"
        return ""


@dataclass(frozen=True)
class ColumnEncoder:
    """How a column becomes numbers.

    Attributes
    ----------
    name, kind : str
    names : list of str
        Of the encoded columns.
    sentence : str
        What is done, in words.
    fill : float or None
        In the place of missing numbers, with an indicator beside; None where none is missing.
    levels : list
        Of text, with None for missing ones where there are any; one column for each.
    """

    name: str
    kind: str
    names: list[str]
    sentence: str
    fill: float | None = None
    levels: list[Any] = field(default_factory=list)

    def encode(self, column: Any) -> list[np.ndarray]:
        """The encoded columns of some rows."""
        if self.kind == "text":
            codes = _level_codes(column, self.levels)
            return [codes == code for code in range(len(self.levels))]
        values = _numbers(column, self.kind)
        if self.fill is None:
            return [values]
        is_missing = np.isnan(values)
        return [np.where(is_missing, self.fill, values), is_missing]


class EncodedBlocks(LocalBlocks):
    """Encoded columns of files, read in blocks of rows.

    Parameters
    ----------
    files : FileTable
    encoders : sequence of ColumnEncoder
    """

    def __init__(self, files: FileTable, encoders: Sequence[ColumnEncoder]) -> None:
        self.files, self.encoders = files, list(encoders)
        self.column_names = tuple(name for encoder in encoders for name in encoder.names)
        self.shape = (files.n_rows, len(self.column_names))
        self.dtype, self.memory = np.dtype(np.float64), files.memory
        starts = np.cumsum([0, *(len(encoder.names) for encoder in encoders)])
        self._places = [np.arange(start, stop) for start, stop in pairwise(starts)]

    def _n_blocks(self) -> int:
        return -(-len(self) // self.files.rows_per_block(self.shape[1]))

    def _read(self, columns: np.ndarray | None) -> Iterator[np.ndarray]:
        wanted = np.arange(self.shape[1]) if columns is None else np.asarray(columns)
        used = [
            (encoder, places)
            for encoder, places in zip(self.encoders, self._places, strict=True)
            if np.isin(places, wanted).any()
        ]
        names = [encoder.name for encoder, _ in used]
        batches = self.files.batches(names, self.files.rows_per_block(self.shape[1]))
        return read_ahead(self._block(batch, used, wanted) for batch in batches if batch.num_rows)

    def _block(self, batch: Any, used: Sequence[tuple[ColumnEncoder, np.ndarray]], wanted: np.ndarray) -> np.ndarray:
        block = np.empty((batch.num_rows, wanted.size), order="F")
        for encoder, places in used:
            encoded = encoder.encode(batch.column(encoder.name))
            for place, values in zip(places.tolist(), encoded, strict=True):
                block[:, wanted == place] = values[:, None]
        return block


def profile_columns(files: FileTable) -> list[ColumnProfile]:
    """Look at all columns in one pass."""
    profiles = [ColumnProfile(name, files.kind(name)) for name in files.column_names]
    rows = files.rows_per_block(len(profiles))
    for batch in read_ahead(files.watched(files.batches(files.column_names, rows), "columns")):
        for profile in profiles:
            profile.add(batch.column(profile.name))
    files.count([profiles[0].n_rows])
    return profiles


def encode_files(files: FileTable, *, refuse_missing: bool) -> tuple[Source, Encoded]:
    """Columns of files as blocks of numbers, with where these come from.

    Parameters
    ----------
    files : FileTable
    refuse_missing : bool
        Raise where a value is missing.
    """
    profiles = profile_columns(files)
    if refuse_missing and (guilty := [each for each in profiles if each.n_missing]):
        told = ", ".join(f"'{each.name}' ({each.n_missing})" for each in guilty[:5])
        raise ValueError(f"X has missing values in {told}; use missing='impute', or fill or drop them first")
    if infinite := [each for each in profiles if each.is_infinite]:
        raise ValueError(f"column '{infinite[0].name}' holds infinite values; replace or drop them first")
    not_ranked = {place: cause for place, each in enumerate(profiles) if (cause := each.cause_not_ranked())}
    encoders = {place: _encoder(each) for place, each in enumerate(profiles) if place not in not_ranked}
    blocks = EncodedBlocks(files, list(encoders.values()))
    source = Source(list(files.column_names), files.n_rows, np.empty(0, dtype=int), np.empty((files.n_rows, 0)))
    return source, Encoded(
        blocks,
        list(blocks.column_names or ()),
        np.array([place for place, encoder in encoders.items() for _ in encoder.names], dtype=int),
        {place: encoder.sentence for place, encoder in encoders.items()},
        not_ranked,
        np.zeros(blocks.shape[1], dtype=bool),
    )


def encode_dask(X: Any) -> tuple[Source, Encoded]:
    """Columns of numbers of a dask collection, which stay where its partitions are, with where these come from."""
    blocks = DaskBlocks(X)
    n_rows, n_columns = blocks.shape
    names = [f"x{j}" for j in range(n_columns)] if blocks.column_names is None else list(blocks.column_names)
    source = Source(names, n_rows, np.empty(0, dtype=int), np.empty((n_rows, 0)))
    places, nothing = np.arange(n_columns), np.zeros(n_columns, dtype=bool)
    return source, Encoded(blocks, names, places, dict.fromkeys(range(n_columns), "as it is"), {}, nothing)


def _encoder(profile: ColumnProfile) -> ColumnEncoder:
    name, kind = profile.name, profile.kind
    if kind == "text":
        levels = [*profile.words, *([None] if profile.n_missing else [])]
        names = [f"{name}={'missing' if level is None else level}" for level in levels]
        missing = ", missing among them," if profile.n_missing else ""
        return ColumnEncoder(name, kind, names, f"{len(levels)} levels{missing} one-hot", levels=levels)
    sentence = {"number": "as it is", "boolean": "boolean as 0 and 1", "date": "days since 1970"}[kind]
    if not profile.n_missing:
        return ColumnEncoder(name, kind, [name], sentence)
    count = f"{profile.n_missing} missing value{'s' * (profile.n_missing != 1)}"
    sentence = f"{count} at the mean {profile.mean:.4g}, with an indicator of them"
    return ColumnEncoder(name, kind, [name, f"{name} is missing"], sentence, fill=profile.mean)


def _level_codes(column: Any, levels: Sequence[Any]) -> np.ndarray:
    """Place of the level of every row of an Arrow column of text."""
    encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    words = [*encoded.dictionary.to_pylist(), None]
    place = {level: code for code, level in enumerate(levels)}
    codes = np.array([place.get(word, -1) for word in words])
    return codes[encoded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)]


def _numbers(column: Any, kind: str) -> np.ndarray:
    """An Arrow column of numbers, booleans or dates in double precision, NaN where a value is missing."""
    if kind != "date":
        return to_numpy(column).astype(float, copy=False)
    moments = column.to_numpy(zero_copy_only=False).astype("datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / _DAY)
