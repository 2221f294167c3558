"""A table read in batches of rows, standardized on the way: it may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from tamis.engine import is_dask
from tamis.kernels.arrays.blocks import blocks, map_in_threads
from tamis.kernels.arrays.copies import order_by_values
from tamis.kernels.arrays.scaling import scale_columns
from tamis.kernels.arrays.tolerances import CONSTANT

_AT_ONCE = 2**22  # numbers held at a time while columns are measured
_BATCH = 2**22  # numbers in a batch of a table that is not held at once
_FEWEST = 256  # rows in it
_WIDE = np.finfo(float).max / 8  # differences of larger numbers may overflow
_N_COMPARED_FIRST = 256  # rows on which columns are compared before they are on all


@dataclass(frozen=True)
class StandardizedRows:
    """Rows of the distinct columns of a table that vary, at zero mean and unit variance.

    Columns stand in an order that depends on their values alone, so that what is learned from them does not depend on
    where they stood in the table.

    Attributes
    ----------
    table : ndarray, memory map, CSR matrix or dask array of shape (n_samples, n_features)
    columns : ndarray of shape (n_columns,)
        Columns of the table that are read.
    mean, spread : ndarrays of shape (n_columns,)
        A negative spread changes the sign of a column: its sign in the table must not matter either.
    """

    table: Any
    columns: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns that are read."""
        return self.table.shape[0], self.columns.size

    def read(self, rows: slice, columns: np.ndarray | None = None) -> np.ndarray:
        """Standardized rows as float64, all columns or some of them, given by their place."""
        chosen = slice(None) if columns is None else columns
        values = np.take(read_rows(self.table, rows), self.columns[chosen], axis=1).astype(float)
        values -= self.mean[chosen]
        values /= self.spread[chosen]
        return values


def read_rows(table: Any, rows: slice) -> np.ndarray:
    """Some rows as a dense array, of the table's own precision."""
    part = table[rows]
    if is_dask(part):
        part = part.compute()
    return np.asarray(part.toarray() if sparse.issparse(part) else part)


def contiguous_batches(table: Any, size: int) -> list[slice]:
    """Blocks of rows, one after another; those of a dask array never cross its chunks."""
    ends = np.cumsum(table.chunks[0]) if is_dask(table) else np.array([table.shape[0]])
    return [
        slice(start + part.start, start + part.stop)
        for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
        for part in blocks(end - start, size)
    ]


def rows_per_batch(n_columns: int) -> int:
    """Rows in a batch of a table that is not held at once."""
    return max(_FEWEST, _BATCH // n_columns)


def merge_chunks(table: Any, n_rows: int) -> Any:
    """The dask array in chunks over all columns, of at least so many rows where there are as many."""
    sizes = [0]
    for size in table.chunks[0]:
        if sizes[-1] >= n_rows:
            sizes.append(0)
        sizes[-1] += size
    if len(sizes) > 1 and sizes[-1] < n_rows:
        sizes[-2:] = [sizes[-2] + sizes[-1]]
    return table.rechunk({0: tuple(sizes), 1: -1})


def spread_batches(table: Any, size: int) -> list[slice]:
    """Batches of about ``size`` rows, never a single one, from all over the table, which may be sorted.

    Those of a dask array are equal parts of its chunks.
    """
    if is_dask(table):
        edges = [0]
        for n_rows in table.chunks[0]:
            n_parts = max(1, min(-(-n_rows // size), n_rows // 2))
            edges += [edges[-1] + n_rows * part // n_parts for part in range(1, n_parts + 1)]
        return [slice(start, end) for start, end in pairwise(edges)]
    step = max(1, min(-(-table.shape[0] // size), table.shape[0] // 2))
    return [slice(start, None, step) for start in range(step)]


def batch_at(batches: list[slice], step: int, seed: int) -> slice:
    """The batch of one step: every epoch has an order of its own, which depends on nothing but the seed."""
    epoch, place = divmod(step, len(batches))
    return batches[np.random.RandomState([seed, epoch]).permutation(len(batches))[place]]


def standardize_rows(table: Any, name: Callable[[int], str] = "x{}".format) -> StandardizedRows:
    """Means and spreads of the columns in two passes; without constant columns and copies, in their canonical order.

    Not by :func:`~tamis.kernels.arrays.scaling.measure_columns`, which needs the table in memory: a dask array or a
    memory map is only ever read, and standardized, in batches of rows.
    """
    table = table.tocsr() if sparse.issparse(table) else table
    parts = contiguous_batches(table, max(1, _AT_ONCE // table.shape[1]))
    lowest, highest, mean = _extent(table, parts, name)
    if (wide := np.maximum(np.abs(lowest), np.abs(highest)) > _WIDE).any():
        unit = np.where(wide, 16.0, 1.0)
        return standardize_rows(table / unit if is_dask(table) else scale_columns(table, unit))
    # squares of deviations divided by the largest neither over- nor underflow
    max_deviation = np.maximum(highest - mean, mean - lowest)
    varies = highest > lowest
    sums = map_in_threads(partial(_squares, table, mean, np.where(varies, max_deviation, 1.0)), parts)
    spread = max_deviation * np.sqrt(sum(sums) / table.shape[0])
    columns = np.flatnonzero(varies & (spread > CONSTANT * np.maximum(np.abs(highest), np.abs(lowest))))
    rows = StandardizedRows(table, columns, mean[columns], spread[columns])
    return _sort_distinct_columns(rows, parts)


def _squares(table: Any, mean: np.ndarray, max_deviation: np.ndarray, part: slice) -> np.ndarray:
    block = read_rows(table, part).astype(float)
    block -= mean
    block /= max_deviation
    return np.einsum("ij,ij->j", block, block)


def _extent(table: Any, parts: list[slice], name: Callable[[int], str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smallest and largest value and mean of every column; only dask arrays can still hold what is not finite."""
    lows, highs, means = zip(*map_in_threads(partial(_extent_of, table), parts), strict=True)
    lowest, highest = np.min(lows, axis=0), np.max(highs, axis=0)
    if invalid := np.flatnonzero(~(np.isfinite(lowest) & np.isfinite(highest))).tolist():
        named = ", ".join(f"'{name(j)}'" for j in invalid[:5])
        raise ValueError(f"Input X contains NaN or infinity in columns {named}: impute or drop them first")
    return lowest, highest, np.clip(np.sum(means, axis=0), lowest, highest)


def _extent_of(table: Any, part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    block = read_rows(table, part)
    share = len(block) / table.shape[0]
    lowest, highest = np.min(block, axis=0), np.max(block, axis=0)
    with np.errstate(invalid="ignore", over="ignore"):  # reported by the caller, with the names of the columns
        mean = np.mean(block, axis=0, dtype=float)
        if not np.isfinite(mean).all():
            mean = np.sum(block / float(len(block)), axis=0)
    return lowest.astype(float), highest.astype(float), mean * share


def _sort_distinct_columns(rows: StandardizedRows, parts: list[slice]) -> StandardizedRows:
    """Sort columns by a key that their values define, and drop those that repeat another."""
    head = np.ascontiguousarray(rows.read(slice(0, _N_COMPARED_FIRST)).T.astype(np.float32))
    order, sign, repeats = order_by_values(head)
    for part in parts:
        if not repeats.size:
            break
        ours, theirs = (
            rows.read(part, some).astype(np.float32) * sign[some] for some in (order[repeats], order[repeats - 1])
        )
        repeats = repeats[np.all(ours == theirs, axis=0)]
    kept = np.delete(order, repeats)
    return StandardizedRows(rows.table, rows.columns[kept], rows.mean[kept], (sign * rows.spread)[kept])
