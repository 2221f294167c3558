"""A table that is read in blocks of rows, wherever these are: what is known of it are sums over its rows.

Every pass is a reduction: a task looks at one block of rows, and what it finds is merged with what others found. A
table in memory, files and a collection of dask differ only in where the tasks run.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks, map_in_threads

# Entries of a block of a table in memory: few enough that threads have equal shares, many enough that what a task
# returns, at most a matrix of all pairs of columns, is small beside it.
_BLOCK_ENTRIES = 2**21
_ROWS_PER_COLUMN = 16

MEMORY = 2 * 2**30  # bytes, where nobody says how many

T = TypeVar("T")

# What a task is given of its rows beside the block: entries of an array with one per row, or what a function of the
# rows, as a slice, returns
Beside = np.ndarray | Callable[[slice], Any] | None

# Reports how far a pass is: given the blocks, their number if it is known, and what the pass is for
Watch = Callable[[Iterable[Any], int | None, str], Iterable[Any]]


class RowBlocks(ABC):
    """Rows of numbers that are read block by block.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    dtype : dtype
        float64 or float32: precision of the blocks.
    column_names : tuple of str or None
    memory : int
        Bytes that reading the rows, and what is held of them, may take.
    watch : callable or None
        Wraps the blocks of a pass to report progress.
    """

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype
    column_names: tuple[str, ...] | None = None
    memory: int = MEMORY
    watch: Watch | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def reduce(
        self,
        task: Callable[..., T],
        merge: Callable[[T, T], T],
        *beside: Beside,
        columns: np.ndarray | None = None,
        purpose: str = "rows",
    ) -> T:
        """Merge what a task finds in every block of rows.

        Parameters
        ----------
        task : callable
            ``task(block, *parts)``, with ``block`` an array of some rows, which it must not write to. Where rows are
            on other machines it is sent there, so that it has to be a function of a module or a partial one.
        merge : callable
            Of what two tasks found, the first one's rows before the second one's.
        *beside : ndarray, callable or None
            With one entry per row of the table, of which the task is given those of its rows; or a function of a slice,
            the rows of a block, whose result it is given.
        columns : ndarray of int, default=None
            Columns to read, in this order; None reads all.
        purpose : str
            What the pass is for, in a word or two, for progress bars.
        """

    def sum(
        self,
        task: Callable[..., tuple[np.ndarray, ...]],
        *beside: Beside,
        columns: np.ndarray | None = None,
        purpose: str = "rows",
    ) -> tuple[np.ndarray, ...]:
        """Sums over all blocks of arrays that a task computes of each."""
        return self.reduce(task, add_arrays, *beside, columns=columns, purpose=purpose)

    @abstractmethod
    def head(self, n_rows: int) -> np.ndarray:
        """The first rows."""

    def take_rows(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Some rows, given in ascending order, in one pass."""
        beside = partial(places_within, np.asarray(rows))
        return stack_rows(self.reduce(_rows_at, operator.iadd, beside, columns=columns, purpose="row sample"))

    def _watched(self, parts: Iterable[T], total: int | None, purpose: str) -> Iterable[T]:
        return parts if self.watch is None else self.watch(parts, total, purpose)


class LocalBlocks(RowBlocks):
    """Blocks that this process reads, one after the other."""

    @abstractmethod
    def _read(self, columns: np.ndarray | None) -> Iterator[np.ndarray]:
        """All blocks, in the order of the rows."""

    def _n_blocks(self) -> int | None:
        return None

    def reduce(
        self,
        task: Callable[..., T],
        merge: Callable[[T, T], T],
        *beside: Beside,
        columns: np.ndarray | None = None,
        purpose: str = "rows",
    ) -> T:
        """See :meth:`RowBlocks.reduce`."""
        found: T | None = None
        start = 0
        for block in self._watched(self._read(columns), self._n_blocks(), purpose):
            rows = slice(start, start + len(block))
            result = task(block, *rows_of(beside, rows))
            found = result if found is None else merge(found, result)
            start = rows.stop
        if found is None:
            raise ValueError("the table has no rows")
        if start != len(self):
            raise ValueError(f"the blocks hold {start} rows, but the table says that it has {len(self)}")
        return found

    def head(self, n_rows: int) -> np.ndarray:
        """The first rows."""
        parts, n_read = [], 0
        for block in self._read(None):
            parts.append(block[: n_rows - n_read])
            n_read += len(parts[-1])
            if n_read >= n_rows:
                break
        return np.concatenate(parts)


