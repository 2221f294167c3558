"""The table and the target as folds need them: numbers, encoded by what their training rows teach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.base import SentOnce, array_bytes
from tamis.table._source import Source
from tamis.table._table_encoder import TableEncoder


@dataclass(frozen=True)
class Fold:
    """Numbers of one fold.

    Attributes
    ----------
    train, test : table
        Columns are encoded ones.
    y : ndarray
        Target of the training rows.
    places : ndarray of int
        Source column of each encoded column.
    """

    train: Any
    test: Any
    y: np.ndarray
    places: np.ndarray

    def columns_of(self, kept: np.ndarray) -> np.ndarray:
        """Encoded columns of some source columns, ascending."""
        return np.flatnonzero(np.isin(self.places, kept))


class LearningTable(SentOnce):
    """A table of numbers, or columns of any kind as they were read, with the target.

    Parameters
    ----------
    table : ndarray, sparse table or Source
    y : ndarray of shape (n_samples,)
        Class codes or quantities.
    task : str
    """

    def __init__(self, table: Any, y: np.ndarray, task: str) -> None:
        self.table, self.y, self.task = table, y, task

    def n_bytes(self) -> int:
        """Size of the table and the target."""
        return array_bytes([self.table, self.y])

    @property
    def n_columns(self) -> int:
        """Source columns."""
        return self.table.n_columns if isinstance(self.table, Source) else self.table.shape[1]

    def take_rows(self, rows: np.ndarray) -> LearningTable:
        """The same columns on some of the rows."""
        table = self.table.take_rows(rows) if isinstance(self.table, Source) else self.table[rows]
        return LearningTable(table, self.y[rows], self.task)

    def fold(self, train: np.ndarray, test: np.ndarray) -> Fold:
        """Training and test rows as numbers."""
        if isinstance(self.table, Source):
            encoder = TableEncoder(task=self.task)
            seen = encoder.fit_source(self.table.take_rows(train), self.y[train])
            return Fold(seen, encoder.transform_source(self.table.take_rows(test)), self.y[train], encoder.places_)
        seen, unseen = self.table[train], self.table[test]
        if sparse.issparse(self.table):
            seen, unseen = seen.tocsc(), unseen.tocsc()
        return Fold(seen, unseen, self.y[train], np.arange(self.table.shape[1]))

    def all_rows(self) -> Fold:
        """All rows, for training and to look at."""
        return self.fold(np.arange(self.y.size), np.arange(0))
