"""Tables as the judges of a selection read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from tamis._sklearn import get_namespace, safe_indexing
from tamis.base._validation import check_table, known_names
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents, scale_columns, standard_deviations


class TableReader(BaseEstimator):
    """Stands in for the estimator that scikit-learn's validation wants to speak of."""


TableReader.__name__ = "tamis.assess"  # what its messages say


def read_table(X: Any, *, accept_sparse: bool = True, min_rows: int = 2) -> tuple[Any, list[str] | None]:
    """A validated table, and the names of its columns if it has any."""
    reader = TableReader()
    table, _ = check_table(reader, X, accept_sparse=accept_sparse, min_rows=min_rows)
    names = known_names(reader)
    return table, None if names is None else [str(name) for name in names]


def read_test_table(X_test: Any, like: Any, names: list[str] | None) -> Any:
    """Validated held-out rows of the table ``like``, sparse or dense as it is."""
    table, test_names = read_table(X_test, min_rows=1)
    if table.shape[1] != like.shape[1]:
        raise ValueError(f"X_test has {table.shape[1]} columns, but X has {like.shape[1]}: give the same features")
    if None not in (names, test_names) and names != test_names:
        raise ValueError("X_test has other columns than X, or in another order: give the same features")
    if sparse.issparse(like):
        return sparse.csr_array(table)
    if sparse.issparse(table):
        return table.toarray()
    if get_namespace(table)[0] is not get_namespace(like)[0]:
        raise ValueError("X_test and X are arrays of different libraries: give both in the same")
    return table


def kept_columns(X: Any, kept: np.ndarray, X_test: Any, *, standardize: bool) -> tuple[Any, Any]:
    """The kept columns of both tables, in units of their standard deviation over ``X`` if ``standardize``."""
    tables: list[Any] = [None if table is None else safe_indexing(table, kept, axis=1) for table in (X, X_test)]
    if standardize:
        exponents = overflow_exponents(tables[0])
        tables = [None if table is None else ldexp_columns(table, exponents) for table in tables]
        deviations = standard_deviations(tables[0])
        if not sparse.issparse(X):  # distances keep their digits where the mean is much larger than the deviation
            origin = tables[0][:1, :]
            tables = [None if table is None else table - origin for table in tables]
        tables = [None if table is None else scale_columns(table, deviations) for table in tables]
    return tables[0], tables[1]
