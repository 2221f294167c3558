"""Keep what the method itself chose."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tamis.base import Candidates, Ranker, Ranking, StopDecision, StoppingRule


class OwnChoice(StoppingRule, name="own-choice"):
    r"""Keep as many of the best features as the ranker itself has chosen.

    .. math:: \hat k = \text{the number at which the method's own criterion told it to stop}

    Parameters
    ----------
    None

    Notes
    -----
    For rankers such as :class:`~tamis.PerceptronElimination` that eliminate features until their own criterion tells
    them to stop, and rank what is left for those who want another number. Such a ranking holds ``n_chosen`` and
    ``reason``, which says why in words; the fitted ranker keeps the former as ``n_chosen_``. The choice is not
    calibrated: it may hold noise, which :class:`MonteCarloProbe` keeps at a given risk only. Cost: none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import PerceptronElimination
    >>> from tamis.stop import OwnChoice
    >>> X, y = load_iris(return_X_y=True)
    >>> found = PerceptronElimination(stop=OwnChoice()).fit(X, y)
    >>> found.stop_.n_features == found.n_chosen_
    True
    """

    requires: ClassVar[frozenset[str]] = frozenset({"own_choice"})
    reads_ranking_only: ClassVar[bool] = True

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut where the ranker would."""
        n_chosen = ranking.order.size if ranking.n_chosen is None else ranking.n_chosen
        return StopDecision(min(n_chosen, ranking.order.size), ranking.reason)
