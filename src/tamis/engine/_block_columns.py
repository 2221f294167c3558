"""Columns of a table that is read in blocks, as an operator: a product with them is a pass over the rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tamis.engine._finite import check_sums_are_finite
from tamis.engine._products import mean_of_head
from tamis.engine._row_blocks import RowBlocks, concatenate_rows
from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.tolerances import CONSTANT

# Share of the squares about the shift that must be left about the mean; else a second pass is made.
_WELL_SHIFTED = 1e-3


class BlockColumns(Columns):
    """Columns of a table that is never held as a whole.

    Parameters
    ----------
    table : RowBlocks
    sample_weight : ndarray of shape (n_rows,), default=None
    fit_intercept : bool, default=True
    """

    def __init__(
        self, table: RowBlocks, sample_weight: np.ndarray | None = None, *, fit_intercept: bool = True
    ) -> None:
        self._set_rows(np.empty((len(table), 0)), sample_weight, fit_intercept)
        self.table, self.sample_weight = table, sample_weight
        self.n_candidates = table.shape[1]
        shift = mean_of_head(table, None) if fit_intercept else np.zeros(self.n_candidates)
        self.mean, self.norm2, squares = self._moments(shift)
        if fit_intercept and np.any((self.norm2 < _WELL_SHIFTED * squares) & (self.norm2 > 0)):
            self.mean, self.norm2, _ = self._moments(self.mean)

    def _moments(self, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means, squared norms of centered columns, and sums of squares about the shift."""
        first, second = self.table.sum(partial(_moments_of_block, shift), self.sample_weight, purpose="moments")
        check_sums_are_finite(self.table, second)
        if not self.fit_intercept:
            return shift, second, second
        mean, norm2 = shift + first / self.total, second - first**2 / self.total
        norm2[norm2 <= CONSTANT**2 * (norm2 + self.total * mean**2)] = 0.0  # constant up to rounding
        return mean, np.maximum(norm2, 0.0), second

    def dot(self, V: Any) -> np.ndarray:
        """``Z' V`` in one pass over the rows."""
        V = V * self.sqrt_weight[:, None]
        (product,) = self.table.sum(partial(_product_of_block, self.mean), V, purpose="products")
        return product

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """``Z[:, indices]``, all rows of a few columns."""
        raw = self.table.reduce(_plain, concatenate_rows, columns=np.asarray(indices), purpose="columns")
        return (raw - self.mean[indices]) * self.sqrt_weight[:, None]

    def means(self, indices: np.ndarray) -> np.ndarray:
        """Weighted means of the given columns."""
        return self.mean[indices]


def _plain(block: np.ndarray) -> np.ndarray:
    return block.astype(float)


def _moments_of_block(shift: np.ndarray, block: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums and sums of squares about a shift, over one block of rows."""
    first, second = np.zeros((2, shift.size))
    for rows in blocks(len(block), CACHE_ENTRIES // max(shift.size, 1)):
        moved = block[rows] - shift
        share = np.ones(len(moved)) if weight is None else weight[rows]
        first += share @ moved
        moved *= moved
        second += share @ moved
    return first, second


def _product_of_block(mean: np.ndarray, block: np.ndarray, V: np.ndarray) -> tuple[np.ndarray]:
    """Product of the centered columns with vectors, over one block of rows."""
    product = np.zeros((mean.size, V.shape[1]))
    for rows in blocks(len(block), CACHE_ENTRIES // max(mean.size, 1)):
        product += (block[rows] - mean).T @ V[rows]
    return (product,)
