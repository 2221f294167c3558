"""A fitted linear model on the features that a ranker keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LinearModel:
    """Linear model on some features.

    Attributes
    ----------
    features : ndarray of shape (k,)
        Those of the model, in the order in which it takes their columns.
    coef : ndarray of shape (k, n_targets)
    intercept : ndarray of shape (n_targets,)
    classes : ndarray or None
        Labels, for classification.
    """

    features: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray | None

    def coefficients(self, n_columns: int) -> tuple[np.ndarray, Any]:
        """Weights of all columns of a table and the intercept, in scikit-learn's shapes: a row per target, if several.

        Those of columns that are not in the model are zero.
        """
        coef = np.zeros((self.intercept.size, n_columns))
        coef[:, self.features] = self.coef.T
        is_one = self.classes is None and self.intercept.size == 1
        return (coef[0], self.intercept[0]) if is_one else (coef, self.intercept)

    def decision_function(self, columns: Any) -> np.ndarray:
        """Linear output for the model's own columns, in their order: shape (n_samples, n_targets)."""
        check_model_columns(columns, self.features)
        return np.asarray(columns @ self.coef) + self.intercept

    def predict(self, columns: Any) -> np.ndarray:
        """Predicted values, or labels for classification, from the model's own columns in their order."""
        return predictions(self.decision_function(columns), self.classes)


def predictions(outputs: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """Values, or labels where there are classes, of outputs of shape (n_samples, n_targets)."""
    if classes is None:
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs
    if outputs.shape[1] == 1:
        return classes[(outputs[:, 0] > 0).astype(int)]
    return classes[outputs.argmax(axis=1)]


def check_model_columns(columns: Any, features: np.ndarray) -> None:
    """Refuse tables that are not those of a model's features."""
    if columns.shape[1] != features.size:
        raise ValueError(
            f"the model takes the {features.size} columns that transform keeps, but the table has {columns.shape[1]}; "
            "give it selector.transform(X)"
        )
