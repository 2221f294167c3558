"""The contract: a ranker orders features, a stopping rule cuts the order, and any pair that fits works together."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import (
    HasMethods,
    Interval,
    RealNotInt,
    check_same_namespace,
    fit_context,
    get_namespace,
    get_namespace_and_device,
    is_numpy_namespace,
    move_to,
    safe_indexing,
)
from tamis.base._validation import (
    check_array_library,
    check_not_all_constant,
    check_table,
    check_weights,
    column_name,
    drop_weightless,
)

__all__ = [
    "Ranker",
    "Ranking",
    "SequentialRanker",
    "Step",
    "StopDecision",
    "StoppingRule",
    "finish",
    "fresh",
    "rule_class",
    "rule_names",
    "track",
    "weight_argument",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One step of a sequential ranker: the feature decided on, its criterion then, and what else is known."""

    feature: int
    criterion: float
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ranking:
    """What a ranker found.

    Attributes
    ----------
    order : ndarray
        Feature indices, best first; may end early (a lasso's support).
    scores : ndarray of shape (n_features,)
        Higher is always better; NaN where the method gives none. One-shot methods sort by them; in sequential ones
        they are the criterion at the time the feature was decided on.
    path : tuple of Step
        What happened at each step.
    certificate : mapping
        How we know that it converged.
    """

    order: np.ndarray
    scores: np.ndarray
    path: tuple[Step, ...] = ()
    certificate: Mapping[str, Any] = field(default_factory=lambda: {"converged": True})

    @classmethod
    def from_scores(cls, scores: np.ndarray, *, rounding: float = 1e-12) -> Ranking:
        """Sort by score, best first; ties go to the lowest index, features without a score are not ranked.

        Scores that differ by less than ``rounding``, relatively, are ties and made equal: a duplicated column must not
        win by the last bit of a sum.
        """
        order = np.argsort(-np.asarray(scores), kind="stable")
        ranked = order[: np.count_nonzero(~np.isnan(scores))]
        ordered = np.asarray(scores, dtype=float)[ranked]
        with np.errstate(invalid="ignore"):
            starts = np.flatnonzero(np.diff(ordered, prepend=np.inf) < -rounding * np.abs(ordered))
        settled = np.array(scores, dtype=float)
        if ranked.size:
            starts = np.union1d([0], starts)
            settled[ranked] = np.repeat(ordered[starts], np.diff(starts, append=ranked.size))
        return cls(np.argsort(-settled, kind="stable")[: ranked.size], settled)


@dataclass(frozen=True)
class StopDecision:
    """How many features to keep, and why.

    Attributes
    ----------
    n_features : int
    reason : str
        For people.
    curve : ndarray
        The figure that the rule looked at, at each of ``curve_at``.
    curve_at : ndarray
        Number of features that each entry of ``curve`` speaks of.
    spread : ndarray or None
        Standard error of ``curve``, where it is an estimate.
    threshold : float or None
        What the curve was held against.
    label : str
        What the curve shows, for axes and table heads.
    ranking : Ranking or None
        Replaces the ranker's own, where the rule ranked many times and so knows a steadier order.
    """

    n_features: int
    reason: str
    curve: np.ndarray = field(default_factory=lambda: np.empty(0))
    curve_at: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    spread: np.ndarray | None = None
    threshold: float | None = None
    label: str = ""
    ranking: Ranking | None = None


class StoppingRule(BaseEstimator):
    """Decides how much of a ranking to keep.

    A rule that works along a sequential ranker's path may end it early through :meth:`enough` or :meth:`most`.
    """

    requires: ClassVar[frozenset[str]] = frozenset()
    _registry: ClassVar[dict[str, type[StoppingRule]]] = {}
    _parameter_constraints: ClassVar[dict] = {}

    def __init_subclass__(cls, name: str | None = None) -> None:
        super().__init_subclass__()
        if name is not None:
            StoppingRule._registry[name] = cls

    @abstractmethod
    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        X: Any,
        y: np.ndarray | None,
        rng: np.random.RandomState,
        sample_weight: np.ndarray | None = None,
    ) -> StopDecision:
        """Cut ``ranking``, which ``ranker`` found on ``(X, y)``."""

    def check(self, ranker: Ranker, n_candidates: int) -> None:
        """Refuse bad parameters, and rankers that lack what the rule needs, before any work is done."""
        self._validate_params()
        if missing := self.requires - ranker.provides:
            others = "MonteCarloProbe or CrossValidation" if ranker.supervised else "FITPlateau or IntrinsicDimension"
            raise ValueError(
                f"{type(self).__name__} needs a ranker that provides {', '.join(sorted(missing))}, which "
                f"{type(ranker).__name__} does not; use {others}, which work with any ranker"
            )

    def most(self, n_candidates: int) -> int | None:
        """Upper bound on how many features can be kept, if known beforehand."""
        return None

    def enough(self, path: Sequence[Step]) -> bool:
        """Whether the steps so far settle the decision."""
        return False


