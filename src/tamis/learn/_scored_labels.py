"""Labels that predictions are scored by, read as ``fit`` reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d

from tamis._sklearn import check_sample_weight
from tamis.base._target_values import check_holds_classes
from tamis.base._validation import errors_in_one_line
from tamis.table._target import read_target


def codes_of_labels(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Place of every label among the classes, -1 where it is none of them; refused where all are none."""
    known = {label: code for code, label in enumerate(classes.tolist())}
    found = labels.tolist()
    codes = np.array([known.get(label, -1) for label in found])
    if np.all(codes < 0):
        raise ValueError(f"y holds none of the classes of fit: {found[0]!r} is not among {classes.tolist()}")
    return codes


class LabelClassifier(ClassifierMixin):
    """A classifier whose ``score`` reads labels as ``fit`` does."""

    classes_: np.ndarray

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
        labels = column_or_1d(labels, warn=True)
        check_holds_classes(labels, type(self).__name__)
        is_right = codes_of_labels(labels, self.classes_) == codes_of_labels(predicted, self.classes_)
        if sample_weight is None:
            return float(is_right.mean())
        with errors_in_one_line():
            weight = check_sample_weight(sample_weight, is_right[:, None], dtype=np.float64, ensure_non_negative=True)
        if not weight.sum() > 0:
            raise ValueError("sample_weight is zero in all rows: there is nothing to score")
        return float(np.average(is_right, weights=weight))
