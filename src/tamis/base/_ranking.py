"""What a ranker finds and what a stopping rule decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tamis._sklearn import get_namespace
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.kernels.arrays.transfer import to_numpy


@dataclass(frozen=True)
class Step:
    """One step of a sequential ranker: the candidate decided on, its criterion then, and what else is known."""

    feature: int
    criterion: float
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ranking:
    """What a ranker found.

    Attributes
    ----------
    order : ndarray
        Candidates, best first; may end early (a lasso's support).
    scores : ndarray of shape (n_candidates,)
        Higher is always better; NaN where the method gives none. One-shot methods sort by them; in sequential ones
        they are the criterion at the time the candidate was decided on.
    path : tuple of Step
        What happened at each step.
    certificate : mapping
        How we know that it converged.
    n_chosen : int or None
        How many of the order the method itself would keep (a lasso's support, the splits of a tree); None where it
        has no opinion.
    reason : str
        Why that many, for people.
    notes : tuple of str
        What else people should know of how it was found, such as that rows were sampled.
    n_forced : int
        How many of the order, its first, stay whatever a rule says.
    """

    order: np.ndarray
    scores: np.ndarray
    path: tuple[Step, ...] = ()
    certificate: Mapping[str, Any] = field(default_factory=lambda: {"converged": True})
    n_chosen: int | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()
    n_forced: int = 0

    @classmethod
    def from_scores(cls, scores: Any, *, rounding: float = ROUNDING.float64) -> Ranking:
        """Sort by score, best first; ties go to the lowest index, candidates without a score are not ranked.

        Scores that differ by less than ``rounding``, relatively, are ties and made equal: a duplicated column must not
        win by the last bit of a sum. Those of an array on a device are sorted there.
        """
        if isinstance(scores, np.ndarray):
            order = np.argsort(-scores)  # not stable, which takes five times as long: ties are put in order below
        else:
            order = to_numpy(get_namespace(scores)[0].argsort(-scores)).copy()
        tied = np.array(to_numpy(scores), dtype=float)
        ranked = order[: np.count_nonzero(~np.isnan(tied))]
        if not ranked.size:
            return cls(ranked, tied)
        ordered = tied[ranked]
        with np.errstate(invalid="ignore"):
            is_new = np.diff(ordered, prepend=np.inf) < -rounding * np.abs(ordered)
        is_new[0] = True
        is_tied = np.append(~is_new[1:], False)  # with the next of the order, or that before
        is_tied |= ~is_new
        places = np.flatnonzero(is_tied)
        run = np.cumsum(is_new[places]) - 1
        tied[ranked[places]] = ordered[places[is_new[places]]][run]
        ranked[places] = np.sort(run * tied.size + ranked[places]) % tied.size  # within a run by index
        return cls(ranked, tied)

    @classmethod
    def from_path(
        cls, path: Sequence[Step], n_candidates: int, certificate: Mapping[str, Any] | None = None
    ) -> Ranking:
        """The candidates of a path, best first, with the criterion of their step as score."""
        order = np.array([step.feature for step in path], dtype=np.int64)
        scores = np.full(n_candidates, np.nan)
        scores[order] = [step.criterion for step in path]
        return cls(order, scores, tuple(path), certificate or {"converged": True, "n_iter": len(path)})

    def starting_with(self, keep: np.ndarray) -> Ranking:
        """The same with candidates that stay whatever a rule says in front, in the order in which they were decided on.

        Those that the method did not rank come last among them. What the method chose is then its choice and these.
        """
        if keep.size == 0:
            return self
        is_forced = np.zeros(self.scores.size, dtype=bool)
        is_forced[keep] = True
        ranked = self.order[is_forced[self.order]]
        forced = np.concatenate([ranked, keep[~np.isin(keep, ranked)]])
        rest = self.order[~is_forced[self.order]]
        steps = {step.feature: step for step in self.path}
        order = np.concatenate([forced, rest])
        path = tuple(steps.get(j, Step(j, float(self.scores[j]))) for j in order.tolist()) if steps else ()
        n_chosen = None
        if self.n_chosen is not None:
            n_chosen = keep.size + int(np.count_nonzero(~is_forced[self.order[: self.n_chosen]]))
        return replace(self, order=order, path=path, n_chosen=n_chosen, n_forced=keep.size)

    def without(self, excluded: np.ndarray) -> Ranking:
        """The same with candidates that are not to be ranked left out of the order, and without a score."""
        if excluded.size == 0:
            return self
        is_out = np.zeros(self.scores.size, dtype=bool)
        is_out[excluded] = True
        n_chosen = self.n_chosen
        if n_chosen is not None:
            n_chosen = int(np.count_nonzero(~is_out[self.order[:n_chosen]]))
        return replace(
            self,
            order=self.order[~is_out[self.order]],
            scores=np.where(is_out, np.nan, self.scores),
            path=tuple(step for step in self.path if not is_out[step.feature]),
            n_chosen=n_chosen,
        )

    def ranks(self) -> np.ndarray:
        """Rank of every candidate, 1 the best; those that were not ranked share the last one."""
        ranks = np.full(self.scores.size, self.order.size + 1)
        ranks[self.order] = np.arange(1, self.order.size + 1)
        return ranks


@dataclass(frozen=True)
class StopDecision:
    """How many features to keep, and why.

    Attributes
    ----------
    n_features : int
    reason : str
        For people.
    curve : ndarray
        The figure that the rule looked at, at each of ``curve_at``.
    curve_at : ndarray
        Number of features that each entry of ``curve`` speaks of.
    spread : ndarray or None
        Standard error of ``curve``, where it is an estimate.
    threshold : float or None
        What the curve was held against.
    label : str
        What the curve shows, for axes and table heads.
    n_groups : int or None
        How many groups of columns ``n_features`` columns are; ``curve_at`` counts groups then.
    fold_scores : ndarray of shape (n_folds, n_sizes) or None
        Held-out score of every fold at each of ``curve_at``, of which ``curve`` is the mean; None where no rows were
        held out.
    ranking : Ranking or None
        Replaces the ranker's own, where the rule ranked many times and so knows a steadier order, or the set that the
        method selects at just this size.
    """

    n_features: int
    reason: str
    curve: np.ndarray = field(default_factory=lambda: np.empty(0))
    curve_at: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    spread: np.ndarray | None = None
    threshold: float | None = None
    label: str = ""
    ranking: Ranking | None = None
    n_groups: int | None = None
    fold_scores: np.ndarray | None = None

    @property
    def n_candidates(self) -> int:
        """How many of what ``curve_at`` counts are kept: groups where there are any, else features."""
        return self.n_features if self.n_groups is None else self.n_groups
