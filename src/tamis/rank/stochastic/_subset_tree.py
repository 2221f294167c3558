"""Small trees on many subsets."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.rank.stochastic._batched_tree import Trees, fit_trees, predict_trees
from tamis.rank.stochastic._learners import SubsetLearner, balance_classes


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
