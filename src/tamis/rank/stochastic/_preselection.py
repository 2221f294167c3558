"""What subsets are drawn from: columns that vary, are preselected, and no near copies; or groups of columns.

Their order depends on their values alone, so that the result does not depend on the order of the table's columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis.base import Ranker, fresh
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import as_columns, to_numpy
from tamis.kernels.arrays.copies import order_columns, place_columns
from tamis.rank.stochastic._column_groups import ColumnGroups
from tamis.rank.univariate._fisher_score import FisherScore

_BLOCK_COLUMNS = 256  # columns whose correlations with the leaders are computed at a time
_ROUNDING = 1e-12  # a column and a multiple of it correlate by one, less at most this


@dataclass(frozen=True)
class Pool:
    """What subsets are drawn from.

    Attributes
    ----------
    candidates : ndarray
        Columns of the table, or groups of them, that take part; in an order that depends on their values alone.
    columns : ndarray
        Columns of the table that these need: the candidates themselves where there are no groups.
    groups : ColumnGroups or None
        Places in ``columns`` of the members of each candidate.
    """

    candidates: np.ndarray
    columns: np.ndarray
    groups: ColumnGroups | None = None


def choose_columns(
    X: Any, codes: np.ndarray, preselect: Any, group_correlation: float | None
) -> tuple[Pool, np.ndarray | None]:
    """Columns to draw from, and the leader of each column's set of near copies."""
    columns = varying_columns(X)
    columns = columns[preselect_columns(preselect, X[:, columns], codes)]
    group_of = None
    if group_correlation is not None:
        leaders = columns[lead_groups(X[:, columns], codes, group_correlation)]
        group_of = np.arange(X.shape[1])
        group_of[columns] = leaders
        columns = np.unique(leaders)
    columns = columns[order_columns(X[:, columns])]
    return Pool(columns, columns), group_of


def choose_groups(
    X: Any, codes: np.ndarray, preselect: Any, members: Sequence[np.ndarray]
) -> tuple[Pool, list[np.ndarray]]:
    """Groups to draw from, those that hold a preselected column, and the columns of each that take part.

    Copies of a column share a place in the pool: two groups that hold them, drawn together, have it once. Of groups
    that are copies of each other the first takes part.
    """
    varying = varying_columns(X)
    varies, is_preselected = (np.zeros(X.shape[1], dtype=bool) for _ in range(2))
    varies[varying] = True
    is_preselected[varying[preselect_columns(preselect, X[:, varying], codes)]] = True
    used = [group[varies[group]] if is_preselected[group].any() else group[:0] for group in members]
    columns = np.sort(np.concatenate(used))
    order, place_of = place_columns(X[:, columns])
    candidate_of: dict[tuple[int, ...], int] = {}  # by the places of its columns
    for candidate, group in enumerate(used):
        places, first = np.unique(place_of[np.searchsorted(columns, group)], return_index=True)
        used[candidate] = group[first]
        if group.size:
            candidate_of.setdefault(tuple(places.tolist()), candidate)
    ordered = sorted(candidate_of)
    groups = ColumnGroups([np.array(places) for places in ordered])
    return Pool(np.array([candidate_of[places] for places in ordered]), columns[order], groups), used


def varying_columns(X: Any) -> np.ndarray:
    """Places of the columns that are not constant."""
    columns = np.flatnonzero(to_numpy(as_columns(X).norm2) > 0)
    if not columns.size:
        raise ValueError("no column of X varies by more than rounding: rescale them, or use standardize=True")
    return columns


def preselect_columns(preselect: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Places of the columns that a preselection keeps.

    A float is a threshold on the Fisher score (Gadat & Younes 2007, Sec. 5.2.5), an int is how many to keep.
    """
    if preselect is None:
        return np.arange(X.shape[1])
    if isinstance(preselect, Integral):
        return np.sort(_fisher(y).set_params(stop=min(int(preselect), X.shape[1])).fit(X, y).get_support(indices=True))
    if isinstance(preselect, Real):
        kept = np.flatnonzero(_fisher(y).fit(X, y).scores_ > preselect)
        if not kept.size:
            raise ValueError(f"preselect={preselect}: no feature has a Fisher score above it; lower it")
        return kept
    selector = fresh(preselect) if isinstance(preselect, Ranker) else clone(preselect)
    kept = selector.fit(X, y).get_support(indices=True)
    if not kept.size:
        raise ValueError(f"preselect={preselect} keeps no feature: there is nothing to weigh")
    return kept


def _fisher(y: np.ndarray) -> FisherScore:
    return FisherScore(stop=None, form="unbiased" if np.unique(y).size == 2 else "scatter")


def lead_groups(X: Any, y: np.ndarray, threshold: float) -> np.ndarray:
    """For each column the place of the leader of its group: columns become leaders by decreasing Fisher score."""
    scores = FisherScore(stop=None).fit(X, y).scores_
    return group_columns(X, np.argsort(-scores, kind="stable"), threshold)


def group_columns(X: Any, priority: np.ndarray, threshold: float) -> np.ndarray:
    """Give every column a leader whose correlation with it is high enough, or make it one; without a D x D matrix.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
    priority : ndarray of shape (n_columns,)
        Columns in the order in which they may become leaders.
    threshold : float
        Least absolute correlation between a column and its leader.

    Returns
    -------
    ndarray of shape (n_columns,)
        The leader of each column; a leader is its own.

    Notes
    -----
    Each column goes to the leader it correlates most with, among those before it. Cost O(n L D) for L leaders; memory
    for the leaders' columns and one block of correlations.
    """
    threshold -= _ROUNDING
    leader = np.empty(priority.size, dtype=int)
    chosen: list[int] = []
    leaders = np.empty((X.shape[0], 0))
    for block in blocks(priority.size, _BLOCK_COLUMNS):
        places = priority[block]
        Z = _unit_columns(X, places)
        best, outside = _most_correlated(leaders, Z, threshold)
        inside = np.abs(Z.T @ Z)
        new: list[int] = []  # leaders, by place in the block
        for j in range(places.size):
            nearest = new[int(np.argmax(inside[new, j]))] if new else -1
            if best[j] >= 0 and (not new or outside[j] >= inside[nearest, j]):
                leader[places[j]] = chosen[best[j]]
            elif new and inside[nearest, j] >= threshold:
                leader[places[j]] = places[nearest]
            else:
                leader[places[j]] = places[j]
                new.append(j)
        chosen += places[new].tolist()
        leaders = np.concatenate([leaders, Z[:, new]], axis=1)
    return leader


def _unit_columns(X: Any, places: np.ndarray) -> np.ndarray:
    """Columns of zero mean and unit length, zero where they are constant."""
    Z = np.asarray(X[:, places].toarray() if sparse.issparse(X) else X[:, places], dtype=float)
    Z = Z - Z.mean(axis=0)
    norm = np.linalg.norm(Z, axis=0)
    return Z / np.where(norm > 0, norm, 1.0)


def _most_correlated(leaders: np.ndarray, Z: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Place of the leader each column correlates most with, -1 where none does enough, and how much."""
    if not leaders.shape[1]:
        return np.full(Z.shape[1], -1), np.zeros(Z.shape[1])
    correlation = np.abs(leaders.T @ Z)
    best, most = correlation.argmax(axis=0), correlation.max(axis=0)
    return np.where(most >= threshold, best, -1), most
