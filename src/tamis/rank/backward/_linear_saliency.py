"""scikit-learn's linear and generalized linear models as weights and curvatures."""

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

from tamis.rank.backward._saliency import curve_deviance, curve_logistic, curve_squared_hinge, measure_saliency


@dataclass(frozen=True)
class Bend:
    """How a model's objective bends in its outputs: per row and output, and the decay of its weights."""

    curvature: np.ndarray
    decay: float


def _bend_squares(model: Any, X: Any, y: np.ndarray) -> Bend:
    return Bend(np.ones((X.shape[0], np.atleast_2d(model.coef_).shape[0])), float(getattr(model, "alpha", 0.0)))


def _bend_ridge_classifier(model: Any, X: Any, y: np.ndarray) -> Bend:
    plain = _bend_squares(model, X, y)
    return Bend(plain.curvature * compute_sample_weight(model.class_weight, y)[:, None], plain.decay)


def _bend_elastic_net(model: Any, X: Any, y: np.ndarray) -> Bend:
    return Bend(np.ones((X.shape[0], 1)), X.shape[0] * model.alpha * (1.0 - model.l1_ratio))


def _bend_logistic(model: Any, X: Any, y: np.ndarray) -> Bend:
    outputs = model.decision_function(X).reshape(X.shape[0], -1)
    weight = compute_sample_weight(model.class_weight, y)
    share = 0.0 if model.penalty in (None, "l1") else 1.0 - (model.l1_ratio or 0.0)
    return Bend(curve_logistic(outputs) * weight[:, None], share / model.C)


def _bend_linear_svc(model: Any, X: Any, y: np.ndarray) -> Bend:
    if model.loss != "squared_hinge" or model.multi_class != "ovr":
        raise ValueError(
            f"LinearSVC with loss='{model.loss}' and multi_class='{model.multi_class}' has no second derivatives to "
            "rank by; use loss='squared_hinge' and multi_class='ovr'"
        )
    outputs = model.decision_function(X).reshape(X.shape[0], -1)
    positive = model.classes_[1:] if outputs.shape[1] == 1 else model.classes_
    label = np.where(np.asarray(y)[:, None] == positive, 1.0, -1.0)
    weight = compute_sample_weight(model.class_weight, y)
    return Bend(curve_squared_hinge(label * outputs) * weight[:, None], (model.penalty == "l2") / model.C)


def _bend_tweedie(model: Any, X: Any, y: np.ndarray) -> Bend:
    power = {PoissonRegressor: 1.0, GammaRegressor: 2.0}.get(type(model))
    power = float(model.power) if power is None else power
    link = getattr(model, "link", "log")
    log_link = power > 0 if link == "auto" else link == "log"
    curvature = curve_deviance(model.predict(X), np.asarray(y, dtype=float), power, log_link=log_link)
    return Bend(curvature[:, None], X.shape[0] * model.alpha)


_KNOWN: dict[type, Callable[[Any, Any, np.ndarray], Bend]] = {
    ElasticNet: _bend_elastic_net,
    GammaRegressor: _bend_tweedie,
    Lasso: _bend_elastic_net,
    LinearRegression: _bend_squares,
    LinearSVC: _bend_linear_svc,
    LogisticRegression: _bend_logistic,
    PoissonRegressor: _bend_tweedie,
    Ridge: _bend_squares,
    RidgeClassifier: _bend_ridge_classifier,
    TweedieRegressor: _bend_tweedie,
}


def check_known(estimator: Any) -> None:
    """Refuse models whose objective we cannot differentiate twice."""
    if type(estimator) not in _KNOWN:
        names = ", ".join(sorted(known.__name__ for known in _KNOWN))
        raise ValueError(f"estimator={estimator!r} has no saliencies known here; give one of {names}, or None")


def saliency_of(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """What deleting each column's weights adds to the objective of a model that was fitted on ``X`` and ``y``."""
    bend = _KNOWN[type(model)](model, X, y)
    return measure_saliency(X, np.atleast_2d(model.coef_), bend.curvature, bend.decay)
