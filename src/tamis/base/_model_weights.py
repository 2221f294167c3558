"""Weights of rows for models that are not ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import is_regressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from tamis.base._target_values import check_squares


def weight_parameters(estimator: Any, sample_weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """Keyword arguments of ``fit`` by which a scikit-learn estimator gets weights of the rows; none if it takes none.

    With metadata routing an estimator gets them that asked for them; without it one whose ``fit`` takes them, and of a
    pipeline every step, if the last one does.
    """
    if sample_weight is None:
        return {}
    if get_config()["enable_metadata_routing"] and not has_fit_parameter(estimator, "sample_weight"):
        asks = get_routing_for_object(estimator).consumes("fit", {"sample_weight"})
        return {"sample_weight": sample_weight} if asks else {}
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": sample_weight}
    if isinstance(estimator, Pipeline) and has_fit_parameter(estimator.steps[-1][1], "sample_weight"):
        takers = [name for name, step in estimator.steps if has_fit_parameter(step, "sample_weight")]
        return {f"{name}__sample_weight": sample_weight for name in takers}
    return {}


def fit_weighted(estimator: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> Any:
    """Fit an estimator, with weights of the rows if there are any; refuses one whose ``fit`` takes none.

    Quantities whose squares are lost are refused, too: few models rescale them.
    """
    parameters = weight_parameters(estimator, sample_weight)
    if sample_weight is not None and not parameters:
        raise ValueError(
            f"sample_weight is given, but estimator={estimator!r} takes none in fit; leave it out, or, with metadata "
            "routing, call set_fit_request(sample_weight=True) on the steps that take it"
        )
    if is_regressor(estimator) and y.dtype.kind == "f":
        check_squares(y)
    return estimator.fit(X, y, **parameters)


def score_weighted(scorer: Any, model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> float:
    """Score of a model, weighted if there are weights and the scorer takes them, which only a call can tell."""
    if sample_weight is not None:
        with suppress(TypeError):
            return _defined(lambda: scorer(model, X, y, sample_weight=sample_weight), len(y))
    return _defined(lambda: scorer(model, X, y), len(y))


def _defined(score: Callable[[], float], n_rows: int) -> float:
    """The score of held-out rows, or an error where a single row has none."""
    with warnings.catch_warnings():
        if n_rows < 2:
            warnings.simplefilter("ignore", UndefinedMetricWarning)
        value = float(score())
    if np.isnan(value) and n_rows < 2:
        raise ValueError("a fold of one row has no score of this kind: give fewer folds, such as cv=2, or more rows")
    return value
