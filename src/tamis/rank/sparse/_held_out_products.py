r"""Held-out squared errors from products of columns: a tall table is read once for all folds.

Rows are compressed fold by fold. Those of the other folds, put below each other, are the training rows of a fold; with
``R`` and ``r`` its own compressed columns and target, ``m`` and ``t`` their means and W the sum of the weights, the
squared error of a model (w, b) on its W rows is

    || R w - r ||^2 + W (m' w + b - t)^2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.base import LinearModel
from tamis.engine import CompressedColumns
from tamis.rank._linear_problem import LinearProblem


def fold_of_rows(folds: Sequence[tuple[np.ndarray, np.ndarray]], n_rows: int) -> np.ndarray | None:
    """The fold that holds out each row, or ``len(folds)``; None unless folds share no row and train on all others."""
    fold = np.full(n_rows, len(folds))
    for number, (train, test) in enumerate(folds):
        times_seen = np.zeros(n_rows, dtype=int)
        times_seen[train] += 1
        times_seen[test] += 1
        is_split = train.size + test.size == n_rows and np.all(times_seen == 1)
        if not is_split or np.any(fold[test] < len(folds)):
            return None
        fold[test] = number
    return fold


def held_out_errors(problem: LinearProblem, held_out: CompressedColumns, models: Sequence[LinearModel]) -> np.ndarray:
    """Mean of half the squared error of every model, summed over the targets, in units of the problem."""
    errors = np.empty(len(models))
    for place, model in enumerate(models):
        coef = model.coef / problem.unit
        residual = held_out.columns(model.features) @ coef - held_out.targets
        of_means = held_out.means(model.features) @ coef + (model.intercept - problem.center) / problem.unit
        squares = float(np.sum(residual**2)) / held_out.total + float(np.sum((of_means - held_out.target_mean) ** 2))
        errors[place] = 0.5 * squares
    return errors
