"""Keep what the method itself chose."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tamis.base import Ranker, Ranking, StopDecision, StoppingRule


class OwnChoice(StoppingRule, name="own-choice"):
    r"""Keep as many of the best features as the ranker itself has chosen.

    .. math:: \hat k = \text{the number at which the method's own criterion told it to stop}

    Parameters
    ----------
    None

    Notes
    -----
    For rankers such as :class:`~tamis.PerceptronElimination` that eliminate features until their own criterion tells
    them to stop, and rank what is left for those who want another number. The certificate of such a ranking holds
    ``n_chosen`` and ``choice``, the reason in words. Cost: none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import PerceptronElimination
    >>> from tamis.stop import OwnChoice
    >>> X, y = load_iris(return_X_y=True)
    >>> found = PerceptronElimination(stop=OwnChoice()).fit(X, y)
    >>> found.stop_.n_features == found.certificate_["n_chosen"]
    True
    """

    requires: ClassVar[frozenset[str]] = frozenset({"own_choice"})

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        X: Any,
        y: np.ndarray | None,
        rng: np.random.RandomState,
        sample_weight: np.ndarray | None = None,
    ) -> StopDecision:
        """Cut where the ranker would."""
        kept = min(int(ranking.certificate["n_chosen"]), ranking.order.size)
        return StopDecision(kept, str(ranking.certificate["choice"]))
