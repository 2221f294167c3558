"""A fitted kernel machine on the features that a ranker keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.rank._linear_problem import LinearProblem
from tamis.rank._scaled_machines import ScaledMachines, Trained


class KernelModel:
    """Machines with a kernel, for tables of the selected columns.

    Parameters
    ----------
    features : ndarray of shape (k,)
    problem : LinearProblem
    rows : ndarray of shape (n_samples, k) or None
        Training rows, in units of one and times ``sigma``.
    machines : ScaledMachines or None
    trained : Trained or None
    sigma : ndarray of shape (k,)
        Scaling factors of the columns.

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
        rows: np.ndarray | None,
        machines: ScaledMachines | None,
        trained: Trained | None,
        sigma: np.ndarray,
    ) -> None:
        self.features, self.classes = features, problem.classes
        self._means, self._scale = problem.columns.means(features), problem.scale[features] * sigma
        self._exponents = (
            np.zeros(features.size, dtype=int) if problem.exponents is None else problem.exponents[features]
        )
        self._unit, self._center = problem.unit, problem.center
        self._rows, self._machines, self._trained = rows, machines, trained
        self._constant = problem.row_shares @ problem.Y

    @classmethod
    def constant(cls, features: np.ndarray, problem: LinearProblem) -> KernelModel:
        """The model without features."""
        return cls(features, problem, None, None, None, np.ones(features.size))

    def decision_function(self, columns: Any) -> np.ndarray:
        """Outputs for the model's own columns, in their order: shape (n_samples, n_targets)."""
        columns = np.asarray(columns, dtype=float)
        if self._machines is None or self._trained is None:
            return np.tile(self._center + self._unit * self._constant, (len(columns), 1))
        Z = (np.ldexp(columns, -self._exponents) - self._means) * self._scale
        K = self._machines.kernel_matrix(Z, self._rows)
        return self._center + self._unit * (K @ self._trained.dual + self._trained.intercept)

    def predict(self, columns: Any) -> np.ndarray:
        """Predicted values, or labels for classification, from the model's own columns in their order."""
        output = self.decision_function(columns)
        if self.classes is None:
            return output[:, 0]
        if output.shape[1] == 1:
            return self.classes[(output[:, 0] > 0).astype(int)]
        return self.classes[output.argmax(axis=1)]
