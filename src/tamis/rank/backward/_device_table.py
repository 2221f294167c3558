"""A table of features on an accelerator, for solvers whose dual variables and Gram matrix are on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis._sklearn import get_namespace_and_device
from tamis.kernels.arrays.transfer import from_numpy, to_numpy

Array = Any  # an array of any Array-API namespace


class DeviceTable:
    """One feature per row, in double precision; products with matrices of numpy are of numpy.

    Some rows are a table there as well, a single one is a vector of numpy, and :meth:`toarray` brings all to the host.

    Parameters
    ----------
    values : array of any namespace of shape (n_features, n_samples)
    """

    __array_ufunc__ = None  # so that numpy leaves products to this class

    def __init__(self, values: Array) -> None:
        self._xp, _, self._device = get_namespace_and_device(values)
        self.values = values
        self.shape: tuple[int, int] = values.shape

    @classmethod
    def from_columns(cls, X: Array) -> DeviceTable:
        """From a table of shape (n_samples, n_features), whose columns are then side by side in memory."""
        xp, _, device = get_namespace_and_device(X)
        return cls(xp.take(X.T, xp.arange(X.shape[1], device=device), axis=0))  # a copy, row after row

    @property
    def T(self) -> _Transposed:
        """For products from the other side."""
        return _Transposed(self)

    def toarray(self) -> np.ndarray:
        """The table on the host."""
        return to_numpy(self.values)

    def squared_norms(self) -> np.ndarray:
        """Of every row."""
        return to_numpy(self._xp.sum(self.values * self.values, axis=1))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):  # all rows, and some or all of the samples
            samples = index[1]
            return self if isinstance(samples, slice) else DeviceTable(self._take(self.values, samples, axis=1))
        if np.ndim(index) == 0:
            return to_numpy(self.values[int(index), :])
        rows = np.flatnonzero(index) if index.dtype == bool else index
        return DeviceTable(self._take(self.values, rows, axis=0))

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return to_numpy(self.values @ self._move(V))

    def _take(self, values: Array, places: np.ndarray, axis: int) -> Array:
        return self._xp.take(values, from_numpy(places, self._xp, self._device), axis=axis)

    def _move(self, V: np.ndarray) -> Array:
        return from_numpy(V, self._xp, self._device, self.values.dtype)


class _Transposed:
    """The other side of a table."""

    __array_ufunc__ = None

    def __init__(self, table: DeviceTable) -> None:
        self._table = table

    def __matmul__(self, other: DeviceTable) -> np.ndarray:
        return to_numpy(self._table.values.T @ other.values)

    def __rmatmul__(self, V: np.ndarray) -> np.ndarray:
        return (self._table @ V.T).T
