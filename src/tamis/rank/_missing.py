"""Missing values (NaN) that go to a model which takes them: what the columns are like where their values are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import get_tags

from tamis.kernels.arrays.scaling import rescale_columns, standard_deviations, standardize_columns, varying_columns

_SCALERS = (MaxAbsScaler, MinMaxScaler, PowerTransformer, QuantileTransformer, RobustScaler, StandardScaler)


def takes_missing(estimator: Any) -> bool:
    """Whether an estimator says that it takes missing values.

    Of a pipeline, whose tags do not tell, the first step does that is no scaler: those leave them as they are.
    """
    if not isinstance(estimator, Pipeline):
        return get_tags(estimator).input_tags.allow_nan
    steps = [step for _, step in estimator.steps]
    while len(steps) > 1 and (steps[0] in (None, "passthrough") or isinstance(steps[0], _SCALERS)):
        steps.pop(0)
    return takes_missing(steps[0])


def standardize_known(X: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
    """Columns of zero mean and unit variance over the rows where they are known; elsewhere they stay missing."""
    Z = np.full(X.shape, np.nan)
    for rows, columns, weight in _where_known(X, sample_weight):
        Z[np.ix_(rows, columns)] = standardize_columns(X[np.ix_(rows, columns)], weight)
    return Z


def deviations_of_known(X: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
    """Standard deviations over the rows where columns are known; zero where these values are all the same."""
    deviations = np.zeros(X.shape[1])
    for rows, columns, weight in _where_known(X, sample_weight):
        deviations[columns] = standard_deviations(X[np.ix_(rows, columns)], weight)
    return deviations


def tells_rows_apart(X: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
    """Mask of the columns that are not constant: a column that is missing in some rows only is not."""
    is_known = ~np.isnan(X)
    mask = is_known.any(axis=0) & ~is_known.all(axis=0)
    complete = np.flatnonzero(is_known.all(axis=0))
    if complete.size:
        mask[complete[varying_columns(rescale_columns(X[:, complete]), sample_weight)]] = True
    return mask


def _where_known(
    X: np.ndarray, sample_weight: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Rows, columns that are known in all of them and in no other, and weights of the rows."""
    is_known = ~np.isnan(X)
    complete = np.flatnonzero(is_known.all(axis=0))
    if complete.size:
        yield np.arange(len(X)), complete, sample_weight
    for column in np.flatnonzero(is_known.any(axis=0) & ~is_known.all(axis=0)):
        rows = np.flatnonzero(is_known[:, column])
        yield rows, np.array([column]), None if sample_weight is None else sample_weight[rows]
