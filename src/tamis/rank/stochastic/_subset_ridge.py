"""Ridge classifiers on many subsets of features at once."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.rank.stochastic._subset_learner import LinearModels, SubsetLearner, balance_classes, separate_classes


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

    single_precision: ClassVar[bool] = True

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


def fit_ridge(
    tables: np.ndarray, targets: np.ndarray, weight: np.ndarray, *, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Fit every subset to every target, in closed form.

    .. math:: \min_{w, b} \sum_i c_i (t_i - \langle w, x_i\rangle - b)^2 + \alpha \|w\|^2

    The system is as large as there are columns, or rows, whichever are fewer.

    Parameters
    ----------
    tables : ndarray of shape (n_subsets, n_rows, n_columns)
    targets : ndarray of shape (n_targets, n_rows)
    weight : ndarray of shape (n_rows,)
        Of the rows; positive.
    alpha : float

    Returns
    -------
    weights : ndarray of shape (n_subsets, n_targets, n_columns)
    intercept : ndarray of shape (n_subsets, n_targets)
    """
    targets, weight = targets.astype(tables.dtype), weight.astype(tables.dtype)
    share = weight / weight.sum()
    center, level = share @ tables, targets @ share
    root = np.sqrt(weight)
    Z = (tables - center[:, None, :]) * root[:, None]
    right = ((targets - level[:, None]) * root).T
    _, n_rows, n_columns = tables.shape
    transposed = Z.transpose(0, 2, 1)
    if n_rows <= n_columns:
        dual = np.linalg.solve(_add_diagonal(Z @ transposed, alpha), right[None])
        weights = dual.transpose(0, 2, 1) @ Z
    else:
        weights = np.linalg.solve(_add_diagonal(transposed @ Z, alpha), transposed @ right).transpose(0, 2, 1)
    return weights, level - np.einsum("btk,bk->bt", weights, center)


def _add_diagonal(matrices: np.ndarray, value: float) -> np.ndarray:
    diagonal = np.arange(matrices.shape[1])
    matrices[:, diagonal, diagonal] += value
    return matrices
