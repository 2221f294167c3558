"""Mixed tables as judges read them: numbers with an indicator of what is missing, one column per level of the rest."""

from __future__ import annotations

import hashlib
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

_RAREST = 0.01  # share of the rows below which levels are pooled
_MISSING = "missing"


def is_mixed(X: Any) -> bool:
    """Whether a data frame holds anything but numbers, or lacks some of them."""
    frame = _read(X)
    if frame is None:
        return False
    if any(dtype.is_temporal() for dtype in frame.schema.values()):
        return True
    numbers, levels = _split(frame)
    return bool(levels.shape[1]) or bool(np.isnan(numbers).any())


def digest(X: Any) -> str:
    """What tells one data frame from another: names, numbers, and the rest as text."""
    frame = nw.from_native(X, eager_only=True)
    numbers, levels = _split(frame)
    found = hashlib.sha256(repr(list(zip(frame.columns, map(str, frame.schema.values()), strict=True))).encode())
    found.update(np.ascontiguousarray(numbers).tobytes())
    found.update(repr(levels.tolist()).encode())
    return found.hexdigest()


class FrameEncoder(TransformerMixin, BaseEstimator):
    """Encode a data frame for any model, with what its training rows teach.

    Numbers, truth values and dates become numbers, where they are missing the median, with an indicator beside. The
    rest is one-hot; levels of fewer than one row in a hundred share a column, and so do levels that were never seen.
    """

    def fit(self, X: Any, y: Any = None) -> FrameEncoder:
        """Learn medians and levels.

        Parameters
        ----------
        X : data frame
        y : ignored

        Returns
        -------
        self
        """
        numbers, levels = _split(nw.from_native(X, eager_only=True))
        self.imputer_ = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        self.one_hot_ = OneHotEncoder(
            handle_unknown="infrequent_if_exist", min_frequency=_RAREST, sparse_output=False, dtype=float
        )
        for part, values in ((self.imputer_, numbers), (self.one_hot_, levels)):
            if values.shape[1]:
                part.fit(values)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Encode rows.

        Parameters
        ----------
        X : data frame
            With the columns of that given to ``fit``.

        Returns
        -------
        ndarray
        """
        parts = zip((self.imputer_, self.one_hot_), _split(nw.from_native(X, eager_only=True)), strict=True)
        return np.hstack([part.transform(values) for part, values in parts if values.shape[1]])


def _read(X: Any) -> Any:
    """The data frame of any library; None where it is none."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _split(frame: Any) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers, NaN where missing, and columns of levels as text."""
    numbers, levels = [], []
    for name in frame.columns:
        column = frame[name]
        if column.dtype.is_temporal() and column.dtype not in (nw.Time, nw.Duration):
            column = column.dt.timestamp("ms")
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            numbers.append(np.array([np.nan if value is None else float(value) for value in column.to_list()]))
        else:
            levels.append([_MISSING if _is_missing(value) else str(value) for value in column.to_list()])
    n_rows = len(frame)
    return (
        np.column_stack(numbers) if numbers else np.empty((n_rows, 0)),
        np.array(levels, dtype=object).T if levels else np.empty((n_rows, 0), dtype=object),
    )


def _is_missing(value: Any) -> bool:
    return value is None or value != value
