"""Tables of any kind: their columns read, some of them handed out as they came in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from tamis._sklearn import safe_indexing
from tamis.base._raw_input import check_container
from tamis.base._validation import errors_in_one_line
from tamis.kernels.arrays.sparse_indices import with_short_indices
from tamis.table._source import enumerate_names


class ReadsTables(BaseEstimator):
    """Base of estimators that are given tables as they are: it checks names and shape."""

    _accepts_sparse: ClassVar[bool] = False

    def _read_input(self, X: Any, *, reset: bool) -> Any:
        """Check names and shape; arrays are validated, frames and mappings come back as they are."""
        X = check_container(X)
        if isinstance(X, Mapping) and not sparse.issparse(X):  # some sparse formats are mappings
            names = np.array([str(name) for name in X], dtype=object)
            if reset:
                self.feature_names_in_, self.n_features_in_ = names, names.size
            elif not np.array_equal(names, self.feature_names_in_):
                raise ValueError(f"X must have the columns given to fit: {enumerate_names(self.feature_names_in_)}")
            return X
        if nw.dependencies.is_into_dataframe(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        with errors_in_one_line():
            checked = validate_data(
                self,
                X,
                reset=reset,
                dtype=None,
                accept_sparse="csr" if self._accepts_sparse else False,
                ensure_all_finite=sparse.issparse(X),
                ensure_min_samples=2 if reset else 1,
            )
        return with_short_indices(checked)


def take_columns(X: Any, places: np.ndarray) -> Any:
    """Some columns of a data frame, a mapping or an array, as they are."""
    if isinstance(X, Mapping) and not sparse.issparse(X):
        names = list(X)
        return {names[place]: X[names[place]] for place in places.tolist()}
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[:, places.tolist()].to_native()
    return safe_indexing(X, places, axis=1)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a data frame, a mapping or an array, as they are."""
    if isinstance(X, Mapping) and not sparse.issparse(X):
        return {name: np.asarray(column)[rows] for name, column in X.items()}
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[rows.tolist()].to_native()
    return safe_indexing(X, rows, axis=0)
