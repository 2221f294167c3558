"""Fisher's test along a least-squares path."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import fdtrc
from sklearn.base import clone

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, Ranker, Ranking, Step, StopDecision, StoppingRule
from tamis.kernels.probe.law import probe_survival
from tamis.stop._cut import apart, kept_below, n_forced_steps


class FisherTest(StoppingRule, name="fisher-test"):
    r"""Keep features while Fisher's test says that the model needs them.

    ``against="next"`` tests the model of :math:`n - 1` features against that of :math:`n`:

    .. math:: R = (N - n - 1)\,\frac{\|y - y_{n-1}\|^2 - \|y - y_n\|^2}{\|y - y_n\|^2}
              = (N - n - 1)\,\frac{\cos^2\varphi_n}{1 - \cos^2\varphi_n} \sim F(1, N - n - 1),

    (Stoppiglia et al. 2003, Eq. 8 with its denominator corrected), which is the published probe step by step, without
    cumulating. ``against="complete"`` tests each sub-model against the whole path (Eq. 7) and keeps the smallest that
    is not rejected.

    Parameters
    ----------
    risk : float, default=0.05
    against : {"next", "complete"}, default="next"
    n_beyond : int, default=5
        Steps ranked beyond the cut, with ``against="next"``.

    Notes
    -----
    The test takes the feature as given, though it is the best of many: like the published probe it keeps noise when
    there are many candidates. :class:`Probe` corrects for that.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 4 and Appendix B.

    Examples
    --------
    >>> from tamis import GramSchmidt
    >>> from tamis.datasets import make_linear
    >>> from tamis.stop import FisherTest
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> GramSchmidt(stop=FisherTest(risk=0.001)).fit(X, y).stop_.n_features
    5
    """

    requires: ClassVar[frozenset[str]] = frozenset({"nested_linear"})
    reads_ranking_only: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {
        "risk": [Interval(Real, 0, 1, closed="neither")],
        "against": [StrOptions({"next", "complete"})],
        "n_beyond": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, risk: float = 0.05, *, against: str = "next", n_beyond: int = 5) -> None:
        self.risk = risk
        self.against = against
        self.n_beyond = n_beyond

    def divided(self, n_problems: int) -> FisherTest:
        """The same test at the risk divided by the number of problems."""
        return clone(self).set_params(risk=self.risk / n_problems)

    def enough(self, path: Sequence[Step]) -> bool:
        """Whether a feature failed the test ``n_beyond`` steps ago."""
        if self.against == "complete":
            return False
        return len(path) > kept_below(_next_p_values(path), self.risk, n_forced_steps(path)) + self.n_beyond

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut at the first model that Fisher's test finds sufficient."""
        path = ranking.path
        if self.against == "next":
            p_values, sizes = _next_p_values(path), np.arange(1, len(path) + 1)
        else:
            p_values, sizes = _complete_p_values(path), np.arange(len(path))
        # refused as the next feature, or accepted as a model that lacks nothing: the same cut
        kept = kept_below(p_values, self.risk, ranking.n_forced)
        return StopDecision(
            kept,
            self._reason(candidates, path, p_values, kept),
            curve=p_values,
            curve_at=sizes,
            threshold=self.risk,
            label="p-value of Fisher's test",
        )

    def _reason(self, candidates: Candidates, path: Sequence[Step], p_values: np.ndarray, kept: int) -> str:
        if kept == len(path):
            return f"all {kept} {candidates.noun}s that could be ranked pass Fisher's test at a risk of {self.risk:g}"
        test = f"(p = {apart(p_values[kept], self.risk)}, risk {self.risk:g})"
        if self.against == "complete":
            return f"a model of {kept} {candidates.noun}s does not differ from that of all {len(path)} ranked {test}"
        name = candidates.name(path[kept].feature)
        return f"{candidates.noun} {kept + 1}, '{name}', does not improve the model {test}"


def _next_p_values(path: Sequence[Step]) -> np.ndarray:
    """Eq. (8): with cos^2 ~ Beta(m/2, (v-m)/2), R ~ F(m, v - m); same tail, no division by zero."""
    laws = ((step.criterion, *(step.info[name] for name in ("dof", "n_targets", "n_columns"))) for step in path)
    return np.array([probe_survival(*law) for law in laws])


def _complete_p_values(path: Sequence[Step]) -> np.ndarray:
    """Eq. (7): sub-models of 0 .. K - 1 features against that of K."""
    if any(step.info["n_targets"] > 1 for step in path):
        raise ValueError("FisherTest(against='complete') is for one target; use against='next' with several classes")
    n_columns = np.array([step.info["n_columns"] for step in path])
    n_complete, dof = int(n_columns.sum()), path[-1].info["dof"] - n_columns[-1]
    if dof <= 0:
        raise ValueError(
            f"the complete model of {n_complete} features leaves no degree of freedom; give the ranker a smaller "
            "max_features, or use against='next'"
        )
    unexplained = 1 - np.array([0.0, *(step.info["r2"] for step in path)])
    dropped = np.cumsum(n_columns[::-1])[::-1]
    ratio = (unexplained[:-1] - unexplained[-1]) / dropped / max(unexplained[-1] / dof, np.finfo(float).tiny)
    return fdtrc(dropped, dof, ratio)
