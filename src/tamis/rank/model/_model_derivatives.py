"""scikit-learn's models as derivatives of their outputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from tamis.base import fit_weighted
from tamis.rank.model._derivative_norms import (
    kernel_derivatives,
    mean_derivatives,
    mean_differences,
    network_derivatives,
)

_KERNELS = {"rbf": "rbf", "poly": "poly", "polynomial": "poly", "sigmoid": "sigmoid"}


@dataclass(frozen=True)
class Derivatives:
    """Derivatives of a model: a map from points to an array of shape (n_points, n_outputs, n_features).

    ``per_row`` is how many numbers it takes for one point.
    """

    at: Callable[[np.ndarray], np.ndarray]
    per_row: int


def is_model(model: Any) -> bool:
    """Whether it is an estimator in scikit-learn's sense."""
    return not isinstance(model, type) and all(hasattr(model, name) for name in ("fit", "predict", "get_params"))


def is_fitted(model: Any) -> bool:
    """Whether it has been fitted, also where it could do without, as a Gaussian process."""
    try:
        check_is_fitted(model, None if get_tags(model).requires_fit else "n_features_in_")
    except NotFittedError:
        return False
    return True


def fit_quietly(model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> tuple[int, bool]:
    """Iterations of a training, at least one, and whether it converged, in place of the warning that it did not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_weighted(model, X, y, sample_weight)
    others = [warning for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    for warning in others:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    n_iter = getattr(model, "n_iter_", None)
    return (1 if n_iter is None else max(1, int(np.max(n_iter)))), len(others) == len(caught)


def measure_model(
    model: Any, X: np.ndarray, norm: str, width: np.ndarray, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Mean squared or absolute derivatives of a fitted model at the rows of ``X``, summed over its outputs.

    Parameters
    ----------
    model : fitted estimator
    X : ndarray of shape (n_samples, n_features)
    norm : {"l2", "l1"}
    width : ndarray of shape (n_features,)
        Of the differences, for models without derivatives known here.
    sample_weight : ndarray of shape (n_samples,) or None
        How often each row counts in the mean.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    expected = getattr(model, "n_features_in_", X.shape[1])
    if expected != X.shape[1]:
        raise ValueError(f"estimator was fitted on {expected} features and X has {X.shape[1]}")
    derivatives = find_derivatives(model)
    if derivatives is None:
        found = mean_differences(_outputs_of(model), X, width, norm, sample_weight)
        if not found.any():
            raise ValueError(
                f"the outputs of {type(model).__name__} do not change over the differences tried: there is nothing to "
                "rank by; raise width (0.5 suits trees and neighbors)"
            )
        return found
    return mean_derivatives(derivatives.at, X, derivatives.per_row, norm, sample_weight)


def find_derivatives(model: Any) -> Derivatives | None:
    """Derivatives of a fitted model, in closed form; None if there is none here."""
    if isinstance(model, Pipeline):
        return _chain([step for _, step in model.steps])
    if isinstance(model, FrozenEstimator):
        return find_derivatives(model.estimator)
    if hasattr(model, "best_estimator_"):  # of a search over parameters
        return find_derivatives(model.best_estimator_)
    if isinstance(model, MLPClassifier | MLPRegressor):
        return _differentiate_network(model)
    if isinstance(model, SVC | NuSVC | SVR | NuSVR | OneClassSVM | KernelRidge):
        return _differentiate_kernels(model)
    if _is_linear(model):
        return _constant(_dense(model.coef_))
    return None


def _is_linear(model: Any) -> bool:
    return hasattr(model, "intercept_") and np.shape(getattr(model, "coef_", ()))[-1:] == (model.n_features_in_,)


def _dense(values: Any) -> np.ndarray:
    return np.atleast_2d(values.toarray() if sparse.issparse(values) else np.asarray(values, dtype=float))


def _constant(weights: np.ndarray) -> Derivatives:
    def at(points: np.ndarray) -> np.ndarray:
        return np.broadcast_to(weights, (len(points), *weights.shape))

    return Derivatives(at, weights.size)


def _differentiate_network(model: Any) -> Derivatives:
    """Outputs before their activation: quantities, or logits less their mean, which no prediction depends on."""
    weights = [np.asarray(weight, dtype=float) for weight in model.coefs_]
    if model.out_activation_ == "softmax":
        weights[-1] = weights[-1] - weights[-1].mean(axis=1, keepdims=True)
    biases = [np.asarray(bias, dtype=float) for bias in model.intercepts_]
    at = partial(network_derivatives, weights=weights, biases=biases, activation=model.activation)
    return Derivatives(at, weights[-1].shape[1] * max(len(weight) for weight in weights))


def _differentiate_kernels(model: Any) -> Derivatives | None:
    """Of a kernel machine, with one output per pair of classes where there are more than two."""
    if isinstance(model, KernelRidge):
        vectors, coefficients = _dense(model.X_fit_), np.atleast_2d(np.asarray(model.dual_coef_).T)
        gamma = 1.0 / vectors.shape[1] if model.gamma is None else model.gamma
    else:
        if model.kernel == "precomputed":
            return None
        vectors, coefficients = _dense(model.support_vectors_), _dense(model.dual_coef_)
        gamma = model._gamma
        if isinstance(model, SVC | NuSVC) and model.classes_.size > 2:
            coefficients = _pair_coefficients(coefficients, model.n_support_)
    if model.kernel == "linear":
        return _constant(coefficients @ vectors)
    if not isinstance(model.kernel, str) or model.kernel not in _KERNELS:
        return None
    at = partial(
        kernel_derivatives,
        vectors=vectors,
        coefficients=coefficients,
        kernel=_KERNELS[model.kernel],
        gamma=gamma,
        degree=model.degree,
        coef0=model.coef0,
    )
    return Derivatives(at, max(len(vectors), len(coefficients) * vectors.shape[1]))


def _pair_coefficients(dual: np.ndarray, n_support: np.ndarray) -> np.ndarray:
    """One row per pair of classes of libsvm's table, which holds class i's vectors against the others in its rows."""
    place = np.concatenate([[0], np.cumsum(n_support)])
    pairs = list(combinations(range(n_support.size), 2))
    coefficients = np.zeros((len(pairs), dual.shape[1]))
    for row, (i, j) in zip(coefficients, pairs, strict=True):
        row[place[i] : place[i + 1]] = dual[j - 1, place[i] : place[i + 1]]
        row[place[j] : place[j + 1]] = dual[i, place[j] : place[j + 1]]
    return coefficients


def _chain(steps: list[Any]) -> Derivatives | None:
    """Of a pipeline of scalers and a model, by the chain rule."""
    scaler, *rest = steps
    if not rest:
        return find_derivatives(scaler)
    inner = _chain(rest)
    if inner is None or scaler is None or scaler == "passthrough":
        return inner
    factor = _factor_of(scaler)
    if factor is None:
        return None

    def at(points: np.ndarray) -> np.ndarray:
        return inner.at(_quietly(scaler.transform, points)) * factor

    return Derivatives(at, inner.per_row)


def _factor_of(scaler: Any) -> Any:
    """What a scaler multiplies the columns by; None for other transformers."""
    if isinstance(scaler, StandardScaler | MaxAbsScaler | RobustScaler):
        return 1.0 if scaler.scale_ is None else 1.0 / scaler.scale_
    if isinstance(scaler, MinMaxScaler) and not scaler.clip:
        return scaler.scale_
    return None


def _outputs_of(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The real-valued outputs of a model."""
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            return partial(_quietly, getattr(model, name))
    if is_classifier(model):
        raise ValueError(
            f"estimator={model!r} gives labels only: SensitivityRanking needs decision_function or predict_proba"
        )
    return partial(_quietly, model.predict)


def _quietly(predict: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
    """Predict without the warning that a model which was fitted on a table with names gets an array."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return predict(points)
