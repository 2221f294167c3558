"""Which features were kept: a mask, indices or a fitted selector, all read the same way."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.kernels.arrays.columns import to_numpy


def as_support(
    support: Any, n_features: int | None = None, *, allow_empty: bool = False, name: str = "support"
) -> np.ndarray:
    """Read a selection as feature indices.

    Parameters
    ----------
    support : None, boolean mask, indices or fitted selector
        None means all features. Indices must differ and keep their order; a mask and a selector give ascending ones.
        Anything with a scikit-learn ``get_support`` or a boolean ``support_`` is a selector; arrays may live on any
        device.
    n_features : int or None, default=None
        Number of features of the table. None where it is not known: a mask or a selector then speaks for itself, and
        indices have no upper limit.
    allow_empty : bool, default=False
        Whether keeping nothing is an answer here.
    name : str, default="support"
        What errors call it.

    Returns
    -------
    ndarray of int64
    """
    if support is None:
        if n_features is None:
            raise ValueError(f"{name}=None means all features, but their number is not known: give a mask or indices")
        return np.arange(n_features)
    values = _read(support, name)
    if values.dtype.kind == "b":
        if n_features is not None and values.size != n_features:
            raise ValueError(f"{name} speaks of {values.size} features, but there are {n_features}")
        indices = np.flatnonzero(values)
    else:
        indices = values.astype(np.int64)
        _check_indices(indices, n_features, name)
    if not indices.size and not allow_empty:
        raise ValueError(f"{name} keeps no feature: there is nothing to judge")
    return indices


def known_length(support: Any) -> int | None:
    """Number of features a selection speaks of; None for indices, which do not tell."""
    if support is None:
        return None
    values = _read(support, "support")
    return values.size if values.dtype.kind == "b" else None


def is_selector(support: Any) -> bool:
    """Whether this is an estimator that selects features, rather than an array of any kind."""
    return hasattr(support, "get_support") or hasattr(support, "support_")


def check_names(support: Any, names: list[str] | None) -> None:
    """Refuse a selector that was fitted on columns of other names, or in another order, than the table's."""
    fitted_on = getattr(support, "feature_names_in_", None)
    if fitted_on is None or names is None or len(fitted_on) != len(names):
        return  # another number of features is as_support's to refuse
    for place, (before, now) in enumerate(zip(fitted_on, names, strict=True)):
        if before != now:
            raise ValueError(
                f"column {place} of X is '{now}', but {type(support).__name__} was fitted with '{before}' there: "
                "give the columns in the same order"
            )


def _read(support: Any, name: str) -> np.ndarray:
    """A boolean or an integer vector."""
    if is_selector(support):
        mask = as_numpy(support.get_support() if hasattr(support, "get_support") else support.support_)
        if mask.dtype.kind != "b" or mask.ndim != 1:
            raise ValueError(f"{type(support).__name__} is no feature selector: its support_ is not a boolean mask")
        return mask
    values = as_numpy(support)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be a boolean mask, a list of indices or a fitted selector; "
            f"got {type(support).__name__} of shape {values.shape}"
        )
    if values.size and values.dtype.kind not in "biu":
        raise ValueError(
            f"{name} must hold booleans (a mask) or integers (indices); got {type(support).__name__} of {values.dtype}"
        )
    return values


def as_numpy(values: Any) -> np.ndarray:
    """An array of any library and device, or a list, as numpy."""
    return to_numpy(values) if hasattr(values, "__dlpack__") else np.asarray(values)


def _check_indices(indices: np.ndarray, n_features: int | None, name: str) -> None:
    """Refuse indices that are out of range or repeated."""
    limit = np.inf if n_features is None else n_features
    strangers = indices[(indices < 0) | (indices >= limit)]
    if strangers.size:
        known = (
            "indices start at 0" if n_features is None else f"there are {n_features} features, 0 to {n_features - 1}"
        )
        raise ValueError(f"{name} holds index {strangers[0]}, but {known}")
    distinct, counts = np.unique(indices, return_counts=True)
    if distinct.size < indices.size:
        twice = distinct[counts > 1][0]
        hint = "; if it is a mask, make it boolean" if distinct[-1] <= 1 else ""
        raise ValueError(f"{name} holds index {twice} more than once{hint}")
