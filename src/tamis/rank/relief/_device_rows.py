"""Rows of a table on an accelerator: neighbors are searched, and differences summed, where it lives.

A block of distances to all rows is one matrix product there. Pairs of rows that may be neighbors, a few for each row,
come back and are treated as those of :class:`NeighborSearch`; so do sums of differences, a number for each column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import get_namespace_and_device, max_precision_float_dtype
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.transfer import from_numpy, to_numpy
from tamis.kernels.neighbors.search import in_full_precision, smallest
from tamis.rank.relief._relief_weights import NeighborSearch

Array = Any  # an array of any Array-API namespace

_MOST_NUMBERS = 2**26  # of a block of distances, or of differences, that are held at a time


def prepare_rows_on_device(X: Array, is_discrete: np.ndarray, metric: str) -> tuple[NeighborSearch, np.ndarray]:
    """Rows whose neighbors and differences can be asked for, and which columns are constant.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Of any namespace, without missing values.
    is_discrete : ndarray of bool, of shape (n_columns,)
        Columns whose values are labels.
    metric : {"euclidean", "manhattan"}
    """
    Z, constant = _scale_to_unit_range(X)
    labels = np.flatnonzero(is_discrete & ~constant)
    if labels.size == 0:
        return DeviceNeighborSearch(Z, metric), constant
    xp, _, device = get_namespace_and_device(X)
    levels = [xp.unique_inverse(X[:, j]).inverse_indices for j in labels.tolist()]
    unit = 0.5 if metric == "manhattan" else 0.5**0.5  # rows with different labels differ in two indicators
    quantities = from_numpy(np.setdiff1d(np.arange(X.shape[1]), labels), xp, device)
    coordinates = xp.concat(
        [xp.take(Z, quantities, axis=1), *(unit * _indicators(each, X.dtype) for each in levels)], axis=1
    )
    place = np.arange(X.shape[1])
    place[labels] = X.shape[1] + np.arange(labels.size)
    numbered = xp.concat([Z, xp.astype(xp.stack(levels, axis=1), X.dtype)], axis=1)
    columns = DeviceColumns(xp.take(numbered, from_numpy(place, xp, device), axis=1), is_discrete & ~constant)
    return DeviceNeighborSearch(coordinates - xp.mean(coordinates, axis=0), metric, columns=columns), constant


def _scale_to_unit_range(X: Array) -> tuple[Array, np.ndarray]:
    """As on the host: columns divided by their range and centered, and which of them are constant up to rounding."""
    xp, _, _ = get_namespace_and_device(X)
    low, high = xp.min(X, axis=0), xp.max(X, axis=0)
    size = xp.maximum(xp.abs(low), xp.abs(high))
    spread = high / 2 - low / 2  # of halves, for the range of the largest numbers overflows
    constant = ~(spread > 2 * xp.finfo(X.dtype).eps * size)
    Z = X * 0.5
    Z -= low / 2
    Z /= xp.where(constant, xp.ones_like(spread), spread)
    Z *= xp.astype(~constant, X.dtype)
    Z -= xp.mean(Z, axis=0)
    return Z, to_numpy(constant)


def _indicators(levels: Array, dtype: Any) -> Array:
    """One column for each label."""
    xp, _, device = get_namespace_and_device(levels)
    every = xp.arange(int(xp.max(levels)) + 1, dtype=levels.dtype, device=device)
    return xp.astype(levels[:, None] == every[None, :], dtype)


@dataclass(frozen=True)
class DeviceColumns:
    """Differences of pairs of rows in every column: numbers, and numbers of labels.

    Attributes
    ----------
    values : array of shape (n_rows, n_columns)
    is_discrete : ndarray of bool, of shape (n_columns,), or None
    """

    values: Array
    is_discrete: np.ndarray | None = None

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return self.values.shape[1]

    def differences(self, rows: np.ndarray, neighbors: np.ndarray, power: int) -> np.ndarray:
        """Of each row and each of its neighbors, as numpy."""
        pairs = self._of_pairs(np.repeat(rows, neighbors.shape[1]), neighbors.ravel(), power)
        return to_numpy(pairs).reshape(*neighbors.shape, self.n_columns)

    def sum_differences(self, rows: np.ndarray, neighbors: np.ndarray, weights: np.ndarray, power: int) -> np.ndarray:
        """Weighted sums over pairs, in double precision, of shape (n_sums, n_columns), as numpy."""
        xp, _, device = get_namespace_and_device(self.values)
        accumulator = max_precision_float_dtype(xp, device)
        first, second = np.repeat(rows, neighbors.shape[1]), neighbors.ravel()
        of_pairs = from_numpy(weights.reshape(len(weights), -1), xp, device, self.values.dtype)
        total = xp.zeros((len(weights), self.n_columns), dtype=accumulator, device=device)
        for some in blocks(first.size, _MOST_NUMBERS // self.n_columns):
            difference = self._of_pairs(first[some], second[some], power)
            sums = [
                xp.sum(of_pairs[q, some][:, None] * difference, axis=0, dtype=accumulator) for q in range(len(weights))
            ]
            total += xp.stack(sums, axis=0)
        return to_numpy(total).astype(float)

    def _of_pairs(self, first: np.ndarray, second: np.ndarray, power: int) -> Array:
        xp, _, device = get_namespace_and_device(self.values)
        a, b = (xp.take(self.values, from_numpy(each, xp, device), axis=0) for each in (first, second))
        difference = xp.abs(a - b) if power == 1 else (a - b) ** 2
        if self.is_discrete is None:
            return difference
        differs = xp.astype(difference > 0, difference.dtype)
        return xp.where(from_numpy(self.is_discrete, xp, device)[None, :], differs, difference)


class DeviceNeighborSearch(NeighborSearch):
    """Nearest neighbors among the rows of an array of any namespace."""

    uses_threads: ClassVar[bool] = False  # scikit-learn's settings, by which the namespace is found, are of one thread

    def __init__(self, Z: Array, metric: str, *, columns: DeviceColumns | None = None) -> None:
        self._xp, _, self._device = get_namespace_and_device(Z)
        self._points = in_full_precision(self._xp, self._device, Z)
        super().__init__(Z, metric, columns=DeviceColumns(Z) if columns is None else columns)

    def _squared_norms(self) -> Array:
        return self._xp.sum(self._points * self._points, axis=1)

    def n_rows_at_once(self) -> int:
        """Rows whose distances to all others are held at a time."""
        return max(32, _MOST_NUMBERS // self.Z.shape[0])

    def distances(self, rows: np.ndarray) -> Array:
        """Distances of some rows to all, up to rounding and a term per row; infinite to themselves."""
        xp, place = self._xp, from_numpy(rows, self._xp, self._device)
        some = xp.take(self._points, place, axis=0)
        if self.metric == "manhattan":
            distance = _manhattan(xp, some, self._points)
        else:
            distance = self._norm2[None, :] - 2.0 * (some @ self._points.T)
        everyone = xp.arange(self.Z.shape[0], dtype=place.dtype, device=self._device)
        infinite = xp.asarray(xp.inf, dtype=distance.dtype, device=self._device)
        return xp.where(place[:, None] == everyone[None, :], infinite, distance)

    def distances_to(self, distance: Array, candidates: np.ndarray) -> Array:
        """The columns of :meth:`distances` that belong to some rows."""
        return self._xp.take(distance, from_numpy(candidates, self._xp, self._device), axis=1)

    def _near_pairs(self, distance: Array, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        xp = self._xp
        nearest = xp.take_along_axis(distance, xp.astype(smallest(xp, distance, k), xp.int64), axis=1)
        is_near = distance <= xp.max(nearest, axis=1)[:, None] + self._distance_error
        row, column = xp.nonzero(is_near)
        return to_numpy(row), to_numpy(column), to_numpy(distance[is_near])

    def pair_distances(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Distance of each row to its counterpart, from their differences, in double precision."""
        xp, accumulator = self._xp, max_precision_float_dtype(self._xp, self._device)
        found = [np.empty(0)]
        for part in blocks(rows.size, _MOST_NUMBERS // self.Z.shape[1]):
            a, b = (
                xp.astype(xp.take(self.Z, from_numpy(each[part], xp, self._device), axis=0), accumulator)
                for each in (rows, others)
            )
            difference = xp.abs(a - b) if self.metric == "manhattan" else (a - b) ** 2
            found.append(to_numpy(xp.sum(difference, axis=1)))
        return np.concatenate(found)


def _manhattan(xp: Any, some: Array, points: Array) -> Array:
    """Sums of absolute differences of some rows and all; of a few columns at a time where no function sums them."""
    if hasattr(xp, "cdist"):
        return xp.cdist(some, points, p=1.0)
    distance = some[:, :1] * 0.0 + points[None, :, 0] * 0.0
    for columns in blocks(points.shape[1], _MOST_NUMBERS // (some.shape[0] * points.shape[0])):
        distance = distance + xp.sum(xp.abs(some[:, None, columns] - points[None, :, columns]), axis=2)
    return distance
