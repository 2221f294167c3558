"""A tall table in the place of which a square one stands: least squares sees only products of columns.

With ``Z`` the centered, weighted columns and ``Y`` the targets, any ``R`` with

    R' R = [Z Y]' [Z Y]

has columns of the same norms and angles, so that a search among the columns of ``R``, which has as many rows as
columns, takes the same steps as one among those of ``Z``. ``R`` is a Cholesky factor of sums of products, one pass over
the rows; where columns are so dependent, or targets so well explained, that the factor would lose digits, it is the
triangle of an orthogonal factorization of the rows themselves, block after block, which loses none.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tamis.engine._products import ProductSums, sum_products
from tamis.engine._row_blocks import ArrayBlocks, RowBlocks
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.tolerances import CONSTANT

_MOST_COLUMNS = 600  # targets included: above, products of all pairs cost more than some hundred steps of a search
_FEWEST_ROWS_PER_COLUMN = 8
_FEWEST_ENTRIES = 2**18  # of a table for which it matters
# Least share of the squared norm of a column, or target, that may remain beside those before it: sums of products are
# off by 1e-15 of it, and products with what remains keep nine digits.
_LEAST_REMAINDER = 1e-6
_SHAPE_ENTRIES = 2**17  # of a block of rows whose powers are summed
_ROUNDED = 1e-13  # share of a target's squared norm that rounding of sums leaves of none


class CompressedColumns(Columns):
    """Columns of ``R``: as many rows as columns and targets, the same products.

    Attributes
    ----------
    targets : ndarray of shape (n_samples, n_targets)
        Of the same rows.
    table : RowBlocks
        The tall table, of which these are the compressed rows.
    sample_weight : ndarray or None
    mean : ndarray of shape (n_candidates,)
        Of the columns of the tall table; zero without an intercept.
    """

    def __init__(
        self,
        R: np.ndarray,
        norm2: np.ndarray,
        mean: np.ndarray,
        sums: ProductSums,
        source: tuple[RowBlocks, np.ndarray | None],
        *,
        fit_intercept: bool,
    ) -> None:
        n_candidates = norm2.size
        self._set_rows(R, None, fit_intercept=False)
        self.total = sums.total
        self.n_candidates = n_candidates
        self.X = np.asfortranarray(R[:, :n_candidates])
        self.targets = R[:, n_candidates:]
        self.norm2 = norm2
        self.table, self.sample_weight = source
        self.mean = mean
        self.n_projected = int(fit_intercept)
        self._shapes = None if sums.powers is None else sums.shapes()

    def dot(self, V: Any) -> Any:
        """``Z' V`` for compressed ``V``."""
        return self.X.T @ V

    def columns(self, indices: np.ndarray) -> Any:
        """Compressed columns, of the same norms and angles."""
        return self.X[:, indices]

    def means(self, indices: np.ndarray) -> np.ndarray:
        """Weighted means of the given columns."""
        return self.mean[indices]

    @property
    def n_rows(self) -> int:
        """Rows of the tall table."""
        return len(self.table)

    def shapes(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis of some columns of the tall table."""
        if self._shapes is not None:
            return self._shapes[0][indices], self._shapes[1][indices]
        scale = np.sqrt(self.norm2[indices] / self.total)
        unit = np.where(scale > 0, scale, 1.0)
        task = partial(_powers_of_block, self.mean[indices], unit)
        third, fourth = self.table.sum(task, self.sample_weight, columns=indices, purpose="shapes of columns")
        return third / self.total, np.where(scale > 0, fourth / self.total - 3.0, 0.0)


def _powers_of_block(
    mean: np.ndarray, unit: np.ndarray, block: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums of third and fourth powers of standardized columns, over one block of rows."""
    third, fourth = np.zeros((2, mean.size))
    for rows in blocks(len(block), _SHAPE_ENTRIES // max(mean.size, 1)):
        standard = (block[rows] - mean) / unit
        share = np.ones(len(standard)) if weight is None else weight[rows]
        square = standard * standard
        standard *= square
        square *= square
        third += share @ standard
        fourth += share @ square
    return third, fourth


def is_tall(X: Any, n_targets: int) -> bool:
    """Whether sums of products pay: a dense table in double precision, with many more rows than columns."""
    if not isinstance(X, np.ndarray) or X.dtype != np.float64:
        return False
    n_columns = X.shape[1] + n_targets
    return n_columns <= _MOST_COLUMNS and len(X) >= _FEWEST_ROWS_PER_COLUMN * n_columns and X.size >= _FEWEST_ENTRIES


def compress_rows(
    table: np.ndarray | RowBlocks,
    values: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    fit_intercept: bool = True,
) -> CompressedColumns:
    """The square table that stands for a tall one and its targets.

    Parameters
    ----------
    table : ndarray or RowBlocks of shape (n_samples, n_features)
    values : ndarray of shape (n_samples, n_targets)
    sample_weight : ndarray of shape (n_samples,), default=None
    fit_intercept : bool, default=True
        Center columns and targets.
    """
    source = ArrayBlocks(table) if isinstance(table, np.ndarray) else table
    n_features = source.shape[1]
    # where reading costs more than computing, a pass sums all that may be asked for
    with_powers = not isinstance(source, ArrayBlocks)
    mean, sums = sum_products(source, values, sample_weight, fit_intercept=fit_intercept, with_powers=with_powers)
    products = sums.centered() if fit_intercept else sums.second
    norm2 = np.diagonal(products).copy()
    norm2[norm2 <= CONSTANT**2 * (norm2 + sums.total * mean**2)] = 0.0  # constant up to rounding
    R = _factor(products, norm2, n_features)
    if R is None:
        R = _orthogonal_factor(source, values, sample_weight, mean, norm2)
    origin = (source, sample_weight)
    return CompressedColumns(R, norm2[:n_features], mean[:n_features], sums, origin, fit_intercept=fit_intercept)


def _factor(products: np.ndarray, norm2: np.ndarray, n_features: int) -> np.ndarray | None:
    """``R`` by Cholesky's algorithm on columns of unit norm; None where it would lose digits."""
    norm = np.sqrt(norm2)
    unit = np.where(norm > 0, 1.0 / np.where(norm > 0, norm, 1.0), 0.0)
    scaled = products * unit[:, None] * unit
    varying = np.flatnonzero(norm[:n_features] > 0)
    targets = np.arange(n_features, norm.size)
    try:
        triangle = np.linalg.cholesky(scaled[np.ix_(varying, varying)]).T
    except np.linalg.LinAlgError:
        return None
    shared = np.linalg.solve(triangle.T, scaled[np.ix_(varying, targets)])
    left, vectors = np.linalg.eigh(scaled[np.ix_(targets, targets)] - shared.T @ shared)
    left[left < _ROUNDED] = 0.0  # targets that depend on each other, as indicators of all classes do
    is_lost = (
        np.diagonal(triangle).min(initial=1.0) ** 2 < _LEAST_REMAINDER
        or np.sum(shared**2, axis=0).max(initial=0.0) > 1 - _LEAST_REMAINDER
        or np.any((left > 0) & (left < _LEAST_REMAINDER))
    )
    if is_lost:
        return None
    R = np.zeros(products.shape)
    R[np.ix_(varying, varying)] = triangle
    R[np.ix_(varying, targets)] = shared
    R[np.ix_(targets, targets)] = np.sqrt(left)[:, None] * vectors.T
    return R * norm


def _orthogonal_factor(
    table: RowBlocks, values: np.ndarray, sample_weight: np.ndarray | None, mean: np.ndarray, norm2: np.ndarray
) -> np.ndarray:
    """``R`` of rows below each other: those of two parts are put above each other and factored again."""
    task = partial(_triangle_of_block, mean)
    R = table.reduce(task, _triangle_of_both, values, sample_weight, purpose="orthogonal factorization")
    square = np.zeros((mean.size, mean.size))
    square[: len(R)] = R
    return np.where(norm2 > 0, square, 0.0)


def _triangle_of_block(
    mean: np.ndarray, block: np.ndarray, values: np.ndarray, weight: np.ndarray | None
) -> np.ndarray:
    moved = np.concatenate([block, values], axis=1) - mean
    if weight is not None:
        moved *= np.sqrt(weight)[:, None]
    return np.asarray(np.linalg.qr(moved, mode="r"))


def _triangle_of_both(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.qr(np.concatenate([first, second]), mode="r"))
