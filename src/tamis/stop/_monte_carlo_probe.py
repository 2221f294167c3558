"""Random probes for any ranker: rank the features among copies of themselves that have no part in the target."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis._sklearn import Interval, StrOptions
from tamis.base import (
    PERMUTED_COPIES,
    ROWS,
    UNGROUPED,
    Candidates,
    Ranker,
    Ranking,
    StopDecision,
    StoppingRule,
    arranged,
)
from tamis.base._caller import caller_level
from tamis.kernels.arrays.copies import place_columns
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.probe.law import check_draws, enough_draws
from tamis.stop._cut import apart, kept_below
from tamis.stop._draw_statistics import statistics_of_draws
from tamis.stop._draws import DrawPlan, Draws
from tamis.stop._probe_copies import (
    Knockoffs,
    PermutedResiduals,
    PermutedRows,
    ProbeCopies,
    why_no_model_of_columns,
)
from tamis.stop._step_down import FalseDiscoveryRate, FamilyRisk

_MOST_ENTRIES = 2**27  # of a table whose rows are repeated: 1 GB in double precision
_NO_PROMISE = (
    "nothing is promised of scores of single features beside copies by an estimated covariance, which is shrunk: a "
    "feature that is correlated with a relevant one beats its own copy; give covariance=, or use Lasso"
)
_FEWEST_DRAWS = 19  # that can tell a risk of 5 %
_HYPOTHESES = {  # by whether copies keep their correlations with the other features: what a false discovery is
    True: "false: no part in the target beyond the other {noun}s",
    False: "false: unrelated to the target and to the {noun}s that matter",
}


class MonteCarloProbe(StoppingRule, name="monte-carlo-probe"):
    r"""Keep features that rank above copies of all features that have no part in the target, with any ranker.

    In each of :math:`b = 1..B` draws the ranker scores :math:`[X, \tilde X_b]`. With :math:`a_j` the mean score of
    feature :math:`j` over the draws and :math:`s_{bk}` that of the copy of feature :math:`k`,

    .. math:: p_j = \frac{1 + \#\{b : \max_{k \notin S} s_{bk} \ge a_j\}}{1 + B};

    features with :math:`p_j \le` ``risk`` join the kept set :math:`S`, and the maximum is taken again without them,
    until none joins (step-down). With one permutation :math:`\pi_b` of the rows and :math:`\tilde X_b = X_{\pi_b}`
    this is the estimated probe of Stoppiglia et al. (2003, Sec. 7), calibrated.

    Parameters
    ----------
    risk : float, default=0.05
        Chance of keeping any feature of which the hypothesis holds that ``probes`` test.
    fdr : float, default=None
        Control the expected share of such features among the kept ones instead (Benjamini-Hochberg on
        :math:`p_j = (1 + \#\{b, k : s_{bk} \ge a_j\}) / (1 + BD)`), those of ``keep`` and ``exclude`` and their copies
        not counted; ``risk`` is then not used.
    n_draws : int, default=None
        Most draws; they end early once no further draw could change the answer, mean scores being what they are by
        then. None is 19, or as many as a smaller risk needs. (n_draws + 1) * risk is best a whole number. With ``fdr``
        None is 19 or 1 / fdr; with fewer a relevant feature is not kept by itself, but may be with others.
    probes : {"auto", "permuted", "knockoff", "residual"}, default="auto"
        What the copies are, and with them the hypothesis that is tested. "permuted": the rows of all features permuted
        together; it is that a feature is unrelated to the target and to the features that matter, so that features
        correlated with a relevant one may be kept. "knockoff": Gaussian knockoffs, which keep all correlations with
        the other features; it is that a feature has no part in the target beyond all other features. "residual": what
        the others tell of a feature plus the rest of it with permuted rows, for the same hypothesis, with less power.
        "auto" takes knockoffs for methods that weigh each feature beside all others (the sparse linear models), where
        the table is dense, without missing values and of at most 2000 columns; else it permutes.
    covariance : array-like of shape (n_features, n_features), default=None
        Covariance of the columns of ``X``, where it is known: knockoffs are then Gaussian, and exact if the columns
        are. None estimates it: knockoffs match second moments and margins only, and ``certificate_`` tells how well.
    n_probes : int, default=None
        How many features have a copy in each draw, drawn at random, with ``fdr``; None is all. Of D features, fewer
        than D / (fdr (1 + n_probes n_draws)) are then not found. Univariate scores, whose copies are a product of the
        table, take all.
    max_samples : int, default=None
        How many rows are ranked in each draw, drawn at random; None is all. Mean scores over draws are compared with
        scores of so few rows: errors are far below the risk then, and power is lost.
    conditional : bool, default=False
        Permuted copies keep their dependence on the features kept so far (fit on these plus permuted residuals) and one
        feature joins at a time: fewer correlated features are kept, at n_draws rankings per kept feature. Dense input
        only.
    n_jobs : int, default=None
        Draws in parallel, through joblib; the result does not depend on it. Those of an array on a device are drawn
        there, one after another.
    random_state : int, RandomState or None, default=None
        None is the ranker's seed, or 0 if it has none.

    Notes
    -----
    Knockoffs are of the law of least reconstructability (Spector and Janson 2022) for the correlation of the columns:
    Ledoit and Wolf's estimate, with fewer rows than columns one without what chance explains. The sparse linear models
    are fitted on features and knockoffs at one penalty, that of the least held-out error in a first draw, and the sizes
    of weights are compared; other methods are ranked among knockoffs as among permuted copies. ``certificate_`` holds
    ``covariance`` (what the estimate is), ``moment_mismatch`` (root mean square by which correlations of knockoffs
    with each other and with other features differ from those of the features), ``moment_mismatch_by_chance`` (what that
    would be if the law fitted) and ``mean_correlation_with_knockoff``: near 1 there is little power. Columns that are
    copies of one another, in whatever units, share theirs. Where a column is far from Gaussian (skewness or
    excess kurtosis beyond .5 or 1 and beyond four standard errors), its knockoff has the values of the column, in the
    order of the Gaussian knockoff: beside rare binary columns or counts a Gaussian one stands out less than noise does,
    which was then kept too often (docs/errors.md). ``certificate_["n_matched_margins"]`` counts them.

    Sequential rankers, whose scores at different steps cannot be compared, enter with minus the rank and the median
    over draws. Importances in trees grow by chance with the number of values, or columns, of a feature; scores of a
    feature and of its copies enter less their mean, as in the corrected importance of Sandri and Zuccolotto (2008) and
    Nembrini et al. (2018). Scores that spread by chance more for some kinds of features than for others, such as those
    of :class:`~tamis.ReliefF` for labels and for groups of columns, enter in units of that spread. Univariate scores
    need no ranking: those of the copies of ten draws are one product of the table with permuted targets. An elimination
    of one feature at a time eliminates a tenth of them at a time in draws, down to nineteen: features and copies are
    ranked alike, so that the risk stays what it is. A copy keeps what is missing in its column. A row of weight 3 is
    permuted as three rows; weights that are no whole numbers stay in their places, which is an approximation.
    Deviations from the paper: all columns are permuted jointly (margins and correlations are kept), and the best probe
    counts, not one. Permuting the target instead would change the scale of many scores.

    Ctrl-C ends the draws: those so far decide where they suffice for the risk, else all features stay, and the reason
    says so.

    ``order_`` and, of methods that are not sequential, ``scores_`` are then those of :math:`a_j`, steadier than one
    run's; with ``conditional=True`` the kept features come first, in the order in which they joined, and their scores
    are set above all others.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 7. Sandri and Zuccolotto, "A bias correction algorithm
    for the Gini variable importance measure in classification trees", J. Comput. Graph. Stat. 17, 2008. Nembrini, König
    and Wright, "The revival of the Gini importance?", Bioinformatics 34, 2018. Candès, Fan, Janson and Lv, "Panning for
    gold: model-X knockoffs", JRSS B 80, 2018. Spector and Janson, "Powerful knockoffs via minimizing
    reconstructability", Ann. Stat. 50, 2022. Ledoit and Wolf, "A well-conditioned estimator for large-dimensional
    covariance matrices", J. Multivar. Anal. 88, 2004.

    Examples
    --------
    >>> from tamis import CorrelationScore
    >>> from tamis.datasets import make_linear
    >>> from tamis.stop import MonteCarloProbe
    >>> X, y = make_linear(n_samples=200, coef=[3, 3], n_features=8, random_state=0)
    >>> CorrelationScore(stop=MonteCarloProbe(risk=0.05)).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    requires: ClassVar[frozenset[str]] = frozenset({PERMUTED_COPIES})

    _parameter_constraints: ClassVar[dict] = {
        "risk": [Interval(Real, 0, 1, closed="neither")],
        "fdr": [Interval(Real, 0, 1, closed="neither"), None],
        "n_draws": [Interval(Integral, 1, None, closed="left"), None],
        "probes": [StrOptions({"auto", "permuted", "knockoff", "residual"})],
        "covariance": ["array-like", None],
        "n_probes": [Interval(Integral, 1, None, closed="left"), None],
        "max_samples": [Interval(Integral, 2, None, closed="left"), None],
        "conditional": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        risk: float = 0.05,
        *,
        fdr: float | None = None,
        n_draws: int | None = None,
        probes: str = "auto",
        covariance: Any = None,
        n_probes: int | None = None,
        max_samples: int | None = None,
        conditional: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.risk = risk
        self.fdr = fdr
        self.n_draws = n_draws
        self.probes = probes
        self.covariance = covariance
        self.n_probes = n_probes
        self.max_samples = max_samples
        self.conditional = conditional
        self.n_jobs = n_jobs
        self.random_state = random_state

    def check(self, ranker: Ranker, candidates: Candidates) -> None:
        """Refuse rankers that cannot rank permuted copies, or to which these look like the original, and few draws."""
        super().check(ranker, candidates)
        if not ranker.supervised:
            raise ValueError(
                f"MonteCarloProbe compares features with permuted copies, which {type(ranker).__name__}, being "
                "unsupervised, cannot tell apart; use TopK or CrossValidation"
            )
        ranker.for_draws()  # refuses what it cannot rank
        if ROWS not in candidates.provides:
            self._check_in_blocks(ranker, candidates)
        if self.conditional and UNGROUPED not in candidates.provides:
            raise ValueError("MonteCarloProbe(conditional=True) takes no groups of features; use conditional=False")
        check_draws(self._most_draws(), self._level())
        self._check_probes(candidates)

    def _check_probes(self, candidates: Candidates) -> None:
        """Refuse parameters that do not go together, and tables whose columns cannot be modeled given each other."""
        if self.n_probes is not None and self.fdr is None:
            raise ValueError(
                f"n_probes={self.n_probes} goes with fdr, whose p-values count all copies of all draws; risk takes the "
                "best copy of every feature, so drop n_probes, or give fdr"
            )
        if self.covariance is not None and (self.probes == "permuted" or self.conditional):
            what = "conditional=True" if self.conditional else "probes='permuted'"
            raise ValueError(f"covariance is that of the columns, which {what} does not look at; use probes='knockoff'")
        if self.probes in ("knockoff", "residual"):
            if self.conditional:
                raise ValueError(
                    f"conditional=True and probes='{self.probes}' are two kinds of copies: give one of them"
                )
            if why := why_no_model_of_columns(candidates):
                raise ValueError(
                    f"MonteCarloProbe(probes='{self.probes}') models the columns given each other, and {why}; use "
                    "probes='permuted'"
                )

    def _level(self) -> float:
        """The risk, or the rate, in force."""
        return self.risk if self.fdr is None else self.fdr

    def _most_draws(self) -> int:
        """Draws, or the fewest of at least 19 from which a p-value as small as the level can come."""
        if self.n_draws is not None:
            return self.n_draws
        if self.fdr is not None:
            return max(_FEWEST_DRAWS, enough_draws(self.fdr))
        return max(_FEWEST_DRAWS, int(np.ceil(1.0 / self.risk - 1e-9)) - 1)

    def _resolve_probes(self, ranker: Ranker, candidates: Candidates) -> tuple[str, str]:
        """The kind of copies, and why another one that was to be expected was not taken."""
        if self.probes != "auto":
            is_estimated = self.probes != "permuted" and self.covariance is None
            return self.probes, _NO_PROMISE if is_estimated and "single_scores" in ranker.provides else ""
        asks = "conditional_weights" in ranker.provides or self.covariance is not None
        if self.conditional or not asks:
            return "permuted", ""
        why = why_no_model_of_columns(candidates)
        return ("permuted", f"no knockoffs, for {why}") if why else ("knockoff", "")

    def _plan_draws(
        self, ranker: Ranker, candidates: Candidates, y: np.ndarray | None, kind: str, seed: int
    ) -> DrawPlan:
        """What all draws have in common; a penalty is chosen once, among the copies of the first draw."""
        rng = np.random.RandomState(seed)
        copies: ProbeCopies
        if kind == "knockoff":
            copies = Knockoffs(candidates, self.covariance, rng)
        elif kind == "residual":
            copies = PermutedResiduals(candidates, self.covariance)
        else:
            copies = PermutedRows(np.empty(0, dtype=int))
        weighing = None
        if "conditional_weights" in ranker.provides and not self.conditional:
            n_columns = candidates.n_columns
            among, _ = candidates.among_copies(copies.draw(candidates.table, rng), np.arange(2 * n_columns))
            weighing = ranker.weighing_in_draws(among, y)
        has_classes = ranker._find_task(y) == "classification" and np.asarray(y).ndim == 1
        return DrawPlan(copies, weighing, self.n_probes, self.max_samples, has_classes)

    def _check_in_blocks(self, ranker: Ranker, candidates: Candidates) -> None:
        """Refuse what would need the rows of a table that is read in blocks."""
        if "single_scores" not in ranker.provides:
            why = f"{type(ranker).__name__} ranks permuted copies among the features, which needs the rows in memory"
        elif self.conditional:
            why = "conditional=True needs the rows in memory"
        elif self.max_samples is not None:
            why = "max_samples needs the rows in memory"
        elif UNGROUPED not in candidates.provides:
            why = "copies of groups of columns need the rows in memory (text and missing values make groups)"
        elif candidates.sample_weight is not None:
            why = "rows with weights are permuted in memory only"
        else:
            return
        raise ValueError(
            f"MonteCarloProbe: {why}, and X is read in blocks; use a number of features, such as stop=20, or "
            "GramSchmidt with Probe"
        )

    def divided(self, n_problems: int) -> MonteCarloProbe:
        """The same probe at the risk, or rate, divided by the number of problems, with draws enough to resolve it.

        The false discovery rate of a union is at most the sum of those of its parts, whose kept sets are smaller.
        """
        risk = self.risk / n_problems
        fdr = None if self.fdr is None else self.fdr / n_problems
        n_draws = max(self._most_draws(), enough_draws(risk if fdr is None else fdr))
        return clone(self).set_params(risk=risk, fdr=fdr, n_draws=n_draws)

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut where the features stop standing out from their permuted copies."""
        seeds = rng.randint(np.iinfo(np.int32).max, size=self._most_draws())
        error_control: FamilyRisk | FalseDiscoveryRate
        untested = [*candidates.keep.tolist(), *candidates.excluded.tolist()]
        error_control = FalseDiscoveryRate(self.fdr, untested) if self.fdr is not None else FamilyRisk(self.risk)
        kind, why_not = self._resolve_probes(ranker, candidates)
        if why_not == _NO_PROMISE:
            warnings.warn(f"MonteCarloProbe: {why_not}", UserWarning, stacklevel=caller_level())
        if self.conditional:
            plan = self._plan_draws(ranker, candidates, y, kind, 0)
            scores, p_values, n_drawn = self._one_by_one(ranker, ranking, candidates, y, seeds, error_control)
        else:
            repeated, target = _repeat_rows(candidates, y)
            plan = self._plan_draws(ranker, repeated, target, kind, int(seeds[0]))
            draws = Draws(ranker, ranking, repeated, target, plan, self.n_jobs)
            feature_scores, copy_scores = draws.run(seeds, error_control)
            are_weights = plan.weighing is not None
            scores, copy_scores = statistics_of_draws(feature_scores, copy_scores, ranker, are_weights=are_weights)
            n_drawn = len(feature_scores)
            if are_weights:
                scores = np.where(scores > 0, scores, -np.inf)  # no weight in any draw
            elif ranker.one_shot:  # what the method left out of its order, though it has a score, stays out
                is_ranked = np.zeros(scores.size, dtype=bool)
                is_ranked[ranking.order] = True
                scores = np.where(is_ranked, scores, -np.inf)
            else:
                scores = _lowest_of_copies_first(scores, candidates)
            p_values = error_control.p_values(scores, copy_scores, len(copy_scores), passed=candidates.keep.tolist())
        # ranks tell the order of a sequential method; what people see as its scores are its own criteria
        reported = scores if ranker.one_shot or self.conditional else ranking.scores
        decision = self._decision(candidates, ranking, scores, reported, p_values, n_drawn, plan.copies)
        return replace(decision, reason=f"{decision.reason}; {why_not}") if why_not else decision

    def _one_by_one(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        seeds: np.ndarray,
        error_control: FamilyRisk | FalseDiscoveryRate,
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Keep the best remaining feature while it stands out from probes that depend on the kept ones as it does."""
        X = candidates.table
        if not isinstance(X, np.ndarray):
            raise ValueError("MonteCarloProbe(conditional=True) needs a dense numpy X")
        if has_missing(X):
            raise ValueError("MonteCarloProbe(conditional=True) fits features to each other, which needs X without NaN")
        kept: list[int] = candidates.keep.tolist()  # those that stay anyway are what the others are compared given
        final = np.ones(X.shape[1])
        while True:
            plan = DrawPlan(PermutedRows(np.array(kept, dtype=int)))
            draws = Draws(ranker, ranking, candidates, y, plan, self.n_jobs)
            feature_scores, copy_scores = draws.run(seeds, error_control, may_end_early=False)
            scores, copy_scores = statistics_of_draws(feature_scores, copy_scores, ranker)
            p_values = error_control.p_values(scores, copy_scores, len(copy_scores), passed=kept)
            p_values[kept] = final[kept]
            rest = np.setdiff1d(np.arange(X.shape[1]), [*kept, *candidates.excluded.tolist()])
            best = rest[np.argmax(scores[rest])] if rest.size else -1
            if rest.size == 0 or p_values[best] > error_control.level:
                scores[kept] = scores.max(initial=0.0) + np.arange(len(kept), 0, -1)
                return scores, p_values, len(feature_scores)
            final[best] = p_values[best]
            kept.append(int(best))

    def _decision(
        self,
        candidates: Candidates,
        ranking: Ranking,
        scores: np.ndarray,
        reported: np.ndarray,
        p_values: np.ndarray,
        n_drawn: int,
        copies: ProbeCopies,
    ) -> StopDecision:
        level = self._level()
        steps = {step.feature: step for step in ranking.path}
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > -np.inf]
        path = tuple(steps[j] for j in order.tolist() if j in steps) if steps else ()
        certificate = {**ranking.certificate, **copies.certificate()}
        steadier = arranged(Ranking(order, reported, path, certificate, notes=ranking.notes), candidates)
        order = steadier.order
        p_values = p_values.copy()
        p_values[candidates.keep] = 0.0  # they stay whatever their chance is
        curve = np.maximum.accumulate(p_values[order])
        curve[: steadier.n_forced] = np.nan  # nobody asks for their chance
        kept = kept_below(curve, level, steadier.n_forced)
        standing = "risk" if self.fdr is None else "false discovery rate"
        if kept == order.size:
            reason = f"all {kept} ranked {candidates.noun}s stand out from {copies.words} at a {standing} of {level:g}"
        else:
            reason = (
                f"{candidates.noun} {kept + 1}, '{candidates.name(int(order[kept]))}', does not stand out from "
                f"{copies.words} (p = {apart(curve[kept], level)} in {n_drawn} draws, {standing} {level:g})"
            )
        if self.fdr is not None or copies.keeps_correlations:
            reason += f", {_HYPOTHESES[copies.keeps_correlations].format(noun=candidates.noun)}"
        return StopDecision(
            kept,
            reason,
            curve=curve,
            curve_at=np.arange(1, curve.size + 1),
            threshold=level,
            label=f"chance that a permuted {candidates.noun} does better" if self.fdr is None else "adjusted p-value",
            ranking=steadier,
        )


def _repeat_rows(candidates: Candidates, y: np.ndarray | None) -> tuple[Candidates, np.ndarray | None]:
    """Rows as often as whole weights say, to be permuted one by one, unless the table would grow too large."""
    weight = candidates.sample_weight
    if weight is None or weight.sum() * candidates.n_columns > _MOST_ENTRIES or np.any(weight != np.round(weight)):
        return candidates, y
    rows = np.repeat(np.arange(weight.size), weight.astype(np.int64))
    repeated = candidates.take_rows(rows)
    repeated.sample_weight = None
    return repeated, None if y is None else np.asarray(y)[rows]


def _lowest_of_copies_first(scores: np.ndarray, candidates: Candidates) -> np.ndarray:
    """The same scores, of which equal columns get theirs in the order of the table: shuffling must not decide there."""
    X = candidates.table
    if candidates.members is not None or not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return scores
    _, place = place_columns(X)
    given, wanted = np.lexsort((-scores, place)), np.lexsort((np.arange(place.size), place))
    settled = np.empty_like(scores)
    settled[wanted] = scores[given]
    return settled
