"""The random probe: keep a feature while a random one would hardly have done better."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, Ranker, Ranking, Step, StopDecision, StoppingRule, track
from tamis.engine import CompressedColumns
from tamis.kernels.arrays.shapes import shape_moments
from tamis.kernels.probe.law import best_of, check_draws, enough_draws, probe_survival, tail_error
from tamis.kernels.solvers.group_search import GroupSearch
from tamis.kernels.solvers.orthogonal_search import OrthogonalSearch
from tamis.stop._cut import apart, kept_below, n_forced_steps
from tamis.stop._permuted_cosines import permuted_counts, permuted_counts_in_blocks

_TAIL_ERROR = 0.25  # share by which the Gaussian law may err before "auto" turns to permutations
_EXPLAINED = 1e-9  # share of the target's variance that is left
_BATCH_ELEMENTS = 2**25
_SAMPLE_ELEMENTS = 2**22

Search = OrthogonalSearch | GroupSearch


class Probe(StoppingRule, name="probe"):
    r"""Keep features while the risk that a random one does better stays below ``risk``.

    At step :math:`n` the squared cosine of a random vector with what is left of the target follows
    :math:`\mathrm{Beta}(\tfrac12, \tfrac{v-1}2)` (Stoppiglia et al. 2003, Eq. 2), so it exceeds that of the chosen
    feature with probability :math:`P_v(\cos^2\varphi_n)` (Eq. 3), where :math:`v` is the dimension of the space that is
    left.

    ``correction="none"`` is the paper's rule: keep while
    :math:`G_n = G_{n-1} + P_v(\cos^2\varphi_n)(1 - G_{n-1}) \le \text{risk}` (Eq. 4). Its probe is one vector, though
    the feature is the best of many, so that it keeps noise almost surely once there are a hundred candidates. The
    default ``correction="best-of-remaining"`` sets the best of as many probes against it,

    .. math:: P_{\max} = 1 - (1 - P_v(\cos^2\varphi_n))^{c_n} \le \text{risk},

    with :math:`c_n` the candidates left: the chance of keeping any feature when none matters is then at most the risk.

    Parameters
    ----------
    risk : float, default=0.05
    correction : {"best-of-remaining", "none"}, default="best-of-remaining"
    null : {"auto", "gaussian", "permutation"}, default="auto"
        Law of the probe. "permutation" permutes what is left of the target, projects it off the kept features again and
        takes its best cosine over the remaining candidates: exact where both sides are far from Gaussian (heavy tails,
        rare binary columns) and the analytic law is not. "auto" turns to it when the estimated error of the analytic
        law (Edgeworth, from skewness and kurtosis of the columns and of what is left of the target) exceeds a quarter.
    n_draws : int, default=99
        Permutations per step, at most: a step that cannot pass any more ends them early. 199 for risks of 0.02 or less;
        "auto" makes more where the risk needs them.
    n_beyond : int, default=5
        Steps ranked beyond the cut, so that the curve shows what was refused.
    random_state : int, RandomState or None, default=None
        None is the ranker's seed, or 0 if it has none.

    Notes
    -----
    Deviations from the paper: the calibrated correction; :math:`v = N - n` with an intercept and :math:`N - n + 1`
    without (the paper uses the former throughout); with :math:`m` target columns (several classes), or groups of
    :math:`m` columns, the law is :math:`\mathrm{Beta}(\tfrac m2, \tfrac{v-m}2)`, with several of both Rao's
    approximation for Wilks' lambda. Section 3.2 prints "if G_n > r, select", which is reversed.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Secs. 3 and 4.

    Examples
    --------
    >>> from tamis import GramSchmidt
    >>> from tamis.datasets import make_linear
    >>> from tamis.stop import Probe
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> GramSchmidt(stop=Probe(risk=0.01)).fit(X, y).stop_.n_features
    5
    """

    requires: ClassVar[frozenset[str]] = frozenset({"nested_linear"})

    _parameter_constraints: ClassVar[dict] = {
        "risk": [Interval(Real, 0, 1, closed="neither")],
        "correction": [StrOptions({"best-of-remaining", "none"})],
        "null": [StrOptions({"auto", "gaussian", "permutation"})],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_beyond": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        risk: float = 0.05,
        *,
        correction: str = "best-of-remaining",
        null: str = "auto",
        n_draws: int = 99,
        n_beyond: int = 5,
        random_state: Any = None,
    ) -> None:
        self.risk = risk
        self.correction = correction
        self.null = null
        self.n_draws = n_draws
        self.n_beyond = n_beyond
        self.random_state = random_state

    def check(self, ranker: Ranker, candidates: Candidates) -> None:
        """Refuse a risk that the permutations could not resolve."""
        super().check(ranker, candidates)
        if self.null == "permutation" and self.correction == "best-of-remaining":
            check_draws(self.n_draws, self.risk)

    def divided(self, n_problems: int) -> Probe:
        """The same probe at the risk divided by the number of problems."""
        risk = self.risk / n_problems
        return clone(self).set_params(risk=risk, n_draws=max(self.n_draws, enough_draws(risk)))

    def enough(self, path: Sequence[Step]) -> bool:
        """Whether the analytic law refused a feature ``n_beyond`` steps ago; looser where permutations decide."""
        limit = self.risk if self.null == "gaussian" else max(self.risk, 0.5)
        curve = self._curve(path, self._analytic(path))
        return len(path) > kept_below(curve, limit, n_forced_steps(path)) + self.n_beyond

    def _analytic(self, path: Sequence[Step]) -> list[float]:
        """Chance per step that the probe does better, by the Gaussian law."""
        return [self._analytic_at(step) for step in path]

    def _analytic_at(self, step: Step) -> float:
        info = step.info
        if info["forced"]:  # it stays whatever its chance is, and takes nothing from the risk of the others
            return 0.0
        survival = _survival(step.criterion, info["dof"], info["n_targets"], info["n_columns"])
        return survival if self.correction == "none" else best_of(survival, info["n_candidates"])

    def _curve(self, path: Sequence[Step], chances: Sequence[float]) -> np.ndarray:
        """What is held against the risk: the paper's cumulated G_n, or each step's own chance."""
        if self.correction == "none":
            return 1 - np.cumprod(1 - np.asarray(chances))  # Eq. (4) in closed form
        return np.asarray(chances)

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut before the first feature that a random one might beat."""
        path = ranking.path
        chances = self._analytic(path)
        if self.null != "gaussian" and path:
            chances = self._by_permutation(ranker, path, candidates, y, rng)
        curve = self._curve(path, chances)
        curve[: ranking.n_forced] = np.nan  # nobody asks for their risk
        kept = kept_below(curve, self.risk, ranking.n_forced)
        return StopDecision(
            kept,
            self._reason(candidates, path, curve, kept),
            curve=curve,
            curve_at=np.arange(1, curve.size + 1),
            threshold=self.risk,
            label=f"risk that a random {candidates.noun} does better",
        )

    def _reason(self, candidates: Candidates, path: Sequence[Step], curve: np.ndarray, kept: int) -> str:
        if kept == len(path):
            noun = candidates.noun
            if path and path[-1].info["r2"] > 1 - _EXPLAINED:
                return f"the first {kept} of the order explain the target completely"
            return f"all {kept} {noun}s that could be ranked beat a random {noun} at a risk of {self.risk:g}"
        name = candidates.name(path[kept].feature)
        n = path[kept].info["n_candidates"]
        noun = candidates.noun
        rival = f"a random {noun}" if self.correction == "none" or n == 1 else f"the best of {n} random {noun}s"
        chance = apart(1 - curve[kept], 1 - self.risk)
        return (
            f"{noun} {kept + 1}, '{name}', would beat {rival} with probability {chance} only ({1 - self.risk:g} asked)"
        )

    def _by_permutation(
        self,
        ranker: Any,
        path: Sequence[Step],
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> list[float]:
        """Chance per step, permuting wherever the analytic law cannot be trusted, up to the first that is refused."""
        values = ranker.encode_target(np.asarray(y))
        # compressed columns tell nothing of the shape of residuals: the path has to
        has_shapes = all("residual_shape" in step.info for step in path)
        search = ranker.search(candidates, values, in_rows=self.null != "auto" or not has_shapes)
        moments = self._moments_of_columns(search, rng) if self.null == "auto" else None
        chances: list[float] = []
        n_replayed = 0  # steps that the search has taken
        for place, step in enumerate(track(ranker, path, task_name="probe")):
            if step.info["forced"]:
                chances.append(0.0)
                continue
            if not has_shapes:
                _replay(search, path[n_replayed:place])
                n_replayed = place
            is_far = moments is None or self._far_from_gaussian(search, step, moments)
            if is_far and isinstance(search.columns, CompressedColumns) and not candidates.in_blocks:
                search, n_replayed = ranker.search(candidates, values, in_rows=True), 0  # to permute its rows
            if is_far:
                _replay(search, path[n_replayed:place])
                n_replayed = place
                search.update_candidates()
                chances.append(self._permuted_chance(candidates, search, values, path[: place + 1], rng))
            else:
                chances.append(self._analytic_at(step))
            if self._curve(path[: len(chances)], chances)[-1] > self.risk:
                break
        return chances + self._analytic(path[len(chances) :])  # beyond the cut, for the curve only

    def _moments_of_columns(self, search: Search, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and kurtosis of up to 1000 candidates, fewer where these are long."""
        varying = search.remaining_columns()
        most = int(np.clip(_SAMPLE_ELEMENTS // search.columns.n_rows, 10, 1000))
        sample = varying if varying.size <= most else np.sort(rng.choice(varying, most, replace=False))
        return search.columns.shapes(sample)

    def _far_from_gaussian(self, search: Search, step: Step, moments: tuple[np.ndarray, np.ndarray]) -> bool:
        tail = self.risk / (step.info["n_candidates"] if self.correction == "best-of-remaining" else 1)
        of_target = step.info.get("residual_shape") or shape_moments(search.Y, search.columns.sqrt_weight)
        return tail_error(moments, of_target, search.columns.total, tail) > _TAIL_ERROR

    def _permuted_chance(
        self,
        candidates: Candidates,
        search: Search,
        values: np.ndarray,
        path: Sequence[Step],
        rng: np.random.RandomState,
    ) -> float:
        """(1 + draws that reach the last feature) / (1 + draws), or the same over every candidate of every draw."""
        step, reached, drawn = path[-1], 0, 0
        n_draws = max(self.n_draws, int(np.ceil(1 / self.risk)) - 1)
        batch = max(1, min(50, _BATCH_ELEMENTS // search.columns.n_candidates))
        pool = 1 if self.correction == "best-of-remaining" else step.info["n_candidates"]
        # the criterion is compared up to rounding: a permutation that restores the data must count
        observed, n_columns = step.criterion * (1 - 1e-9), step.info["n_columns"]
        kept = np.array([each.feature for each in path[:-1]], dtype=np.int64)
        while drawn < n_draws:
            n_now = min(batch, n_draws - drawn)
            if candidates.in_blocks and isinstance(search.columns, CompressedColumns):
                seeds = rng.randint(2**31 - 1, size=n_now).tolist()
                selected = candidates.columns_of(kept)
                counts = permuted_counts_in_blocks(
                    search, search.columns, values, selected, observed, seeds, n_columns=n_columns
                )
            else:
                counts = permuted_counts(search, observed, n_now, rng, n_columns=n_columns)
            reached += int(np.sum(counts > 0) if pool == 1 else counts.sum())
            drawn += counts.size
            if 1 + reached > self.risk * (1 + n_draws * pool):
                break  # no draw to come could let it pass
        return min(1.0, (1 + reached) / (1 + drawn * pool))


@lru_cache(maxsize=4096)
def _survival(cos2: float, dof: float, n_targets: int, n_columns: int) -> float:
    """Eq. (3); a search asks after each step for all steps before it."""
    return probe_survival(cos2, dof, n_targets, n_columns)


def _replay(search: Search, path: Sequence[Step]) -> None:
    """Let a search take the steps of a path."""
    for step in path:
        search.select(step.feature)
