"""The target as it comes with a table: numbers or labels, one per row."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from tamis.base._raw_input import check_container
from tamis.base._target_values import check_target_values
from tamis.base._validation import check_one_per_row
from tamis.kernels.arrays.targets import as_quantities, encode_target
from tamis.table._values import is_missing


def read_target(y: Any, n_rows: int) -> np.ndarray | None:
    """A target of any library as a numpy array: numbers, booleans or labels; none may be missing or infinite."""
    if y is None:
        return None
    values = _to_array(y)
    check_one_per_row(values, n_rows)
    if values.dtype.kind == "O":
        n_missing = sum(map(is_missing, values.ravel().tolist()))
    else:
        n_missing = int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0
    if n_missing:
        raise ValueError(f"Input y contains NaN or no label in {n_missing} of {n_rows} rows; drop those rows first")
    if values.dtype.kind == "f" and np.isinf(values).any():
        n_infinite = int(np.isinf(values).sum())
        raise ValueError(f"Input y contains infinity in {n_infinite} of {n_rows} rows; drop those rows first")
    values = check_target_values(values)
    is_text = values.dtype.kind == "O" and values.ndim == 1 and isinstance(values[0], str)
    return values.astype(str) if is_text else values


def target_columns(y: np.ndarray, task: str) -> np.ndarray:
    """What levels are encoded by: the quantities, or indicators of the classes."""
    if y.ndim == 2 and y.shape[1] > 1:
        return as_quantities(y)
    return encode_target(y.ravel(), task).values


def _to_array(y: Any) -> np.ndarray:
    y = check_container(y, "y")
    if nw.dependencies.is_into_dataframe(y):
        return np.column_stack([_to_array(column) for column in nw.from_native(y, eager_only=True).iter_columns()])
    if isinstance(y, nw.Series):
        return np.array(y.to_list()) if not y.null_count() else _objects(y.to_list())
    if nw.dependencies.is_into_series(y):
        series = nw.from_native(y, series_only=True)
        if series.dtype.is_integer() or series.dtype.is_float():
            return series.to_numpy()
        return _objects(series.to_list())
    return np.asarray(y)


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
