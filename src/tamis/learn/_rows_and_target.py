"""A table and a target as they come, checked, and the folds of their rows."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from tamis.base import check_classes_recur, split_rows
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.targets import check_varies, encode_classes, infer_task
from tamis.table._source import read_source

_N_PARTITIONS = 5
_LEAST_VARIANCE = 1e-200  # of a target; sums of squares over its mean square are still numbers


def encode_labels(labels: np.ndarray, task: str) -> tuple[np.ndarray | None, np.ndarray]:
    """Classes and their codes, or quantities as floats."""
    if task == "classification":
        if labels.dtype.kind == "f" and np.any(labels != np.round(labels)):
            is_quantity = infer_task(labels) == "regression"
            raise ValueError(
                "Unknown label type: continuous. "
                + (
                    "y holds quantities: give task='regression'"
                    if is_quantity
                    else "y holds fractions as classes: give them as text, or task='regression'"
                )
            )
        if isinstance(labels[0], bytes):
            raise ValueError("y holds bytes: give labels as text, such as np.char.decode(y)")
        check_classes_recur(labels)
        classes, codes = encode_classes(labels)
        return classes, codes.ravel()
    if labels.dtype.kind not in "fiub":
        raise ValueError("y holds labels, not numbers; use task='classification' for classes")
    values = labels.astype(float)
    check_varies(labels, values)
    with np.errstate(over="ignore", under="ignore"):
        variance = float(np.var(values))
    if not _LEAST_VARIANCE < variance < 1 / _LEAST_VARIANCE:
        raise ValueError(f"y varies by {np.ptp(values):g}, whose squares are lost: give it in other units")
    return None, values


def split_folds(
    cv: Any, y: np.ndarray, task: str, row_groups: np.ndarray | None, seed: int
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[str]]:
    """Training and test rows, and what is to be said about them."""
    is_classes, notes = task == "classification", []
    if isinstance(cv, Integral) or cv is None:
        wanted = n_folds = 5 if cv is None else int(cv)
        if y.size < wanted:
            raise ValueError(f"X has {y.size} samples, fewer than cv={wanted} folds: give more rows or a smaller cv")
        if is_classes and row_groups is None and (rarest := int(np.bincount(y).min())) < wanted:
            if np.bincount(y).max() < 2:
                raise ValueError("every class has one row only: a model cannot learn from it and be tested on it")
            n_folds = max(2, rarest)
            notes.append(f"{n_folds} folds instead of {wanted}, for the rarest class has {rarest} rows")
        cv = n_folds
        if row_groups is None:  # rows at random: tables may be sorted
            cv = (StratifiedKFold if is_classes else KFold)(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        rows = np.empty((y.size, 0))
        folds = split_rows(cv, rows, y, classifier=is_classes, kept_rows=None, row_groups=row_groups)
    return _check_folds(folds, cv, y.size), notes


def check_folds_hold_both_classes(folds: list[tuple[np.ndarray, np.ndarray]], y: np.ndarray, cv: Any) -> None:
    """Refuse folds in which no row of one class can be compared with one of the other."""
    if any(np.unique(y[test]).size < 2 for _, test in folds):
        raise ValueError(
            f"scoring='roc_auc' compares rows of the two classes within each fold, and cv={cv!r} has a fold whose test "
            "rows are of one class: give larger or stratified folds, or another scoring"
        )


def further_partitions(
    cv: Any, n_folds: int, y: np.ndarray, task: str, row_groups: np.ndarray | None, seed: int
) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """Other partitions of the rows into as many folds; none where the user gave folds."""
    if not (isinstance(cv, Integral) or cv is None):
        return []
    is_classes = task == "classification"
    found = []
    for i in range(1, _N_PARTITIONS):
        shuffled: dict[str, Any] = {"shuffle": True, "random_state": (seed + i) % 2**32}
        if row_groups is None:
            splitter = (StratifiedKFold if is_classes else KFold)(n_folds, **shuffled)
        else:
            splitter = (StratifiedGroupKFold if is_classes else GroupKFold)(n_folds, **shuffled)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            folds = list(splitter.split(np.empty((y.size, 0)), y, row_groups))
        if not is_classes or all(np.unique(y[test]).size > 1 for _, test in folds):
            found.append(folds)
    return found


def _check_folds(folds: list[tuple[Any, Any]], cv: Any, n_rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds as numbers of rows, none of which is tested by what has seen it."""
    found = []
    for fold in folds:
        train, test = (np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part) for part in fold)
        if train.size and test.size and not 0 <= min(train.min(), test.min()) <= max(train.max(), test.max()) < n_rows:
            raise ValueError(f"cv names rows that X does not have: they are 0 to {n_rows - 1}")
        if (both := np.intersect1d(train, test)).size:
            raise ValueError(
                f"cv tests on row {both[0]} a model that has learned from it: give folds without common rows"
            )
        found.append((train, test))
    if not found or any(part.size == 0 for fold in found for part in fold):
        raise ValueError(f"cv={cv!r} leaves a model without rows to learn from or to be tested on: give other folds")
    return found


def as_numbers(X: Any) -> Any:
    """An array of finite numbers or a sparse table as it is, anything else as columns of what they hold."""
    if sparse.issparse(X):
        return X.tocsr() if X.dtype.kind == "f" else X.tocsr().astype(float)
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and not has_missing(X):
        if not np.isfinite(X).all():
            raise ValueError("Input X contains infinity; replace or drop it")
        return X if X.dtype.kind == "f" else X.astype(float)
    return read_source(X)
