"""Turn a target column into the columns that least squares explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents, rescale_safely

_MOST_INTEGER_CLASSES = 20
_FEWEST_LABELS_A_ROW = 20  # different labels, of which one a row is more than a small example
_MOST_CLASSES_PER_ROW = 0.75
_FIRST = 1000  # values that mostly tell a quantity
OUTLYING = 10.0  # robust standard deviations of a target
_FEWEST_COUNTS = 5
_LARGEST_WHOLE = 2.0**53  # up to which double precision holds all whole numbers


@dataclass(frozen=True)
class Target:
    """A target as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_targets)
        ``y`` itself for regression, -1 and +1 for two classes, one indicator per class beyond; several quantities each
        in units of its standard deviation.
    classes : ndarray or None
        Labels in sorted order; None for regression.
    scale : ndarray of shape (n_targets,) or None
        These units; None for one target.
    """

    values: np.ndarray
    classes: np.ndarray | None = None
    scale: np.ndarray | None = None

    def in_safe_units(self) -> Target:
        """The same, divided by a power of two where squares of its values would be lost."""
        return replace(self, values=rescale_safely(self.values))


def infer_task(y: np.ndarray) -> str:
    """Guess "classification" or "regression".

    Labels that are no numbers, two distinct values, or at most 20 distinct whole numbers are classes, unless nearly
    every row has its own; anything else is a quantity. Several columns are several quantities.
    """
    if y.ndim == 2:
        return "regression"
    if y.dtype.kind not in "fiu":
        return "classification"
    # a quantity mostly shows in its first values, which saves sorting all
    if not (_could_be_classes(y[:_FIRST]) and _could_be_classes(y)):
        return "regression"
    return "regression" if is_label_a_row(np.unique(y).size, y.size) else "classification"


def is_label_a_row(n_classes: int, n_rows: int) -> bool:
    """Whether there are nearly as many labels as rows, more than a small example has."""
    return n_classes >= _FEWEST_LABELS_A_ROW and n_classes > _MOST_CLASSES_PER_ROW * n_rows


def _could_be_classes(y: np.ndarray) -> bool:
    distinct = np.unique(y)
    whole = bool(np.all(distinct == np.round(distinct)))
    return distinct.size <= 2 or (whole and distinct.size <= _MOST_INTEGER_CLASSES)


def describe_target(y: np.ndarray, task: str) -> str:
    """What a target was taken for, in words."""
    if task == "classification" and y.ndim == 2:
        return f"y taken as {y.shape[1]} columns of classes"
    if task == "classification":
        return f"y taken as {np.unique(y).size} classes"
    return "y taken as a quantity" if y.ndim == 1 else f"y taken as {y.shape[1]} quantities"


def looks_like_counts(y: np.ndarray) -> bool:
    """Whether whole numbers that could be labels are rather counts or ratings.

    These are five or more values from zero up with hardly a gap between them, whose frequencies differ and fall from
    the most frequent value to both sides, up to what chance explains. Codes of classes are mostly of similar frequency,
    or in no order.
    """
    if y.ndim != 1 or y.dtype.kind not in "fiu":
        return False
    values, counts = np.unique(y, return_counts=True)
    if values.size < _FEWEST_COUNTS or values[0] < 0 or np.any(values != np.round(values)):
        return False
    has_gaps = values.size < 0.7 * (values[-1] - values[0] + 1)
    mode = int(counts.argmax())
    rest = np.delete(counts, mode)  # one frequent class among rare ones is no sign of counts
    is_uniform = _chi2(counts) < 2 * counts.size + 8 or _chi2(rest) < 2 * rest.size + 3  # tails of their laws
    rise = np.diff(counts) / np.sqrt(counts[1:] + counts[:-1])  # in standard deviations
    is_unimodal = bool(np.all(rise[:mode] > -2) and np.all(rise[mode:] < 2))
    return is_unimodal and not has_gaps and not bool(is_uniform)


def is_outlying(y: np.ndarray) -> np.ndarray:
    """Which values are further than ten robust standard deviations from the median.

    None where more than half of the values are equal: the spread is then zero.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.abs(y - np.median(y))
        return distance > OUTLYING * 1.4826 * np.median(distance) if np.median(distance) > 0 else np.zeros(y.size, bool)


def _chi2(counts: np.ndarray) -> float:
    """Pearson's statistic against equal frequencies."""
    return float(np.sum((counts - counts.mean()) ** 2) / counts.mean())


