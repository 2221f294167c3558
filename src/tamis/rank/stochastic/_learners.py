"""What a learner on many subsets of features is, and the models it leaves."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from tamis.kernels.arrays.blocks import blocks, map_in_threads
from tamis.rank.stochastic._split import Split
from tamis.rank.stochastic._table import SubsetTable

_NUMBERS = 2**21  # that a block of subsets may hold at a time


class SubsetModels(Protocol):
    """One trained model per subset and labeling."""

    def predict(self, tables: np.ndarray) -> np.ndarray:
        """Codes, of shape (n_subsets, n_labelings, n_rows), of tables of shape (n_subsets, n_rows, n_columns)."""


class SubsetLearner(BaseEstimator):
    """Base of learners on many subsets: one writes :meth:`fit_subsets`, and says how much memory it takes."""

    binary: ClassVar[bool] = False  # made for two classes: many are learned one against all others
    repeats: ClassVar[bool] = False  # rows that were drawn twice must come twice, for it knows no weights
    single: ClassVar[bool] = False  # single precision is enough while subsets are compared

    @abstractmethod
    def fit_subsets(self, tables: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int) -> SubsetModels:
        """Train on every subset, for every labeling.

        Parameters
        ----------
        tables : ndarray of shape (n_subsets, n_rows, n_columns)
        labels : ndarray of shape (n_labelings, n_rows)
            Codes below ``n_classes``.
        weight : ndarray of shape (n_rows,)
            How often each row counts.
        n_classes : int
        """

    @abstractmethod
    def numbers_per_subset(self, n_train: int, n_test: int, size: int, n_classes: int) -> int:
        """How many numbers are held for one subset and labeling, besides its columns."""

    def predict_split(self, table: SubsetTable, subsets: np.ndarray, split: Split, seed: int) -> np.ndarray:
        """Learn on one part of the rows: codes of the others, of shape (n_subsets, n_labelings, n_test)."""
        train, weight, labels = self._rows(split)
        rows = np.concatenate([train, split.test])

        def predict(block: slice) -> np.ndarray:
            tables = table.take(rows, subsets[block])
            models = self.fit_subsets(tables[:, : train.size], labels, weight, split.n_classes)
            return models.predict(tables[:, train.size :])

        held = self.numbers_per_subset(train.size, split.test.size, subsets.shape[1], split.n_classes)
        parts = blocks(len(subsets), _NUMBERS // (held * len(labels) + rows.size * subsets.shape[1]))
        return np.concatenate(list(map_in_threads(predict, list(parts))))

    def __enter__(self) -> SubsetLearner:
        """Get ready for many splits; a learner that has workers starts them here."""
        return self

    def __exit__(self, *reason: Any) -> None:
        """Let go of what was started."""

    def _rows(self, split: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows to learn from with their weights and labels, or as often as they were drawn."""
        if not self.repeats:
            return split.train, split.train_count, split.train_labels
        again = np.repeat(np.arange(split.train.size), split.train_count)
        return split.train[again], np.ones(again.size), split.train_labels[:, again]


@dataclass(frozen=True)
class LinearModels:
    """One separating plane per subset and labeling, or one per class where a labeling has more than two.

    Attributes
    ----------
    weights : ndarray of shape (n_subsets, n_planes, n_columns)
    intercept : ndarray of shape (n_subsets, n_planes)
    n_classes : int
    """

    weights: np.ndarray
    intercept: np.ndarray
    n_classes: int

    def predict(self, tables: np.ndarray) -> np.ndarray:
        """The side of the plane, or the class whose plane is passed farthest."""
        decision = self.weights @ tables.transpose(0, 2, 1) + self.intercept[:, :, None]
        if self.n_classes == 2:
            return (decision > 0).astype(int)
        per_class = decision.reshape(len(decision), -1, self.n_classes, decision.shape[2])
        return per_class.argmax(axis=2)


def separate_classes(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Targets of -1 and 1, one per labeling of two classes, else one per class of each."""
    if n_classes == 2:
        return 2.0 * labels - 1.0
    return 2.0 * (labels[:, None, :] == np.arange(n_classes)[:, None]).reshape(-1, labels.shape[1]) - 1.0


def balance_classes(labels: np.ndarray, weight: np.ndarray, class_weight: str | None) -> np.ndarray:
    """Weights of the rows of each labeling, as scikit-learn's classifiers balance rows that come that often."""
    if class_weight is None:
        return np.broadcast_to(weight.astype(float), labels.shape)
    balanced = np.empty(labels.shape)
    for row, codes in zip(balanced, labels, strict=True):
        present, place = np.unique(codes, return_inverse=True)
        row[:] = weight * (weight.sum() / (present.size * np.bincount(place, weight)))[place]
    return balanced