class ArrayBlocks(RowBlocks):
    """A table in memory, or a memory map of one, shared out among threads; blocks of a sparse one are made dense.

    Parameters
    ----------
    table : ndarray or sparse array of shape (n_rows, n_columns)
    """

    def __init__(self, table: Any) -> None:
        self.table = table.tocsr() if sparse.issparse(table) else table
        self.shape = (table.shape[0], table.shape[1])
        self.dtype = table.dtype

    def reduce(
        self,
        task: Callable[..., T],
        merge: Callable[[T, T], T],
        *beside: Beside,
        columns: np.ndarray | None = None,
        purpose: str = "rows",
    ) -> T:
        """See :meth:`RowBlocks.reduce`."""

        def look_at(rows: slice) -> T:
            block = self.table[rows]
            block = block.toarray() if sparse.issparse(block) else block
            return task(block if columns is None else np.take(block, columns, axis=1), *rows_of(beside, rows))

        n_columns = self.shape[1] if columns is None else len(columns)
        height = max(_BLOCK_ENTRIES // max(n_columns, 1), _ROWS_PER_COLUMN * n_columns)
        found: T | None = None
        for result in map_in_threads(look_at, list(blocks(len(self), height))):
            found = result if found is None else merge(found, result)
        if found is None:
            raise ValueError("the table has no rows")
        return found

    def head(self, n_rows: int) -> np.ndarray:
        """The first rows."""
        head = self.table[:n_rows]
        return head.toarray() if sparse.issparse(head) else head


def as_row_blocks(table: Any) -> RowBlocks:
    """A table in memory, or one that is read in blocks already, as blocks of rows."""
    return table if isinstance(table, RowBlocks) else ArrayBlocks(table)


class BlankedBlocks(RowBlocks):
    """The same rows with zeros in some columns: those that are not to be ranked.

    Parameters
    ----------
    source : RowBlocks
    columns : ndarray of int
        Those that hold zeros.
    """

    def __init__(self, source: RowBlocks, columns: np.ndarray) -> None:
        self.source = source
        self.shape, self.dtype, self.column_names = source.shape, source.dtype, source.column_names
        self.memory = source.memory
        self.is_kept = np.ones(source.shape[1], dtype=bool)
        self.is_kept[columns] = False

    def reduce(
        self,
        task: Callable[..., T],
        merge: Callable[[T, T], T],
        *beside: Beside,
        columns: np.ndarray | None = None,
        purpose: str = "rows",
    ) -> T:
        """See :meth:`RowBlocks.reduce`."""
        kept = self.is_kept if columns is None else self.is_kept[columns]
        return self.source.reduce(_Blanked(task, kept), merge, *beside, columns=columns, purpose=purpose)

    def head(self, n_rows: int) -> np.ndarray:
        """The first rows."""
        return _blanked(self.source.head(n_rows), self.is_kept)


class _Blanked:
    """A task that sees zeros in some columns."""

    def __init__(self, task: Callable[..., Any], is_kept: np.ndarray) -> None:
        self.task, self.is_kept = task, is_kept

    def __call__(self, block: np.ndarray, *beside: Any) -> Any:
        return self.task(_blanked(block, self.is_kept), *beside)


def _blanked(block: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
    return np.where(is_kept, block, block.dtype.type(0))  # where a product would leave NaN


def rows_of(beside: Sequence[Beside], rows: slice) -> list[Any]:
    """What tasks are given of some rows."""
    return [each(rows) if callable(each) else None if each is None else each[rows] for each in beside]


def add_arrays(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Sums of arrays, place by place."""
    return tuple(map(operator.add, first, second))


def concatenate_rows(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rows below each other."""
    return np.concatenate([first, second])


def places_within(rows: np.ndarray, block: slice) -> np.ndarray:
    """Places within a block of those of the given rows, in ascending order, that it holds."""
    first, last = np.searchsorted(rows, [block.start, block.stop])
    return rows[first:last] - block.start


def stack_rows(parts: list[np.ndarray]) -> np.ndarray:
    """Rows of all parts below each other, one after the other in memory; joined once, for they may be many."""
    table = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=parts[0].dtype)
    return np.concatenate(parts, out=table)


def _rows_at(block: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
    return [block[places]]
