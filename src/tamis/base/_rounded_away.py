"""Columns of whole numbers whose differences double precision does not tell at their size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np


def check_not_rounded_away(X: Any, name_of: Callable[[int], str]) -> None:
    """Refuse an array or a data frame with such a column, which would be taken for a constant one."""
    if guilty := rounded_away(X):
        name = name_of(guilty[0])
        more = f" and {len(guilty) - 1} more" if len(guilty) > 1 else ""
        raise ValueError(
            f"column '{name}'{more} holds different whole numbers, so large that double precision rounds them to a "
            "single one: subtract an offset, such as the smallest, or drop it"
        )


def rounded_away(X: Any) -> list[int]:
    """Places of such columns in an array or a data frame; of other tables none is looked at."""
    if isinstance(X, np.ndarray):
        return _places(X, np.arange(X.shape[1])) if X.ndim == 2 else []
    if not nw.dependencies.is_into_dataframe(X):
        return []
    dtypes = _dtypes(X)
    found: list[int] = []
    for dtype in ("Int64", "UInt64"):  # apart: together they are floats in numpy
        places = np.flatnonzero(dtypes == dtype)
        if places.size:
            found += _places(_block(X, places).to_numpy(), places)
    return sorted(found)


def _dtypes(frame: Any) -> np.ndarray:
    """Types of the columns by name, of a data frame of pandas those of whole numbers alone."""
    if nw.dependencies.is_pandas_dataframe(frame):  # a million columns, looked at one by one, take seconds
        names = {np.dtype("int64"): "Int64", np.dtype("uint64"): "UInt64"}
        return np.array([names.get(dtype, "") for dtype in frame.dtypes.to_list()])
    return np.array([str(dtype) for dtype in nw.from_native(frame, eager_only=True).schema.values()])


def _block(frame: Any, places: np.ndarray) -> Any:
    if nw.dependencies.is_pandas_dataframe(frame):
        return frame.iloc[:, places]
    wrapped = nw.from_native(frame, eager_only=True)
    return wrapped if places.size == len(wrapped.columns) else wrapped[:, places.tolist()]


def _places(block: np.ndarray, places: np.ndarray) -> list[int]:
    """Which columns of whole numbers differ, and are the same in double precision."""
    if block.dtype.kind not in "iu" or block.dtype.itemsize < 8 or not block.size:
        return []
    low, high = block.min(axis=0), block.max(axis=0)
    return places[(low != high) & (low.astype(float) == high.astype(float))].tolist()
