"""Keep a given number of features."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, RealNotInt
from tamis.base import Candidates, Ranker, Ranking, StopDecision, StoppingRule, interruption
from tamis.kernels.arrays.tolerances import floor_count


class TopK(StoppingRule, name="top-k"):
    r"""Keep the first :math:`k` features of the order.

    Parameters
    ----------
    n_features : int, float or None, default=None
        A number, a fraction of the features (at least one is kept), or None for the whole order. ``stop=10`` and
        ``stop=0.1`` are short for this rule.

    Notes
    -----
    A method may rank fewer features than are asked for (redundant ones, or a target already explained); then all that
    it ranked are kept and the reason says so. Asking for more features than there are is answered with all of them, and
    a warning.

    Examples
    --------
    >>> from tamis import MaxVariance
    >>> from tamis.stop import TopK
    >>> MaxVariance(stop=TopK(1)).fit([[0, 5], [1, 9]]).stop_.reason
    'the first 1 of 2 features, as asked'
    """

    reads_ranking_only: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {
        "n_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ]
    }

    def __init__(self, n_features: float | None = None) -> None:
        self.n_features = n_features

    def check(self, ranker: Ranker, candidates: Candidates) -> None:
        """Warn where more features are asked for than there are."""
        super().check(ranker, candidates)
        n_candidates = candidates.n_rankable
        if isinstance(self.n_features, Integral) and self.n_features > n_candidates:
            warnings.warn(
                f"{self.n_features} {candidates.noun}s are asked for, but there are {n_candidates}: all are kept",
                UserWarning,
                stacklevel=2,
            )

    def most(self, n_candidates: int) -> int:
        """The number to keep."""
        if self.n_features is None:
            return n_candidates
        if isinstance(self.n_features, Integral):
            return min(int(self.n_features), n_candidates)
        return max(1, floor_count(self.n_features * n_candidates))

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut at the given number."""
        n_rankable = candidates.n_rankable
        asked = self.most(n_rankable)
        kept = min(asked, ranking.order.size)
        noun = candidates.noun
        by_default = isinstance(ranker.stop, str) and ranker.stop == "auto"
        whose = f"the default of {type(ranker).__name__}" if by_default else "as asked"
        if kept < asked:
            few = f"all {kept} {noun}s that could be ranked, though {asked} were asked for"
            reason = few if interruption(ranker) else f"{few}: the others add nothing, or have no weight"
        elif isinstance(self.n_features, Integral) and self.n_features > n_rankable:
            reason = f"all {kept} {noun}s there are, though {self.n_features} were asked for"
        elif self.n_features is None:
            reason = f"all {kept} {noun}s, {whose}"
        else:
            reason = f"the first {kept} of {n_rankable} {noun}s, {whose}"
        return StopDecision(kept, reason)
