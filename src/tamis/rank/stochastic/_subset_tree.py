r"""Small classification trees on many subsets of features at once.

CART (Breiman et al. 1984) splits a node whose rows weigh :math:`T_c` in class :math:`c` where the Gini impurity of its
two sides is least, that is where

.. math:: \frac{\sum_c L_c^2}{\sum_c L_c} + \frac{\sum_c (T_c - L_c)^2}{\sum_c (T_c - L_c)}

is largest, with :math:`L_c` the weight of the class at or below the threshold.

All trees grow together, one level at a time. Every column is sorted once. The rows of an open node lie side by side in
the order of each of its columns, at the same places whichever the column, so that a level of all trees is a rectangle
(columns, rows of open nodes) and :math:`L_c` a running sum along it, less what lies before the node.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.rank.stochastic._subset_learner import SubsetLearner, balance_classes

_WEIGHT_BITS = 52  # all rows together weigh less than 2**52 units: exact as an integer and as a float


class SubsetTree(SubsetLearner):
    r"""Classification tree, grown on many subsets of features at once.

    .. math:: \max_{j, t} \; G(S) - \tfrac{|S_l|}{|S|} G(S_l) - \tfrac{|S_r|}{|S|} G(S_r), \qquad
        G(S) = 1 - \sum_c p_c(S)^2

    at every node: CART with the Gini index (Gadat & Younes 2007, Sec. 5.1.2). Predictions are those of scikit-learn's
    ``DecisionTreeClassifier``, up to splits as good as each other.

    Parameters
    ----------
    max_depth : int or None, default=3
    min_samples_leaf : int, default=1
    class_weight : "balanced" or None, default=None

    Notes
    -----
    All trees grow level by level; columns are sorted once.

    Examples
    --------
    >>> from tamis import OFW
    >>> from tamis.rank.stochastic import SubsetTree
    >>> OFW(SubsetTree(max_depth=2), subset_size=2)
    OFW(estimator=SubsetTree(max_depth=2), subset_size=2)
    """

    _parameter_constraints: ClassVar[dict] = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), None],
    }

    def __init__(
        self, *, max_depth: int | None = 3, min_samples_leaf: int = 1, class_weight: str | None = None
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight

    def fit_subsets(self, tables: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int) -> TreeModels:
        """Grow every tree; see :class:`SubsetLearner`."""
        columns = np.ascontiguousarray(tables.transpose(0, 2, 1))
        row_weight = balance_classes(labels, weight, self.class_weight)
        return TreeModels(
            tuple(
                fit_trees(
                    columns,
                    codes,
                    each,
                    n_classes,
                    max_depth=self.max_depth,
                    min_samples_leaf=self.min_samples_leaf,
                )
                for codes, each in zip(labels, row_weight, strict=True)
            )
        )

    def numbers_per_subset(self, n_train: int, n_test: int, size: int, n_classes: int) -> int:
        """Cumulated class weights along every column, and their like."""
        return size * n_train * (n_classes + 6)


@dataclass(frozen=True)
class TreeModels:
    """The trees of all subsets, for each labeling."""

    trees: tuple[Trees, ...]

    def predict(self, tables: np.ndarray) -> np.ndarray:
        """Class of the leaf."""
        columns = np.ascontiguousarray(tables.transpose(0, 2, 1))
        return np.stack([predict_trees(each, columns) for each in self.trees], axis=1)


@dataclass(frozen=True)
class Trees:
    """Nodes of all trees, level by level; the first ``n_trees`` are the roots.

    Attributes
    ----------
    n_trees : int
    feature : ndarray of shape (n_nodes,)
        Position in its subset of the column that a node is split on; -1 at a leaf.
    threshold : ndarray of shape (n_nodes,)
        Rows at or below it go left; 0 at a leaf.
    left, right : ndarray of shape (n_nodes,)
        The nodes below; -1 at a leaf.
    label : ndarray of shape (n_nodes,)
        Heaviest class, the lowest of equal ones.
    """

    n_trees: int
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    label: np.ndarray


@dataclass(frozen=True)
class _Rows:
    """The rows of all trees, numbered one tree after another.

    Attributes
    ----------
    table : ndarray of shape (k, n_rows)
        Their values, a line per column of a subset.
    labels : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,)
        In fixed point, so that sums are exact in any order.
    class_weight : ndarray of shape (n_classes, n_rows)
        The weight in the line of the row's own class, 0 in the others.
    scratch : ndarray of shape (6, k * n_rows)
        Room for all levels: fresh memory for each would cost more than the arithmetic.
    """

    table: np.ndarray
    labels: np.ndarray
    weight: np.ndarray
    class_weight: np.ndarray
    scratch: np.ndarray


def fit_trees(
    columns: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    *,
    max_depth: int | None,
    min_samples_leaf: int = 1,
) -> Trees:
    """Grow one tree per subset of columns, all on the same rows.

    Parameters
    ----------
    columns : ndarray of shape (n_trees, k, n)
        The columns of each subset, finite; ``k`` is at least 1.
    labels : ndarray of shape (n,)
        Class codes from 0 to ``n_classes - 1``.
    weight : ndarray of shape (n,)
        Finite and nonnegative; rows of weight zero do not count.
    n_classes : int
    max_depth : int or None
        Splits between the root and a leaf at most; with None, leaves are pure or cannot be split.
    min_samples_leaf : int, default=1
        Rows of positive weight, whatever it is, on either side of a split.

    Returns
    -------
    Trees

    Notes
    -----
    Every impure node is split if any of its columns varies, even when that gains nothing. Of splits that are equally
    good up to rounding, the first column's and then the lowest threshold is taken, so that a tree depends neither on
    chance nor on the others of its batch. Cost: O(n_trees k n log n) for the sort and O(n_trees k n n_classes) a level;
    memory O(n_trees n (k + n_classes)).

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.rank.stochastic._subset_tree import fit_trees, predict_trees
    >>> columns = np.array([[[0.0, 1.0, 2.0, 3.0]], [[5.0, 5.0, 7.0, 5.0]]])
    >>> trees = fit_trees(columns, np.array([0, 0, 1, 1]), np.ones(4), 2, max_depth=1)
    >>> predict_trees(trees, columns)
    array([[0, 0, 1, 1],
           [0, 0, 1, 0]])
    """
    if not np.any(weight > 0):
        raise ValueError("every row has weight zero; give at least one a positive weight")
    rows, n_trees = _lay_out_rows(columns, labels, weight, n_classes), len(columns)
    order = _sort_rows(rows.table, n_trees)
    row = np.arange(rows.labels.size)
    node = row // (row.size // n_trees)  # among those of its level: the roots, then all left children, all right ones
    levels: list[tuple[np.ndarray, ...]] = []
    n_new, n_nodes = n_trees, 0
    while n_new:
        n_nodes += n_new
        sizes, totals = _weigh_nodes(rows, row, node, n_new)
        feature, threshold = np.full(n_new, -1), np.zeros(n_new)
        is_open = (totals.max(axis=0) < totals.sum(axis=0)) & (sizes >= 2 * min_samples_leaf)
        if len(levels) != max_depth and is_open.any():
            if levels:  # roots hold the same rows: when one is open, all are
                order = _regroup(order, row, node, is_open)
            found = _find_splits(rows, order, sizes[is_open], totals[:, is_open], min_samples_leaf)
            feature[is_open], threshold[is_open] = found
        is_split = feature >= 0
        n_split = int(is_split.sum())
        left = np.where(is_split, n_nodes - 1 + np.cumsum(is_split), -1)
        right = np.where(is_split, left + n_split, -1)
        levels.append((feature, threshold, left, right, totals.argmax(axis=0)))
        row, node = _send_down(rows, row, node, feature, threshold)
        n_new = 2 * n_split
    return Trees(n_trees, *(np.concatenate(parts) for parts in zip(*levels, strict=True)))


def predict_trees(trees: Trees, columns: np.ndarray) -> np.ndarray:
    """Class codes (n_trees, m) that each tree gives to its own columns (n_trees, k, m) of ``m`` rows."""
    n_trees, k, m = columns.shape
    node = np.repeat(np.arange(n_trees), m)
    first = (np.arange(n_trees)[:, None] * (k * m) + np.arange(m)).ravel()  # where a row's first value lies
    values = columns.ravel()
    moving = np.arange(node.size)
    while moving.size:
        at = node[moving]
        feature = trees.feature[at]
        inside = feature >= 0
        moving, at, feature = moving[inside], at[inside], feature[inside]
        goes_left = values[first[moving] + feature * m] <= trees.threshold[at]
        node[moving] = np.where(goes_left, trees.left[at], trees.right[at])
    return trees.label[node].reshape(n_trees, m)


def _lay_out_rows(columns: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int) -> _Rows:
    """Put the rows that count side by side, tree after tree."""
    n_trees, k, _ = columns.shape
    counts = np.flatnonzero(weight > 0)
    table = np.empty((k, n_trees, counts.size))
    np.take(np.asarray(columns, dtype=float).transpose(1, 0, 2), counts, axis=2, out=table, mode="clip")
    _, exponent = np.frexp(weight.sum())
    units = np.ldexp(weight[counts], _WEIGHT_BITS - int(exponent))  # by a power of two: counts of rows stay exact
    units = np.tile(np.maximum(np.rint(units), 1).astype(np.int64), n_trees)
    codes = np.tile(labels[counts].astype(np.intp), n_trees)
    class_units = np.where(np.arange(n_classes)[:, None] == codes, units, 0)
    return _Rows(table.reshape(k, -1), codes, units, class_units, np.empty((6, table.size)))


def _sort_rows(table: np.ndarray, n_trees: int) -> np.ndarray:
    """Rows of each tree by increasing value, for every column."""
    k, n_rows = table.shape[0], table.shape[1] // n_trees
    order = table.reshape(k, n_trees, n_rows).argsort(axis=2)
    order += np.arange(n_trees)[:, None] * n_rows
    return order.reshape(k, -1)


def _weigh_nodes(rows: _Rows, row: np.ndarray, node: np.ndarray, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Number of rows (n_nodes,) and weight of every class (n_classes, n_nodes) in each node."""
    n_classes = len(rows.class_weight)
    totals = np.bincount(rows.labels[row] * n_nodes + node, rows.weight[row], minlength=n_classes * n_nodes)
    return np.bincount(node, minlength=n_nodes), totals.astype(np.int64).reshape(n_classes, n_nodes)


