"""Classification trees by the gain ratio of C4.5, or by the fewest errors, which scikit-learn does not grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks
from tamis.rank.model._split_scores import (
    EQUAL_GAIN,
    best_splits,
    best_splits_either_side,
    best_threshold,
    gain_ratios,
    missing_on_either_side,
    rank_values,
    split_errors,
)

_ENTRIES = 2**22  # of a table that are counted at a time


class Split(NamedTuple):
    """A column, and the rows of the node whose value is on the lower side of its threshold."""

    column: int
    is_left: np.ndarray
    gain: float


class Growth(NamedTuple):
    """What there is to tell of a grown tree.

    Attributes
    ----------
    gains : ndarray of shape (n_columns,)
        What the splits on each column gain, weighted by their share of the rows.
    n_splits, depth : int
    """

    gains: np.ndarray
    n_splits: int
    depth: int


def grow_tree(
    codes: Any,
    labels: np.ndarray,
    criterion: str,
    *,
    max_depth: int | None = None,
    min_samples_leaf: int = 1,
    weight: np.ndarray | None = None,
    on_node: Callable[[], object] | None = None,
) -> Growth:
    """Split node after node, until a node has one class or no split tells anything of the classes.

    Parameters
    ----------
    codes : ndarray or sparse array of shape (n_rows, n_columns)
        As ``rank_values`` gives them. Of splits that are equal the first column and the lowest threshold are taken.
        Missing values are on the better side of a split, below all others where both are equally good.
    labels : ndarray of shape (n_rows,)
        Class codes from 0.
    criterion : {"error", "gain_ratio"}
        "error": the split with the fewest errors, of these the one with the largest mutual information; it gains the
        share of rows that are no longer errors. "gain_ratio": of the columns whose mutual information is at least the
        mean over those that have any, the one whose ratio to the entropy of the sides is largest; it gains the mutual
        information.
    max_depth : int or None
    min_samples_leaf : int
        Rows that each side of a split has to hold.
    weight : ndarray of shape (n_rows,) or None
        How often each row counts.
    on_node : callable or None
        Called before every node.

    Notes
    -----
    O(n D log n) per level of the tree: the rows of a node are sorted again in every column.
    """
    codes = codes.tocsr() if sparse.issparse(codes) else codes
    weight = np.ones(len(labels)) if weight is None else weight
    gains, n_splits, depth = np.zeros(codes.shape[1]), 0, 0
    nodes = [(np.arange(len(labels)), 0)]
    while nodes:
        rows, level = nodes.pop()
        if on_node is not None:
            on_node()
        if weight[rows].sum() < 2 * min_samples_leaf or level == max_depth:
            continue
        split = find_split(codes[rows], labels[rows], criterion, min_samples_leaf, weight[rows])
        if split is None:
            continue
        gains[split.column] += split.gain * weight[rows].sum() / weight.sum()
        n_splits, depth = n_splits + 1, max(depth, level + 1)
        nodes += [(rows[~split.is_left], level + 1), (rows[split.is_left], level + 1)]
    return Growth(gains, n_splits, depth)


def find_split(
    table: Any, labels: np.ndarray, criterion: str, min_samples_leaf: int, weight: np.ndarray
) -> Split | None:
    """The best split of a node, given its rows; None where none that is allowed tells anything of the classes."""
    labels = np.unique(labels, return_inverse=True)[1]
    if labels.max() == 0:
        return None
    criteria = split_errors if criterion == "error" else gain_ratios
    n_columns, codes = table.shape[1], rank_values(table)
    first, second = np.empty(n_columns), np.empty(n_columns)
    for block in blocks(n_columns, _ENTRIES // (labels.size * int(labels.max() + 1))):
        part = codes[:, block]
        first[block], second[block] = best_splits_either_side(part, labels, criteria, min_samples_leaf, weight)
    information = second if criterion == "error" else first
    if not np.fmax.reduce(information, initial=0.0) > EQUAL_GAIN:
        return None
    least = np.nanmax(first) if criterion == "error" else first[first > EQUAL_GAIN].mean()
    merit = np.where(first >= least - EQUAL_GAIN, second, -np.inf)
    column = int((merit >= merit.max() - EQUAL_GAIN).argmax())
    values = codes[:, [column]]
    values = values.toarray() if sparse.issparse(values) else values
    sides = [rank_values(side) for side in missing_on_either_side(values)]
    merits = [best_splits(side, labels, criteria, min_samples_leaf, weight) for side in sides]
    side = sides[_first_best([(float(first_[0]), float(second_[0])) for first_, second_ in merits])]
    threshold = best_threshold(side, labels, criteria, min_samples_leaf, weight)
    return Split(column, side[:, 0] <= threshold, float(first[column]))


def _first_best(merits: list[tuple[float, float]]) -> int:
    """Place of the largest first figure, of equal ones of the largest second, of equals of both the first place."""
    most = max(first for first, _ in merits if not np.isnan(first))
    second = [second if first >= most - EQUAL_GAIN else -np.inf for first, second in merits]
    return next(place for place, value in enumerate(second) if value >= max(second) - EQUAL_GAIN)
