"""Ridge classifiers on many subsets."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.rank.stochastic._batched_ridge import fit_ridge
from tamis.rank.stochastic._learners import LinearModels, SubsetLearner, balance_classes, separate_classes


class SubsetRidge(SubsetLearner):
    r"""Least squares on labels of -1 and 1 with a ridge, trained on many subsets of features at once.

    .. math:: \min_{w, b} \sum_i (s_i - \langle w, x_i\rangle - b)^2 + \alpha \|w\|^2

    for each subset; predictions are those of scikit-learn's ``RidgeClassifier``.

    Parameters
    ----------
    alpha : float, default=1.0
    class_weight : "balanced" or None, default=None

    Notes
    -----
    One linear system per subset, as large as there are columns or rows, whichever are fewer; many classes share it.

    Examples
    --------
    >>> from tamis import OFW
    >>> from tamis.rank.stochastic import SubsetRidge
    >>> OFW(SubsetRidge(alpha=10.0))
    OFW(estimator=SubsetRidge(alpha=10.0))
    """

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), None],
    }

    def __init__(self, *, alpha: float = 1.0, class_weight: str | None = None) -> None:
        self.alpha = alpha
        self.class_weight = class_weight

    def fit_subsets(self, tables: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int) -> LinearModels:
        """Train every subset; see :class:`SubsetLearner`."""
        row_weight = balance_classes(labels, weight, self.class_weight)
        shared = self.class_weight is None
        parts = [slice(None)] if shared else [slice(i, i + 1) for i in range(len(labels))]
        found = [
            fit_ridge(tables, separate_classes(labels[part], n_classes), row_weight[part][0], alpha=self.alpha)
            for part in parts
        ]
        weights, intercept = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
        return LinearModels(weights, intercept, n_classes)

    def numbers_per_subset(self, n_train: int, n_test: int, size: int, n_classes: int) -> int:
        """The centered columns and the matrix of the system."""
        return n_train * size + min(n_train, size) ** 2
