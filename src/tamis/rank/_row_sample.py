"""A sample of the rows for methods that take long on many: by the square of their number, or by many passes."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from tamis.base import Candidates, Ranker, Ranking
from tamis.base._row_sample import MAX_SAMPLES_CONSTRAINT, draw_rows
from tamis.kernels.arrays.targets import infer_task


class SampledRanker(Ranker):
    """Base of methods that are given a sample of the rows where there are more than ``max_samples``, and say so.

    Subclasses store it. Stopping rules look at all rows.
    """

    max_samples: int | None

    _parameter_constraints: ClassVar[dict] = {**Ranker._parameter_constraints, "max_samples": MAX_SAMPLES_CONSTRAINT}

    def _samples_rows(self) -> bool:
        """Whether rows are sampled; methods override it where that depends on their parameters."""
        return True

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        n_rows = candidates.table.shape[0]
        seed = self.get_params(deep=False).get("random_state")
        rows = draw_rows(n_rows, self.max_samples, seed) if self._samples_rows() else None
        if rows is None:
            return super()._rank_top(candidates, y, rng, n_top)
        if y is not None and self._takes_classes(y):
            rows = with_all_classes(rows, y)
        part = None if y is None else y[rows]
        kept_rows = self._kept_rows
        self._kept_rows = rows if kept_rows is None else kept_rows[rows]  # folds may be given as rows of the table
        try:
            ranking = super()._rank_top(candidates.take_rows(rows), part, rng, n_top)
        finally:
            self._kept_rows = kept_rows
        return replace(ranking, notes=(*ranking.notes, *note_rows(rows, n_rows)))

    def _takes_classes(self, y: np.ndarray) -> bool:
        """Whether the target is taken for classes, of each of which the sample must hold some."""
        task = self.get_params(deep=False).get("task", "auto")
        task = infer_task(y) if task == "auto" and y.ndim == 1 else task
        return "regression" not in self.tasks or task == "classification"


def with_all_classes(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sample and, of each class that it lacks, two rows, as far as there are."""
    lacking = np.setdiff1d(y, y[rows])
    return np.union1d(rows, [row for label in lacking for row in np.flatnonzero(y == label)[:2]]).astype(np.int64)


def draw_rows_for_task(y: np.ndarray, task: str, max_samples: int | None) -> np.ndarray | None:
    """Rows to work on for a target, some of every class where it has classes; ``task`` may be "auto"."""
    rows = draw_rows(len(y), max_samples)
    is_classes = (infer_task(y) if task == "auto" else task) == "classification"
    return with_all_classes(rows, y) if rows is not None and is_classes else rows


def note_rows(rows: np.ndarray | None, n_rows: int) -> tuple[str, ...]:
    """What the reason says of a sample."""
    return note_sample(n_rows if rows is None else rows.size, n_rows)


def note_sample(n_seen: int, n_rows: int, limit: str = "max_samples") -> tuple[str, ...]:
    """The same, by the number of rows in it and what limits that."""
    return () if n_seen >= n_rows else (f"ranked on {n_seen} of {n_rows} rows, drawn at random ({limit})",)
