"""Models that grow trees, and what these cannot read of a table or a target.

One rule for all models of users: what their trees would lose is refused, with the column and the cure. Where affine
maps change nothing in what is looked at, as in the impurities of a forest, trees are given units in which nothing is
lost (:mod:`tamis.kernels.arrays.tree_units`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamis.kernels.arrays.tree_units import columns_lost_to_trees, is_quantity_lost_to_trees

_FORESTS = (ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor)
_TREES = (
    *_FORESTS,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
_TREES_BY_DEFAULT = (AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor)
_IN_SINGLE_PRECISION = ("catboost", "xgboost")


def may_rescale_trees(model: Any) -> bool:
    """Whether increasing affine maps of columns and of a quantity change nothing in what a model learns.

    That is a forest by itself without a parameter in the unit of the target, or a loss that knows its zero.
    """
    return (
        type(model) in _FORESTS
        and model.criterion != "poisson"
        and not model.min_impurity_decrease
        and not model.ccp_alpha
    )


def check_read_by_trees(estimator: Any, X: Any, y: np.ndarray | None, name_of: Callable[[int], str]) -> None:
    """Refuse columns and quantities of which the trees of a user's model would see nothing, or next to nothing.

    Parameters
    ----------
    estimator : estimator
        Of which nothing is asked unless it grows trees, be it as a step or in an ensemble.
    X : table or None
        None where its columns are standardized for the model.
    y : ndarray or None
    name_of : callable
        What a column is called.
    """
    parts = [estimator, *estimator.get_params(deep=True).values()]
    if any(isinstance(part, FrozenEstimator) for part in parts):
        return
    trees = next((part for part in parts if _reads_singly(part)), None)
    if trees is None:
        return
    name = type(trees).__name__
    is_table = isinstance(X, np.ndarray) or sparse.issparse(X)
    if is_table and (lost := columns_lost_to_trees(X)).size and not _is_cured_by_steps(parts, X, y):
        raise ValueError(
            f"column '{name_of(int(lost[0]))}' is constant, or nearly so, to {name}, whose trees read single "
            "precision: subtract its smallest value, or give it in other units"
        )
    transforms_target = any(isinstance(part, TransformedTargetRegressor) for part in parts)
    if y is None or transforms_target or not is_regressor(trees) or y.ndim > 1 or y.dtype.kind not in "fiu":
        return
    if is_quantity_lost_to_trees(y.astype(float)):
        raise ValueError(
            f"y is constant, or nearly so, to {name}, whose trees split no node of a variance near 1e-16, or near "
            "rounding: subtract its mean, and give it in other units"
        )


def _reads_singly(part: Any) -> bool:
    """Whether a model, or a step of one, grows trees on columns in single precision."""
    if isinstance(part, _TREES) or (isinstance(part, _TREES_BY_DEFAULT) and part.estimator is None):
        return True
    return any(kind.__module__.split(".")[0] in _IN_SINGLE_PRECISION for kind in type(part).__mro__)


def _is_cured_by_steps(parts: list[Any], X: Any, y: np.ndarray | None) -> bool:
    """Whether the steps of a pipeline before its model change the columns such that its trees can read them."""
    steps = next((part for part in parts if isinstance(part, Pipeline) and len(part.steps) > 1), None)
    if steps is None:
        return False
    Z = clone(steps[:-1]).fit_transform(X, y)
    return not columns_lost_to_trees(Z if sparse.issparse(Z) else np.asarray(Z)).size
