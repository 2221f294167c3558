"""A fitted kernel machine on the features that a ranker keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.base import check_model_columns, predictions
from tamis.kernels.solvers.feature_kernel import AdditiveKernel
from tamis.rank._linear_problem import LinearProblem


class KernelModel:
    """Machines with a kernel, for tables of the selected columns.

    Parameters
    ----------
    features : ndarray of shape (k,)
    problem : LinearProblem
    sigma : ndarray of shape (k,)
        Scaling factors of the columns.
    kernel : AdditiveKernel
    rows : ndarray of shape (n_rows, k)
        Training rows that have a weight, in units of one and times ``sigma``.
    dual : ndarray of shape (n_rows, n_targets)
        Their weights.
    intercept : ndarray of shape (n_targets,)

    Attributes
    ----------
    features : ndarray of shape (k,)
        Those of the model, in the order in which it takes their columns.
    classes : ndarray or None
        Labels, for classification.
    """

    def __init__(
        self,
        features: np.ndarray,
        problem: LinearProblem,
        sigma: np.ndarray,
        kernel: AdditiveKernel,
        rows: np.ndarray,
        dual: np.ndarray,
        intercept: np.ndarray,
    ) -> None:
        self.features, self.classes = features, problem.classes
        self._means, self._scale = problem.columns.means(features), problem.scale[features] * sigma
        self._exponents = (
            np.zeros(features.size, dtype=int) if problem.exponents is None else problem.exponents[features]
        )
        self._unit, self._center = problem.unit, problem.center
        self._kernel, self._rows, self._dual, self._intercept = kernel, rows, dual, intercept

    @classmethod
    def constant(cls, features: np.ndarray, problem: LinearProblem) -> KernelModel:
        """The model without features."""
        n_targets, none = problem.Y.shape[1], np.empty((0, features.size))
        kernel = AdditiveKernel("rbf", 1.0, 0.0, 0.0)
        mean = problem.row_shares @ problem.Y
        return cls(features, problem, np.ones(features.size), kernel, none, np.empty((0, n_targets)), mean)

    def decision_function(self, columns: Any) -> np.ndarray:
        """Outputs for the model's own columns, in their order: shape (n_samples, n_targets)."""
        columns = np.asarray(columns, dtype=float)
        check_model_columns(columns, self.features)
        outputs = np.tile(self._intercept, (len(columns), 1))
        if len(self._rows):
            Z = (np.ldexp(columns, -self._exponents) - self._means) * self._scale
            outputs += self._kernel.between(Z, self._rows) @ self._dual
        return self._center + self._unit * outputs

    def predict(self, columns: Any) -> np.ndarray:
        """Predicted values, or labels for classification, from the model's own columns in their order."""
        return predictions(self.decision_function(columns), self.classes)
