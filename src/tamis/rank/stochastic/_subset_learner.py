"""What a learner on many subsets of features is given, what it must provide, and the models that it returns."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from tamis.base import SentOnce, array_bytes
from tamis.kernels.arrays.blocks import blocks, map_in_threads
from tamis.kernels.arrays.scaling import measure_columns

_BLOCK_NUMBERS = 2**21  # numbers held at a time by the subsets of one block


@dataclass(frozen=True)
class Split:
    r"""Training rows :math:`T_1` and test rows :math:`T_2`, with one or more labelings of them.

    Attributes
    ----------
    train, test : ndarray
        Row indices, each once.
    train_count : ndarray of shape (n_train,)
        How often each training row was drawn.
    train_labels : ndarray of shape (n_labelings, n_train)
    test_labels : ndarray of shape (n_labelings, n_test)
    test_weight : ndarray of shape (n_labelings, n_test)
        Weight of each row in the error; sums to one.
    n_classes : int
    """

    train: np.ndarray
    test: np.ndarray
    train_count: np.ndarray
    train_labels: np.ndarray
    test_labels: np.ndarray
    test_weight: np.ndarray
    n_classes: int

    def errors(self, predicted: np.ndarray) -> np.ndarray:
        """Mean error over the labelings, for each subset; ``predicted`` has shape (n_subsets, n_labelings, n_test)."""
        wrong = predicted != self.test_labels
        return np.einsum("blm,lm->b", wrong, self.test_weight) / len(self.test_labels)


class SubsetTable(SentOnce):
    """A table from which subsets of columns are taken, many at a time; sparse tables stay sparse.

    A feature that a subset holds twice counts once: its other places hold a column of zeros, which changes no learner.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_columns)

    Attributes
    ----------
    values : ndarray or sparse array of shape (n_samples, n_columns + 1)
        With a column of zeros at the end.
    n_columns : int
    """

    def __init__(self, X: Any) -> None:
        n_samples, self.n_columns = X.shape
        if sparse.issparse(X):
            zeros = sparse.csc_array((n_samples, 1), dtype=X.dtype)
            self.values: Any = sparse.hstack([X, zeros], format="csc")
        else:
            self.values = np.zeros((n_samples, self.n_columns + 1), dtype=X.dtype)
            self.values[:, :-1] = X

    def n_bytes(self) -> int:
        """Size of the table."""
        return array_bytes(self.values)

    def take(self, rows: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        """Some rows of the columns of each subset: shape (n_subsets, n_rows, subset_size)."""
        places = mask_repeats(subsets, self.n_columns)
        source = self.values
        if sparse.issparse(source):
            used, places_used = np.unique(places, return_inverse=True)
            source, places = source[:, used].toarray(), places_used.reshape(places.shape)
        taken = np.empty((rows.size, places.size), dtype=source.dtype)
        flat = places.ravel()
        for target, row in zip(taken, rows.tolist(), strict=True):  # a row at a time stays in the cache
            source[row].take(flat, out=target, mode="clip")
        return taken.reshape(rows.size, *places.shape).transpose(1, 0, 2)


def take_columns(values: Any, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Some rows of some different columns, dense."""
    return values[:, features][rows].toarray() if sparse.issparse(values) else values[np.ix_(rows, features)]


def mask_repeats(subsets: np.ndarray, mask: int) -> np.ndarray:
    """Subsets, each sorted, with ``mask`` in the place of features that it holds already."""
    places = np.sort(subsets, axis=1)
    repeated = places[:, 1:] == places[:, :-1]
    places[:, 1:][repeated] = mask
    return places


def scale_table(X: Any, columns: np.ndarray, *, standardize: bool, single_precision: bool) -> Any:
    """Some columns, of unit variance, and of zero mean unless the table is sparse; in the precision that is enough."""
    X = X[:, columns]
    if not standardize:
        return X.astype(np.float64)  # unscaled numbers may be too large for single precision
    precision = np.float32 if single_precision else np.float64
    center, scale = measure_columns(X)
    if sparse.issparse(X):
        return (X @ sparse.diags_array(scale)).astype(precision)
    return ((X - center) * scale).astype(precision)


class SubsetModels(Protocol):
    """One trained model per subset and labeling."""

    def predict(self, tables: np.ndarray) -> np.ndarray:
        """Codes, of shape (n_subsets, n_labelings, n_rows), of tables of shape (n_subsets, n_rows, n_columns)."""


class SubsetLearner(BaseEstimator):
    """Base of learners on many subsets: one writes :meth:`fit_subsets`, and says how much memory it takes."""

    binary: ClassVar[bool] = False  # made for two classes: many are learned one against all others
    repeat_rows: ClassVar[bool] = False  # takes no row weights: a row that was drawn twice must be given twice
    single_precision: ClassVar[bool] = False  # is enough while subsets are compared

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
        """Train on the training rows: codes of the test rows, of shape (n_subsets, n_labelings, n_test)."""
        train, weight, labels = self._training_rows(split)
        rows = np.concatenate([train, split.test])

        def predict(block: slice) -> np.ndarray:
            tables = table.take(rows, subsets[block])
            models = self.fit_subsets(tables[:, : train.size], labels, weight, split.n_classes)
            return models.predict(tables[:, train.size :])

        held = self.numbers_per_subset(train.size, split.test.size, subsets.shape[1], split.n_classes)
        parts = blocks(len(subsets), _BLOCK_NUMBERS // (held * len(labels) + rows.size * subsets.shape[1]))
        return np.concatenate(list(map_in_threads(predict, list(parts))))

    def __enter__(self) -> SubsetLearner:
        """Get ready for many splits; a learner that has workers starts them here."""
        return self

    def __exit__(self, *reason: Any) -> None:
        """Release what was started."""

    def _training_rows(self, split: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Training rows with their weights and labels, or each as often as it was drawn."""
        if not self.repeat_rows:
            return split.train, split.train_count, split.train_labels
        repeated = np.repeat(np.arange(split.train.size), split.train_count)
        return split.train[repeated], np.ones(repeated.size), split.train_labels[:, repeated]


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
        """The sign of the decision function, or the class whose decision function is largest."""
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
