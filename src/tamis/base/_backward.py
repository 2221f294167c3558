"""Backward elimination: the least useful candidates leave, round after round; the last to leave is the best."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, RealNotInt, StrOptions
from tamis.base._candidates import Candidates
from tamis.base._progress import interruption, note_interruption, track
from tamis.base._ranker import Ranker
from tamis.base._ranking import Ranking, Step
from tamis.kernels.arrays.tolerances import NEGLIGIBLE_WEIGHT2, TIE

StepSize = float | str  # a count, a fraction of those that remain, or "halving"

STEP_CONSTRAINT = [
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, 1, closed="neither"),
    StrOptions({"halving"}),
]


_STEP_IN_DRAWS = 0.1  # of those that remain; the last nineteen leave one by one


class Elimination(ABC):
    """The state of an elimination: which candidates remain, and what each of them is worth.

    Attributes
    ----------
    remaining : ndarray of int
        Candidates that have not left.
    rounding_tol : float
        Criteria that differ by no more are equal.
    keep : ndarray of int
        Candidates that leave after all others.
    """

    remaining: np.ndarray
    rounding_tol: float = 0.0
    reports_training: ClassVar[bool] = False  # whether trainings within a round tell callbacks of their steps
    keep: np.ndarray = np.empty(0, dtype=np.int64)

    @abstractmethod
    def criteria(self) -> np.ndarray:
        """What each of the remaining candidates is worth, in their order; the least goes first.

        Between :meth:`remove` and :meth:`train` these are the last that are known.
        """

    @abstractmethod
    def remove(self, leaving: np.ndarray) -> None:
        """Go on without these candidates."""

    def train(self) -> bool:
        """Train on the candidates that remain, at the start of a round; False if the method cannot."""
        return True

    @property
    def n_remaining(self) -> int:
        """How many candidates have not left."""
        return self.remaining.size

    def reported(self, criteria: np.ndarray) -> np.ndarray:
        """What to report of each of the remaining candidates, where that is not the criterion itself."""
        return criteria

    def ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """The remaining candidates, the least useful first, and what to report of each."""
        criteria = self.criteria()
        places = ascending(criteria, self.remaining, self.rounding_tol)
        if self.keep.size:
            places = places[np.argsort(np.isin(self.remaining[places], self.keep), kind="stable")]
        return self.remaining[places], self.reported(criteria)[places]

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """Candidates that leave now, the least useful first, and what to report of each."""
        n_leaving = n_to_eliminate(step, self.n_remaining)
        if self.n_remaining > self.keep.size > 0:
            n_leaving = min(n_leaving, self.n_remaining - self.keep.size)
        candidates, reported = self.ordered()
        return candidates[:n_leaving], reported[:n_leaving]

    def n_rounds(self, step: StepSize) -> int | None:
        """Rounds to come, for a progress bar; None where it is not known."""
        return count_rounds(step, self.n_remaining)

    def info(self) -> Mapping[str, Any]:
        """What else is known of the candidates that remain."""
        return {"n_features": self.n_remaining}

    def certificate(self) -> dict[str, Any]:
        """How the trainings went."""
        return {"converged": True}


class BackwardRanker(Ranker):
    """Base of methods that eliminate candidates; a method writes :meth:`_start_elimination`.

    Of candidates with equal criteria the last leaves first. Where a callback or Ctrl-C ends the elimination, or the
    method cannot go on, those that remain are ordered by their criteria as they stand.
    """

    one_shot: ClassVar[bool] = False

    step: StepSize

    _parameter_constraints: ClassVar[dict] = {**Ranker._parameter_constraints, "step": STEP_CONSTRAINT}

    @abstractmethod
    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> Elimination:
        """Train on all candidates."""

    def for_draws(self) -> Ranker:
        """As for every ranker: a tenth of those that remain leaves at a time, where one by one was asked for."""
        copy = super().for_draws()
        return copy.set_params(step=_STEP_IN_DRAWS) if self.step == 1 else copy

    def _conclude(self, elimination: Elimination, path: list[Step], n_candidates: int) -> Ranking:
        """The ranking that a path, best first, amounts to; methods override it that have more to say."""
        return Ranking.from_path(path, n_candidates, elimination.certificate())

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        elimination = self._start_elimination(candidates, y, rng)
        elimination.keep = candidates.keep
        path = self._eliminate(elimination)[::-1]
        return self._conclude(elimination, path, candidates.n_candidates)

    def _eliminate(self, elimination: Elimination) -> list[Step]:
        """Candidates in the order in which they leave."""
        left: list[Step] = []
        n_candidates, n_rounds = elimination.n_remaining, elimination.n_rounds(self.step)
        try:
            rounds, has_nested = self._rounds(elimination, left), elimination.reports_training
            for _ in track(self, rounds, task_name="eliminate", total=n_rounds, has_nested=has_nested):
                pass
        except KeyboardInterrupt:  # in the first round, or between two
            words = f"interrupted after {len(left)} of {n_candidates} steps (eliminate)"
            if not left or not note_interruption(self, words):
                raise
        if len(left) < n_candidates:
            left += self._those_that_remain(elimination, [step.feature for step in left], n_candidates)
        return left

    def _rounds(self, elimination: Elimination, left: list[Step]) -> Iterator[None]:
        """Add to ``left`` those that leave, round after round."""
        while elimination.n_remaining > 0 and elimination.train():
            info = elimination.info()
            leaving, reported = elimination.next_to_leave(self.step)
            is_last = leaving.size == elimination.n_remaining
            left += _steps(leaving, reported, info)
            if not is_last:
                elimination.remove(leaving)
            yield
            if is_last:
                return

    def _those_that_remain(self, elimination: Elimination, left: list[int], n_candidates: int) -> list[Step]:
        """The least useful first, by their criteria as they stand.

        An elimination that Ctrl-C ended in the middle of a round may have none: then there is nothing to hand back.
        """
        try:
            candidates, reported = elimination.ordered()
            remain = ~np.isin(candidates, left)
            if np.count_nonzero(remain) < n_candidates - len(left):
                raise ValueError("some candidates have neither left nor a criterion")
            return _steps(candidates[remain], reported[remain], elimination.info())
        except Exception as error:
            if interruption(self):
                raise KeyboardInterrupt from error
            raise


def _steps(candidates: np.ndarray, reported: np.ndarray, info: Mapping[str, Any]) -> list[Step]:
    return [Step(*each, info) for each in zip(candidates.tolist(), reported.tolist(), strict=True)]


def ascending(values: np.ndarray, candidates: np.ndarray, rounding_tol: float = 0.0) -> np.ndarray:
    """Places by ascending criterion, of equals, up to ``rounding_tol``, the last candidate first."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    size = np.where(np.isfinite(ordered), np.abs(ordered), 0.0)
    close = TIE.float64 * size[1:] + max(NEGLIGIBLE_WEIGHT2 * size.max(), rounding_tol)
    with np.errstate(invalid="ignore"):  # two infinite criteria are equal
        run = np.concatenate([[0], np.cumsum(np.diff(ordered) > close)])
    return order[np.lexsort((-candidates[order], run))]


def n_to_eliminate(step: StepSize, n_remaining: int) -> int:
    """How many of ``n_remaining`` leave now: a count, a fraction of them, or down to a power of two."""
    if type(step) is int:
        return min(step, n_remaining)
    if isinstance(step, str):
        return n_remaining - (1 << (n_remaining - 1).bit_length() >> 1) if n_remaining > 1 else n_remaining
    wanted = int(step) if isinstance(step, Integral) else max(1, int(float(step) * n_remaining))
    return min(wanted, n_remaining)


def sizes_of_rounds(step: StepSize, n_remaining: int) -> Iterator[int]:
    """How many remain at the start of every round, to the last."""
    while n_remaining > 0:
        yield n_remaining
        n_remaining -= n_to_eliminate(step, n_remaining)


def count_rounds(step: StepSize, n_remaining: int) -> int:
    """Rounds to the last."""
    if isinstance(step, Integral):
        return -(-n_remaining // int(step))
    return sum(1 for _ in sizes_of_rounds(step, n_remaining))