def _find_splits(
    rows: _Rows, order: np.ndarray, sizes: np.ndarray, totals: np.ndarray, min_samples_leaf: int
) -> tuple[np.ndarray, np.ndarray]:
    """Column (-1 where none may be split) and threshold that split each open node best."""
    values, *work = rows.scratch[:, : order.size].reshape(-1, *order.shape)
    entry = np.add(order, np.arange(len(order))[:, None] * rows.labels.size, out=work[0].view(np.int64))
    np.take(rows.table, entry, out=values, mode="clip")
    criterion = _rate_splits(rows, order, sizes, totals, work)
    n_left = np.arange(1, order.shape[1] + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    n_right = np.repeat(sizes, sizes) - n_left
    is_barred = np.empty(order.shape, dtype=bool)
    np.equal(values[:, :-1], values[:, 1:], out=is_barred[:, :-1])
    is_barred[:, -1] = True
    is_barred |= np.minimum(n_left, n_right) < min_samples_leaf
    criterion[is_barred] = -1
    feature, cut = _pick_best(criterion, sizes)
    low, high = values[feature, cut], values[feature, cut + 1]
    middle = low / 2 + high / 2
    return feature, np.where(feature < 0, 0.0, np.where(middle < high, middle, low))


def _pick_best(criterion: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column and place where each node's criterion is largest; -1 and 0 where it is nowhere positive."""
    node = np.repeat(np.arange(sizes.size), sizes)
    best = np.maximum.reduceat(criterion.max(axis=0), np.cumsum(sizes) - sizes)
    least = np.where(best > 0, best * (1 - ROUNDING.float64), np.inf)
    column, place = np.divmod(np.flatnonzero(criterion >= least[node]), node.size)
    feature, cut = np.full(sizes.size, -1), np.zeros(sizes.size, dtype=np.intp)
    # assigned backwards: the first column, and then the lowest threshold, have the last word
    feature[node[place][::-1]] = column[::-1]
    cut[node[place][::-1]] = place[::-1]
    return feature, cut


def _rate_splits(
    rows: _Rows, order: np.ndarray, sizes: np.ndarray, totals: np.ndarray, work: list[np.ndarray]
) -> np.ndarray:
    """What a split after each place of each column is worth, in the first of five arrays to work in.

    Running sums go on from node to node and may wrap around; their differences inside a node are right all the same.
    """
    before = np.repeat(np.cumsum(totals, axis=1) - totals, sizes, axis=1)
    of_node = np.repeat(totals.astype(float), sizes, axis=1)
    criterion, right2, left, weight, other = work
    units = other.view(np.int64)
    for sums in (criterion, right2, left):
        sums.fill(0)
    for c in range(len(totals)):
        np.take(rows.class_weight[c], order, out=units, mode="clip")
        np.cumsum(units, axis=1, out=units)
        units -= before[c]
        np.copyto(weight, units)  # L_c
        left += weight
        criterion += np.multiply(weight, weight, out=other)
        np.subtract(of_node[c], weight, out=weight)  # T_c - L_c
        right2 += np.multiply(weight, weight, out=weight)
    criterion /= left
    np.subtract(of_node.sum(axis=0), left, out=left)
    right2 /= np.maximum(left, 1, out=left)  # nothing is right of a node's last place
    criterion += right2
    return criterion


def _send_down(
    rows: _Rows, row: np.ndarray, node: np.ndarray, feature: np.ndarray, threshold: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the nodes that were split, and the child each goes to: first all left ones, then all right ones."""
    is_split = feature >= 0
    goes_on = is_split[node]
    row, node = row[goes_on], node[goes_on]
    goes_right = rows.table.ravel()[feature[node] * rows.labels.size + row] > threshold[node]
    rank = np.cumsum(is_split) - 1
    return row, rank[node] + goes_right * np.count_nonzero(is_split)


def _regroup(order: np.ndarray, row: np.ndarray, node: np.ndarray, is_open: np.ndarray) -> np.ndarray:
    """Rows of the open children, node after node, in the order they had in their parents."""
    side = np.zeros(order[0].max() + 1, dtype=np.int8)
    side[row] = (is_open * np.repeat(np.array([1, 2], dtype=np.int8), is_open.size // 2))[node]
    side = side[order]
    kept = [np.flatnonzero(side == s).reshape(len(order), -1) for s in (1, 2)]
    return order.ravel()[np.concatenate(kept, axis=1)]
