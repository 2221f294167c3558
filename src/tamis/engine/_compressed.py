"""A tall table in the place of which a square one stands: least squares sees only products of columns.

With ``Z`` the centered, weighted columns and ``Y`` the targets, any ``R`` with

    R' R = [Z Y]' [Z Y]

has columns of the same norms and angles, so that a search among the columns of ``R``, which has as many rows as
columns, takes the same steps as one among those of ``Z``. ``R`` is a Cholesky factor of sums of products, one pass over
the rows; where columns are so dependent, or targets so well explained, that the factor would lose digits, it is the
triangle of an orthogonal factorization of the rows themselves, block after block, which loses none.

Blocks are cast to double precision while they are summed. ``R`` is then held in the precision of the table, which tells
those who search among its columns how many digits these have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from tamis.engine._products import ProductSums, sum_products, sum_products_of_parts
from tamis.engine._row_blocks import ArrayBlocks, RowBlocks, as_row_blocks
from tamis.kernels.arrays.blocks import limit_blas_threads
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.shapes import sum_powers
from tamis.kernels.arrays.tolerances import CONSTANT

_MOST_COLUMNS = 600  # targets included: above, products of all pairs cost more than some hundred steps of a search
_FEWEST_ROWS_PER_COLUMN = 8
_FEWEST_ENTRIES = 2**18  # of a table for which it matters
# Least share of the squared norm of a column, or target, that may remain beside those before it: sums of products are
# off by 1e-15 of it, and products with what remains keep nine digits.
_LEAST_REMAINDER = 1e-6
_ROUNDED = 1e-13  # share of a target's squared norm that rounding of sums leaves of none
_LEAST_SQUARE = 2.0**-600  # mean square of a column below which squares of its entries may have vanished


class CompressedColumns(Columns):
    """Columns of ``R``: as many rows as columns and targets, the same products.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_candidates)
        Those of ``R``, in the precision of the table or that asked for.
    targets : ndarray of shape (n_samples, n_targets)
        Of the same rows.
    table : RowBlocks or None
        The tall table, of which these are the compressed rows; None where they are those of a part of it.
    sample_weight : ndarray or None
    mean : ndarray of shape (n_candidates,)
        Of the columns of the tall table; zero without an intercept.
    target_mean : ndarray of shape (n_targets,)
    """

    def __init__(
        self,
        R: np.ndarray,
        norm2: np.ndarray,
        mean: np.ndarray,
        total: float,
        source: tuple[RowBlocks | None, np.ndarray | None],
        *,
        fit_intercept: bool,
        dtype: Any = float,
        shapes: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        n_candidates = norm2.size
        self._set_rows(R, None, fit_intercept=False)
        self.total = total
        self.n_candidates = n_candidates
        self.X = np.asfortranarray(R[:, :n_candidates], dtype=dtype)
        self.targets = R[:, n_candidates:]
        self.norm2 = norm2
        self.table, self.sample_weight = source
        self.mean, self.target_mean = mean[:n_candidates], mean[n_candidates:]
        self.n_projected = int(fit_intercept)
        self._shapes = shapes

    def dot(self, V: Any) -> Any:
        """``Z' V`` for compressed ``V``."""
        return self.X.T @ V

    def columns(self, indices: np.ndarray) -> Any:
        """Compressed columns, of the same norms and angles."""
        return self.X[:, indices].astype(float, copy=False)

    def means(self, indices: np.ndarray) -> np.ndarray:
        """Weighted means of the given columns."""
        return self.mean[indices]

    @property
    def n_rows(self) -> int:
        """Rows of the tall table."""
        return self.rows().shape[0]

    def rows(self) -> RowBlocks:
        """The tall table, for what only single rows tell."""
        if self.table is None:
            raise ValueError("compressed rows of a part of a table tell nothing of single rows")
        return self.table

    def shapes(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis of some columns of the tall table."""
        if self._shapes is not None:
            return self._shapes[0][indices], self._shapes[1][indices]
        scale = np.sqrt(self.norm2[indices] / self.total)
        unit = np.where(scale > 0, scale, 1.0)
        task = partial(sum_powers, self.mean[indices], unit, None)
        third, fourth = self.rows().sum(task, self.sample_weight, columns=indices, purpose="shapes of columns")
        return third / self.total, np.where(scale > 0, fourth / self.total - 3.0, 0.0)


def is_tall(X: Any, n_targets: int = 0, *, needs_products: bool = False) -> bool:
    """Whether sums of products pay.

    Parameters
    ----------
    X : table
        Dense or sparse, in single or double precision, or read in blocks, which always counts as tall; no other does.
    n_targets : int, default=0
    needs_products : bool, default=False
        Whether the method takes all products of columns in any case: then a table is tall that has more rows than
        columns. Else it has many more, and so few columns that some hundred steps of a search cost more than products.
    """
    if isinstance(X, RowBlocks):
        return True
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)) or X.dtype not in (np.float64, np.float32):
        return False
    n_rows, n_columns = X.shape[0], X.shape[1] + n_targets
    if needs_products:
        return n_rows > n_columns
    is_long = n_rows >= _FEWEST_ROWS_PER_COLUMN * n_columns and n_rows * X.shape[1] >= _FEWEST_ENTRIES
    return n_columns <= _MOST_COLUMNS and is_long


def compress_rows(
    X: Any,
    values: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    *,
    fit_intercept: bool = True,
    dtype: Any = None,
) -> CompressedColumns:
    """The square table that stands for a tall one and its targets.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    values : ndarray of shape (n_samples, n_targets), default=None
        None is no target.
    sample_weight : ndarray of shape (n_samples,), default=None
    fit_intercept : bool, default=True
        Center columns and targets.
    dtype : data-type, default=None
        Of the compressed columns; None is that of the table.

    Raises
    ------
    FloatingPointError
        Where squares overflow, or vanish.
    """
    targets = np.empty((X.shape[0], 0)) if values is None else values
    table = as_row_blocks(X)
    # where reading costs more than computing, a pass sums all that may be asked for
    with_powers = not isinstance(table, ArrayBlocks)
    mean, sums = sum_products(table, targets, sample_weight, fit_intercept=fit_intercept, with_powers=with_powers)
    rows = _Rows(table, targets, sample_weight)
    source = (table, sample_weight)
    return _compress(mean, sums, rows, source, fit_intercept=fit_intercept, dtype=X.dtype if dtype is None else dtype)


def compress_parts(
    X: Any, values: np.ndarray, sample_weight: np.ndarray | None, part_of_rows: np.ndarray, n_parts: int
) -> list[CompressedColumns]:
    """Rows of each of several parts of a tall table, compressed by themselves, from one pass over all.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    values : ndarray of shape (n_samples, n_targets)
    sample_weight : ndarray of shape (n_samples,) or None
    part_of_rows : ndarray of int of shape (n_samples,)
    n_parts : int
        Of which each has rows of positive weight.

    Returns
    -------
    list of CompressedColumns
        Centered, in double precision, and without a table; :func:`join_parts` puts some of them together.

    Raises
    ------
    FloatingPointError
        Where squares overflow, or vanish.
    """

    table = as_row_blocks(X)
    found = sum_products_of_parts(table, values, sample_weight, part_of_rows, n_parts)
    return [
        _compress(
            mean, sums, _Rows(table, values, sample_weight, part_of_rows == part), (None, None), fit_intercept=True
        )
        for part, (mean, sums) in enumerate(found)
    ]


def join_parts(parts: Sequence[CompressedColumns]) -> CompressedColumns:
    """Rows of several parts of a table, compressed: those of each part, and its mean beside that of all."""
    total = sum(part.total for part in parts)
    means = np.array([np.concatenate([part.mean, part.target_mean]) for part in parts])
    share = np.array([part.total for part in parts])
    mean = share @ means / total
    rows = [np.concatenate([part.X, part.targets], axis=1) for part in parts]
    R = np.linalg.qr(np.concatenate([*rows, np.sqrt(share)[:, None] * (means - mean)]), mode="r")
    norm2 = np.einsum("ij,ij->j", R, R)
    norm2[_is_constant(norm2, mean, total)] = 0.0
    R *= norm2 > 0
    n_features = parts[0].n_candidates
    return CompressedColumns(R, norm2[:n_features], mean, total, (None, None), fit_intercept=True)


@dataclass(frozen=True)
class _Rows:
    """Rows of a table and their targets, all of them or those of a part."""

    table: RowBlocks
    values: np.ndarray
    weight: np.ndarray | None
    is_taken: np.ndarray | None = None


def _compress(
    mean: np.ndarray,
    sums: ProductSums,
    rows: _Rows,
    source: tuple[RowBlocks | None, np.ndarray | None],
    *,
    fit_intercept: bool,
    dtype: Any = float,
) -> CompressedColumns:
    """Compressed columns from sums over the rows, or from the rows where sums lose digits."""
    _check_squares(sums, rows)
    n_features = rows.table.shape[1]
    shapes = None if sums.powers is None else sums.shapes(about_mean=fit_intercept)
    products = sums.centered() if fit_intercept else sums.second
    norm2 = np.diagonal(products).copy()
    norm2[_is_constant(norm2, mean, sums.total)] = 0.0
    with limit_blas_threads(products.size):
        R = _factor(products, norm2, n_features)
    if R is None:
        R = _orthogonal_factor(rows, mean, norm2)
    return CompressedColumns(
        R, norm2[:n_features], mean, sums.total, source, fit_intercept=fit_intercept, dtype=dtype, shapes=shapes
    )


def _is_constant(norm2: np.ndarray, mean: np.ndarray, total: float) -> np.ndarray:
    """Columns that are constant up to rounding."""
    return norm2 <= CONSTANT**2 * (norm2 + total * mean**2)


def _check_squares(sums: ProductSums, rows: _Rows) -> None:
    """Refuse columns whose squares are infinite, or so small that digits of them may have vanished."""
    if not np.isfinite(sums.second).all():
        raise FloatingPointError("squares of values are too large to be summed; divide the columns by their size")
    is_small = np.diagonal(sums.second) <= _LEAST_SQUARE * sums.total
    if not isinstance(rows.table, ArrayBlocks):  # rather than read them again: sums of constants about these are zero
        is_small &= sums.first != 0
    small = np.flatnonzero(is_small)
    if not small.size:
        return
    n_features = rows.table.shape[1]
    ours, theirs = small[small < n_features], small[small >= n_features] - n_features
    lowest, highest = rows.table.reduce(
        _extent_of_block, _extent_of_both, rows.values[:, theirs], rows.is_taken, columns=ours, purpose="extents"
    )
    if np.any(lowest < highest):  # else constant, of which there are no squares about the mean
        raise FloatingPointError("squares of values are too small to be summed; divide the columns by their size")


def _extent_of_block(
    block: np.ndarray, values: np.ndarray, is_taken: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of columns and targets in one block of rows."""
    part = np.concatenate([block, values], axis=1)
    part = part if is_taken is None else part[is_taken]
    return part.min(axis=0, initial=np.inf), part.max(axis=0, initial=-np.inf)


def _extent_of_both(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    return np.minimum(first[0], second[0]), np.maximum(first[1], second[1])


def _factor(products: np.ndarray, norm2: np.ndarray, n_features: int) -> np.ndarray | None:
    """``R`` by Cholesky's algorithm on columns of unit norm; None where it would lose digits.

    The products are overwritten.
    """
    norm = np.sqrt(norm2)
    unit = np.where(norm > 0, 1.0 / np.where(norm > 0, norm, 1.0), 0.0)
    products *= unit
    products *= unit[:, None]
    constant = np.flatnonzero(norm[:n_features] == 0)
    products[constant, constant] = 1.0  # orthogonal to all others; scaled to zero at the end
    columns, targets = slice(0, n_features), slice(n_features, norm.size)
    try:
        triangle = np.linalg.cholesky(products[columns, columns]).T
    except np.linalg.LinAlgError:
        return None
    shared = solve_triangular(triangle, products[columns, targets], trans="T")
    left, vectors = np.linalg.eigh(products[targets, targets] - shared.T @ shared)
    left[left < _ROUNDED] = 0.0  # targets that depend on each other, as indicators of all classes do
    is_lost = (
        np.diagonal(triangle).min(initial=1.0) ** 2 < _LEAST_REMAINDER
        or np.sum(shared**2, axis=0).max(initial=0.0) > 1 - _LEAST_REMAINDER
        or np.any((left > 0) & (left < _LEAST_REMAINDER))
    )
    if is_lost:
        return None
    R = np.zeros(products.shape)
    R[columns, columns] = triangle
    R[columns, targets] = shared
    R[targets, targets] = np.sqrt(left)[:, None] * vectors.T
    R *= norm
    return R


def _orthogonal_factor(rows: _Rows, mean: np.ndarray, norm2: np.ndarray) -> np.ndarray:
    """``R`` of rows below each other: those of two parts are put above each other and factored again."""
    R = rows.table.reduce(
        partial(_triangle_of_block, mean),
        _triangle_of_both,
        rows.values,
        rows.weight,
        rows.is_taken,
        purpose="orthogonal factorization",
    )
    square = np.zeros((mean.size, mean.size))
    square[: len(R)] = R
    return np.where(norm2 > 0, square, 0.0)


def _triangle_of_block(
    mean: np.ndarray,
    block: np.ndarray,
    values: np.ndarray,
    weight: np.ndarray | None,
    is_taken: np.ndarray | None,
) -> np.ndarray:
    moved = np.concatenate([block, values], axis=1) - mean
    if weight is not None:
        moved *= np.sqrt(weight)[:, None]
    return np.asarray(np.linalg.qr(moved if is_taken is None else moved[is_taken], mode="r"))


def _triangle_of_both(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.qr(np.concatenate([first, second]), mode="r"))
