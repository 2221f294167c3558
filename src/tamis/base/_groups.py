"""Features that stay or go together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from tamis.base import Ranker, Ranking, StopDecision
from tamis.base._validation import column_name


class GroupedRanker(Ranker):
    """Base of methods with a parameter ``groups``, whose candidates are then groups of columns.

    ``_rank`` ranks candidates; what is stored after ``fit`` speaks of columns, those of a group side by side.
    """

    groups: Any

    def _members(self, n_features: int) -> list[np.ndarray] | None:
        """Columns of every group; None where each column stands for itself."""
        if self.groups is None:
            return None
        codes, _ = self._read_groups(n_features)
        return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])

    def _read_groups(self, n_features: int) -> tuple[np.ndarray, list[Any]]:
        return read_groups(self.groups, n_features, [column_name(self, j) for j in range(n_features)])

    def _n_candidates(self, X: Any) -> int:
        return X.shape[1] if self.groups is None else len(self._read_groups(X.shape[1])[1])

    def _candidate_order(self) -> np.ndarray:
        return super()._candidate_order() if self.groups is None else self._group_order

    def _features(self, X: Any, indices: np.ndarray) -> Any:
        members = self._members(X.shape[1])
        return super()._features(X, indices if members is None else np.concatenate([members[g] for g in indices]))

    def _among_copies(self, place: np.ndarray) -> Ranker:
        ranker = super()._among_copies(place)
        if self.groups is not None:
            codes, labels = self._read_groups(place.size // 2)
            ranker.set_params(groups=np.concatenate([codes, codes + len(labels)])[place])
        return ranker

    def _standing(self, place: np.ndarray, fitted: Any) -> np.ndarray:
        if self.groups is None:
            return super()._standing(place, fitted)
        value = np.full(2 * len(self._read_groups(place.size // 2)[1]), np.nan)
        value[fitted.group_order_.astype(np.int64)] = -np.arange(fitted.group_order_.size, dtype=float)
        return value

    def _feature_name(self, j: int) -> str:
        """A column's name; or a group's label, while ``fit`` speaks of groups."""
        return super()._feature_name(j) if self.groups is None else str(self._read_groups(self.n_features_in_)[1][j])

    def _store(self, X: Any, ranking: Ranking, decision: StopDecision) -> None:
        members = self._members(X.shape[1])
        if members is None:
            super()._store(X, ranking, decision)
            return
        _, labels = self._read_groups(X.shape[1])
        self._group_order = ranking.order
        self.group_order_ = np.empty(ranking.order.size, dtype=object)
        self.group_order_[:] = [labels[g] for g in ranking.order]
        n_columns = sum(members[g].size for g in ranking.order[: decision.n_features])
        reason = f"{decision.reason}: {n_columns} columns of {decision.n_features} groups"
        super()._store(X, _spread(ranking, members, labels), replace(decision, n_features=n_columns, reason=reason))


def _spread(ranking: Ranking, members: list[np.ndarray], labels: list[Any]) -> Ranking:
    """A ranking of groups as one of their columns."""
    scores = np.full(sum(columns.size for columns in members), np.nan)
    for group, columns in enumerate(members):
        scores[columns] = ranking.scores[group]
    order = np.concatenate([members[g] for g in ranking.order]) if ranking.order.size else ranking.order
    path = tuple(
        replace(step, feature=int(j), info={**step.info, "group": labels[step.feature]})
        for step in ranking.path
        for j in members[step.feature]
    )
    return Ranking(order, scores, path, ranking.certificate)


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
    labels = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    for j, label in enumerate(labels):
        if not isinstance(label, Hashable) or label != label:
            raise ValueError(f"groups has {label!r} for column {j}, which cannot be a label; use text or whole numbers")
    if len(labels) != n_features:
        raise ValueError(f"groups has {len(labels)} labels, but X has {n_features} columns: give one per column")
    return labels


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
