"""Sums of products over blocks of rows, from which means and centered products follow without loss of digits.

With weights ``w`` and a shift ``s`` near the mean, a block of rows ``U`` adds

    total += sum(w),    first += (U - s)' w,    second += (U - s)' diag(w) (U - s),

and with ``d = first / total`` the mean is ``s + d`` and the centered products are ``second - total d d'``. The
difference loses digits only where ``d`` is far larger than the standard deviation, which a second pass mends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tamis.engine._finite import check_sums_are_finite
from tamis.engine._row_blocks import RowBlocks
from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks
from tamis.kernels.arrays.tolerances import CONSTANT

# Share of the squares about the shift that must be left about the mean; else three digits are lost, and sums are
# taken again about the mean.
_WELL_SHIFTED = 1e-3
_HEAD_ROWS = 8192  # whose mean is the first shift


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
    powers : ndarray of shape (2, n_columns) or None
        Sums of third and fourth powers, where they are asked for.
    """

    shift: np.ndarray
    n_rows: int
    total: float
    first: np.ndarray
    second: np.ndarray
    powers: np.ndarray | None = None

    @classmethod
    def empty(cls, shift: np.ndarray, *, with_powers: bool = False) -> ProductSums:
        """Sums over no rows."""
        powers = np.zeros((2, shift.size)) if with_powers else None
        return cls(shift, 0, 0.0, np.zeros(shift.size), np.zeros((shift.size, shift.size)), powers)

    @np.errstate(over="ignore", invalid="ignore")  # sums that are not finite are refused once all rows are there
    def add(self, block: tuple[np.ndarray, ...], weight: np.ndarray | None) -> None:
        """Add the rows of a block, which may be one of several tables side by side."""
        by_column = block[0].strides[0] < block[0].strides[1]  # files hold columns, and memory mostly rows
        moved = np.empty((len(block[0]), self.shift.size), order="F" if by_column else "C")
        start = 0
        for table in block:
            columns = slice(start, start + table.shape[1])
            np.subtract(table, self.shift[columns], out=moved[:, columns])
            start = columns.stop
        self.n_rows += len(moved)
        if self.powers is not None:
            self.powers += _powers(moved, weight)
        if weight is None:
            self.total += len(moved)
            self.first += moved.sum(axis=0)
        else:
            self.total += float(weight.sum())
            self.first += weight @ moved
            moved *= np.sqrt(weight)[:, None]
        self.second += moved.T @ moved  # one triangle is computed, for both factors are the same

    @np.errstate(over="ignore", invalid="ignore")
    def merge(self, other: ProductSums) -> ProductSums:
        """Sums over the rows of both, about the shift of this one; powers only of sums about the same shift."""
        n_rows, total = self.n_rows + other.n_rows, self.total + other.total
        step = other.shift - self.shift
        if not step.any():
            powers = None if self.powers is None or other.powers is None else self.powers + other.powers
            return ProductSums(self.shift, n_rows, total, self.first + other.first, self.second + other.second, powers)
        cross = np.outer(step, other.first)
        second = self.second + other.second + cross + cross.T + other.total * np.outer(step, step)
        return ProductSums(self.shift, n_rows, total, self.first + other.first + other.total * step, second)

    @property
    def mean(self) -> np.ndarray:
        """Weighted mean of every column."""
        return self.shift + self.first / self.total

    def centered(self) -> np.ndarray:
        """Weighted products about the mean."""
        return self.second - np.outer(self.first, self.first) / self.total

    @np.errstate(over="ignore", invalid="ignore")
    def is_well_shifted(self) -> bool:
        """Whether the shift is near enough to the mean that centered products keep their digits."""
        about_shift, about_mean = np.diagonal(self.second), np.diagonal(self.centered())
        is_constant = about_shift <= CONSTANT**2 * self.total * self.shift**2
        return bool(np.all((about_mean >= _WELL_SHIFTED * about_shift) | is_constant))

    def shapes(self, *, about_mean: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis of every column, from its powers about the shift; 0 for constant ones.

        ``about_mean=False``: third and fourth moments about the shift, in units of the second.
        """
        if self.powers is None:
            raise ValueError("powers were not summed")
        d, s2 = self.first / self.total, np.diagonal(self.second) / self.total
        s3, s4 = self.powers / self.total
        if not about_mean:
            d = np.zeros_like(d)
        variance = np.maximum(s2 - d**2, 0.0)
        third = s3 - 3 * d * s2 + 2 * d**3
        fourth = s4 - 4 * d * s3 + 6 * d**2 * s2 - 3 * d**4
        unit = np.where(variance > 0, variance, 1.0)
        varies = variance > CONSTANT**2 * self.shift**2
        return np.where(varies, third / unit**1.5, 0.0), np.where(varies, fourth / unit**2 - 3.0, 0.0)


def _powers(moved: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Weighted sums of third and fourth powers of every column."""
    square = moved * moved
    if weight is None:
        return np.stack([np.einsum("ij,ij->j", square, moved), np.einsum("ij,ij->j", square, square)])
    return np.stack([weight @ (square * moved), weight @ (square * square)])


def sum_products(
    table: RowBlocks,
    values: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    *,
    fit_intercept: bool = True,
    with_powers: bool = False,
) -> tuple[np.ndarray, ProductSums]:
    """Means and sums of products of all columns, in one pass, or two where they drift far from where they begin.

    Parameters
    ----------
    table : RowBlocks
    values : ndarray of shape (n_rows, n_targets), default=None
        Further columns, beside those of the table.
    weight : ndarray of shape (n_rows,), default=None
    fit_intercept : bool, default=True
        False: products are not centered, and the means are zero.
    with_powers : bool, default=False
        Sum third and fourth powers, too.

    Returns
    -------
    mean : ndarray of shape (n_columns,)
    sums : ProductSums
        About a shift near the mean, or about zero.
    """

    def about(shift: np.ndarray) -> ProductSums:
        task = partial(products_of_block, shift, with_powers)
        sums = table.reduce(task, ProductSums.merge, values, weight, purpose="sums of products")
        check_sums_are_finite(table, sums.second[: table.shape[1]])
        return sums

    if not fit_intercept:
        n_columns = table.shape[1] + (0 if values is None else values.shape[1])
        return np.zeros(n_columns), about(np.zeros(n_columns))
    sums = about(mean_of_head(table, values))
    if not sums.is_well_shifted():
        sums = about(sums.mean)
    return sums.mean, sums


def sum_products_of_parts(
    table: RowBlocks, values: np.ndarray, weight: np.ndarray | None, part_of_rows: np.ndarray, n_parts: int
) -> list[tuple[np.ndarray, ProductSums]]:
    """Means and sums of products over each of several parts of the rows, in one pass, or two where any drifts.

    Parameters
    ----------
    table : RowBlocks
    values : ndarray of shape (n_rows, n_targets)
    weight : ndarray of shape (n_rows,) or None
    part_of_rows : ndarray of int of shape (n_rows,)
    n_parts : int
    """

    def about(shifts: np.ndarray) -> list[ProductSums]:
        task = partial(_products_of_parts, shifts)
        sums = table.reduce(task, _merge_parts, values, weight, part_of_rows, purpose="sums of folds")
        check_sums_are_finite(table, np.array([part.first[: table.shape[1]] for part in sums]))
        return sums

    sums = about(np.tile(mean_of_head(table, values), (n_parts, 1)))
    if empty := [part for part, of_part in enumerate(sums) if of_part.n_rows == 0]:
        raise ValueError(f"part {empty[0]} has no rows to sum over")
    if not all(of_part.is_well_shifted() for of_part in sums):
        sums = about(np.array([of_part.mean for of_part in sums]))
    return [(of_part.mean, of_part) for of_part in sums]


def _products_of_parts(
    shifts: np.ndarray, block: np.ndarray, values: np.ndarray, weight: np.ndarray | None, part_of_rows: np.ndarray
) -> list[ProductSums]:
    """Sums over the rows of every part in one block."""
    found = []
    for part, shift in enumerate(shifts):
        rows = np.flatnonzero(part_of_rows == part)
        own_weight = None if weight is None else weight[rows]
        found.append(products_of_block(shift, False, block[rows], values[rows], own_weight))
    return found


def _merge_parts(first: list[ProductSums], second: list[ProductSums]) -> list[ProductSums]:
    return [one.merge(other) for one, other in zip(first, second, strict=True)]


def mean_of_head(table: RowBlocks, values: np.ndarray | None) -> np.ndarray:
    """Means of the first rows: a shift for sums over all rows, near their mean unless rows are sorted."""
    head = table.head(_HEAD_ROWS)
    parts: list[Any] = [head] if values is None else [head, values[: len(head)]]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.concatenate([part.mean(axis=0, dtype=float) for part in parts])
    return np.where(np.isfinite(mean), mean, 0.0)  # what is not finite is refused after the pass


def products_of_block(
    shift: np.ndarray, with_powers: bool, block: np.ndarray, values: np.ndarray | None, weight: np.ndarray | None
) -> ProductSums:
    """Sums over one block of rows, in pieces that a cache holds."""
    sums = ProductSums.empty(shift, with_powers=with_powers)
    # as many rows as columns at least: the sums themselves are read and written once for a piece
    for rows in blocks(len(block), max(CACHE_ENTRIES // max(shift.size, 1), shift.size)):
        tables = (block[rows],) if values is None else (block[rows], values[rows])
        sums.add(tables, None if weight is None else weight[rows])
    return sums
