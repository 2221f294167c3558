"""Between polars and named numpy columns; polars comes with the extra ``cli``."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.cli._frame import Frame


def require_polars(purpose: str) -> Any:
    """Import polars, or say what needs it and how to get it."""
    try:
        return importlib.import_module("polars")
    except ImportError as error:
        raise ImportError(f"{purpose} needs polars; install it with: pip install 'tamis[cli]'") from error


def from_polars(table: Any) -> Frame:
    """Columns of a polars data frame."""
    return Frame(
        {series.name: _values(series) for series in table},
        originals={series.name: series for series in table if not _is_plain(series)},
    )


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
        yield
    except polars.exceptions.PanicException as error:
        raise ValueError("the file is damaged") from error


def _is_plain(series: Any) -> bool:
    """Whether an array says all that the series does."""
    import polars

    dtype = series.dtype
    is_array_like = dtype.is_float() or dtype == polars.Boolean or (dtype.is_integer() and dtype != polars.Int128)
    return is_array_like and series.null_count() == 0


def _values(series: Any) -> np.ndarray:
    import polars

    dtype = series.dtype
    if series.null_count() == series.len():
        return np.full(series.len(), np.nan)  # whatever type an empty column was given
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        return np.array(series.cast(polars.String).to_list(), dtype=object)
    if dtype == polars.Boolean and series.null_count():
        return np.array(series.to_list(), dtype=object)
    if dtype in (polars.Date, polars.Datetime):  # a time of a zone as that in UTC
        return series.to_numpy()
    if dtype.is_decimal() or dtype == polars.Int128:
        return series.cast(polars.Float64).to_numpy()
    if dtype.is_numeric() or dtype == polars.Boolean:
        return series.to_numpy()
    return np.empty(series.len(), dtype="V1")  # lists, durations, ...: refused by name, unless dropped
