"""Training and test rows of a comparison: seeded splits, or the folds of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, check_cv

from tamis.assess._contenders import Data
from tamis.assess._criteria import may_be_classes, split_rows

Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Splits:
    """How the rows of every data set are split.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        None: ``n_seeds`` splits, each with a share ``test_size`` of the rows, or of the groups of rows, held out.
    n_seeds : int
    test_size : float
    random_state : int
    task : {"classification", "regression"} or None
        What y holds; None looks at it.
    """

    cv: Any
    n_seeds: int
    test_size: float
    random_state: int
    task: str | None

    def of(self, data: Data) -> list[Rows]:
        """Training and test rows of a data set, in ascending order."""
        try:
            found = self._seeded(data) if self.cv is None else self._folds(data)
        except ValueError as error:
            raise ValueError(f"data set '{data.name}' cannot be split: {error}") from error
        return [(np.sort(train), np.sort(test)) for train, test in found]

    def _seeded(self, data: Data) -> list[Rows]:
        seeds = range(self.random_state, self.random_state + self.n_seeds)
        n_samples = data.X.shape[0]
        if data.row_groups is None:
            return [split_rows(data.y, n_samples, self.test_size, seed, task=self.task) for seed in seeds]
        splitters = [GroupShuffleSplit(1, test_size=self.test_size, random_state=seed) for seed in seeds]
        return [next(each.split(np.zeros(n_samples), groups=data.row_groups)) for each in splitters]

    def _folds(self, data: Data) -> list[Rows]:
        of_classes = data.y is not None and (self.task or may_be_classes(data.y)) in (True, "classification")
        splitter = check_cv(self.cv, data.y, classifier=of_classes)
        return list(splitter.split(np.zeros(data.X.shape[0]), data.y, data.row_groups))
