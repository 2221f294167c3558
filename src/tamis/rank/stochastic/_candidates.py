"""Which columns take part in a draw, and in what order, so that it does not matter where they stand in the table."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from tamis.base import Ranker, fresh
from tamis.kernels.arrays.columns import as_columns, to_numpy
from tamis.kernels.arrays.copies import order_columns
from tamis.rank.stochastic._correlation_groups import group_columns
from tamis.rank.univariate._fisher_score import FisherScore


def choose_candidates(
    X: Any, codes: np.ndarray, preselect: Any, group_correlation: float | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Columns that take part, in an order that depends on their values alone, and the one that stands for each."""
    columns = varying_columns(X)
    if not columns.size:
        raise ValueError("no column of X varies by more than rounding: rescale them, or use standardize=True")
    columns = columns[preselect_columns(preselect, X[:, columns], codes)]
    group_of = None
    if group_correlation is not None:
        leaders = columns[lead_groups(X[:, columns], codes, group_correlation)]
        group_of = np.arange(X.shape[1])
        group_of[columns] = leaders
        columns = np.unique(leaders)
    return columns[order_columns(X[:, columns])], group_of


def varying_columns(X: Any) -> np.ndarray:
    """Places of the columns that are not constant."""
    return np.flatnonzero(to_numpy(as_columns(X).norm2) > 0)


def preselect_columns(preselect: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Places of the columns that a first, cheap look keeps.

    A number is held against the Fisher score (Gadat & Younes 2007, Sec. 5.2.5), a whole one is how many to keep.
    """
    if preselect is None:
        return np.arange(X.shape[1])
    if isinstance(preselect, Integral):
        return np.sort(_fisher(y).set_params(stop=min(int(preselect), X.shape[1])).fit(X, y).get_support(indices=True))
    if isinstance(preselect, Real):
        kept = np.flatnonzero(_fisher(y).fit(X, y).scores_ > preselect)
        if not kept.size:
            raise ValueError(f"preselect={preselect}: no feature has a Fisher score above it; lower it")
        return kept
    selector = fresh(preselect) if isinstance(preselect, Ranker) else clone(preselect)
    kept = selector.fit(X, y).get_support(indices=True)
    if not kept.size:
        raise ValueError(f"preselect={preselect} keeps no feature: there is nothing to weigh")
    return kept


def _fisher(y: np.ndarray) -> FisherScore:
    return FisherScore(form="unbiased" if np.unique(y).size == 2 else "scatter")


def lead_groups(X: Any, y: np.ndarray, threshold: float) -> np.ndarray:
    """For each column the place of the one that stands for it: the best of its like, by Fisher score."""
    scores = FisherScore().fit(X, y).scores_
    return group_columns(X, np.argsort(-scores, kind="stable"), threshold)
