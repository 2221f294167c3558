"""Methods that decide on one candidate after another, and may be stopped on the way."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from tamis.base._candidates import Candidates
from tamis.base._progress import interruption, track
from tamis.base._ranker import Ranker, arranged
from tamis.base._ranking import Ranking, Step, StopDecision
from tamis.base._rules import StoppingRule


class SequentialRanker(Ranker):
    """Base of methods that decide on one candidate after another; a method writes :meth:`_steps`.

    The rule in force is asked after each step whether it has seen enough, so that a long path ends early. Ctrl-C ends
    it too: the steps so far are then handed back, marked as unfinished.
    """

    one_shot: ClassVar[bool] = False

    @abstractmethod
    def _steps(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Iterator[Step]:
        """Yield steps, best candidate first; at most ``n_top`` of them will be used, if it is known."""

    def _certificate(self, path: Sequence[Step]) -> dict[str, Any]:
        """How we know that the path is right."""
        return {"converged": True, "n_iter": len(path)}

    def _path_along(self, candidates: Candidates, y: np.ndarray | None, order: np.ndarray) -> tuple[Step, ...]:
        """The path along another order than the method's own, where that makes sense."""
        return ()

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        return self._rank_top(candidates, y, rng, None)

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        return self._ranking(candidates, list(islice(self._steps(candidates, y, rng, n_top), n_top)))

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        """Take steps until the rule has seen enough, and twice as many while it keeps all that was ranked."""
        n_top, is_nested = self._most(rule, candidates), "nested" in self.provides
        if n_top is not None and not is_nested:
            return super()._select(candidates, y, rule)
        steps = self._steps(candidates, y, self._rng(), n_top)
        path: list[Step] = []
        enough: Callable[[Sequence[Step]], bool] = rule.enough
        with closing(track(self, islice(steps, n_top), task_name="rank", total=n_top)) as watched:
            while True:
                is_exhausted = not _extend(path, watched, enough) or len(path) == n_top
                ranking = self._ranking(candidates, path)
                decision = self._decide(rule, ranking, candidates, y)
                if is_exhausted or interruption(self) or not is_nested or decision.n_features < len(path):
                    break
                enough = _reaches(2 * len(path))
        if interruption(self):
            return ranking, decision
        if not is_nested:
            return ranking, self._rerank_at_chosen_size(candidates, y, decision)
        if decision.ranking is not None:
            along = self._path_along(candidates, y, decision.ranking.order[: decision.n_features])
            decision = replace(decision, ranking=replace(decision.ranking, path=along))
        return ranking, decision

    def _ranking(self, candidates: Candidates, path: Sequence[Step]) -> Ranking:
        ranking = Ranking.from_path(path, candidates.n_candidates, self._certificate(path))
        return arranged(ranking, candidates)


def _extend(path: list[Step], steps: Iterator[Step], enough: Callable[[Sequence[Step]], bool]) -> bool:
    """Add steps until there are enough; False if there are no more to come."""
    for step in steps:
        path.append(step)
        if enough(path):
            return True
    return False


def _reaches(n_steps: int) -> Callable[[Sequence[Step]], bool]:
    return lambda path: len(path) >= n_steps
