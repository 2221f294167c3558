"""Checks on signals of any shape, and their labels."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from sklearn.externals.array_api_compat import array_namespace, is_torch_array
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from tamis._sklearn import check_y
from tamis.base._validation import check_table


def check_signals(estimator: Any, X: Any, y: Any) -> Any:
    """Training signals: a table as every method takes it, or finite numbers along three axes or more."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    if is_torch_array(X) and not _takes_torch(estimator):
        X = np.asarray(X.cpu())
    if is_torch_array(X):
        return _check_tensor(estimator, X, y)
    if _count_axes(X) < 3:
        table, _ = check_table(estimator, X, y, accept_sparse=estimator.__sklearn_tags__().input_tags.sparse)
        estimator.signal_shape_ = table.shape[1:]
        return table
    signals = _check_numbers(X)
    check_consistent_length(signals, y)
    _remember_shape(estimator, signals)
    return signals


def check_new_signals(estimator: Any, X: Any) -> Any:
    """Signals like those of training."""
    if is_torch_array(X) and not _takes_torch(estimator):
        X = np.asarray(X.cpu())
    if not is_torch_array(X) and _count_axes(X) < 3 and len(estimator.signal_shape_) == 1:
        sparse = estimator.__sklearn_tags__().input_tags.sparse
        return validate_data(
            estimator, X, reset=False, accept_sparse=("csc", "csr") if sparse else False, dtype=[np.float64, np.float32]
        )
    signals = _check_tensor(estimator, X, None) if is_torch_array(X) else _check_numbers(X)
    if tuple(signals.shape[1:]) != tuple(estimator.signal_shape_):
        raise ValueError(
            f"signals have the shape {tuple(signals.shape[1:])}, and {type(estimator).__name__} was fitted on "
            f"{tuple(estimator.signal_shape_)}"
        )
    return signals


def _takes_torch(estimator: Any) -> bool:
    """Whether features are computed where signals are: not if they are columns of a table."""
    return estimator.dictionary is not None and getattr(estimator.dictionary, "accepts_torch", True)


def _count_axes(X: Any) -> int:
    return len(X.shape) if hasattr(X, "shape") else np.asarray(X).ndim


def check_labels(y: Any) -> np.ndarray:
    """One class per signal."""
    labels = column_or_1d(np.asarray(y.cpu()) if is_torch_array(y) else y, warn=True)
    labels = check_y(labels, y_numeric=False)
    check_classification_targets(labels)
    return labels


def _check_numbers(X: Any) -> np.ndarray:
    signals = check_array(
        X, allow_nd=True, ensure_2d=False, dtype=[np.float64, np.float32], ensure_all_finite=False, input_name="X"
    )
    _check_finite(signals, np.isfinite(signals).reshape(len(signals), -1).all(axis=1))
    return signals


def _check_tensor(estimator: Any, X: Any, y: Any) -> Any:
    xp = array_namespace(X)
    if X.ndim < 2 or X.shape[0] == 0:
        raise ValueError(f"signals must have one entry per sample along the first axis of several, not shape {X.shape}")
    if not xp.isdtype(X.dtype, "real floating"):
        X = xp.astype(X, xp.float32)
    finite = xp.all(xp.reshape(xp.isfinite(X), (X.shape[0], -1)), axis=1)
    _check_finite(X, np.asarray(finite.cpu()))
    if y is not None:
        check_consistent_length(X, y)
        _remember_shape(estimator, X)
    return X


def _check_finite(signals: Any, finite: np.ndarray) -> None:
    guilty = np.flatnonzero(~finite)
    if guilty.size:
        raise ValueError(
            f"Input X contains NaN or infinity in {guilty.size} of {len(finite)} signals, the first being signal "
            f"{guilty[0]}; fill or drop them first"
        )


def _remember_shape(estimator: Any, signals: Any) -> None:
    estimator.signal_shape_ = tuple(signals.shape[1:])
    estimator.n_features_in_ = prod(estimator.signal_shape_)
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
