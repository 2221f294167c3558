"""Kernel matrices as the solvers use them: held in memory, or as a product that is never formed."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dger

_MAX_FORMED_BYTES = 2**26  # of a product that is formed only because it is quicker
_MAX_GRAM_BYTES = 2**32  # of a kernel matrix; some three of that size are held


class Gram(Protocol):
    """The operations of a solver on a symmetric positive semi-definite matrix K."""

    @property
    def diagonal(self) -> np.ndarray:
        """``K[i, i]``."""

    def times(self, values: np.ndarray) -> np.ndarray:
        """``K @ values``."""

    def column(self, rows: np.ndarray, j: int) -> np.ndarray:
        """``K[rows, j]``."""

    def block(self, rows: np.ndarray) -> np.ndarray:
        """``K[rows][:, rows]``."""


class DenseGram:
    """A matrix in memory; it may be changed in place."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.replace(matrix)

    def replace(self, matrix: np.ndarray) -> None:
        """Take another matrix."""
        self.matrix = matrix
        self.diagonal = matrix.diagonal()  # a view, which follows changes in place

    def times(self, values: np.ndarray) -> np.ndarray:
        """``K @ values``."""
        return self.matrix @ values

    def column(self, rows: np.ndarray, j: int) -> np.ndarray:
        """``K[rows, j]``."""
        return self.matrix[j].take(rows)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """``K[rows][:, rows]``."""
        return self.matrix[np.ix_(rows, rows)]


class FactorGram:
    """``T' T`` of a table with one feature per row, dense or sparse: formed only where the table is not much smaller.

    Attributes
    ----------
    table : table of shape (n_features, n_rows)
    diagonal : ndarray of shape (n_rows,)
    """

    def __init__(self, table: Any) -> None:
        self._set_table(table)
        self._product = table.T @ table if self._is_worth_forming() else None

    def _set_table(self, table: Any) -> None:
        is_sparse = sparse.issparse(table)
        self.table = table.tocsc() if is_sparse else table
        self.diagonal = table.multiply(table).sum(axis=0) if is_sparse else np.einsum("ij,ij->j", table, table)

    def _is_worth_forming(self) -> bool:
        n_features, n_rows = self.table.shape
        return not sparse.issparse(self.table) and 8 * n_rows**2 <= _MAX_FORMED_BYTES and 4 * n_features >= n_rows

    def downdate(self, table: Any, columns: np.ndarray) -> None:
        """Take the table without the given features, of which ``columns`` are the values."""
        self._set_table(table)
        if self._product is None or not self._is_worth_forming():
            self._product = None
        elif len(columns) == 1:
            add_square(self._product, columns[0], -1.0)
        else:
            self._product -= columns.T @ columns

    def times(self, values: np.ndarray) -> np.ndarray:
        """``T' (T values)``."""
        return (self.table @ values) @ self.table if self._product is None else self._product @ values

    def column(self, rows: np.ndarray, j: int) -> np.ndarray:
        """``T[:, rows]' T[:, j]``."""
        if self._product is not None:
            return self._product[j].take(rows)
        own = self.table[:, j]
        return (own.toarray().ravel() if sparse.issparse(own) else own) @ self.table[:, rows]

    def block(self, rows: np.ndarray) -> np.ndarray:
        """``T[:, rows]' T[:, rows]``."""
        if self._product is not None:
            return self._product[np.ix_(rows, rows)]
        part = self.table[:, rows]
        product = part.T @ part
        return product.toarray() if sparse.issparse(product) else product


def add_square(matrix: np.ndarray, column: np.ndarray, factor: float) -> None:
    """``matrix += factor column column'`` of a symmetric matrix, in place."""
    if matrix.flags.c_contiguous:  # BLAS wants Fortran order, which the transpose has; it would copy any other
        dger(factor, column, column, a=matrix.T, overwrite_a=1)
    else:
        matrix += (factor * column[:, None]) * column


def check_gram_fits(n_rows: int, advice: str) -> None:
    """Refuse a dense n x n matrix that memory would hardly hold, and say what to do instead."""
    size = 8 * n_rows**2
    if size > _MAX_GRAM_BYTES:
        most = int((_MAX_GRAM_BYTES / 8) ** 0.5)
        raise ValueError(
            f"the kernel matrix of {n_rows} rows takes {size / 2**30:.0f} GiB, several times over; give a sample of at "
            f"most {most} rows, or {advice}"
        )
