"""Between polars and named numpy columns; polars comes with the extra ``cli``."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.cli._frame import Frame
from tamis.cli._memory import UNLIMITED, Budget

_STANDARD_ERROR = 2
_BYTES_PER_TEXT = 64  # of one that is an object, beside its letters
_BYTES_PER_LETTER = 4  # at most, where one of them is no ASCII
_ROWS_PER_TEXT = 2  # from which on it pays to look for equal cells


def require_polars(purpose: str) -> Any:
    """Import polars, or say what needs it and how to get it."""
    try:
        return importlib.import_module("polars")
    except ImportError as error:
        raise ImportError(f"{purpose} needs polars; install it with: pip install 'tamis[cli]'") from error


def from_polars(table: Any, budget: Budget = UNLIMITED) -> Frame:
    """Columns of a polars data frame; numbers without holes need no original beside them."""
    plain = _plain_types()
    columns: dict[str, np.ndarray] = {}
    originals: dict[str, Any] = {}
    for series, dtype, n_null in zip(table, table.dtypes, null_counts(table), strict=True):
        if n_null == 0 and type(dtype) in plain:
            columns[series.name] = series.to_numpy()
        else:
            columns[series.name] = _values(series, budget)
            originals[series.name] = series
    return Frame(columns, originals=originals)


def null_counts(table: Any) -> tuple[int, ...]:
    """Missing values of each column."""
    return table.null_count().row(0)


def _plain_types() -> frozenset[type]:
    """Types of which an array says all that a series does."""
    import polars as pl

    whole = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    return frozenset((pl.Float32, pl.Float64, pl.Boolean, *whole))


def to_polars(columns: dict[str, Any]) -> Any:
    """A polars data frame of the columns, which are arrays or polars series."""
    import polars

    return polars.DataFrame({name: _as_series(values) for name, values in columns.items()})


def _as_series(values: Any) -> Any:
    if not isinstance(values, np.ndarray):
        return values
    return values.tolist() if values.dtype.kind in "OU" else np.ascontiguousarray(values)


@contextlib.contextmanager
def panics_as_errors(polars: Any) -> Iterator[None]:
    """A damaged file can make polars panic, which is no Exception and would end the program with a traceback."""
    try:
        with _standard_error_put_aside():
            yield
    except polars.exceptions.PanicException as error:
        raise ValueError("the file is damaged") from error


@contextlib.contextmanager
def _standard_error_put_aside() -> Iterator[None]:
    """A panic prints where it happened, from a thread of its own, whatever becomes of it."""
    try:
        kept, nowhere = os.dup(_STANDARD_ERROR), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # closed already
        yield
        return
    os.dup2(nowhere, _STANDARD_ERROR)
    try:
        yield
    finally:
        os.dup2(kept, _STANDARD_ERROR)
        os.close(kept)
        os.close(nowhere)


def _values(series: Any, budget: Budget) -> np.ndarray:
    import polars

    dtype = series.dtype
    if series.null_count() == series.len():
        return np.full(series.len(), np.nan)  # whatever type an empty column was given
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        return _text(series, budget)
    if dtype == polars.Boolean and series.null_count():
        return np.array(series.to_list(), dtype=object)
    if dtype in (polars.Date, polars.Datetime):  # a time of a zone as that in UTC
        return series.to_numpy()
    if dtype.is_decimal() or dtype == polars.Int128:
        return series.cast(polars.Float64).to_numpy()
    if dtype.is_numeric() or dtype == polars.Boolean:
        return series.to_numpy()
    return np.empty(series.len(), dtype="V1")  # lists, durations, ...: refused by name, unless dropped


def _text(series: Any, budget: Budget) -> np.ndarray:
    """Objects of text; cells that are equal share one, as they do in a file that lists its texts once.

    Categories are told apart by their codes: to spell them out row by row could take thousands of times the file.
    """
    import polars

    distinct = series.drop_nulls().unique()
    keys, known, texts = series, distinct, distinct
    if series.dtype != polars.String:
        keys, known, texts = series.to_physical(), distinct.to_physical(), distinct.cast(polars.String)
    n_letters = _n_letters(texts)
    needed = (
        _BYTES_PER_LETTER * n_letters if n_letters > int(texts.str.len_chars().cast(polars.Int64).sum()) else n_letters
    )
    budget.check(needed + _BYTES_PER_TEXT * texts.len() + 8 * series.len(), f"the text of column '{series.name}'")
    if keys is series and texts.len() > series.len() / _ROWS_PER_TEXT and _n_letters(series) <= 2 * n_letters:
        return np.array(series.to_list(), dtype=object)
    order = known.arg_sort()
    objects = np.array([*texts.gather(order).to_list(), None], dtype=object)
    place = known.gather(order).search_sorted(keys).to_numpy()
    return objects[np.where(series.is_null().to_numpy(), texts.len(), place)]


def _n_letters(texts: Any) -> int:
    """Bytes of all texts, which a sum of 32 bits would not hold."""
    import polars

    return int(texts.str.len_bytes().cast(polars.Int64).sum())
