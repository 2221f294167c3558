"""Checks on signals of any shape, and on their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from tamis._sklearn import array_namespace, is_torch_array
from tamis.base._target_values import check_holds_classes
from tamis.base._validation import check_classes, errors_that_name_columns


def is_table(X: Any) -> bool:
    """Whether X has the axes of a table, and is no tensor: scikit-learn checks these."""
    return not is_torch_array(X) and (len(X.shape) if hasattr(X, "shape") else np.asarray(X).ndim) < 3


def check_labels(y: Any, signals: Any, name: str) -> np.ndarray:
    """One class per signal; ``name`` is that of the method."""
    labels = check_classes(y, signals)
    check_holds_classes(labels, name)
    return labels


def check_finite_signals(X: Any) -> Any:
    """Floating-point signals of any shape, numpy or torch, all finite; else the first that is not is named."""
    if is_torch_array(X):
        X, is_finite = _read_tensor(X)
    else:
        with errors_that_name_columns(X):
            X = check_array(
                X,
                allow_nd=True,
                ensure_2d=False,
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                input_name="X",
            )
        is_finite = np.isfinite(X).reshape(len(X), -1).all(axis=1)
    guilty = np.flatnonzero(~is_finite)
    if guilty.size:
        raise ValueError(
            f"Input X contains NaN or infinity in {guilty.size} of {len(is_finite)} signals, the first being signal "
            f"{guilty[0]}; fill or drop them first"
        )
    return X


def _read_tensor(X: Any) -> tuple[Any, np.ndarray]:
    """Floating-point numbers, and which signals are finite."""
    xp = array_namespace(X)
    if X.ndim < 2 or X.shape[0] == 0:
        raise ValueError(f"signals must have one entry per sample along the first axis of several, not shape {X.shape}")
    if not xp.isdtype(X.dtype, "real floating"):
        X = xp.astype(X, xp.float32)
    return X, np.asarray(xp.all(xp.reshape(xp.isfinite(X), (X.shape[0], -1)), axis=1).cpu())
