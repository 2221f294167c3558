"""Rows that come after ``fit``: checked as those of ``fit`` were, and against the columns that it has seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from tamis.base._raw_input import check_container, check_two_dimensional, shown
from tamis.base._validation import (
    check_finite,
    check_frame,
    errors_that_name_columns,
    in_canonical_format,
    non_numeric_columns,
    not_numeric,
)

_MOST_NAMED = 5
_AS_IN_FIT = "give numbers, as in fit"


def check_new_rows(estimator: BaseEstimator, X: Any, *, accept_sparse: bool) -> Any:
    """Validated numbers for a fitted estimator: double or single precision, finite."""
    X = check_new_table(estimator, X)
    with errors_that_name_columns(X, _AS_IN_FIT):
        table = validate_data(
            estimator,
            X,
            reset=False,
            accept_sparse=("csc", "csr") if accept_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
    table = in_canonical_format(table)
    check_finite(table, estimator, allow_nan=False, suggestion="")
    return table


def check_rows_to_keep_columns_of(estimator: BaseEstimator, X: Any, *, allow_nan: bool) -> Any:
    """Validated rows for a fitted selector: numbers of whatever type they are, for they are handed out again."""
    X = check_new_table(estimator, X)
    with errors_that_name_columns(X):
        table = validate_data(estimator, X, reset=False, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    check_holds_numbers(estimator, X, table, allow_nan=allow_nan)
    return table


def check_holds_numbers(estimator: BaseEstimator, X: Any, table: Any, *, allow_nan: bool) -> None:
    """Refuse a table, validated from ``X``, that holds text, dates, or values that are not finite."""
    kind = getattr(table.dtype, "kind", "f")
    if kind in "OUSmM":
        if guilty := non_numeric_columns(X if nw.dependencies.is_into_dataframe(X) else table):
            raise not_numeric(guilty, _AS_IN_FIT)
        with errors_that_name_columns(X):
            table = table.astype(float)
    if kind not in "biu":
        check_finite(table, estimator, allow_nan=allow_nan, suggestion="")


def check_kept_columns(X: Any, n_kept: int) -> Any:
    """A table that can be read, with as many columns as a selector keeps."""
    X = check_container(X)
    check_frame(X, allow_dates=True)
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_two_dimensional(X)
    if X.shape[1] != n_kept:
        raise ValueError(f"X has {X.shape[1]} columns, but {n_kept} are kept: give a table as transform gives it")
    return X


def check_new_table(estimator: BaseEstimator, X: Any) -> Any:
    """A table that can be read, with the columns that ``fit`` has seen where both have names."""
    X = check_container(X)
    check_frame(X)
    check_two_dimensional(X)
    check_same_columns(estimator, X)
    return X


def check_same_columns(estimator: BaseEstimator, X: Any) -> None:
    """Refuse a data frame or a mapping whose columns are others than those of ``fit``, or in another order."""
    seen = getattr(estimator, "feature_names_in_", None)
    if nw.dependencies.is_into_dataframe(X):
        names = list(X.column_names if nw.dependencies.is_pyarrow_table(X) else X.columns)
    elif isinstance(X, Mapping) and not sparse.issparse(X):  # some sparse formats are mappings
        names = [str(name) for name in X]
    else:
        return
    if seen is not None and all(isinstance(name, str) for name in names):
        check_same_names(names, list(seen))


def check_same_names(names: list[str], seen: list[str]) -> None:
    """Refuse columns of other names than those that ``fit`` has seen, or in another order, and say which."""
    if names == seen:
        return
    known, given = set(seen), set(names)
    missing, unknown = [name for name in seen if name not in given], [name for name in names if name not in known]
    told = [f"X lacks {_enumerate(missing)}"] * bool(missing)
    told += [f"{'' if missing else 'X '}holds {_enumerate(unknown)}, which fit has not seen"] * bool(unknown)
    if not told:
        place = next(i for i, (now, before) in enumerate(zip(names, seen, strict=False)) if now != before)
        told = [f"column {place} is {shown(names[place])}, where fit was given {shown(seen[place])}"]
    cure = "give all columns of fit, in their order" if missing else "give the columns of fit, in their order"
    raise ValueError(
        f"The feature names should match those that were passed during fit: {' and '.join(told)}; {cure}, as "
        "feature_names_in_ lists them"
    )


def _enumerate(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(shown, names[:_MOST_NAMED])) + more
