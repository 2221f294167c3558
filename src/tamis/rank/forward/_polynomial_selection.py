"""Variables behind a polynomial: monomials ranked by Gram-Schmidt, then pruned one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, Ranking, Step, WeightedRanker, track
from tamis.dictionary._monomials import Monomials
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents
from tamis.kernels.arrays.targets import encode_target
from tamis.kernels.arrays.tolerances import TIE
from tamis.kernels.probe.law import best_of, probe_survival
from tamis.kernels.solvers.orthogonal_search import Direction, OrthogonalSearch
from tamis.rank.forward._monomial_pruning import DowndatedModel, Removal, prune_by_fisher, prune_by_press
from tamis.rank.forward._polynomial import Polynomial, distinct_variables, fit_linear

_LARGE = 100  # rows from which on Fisher's test is taken
_MOST_RANKED = 50


class PolynomialSelection(WeightedRanker):
    r"""Select the variables behind the monomials of a pruned polynomial.

    Monomials of degree up to :math:`d` are ranked by Gram-Schmidt orthogonalization, the highest ranked make the
    polynomial :math:`g(x) = w_0 + \sum_i w_i m_i(x)`, and one monomial at a time is removed from it: the one without
    which the fit suffers least,

    .. math:: \arg\min_i\; \mathrm{RSS}_{-i} - \mathrm{RSS} = \frac{w_i^2}{[(M^\top M)^{-1}]_{ii}}
              \quad \text{while Fisher's test does not reject the smaller polynomial against the complete one, or}

    .. math:: \arg\min_i\; \mathrm{PRESS}_{-i} = \frac1N \sum_n \left(\frac{y_n - g_{-i}(x_n)}
              {1 - h_{nn}^{-i}}\right)^2 \quad \text{while the leave-one-out error does not grow}

    (Lal et al. 2006, Sec. 2.2, after Rivals and Personnaz 2003). The variables of the remaining monomials are selected
    (Stoppiglia et al. 2003, Sec. 5).

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many variables to keep; "auto" keeps those behind the pruned polynomial.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    degree : int, default=2
    interaction_only : bool, default=False
        Leave out monomials in which a variable appears twice.
    max_monomials : int, default=None
        Monomials that pruning begins with, as far as the rows leave degrees of freedom. None takes those ranked before
        the first that the best of as many random monomials might beat (the calibrated probe at ``risk``), at most a
        quarter of the rows and 50.
    prune : {"auto", "fisher", "leave-one-out"}, default="auto"
        "auto" is Fisher's test from 100 rows on and the leave-one-out error below.
    risk : float, default=0.05
        Of the probe and of Fisher's test.
    task : {"auto", "regression", "classification"}, default="auto"
        As for :class:`GramSchmidt`: two classes are -1 and +1, more are indicators.

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. ``scores_`` is the share of the target's variance that the polynomial no longer explains
        once all monomials with that variable are removed. Variables of one and the same monomial are tied: the one that
        explains more alone comes first, then the lowest index. Behind these come, with a score of zero, the variables
        of other ranked monomials, in the order in which they first appear. The rest has no rank.
    monomials_ : ndarray of str
        Names of the monomials that were kept, in the order of their rank.
    pruning_ : tuple of (str, Removal)
        The monomials that were removed, in this order, with the criterion then; last the one at which pruning ended.
    estimator_ : Polynomial
        The least-squares polynomial, which predicts from a table like ``X``.
    dictionary_ : Monomials
        The monomials of the distinct, standardized columns that vary.

    Notes
    -----
    Cost: as :class:`GramSchmidt` for the ranking, one pass over the variables per group of monomials and step, with no
    table of monomials ever held; a pruning step is O(n_samples max_monomials). Variables are standardized: units
    do not matter; constant columns and copies, up to unit and sign, have no rank.

    With several classes Fisher's test is that of Wilks' lambda, as for the ranking; the leave-one-out error sums over
    the targets.

    A row of weight m counts as m copies of it, of which leave-one-out leaves out one; a row of less than one is left
    out as a whole.

    Deviation from the paper: which monomials pruning begins with. Both criteria of pruning take the monomials as given,
    though they are the best of many: a polynomial of a given size (``max_monomials``) keeps noise when the candidates
    are many. By default it begins with those that the calibrated probe accepts. Like any forward search, this misses
    monomials that explain the target only together.

    References
    ----------
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 2.2. Rivals and
    Personnaz, "MLPs (Mono-Layer Polynomials and Multi-Layer Perceptrons) for nonlinear modeling", JMLR 3, 2003.
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 5.

    Examples
    --------
    >>> from tamis import PolynomialSelection
    >>> from tamis.datasets import make_xor
    >>> X, y = make_xor(random_state=0)
    >>> selector = PolynomialSelection().fit(X, y)
    >>> selector.get_feature_names_out()
    array(['x0', 'x1'], dtype=object)
    >>> selector.monomials_
    array(['x0*x1'], dtype=object)
    """

    one_shot: ClassVar[bool] = False
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {"own_choice"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "degree": [Interval(Integral, 1, None, closed="left")],
        "interaction_only": ["boolean"],
        "max_monomials": [Interval(Integral, 1, None, closed="left"), None],
        "prune": [StrOptions({"auto", "fisher", "leave-one-out"})],
        "risk": [Interval(Real, 0, 1, closed="neither")],
        "task": [StrOptions({"auto", "regression", "classification"})],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        degree: int = 2,
        interaction_only: bool = False,
        max_monomials: int | None = None,
        prune: str = "auto",
        risk: float = 0.05,
        task: str = "auto",
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.degree = degree
        self.interaction_only = interaction_only
        self.max_monomials = max_monomials
        self.prune = prune
        self.risk = risk
        self.task = task

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X, weight = candidates.table, candidates.sample_weight
        # the monomials of the distinct, standardized variables
        target = encode_target(np.asarray(y), self.task)
        exponents = overflow_exponents(target.values)
        target = replace(target, values=ldexp_columns(target.values, exponents))
        variables = distinct_variables(X, weight)
        monomials = Monomials(self.degree, interaction_only=self.interaction_only, standardize=False)
        columns = monomials.fit(variables.table).candidates(variables.table, weight)

        # rank by Gram-Schmidt, cut by the probe, prune by backward elimination, fit what remains
        ranked, chances = self._rank_monomials(columns, target.values)
        n_complete = len(ranked) if self.max_monomials else _count_below(chances, self.risk)
        criterion = self.prune if self.prune != "auto" else ("fisher" if columns.total >= _LARGE else "leave-one-out")
        complete = _complete_model(ranked[:n_complete], columns.center_rows(target.values), weight)
        pruned, removals = self._prune(complete, criterion)
        places = np.array([direction.feature for direction in ranked], dtype=np.int64)
        linear, refitted = fit_linear(columns, places[pruned.remaining], target)

        # the polynomial in the variables of X
        factors = [tuple(int(variables.columns[v]) for v in each) for each in monomials.factors(places)]
        names = monomials.names(places, [candidates.column_name(j) for j in variables.columns])
        self.dictionary_ = monomials
        self.monomials_ = names[pruned.remaining]
        self.pruning_ = tuple((str(names[removal.column]), removal) for removal in removals)
        kept, power = tuple(factors[i] for i in pruned.remaining), 0 if exponents is None else int(exponents[0])
        self.estimator_ = Polynomial(kept, variables.mean, variables.scale, linear, power)

        # from monomials to variables
        correlations2 = np.full(X.shape[1], np.nan)
        correlations2[variables.columns] = _squared_correlations(variables.table, target.values, weight)
        ranking = _rank_variables(refitted, factors, pruned.remaining, correlations2)
        certificate = {
            "converged": True,
            "criterion": criterion,
            "n_candidates": columns.n_candidates,
            "n_ranked": len(ranked),
            "n_complete": n_complete,
            "n_kept": pruned.remaining.size,
            "chance_beyond": float(chances[n_complete]) if n_complete < chances.size else None,
            "orthogonality": max((direction.orthogonality_loss for direction in ranked), default=0.0),
            "drift": abs(pruned.squared_error() - refitted.squared_error()) / float(np.square(pruned.Y).sum()),
        }
        n_chosen = sum(step.info["n_monomials"] > 0 for step in ranking.path)
        return replace(ranking, certificate=certificate, n_chosen=n_chosen, reason=self._reason(n_chosen, certificate))

    def _prune(self, model: DowndatedModel, criterion: str) -> tuple[DowndatedModel, tuple[Removal, ...]]:
        """The polynomial after pruning, and what was removed."""
        n_complete = model.remaining.size
        removals = prune_by_fisher(model, self.risk) if criterion == "fisher" else prune_by_press(model)
        return model, tuple(track(self, removals, task_name="prune", total=n_complete))

    def _rank_monomials(self, columns: Columns, values: np.ndarray) -> tuple[list[Direction], np.ndarray]:
        """The highest ranked monomials, and per monomial the chance that the best of as many random ones beats it."""
        n = columns.total
        n_targets = np.linalg.matrix_rank(values - values.mean(axis=0))
        most = min(n // 4, _MOST_RANKED) if self.max_monomials is None else min(self.max_monomials, n - 1 - n_targets)
        limit = max(1, int(most))
        search = OrthogonalSearch(columns, values, limit=limit)
        ranked = list(track(self, islice(search, limit), task_name="rank", total=limit))
        chances = [
            best_of(probe_survival(direction.cos2, n - step, direction.n_targets), direction.n_candidates)
            for step, direction in enumerate(ranked, start=1)
        ]
        return ranked, np.array(chances)

    def _reason(self, n_chosen: int, found: Mapping[str, Any]) -> str:
        if not found["n_complete"]:
            return (
                f"no monomial beats the best of {found['n_candidates']} random ones (risk {self.risk:g}, "
                f"chance {found['chance_beyond']:.2g})"
            )
        test = f"Fisher's test (risk {self.risk:g})" if found["criterion"] == "fisher" else "the leave-one-out error"
        kept, complete = found["n_kept"], found["n_complete"]
        entered = f"{complete} of {found['n_candidates']} were taken in, {test} pruned {complete - kept}"
        return f"{_count(n_chosen, 'variable')} behind {_count(kept, 'monomial')}: {entered}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _count_below(chances: np.ndarray, risk: float) -> int:
    """How many come before the first that exceeds the risk."""
    refused = np.flatnonzero(chances > risk)
    return int(refused[0]) if refused.size else chances.size


def _complete_model(ranked: Sequence[Direction], Y: np.ndarray, weight: np.ndarray | None) -> DowndatedModel:
    """The polynomial of the highest ranked monomials, from the orthogonal directions that the search made."""
    k = len(ranked)
    Q, R = np.empty((len(Y), k)), np.zeros((k, k))
    for column, direction in enumerate(ranked):
        Q[:, column] = direction.q
        R[: column + 1, column] = direction.loading
    return DowndatedModel(Q, R, Y, weight)


def _squared_correlations(table: np.ndarray, values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Share of the targets' variance that each standardized variable explains alone."""
    weight = np.ones(len(table)) if weight is None else weight
    values = values - np.average(values, axis=0, weights=weight)
    return np.square(table.T @ (weight[:, None] * values)).sum(axis=1) / (
        weight.sum() * (weight @ np.square(values)).sum()
    )


def _rank_variables(
    model: DowndatedModel, factors: Sequence[tuple[int, ...]], kept: np.ndarray, correlations2: np.ndarray
) -> Ranking:
    """Variables by what the pruned polynomial loses without them, then the others by their first monomial.

    Variables of one and the same monomial are tied: the one that explains more alone goes first.
    """
    monomials_of: dict[int, list[int]] = {}  # places, among the kept monomials, of those that hold a variable
    for place, monomial in enumerate(kept):
        for variable in set(factors[monomial]):
            monomials_of.setdefault(variable, []).append(place)
    loss = np.full(correlations2.size, np.nan)
    for variable, places in monomials_of.items():
        loss[variable] = model.rss_increase_without(np.array(places)) / np.square(model.Y).sum()
    scores = Ranking.from_scores(loss, rounding=TIE.float64).scores
    rank_alone = {int(j): rank for rank, j in enumerate(Ranking.from_scores(correlations2, rounding=TIE.float64).order)}
    selected = sorted(monomials_of, key=lambda j: (-scores[j], rank_alone[j]))
    by_first_monomial = [j for monomial in factors for j in sorted(set(monomial), key=rank_alone.__getitem__)]
    others = dict.fromkeys(j for j in by_first_monomial if j not in monomials_of)
    order = [*selected, *others]
    scores[list(others)] = 0.0
    path = [Step(j, float(scores[j]), {"n_monomials": len(monomials_of.get(j, ()))}) for j in order]
    return Ranking(np.array(order, dtype=np.int64), scores, tuple(path))
