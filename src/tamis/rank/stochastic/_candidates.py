"""Which columns take part in a draw, and in what order, so that it does not matter where they stand in the table."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis.base import Ranker, fresh
from tamis.kernels.blocks import blocks
from tamis.kernels.columns import as_columns, to_numpy
from tamis.kernels.correlation_groups import group_columns
from tamis.rank.univariate._fisher_score import FisherScore

_NUMBERS = 2**22  # that are copied at a time


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


def order_columns(X: Any) -> np.ndarray:
    """Places of the columns in an order that depends on their values alone, without copies to the last digit.

    Units and offsets do not matter either, but for rounding.
    """
    X = sparse.csc_array(X) if sparse.issparse(X) else X
    key = _column_keys(X)
    order = np.argsort(key, kind="stable")
    alike = 1 + np.flatnonzero(np.diff(key[order]) == 0)
    copies = [place for place in alike.tolist() if _are_equal(X, int(order[place - 1]), int(order[place]))]
    return np.delete(order, copies)


def _column_keys(X: Any) -> np.ndarray:
    """Correlation of every column with one random vector, column by column, unlike BLAS: places must not matter."""
    along = np.random.RandomState(0).standard_normal(X.shape[0])
    along -= along.mean()
    if sparse.issparse(X):
        total, squares = X.T @ np.ones(X.shape[0]), X.multiply(X).T @ np.ones(X.shape[0])
        return (X.T @ along) / np.sqrt(np.maximum(squares - total**2 / X.shape[0], np.finfo(float).tiny))
    key = np.empty(X.shape[1])
    for block in blocks(X.shape[1], _NUMBERS // X.shape[0]):
        columns = np.ascontiguousarray(X[:, block].T, dtype=float)
        columns -= columns.mean(axis=1, keepdims=True)
        norm = np.sqrt(np.einsum("ij,ij->i", columns, columns))
        key[block] = np.einsum("ij,j->i", columns, along) / np.maximum(norm, np.finfo(float).tiny)
    return key


def _are_equal(X: Any, i: int, j: int) -> bool:
    if not sparse.issparse(X):
        return np.array_equal(X[:, i], X[:, j])
    a, b = (slice(X.indptr[column], X.indptr[column + 1]) for column in (i, j))
    return np.array_equal(X.indices[a], X.indices[b]) and np.array_equal(X.data[a], X.data[b])


def lead_groups(X: Any, y: np.ndarray, threshold: float) -> np.ndarray:
    """For each column the place of the one that stands for it: the best of its like, by Fisher score."""
    scores = FisherScore().fit(X, y).scores_
    return group_columns(X, np.argsort(-scores, kind="stable"), threshold)
