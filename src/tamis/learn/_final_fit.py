"""What was chosen, fitted to all rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from tamis.learn._configurations import Configuration
from tamis.learn._fold_work import EVEN, gives_decisions, limit_openmp_threads, make_pipeline_of, rank
from tamis.learn._learning_table import Fold, LearningTable
from tamis.learn._portfolio import ALL, ModelEntry, Problem, RankerEntry
from tamis.learn._vote import VoteOfPipelines
from tamis.table._source import Source
from tamis.table._source_columns import take_columns
from tamis.table._table_encoder import TableEncoder


@dataclass(frozen=True)
class Final:
    """The fitted estimator and what it keeps.

    Attributes
    ----------
    support : ndarray of bool
        Source columns.
    order : ndarray
        Source columns by the ranking on all rows, those kept first.
    orders : dict
        The ranking on all rows of each ranker that was run on them.
    estimator : predictor
    n_rows : int
        That it was fitted to.
    ended_early : bool
        Whether a solver of support vector machines had no steps left, so that it says little of the rows.
    """

    support: np.ndarray
    order: np.ndarray
    orders: dict[str, np.ndarray]
    estimator: Any
    n_rows: int
    ended_early: bool


def fit_final(
    data: LearningTable,
    X: Any,
    y: np.ndarray,
    chosen: Sequence[Configuration],
    rankers: Mapping[str, RankerEntry],
    models: Mapping[str, ModelEntry],
    problem: Problem,
    threshold_of: Callable[[Configuration], float | None],
) -> Final:
    """Rank all rows, and train each configuration chosen on the columns it keeps of ``X``.

    ``threshold_of`` tells where it parts two classes, None for where its model does.
    """
    n_columns = data.n_columns
    orders, fold = {}, data.all_rows()
    everything = _telling_columns(fold)
    for name in dict.fromkeys(each.ranker for each in chosen if each.ranker != ALL):
        orders[name] = rank(rankers[name], problem, fold)
    kept = [everything if each.ranker == ALL else np.sort(orders[each.ranker][: each.n_features]) for each in chosen]
    union = np.unique(np.concatenate(kept))
    support = np.isin(np.arange(n_columns), union)
    pipelines = [
        _fit_pipeline(data, models[each.model], each, problem, take_columns(X, places), y, threshold_of(each))
        for each, places in zip(chosen, kept, strict=True)
    ]
    is_vote = len(chosen) > 1
    classes = np.unique(y) if problem.task == "classification" else None
    places = [np.searchsorted(union, each) for each in kept]
    estimator = VoteOfPipelines(pipelines, places, classes) if is_vote else pipelines[0]
    ended_early = any(_ended_early(pipeline[-1]) for pipeline in pipelines)
    return Final(support, _arrange(support, orders, chosen), orders, estimator, data.y.size, ended_early)


def _ended_early(model: Any) -> bool:
    """Whether libsvm stopped for want of steps."""
    model = getattr(model, "regressor_", model)  # of a transformed target
    model = getattr(getattr(model, "estimator_", model), "estimator", model)  # of a border that was moved
    return bool(getattr(model, "fit_status_", 0))


def _telling_columns(fold: Fold) -> np.ndarray:
    """Source columns that hold more than one value once encoded: the others tell nothing, and are not kept."""
    if hasattr(fold.train, "tocsc"):
        varies = np.asarray((fold.train.max(axis=0) != fold.train.min(axis=0)).todense()).ravel()
    else:
        varies = np.ptp(fold.train, axis=0) > 0
    return np.unique(fold.places[varies])


def fit_guess(task: str, y: np.ndarray) -> Any:
    """What guesses without a look at the features."""
    guess = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    return guess.fit(np.zeros((y.size, 1)), y)


def _fit_pipeline(
    data: LearningTable,
    model: ModelEntry,
    configuration: Configuration,
    problem: Problem,
    X: Any,
    y: np.ndarray,
    threshold: float | None,
) -> Pipeline:
    pipeline = make_pipeline_of(model, configuration, problem)
    if isinstance(data.table, Source):
        pipeline = Pipeline([("encode", TableEncoder(task=data.task)), *pipeline.steps])
    elif X.dtype.kind != "f":  # logarithms of small integers would be of half precision
        pipeline = Pipeline([("float", FunctionTransformer(as_floats, accept_sparse=True)), *pipeline.steps])
    with limit_openmp_threads(data.n_columns * data.y.size), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(X, y)
        if threshold is not None and gives_decisions(pipeline):  # of some models it is known once they are fitted
            *before, (name, fitted) = pipeline.steps
            parted = _part_at(fitted, threshold, np.unique(y)[1])
            pipeline = Pipeline([*before, (name, parted.fit(X if not before else Pipeline(before).transform(X), y))])
    return pipeline


def as_floats(X: Any) -> Any:
    """The same numbers in double precision."""
    return X.astype(float)


def _part_at(fitted: Any, threshold: float, second: Any) -> FixedThresholdClassifier:
    """A fitted model that predicts the second class above another decision value than its own."""
    method, middle = ("decision_function", 0.0) if hasattr(fitted, "decision_function") else ("predict_proba", EVEN)
    return FixedThresholdClassifier(
        FrozenEstimator(fitted), threshold=threshold + middle, pos_label=second, response_method=method
    )


def _arrange(support: np.ndarray, orders: Mapping[str, np.ndarray], chosen: Sequence[Configuration]) -> np.ndarray:
    """All columns that are ranked or kept, those kept first; where all are kept, in the order of the table."""
    first = next((orders[each.ranker] for each in chosen if each.ranker in orders), np.empty(0, dtype=int))
    kept_first = np.concatenate([first[support[first]], np.setdiff1d(np.flatnonzero(support), first)])
    return np.concatenate([kept_first, first[~support[first]]]).astype(int)
