"""Tables of any kind: their columns read, some of them handed out as they came in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tamis._sklearn import num_samples, safe_indexing
from tamis.base._new_rows import check_kept_columns, check_same_columns
from tamis.base._raw_input import check_container, check_two_dimensional
from tamis.base._validation import check_finite, column_name, errors_in_one_line
from tamis.kernels.arrays.sparse_indices import with_short_indices
from tamis.table._source import Source, held_otherwise, read_source


class ReadsTables(SelectorMixin, BaseEstimator):
    """Base of selectors that are given tables as they are: it checks names, shape, and what columns hold."""

    _accepts_sparse: ClassVar[bool] = False
    _kinds: dict[int, str]

    def inverse_transform(self, X: Any) -> Any:
        """Put the selected columns back in their places, with zeros where others were.

        Parameters
        ----------
        X : table of shape (n_samples, n_selected)

        Returns
        -------
        table of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_kept_columns(X, int(self._get_support_mask().sum()))
        with errors_in_one_line():
            return super().inverse_transform(X)

    def _read_input(self, X: Any, *, reset: bool) -> Any:
        """Check names and shape; arrays are validated, frames and mappings come back as they are."""
        X = check_container(X)
        if not reset:
            check_same_columns(self, X)
        if isinstance(X, Mapping) and not sparse.issparse(X):  # some sparse formats are mappings
            names = np.array([str(name) for name in X], dtype=object)
            if reset:
                self.feature_names_in_, self.n_features_in_ = names, names.size
            elif "feature_names_in_" not in vars(self) and names.size != self.n_features_in_:
                raise ValueError(f"X has {names.size} columns, and fit was given {self.n_features_in_}")
            elif names.size:
                self._check_has_rows(num_samples(next(iter(X.values()))))
            return X
        if nw.dependencies.is_into_dataframe(X):
            with errors_in_one_line():
                validate_data(self, X, reset=reset, skip_check_array=True)
            if not reset:
                self._check_has_rows(num_samples(X))
            return X
        check_two_dimensional(X)
        with errors_in_one_line():
            checked = validate_data(
                self,
                X,
                reset=reset,
                dtype=None,
                accept_sparse="csr" if self._accepts_sparse else False,
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        if sparse.issparse(checked):  # which encoders do not take
            check_finite(checked, self, allow_nan=False, suggestion="")
        return with_short_indices(checked)

    def _remember_kinds(self, table: Any) -> None:
        """What each column of a source, or of a table of numbers, holds: rows that come later must go with these."""
        self._kinds = _kinds_of(table) if isinstance(table, Source) else dict.fromkeys(range(table.shape[1]), "numbers")

    def _check_kinds(self, X: Any, places: np.ndarray) -> None:
        """Refuse columns that held numbers or dates in ``fit`` and hold something else now, or infinities.

        Where ``fit`` has seen text, any text will do, and numbers, too.
        """
        known = [j for j in places.tolist() if j in self._kinds]
        if sparse.issparse(X) or not known:
            return
        if isinstance(X, np.ndarray):
            if X.dtype.kind in "biu" or (X.dtype.kind == "f" and not np.isinf(X[:, known]).any()):
                return
            source = read_source({column_name(self, j): X[:, j] for j in known})
        else:
            source = read_source(take_columns(X, np.array(known)))
        kinds, n_missing = _kinds_of(source), source.n_missing()
        for i, j in enumerate(known):
            if kinds.get(i) != self._kinds[j] and n_missing[i] < source.n_rows:
                raise held_otherwise(source.names[i], self._kinds[j])

    def _check_has_rows(self, n_rows: int) -> None:
        if n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) while a minimum of 1 is required by {type(self).__name__}: X has no rows"
            )


def _kinds_of(source: Source) -> dict[int, str]:
    return dict.fromkeys(source.places.tolist(), "numbers") | dict.fromkeys(source.moments, "dates")


def take_columns(X: Any, places: np.ndarray) -> Any:
    """Some columns of a data frame, a mapping or an array, as they are."""
    if isinstance(X, Mapping) and not sparse.issparse(X):
        names = list(X)
        return {names[place]: X[names[place]] for place in places.tolist()}
    if nw.dependencies.is_pandas_dataframe(X):
        return X.iloc[:, places]  # with its rows, even where no column is taken
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[:, places.tolist()].to_native()
    return safe_indexing(X, places, axis=1)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a data frame, a mapping or an array, as they are."""
    if isinstance(X, Mapping) and not sparse.issparse(X):
        return {name: np.asanyarray(column)[rows] for name, column in X.items()}  # with their masks
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[rows.tolist()].to_native()
    return safe_indexing(X, rows, axis=0)
