"""Tables as the judges of a selection read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from tamis._validation import check_table, known_names
from tamis.kernels.scaling import scale_columns, unit_spread


class _Reader(BaseEstimator):
    """Stands in for the estimator that scikit-learn's validation wants to speak of."""


def read_table(X: Any, *, accept_sparse: bool = True) -> tuple[Any, list[str] | None]:
    """A validated table, and the names of its columns if it has any."""
    reader = _Reader()
    table, _ = check_table(reader, X, accept_sparse=accept_sparse)
    names = known_names(reader)
    return table, None if names is None else [str(name) for name in names]


def read_test_table(X_test: Any, n_features: int) -> Any:
    """Validated held-out rows of a table with ``n_features`` columns."""
    table, _ = read_table(X_test)
    if table.shape[1] != n_features:
        raise ValueError(f"X_test has {table.shape[1]} columns, but X has {n_features}: give the same features")
    return table


def kept_columns(X: Any, kept: np.ndarray, X_test: Any, *, standardize: bool) -> tuple[Any, Any]:
    """The kept columns of both tables, in units of their spread over ``X`` if ``standardize``."""
    tables = [None if table is None else _safe_indexing(table, kept, axis=1) for table in (X, X_test)]
    if standardize:
        spread = unit_spread(tables[0])
        tables = [None if table is None else scale_columns(table, spread) for table in tables]
    return tables[0], tables[1]
