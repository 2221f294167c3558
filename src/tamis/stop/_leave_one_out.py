"""Leave-one-out error along a least-squares path, without refitting."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval
from tamis.base import Candidates, Ranking, Step, StopDecision, StoppingRule
from tamis.stop._cut import n_forced_steps


class LeaveOneOut(StoppingRule, name="leave-one-out"):
    r"""Keep as many features as minimize the leave-one-out error of the least-squares model.

    .. math:: \mathrm{PRESS}_k = \frac1N \sum_i \left( \frac{y_i - \hat y_{i}}{1 - h_{ii}} \right)^2,
              \qquad h_{ii} = \tfrac1N + \sum_{l \le k} q_{il}^2,

    with :math:`q_l` the orthonormal directions of the path (Stoppiglia et al. 2003, Sec. 2, after Sherman, Morrison and
    Woodbury): exact, and no model is fitted again.

    Parameters
    ----------
    patience : int or None, default=25
        End the path after this many steps without a new minimum; None follows it to its end.

    Notes
    -----
    The features are ranked on all rows, so the error is that of the model and not of the choice: optimistic when the
    candidates are many. :class:`CrossValidation` ranks inside each fold. With ``sample_weight`` a row is left out with
    its whole weight.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 2.

    Examples
    --------
    >>> from tamis import GramSchmidt
    >>> from tamis.datasets import make_linear
    >>> from tamis.stop import LeaveOneOut
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> GramSchmidt(stop=LeaveOneOut()).fit(X, y).stop_.n_features >= 5
    True
    """

    requires: ClassVar[frozenset[str]] = frozenset({"nested_linear"})
    reads_ranking_only: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {"patience": [Interval(Integral, 1, None, closed="left"), None]}

    def __init__(self, patience: int | None = 25) -> None:
        self.patience = patience

    def enough(self, path: Sequence[Step]) -> bool:
        """Whether the minimum lies ``patience`` steps back."""
        if self.patience is None:
            return False
        errors = [step.info["press"] for step in path[n_forced_steps(path) :]]
        return len(errors) > self.patience and len(errors) - 1 - int(np.argmin(errors)) >= self.patience

    def decide(
        self,
        ranker: Any,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut at the smallest leave-one-out error."""
        curve = np.array([ranker.null_press_, *(step.info["press"] for step in ranking.path)])
        kept = ranking.n_forced + int(np.argmin(curve[ranking.n_forced :]))
        reason = f"the leave-one-out error is smallest ({curve[kept]:.4g}) with {kept} {candidates.noun}s"
        if kept == 0:
            reason = f"no number of {candidates.noun}s predicts better than the mean alone (error {curve[0]:.4g})"
        return StopDecision(kept, reason, curve=curve, curve_at=np.arange(curve.size), label="leave-one-out error")
