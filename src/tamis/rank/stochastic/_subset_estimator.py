"""Any classifier, on one subset after another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from tamis.base import open_parallel
from tamis.rank.stochastic._subset_learner import Split, SubsetLearner, SubsetTable, take_columns


class SubsetEstimator(SubsetLearner):
    """A classifier as a learner on subsets: one fit per subset and labeling, shared out among workers.

    Parameters
    ----------
    estimator : classifier
        If it has a ``random_state``, that is set for every subset, so that ``n_jobs`` does not matter.
    n_jobs : int or None, default=None
    """

    repeat_rows: ClassVar[bool] = True

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def __enter__(self) -> SubsetEstimator:
        self._open = ExitStack()
        self._table: SubsetTable | None = None
        return self

    def __exit__(self, *reason: Any) -> None:
        self._open.__exit__(*reason)
        del self._open, self._table

    def _workers_with(self, table: SubsetTable) -> Parallel:
        """Workers that are sent the table once, however often subsets of its columns are drawn."""
        if self._table is not table:
            self._open.close()
            self._workers = self._open.enter_context(open_parallel(self.n_jobs, "list", shared=[table]))
            self._table = table
        return self._workers

    def predict_split(self, table: SubsetTable, subsets: np.ndarray, split: Split, seed: int) -> np.ndarray:
        """Train on the training rows: codes of the test rows, of shape (n_subsets, n_labelings, n_test)."""
        train, _, labels = self._training_rows(split)
        predicted = self._workers_with(table)(
            delayed(_fit_and_predict)(self.estimator, table, np.unique(subset), train, labels, split.test, seed + place)
            for place, subset in enumerate(subsets)
        )
        return np.array(predicted)

    def fit_subsets(
        self, tables: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int
    ) -> EstimatorModels:
        """Train every subset; see :class:`SubsetLearner`."""
        used = [_nonzero_columns(table) for table in tables]
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_labelings)(self.estimator, table[:, columns], labels, place)
            for place, (table, columns) in enumerate(zip(tables, used, strict=True))
        )
        return EstimatorModels(fitted, used)

    def numbers_per_subset(self, n_train: int, n_test: int, size: int, n_classes: int) -> int:
        """One subset at a time: nothing is held for all."""
        return 1


@dataclass(frozen=True)
class EstimatorModels:
    """Fitted classifiers, a list per subset with one for each labeling, and the columns that each uses."""

    fitted: Sequence[Sequence[Any]]
    used: Sequence[np.ndarray]

    def predict(self, tables: np.ndarray) -> np.ndarray:
        """Predictions of each on its own columns."""
        return np.array(
            [
                [each.predict(table[:, columns]) for each in models]
                for models, columns, table in zip(self.fitted, self.used, tables, strict=True)
            ]
        )


def _nonzero_columns(table: np.ndarray) -> np.ndarray:
    """Places of the columns that are not all zero: repeated features are, and some classifiers fail on them."""
    used = np.flatnonzero(table.any(axis=0))
    return used if used.size else np.arange(1)


def _fit_and_predict(
    estimator: Any,
    table: SubsetTable,
    features: np.ndarray,
    train: np.ndarray,
    labels: np.ndarray,
    test: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Codes of some rows by one subset, for each labeling."""
    models = _fit_labelings(estimator, take_columns(table.values, train, features), labels, seed)
    queries = take_columns(table.values, test, features)
    return np.array([model.predict(queries) for model in models])


def _fit_labelings(estimator: Any, table: np.ndarray, labels: np.ndarray, seed: int) -> list[Any]:
    try:
        return [seeded_copy(estimator, seed).fit(table, codes) for codes in labels]
    except Exception as error:  # of whatever kind: it does not say which rows and features led to it
        fewest = min(np.unique(codes, return_counts=True)[1].min() for codes in labels)
        raise ValueError(
            f"{type(estimator).__name__} failed on {table.shape[0]} rows of {table.shape[1]} features, {fewest} in the "
            f"rarest class: {error}. Raise train_size, or give another estimator"
        ) from error


def seeded_copy(estimator: Any, seed: int) -> Any:
    """An unfitted copy, whose draws can be repeated."""
    copy = clone(estimator)
    seeds = {name: seed for name in copy.get_params() if name.split("__")[-1] == "random_state"}
    return copy.set_params(**seeds)
