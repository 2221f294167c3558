"""What is done in one fold: rank on its training rows, train configurations, and predict its test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tamis._sklearn import get_threadpool_controller
from tamis.base import Ranker, fresh
from tamis.learn._configurations import Configuration
from tamis.learn._costs import Costs, Guard
from tamis.learn._learning_table import Fold, LearningTable
from tamis.learn._portfolio import ModelEntry, Problem, RankerEntry
from tamis.learn._scalings import make_scaler
from tamis.table._by_source import first_of_each

EVEN = 0.5  # the probability at which a model parts two classes
_SMALL_FIT = 20_000  # entries of a table on which any fit is tried without asking what it costs
_PILOT_ROWS, _PILOT_COLUMNS = 300, 100
_PILOT_GROWTH = 4
_PILOT_SHARE = 0.05  # of the time left, for a larger part


@dataclass(frozen=True)
class Outcome:
    """What became of a fit: predictions, or why there are none.

    Attributes
    ----------
    output : ndarray or None
        Predictions of test rows, or for a ranking its order.
    seconds : float
    error : str
    n_columns : int
        Of the table that was learned from.
    was_run : bool
        False where there was no time for it.
    """

    output: np.ndarray | None
    seconds: float = 0.0
    error: str = ""
    n_columns: int = 0
    was_run: bool = True


NOT_RUN = Outcome(None, was_run=False)


def rank(entry: RankerEntry, problem: Problem, fold: Fold) -> np.ndarray:
    """Source columns, the best first; those that the ranker leaves out are not in it."""
    ranker: Ranker = fresh(entry.make(problem), stop=None)
    parameters = ranker.get_params(deep=False)
    if "random_state" in parameters:
        ranker.set_params(random_state=problem.random_state)
    if "groups" in ranker.provides and np.unique(fold.places).size < fold.places.size:
        ranker.set_params(groups=fold.places.tolist())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(fold.train, fold.y)
    return first_of_each(fold.places[np.asarray(ranker.order_)])


def rank_fold(
    data: LearningTable,
    entry: RankerEntry,
    problem: Problem,
    train: np.ndarray,
    test: np.ndarray,
    costs: Costs,
    guard: Guard,
) -> Outcome:
    """The ranking of one fold, if there is time for it."""
    fold = data.fold(train, test)
    n_rows, n_columns = fold.train.shape
    exponents = (entry.row_exponent, entry.column_exponent)
    if guard.end < np.inf and not costs.predict(entry.name, n_rows, n_columns, exponents) and _is_large(fold):
        _run_pilots(entry.name, exponents, partial(rank, entry, problem), fold, problem, costs, guard)
    if not guard.allows(costs.predict(entry.name, n_rows, n_columns, exponents)):
        return NOT_RUN
    return _timed(lambda: rank(entry, problem, fold), n_columns)


def predict_fold(
    data: LearningTable,
    configurations: Sequence[Configuration],
    models: Mapping[str, ModelEntry],
    problem: Problem,
    output: str,
    order: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
    costs: Costs,
    guard: Guard,
    exempt: frozenset[str] = frozenset(),
) -> list[Outcome]:
    """Predictions of the test rows by each configuration for which there is time.

    ``order`` is the ranking of the training rows, None where all features are kept; configurations whose key is
    ``exempt`` are run whatever they cost.
    """
    if guard.end - guard.clock() <= 0 and not any(each.key in exempt for each in configurations):
        return [NOT_RUN] * len(configurations)
    fold, outcomes = data.fold(train, test), []
    for configuration in configurations:
        model = models[configuration.model]
        part = fold if order is None else _keep(fold, order[: configuration.n_features])
        n_rows, n_columns = part.train.shape
        exponents = (model.row_exponent, model.column_exponent)
        if configuration.key not in exempt:
            if costs.predict(model.label, n_rows, n_columns, exponents) is None and _is_large(part):
                fit = partial(_predict, model, configuration, problem, output="label")
                _run_pilots(model.label, exponents, fit, part, problem, costs, guard)
            if not guard.allows(costs.predict(model.label, n_rows, n_columns, exponents)):
                outcomes.append(NOT_RUN)
                continue
        outcome = _timed(lambda c=configuration, m=model, p=part: _predict(m, c, problem, p, output), n_columns)
        costs.observe(model.label, n_rows, n_columns, outcome.seconds)
        outcomes.append(outcome)
    return outcomes


def make_pipeline_of(model: ModelEntry, configuration: Configuration, problem: Problem) -> Pipeline:
    """Scaling and model, not fitted."""
    scaler = make_scaler(configuration.scaling, is_sparse=problem.is_sparse)
    steps = [] if scaler is None else [("scale", scaler)]
    return Pipeline([*steps, ("model", model.make(problem))])


def _predict(model: ModelEntry, configuration: Configuration, problem: Problem, fold: Fold, output: str) -> np.ndarray:
    if fold.train.shape[1] == 0:
        raise ValueError("no column of these can be encoded")
    pipeline = make_pipeline_of(model, configuration, problem)
    classes = None if problem.classes is None else np.asarray(problem.classes)
    with limit_openmp_threads(_n_entries(fold.train)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(fold.train, fold.y if classes is None else classes[fold.y])
        if output == "decision" or (output == "decision or label" and gives_decisions(pipeline)):
            return _check_numbers(decision_values(pipeline, fold.test), fold)
        predicted = np.asarray(pipeline.predict(fold.test))
    if output == "value":
        return _check_numbers(predicted, fold)
    codes = _encode(predicted, classes, fold)
    return codes - EVEN if output == "decision or label" else codes


def _check_numbers(predicted: np.ndarray, fold: Fold) -> np.ndarray:
    """One finite number per row."""
    values = _one_per_row(predicted, fold).astype(float)
    if not np.isfinite(values).all():
        raise ValueError("predictions are not finite")
    return values


def _encode(predicted: np.ndarray, classes: np.ndarray | None, fold: Fold) -> np.ndarray:
    """Codes of predicted classes, one per row."""
    labels = _one_per_row(predicted, fold)
    if classes is None:
        return labels.astype(np.int32)
    codes = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    if not np.array_equal(classes[codes], labels):
        raise ValueError("predictions are none of the classes of y")
    return codes.astype(np.int32)


def _one_per_row(predicted: np.ndarray, fold: Fold) -> np.ndarray:
    n_rows = fold.test.shape[0]
    if predicted.shape not in ((n_rows,), (n_rows, 1)):
        raise ValueError(f"predictions have the shape {predicted.shape}, for {n_rows} rows")
    return predicted.reshape(n_rows)


def gives_decisions(pipeline: Any) -> bool:
    """Whether a model tells how much speaks for the second of two classes."""
    return hasattr(pipeline, "decision_function") or hasattr(pipeline, "predict_proba")


def decision_values(pipeline: Any, X: Any) -> np.ndarray:
    """How much speaks for the second of two classes; above zero it is predicted."""
    if hasattr(pipeline, "decision_function"):
        return np.asarray(pipeline.decision_function(X), dtype=float)
    return np.asarray(pipeline.predict_proba(X)[:, 1] - EVEN, dtype=float)


def _keep(fold: Fold, kept: np.ndarray) -> Fold:
    """The same fold with some of the source columns."""
    columns = fold.columns_of(kept)
    return Fold(fold.train[:, columns], fold.test[:, columns], fold.y, fold.places[columns])


def _is_large(fold: Fold) -> bool:
    return _n_entries(fold.train) > _SMALL_FIT


def _n_entries(table: Any) -> int:
    return table.nnz if hasattr(table, "nnz") else table.size


def limit_openmp_threads(n_entries: int) -> AbstractContextManager:
    """One thread for a table of few entries: where cores are busy, threads wait for each other seconds on end."""
    if n_entries > _SMALL_FIT:
        return nullcontext()
    return get_threadpool_controller().limit(limits=1, user_api="openmp")


def _part(fold: Fold, problem: Problem, n_rows: int, n_columns: int) -> Fold:
    """So many rows and columns, on which a fit tells what one on all of them costs."""
    rng = np.random.RandomState(problem.random_state)
    rows = np.sort(rng.permutation(fold.y.size)[:n_rows])
    columns = np.sort(rng.permutation(fold.train.shape[1])[:n_columns])
    table = fold.train.tocsr()[rows].tocsc() if hasattr(fold.train, "tocsr") else fold.train[rows]
    return Fold(table[:, columns], fold.test[:1, columns], fold.y[rows], fold.places[columns])


def _run_pilots(
    name: str,
    exponents: tuple[float, float],
    fit: Callable[[Fold], Any],
    fold: Fold,
    problem: Problem,
    costs: Costs,
    guard: Guard,
) -> None:
    """Time fits on ever larger parts, until they tell that one on all of the fold ends in time, or take too long.

    A small part overstates the cost of a large table where much of it does not grow with the table.
    """
    n_rows, n_columns = fold.train.shape
    rows, columns = _PILOT_ROWS, _PILOT_COLUMNS
    while rows < n_rows or columns < n_columns:
        part = _part(fold, problem, rows, columns)
        outcome = _timed(partial(fit, part), part.train.shape[1])
        costs.observe(name, part.train.shape[0], outcome.n_columns, outcome.seconds)
        if guard.allows(costs.predict(name, n_rows, n_columns, exponents)):
            return
        rows, columns = min(n_rows, _PILOT_GROWTH * rows), min(n_columns, _PILOT_GROWTH * columns)
        seconds = costs.predict(name, rows, columns, exponents)
        if seconds is None or seconds > _PILOT_SHARE * (guard.end - guard.clock()):
            return


def _attempt(run: Any) -> tuple[Any, str]:
    """What a call gives, or what went wrong: one configuration that fails must not harm the others."""
    try:
        return run(), ""
    except Exception as failure:
        return None, f"{type(failure).__name__}: {failure}"


def _timed(run: Any, n_columns: int) -> Outcome:
    started = time.perf_counter()
    output, error = _attempt(run)
    return Outcome(output, time.perf_counter() - started, error, n_columns)
