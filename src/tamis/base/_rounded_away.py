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
    found: list[int] = []
    for dtype in ("Int64", "UInt64"):  # apart: together they are floats in numpy
        if nw.dependencies.is_pandas_dataframe(X):  # a million columns, looked at one by one, take seconds
            places = np.flatnonzero((X.dtypes == dtype.lower()).to_numpy())
            block = X.iloc[:, places].to_numpy()
        else:
            frame = nw.from_native(X, eager_only=True)
            places = np.array([j for j, each in enumerate(frame.schema.values()) if str(each) == dtype], dtype=int)
            block = frame[:, places.tolist()].to_numpy() if places.size else np.empty((0, 0))
        found += _places(block, places)
    return sorted(found)


def _places(block: np.ndarray, places: np.ndarray) -> list[int]:
    """Which columns of whole numbers differ, and are the same in double precision."""
    if block.dtype.kind not in "iu" or block.dtype.itemsize < 8 or not block.size:
        return []
    low, high = block.min(axis=0), block.max(axis=0)
    return places[(low != high) & (low.astype(float) == high.astype(float))].tolist()
