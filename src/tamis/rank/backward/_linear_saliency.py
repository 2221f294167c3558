"""Saliencies of scikit-learn's linear and generalized linear models, from their weights and curvatures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from tamis.rank.backward._saliency import (
    deviance_curvature,
    logistic_curvature,
    measure_saliency,
    squared_hinge_curvature,
)


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of a model's objective: of the weighted loss in every row's outputs, and of the penalty."""

    loss: np.ndarray
    decay: float


def _class_weights(model: Any, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weight of every row's class, where "balanced" counts a row as often as its own weight says."""
    by_class = compute_class_weight(model.class_weight, classes=model.classes_, y=y, sample_weight=weight)
    return by_class[np.searchsorted(model.classes_, y)]


def _curvature_of_least_squares(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Curvature:
    n_outputs = np.atleast_2d(model.coef_).shape[0]
    return Curvature(np.tile(weight[:, None], n_outputs), float(getattr(model, "alpha", 0.0)))


def _curvature_of_ridge_classifier(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Curvature:
    # scikit-learn balances the classes of this model by the number of rows, whatever the weights
    return _curvature_of_least_squares(model, X, y, weight * compute_sample_weight(model.class_weight, y))


def _curvature_of_elastic_net(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Curvature:
    return Curvature(weight[:, None], weight.sum() * model.alpha * (1.0 - model.l1_ratio))


def _curvature_of_logistic(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Curvature:
    outputs = model.decision_function(X).reshape(X.shape[0], -1)
    weight = weight * _class_weights(model, y, weight)
    share = 0.0 if model.penalty in (None, "l1") else 1.0 - (model.l1_ratio or 0.0)
    return Curvature(logistic_curvature(outputs) * weight[:, None], share / model.C)


def _curvature_of_linear_svc(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Curvature:
    if model.loss != "squared_hinge" or model.multi_class != "ovr":
        raise ValueError(
            f"LinearSVC with loss='{model.loss}' and multi_class='{model.multi_class}' has no second derivatives to "
            "rank by; use loss='squared_hinge' and multi_class='ovr'"
        )
    outputs = model.decision_function(X).reshape(X.shape[0], -1)
    positive = model.classes_[1:] if outputs.shape[1] == 1 else model.classes_
    label = np.where(np.asarray(y)[:, None] == positive, 1.0, -1.0)
    weight = weight * _class_weights(model, y, weight)
    return Curvature(squared_hinge_curvature(label * outputs) * weight[:, None], (model.penalty == "l2") / model.C)


def _curvature_of_tweedie(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Curvature:
    power = {PoissonRegressor: 1.0, GammaRegressor: 2.0}.get(type(model))
    power = float(model.power) if power is None else power
    link = getattr(model, "link", "log")
    log_link = power > 0 if link == "auto" else link == "log"
    curvature = deviance_curvature(model.predict(X), np.asarray(y, dtype=float), power, log_link=log_link)
    return Curvature((curvature * weight)[:, None], weight.sum() * model.alpha)


_KNOWN: dict[type, Callable[[Any, Any, np.ndarray, np.ndarray], Curvature]] = {
    ElasticNet: _curvature_of_elastic_net,
    GammaRegressor: _curvature_of_tweedie,
    Lasso: _curvature_of_elastic_net,
    LinearRegression: _curvature_of_least_squares,
    LinearSVC: _curvature_of_linear_svc,
    LogisticRegression: _curvature_of_logistic,
    PoissonRegressor: _curvature_of_tweedie,
    Ridge: _curvature_of_least_squares,
    RidgeClassifier: _curvature_of_ridge_classifier,
    TweedieRegressor: _curvature_of_tweedie,
}


def check_known(estimator: Any) -> None:
    """Refuse models whose objective we cannot differentiate twice."""
    if type(estimator) not in _KNOWN:
        names = ", ".join(sorted(known.__name__ for known in _KNOWN))
        raise ValueError(f"estimator={estimator!r} has no saliencies known here; give one of {names}, or None")


def saliency_of(model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """What deleting each column's weights adds to the objective of a model that was fitted on ``X`` and ``y``."""
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    curvature = _KNOWN[type(model)](model, X, y, weight)
    return measure_saliency(X, np.atleast_2d(model.coef_), curvature.loss, curvature.decay)
