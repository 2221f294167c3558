"""Sums of products over blocks of rows, from which means and centered products follow without loss of digits.

With weights ``w`` and a shift ``s`` near the mean, a block of rows ``U`` adds

    total += sum(w),    first += (U - s)' w,    second += (U - s)' diag(w) (U - s),

and with ``d = first / total`` the mean is ``s + d`` and the centered products are ``second - total d d'``. The
difference loses digits only where ``d`` is far larger than the standard deviation, which a second pass mends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks
from tamis.kernels.arrays.tolerances import CONSTANT

# Share of the squares about the shift that must be left about the mean; else three digits are lost, and sums are
# taken again about the mean.
_WELL_SHIFTED = 1e-3

Rows = tuple[tuple[np.ndarray, ...], np.ndarray | None]  # a block of rows of tables side by side, and their weights


@dataclass
class ProductSums:
    """Sums over rows, about a shift; those of parts of the rows can be merged.

    Attributes
    ----------
    shift : ndarray of shape (n_columns,)
    n_rows : int
    total : float
        Sum of the weights.
    first : ndarray of shape (n_columns,)
    second : ndarray of shape (n_columns, n_columns)
    """

    shift: np.ndarray
    n_rows: int
    total: float
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def empty(cls, shift: np.ndarray) -> ProductSums:
        """Sums over no rows."""
        return cls(shift, 0, 0.0, np.zeros(shift.size), np.zeros((shift.size, shift.size)))

    def add(self, block: tuple[np.ndarray, ...], weight: np.ndarray | None) -> None:
        """Add the rows of a block, which may be one of several tables side by side."""
        moved = np.empty((len(block[0]), self.shift.size))
        start = 0
        for table in block:
            columns = slice(start, start + table.shape[1])
            np.subtract(table, self.shift[columns], out=moved[:, columns])
            start = columns.stop
        self.n_rows += len(moved)
        if weight is None:
            self.total += len(moved)
            self.first += moved.sum(axis=0)
        else:
            self.total += float(weight.sum())
            self.first += weight @ moved
            moved *= np.sqrt(weight)[:, None]
        self.second += moved.T @ moved  # one triangle is computed, for both factors are the same

    def merge(self, other: ProductSums) -> ProductSums:
        """Sums over the rows of both, about the shift of this one."""
        step = other.shift - self.shift
        cross = np.outer(step, other.first)
        second = other.second + cross + cross.T + other.total * np.outer(step, step)
        return ProductSums(
            self.shift,
            self.n_rows + other.n_rows,
            self.total + other.total,
            self.first + other.first + other.total * step,
            self.second + second,
        )

    @property
    def mean(self) -> np.ndarray:
        """Weighted mean of every column."""
        return self.shift + self.first / self.total

    def centered(self) -> np.ndarray:
        """Weighted products about the mean."""
        return self.second - np.outer(self.first, self.first) / self.total

    def is_well_shifted(self) -> bool:
        """Whether the shift is near enough to the mean that centered products keep their digits."""
        about_shift, about_mean = np.diagonal(self.second), np.diagonal(self.centered())
        is_constant = about_shift <= CONSTANT**2 * self.total * self.shift**2
        return bool(np.all((about_mean >= _WELL_SHIFTED * about_shift) | is_constant))


def sum_products(
    read: Callable[[], Iterable[Rows]], n_columns: int, *, fit_intercept: bool = True
) -> tuple[np.ndarray, ProductSums]:
    """Means and sums of products over all blocks, in one pass, or two where columns drift far from where they begin.

    Parameters
    ----------
    read : callable
        Gives the blocks of rows; called once for each pass.
    n_columns : int
    fit_intercept : bool, default=True
        False: products are not centered, and the means are zero.

    Returns
    -------
    mean : ndarray of shape (n_columns,)
    sums : ProductSums
        About a shift near the mean, or about zero.
    """
    sums: ProductSums | None = None if fit_intercept else ProductSums.empty(np.zeros(n_columns))
    for block, weight in read():
        if sums is None:
            sums = ProductSums.empty(_mean_of(block, weight))
        sums.add(block, weight)
    if sums is None:
        raise ValueError("there are no rows to sum over")
    if not fit_intercept:
        return np.zeros(n_columns), sums
    if not sums.is_well_shifted():
        again = ProductSums.empty(sums.mean)
        for block, weight in read():
            again.add(block, weight)
        sums = again
    return sums.mean, sums


def sum_products_of_parts(
    read: Callable[[], Iterable[Rows]], part_of_rows: np.ndarray, n_parts: int
) -> list[tuple[np.ndarray, ProductSums]]:
    """Means and sums of products over each of several parts of the rows, in one pass, or one more for those that drift.

    Parameters
    ----------
    read : callable
        Gives the blocks of all rows, in their order; called once for each pass.
    part_of_rows : ndarray of int of shape (n_samples,)
    n_parts : int
    """
    sums: list[ProductSums | None] = [None] * n_parts
    for part, (block, weight) in _split(read(), part_of_rows):
        if (of_part := sums[part]) is None:
            of_part = sums[part] = ProductSums.empty(_mean_of(block, weight))
        of_part.add(block, weight)
    found = []
    for part, of_part in enumerate(sums):
        if of_part is None:
            raise ValueError(f"part {part} has no rows to sum over")
        if not of_part.is_well_shifted():
            again = ProductSums.empty(of_part.mean)
            for block, weight in rows_of_part(read, part_of_rows, part):
                again.add(block, weight)
            of_part = again
        found.append((of_part.mean, of_part))
    return found


def rows_of_part(read: Callable[[], Iterable[Rows]], part_of_rows: np.ndarray, part: int) -> Iterator[Rows]:
    """Blocks of the rows of one part."""
    return (rows for each, rows in _split(read(), part_of_rows) if each == part)


def _split(every: Iterable[Rows], part_of_rows: np.ndarray) -> Iterator[tuple[int, Rows]]:
    """Every block, cut into the parts that it holds rows of."""
    start = 0
    for block, weight in every:
        parts = part_of_rows[start : start + len(block[0])]
        start += len(block[0])
        for part in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == part)
            yield part, (tuple(table[rows] for table in block), None if weight is None else weight[rows])


def _mean_of(block: tuple[np.ndarray, ...], weight: np.ndarray | None) -> np.ndarray:
    if weight is None or weight.sum() == 0:
        return np.concatenate([table.mean(axis=0, dtype=float) for table in block])
    return np.concatenate([weight @ table / weight.sum() for table in block])


def blocks_of_rows(tables: tuple[Any, ...], weight: np.ndarray | None) -> Iterator[Rows]:
    """Blocks of rows of several tables, dense or sparse, of a size that a cache holds; dense in any case."""
    tables = tuple(table.tocsr() if sparse.issparse(table) else table for table in tables)
    n_rows, n_columns = tables[0].shape[0], sum(table.shape[1] for table in tables)
    # as many rows as columns at least: the sums themselves are read and written once for a block
    for rows in blocks(n_rows, max(CACHE_ENTRIES // max(n_columns, 1), n_columns)):
        yield tuple(_dense(table[rows]) for table in tables), None if weight is None else weight[rows]


def _dense(block: Any) -> np.ndarray:
    return block.toarray() if sparse.issparse(block) else block
