"""Grafting: forward selection by the gradient of a penalized loss."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval, StrOptions
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranking, StopDecision, StoppingRule, WeightedRanker, track
from tamis.kernels.arrays.targets import encode_target
from tamis.kernels.solvers.losses import LOSSES
from tamis.rank.forward._grafting_problem import GraftingProblem
from tamis.rank.forward._grafting_search import Graft, GraftingSearch

_AUTO = 0.1  # share of alpha_max at which stop="auto" selects
_PATH = np.geomspace(1.0, 1e-3, 101)[1:]  # shares of alpha_max along which features are ranked


class Grafting(WeightedRanker):
    r"""Rank features by when they enter a sparse linear model, each where the loss falls fastest.

    .. math:: C(w, b) = \frac{1}{m} \sum_i L(w^\top x_i + b, y_i)
              + l_2 \|w\|_2^2 + \alpha \|w\|_1 + l_0 \|w\|_0

    (Lal et al. 2006, Eq. 12). The weight with the largest :math:`|\partial C / \partial w_j|` enters, C is minimized
    over all that are in, some of which may leave again, and so on: until no derivative of the loss exceeds
    :math:`\alpha`, which without :math:`l_0` is the minimum of C over all features.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that have a weight in the minimum of C.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    loss : {"auto", "logistic", "squared", "squared_hinge"}, default="auto"
        :math:`\log(1 + e^{-yf})`, :math:`\frac{1}{2} (f - y)^2` or :math:`\max(0, 1 - yf)^2`, where classes are
        :math:`y = \pm 1`. "auto" is logistic for classes and squared for a quantity.
    alpha : float, "path" or "auto", default="auto"
        Weight of the l1 term. "path" lowers it by steps of 7 %, from ``alpha_max``, the smallest at which all weights
        are zero, to a thousandth of that or until as many features have entered as ``stop`` asks for; features rank by
        when they first entered. "auto" is a tenth of ``alpha_max`` with ``stop="auto"``, and the path where ``stop``
        says how many to keep.
    l2 : float, default=0.0
        Weight of the squared norm; there is no factor of one half.
    l0 : float, default=0.0
        Price of each weight, in the unit of the loss, which is that of y squared for a quantity: one enters only if
        that lowers the rest of C by more, and leaves if it pays less.
    tol : float, default=1e-10
        Largest violation of the conditions for a minimum, relative to ``alpha_max``.
    max_iter : int, default=10000
        Weights that enter, at most.
    step : int or "auto", default="auto"
        Weights that enter before C is minimized again, those with the largest derivatives, and are ranked by these:
        more is faster where many are to be selected, and ranks them more coarsely. The minimum is the same. "auto" is
        a tenth of the weights that are in, so that the first twenty enter one at a time; 1 is the paper's. With ``l0``
        it is always one.
    standardize : bool, default=True
        Penalize weights of columns of unit variance, so that units do not matter.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together. The
        penalty is that of single weights, so that the minimum is the same; a group is ranked by the first of its
        weights that enters.

    Attributes
    ----------
    order_ : ndarray
        Features with a weight, by when it entered for good; along a path, all that entered, by when they first did.
        Weights that entered together, by the size of their derivative.
    scores_ : ndarray of shape (n_features,)
        Size of the derivative of the loss when the feature entered; NaN if it is not ranked.
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features) for classes
        Weights in the units of ``X``: the minimum of C over the selected features.
    intercept_ : float, or ndarray of shape (n_targets,) for classes
    estimator_ : LinearModel
        The same model for transformed tables: ``decision_function`` and ``predict``.
    n_iter_ : int
        Weights that entered.
    alpha_, alpha_max_ : float
        The alpha of the model, and the smallest at which all weights are zero.
    classes_ : ndarray
        Labels, for classification.
    ranking_, support_, path_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter``, ``objective``, ``kkt`` (largest violation of the conditions
        for a minimum over all features; over those with a weight, with ``l0``), and ``gap``, a bound on how far the
        objective is from the minimum (with a penalty, but without ``l0``).

    Notes
    -----
    Cost: one product of ``X`` with a vector per minimization, and some Newton steps over the weights that are in, of
    O(m k + k^3 / 3) for k of them. The Hessian grows with the weights that enter and is computed anew, O(m k^2), only
    where steps by the one at hand have become poor; for the squared loss it is always the right one. Sparse tables stay
    sparse (columns are centered implicitly, which the intercept makes up for); only columns that are in are held,
    dense. With ``l0`` every weight whose derivative exceeds alpha is tried before the search ends, one minimization
    each, and this at every alpha of a path; then no single weight that enters or leaves lowers C.

    More than two classes are each set against the others, and C is the sum of their objectives: what is grafted is
    the weight of a feature for a class, and a feature is ranked by the first of its weights.

    With weights of the rows the mean of the losses, and the variances of columns of unit variance, are weighted.

    ``alpha`` is the lasso's in scikit-learn, and one over (m C) for its l1 logistic regression and linear SVM. If
    ``stop`` keeps fewer features than have a weight, C is minimized again over these, without ``l0``.

    Deviations from the paper: the l2 term is squared, as in the original; its weighted norms are left out; the search
    ends at the minimum of C, with every feature checked.

    References
    ----------
    Perkins, Lacker and Theiler, "Grafting: fast, incremental feature selection by gradient descent in function space",
    JMLR 3, 2003. Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006,
    Sec. 2.2.

    Examples
    --------
    >>> from tamis import Grafting
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> selector = Grafting(stop=5).fit(X, y)
    >>> sorted(selector.order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    one_shot: ClassVar[bool] = False
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {"groups", "own_choice", "sparse"}
    natural_stop: ClassVar = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "loss": [StrOptions({"auto", *LOSSES})],
        "alpha": [StrOptions({"auto", "path"}), Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "l0": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "step": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        loss: str = "auto",
        alpha: float | str = "auto",
        l2: float = 0.0,
        l0: float = 0.0,
        tol: float = 1e-10,
        max_iter: int = 10_000,
        step: int | str = "auto",
        standardize: bool = True,
        task: str = "auto",
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.loss = loss
        self.alpha = alpha
        self.l2 = l2
        self.l0 = l0
        self.tol = tol
        self.max_iter = max_iter
        self.step = step
        self.standardize = standardize
        self.task = task
        self.groups = groups

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        return self._rank_top(candidates, y, rng, None)

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        self._grafted = self._problem(candidates, y)
        return self._graft(self._grafted, candidates, n_top)

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        """Graft, stop, and fit the model on what is kept."""
        ranking, decision = super()._select(candidates, y, rule)
        kept = (decision.ranking or ranking).order[: decision.n_features]
        self._keep_model(self._grafted, np.sort(candidates.columns_of(kept)))
        del self._grafted
        return ranking, decision

    def _reason(self, n_kept: int, noun: str) -> str:
        plural = f"{noun}s that have" if n_kept > 1 else f"{noun} that has"
        words = f"the {n_kept} {plural} a weight" if n_kept else f"no {noun} has a weight"
        share = f" ({self.alpha_ / self.alpha_max_:.2g} of the smallest that leaves none)" if self.alpha_max_ else ""
        return f"{words} at alpha = {self.alpha_:.4g}{share}"

    def _problem(self, candidates: Candidates, y: np.ndarray | None) -> GraftingProblem:
        target = encode_target(np.asarray(y), self.task)
        if target.classes is None and self.loss not in ("auto", "squared"):
            raise ValueError(
                f"loss='{self.loss}' is for classes, but y holds quantities; use loss='squared' or "
                "task='classification'"
            )
        loss = self.loss if self.loss != "auto" else "squared" if target.classes is None else "logistic"
        weights = {"l2": self.l2, "l0": self.l0}
        return GraftingProblem(
            candidates.table,
            target,
            loss,
            **weights,
            tol=self.tol,
            step=self.step,
            standardize=self.standardize,
            weight=candidates.sample_weight,
        )

    def _graft(self, problem: GraftingProblem, candidates: Candidates, n_top: int | None) -> Ranking:
        """Rank by when the first weight entered: for good at one alpha, for the first time along a path."""
        search = problem.search
        is_own_choice = n_top is None and self._method_sets_size()
        by_path = self.alpha == "path" or (self.alpha == "auto" and not is_own_choice)
        if by_path:
            grafts = _follow_path(search, candidates, n_top)
        else:
            alpha = search.alpha_max * _AUTO if self.alpha == "auto" else float(self.alpha) / problem.unit
            grafts = search.descend(alpha)
        entered = list(track(self, islice(grafts, self.max_iter), task_name="graft"))
        first = _first_of_each(entered if by_path else _last_of_each(entered, search), candidates)
        self.alpha_, self.alpha_max_ = search.alpha * problem.unit, search.alpha_max * problem.unit
        path = [replace(problem.describe(graft), feature=candidate) for candidate, graft in first.items()]
        ranking = Ranking.from_path(path, candidates.n_candidates, self._certify(problem, len(entered)))
        return replace(ranking, n_chosen=len(path), reason=self._reason(len(path), candidates.noun))

    def _certify(self, problem: GraftingProblem, n_iter: int) -> dict[str, Any]:
        """How far from the minimum the search has ended, with a warning if it should have gone on."""
        search, unit = problem.search, problem.unit
        is_cut_short = n_iter == self.max_iter and not search.has_ended
        converged = search.has_ended and search.kkt_violation() <= search.tol
        if is_cut_short or (search.has_ended and not converged):
            warnings.warn(
                f"Grafting ended with a violation of {search.kkt_violation() / search.tol * self.tol:.3g} of alpha_max "
                f"after {n_iter} weights had entered; raise max_iter={self.max_iter} or tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        found = {"kkt": search.kkt_violation() * unit, "objective": search.objective() * unit * unit}
        if self.l0 == 0 and max(search.alpha, self.l2) > 0:
            found["gap"] = search.duality_gap() * unit * unit
        self.n_iter_ = n_iter
        return {"converged": bool(converged), "n_iter": n_iter, **found}

    def _keep_model(self, problem: GraftingProblem, kept: np.ndarray) -> None:
        """The minimum over the selected features, as fitted attributes."""
        model = problem.model(kept)
        self.estimator_ = model
        self.coef_, self.intercept_ = model.coefficients(len(problem.search.gradient))
        if model.classes is not None:
            self.classes_ = model.classes


def _follow_path(search: GraftingSearch, candidates: Candidates, n_top: int | None) -> Iterator[Graft]:
    """Graft while alpha falls, until weights of ``n_top`` candidates have entered."""
    found: set[int] = set()
    for alpha in search.alpha_max * _PATH:
        for graft in search.descend(float(alpha)):
            found.add(candidates.candidate_of(graft.feature))
            yield graft
        if n_top is not None and len(found) >= n_top:
            return


def _last_of_each(entered: list[Graft], search: GraftingSearch) -> list[Graft]:
    """Grafts of the weights that are active at the end, by when they entered for good."""
    last: dict[tuple[int, int], Graft] = {}
    for graft in filter(search.is_active, entered):
        last.pop((graft.feature, graft.target), None)  # so that it comes after those that never left
        last[graft.feature, graft.target] = graft
    return list(last.values())


def _first_of_each(grafts: list[Graft], candidates: Candidates) -> dict[int, Graft]:
    """The first graft of every candidate, in their order."""
    first: dict[int, Graft] = {}
    for graft in grafts:
        first.setdefault(candidates.candidate_of(graft.feature), graft)
    return first
