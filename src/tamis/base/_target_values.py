"""Which values a target may hold: numbers, booleans or labels."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from tamis.base._raw_input import shown
from tamis.kernels.arrays.targets import encode_classes, has_fractions, infer_task, is_label_a_row

_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("numbers", (Real, Decimal, np.bool_)),
    ("text", (str,)),
    ("bytes", (bytes,)),
    ("dates", (date, np.datetime64)),
    ("durations", (timedelta, np.timedelta64)),
)
_LARGEST_INTEGER = 2**63
_LARGEST_SIZE = 2.0**400  # of a quantity: sums of squares over any number of rows stay numbers
_INSTEAD = {
    "dates": "give a quantity, such as days, (y - y.min()) / np.timedelta64(1, 'D'), or labels, such as years",
    "durations": "give a quantity, such as days, y / np.timedelta64(1, 'D')",
}


def check_target_values(values: np.ndarray) -> np.ndarray:
    """Refuse targets that hold neither numbers nor labels; numbers that are held as objects come back as numbers.

    Parameters
    ----------
    values : ndarray
        Without missing values.
    """
    if values.ndim > 2:
        raise ValueError(f"y has {values.ndim} dimensions: give one target per row, or a column for each of several")
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers; give its parts as quantities")
    if values.dtype.kind in "mM":
        kind = "dates" if values.dtype.kind == "M" else "durations"
        raise ValueError(f"y holds {kind}; {_INSTEAD[kind]}")
    if values.dtype.kind == "u" and values.size and int(values.max()) >= _LARGEST_INTEGER:
        raise _too_large()
    if values.dtype.kind == "O":
        values = _check_objects(values)
    if values.dtype.kind in "OU" and values.ndim == 1:
        _check_labels(values)
    return values


def _check_labels(values: np.ndarray) -> None:
    """Refuse text that differs from nearly every row to the next: a quantity was meant, or a name."""
    items = values.tolist()
    if not is_label_a_row(len(set(items)), values.size):
        return
    is_text = np.array([isinstance(item, str) and np.isnan(as_number(item)) for item in items])
    if 0 < is_text.sum() < values.size / 2:
        row = int(np.flatnonzero(is_text)[0])
        raise ValueError(
            f"y holds {shown(str(items[row]))} in row {row}, and numbers as text in {(~is_text).sum()} of "
            f"{values.size} rows: mend it, and give y.astype(float)"
        )
    if not is_text.any():
        raise ValueError("y holds numbers as text: give numbers, y.astype(float)")
    raise _too_many_classes(values, "texts", "numbers")


def check_classes_recur(y: np.ndarray) -> None:
    """Refuse classes of which there are nearly as many as rows: nothing varies within a class of one row."""
    if y.ndim == 1 and is_label_a_row(np.unique(y).size, y.size):
        raise _too_many_classes(y, "labels", "explain a quantity: task='regression', or a method for these")


def _too_many_classes(y: np.ndarray, noun: str, instead: str) -> ValueError:
    labels = y.tolist()
    first, last = (shown(label) if isinstance(label, str) else str(label) for label in (labels[0], labels[-1]))
    return ValueError(
        f"y holds {len(set(labels))} different {noun} in {y.size} rows, such as {first} and {last}: a class takes rows "
        f"to learn from; give fewer labels, or {instead}"
    )


def as_number(text: str) -> float:
    """The number that a text holds, with a decimal point or comma; NaN where there is none."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return float("nan")


def check_explained_by(estimator: BaseEstimator, y: np.ndarray) -> None:
    """Refuse targets that a user's model cannot learn, in one kind of words for all models.

    Parameters
    ----------
    estimator : classifier, regressor, or any other, which is not asked
    y : ndarray
        One target or several; of several none is looked at.
    """
    name = type(estimator).__name__
    if y.ndim > 1:
        return
    if is_classifier(estimator):
        if has_fractions(y):
            raise ValueError(
                f"y holds quantities, and estimator={name} needs classes; give a regressor, or classes as whole "
                "numbers or text in place of continuous values"
            )
        encode_classes(y)
    elif is_regressor(estimator) and y.dtype.kind not in "fiub":
        raise ValueError(f"y holds labels, and estimator={name} is for quantities: give a classifier, or numbers")


def check_holds_classes(y: np.ndarray, name: str, instead: str = "") -> None:
    """Refuse quantities where a method explains classes, in one kind of words for all.

    Parameters
    ----------
    y : ndarray
    name : str
        Of the method.
    instead : str, default=""
        What to use for quantities, in words: "use ..., or ".
    """
    if has_fractions(y) and infer_task(y) == "regression":
        raise ValueError(
            f"Unknown label type: continuous. {name} explains classes, but y holds quantities; {instead}give y as "
            "labels"
        )


def check_squares(values: np.ndarray) -> None:
    """Refuse quantities whose squares are lost, because they are too large or all too small."""
    sizes = np.abs(values).ravel()
    largest = float(sizes.max(initial=0.0))  # a Python float compares with half precision, whose range is smaller
    if largest == 0 or 1 / _LARGEST_SIZE <= largest <= _LARGEST_SIZE:
        return
    row = int(sizes.argmax()) // (values.shape[1] if values.ndim == 2 else 1)
    if largest > 1:
        raise ValueError(f"y holds {largest:.3g} in row {row}, whose square overflows: mend it, or give other units")
    raise ValueError(f"y holds nothing above {largest:.3g}, whose square vanishes: give other units")


def _too_large() -> ValueError:
    return ValueError(
        "y holds whole numbers of 2^63 and more, which would be rounded: give labels as text, y.astype(str), or a "
        "quantity in larger units"
    )


def _check_objects(values: np.ndarray) -> np.ndarray:
    items = values.ravel().tolist()
    kinds = {kind: _kind_of(kind) for kind in set(map(type, items))}
    first: dict[str, Any] = {}
    for item in items:
        first.setdefault(kinds[type(item)], item)
    for kind, item in first.items():
        if kind == "others":
            raise ValueError(f"y holds values of type {type(item).__name__}; give numbers or labels")
        if kind in _INSTEAD:
            raise ValueError(f"y holds {kind}; {_INSTEAD[kind]}")
    if len(first) > 1 and values.ndim == 1:
        examples = " and ".join(repr(item) for item in first.values())
        what = f"y holds both {' and '.join(first)}, such as {examples}"
        raise ValueError(f"{what}; mend the values, or give all as labels: y.astype(str)")
    return _as_numbers(values) if list(first) == ["numbers"] else values


def _kind_of(kind: type) -> str:
    """What the values of a type are; "others" for lists and the like."""
    return next((name for name, types in _KINDS if issubclass(kind, types)), "others")


def _as_numbers(values: np.ndarray) -> np.ndarray:
    """Whole numbers and booleans as such, others as floats."""
    items = values.ravel().tolist()
    if any(isinstance(item, int) and abs(item) >= _LARGEST_INTEGER for item in items):
        raise _too_large()
    numbers: Any = np.array(values.tolist())
    try:
        return numbers if numbers.dtype.kind in "fiub" else values.astype(float)
    except OverflowError:  # of fractions
        raise _too_large() from None
