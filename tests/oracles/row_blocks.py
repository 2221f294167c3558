"""A table given as a list of blocks of rows, which counts how often it is read."""

import numpy as np

from tamis.engine._row_blocks import LocalBlocks


class ListBlocks(LocalBlocks):
    """Blocks one after the other, as they were cut."""

    def __init__(self, X, cuts=(), column_names=None):
        self.parts = np.split(X, list(cuts))
        self.shape, self.dtype, self.column_names = X.shape, X.dtype, column_names
        self.n_passes = 0

    def _read(self, columns):
        self.n_passes += 1
        for part in self.parts:
            yield part if columns is None else part[:, columns]

    def head(self, n_rows):
        n_passes = self.n_passes
        rows = super().head(n_rows)
        self.n_passes = n_passes  # a look at the first rows is no pass
        return rows