def has_fractions(y: np.ndarray) -> bool:
    """Whether numbers of a target are no labels: they have fractions, or are too large to tell whether they have."""
    if y.dtype.kind != "f":
        return False
    size = np.abs(y, dtype=float)  # half precision has no number as large
    return bool(np.any((y != np.round(y)) | (size > _LARGEST_WHOLE)))


def encode_target(y: np.ndarray, task: str = "auto") -> Target:
    """Encode ``y`` for least squares; raises ``ValueError`` when there is nothing to tell apart.

    A target of several columns is several quantities, whatever their values are.
    """
    if y.ndim == 2:
        values = _several_quantities(y, task)
        exponents = overflow_exponents(values)
        safe = ldexp_columns(values, exponents)
        unit = safe.std(axis=0)
        return Target(safe / unit, scale=unit if exponents is None else np.ldexp(unit, exponents))
    task = infer_task(y) if task == "auto" else task
    if task == "regression":
        if y.dtype.kind not in "fiub":
            raise ValueError("y holds labels, not numbers; use task='classification' for classes")
        values = y.astype(float)
        check_varies(y, values)
        return Target(values[:, None])
    classes, codes = encode_classes(y)
    if classes.size == 2:
        return Target(2.0 * codes[:, None] - 1.0, classes)
    return Target((codes[:, None] == np.arange(classes.size)).astype(float), classes)


def check_varies(y: np.ndarray, values: np.ndarray) -> None:
    """Refuse a quantity that is the same in every row, or that double precision rounds to a single value.

    Parameters
    ----------
    y : ndarray
        As it was given.
    values : ndarray
        The same in double precision.
    """
    if not np.all(values == values[0]):
        return
    if np.any(y != y[0]):
        raise ValueError(
            f"y holds different whole numbers, so large that double precision rounds them to {values[0]:g}: subtract "
            "an offset, y - y.min()"
        )
    raise ValueError(f"y is constant ({values[0]:g}): there is nothing to explain")


def _several_quantities(y: np.ndarray, task: str) -> np.ndarray:
    """Columns of numbers, each of which varies."""
    if task == "classification":
        raise ValueError(
            f"y has {y.shape[1]} columns, which are several quantities; give classes as one column of labels, or "
            "labels that go together as columns of 0 and 1 with task='regression'"
        )
    values = as_quantities(y)
    if (constant := np.flatnonzero(np.all(values == values[0], axis=0))).size:
        raise ValueError(f"column {constant[0]} of y is constant: there is nothing to explain; leave it out")
    return values


def as_quantities(y: np.ndarray) -> np.ndarray:
    """A target of several columns as numbers, or an error that says what to give instead."""
    try:
        return y.astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"y has {y.shape[1]} columns, not all of which are numbers; give labels as columns of 0 and 1"
        ) from None


def encode_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted labels, and the position of each sample's label among them."""
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"y holds one class only ({classes.tolist()[0]!r}); at least two classes are needed")
    return classes, codes


def class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, row_weight: np.ndarray | None = None
) -> np.ndarray:
    """One weight per class: one where ``class_weight`` is None or does not name it; "balanced" makes all sums equal.

    Parameters
    ----------
    class_weight : mapping from labels, "balanced" or None
    classes : ndarray
        Sorted labels.
    codes : ndarray of shape (n_samples,)
        Position of each sample's label among them.
    row_weight : ndarray of shape (n_samples,) or None
        How often each row counts, for "balanced".
    """
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):  # "balanced"
        counts = np.bincount(codes, weights=row_weight, minlength=classes.size)
        return counts.sum() / (classes.size * counts)
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(f"class_weight names {unknown[0]!r}, which is no class of y")
    weights = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    if not (np.all(weights > 0) and np.all(np.isfinite(weights))):
        raise ValueError(f"class_weight={class_weight!r} must hold positive numbers")
    return weights


def subproblems(codes: np.ndarray, n_classes: int, scheme: str) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Two-class problems that a many-class one splits into.

    Yields the classes set against each other, ``(i, j)`` with the rows of both for ``"ovo"``, ``(i,)`` against all
    others with every row for ``"ovr"``.
    """
    if scheme == "ovo":
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                yield (i, j), np.flatnonzero((codes == i) | (codes == j))
    else:
        for i in range(n_classes):
            yield (i,), np.arange(codes.size)
