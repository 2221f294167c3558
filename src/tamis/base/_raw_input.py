"""What is refused, or read otherwise, before a table or a target is looked at: containers that would mislead."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

_MOST_NAMED = 5


def check_container(values: Any, role: str = "X") -> Any:
    """The same table or target, masked entries of numpy as missing ones; others that cannot be read are refused.

    Parameters
    ----------
    values : table or target of any library
    role : str, default="X"
        What people call it.
    """
    if isinstance(values, np.ma.MaskedArray):
        return _fill_masked(values)
    if nw.dependencies.is_polars_lazyframe(values):
        raise ValueError(f"{role} is a LazyFrame, which holds no rows yet: give {role}.collect()")
    if getattr(values, "requires_grad", False) is True:
        raise ValueError(f"{role} is a tensor that tracks gradients, which a ranking has not: give {role}.detach()")
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {role} holds complex numbers; give their parts as columns")
    if nw.dependencies.is_pandas_dataframe(values):
        _check_names(values, role)
    return values


def _fill_masked(values: Any) -> np.ndarray:
    if not np.ma.is_masked(values):
        return np.asarray(values)
    if values.dtype.kind in "fiub":
        return np.asarray(values.astype(float).filled(np.nan))
    return np.asarray(values.astype(object).filled(None))


def _check_names(frame: Any, role: str) -> None:
    """Refuse columns of one name: no answer by name would say which of them is meant."""
    if frame.columns.is_unique:
        return
    times = {str(name): count for name, count in Counter(frame.columns).items() if count > 1}
    named = ", ".join(f"{count} columns '{name}'" for name, count in list(times.items())[:_MOST_NAMED])
    more = f" and {len(times) - _MOST_NAMED} more such names" if len(times) > _MOST_NAMED else ""
    raise ValueError(f"{role} has {named}{more}: give each column a name of its own")
