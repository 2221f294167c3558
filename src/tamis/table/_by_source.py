"""From source columns to encoded ones and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.base import BackwardRanker, ColumnCandidates, Ranker, read_groups
from tamis.table._encoded import Encoded, Wishes
from tamis.table._source import Source
from tamis.table._target import target_columns

_MOST_NAMED = 5


def wishes_of(ranker: Ranker, y: np.ndarray | None, takes_missing: bool) -> Wishes:
    """How a ranker wants its columns.

    An elimination trains a model of all columns at once, which pays for every one of them: few it is.
    """
    layout = "groups" if "groups" in ranker.provides and not isinstance(ranker, BackwardRanker) else "few"
    if "discrete" in ranker.get_params(deep=False):
        layout = "codes"
    if y is None or not ranker.supervised:
        return Wishes(layout, takes_missing)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    return Wishes(layout, takes_missing, target_columns(y, ranker._find_task(y)))


def refuse_missing(source: Source) -> None:
    """Raise where a value is missing, with the columns and how many."""
    counts = source.n_missing()
    if guilty := np.flatnonzero(counts).tolist():
        told = ", ".join(f"'{source.names[j]}' ({counts[j]})" for j in guilty[:_MOST_NAMED])
        more = f" and {len(guilty) - _MOST_NAMED} more columns" if len(guilty) > _MOST_NAMED else ""
        raise ValueError(f"X has missing values in {told}{more}; use missing='impute', or fill or drop them first")


def group_labels(groups: Any, source: Source) -> list[Any]:
    """Label of the group of every source column: its own name, or what was asked for."""
    if groups is None:
        return source.names
    codes, labels = read_groups(groups, source.n_columns, source.names)
    return [labels[code] for code in codes] if len(set(labels)) == len(labels) else codes.tolist()


def find_columns(source: Source, parameter: str, wanted: Any) -> np.ndarray:
    """Places of source columns, given by name or place."""
    if wanted is None:
        return np.empty(0, dtype=int)
    return ColumnCandidates(np.empty((0, source.n_columns)), column_names=source.names).find(parameter, wanted)


def first_of_each(places: np.ndarray) -> np.ndarray:
    """Every place once, in the order of first appearance."""
    _, first = np.unique(places, return_index=True)
    return places[np.sort(first)]


def best_of_each(scores: np.ndarray, places: np.ndarray, n_columns: int) -> np.ndarray:
    """Highest score among the encoded columns of every source column, NaN where there is none."""
    best = np.full(n_columns, np.nan, dtype=scores.dtype)
    np.fmax.at(best, places, scores)
    return best


def names_by_source(encoded: Encoded, source: Source) -> dict[str, list[str]]:
    """Names of the encoded columns of every source column."""
    names: dict[str, list[str]] = {name: [] for name in source.names}
    for place, name in zip(encoded.places.tolist(), encoded.names, strict=True):
        names[source.names[place]].append(name)
    return names


def causes(not_ranked: dict[int, str], source: Source) -> str:
    """``'id': a different text in every row; ...``, the first few."""
    return "; ".join(f"'{source.names[j]}': {cause}" for j, cause in sorted(not_ranked.items())[:_MOST_NAMED])
