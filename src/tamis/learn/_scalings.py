"""How columns are scaled before a model is given them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

_COMPARABLE = 100.0  # ratio of standard deviations up to which columns may share a unit
_SKEWED = 1.0
_ROW_NORM = 10.0


class CommonScale(TransformerMixin, BaseEstimator):
    """Center columns and divide all of them by one number, so that their spreads keep their proportions.

    Models with a fixed penalty and a fixed tolerance are then given neither huge nor tiny numbers.
    """

    def fit(self, X: Any, y: Any = None) -> CommonScale:
        """Learn means and the common unit.

        Parameters
        ----------
        X : table
        y : ignored

        Returns
        -------
        self
        """
        if sparse.issparse(X):
            self.mean_ = None
            square = float(np.mean(np.asarray(X.multiply(X).mean(axis=0))))
        else:
            self.mean_ = np.mean(X, axis=0)
            square = float(np.mean((X - self.mean_) ** 2))
        self.scale_ = np.sqrt(square) if square > 0 else 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Scale rows.

        Parameters
        ----------
        X : table

        Returns
        -------
        table
        """
        return X / self.scale_ if self.mean_ is None else (X - self.mean_) / self.scale_


def _lengthen(rows: Any) -> Any:
    """Rows of norm one become ones of norm ten: penalties that suit standardized columns are too strong for them."""
    return _ROW_NORM * rows


def make_scaler(name: str, *, is_sparse: bool) -> Any:
    """The transformer of a scaling; None where columns stay as they are."""
    if name == "standardized":
        return StandardScaler(with_mean=not is_sparse)
    if name == "raw":
        return CommonScale()
    if name == "log":
        return make_pipeline(FunctionTransformer(np.log1p), StandardScaler())
    if name == "tf-idf":
        steps = (FunctionTransformer(np.log1p), TfidfTransformer(), FunctionTransformer(_lengthen))
        return make_pipeline(*steps)
    return None


def scalings_of(table: Any) -> list[str]:
    """Scalings worth trying for a table of numbers, the usual one first; the target is not looked at."""
    if sparse.issparse(table):
        is_counts = table.nnz > 0 and table.data.min() >= 0
        return ["tf-idf", "raw"] if is_counts else ["raw"]
    names = ["standardized"]
    deviations = np.std(table, axis=0)
    varying = deviations[deviations > 0]
    if varying.size > 1 and np.quantile(varying, 0.9) < _COMPARABLE * np.quantile(varying, 0.1):
        names.append("raw")
    if varying.size and table.min() >= 0:
        columns = table[:, deviations > 0]
        skewness = np.mean(((columns - columns.mean(axis=0)) / varying) ** 3, axis=0)
        if np.median(skewness) > _SKEWED:
            names.append("log")
    return names
