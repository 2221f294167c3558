"""Which columns belong together, as users say it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

GROUPS_CONSTRAINT = ["array-like", dict, None]


def read_groups(groups: Any, n_features: int, names: list[str]) -> tuple[np.ndarray, list[Any]]:
    """Group of every column, numbered in the order in which they first appear, and the label of every group.

    Parameters
    ----------
    groups : array-like of shape (n_features,) or mapping
        A label per column; or label -> columns, by name or place, where columns that are not named stand alone.
    n_features : int
    names : list of str
        What the columns are called.
    """
    labels = _from_mapping(groups, n_features, names) if isinstance(groups, Mapping) else _from_list(groups, n_features)
    number: dict[Any, int] = {}
    codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int64)
    return codes, [label if not isinstance(label, _Alone) else label.name for label in number]


@dataclass(frozen=True)
class _Alone:
    """A column in no group; it is not the group that has its name."""

    name: str


def _from_list(groups: Any, n_features: int) -> list[Any]:
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise ValueError(f"groups={groups!r} must be a list with one label per column, or a mapping label -> columns")
    labels = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    for j, label in enumerate(labels):
        if not _is_label(label):
            raise ValueError(f"groups has {label!r} for column {j}, which cannot be a label; use text or whole numbers")
    if len(labels) != n_features:
        raise ValueError(f"groups has {len(labels)} labels, but X has {n_features} columns: give one per column")
    return labels


def _is_label(label: Any) -> bool:
    """Whether equal labels can be told from others: nothing missing, nothing that changes."""
    if label is None or not isinstance(label, Hashable):
        return False
    try:
        return bool(label == label)
    except (TypeError, ValueError):  # a missing value of pandas equals nothing, not even itself
        return False


def _from_mapping(groups: Mapping[Any, Any], n_features: int, names: list[str]) -> list[Any]:
    place: dict[Any, int] = {name: j for j, name in enumerate(names)}
    labels: list[Any] = [_Alone(name) for name in names]
    for label, columns in groups.items():
        columns = [columns] if isinstance(columns, str) else columns
        if isinstance(columns, Mapping) or not isinstance(columns, Iterable):
            raise ValueError(f"groups[{label!r}]={columns!r} must be a list of columns, by name or place")
        for column in columns:
            if isinstance(column, (bool, np.bool_)) or not isinstance(column, Hashable):
                raise ValueError(f"groups[{label!r}] holds {column!r}, which is neither a name nor a place of a column")
            j = int(column) if isinstance(column, Integral) else place.get(column, -1)
            if not 0 <= j < n_features:
                raise ValueError(f"groups[{label!r}] names column {column!r}, which X does not have")
            if not isinstance(labels[j], _Alone):
                raise ValueError(f"groups has column {column!r} in both {labels[j]!r} and {label!r}")
            labels[j] = label
    return labels
