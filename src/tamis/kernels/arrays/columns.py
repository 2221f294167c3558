"""Candidate columns as a linear operator, so that a search never needs them centered, weighted or even materialized.

With row weights ``w`` (all one by default) and ``W = sum(w)``, the candidates of a least-squares search are

    z_j = sqrt(w) * (x_j - mean_j),    mean_j = sum_i w_i x_ij / W    (mean_j = 0 without intercept),

and all that the search asks of them is ``norm2[j] = ||z_j||^2``, products ``Z' V`` and a few columns ``Z[:, indices]``.
Every ``V`` it sends is orthogonal to ``sqrt(w)`` once there is an intercept, so ``Z' V = X' (sqrt(w) V)``: centering
costs nothing, and sparse input stays sparse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from tamis._sklearn import get_namespace, get_namespace_and_device, is_numpy_namespace, max_precision_float_dtype
from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks, map_in_threads, sum_in_threads
from tamis.kernels.arrays.moments import column_moments
from tamis.kernels.arrays.shapes import shape_moments, sum_powers
from tamis.kernels.arrays.tolerances import CONSTANT, Tolerance
from tamis.kernels.arrays.transfer import from_numpy, to_numpy

__all__ = ["Array", "Columns", "DenseColumns", "SparseColumns", "as_columns", "blank_columns", "tiles", "to_numpy"]

Array = Any  # an array of any Array-API namespace

# Share of the squared norm of a column that centering leaves, below which ``sum x^2 - n mean^2`` and products with raw
# columns lose too many digits: six of sixteen in double precision, four of seven in single.
_ILL_CENTERED = Tolerance(1e-6, 1e-4)


def blank_columns(X: Array, columns: np.ndarray) -> Array:
    """A copy of a table whose given columns hold zeros."""
    kept = np.ones(X.shape[1], dtype=bool)
    kept[columns] = False
    if sparse.issparse(X):
        blanked = (X @ sparse.diags_array(kept.astype(X.dtype))).asformat(X.format)
        blanked.eliminate_zeros()
        return blanked
    if isinstance(X, np.ndarray):
        return np.where(kept, X, X.dtype.type(0))  # where a product would leave NaN
    xp, is_array_api, device = get_namespace_and_device(X)
    return X * (xp.asarray(kept, dtype=X.dtype, device=device) if is_array_api else kept.astype(X.dtype))


class Columns(ABC):
    """What a least-squares search may ask of its candidates.

    Attributes
    ----------
    n_samples, n_candidates : int
    total : float
        Sum of the row weights: the number of observations.
    sqrt_weight : array of shape (n_samples,)
    norm2 : array of shape (n_candidates,)
        Squared norm of every centered, weighted column; exactly zero for constant ones.
    n_projected : int
        Directions that were taken out of all columns before, such as an intercept that is not among the rows.
    """

    xp: Any
    device: Any
    accumulator: Any
    n_samples: int
    n_candidates: int
    total: float
    fit_intercept: bool
    sqrt_weight: Array
    norm2: Array
    n_projected: int = 0

    @property
    def n_rows(self) -> int:
        """Rows of the table behind the columns."""
        return self.n_samples

    def _set_rows(self, X: Array, sample_weight: np.ndarray | None, fit_intercept: bool) -> None:
        self.xp, _, self.device = get_namespace_and_device(X)
        self.accumulator = max_precision_float_dtype(self.xp, self.device)
        self.n_samples = X.shape[0]
        weight = np.ones(self.n_samples) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.total = float(weight.sum())
        self.sqrt_weight = self.as_array(np.sqrt(weight))
        self.fit_intercept = fit_intercept

    def as_array(self, values: np.ndarray) -> Array:
        """Move a numpy array to the candidates' namespace and device, in accumulation precision."""
        if is_numpy_namespace(self.xp):
            return np.asarray(values, dtype=float)
        return from_numpy(values, self.xp, self.device, self.accumulator)

    def as_index(self, indices: np.ndarray) -> Array:
        """Move indices to the candidates' namespace and device."""
        indices = np.asarray(indices, dtype=np.int64)
        return indices if is_numpy_namespace(self.xp) else from_numpy(indices, self.xp, self.device)

    def center_rows(self, V: Array) -> Array:
        """Weight the rows of ``V`` and, with an intercept, take its weighted mean out."""
        V = V * self.sqrt_weight[:, None]
        if self.fit_intercept:
            unit = self.sqrt_weight / self.total**0.5
            V = V - unit[:, None] * (unit @ V)[None, :]
        return V

    @abstractmethod
    def dot(self, V: Array) -> Array:
        """``Z' V`` for ``V`` of shape (n_samples, m) orthogonal to the intercept."""

    @abstractmethod
    def columns(self, indices: np.ndarray) -> Array:
        """``Z[:, indices]``, materialized."""

    @abstractmethod
    def means(self, indices: np.ndarray) -> np.ndarray:
        """``mean_j`` of the given candidates, as numpy."""

    def shapes(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis of the given candidates, as numpy; 0 for constant ones."""
        return shape_moments(self.columns(indices), self.sqrt_weight)


def as_columns(X: Array, sample_weight: np.ndarray | None = None, *, fit_intercept: bool = True) -> Columns:
    """Wrap a dense (numpy or Array-API) or scipy sparse table."""
    kind = SparseColumns if sparse.issparse(X) else DenseColumns
    return kind(X, sample_weight, fit_intercept=fit_intercept)


def tiles(X: Array) -> Iterator[tuple[slice, slice]]:
    """Cut a dense table into tiles that fit a cache (or, on an accelerator, its memory) in double precision."""
    (n_rows, n_columns), (xp, _) = X.shape, get_namespace(X)
    width = min(n_columns, 8192)
    height = max(1, (2**18 if is_numpy_namespace(xp) else 2**26) // width)
    for left in range(0, n_columns, width):
        for top in range(0, n_rows, height):
            yield slice(top, min(top + height, n_rows)), slice(left, min(left + width, n_columns))


class _TableColumns(Columns):
    """Columns of a table that is never copied: implicit centering, but for ill-centered columns."""

    X: Any
    _mean: Array
    _ill_centered: np.ndarray

    def _set_moments(self, mean: Array, size: Array, scatter: Array) -> None:
        """Means and norms from sums of squares and of squared deviations; of ill-centered columns from their entries.

        Ill-centered are those whose products with raw columns lose too many digits, however their norm was found.
        """
        xp = self.xp
        self._mean = mean if self.fit_intercept else xp.zeros_like(mean)
        self.norm2 = scatter if self.fit_intercept else size
        is_ill_centered = self.fit_intercept & (self.norm2 < _ILL_CENTERED.of(self.X) * size)
        self._ill_centered = np.flatnonzero(to_numpy(is_ill_centered))
        if self._ill_centered.size:
            self._center_explicitly(xp.take(size, self.as_index(self._ill_centered)))

    def _center_explicitly(self, size: Array) -> None:
        """Keep a centered copy of the ill-centered columns, and their exact norms."""
        xp = self.xp
        raw = self._raw(self._ill_centered)
        weight = self.sqrt_weight**2 / self.total
        mean = weight @ raw
        mean = mean + weight @ (raw - mean[None, :])  # the second pass takes out the rounding of the first
        self._centered = self.sqrt_weight[:, None] * (raw - mean[None, :])
        norm2 = xp.sum(self._centered**2, axis=0)
        norm2 = xp.where(norm2 <= CONSTANT**2 * size, xp.zeros_like(norm2), norm2)
        place = np.arange(self.n_candidates)
        place[self._ill_centered] = self.n_candidates + np.arange(self._ill_centered.size)
        self._place = self.as_index(place)
        self._mean = xp.take(xp.concat([self._mean, mean]), self._place)
        self.norm2 = xp.take(xp.concat([self.norm2, norm2]), self._place)

    @abstractmethod
    def _raw(self, indices: np.ndarray) -> Array:
        """The given columns as they are, dense, in double precision: an array of their own."""

    @abstractmethod
    def _table_dot(self, V: Array) -> Array:
        """``X' (sqrt(w) V)``, in the table's own precision."""

    def dot(self, V: Array) -> Array:
        """``Z' V`` in one pass over the table."""
        product = self.xp.astype(self._table_dot(V), self.accumulator, copy=False)
        if self._ill_centered.size:
            product = self.xp.concat([product, self._centered.T @ V])
            product = self.xp.take(product, self._place, axis=0)
        return product

    def columns(self, indices: np.ndarray) -> Array:
        """``Z[:, indices]`` in double precision."""
        Z = self._raw(indices)
        Z -= self._means_of(indices)[None, :]
        Z *= self.sqrt_weight[:, None]
        return Z

    def means(self, indices: np.ndarray) -> np.ndarray:
        """Weighted means of the given columns."""
        return to_numpy(self._means_of(indices))

    def _means_of(self, indices: np.ndarray) -> Array:
        if len(indices) == 1:  # of which no index has to be moved to a device
            return self._mean[int(indices[0]) : int(indices[0]) + 1]
        return self.xp.take(self._mean, self.as_index(indices))


class DenseColumns(_TableColumns):
    """Columns of a dense numpy or Array-API table."""

    def __init__(self, X: Array, sample_weight: np.ndarray | None = None, *, fit_intercept: bool = True) -> None:
        self._set_rows(X, sample_weight, fit_intercept)
        self.X = X
        self.n_candidates = X.shape[1]
        is_weighted = sample_weight is not None and bool(np.any(np.asarray(sample_weight) != 1.0))
        if is_numpy_namespace(self.xp) or is_weighted:
            total, size = self._sums()
            mean = total / self.total
            self._set_moments(mean, size, size - self.total * mean**2)
        else:
            mean, scatter = column_moments(X)
            self._set_moments(mean, scatter + self.total * mean**2, scatter)

    def _sums(self) -> tuple[Array, Array]:
        """Weighted sum and sum of squares of every column: one pass, accumulated in double precision."""
        xp = self.xp
        weight = self.sqrt_weight**2
        total = xp.zeros(self.n_candidates, dtype=self.accumulator, device=self.device)
        size = xp.zeros(self.n_candidates, dtype=self.accumulator, device=self.device)

        def add(strip: list[tuple[slice, slice]]) -> None:
            for rows, cols in strip:
                tile = xp.astype(self.X[rows, cols], self.accumulator, copy=False)
                total[cols] += weight[rows] @ tile
                size[cols] += weight[rows] @ (tile * tile)

        strips = [list(strip) for _, strip in groupby(tiles(self.X), key=lambda tile: tile[1].start)]
        run = map_in_threads if is_numpy_namespace(xp) else map  # no two strips add to the same sum
        list(run(add, strips))
        return total, size

    def _raw(self, indices: np.ndarray) -> Array:
        # numpy's take would copy a Fortran-ordered table whole; the standard has no other way
        if is_numpy_namespace(self.xp):
            return self.xp.astype(self.X[:, indices], self.accumulator, copy=False)
        if len(indices) == 1:
            return self.xp.astype(self.X[:, int(indices[0]) : int(indices[0]) + 1], self.accumulator, copy=True)
        return self.xp.astype(self.xp.take(self.X, self.as_index(indices), axis=1), self.accumulator, copy=False)

    def _table_dot(self, V: Array) -> Array:
        # float32 X times a float64 V would upcast the whole table: cast the small factor instead. (V' X)' and not
        # X' V: BLAS streams a wide table twice as fast, and each direction's products stay contiguous.
        weighted = self.xp.astype(V * self.sqrt_weight[:, None], self.X.dtype, copy=False)
        return (weighted.T @ self.X).T

    def shapes(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis of the given candidates, by blocks of rows that threads share out."""
        if not is_numpy_namespace(self.xp):
            return super().shapes(indices)
        scale = np.sqrt(self.norm2[indices] / self.total)
        unit, mean, weight = np.where(scale > 0, scale, 1.0), self._mean[indices], self.sqrt_weight**2

        def powers(rows: slice) -> np.ndarray:
            return np.stack(sum_powers(mean, unit, indices, self.X[rows], weight[rows]))

        parts = list(blocks(self.n_samples, max(1, CACHE_ENTRIES // max(len(indices), 1))))
        third, fourth = sum_in_threads(powers, parts, self.n_samples * len(indices)) / self.total
        return np.where(scale > 0, third, 0.0), np.where(scale > 0, fourth - 3.0, 0.0)


class SparseColumns(_TableColumns):
    """Columns of a scipy sparse table; zeros are never stored, whatever the mean is.

    An ill-centered column has hardly any zeros, so that its centered copy is no larger than it is.
    """

    def __init__(self, X: Any, sample_weight: np.ndarray | None = None, *, fit_intercept: bool = True) -> None:
        self._set_rows(np.empty((X.shape[0], 0)), sample_weight, fit_intercept)
        self.X = X.tocsc()
        self.n_candidates = X.shape[1]
        weight = self.sqrt_weight**2
        squares = self.X.astype(float)
        squares.data **= 2
        mean, size = np.asarray(self.X.T @ weight) / self.total, np.asarray(squares.T @ weight)
        self._set_moments(mean, size, size - self.total * mean**2)

    def _raw(self, indices: np.ndarray) -> np.ndarray:
        return self.X[:, indices].toarray().astype(float, copy=False)

    def _table_dot(self, V: np.ndarray) -> np.ndarray:
        weighted = (V * self.sqrt_weight[:, None]).astype(self.X.dtype, copy=False)
        return np.asarray(self.X.T @ weighted)
