"""Held-out rows: folds, outputs of a path of models on them, and the choice by one standard error."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from tamis._sklearn import safe_indexing
from tamis.base import Candidates, LinearModel, rule_class, split_rows
from tamis.rank._linear_problem import LinearProblem


def validation_folds(
    cv: Any, candidates: Candidates, y: np.ndarray, classes: np.ndarray | None, kept_rows: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Training and test rows; None where a class, or the table, is too small to be in all of them.

    A number of folds is lowered to the rows of the smallest class, and folds are shuffled, always alike: tables are
    often sorted by their target. Folds that are given as rows speak of the table given to ``fit``, of which only
    ``kept_rows`` are left. Rows of weight zero, which only tables read in blocks still have, do not count: they are
    added to the first fold, where they change nothing.
    """
    if classes is not None:
        y = np.searchsorted(classes, y)  # labels may be objects, which cannot be stratified
    table, row_groups, weight = candidates.table, candidates.row_groups, candidates.sample_weight
    if weight is None or np.all(weight > 0):
        return _split(cv, table, y, classes, kept_rows, row_groups)
    counted, weightless = np.flatnonzero(weight > 0), np.flatnonzero(weight == 0)
    labels = None if row_groups is None else row_groups[counted]
    folds = _split(cv, np.empty((counted.size, 0)), y[counted], classes, counted, labels)
    if folds is None:
        return None
    folds = [(counted[train], counted[test]) for train, test in folds]
    (train, test), *others = folds
    return [(train, np.append(test, weightless)), *((np.append(each, weightless), out) for each, out in others)]


def _split(
    cv: Any,
    table: Any,
    y: np.ndarray,
    classes: np.ndarray | None,
    kept_rows: np.ndarray | None,
    row_groups: np.ndarray | None,
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """The folds of rows that all count."""
    if row_groups is None and (cv is None or isinstance(cv, Integral)):
        fewest = len(y) // 2 if classes is None else int(np.bincount(y).min())
        n_folds = min(5 if cv is None else int(cv), fewest)
        if n_folds < 2:
            return None
        kind = KFold if classes is None else StratifiedKFold
        cv = kind(n_folds, shuffle=True, random_state=0)
    folds = split_rows(cv, table, y, classifier=classes is not None, kept_rows=kept_rows, row_groups=row_groups)
    if classes is not None:
        folds = [(train, test) for train, test in folds if np.unique(y[train]).size == classes.size]
    return folds or None


def held_out_rows(
    share: float, classes: np.ndarray | None, row_groups: np.ndarray | None, n_samples: int, rng: np.random.RandomState
) -> np.ndarray:
    """A random share of the rows, ascending: of every class, or of whole groups of rows where there are any.

    Parameters
    ----------
    share : float
    classes : ndarray of int of shape (n_samples,) or None
        Of a class with a single row none is held out, of any other at least one.
    row_groups : ndarray of shape (n_samples,) or None
    n_samples : int
    rng : RandomState
    """
    if row_groups is not None:
        groups = np.unique(row_groups)
        taken = rng.permutation(groups.size)[: max(1, round(share * groups.size))]
        return np.flatnonzero(np.isin(row_groups, groups[taken])) if groups.size > 1 else np.empty(0, dtype=int)
    rows = rng.permutation(n_samples)  # one draw for all classes, so that their names do not matter
    of_class = [rows] if classes is None else [rows[classes[rows] == each] for each in np.unique(classes)]
    return np.sort(np.concatenate([each[: max(round(share * each.size), each.size > 1)] for each in of_class]))


def path_outputs(models: Sequence[LinearModel], table: Any) -> list[np.ndarray]:
    """Outputs of every model, of shape (n_rows, n_targets); columns that any of them has are taken once."""
    ever = np.unique(np.concatenate([model.features for model in models]))
    columns = safe_indexing(table, ever, axis=1)
    columns = np.asarray(columns.toarray() if hasattr(columns, "toarray") else columns, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):  # a row far beyond those of the training has infinite outputs
        outputs = [columns[:, np.searchsorted(ever, model.features)] @ model.coef + model.intercept for model in models]
        return [np.nan_to_num(each, nan=np.inf, posinf=np.inf, neginf=-np.inf) for each in outputs]


def stay_at_last(errors: np.ndarray, size: int) -> np.ndarray:
    """Errors along a path that may have ended early, and then stays where it is."""
    return np.append(errors, np.full(size - errors.size, errors[-1]))


def one_standard_error(errors: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Mean and standard error over the folds, the place of the least mean, and the first within its standard error.

    Parameters
    ----------
    errors : ndarray of shape (n_folds, n_models)
        Of models that grow.
    weight : ndarray of shape (n_folds,) or None
        How often each row of ``errors`` counts.
    """
    with np.errstate(over="ignore"):
        mean = np.average(errors, axis=0, weights=weight)
    total = len(errors) if weight is None else float(weight.sum())
    deviations = np.where(np.isfinite(mean), errors - np.where(np.isfinite(mean), mean, 0.0), 0.0)
    with np.errstate(over="ignore"):  # of errors on a row far beyond the others
        variance = np.average(deviations**2, axis=0, weights=weight)
    spread = np.sqrt(variance / (total - 1)) if total > 1 else np.zeros_like(mean)
    best = int(np.argmin(mean))
    return mean, spread, best, int(np.flatnonzero(mean <= mean[best] + spread[best])[0])


def selection_error(
    ranker: Any,
    candidates: Candidates,
    y: np.ndarray,
    problem: LinearProblem,
    train: np.ndarray,
    test: np.ndarray,
    n_top: int | None,
) -> float:
    """Error on held-out rows of the model that a ranker learns on what it selects from the others."""
    rule = rule_class("own-choice")() if n_top is None else rule_class("top-k")(n_features=n_top)
    seen = candidates.take_rows(train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a cost too large shows in its error
        ranker._select(seen, y[train], rule)
    model = ranker.estimator_
    predicted = model.predict(safe_indexing(candidates.table, test)[:, model.features])
    is_quantity = model.classes is None
    errors = (predicted / problem.unit - y[test] / problem.unit) ** 2 if is_quantity else predicted != y[test]
    return float(np.average(errors, weights=problem.row_shares[test]))


def classification_errors(outputs: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """1 where the class of the largest output is wrong, else 0."""
    if Y.shape[1] == 1:
        return (np.sign(outputs[:, 0]) != Y[:, 0]).astype(float)
    return (outputs.argmax(axis=1) != Y.argmax(axis=1)).astype(float)
