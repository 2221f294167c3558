"""Entries that are no numbers, in a table that is read in blocks: sums tell of them, and a second pass counts them."""

from __future__ import annotations

from functools import partial

import numpy as np

from tamis.engine._row_blocks import ArrayBlocks, RowBlocks, places_within, stack_rows

_Seen = tuple[list[np.ndarray], np.ndarray, np.ndarray]  # rows, and counts of what is missing and infinite


class NonFiniteError(ValueError):
    """A table holds entries that are missing or infinite.

    Attributes
    ----------
    n_missing, n_infinite : ndarrays of shape (n_columns,)
    """

    def __init__(self, n_missing: np.ndarray, n_infinite: np.ndarray) -> None:
        super().__init__("Input X contains NaN or infinity")
        self.n_missing, self.n_infinite = n_missing, n_infinite


def check_sums_are_finite(table: RowBlocks, sums: np.ndarray) -> None:
    """Refuse a table whose sums tell of entries that are no numbers; tables in memory were checked before.

    Parameters
    ----------
    table : RowBlocks
    sums : ndarray
        Of any powers or products of all columns.
    """
    if isinstance(table, ArrayBlocks) or np.isfinite(sums).all():
        return
    n_missing, n_infinite = table.sum(count_non_finite, purpose="missing values")
    if n_missing.any() or n_infinite.any():
        raise NonFiniteError(n_missing, n_infinite)
    raise ValueError("X holds numbers so large that their squares are infinite: divide its columns by a constant")


def take_finite_rows(table: RowBlocks, rows: np.ndarray) -> np.ndarray:
    """Some rows in one pass, which refuses entries that are no numbers in any row, taken or not.

    Parameters
    ----------
    table : RowBlocks
    rows : ndarray of int
        In ascending order.
    """
    taken, n_missing, n_infinite = table.reduce(
        _take_and_count, _merge_seen, partial(places_within, rows), purpose="row sample"
    )
    if n_missing.any() or n_infinite.any():
        raise NonFiniteError(n_missing, n_infinite)
    return stack_rows(taken)


def _take_and_count(block: np.ndarray, places: np.ndarray) -> _Seen:
    return [block[places]], *count_non_finite(block)


def _merge_seen(first: _Seen, second: _Seen) -> _Seen:
    first[0].extend(second[0])
    return first[0], first[1] + second[1], first[2] + second[2]


def count_non_finite(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Missing and infinite entries of every column of some rows."""
    return np.isnan(block).sum(axis=0), np.isinf(block).sum(axis=0)
