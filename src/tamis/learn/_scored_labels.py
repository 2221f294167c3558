"""Base of classifiers whose scores refuse labels that cannot be compared, in the words of all estimators."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d

from tamis.base._validation import errors_in_one_line
from tamis.table._target import read_target


class LabelClassifier(ClassifierMixin):
    """A classifier whose ``score`` reads labels as ``fit`` does."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose class is predicted.

        Parameters
        ----------
        X : table or signals
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        predicted = self.predict(X)  # type: ignore[attr-defined]  # of the classifier that this is a part of
        labels = read_target(y, len(predicted))
        if labels is None:
            raise ValueError("score compares predictions with the target: give y")
        with errors_in_one_line():
            return float(accuracy_score(column_or_1d(labels, warn=True), predicted, sample_weight=sample_weight))
