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
    return Frame({series.name: _values(series) for series in table})


def to_polars(columns: dict[str, np.ndarray]) -> Any:
    """A polars data frame of the columns."""
    import polars

    return polars.DataFrame(
        {
            name: values.tolist() if values.dtype.kind in "OU" else np.ascontiguousarray(values)
            for name, values in columns.items()
        }
    )


@contextlib.contextmanager
def panics_as_errors(polars: Any) -> Iterator[None]:
    """A damaged file can make polars panic, which is no Exception and would end the program with a traceback."""
    try:
        yield
    except polars.exceptions.PanicException as error:
        raise ValueError("the file is damaged") from error


def _values(series: Any) -> np.ndarray:
    import polars

    dtype = series.dtype
    if series.null_count() == series.len():
        return np.full(series.len(), np.nan)  # whatever type an empty column was given
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        return np.array(series.cast(polars.String).to_list(), dtype=object)
    if dtype.is_decimal() or (dtype == polars.Boolean and series.null_count()):
        return series.cast(polars.Float64).to_numpy()
    if dtype.is_numeric() or dtype == polars.Boolean:
        return series.to_numpy()
    return np.empty(series.len(), dtype="V1")  # dates, lists, ...: refused by name, unless dropped
