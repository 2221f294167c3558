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
from sklearn.utils.class_weight import compute_sample_weight

from tamis.rank.backward._saliency import (
    deviance_curvature,
    logistic_curvature,
    measure_saliency,
    squared_hinge_curvature,
)


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of a model's objective: of the loss in every row's outputs, and the decay of the penalty."""

    loss: np.ndarray
    decay: float


def _curvature_of_least_squares(model: Any, X: Any, y: np.ndarray) -> Curvature:
    return Curvature(np.ones((X.shape[0], np.atleast_2d(model.coef_).shape[0])), float(getattr(model, "alpha", 0.0)))


def _curvature_of_ridge_classifier(model: Any, X: Any, y: np.ndarray) -> Curvature:
    plain = _curvature_of_least_squares(model, X, y)
    return Curvature(plain.loss * compute_sample_weight(model.class_weight, y)[:, None], plain.decay)


def _curvature_of_elastic_net(model: Any, X: Any, y: np.ndarray) -> Curvature:
    return Curvature(np.ones((X.shape[0], 1)), X.shape[0] * model.alpha * (1.0 - model.l1_ratio))


def _curvature_of_logistic(model: Any, X: Any, y: np.ndarray) -> Curvature:
    outputs = model.decision_function(X).reshape(X.shape[0], -1)
    weight = compute_sample_weight(model.class_weight, y)
    share = 0.0 if model.penalty in (None, "l1") else 1.0 - (model.l1_ratio or 0.0)
    return Curvature(logistic_curvature(outputs) * weight[:, None], share / model.C)


def _curvature_of_linear_svc(model: Any, X: Any, y: np.ndarray) -> Curvature:
    if model.loss != "squared_hinge" or model.multi_class != "ovr":
        raise ValueError(
            f"LinearSVC with loss='{model.loss}' and multi_class='{model.multi_class}' has no second derivatives to "
            "rank by; use loss='squared_hinge' and multi_class='ovr'"
        )
    outputs = model.decision_function(X).reshape(X.shape[0], -1)
    positive = model.classes_[1:] if outputs.shape[1] == 1 else model.classes_
    label = np.where(np.asarray(y)[:, None] == positive, 1.0, -1.0)
    weight = compute_sample_weight(model.class_weight, y)
    return Curvature(squared_hinge_curvature(label * outputs) * weight[:, None], (model.penalty == "l2") / model.C)


def _curvature_of_tweedie(model: Any, X: Any, y: np.ndarray) -> Curvature:
    power = {PoissonRegressor: 1.0, GammaRegressor: 2.0}.get(type(model))
    power = float(model.power) if power is None else power
    link = getattr(model, "link", "log")
    log_link = power > 0 if link == "auto" else link == "log"
    curvature = deviance_curvature(model.predict(X), np.asarray(y, dtype=float), power, log_link=log_link)
    return Curvature(curvature[:, None], X.shape[0] * model.alpha)


_KNOWN: dict[type, Callable[[Any, Any, np.ndarray], Curvature]] = {
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


def saliency_of(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """What deleting each column's weights adds to the objective of a model that was fitted on ``X`` and ``y``."""
    curvature = _KNOWN[type(model)](model, X, y)
    return measure_saliency(X, np.atleast_2d(model.coef_), curvature.loss, curvature.decay)
