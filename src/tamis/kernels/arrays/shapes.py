r"""Skewness and excess kurtosis of columns, by blocks of rows that a cache holds: three passes over each block.

.. math:: \frac1W \sum_i w_i \Bigl(\frac{x_{ij} - m_j}{s_j}\Bigr)^3, \qquad
          \frac1W \sum_i w_i \Bigl(\frac{x_{ij} - m_j}{s_j}\Bigr)^4 - 3, \qquad W = \sum_i w_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis._sklearn import get_namespace_and_device, is_numpy_namespace
from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks
from tamis.kernels.arrays.transfer import to_numpy

_BLOCK_ENTRIES = 2**17  # of a block of rows whose powers are summed
_DEVICE_ENTRIES = 2**26  # of a block on an accelerator


def sum_powers(
    mean: np.ndarray,
    unit: np.ndarray,
    columns: np.ndarray | None,
    table: np.ndarray,
    weight: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums of third and fourth powers of standardized columns, over the rows of a table.

    Parameters
    ----------
    mean, unit : ndarrays of shape (n_columns,)
    columns : ndarray of int of shape (n_columns,) or None
        Columns of the table to look at; None for all.
    table : ndarray
    weight : ndarray of shape (n_rows,) or None
    """
    third, fourth = np.zeros((2, mean.size))
    for rows in blocks(len(table), _BLOCK_ENTRIES // max(mean.size, 1)):
        block = table[rows] if columns is None else np.take(table[rows], columns, axis=1)
        standard = (block - mean) / unit
        share = np.ones(len(standard)) if weight is None else weight[rows]
        square = standard * standard  # products, for numpy raises to powers above 2 many times slower
        standard *= square
        square *= square
        third += share @ standard
        fourth += share @ square
    return third, fourth


def shape_moments(columns: Any, sqrt_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Skewness and excess kurtosis of centered columns that were multiplied by ``sqrt_weight``; 0 for constant ones.

    Arrays of any namespace, on their device; what is found is numpy's.
    """
    return shape_from(to_numpy(standard_moments(columns, MomentWeights.of(sqrt_weight))))


def shape_from(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Skewness and excess kurtosis, given :func:`standard_moments`."""
    spread, skewness, kurtosis = moments
    return skewness, np.where(spread > 0, kurtosis - 3.0, 0.0)


@dataclass(frozen=True)
class MomentWeights:
    """Weights of rows that sum to one, what takes their roots off a column, and what they sum to before."""

    xp: Any
    share: Any
    factor: Any
    total: Any

    @classmethod
    def of(cls, sqrt_weight: Any) -> MomentWeights:
        """From the roots of the weights, which columns are multiplied by."""
        xp, _, _ = get_namespace_and_device(sqrt_weight)
        weight = sqrt_weight * sqrt_weight
        total = xp.sum(weight)
        return cls(xp, weight / total, 1.0 / xp.where(sqrt_weight > 0, sqrt_weight, xp.ones_like(sqrt_weight)), total)


def standard_moments(columns: Any, weights: MomentWeights) -> Any:
    """Standard deviations, third and fourth standardized moments, in three rows of an array on the device."""
    xp = weights.xp
    is_numpy = is_numpy_namespace(xp)
    squares = np.einsum("ij,ij->j", columns, columns, dtype=float) if is_numpy else xp.sum(columns * columns, axis=0)
    scale = xp.sqrt(squares / weights.total)
    divisor = xp.where(scale > 0, scale, xp.ones_like(scale))
    at_once = CACHE_ENTRIES if is_numpy else _DEVICE_ENTRIES
    sums: Any = 0.0
    for rows in blocks(columns.shape[0], max(1, at_once // columns.shape[1])):  # in cache: three passes over each
        standard = columns[rows, :] * weights.factor[rows, None]
        standard /= divisor
        square = standard * standard
        standard *= square
        square *= square
        sums = xp.stack([weights.share[rows] @ standard, weights.share[rows] @ square]) + sums
    return xp.concat([scale[None, :], sums])