def rule_names() -> list[str]:
    """Names by which ``stop=`` finds the rules."""
    importlib.import_module("tamis.stop")  # fills the registry; not at the top, for rules import this module
    return sorted(StoppingRule._registry)


def rule_class(name: str) -> type[StoppingRule]:
    """The rule of that name."""
    known = rule_names()
    if name not in known:
        raise ValueError(f"stop='{name}' is no stopping rule; choose 'auto' or one of {', '.join(known)}")
    return StoppingRule._registry[name]


class Ranker(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Base of every method: ``fit`` = validate, rank, stop, fitted attributes. A method writes :meth:`_rank`.

    Class attributes say what a method is: ``supervised``, ``one_shot`` (its order sorts its scores), ``nested`` (the
    features kept at k are kept at k + 1), ``provides`` (what rules may require of it), ``accepts`` (kinds of input
    besides dense numpy: "sparse", "array_api", "dask"), ``natural_stop`` (name and parameters of the rule behind
    ``stop="auto"``).
    """

    supervised: ClassVar[bool] = True
    one_shot: ClassVar[bool] = True
    nested: ClassVar[bool] = True
    provides: ClassVar[frozenset[str]] = frozenset()
    accepts: ClassVar[frozenset[str]] = frozenset()
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("top-k", {"n_features": 0.5})

    _parameter_constraints: ClassVar[dict] = {
        "stop": [
            str,
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            HasMethods("decide"),
        ],
    }

    @abstractmethod
    def _rank(self, X: Any, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        """Rank the validated columns of ``X``: the one hook that a method writes.

        A method whose ``fit`` takes ``sample_weight`` adds it here as a last argument that defaults to None.
        """

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Ranker:
        """Rank the features of ``X`` and decide how many to keep.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Target; ignored by unsupervised methods.

        Returns
        -------
        self
        """
        return self._fit(X, y, None)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Ranker:
        self._forget()
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        X, y, sample_weight = self._validate(X, y, sample_weight)
        rule = self._stopping_rule()
        rule.check(self, self._n_candidates(X))
        ranking, decision = self._select(X, y, sample_weight, rule)
        self._store(X, decision.ranking or ranking, decision)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        """What came in as the method wants it, or an error that says what to do."""
        check_array_library(self, X, self.accepts)
        accept_sparse = "sparse" in self.accepts
        if self.supervised:
            X, y = check_table(self, X, y, accept_sparse=accept_sparse)
        else:  # the method looks at X alone, but a rule such as cross-validation may want y
            X, _ = check_table(self, X, accept_sparse=accept_sparse)
        X, y, sample_weight = drop_weightless(X, y, check_weights(sample_weight, X))
        check_not_all_constant(X)
        return X, y, sample_weight

    def _forget(self) -> None:
        """Drop what an earlier fit found."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _select(
        self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None, rule: StoppingRule
    ) -> tuple[Ranking, StopDecision]:
        """Rank, then stop."""
        ranking = self._rank(X, y, self._rng(), **weight_argument(sample_weight))
        return ranking, rule.decide(self, ranking, X, y, self._rule_rng(rule), sample_weight)

    def _rng(self) -> np.random.RandomState:
        return check_random_state(getattr(self, "random_state", None))

    def _rule_rng(self, rule: StoppingRule) -> np.random.RandomState:
        """The rule's own seed, else the ranker's, else 0: a selection can be repeated by default."""
        seeds = (getattr(rule, "random_state", None), getattr(self, "random_state", None), 0)
        return check_random_state(next(seed for seed in seeds if seed is not None))

    def _n_candidates(self, X: Any) -> int:
        return X.shape[1]

    def _features(self, X: Any, indices: np.ndarray) -> Any:
        """The given features of a validated table."""
        return safe_indexing(X, indices, axis=1)

    def _candidate_order(self) -> np.ndarray:
        """Candidates best first, after ``fit``: what :meth:`_features` may be asked for."""
        return np.asarray(move_to(self.order_, xp=np, device="cpu"))

    def _among_copies(self, place: np.ndarray) -> Ranker:
        """A fresh ranker for a table of all columns and as many copies of them, put in the order ``place``."""
        return fresh(self, stop=None)

    def _standing(self, place: np.ndarray, fitted: Any) -> np.ndarray:
        """What such a ranker found: a value per candidate and per copy, higher is better, NaN where there is none."""
        value = np.empty(place.size)
        found = fitted.scores_ if self.one_shot else -fitted.ranking_
        value[place] = move_to(found, xp=np, device="cpu")
        return value

    def name_features(self, names: Sequence[str]) -> Ranker:
        """Name the columns of tables that carry no names, such as sparse ones: reasons and errors speak of them.

        Parameters
        ----------
        names : sequence of str
            One per column.

        Returns
        -------
        self
        """
        self._feature_names = list(names)
        return self

    def _feature_name(self, j: int) -> str:
        """What people call feature ``j``."""
        return column_name(self, j)

    def _stopping_rule(self) -> StoppingRule:
        """The rule behind ``stop``, whatever way it was given."""
        stop = self.stop  # type: ignore[attr-defined]
        if stop is None:
            return rule_class("top-k")(n_features=None)
        if isinstance(stop, str):
            name, parameters = self.natural_stop if stop == "auto" else (stop, {})
            return rule_class(name)(**parameters)
        if isinstance(stop, type):
            raise ValueError(f"stop={stop.__name__} is a class; give an instance: stop={stop.__name__}()")
        if isinstance(stop, Real):
            return rule_class("top-k")(n_features=stop)
        return stop

    def _store(self, X: Any, ranking: Ranking, decision: StopDecision) -> None:
        """Set the fitted attributes; arrays follow ``X`` to its namespace and device."""
        rank = np.full(ranking.scores.size, ranking.order.size + 1)
        rank[ranking.order] = np.arange(1, ranking.order.size + 1)
        support = np.zeros(ranking.scores.size, dtype=bool)
        support[ranking.order[: decision.n_features]] = True
        xp, _, device = get_namespace_and_device(X)
        scores = ranking.scores
        if X.dtype == xp.float32:
            scores = scores.astype(np.float32)
        arrays = {"scores_": scores, "order_": ranking.order, "ranking_": rank, "support_": support}
        for name, values in arrays.items():
            setattr(self, name, values if is_numpy_namespace(xp) else move_to(values, xp=xp, device=device))
        self.path_ = ranking.path
        self.stop_ = decision
        self.certificate_ = dict(ranking.certificate)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(move_to(self.support_, xp=np, device="cpu"))

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of ``X``.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        table of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        if "array_api" in self.accepts:
            check_same_namespace(X, self, attribute="scores_", method="transform")
        return super().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Put the selected columns back in their places, with zeros where others were.

        Parameters
        ----------
        X : table of shape (n_samples, n_selected)

        Returns
        -------
        table of shape (n_samples, n_features)
        """
        xp, is_array_api = get_namespace(X)
        if not is_array_api or is_numpy_namespace(xp):
            return super().inverse_transform(X)
        place = np.flatnonzero(self._get_support_mask())
        full = xp.zeros((X.shape[0], self.support_.shape[0]), dtype=X.dtype, device=X.device)
        for source, target in enumerate(place.tolist()):
            full[:, target] = X[:, source]
        return full

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.supervised
        tags.input_tags.sparse = "sparse" in self.accepts
        tags.array_api_support = "array_api" in self.accepts
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SequentialRanker(Ranker):
    """Base of methods that decide on one feature after another; a method writes :meth:`_steps`.

    The rule in force is asked after each step whether it has seen enough, so that a long path ends early.
    """

    one_shot: ClassVar[bool] = False

    @abstractmethod
    def _steps(self, X: Any, y: np.ndarray | None, rng: np.random.RandomState, limit: int | None) -> Iterator[Step]:
        """Yield steps, best feature first; at most ``limit`` of them will be used, if it is known."""

    def _certificate(self, path: Sequence[Step]) -> dict[str, Any]:
        """How we know that the path is right."""
        return {"converged": True, "n_iter": len(path)}

    def _retrace(
        self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None, order: np.ndarray
    ) -> tuple[Step, ...]:
        """The path along another order than the method's own, where that makes sense."""
        return ()

    def _rank(self, X: Any, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        return self._ranking(X, list(self._steps(X, y, rng, None)))

    def _select(
        self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None, rule: StoppingRule
    ) -> tuple[Ranking, StopDecision]:
        """Rank until the rule has seen enough."""
        limit = rule.most(self._n_candidates(X))
        steps = self._steps(X, y, self._rng(), limit, **weight_argument(sample_weight))
        return self._follow(steps, limit, X, y, sample_weight, rule)

    def _follow(
        self,
        steps: Iterator[Step],
        limit: int | None,
        X: Any,
        y: np.ndarray | None,
        sample_weight: np.ndarray | None,
        rule: StoppingRule,
    ) -> tuple[Ranking, StopDecision]:
        """Take steps until the rule has seen enough, and more while it keeps all that was ranked."""
        watched = track(self, steps, task_name="rank", total=limit)
        path: list[Step] = []
        enough = rule.enough
        while True:
            exhausted = _extend(path, watched, limit, enough)
            ranking = self._ranking(X, path)
            decision = rule.decide(self, ranking, X, y, self._rule_rng(rule), sample_weight)
            if exhausted or decision.n_features < len(path):
                break
            enough = partial(_is_twice, len(path))
        watched.close()
        if decision.ranking is not None:
            order = decision.ranking.order[: decision.n_features]
            path_along = self._retrace(X, y, sample_weight, order)
            decision = replace(decision, ranking=replace(decision.ranking, path=path_along))
        return ranking, decision

    def _ranking(self, X: Any, path: Sequence[Step]) -> Ranking:
        scores = np.full(self._n_candidates(X), np.nan)
        order = np.array([step.feature for step in path], dtype=np.int64)
        scores[order] = [step.criterion for step in path]
        return Ranking(order, scores, tuple(path), self._certificate(path))


def _extend(
    path: list[Step], steps: Iterator[Step], limit: int | None, enough: Callable[[Sequence[Step]], bool]
) -> bool:
    """Add steps until there are enough; True if there are no more to come."""
    for step in steps:
        path.append(step)
        if len(path) == limit:
            return True
        if enough(path):
            return False
    return True


def _is_twice(n_steps: int, path: Sequence[Step]) -> bool:
    return len(path) >= 2 * n_steps


def weight_argument(sample_weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """Keyword argument for methods that take weights; nothing where none are given."""
    return {} if sample_weight is None else {"sample_weight": sample_weight}


R = TypeVar("R", bound=Ranker)


def fresh(ranker: R, **parameters: Any) -> R:
    """An unfitted copy with other parameters and no callbacks: what folds, draws and sub-problems are given.

    It keeps no checkpoint either: a file can tell of one run only.
    """
    copy = clone(ranker).set_params(**parameters)
    if "checkpoint" in copy.get_params(deep=False):
        copy.set_params(checkpoint=None)
    copy.set_callbacks()
    return copy


def finish(results: Iterable[Any]) -> None:
    """Let parallel work that nobody waits for come to its end, so that none is torn down half-way."""
    for _ in results:
        pass


def track(ranker: Ranker, items: Iterable[T], *, task_name: str, total: int | None = None) -> Generator[T, None, None]:
    """Report progress over ``items`` to the callbacks of a ranker that is being fitted; a callback may end the loop."""
    root = getattr(ranker, "_callback_fit_ctx", None)
    if root is None or not getattr(ranker, "_skl_callbacks", None):
        yield from items
        return
    task = root.subcontext(task_name=task_name, max_subtasks=total)
    task.call_on_fit_task_begin(estimator=ranker)
    try:
        for item in items:
            leaf = task.subcontext(task_name=f"{task_name} step")
            leaf.call_on_fit_task_begin(estimator=ranker)
            try:
                yield item
            finally:
                asked_to_stop = leaf.call_on_fit_task_end(estimator=ranker)
            if asked_to_stop:
                break
    finally:
        task.call_on_fit_task_end(estimator=ranker)
