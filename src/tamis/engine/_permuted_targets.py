"""Products of columns with targets whose rows are permuted, in one pass for all draws.

Rows are permuted within each block. If rows are exchangeable, so are those of a block, and the permutations of a
subgroup make as valid a test as all of them do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tamis.engine._row_blocks import RowBlocks
from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks


@dataclass(frozen=True)
class LinearModel:
    """A least-squares model whose residuals are permuted in the place of targets.

    Attributes
    ----------
    columns : ndarray of int
        Of the table.
    coefficients : ndarray of shape (n_columns, n_targets)
        Of the centered columns.
    center : ndarray of shape (n_targets,)
        What is subtracted from the targets.
    """

    columns: np.ndarray
    coefficients: np.ndarray
    center: np.ndarray


def permuted_products(
    table: RowBlocks,
    mean: np.ndarray,
    values: np.ndarray,
    sample_weight: np.ndarray | None,
    seeds: Sequence[int],
    model: LinearModel | None = None,
) -> np.ndarray:
    """``(X - mean)' diag(sqrt(w)) V_b`` for every draw b, with ``V_b`` the targets, or residuals, in permuted rows.

    Parameters
    ----------
    table : RowBlocks
    mean : ndarray of shape (n_columns,)
    values : ndarray of shape (n_rows, n_targets)
    sample_weight : ndarray of shape (n_rows,) or None
        Targets times its square root are permuted.
    seeds : sequence of int
        One for each draw.
    model : LinearModel, default=None
        None: the targets are permuted as they are.

    Returns
    -------
    ndarray of shape (n_draws, n_columns, n_targets)
    """
    task = partial(_products_of_block, mean, tuple(seeds), model)
    (products,) = table.sum(task, values, sample_weight, _first_row, purpose="permuted targets")
    return products


def _first_row(rows: slice) -> int:
    """Tells blocks apart, which are permuted in different ways."""
    return rows.start


def _products_of_block(
    mean: np.ndarray,
    seeds: tuple[int, ...],
    model: LinearModel | None,
    block: np.ndarray,
    values: np.ndarray,
    weight: np.ndarray | None,
    first_row: int,
) -> tuple[np.ndarray]:
    if model is not None:
        explained = (block[:, model.columns] - mean[model.columns]) @ model.coefficients
        values = values - model.center - explained
    root = None if weight is None else np.sqrt(weight)[:, None]
    values = values if root is None else values * root
    drawn = np.concatenate([values[permutation_of_block(seed, first_row, len(values))] for seed in seeds], axis=1)
    drawn = drawn if root is None else drawn * root
    product = np.zeros((mean.size, drawn.shape[1]))
    for rows in blocks(len(block), CACHE_ENTRIES // max(mean.size, 1)):
        product += (block[rows] - mean).T @ drawn[rows]
    return (product.reshape(mean.size, len(seeds), -1).transpose(1, 0, 2),)


def permutation_of_block(seed: int, first_row: int, n_rows: int) -> np.ndarray:
    """How rows of a block are permuted in a draw."""
    return np.random.default_rng([seed, first_row]).permutation(n_rows)
