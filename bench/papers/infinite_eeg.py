"""Flamary et al. (2011), Sec. 3: imagined movements of the left and the right hand, real and simulated.

The real trials at hand are covariances of dataset IIa (BCI competition IV) in a band and a window that are not the
paper's: 8-35 Hz instead of 8-30 Hz, 0-4 s after the cue instead of 0.5-2.5 s. They serve its first row, spatial filters
in a fixed band. What a learned band adds is measured on simulated subjects, whose band is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tamis.datasets import load
from tamis.kernels.csp import average_by_class, find_filters, log_variances, shrink_covariances

PAPER_CSP = (88.89, 51.39, 96.53, 70.14, 54.86, 71.53, 81.25, 93.75, 93.74)
FILTERS = (2, 4, 6, 8, 10)
COSTS = (0.001, 0.01, 0.1, 1.0)


class CovarianceCSP(TransformerMixin, BaseEstimator):
    """Log variances of spatially filtered trials, from covariances of trials."""

    def __init__(self, n_components: int = 4, shrinkage: float = 0.01, normalize: bool = False) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.normalize = normalize

    def fit(self, X: np.ndarray, y: np.ndarray) -> CovarianceCSP:
        X = X / np.trace(X, axis1=1, axis2=2)[:, None, None] if self.normalize else X
        means = average_by_class(X, np.unique(y, return_inverse=True)[1], 2)
        self.filters_ = find_filters(*shrink_covariances(means, self.shrinkage), self.n_components)[0]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return log_variances(X, self.filters_)


def choose_csp(X: np.ndarray, y: np.ndarray, normalize: bool = False) -> GridSearchCV:
    """Number of filters and cost by cross-validation, filters learned inside of each fold."""
    model = make_pipeline(CovarianceCSP(normalize=normalize), StandardScaler(), LinearSVC(loss="squared_hinge", max_iter=20000))
    choices = {"covariancecsp__n_components": FILTERS, "linearsvc__C": COSTS}
    return GridSearchCV(model, choices, cv=StratifiedKFold(10, shuffle=True, random_state=0)).fit(X, y)


def real_accuracies(normalize: bool = False) -> tuple[list[float], list[dict[str, Any]]]:
    """Accuracy in percent on the second session of each subject, of models chosen on the first."""
    data = load("bci2a_leftright_cov")
    first = data.session == 0
    models = [choose_csp(cov[first], y[first], normalize) for cov, y in zip(data.cov, data.y, strict=True)]
    tests = zip(models, data.cov, data.y, strict=True)
    return [100.0 * model.score(cov[~first], y[~first]) for model, cov, y in tests], [m.best_params_ for m in models]
