"""Blocks of rows where dask has them: tasks are sent to the data, and only what they find comes back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from tamis.engine._row_blocks import Beside, RowBlocks, rows_of

_MERGED_AT_ONCE = 8  # results of tasks that are merged by one further task

T = TypeVar("T")


def is_dask(X: Any) -> bool:
    """Whether it is a collection of dask, which need not be installed."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "compute")


class DaskBlocks(RowBlocks):
    """A dask array or data frame; what is known of it is computed where its partitions are.

    Parameters
    ----------
    X : dask array or data frame
        Of numbers; sizes of chunks that are not known are computed.
    """

    def __init__(self, X: Any) -> None:
        X, self.column_names = as_known_array(X)
        self.array = X.rechunk({1: -1}).astype(_precision(X.dtype), copy=False)
        self.shape, self.dtype = (int(X.shape[0]), int(X.shape[1])), self.array.dtype
        edges = np.cumsum([0, *self.array.chunks[0]]).tolist()
        self._rows = [slice(start, stop) for start, stop in pairwise(edges)]

    def reduce(
        self,
        task: Callable[..., T],
        merge: Callable[[T, T], T],
        *beside: Beside,
        columns: np.ndarray | None = None,
        purpose: str = "rows",
    ) -> T:
        """See :meth:`RowBlocks.reduce`."""
        from dask import delayed

        array = self.array if columns is None else self.array[:, np.asarray(columns)]
        look_at, merge_all = delayed(_look_at, pure=False), delayed(_merge_all, pure=False)
        found = [
            look_at(task, block, rows_of(beside, rows))
            for block, rows in zip(array.to_delayed().ravel(), self._rows, strict=True)
            if rows.stop > rows.start
        ]
        if not found:
            raise ValueError("the table has no rows")
        while len(found) > 1:
            parts = [found[start : start + _MERGED_AT_ONCE] for start in range(0, len(found), _MERGED_AT_ONCE)]
            found = [merge_all(merge, part) for part in parts]
        (result,) = self._watched((each.compute() for each in found), 1, purpose)
        return result

    def head(self, n_rows: int) -> np.ndarray:
        """The first rows."""
        return _dense(self.array[:n_rows].compute())


def _dense(block: Any) -> np.ndarray:
    """A block as an array of numpy; chunks may hold sparse matrices, of which numpy would make a single object."""
    return block.toarray() if sparse.issparse(block) else np.asarray(block)


def _look_at(task: Callable[..., T], block: np.ndarray, beside: list[Any]) -> T:
    return task(_dense(block), *beside)


def _merge_all(merge: Callable[[T, T], T], parts: list[T]) -> T:
    found = parts[0]
    for part in parts[1:]:
        found = merge(found, part)
    return found


def as_known_array(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """A collection of numbers as an array with chunks of known sizes, and the names of its columns if it has any."""
    names = None
    if X.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, but it has {X.ndim} dimension(s)")
    if hasattr(X, "to_dask_array"):
        names = tuple(str(name) for name in X.columns)
        if guilty := [f"'{name}'" for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") not in "biuf"]:
            raise ValueError(f"columns {', '.join(guilty[:5])} of X are not numeric: encode or drop them first")
        X = _array_of_frame(X)
    elif any(np.isnan(X.shape)):
        X = X.compute_chunk_sizes()
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X holds {X.dtype}, not numbers: encode or drop such columns first")
    if X.shape[0] < 2 or X.shape[1] < 1:
        raise ValueError(f"X has {X.shape[0]} rows and {X.shape[1]} columns: at least 2 and 1 are needed")
    return X, names


def _array_of_frame(frame: Any) -> Any:
    """A data frame of numbers as an array whose chunks are its partitions; these are computed once for their lengths.

    Not by ``to_dask_array``: reading may join small partitions, whose lengths are not those that it counts then.
    """
    import dask
    import dask.array as da

    kinds = set(frame.dtypes)
    kind = kinds.pop() if len(kinds) == 1 else None
    dtype = kind if isinstance(kind, np.dtype) else np.dtype(float)  # not one of pandas' own types
    parts = frame.to_delayed()
    lengths = dask.compute(*(dask.delayed(len)(part) for part in parts))
    values = dask.delayed(_values, pure=True)
    shapes = [(length, len(frame.columns)) for length in lengths]
    arrays = [
        da.from_delayed(values(part, list(frame.columns), dtype), shape, dtype)
        for part, shape in zip(parts, shapes, strict=True)
        if shape[0]
    ]
    return da.concatenate(arrays) if arrays else da.zeros((0, len(frame.columns)))


def _values(part: Any, columns: list[Any], dtype: np.dtype) -> np.ndarray:
    """Entries of a partition, whose columns may be in an order of their own."""
    if list(part.columns) != columns:
        part = part[columns]
    return part.to_numpy(dtype=dtype)


def _precision(dtype: np.dtype) -> type:
    return np.float32 if dtype == np.float32 else np.float64
