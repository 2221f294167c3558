"""Weights of rows for models that are not ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter


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
