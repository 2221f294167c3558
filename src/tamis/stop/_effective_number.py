"""Keep as many features as share the probability."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval
from tamis.base import Candidates, Ranker, Ranking, StopDecision, StoppingRule
from tamis.kernels.arrays.entropy import effective_number
from tamis.kernels.arrays.tolerances import ceil_count


class EffectiveNumber(StoppingRule, name="effective-number"):
    r"""Keep as many features as there would be if those that matter shared the probability evenly.

    .. math:: \hat k = \Bigl\lceil m \exp\Bigl(-\sum_j P_j \log P_j\Bigr) \Bigr\rceil

    with :math:`P` the probability that a ranker such as :class:`~tamis.OFW` gives the features, :math:`m` a multiple.

    Parameters
    ----------
    multiple : float, default=1.0
        Features to keep per effective one.

    Notes
    -----
    The exponential of the entropy is k for a probability shared by k features, and 1 where one has it all. At least one
    feature is kept, and at most all that were ranked.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import OFW
    >>> from tamis.stop import EffectiveNumber
    >>> X, y = load_iris(return_X_y=True)
    >>> OFW("tree", subset_size=2, stop=EffectiveNumber(), random_state=0).fit(X, y).stop_.n_features
    2
    """

    requires: ClassVar[frozenset[str]] = frozenset({"probability"})
    reads_ranking_only: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {"multiple": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, *, multiple: float = 1.0) -> None:
        self.multiple = multiple

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut where the effective number ends."""
        probability = ranking.scores[ranking.order]
        probability = probability / probability.sum()
        effective = effective_number(probability)
        kept = int(np.clip(ceil_count(self.multiple * effective), 1, ranking.order.size))
        reason = f"{effective:.1f} {candidates.noun}s share the probability"
        if self.multiple != 1:
            reason += f", times {self.multiple:g}"
        reason += f": kept {kept}, which hold {probability[:kept].sum():.0%} of it"
        return StopDecision(
            kept,
            reason,
            curve=np.cumsum(probability),
            curve_at=np.arange(1, probability.size + 1),
            label="probability of the kept features",
        )
