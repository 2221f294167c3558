"""What a scikit-learn model is made of: steps that keep columns in their places, and the model behind them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

_LIBRARIES = ("catboost", "lightgbm", "xgboost")
_BY_PLACE = {  # parameters that name columns by their places, in scikit-learn and in the three libraries
    "cat_features",
    "categorical_feature",
    "categorical_features",
    "feature_types",
    "feature_weights",
    "ignored_features",
    "interaction_constraints",
    "interaction_cst",
    "monotone_constraints",
    "monotonic_cst",
    "text_features",
}
_NO_PLACES = {"", "auto", "from_dtype", "no_interactions", "pairwise"}  # what these parameters may be but places


def model_behind(model: Any) -> Any:
    """The model itself behind a frozen one, or behind a search over parameters: the best one, once it is fitted."""
    if isinstance(model, FrozenEstimator):
        return model_behind(model.estimator)
    if hasattr(model, "best_estimator_"):
        return model_behind(model.best_estimator_)
    if hasattr(model, "param_distributions") or hasattr(model, "param_grid"):
        return model_behind(model.estimator)
    return model


def split_steps(model: Any) -> tuple[list[Any], Any]:
    """The transformers of a pipeline, if it is one, and the model at its end, fitted or not."""
    model = model_behind(model)
    if not isinstance(model, Pipeline):
        return [], model
    *steps, (_, last) = model.steps
    inner, last = split_steps(last)
    return [step for _, step in steps if step is not None and step != "passthrough"] + inner, last


def moving_step(model: Any) -> Any:
    """The first step of a pipeline whose columns need not be those that it is given; None if there is none.

    Scalers and imputers keep every column in its place; an imputer that marks what was missing adds some.
    """
    for step in split_steps(model)[0]:
        if not isinstance(step, OneToOneFeatureMixin) and getattr(step, "add_indicator", None) is not False:
            return step
    return None


def transform_by_steps(model: Any, X: Any) -> Any:
    """A table as the last step of a fitted model sees it: a numpy array or sparse."""
    Z = reduce(lambda table, step: step.transform(table), split_steps(model)[0], X)
    if Z.shape[1] != X.shape[1]:  # an imputer drops a column of which nothing is known
        raise ValueError(
            f"the steps of estimator={model!r} leave {Z.shape[1]} of {X.shape[1]} columns: weights and contributions "
            "cannot be told apart; use importance='permutation', or imputers with keep_empty_features=True"
        )
    return Z if sparse.issparse(Z) else np.asarray(Z)


def library_of(model: Any) -> str | None:
    """Which library of boosted trees a model, or the last step of a pipeline, comes from, if any; imports none."""
    last = split_steps(model)[1]
    modules = {kind.__module__.split(".")[0] for kind in type(last).__mro__}
    return next((name for name in _LIBRARIES if name in modules), None)


def names_columns(model: Any) -> bool:
    """Whether an estimator was told, or has learned, what is in which column: they must stay where they are."""
    given = model.get_params(deep=True)
    if any(isinstance(each, ColumnTransformer | FrozenEstimator) for each in (model, *given.values())):
        return True
    return any(
        name.split("__")[-1] in _BY_PLACE
        and value is not None
        and (value not in _NO_PLACES if isinstance(value, str) else len(value) > 0)
        for name, value in given.items()
    )


def check_learned_columns(model: Any, names: Any) -> None:
    """Refuse a model that was fitted before on columns of other names, or in another order."""
    for each in (model, *model.get_params(deep=True).values()):
        learned = getattr(each, "feature_names_in_", None) if isinstance(each, FrozenEstimator) else None
        if learned is not None and names is not None and list(learned) != [str(name) for name in names]:
            raise ValueError(
                f"estimator={each!r} was fitted on the columns {', '.join(map(str, learned[:5]))}, ..., in this order: "
                "give X with these columns, X[estimator.feature_names_in_]"
            )


def as_the_library_reads(model: Any, X: Any) -> Any:
    """A sparse table as the library of a model takes it: LightGBM and CatBoost know matrices, and no arrays."""
    is_old = sparse.issparse(X) and library_of(model) in ("lightgbm", "catboost")
    return sparse.csr_matrix(X) if is_old else X
