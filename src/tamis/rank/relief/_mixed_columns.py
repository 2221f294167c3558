"""Differences between rows where columns are discrete or values are missing (Kononenko 1994, Secs. 2 and 3).

The difference of two labels is 0 or 1. A missing value V of a row of class c is taken as one that the rows of class c
have in that column (all rows where none of them has a value), and a difference is what is expected of it:

    d(i, n) = E |V - x_n|^p,    d(i, n) = E |V - V'|^p    with both missing,

which for labels is ``1 - P(x_n | c_i)`` and ``1 - sum_v P(v | c_i) P(v | c_n)``, Kononenko's own. With indicators of
the labels, divided by the root of 2, expected squared differences are squared differences of means plus variances,

    E (V - x_n)^2 = (mean_c - x_n)^2 + var_c,

so that squared distances of incomplete rows are those of rows in which means were put, plus a term of each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tamis.kernels.arrays.blocks import blocks, column_blocks
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.transfer import is_on_host
from tamis.rank.relief._device_rows import prepare_rows_on_device
from tamis.rank.relief._relief_weights import NeighborSearch, scale_to_unit_range, sum_over_pairs

_N_PAIRS = 1000  # standard deviations of differences are known to some percent


def prepare_rows(
    X: Any,
    is_discrete: np.ndarray,
    codes: np.ndarray,
    metric: str,
    power: int,
    search: Callable[..., NeighborSearch] = NeighborSearch,
) -> tuple[NeighborSearch, np.ndarray]:
    """Rows whose neighbors and differences can be asked for, and which columns are constant.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        NaN where values are missing, in a table of numpy; one of another library is compared where it lives.
    is_discrete : ndarray of bool, of shape (n_columns,)
        Columns whose values are labels.
    codes : ndarray of shape (n_rows,)
        Class of each row, from which missing values of a column are taken; all 0 where there are no classes.
    metric : {"euclidean", "manhattan"}
        The latter without missing values only.
    power : {1, 2}
    search : callable
        How neighbors are searched in a table of numpy: :class:`NeighborSearch`, or one made like it.
    """
    if not is_on_host(X):
        return prepare_rows_on_device(X, is_discrete, metric)
    scaled, constant = scale_to_unit_range(X)
    is_discrete = is_discrete & ~constant
    if not is_discrete.any() and not has_missing(scaled):
        return search(scaled, metric), constant
    levels, n_levels = _number_labels(X[:, is_discrete])
    unit = 0.5 if metric == "manhattan" else 0.5**0.5  # rows with different labels differ in two indicators
    coordinates = np.hstack([scaled[:, ~is_discrete], unit * _indicators(levels, n_levels)])
    filled, variances = _fill_missing(coordinates, codes)
    values = scaled.copy()
    values[:, is_discrete] = levels
    values[np.isnan(values)] = 0.0
    expected = _expect_differences(scaled, coordinates, filled, variances, is_discrete, n_levels, codes, power)
    columns = MixedColumns(values, is_discrete, codes, *expected)
    filled -= filled.mean(axis=0)
    row_variance = np.where(np.isnan(coordinates), variances[codes], 0.0).sum(axis=1)
    return search(filled, metric, columns=columns, variance=row_variance), constant


def spread_of_differences(
    X: Any, is_discrete: np.ndarray, power: int, sum_members: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Standard deviation, over pairs of rows, of differences summed over the columns of each candidate.

    Each column counts by its share of available values, as its score does.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        NaN where values are missing, in a table of numpy.
    is_discrete : ndarray of bool, of shape (n_columns,)
    power : {1, 2}
    sum_members : callable
        Sums a figure of every column over the columns of each candidate.
    """
    n_rows = X.shape[0]
    rows, _ = prepare_rows(X, is_discrete, np.zeros(n_rows, dtype=np.int64), "euclidean", power)
    rng = np.random.RandomState(0)
    first, offset = rng.randint(n_rows, size=_N_PAIRS), rng.randint(1, n_rows, size=_N_PAIRS)
    second = (first + offset) % n_rows  # never the same row
    share = np.mean(~np.isnan(X), axis=0) if has_missing(X) else 1.0
    parts = [
        rows.columns.differences(first[part], second[part, None], power)[:, 0] * share
        for part in blocks(_N_PAIRS, max(1, 2**22 // X.shape[1]))
    ]
    return np.std([sum_members(pair) for part in parts for pair in part], axis=0)


@dataclass(frozen=True)
class MixedColumns:
    """Differences of pairs of rows in every column.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Scaled numbers, and numbers of labels.
    is_discrete : ndarray of bool, of shape (n_columns,)
    codes : ndarray of shape (n_rows,)
    incomplete : ndarray of int
        Columns in which values are missing.
    is_missing : ndarray of bool, of shape (n_rows, n_incomplete)
    expected : ndarray of shape (n_classes, n_rows, n_incomplete)
        Difference of the row and a missing value in a row of the class, expected.
    """

    values: np.ndarray
    is_discrete: np.ndarray
    codes: np.ndarray
    incomplete: np.ndarray
    is_missing: np.ndarray
    expected: np.ndarray

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return self.values.shape[1]

    def differences(self, rows: np.ndarray, neighbors: np.ndarray, power: int) -> np.ndarray:
        """Of each row and each of its neighbors; the power is that of the columns."""
        difference = self.values[neighbors]
        difference -= self.values[rows, None]
        (np.abs if power == 1 else np.square)(difference, out=difference)
        difference[..., self.is_discrete] = difference[..., self.is_discrete] > 0
        if self.incomplete.size:
            part = difference[..., self.incomplete]
            np.copyto(part, self.expected[self.codes[neighbors], rows[:, None]], where=self.is_missing[neighbors])
            np.copyto(part, self.expected[self.codes[rows, None], neighbors], where=self.is_missing[rows, None])
            difference[..., self.incomplete] = part
        return difference

    def sum_differences(self, rows: np.ndarray, neighbors: np.ndarray, weights: np.ndarray, power: int) -> np.ndarray:
        """Weighted sums over pairs, as :func:`sum_differences` gives them; the power is that of the columns."""
        differences = partial(self.differences, power=power)
        return sum_over_pairs(differences, self.n_columns, rows, neighbors, weights, self.values.dtype)


def _number_labels(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels of every column as 0, 1, ..., NaN where they are missing, and how many there are."""
    order = np.argsort(X, axis=0, kind="stable")  # NaN last
    values = np.take_along_axis(X, order, axis=0)
    is_new = np.zeros(X.shape, dtype=bool)
    is_new[1:] = (values[1:] != values[:-1]) & ~np.isnan(values[1:])
    level = np.cumsum(is_new, axis=0)
    levels = np.empty(X.shape, dtype=X.dtype)
    np.put_along_axis(levels, order, np.where(np.isnan(values), np.nan, level).astype(X.dtype), axis=0)
    return levels, level[-1] + 1


def _indicators(levels: np.ndarray, n_levels: np.ndarray) -> np.ndarray:
    """One column for each label of each column; NaN where the label is missing."""
    column = np.repeat(np.arange(n_levels.size), n_levels)
    label = np.arange(column.size) - np.repeat(np.cumsum(n_levels) - n_levels, n_levels)
    each = levels[:, column]
    return np.where(np.isnan(each), np.nan, each == label).astype(levels.dtype)


def _fill_missing(coordinates: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the row's class where a value is missing, and the variances in every class."""
    means, variances = _class_moments(coordinates, codes)
    return np.where(np.isnan(coordinates), means[codes], coordinates).astype(coordinates.dtype), variances


def _class_moments(coordinates: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the available values in every class; those of all rows where a class has none."""
    missing = np.isnan(coordinates)
    known, one = np.where(missing, 0.0, coordinates), (~missing).astype(float)
    member = (codes == np.arange(codes.max() + 1)[:, None]).astype(float)

    def per_class(values: np.ndarray) -> np.ndarray:
        of_class = member @ values
        return np.where(counts > 0, of_class, values.sum(axis=0))

    counts = member @ one
    counts_or_all = np.maximum(per_class(one), 1.0)
    means = per_class(known) / counts_or_all
    # second pass over deviations from the mean of all rows: these columns lie in [-1, 1]
    center = known.sum(axis=0) / np.maximum(one.sum(axis=0), 1.0)
    squares = per_class(np.where(missing, 0.0, (known - center) ** 2)) / counts_or_all
    return means, np.maximum(squares - (means - center) ** 2, 0.0)


def _expect_differences(
    scaled: np.ndarray,
    coordinates: np.ndarray,
    filled: np.ndarray,
    variances: np.ndarray,
    is_discrete: np.ndarray,
    n_levels: np.ndarray,
    codes: np.ndarray,
    power: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns with missing values, where they are missing, and expected differences: see :class:`MixedColumns`."""
    is_missing = np.isnan(scaled)
    incomplete = np.flatnonzero(is_missing.any(axis=0))
    expected = np.empty((codes.max() + 1, len(scaled), incomplete.size), dtype=scaled.dtype)
    is_absolute = ~is_discrete[incomplete] & (power == 1)
    for part in column_blocks(len(scaled), int(np.count_nonzero(is_absolute))):
        columns = np.flatnonzero(is_absolute)[part]
        expected[:, :, columns] = _expect_absolute(scaled[:, incomplete[columns]], codes)
    if not is_absolute.all():
        place = np.concatenate([np.flatnonzero(~is_discrete), np.repeat(np.flatnonzero(is_discrete), n_levels)])
        used = np.flatnonzero(np.isin(place, incomplete[~is_absolute]))
        squared = _expect_squared(coordinates[:, used], filled[:, used], variances[:, used], codes)
        starts = np.flatnonzero(np.diff(place[used], prepend=-1))  # coordinates of a column stand side by side
        by_column = np.add.reduceat(squared, starts, axis=2)
        expected[:, :, ~is_absolute] = by_column[:, :, np.argsort(place[used][starts])]
    return incomplete, is_missing[:, incomplete], expected


def _expect_squared(
    coordinates: np.ndarray, filled: np.ndarray, variances: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """``E (V - x)^2`` for V among the available values of each class, of shape (n_classes, n_rows, n_coordinates)."""
    means = _class_moments(coordinates, codes)[0]
    of_row = np.where(np.isnan(coordinates), variances[codes], 0.0)
    return (filled - means[:, None]) ** 2 + variances[:, None] + of_row


def _expect_absolute(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """``E |V - x|`` for V among the available values of each class, of shape (n_classes, n_rows, n_columns).

    With k values of N up to x that sum to P, and all of them to S, it is (x (2 k - N) + S - 2 P) / N. Where x is
    missing, too, it is the mean over the available values of its class.
    """
    columns = np.ascontiguousarray(X.T)  # one after another, for sums along them
    missing = np.isnan(columns)
    order = np.argsort(columns, axis=1, kind="stable")
    ordered = np.take_along_axis(np.where(missing, 0.0, columns), order, axis=1)
    known = np.take_along_axis(~missing, order, axis=1)
    expected = np.empty((int(codes.max()) + 1, *X.shape))
    for c in range(len(expected)):
        of_class = known & (codes[order] == c)
        of_class = np.where(of_class.any(axis=1, keepdims=True), of_class, known)
        k, P = np.cumsum(of_class, axis=1), np.cumsum(np.where(of_class, ordered, 0.0), axis=1)
        mean = (ordered * (2 * k - k[:, -1:]) + P[:, -1:] - 2 * P) / np.maximum(k[:, -1:], 1)
        np.put_along_axis(expected[c].T, order, mean, axis=1)
        both_missing = _class_moments(np.where(missing.T, np.nan, expected[c]), codes)[0]
        expected[c] = np.where(missing.T, both_missing[codes], expected[c])
    return expected
