"""The columns of a table as a dictionary."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import safe_indexing
from tamis.dictionary._base import FiniteDictionary
from tamis.dictionary._table import check_rows, name_inputs
from tamis.kernels.arrays.columns import Columns as ColumnsOperator
from tamis.kernels.arrays.columns import as_columns


class Columns(FiniteDictionary):
    r"""The columns of a table themselves, :math:`\phi_j(x) = x_j`: the finite set that infinite ones generalize.

    For methods that want a dictionary, when what there is to select from is a table.

    Parameters
    ----------
    None

    Attributes
    ----------
    n_features_in_ : int

    Notes
    -----
    Nothing is learned and nothing is copied: dense tables and scipy sparse ones are looked at where they are, and only
    the columns asked of ``compute`` become dense.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dictionary import Columns
    >>> X = np.arange(6.0).reshape(2, 3)
    >>> Columns().fit(X).compute(X, np.array([2, 0]))
    array([[2., 0.],
           [5., 3.]])
    """

    accepts_sparse: ClassVar[bool] = True

    def n_candidates(self, n_features: int) -> int:
        """As many as the table has columns."""
        return n_features

    def fit(self, X: Any, y: Any = None, *, sample_weight: np.ndarray | None = None) -> Columns:
        """Count the columns.

        Parameters
        ----------
        X : array or scipy sparse array of shape (n_samples, n_features)
        y, sample_weight : ignored

        Returns
        -------
        self
        """
        self.n_features_in_ = _check(self, X).shape[1]
        return self

    def candidates(
        self, X: Any, sample_weight: np.ndarray | None = None, *, fit_intercept: bool = True
    ) -> ColumnsOperator:
        """The columns of ``X`` as an operator, not copied."""
        check_is_fitted(self)
        return as_columns(_check(self, X), sample_weight, fit_intercept=fit_intercept)

    def compute(self, X: Any, indices: np.ndarray) -> np.ndarray:
        """The given columns of ``X``, dense: shape (n_samples, len(indices))."""
        check_is_fitted(self)
        X = _check(self, X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, but Columns was fitted on {self.n_features_in_}")
        if sparse.issparse(X):
            return X.tocsc()[:, indices].toarray()
        return safe_indexing(X, indices, axis=1)

    def names(self, indices: np.ndarray, input_features: Any) -> np.ndarray:
        """The names of the columns."""
        names = name_inputs(self.n_features_in_, input_features)
        return np.array([names[j] for j in indices], dtype=object)


def _check(dictionary: Columns, X: Any) -> Any:
    """A finite table, dense or sparse."""
    if not sparse.issparse(X):
        return check_rows(dictionary, X)
    entries = X.tocoo()
    invalid = entries.col[~np.isfinite(entries.data)]
    if invalid.size:
        column = int(invalid.min())
        count = int(np.sum(invalid == column))
        raise ValueError(
            f"column {column} holds {count} missing or infinite value{'s' if count > 1 else ''}; "
            "impute or drop them first"
        )
    return X
