"""Counts, means and scatter of every column in every class, over blocks of rows."""

from __future__ import annotations

from functools import partial

import numpy as np

from tamis.engine._finite import check_sums_are_finite
from tamis.engine._products import mean_of_head
from tamis.engine._row_blocks import RowBlocks, as_row_blocks
from tamis.kernels.arrays.blocks import CORE_CACHE_ENTRIES, blocks

# Share of the squares about the shift that must be left about the class means; else a second pass is made.
_WELL_SHIFTED = 1e-3


def class_moments_of_blocks(
    table: np.ndarray | RowBlocks, codes: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of rows, mean and sum of squared deviations of every column in every class.

    Of shapes (n_classes, 1), (n_classes, n_columns) and (n_classes, n_columns). One pass about the means of the first
    rows, and one about those of the classes where these lie far apart.
    """
    table = as_row_blocks(table)
    n_classes = int(codes.max()) + 1
    shift = np.tile(mean_of_head(table, None), (n_classes, 1))
    counts, means, within, squares = _moments_about(table, codes, weight, shift)
    if np.any((within < _WELL_SHIFTED * squares) & (within > 0)):
        counts, means, within, _ = _moments_about(table, codes, weight, means)
    return counts, means, within


def _moments_about(
    table: RowBlocks, codes: np.ndarray, weight: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    counts, first, second = table.sum(partial(_moments_of_block, shift), codes, weight, purpose="class moments")
    check_sums_are_finite(table, second)
    counts = counts[:, None]
    size = np.where(counts > 0, counts, 1.0)
    return counts, shift + first / size, np.maximum(second - first**2 / size, 0.0), second


def _moments_of_block(
    shift: np.ndarray, block: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, weighted sums and sums of squares about a shift of every class, over one block of rows."""
    n_classes = len(shift)
    counts = np.bincount(codes, weight, minlength=n_classes)
    first, second = np.zeros((2, *shift.shape))
    for rows in blocks(len(block), CORE_CACHE_ENTRIES // max(shift.shape[1], 1)):
        member = np.where(codes[rows] == np.arange(n_classes)[:, None], weight[rows], 0.0)
        moved = np.take(shift, codes[rows], axis=0)
        np.subtract(block[rows], moved, out=moved)
        first += member @ moved
        moved *= moved
        second += member @ moved
    return counts, first, second
