"""The base of every method: validate, rank, stop, fitted attributes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
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
)
from tamis.base._candidates import Candidates, ColumnCandidates, GroupCandidates
from tamis.base._progress import interruption, note_interruption
from tamis.base._ranking import Ranking, StopDecision
from tamis.base._rules import StoppingRule, rule_class
from tamis.base._validation import (
    check_array_library,
    check_not_all_constant,
    check_table,
    check_weights,
    column_name,
    drop_weightless,
    known_names,
)

# What a method may provide. Rules, checks, docs and the command line read it from the class.
CAPABILITIES: Mapping[str, str] = {
    "nested": "the features kept at k are kept at k + 1",
    "nested_linear": "every step extends a least-squares model: rules find its degrees of freedom in Step.info",
    "own_choice": "Ranking.n_chosen says how many features the method itself would keep",
    "probability": "scores are a probability over the features",
    "sample_weight": "fit takes weights of the rows",
    "groups": "groups of columns can be ranked",
    "dictionary": "features that a dictionary computes can be ranked",
    "sparse": "takes sparse tables as they are",
    "array_api": "works where an array of another library lives",
    "dask": "takes dask collections, block by block",
}


class Ranker(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Base of every method: ``fit`` = validate, rank, stop, fitted attributes. A method writes :meth:`_rank`.

    Class attributes say what a method is: ``supervised``, ``one_shot`` (its order sorts its scores), ``provides``
    (names of :data:`CAPABILITIES`), ``natural_stop`` (name and parameters of the rule behind ``stop="auto"``).
    """

    supervised: ClassVar[bool] = True
    one_shot: ClassVar[bool] = True
    provides: ClassVar[frozenset[str]] = frozenset({"nested"})
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("top-k", {"n_features": 0.5})

    _kept_rows: np.ndarray | None = None  # of the table given to fit: those of a weight above zero

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
    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        """Rank the candidates: the one hook that a method writes.

        ``candidates.table`` is the validated table. A method that provides "groups" ranks ``candidates.n_candidates``
        things, whose columns are ``candidates.members``; any other ranks columns.
        """

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        """Rank where only the best ``n_top`` are asked for (None: all).

        Methods override it that can then save work, or whose sets are not nested.
        """
        return self._rank(candidates, y, rng)

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
        self._reset()
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        try:
            X, y, sample_weight = self._validate(X, y, sample_weight)
            self._fit_candidates(self._make_candidates(X, y, sample_weight), y, self._stopping_rule())
        except KeyboardInterrupt:
            self._reset()  # unfitted, rather than fitted in part
            raise
        finally:
            for name in ("_kept_rows", "_interruption"):
                if name in vars(self):
                    delattr(self, name)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _reset(self) -> None:
        """Drop what an earlier fit found."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        """What came in as the method wants it, or an error that says what to do."""
        check_array_library(self, X, self.provides)
        accept_sparse = "sparse" in self.provides
        if self.supervised:
            X, y = check_table(self, X, y, accept_sparse=accept_sparse)
        else:  # the method looks at X alone, but a rule such as cross-validation may want y
            X, _ = check_table(self, X, accept_sparse=accept_sparse)
        sample_weight = check_weights(sample_weight, X)
        self._kept_rows = None if sample_weight is None else np.flatnonzero(sample_weight)
        X, y, sample_weight = drop_weightless(X, y, sample_weight)
        check_not_all_constant(X)
        return X, y, sample_weight

    def _make_candidates(self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None) -> Candidates:
        """What there is to rank in a validated table: its columns, or groups of them."""
        names = known_names(self)
        if "groups" in self.provides and self.groups is not None:  # type: ignore[attr-defined]
            groups = self.groups  # type: ignore[attr-defined]
            return GroupCandidates(X, groups, sample_weight=sample_weight, column_names=names)
        return ColumnCandidates(X, sample_weight=sample_weight, column_names=names)

    def _fit_candidates(
        self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule
    ) -> tuple[Ranking, StopDecision]:
        """Rank and cut them, set the fitted attributes, and tell what was found."""
        rule.check(self, candidates)
        ranking, decision = self._select(candidates, y, rule)
        ranking = decision.ranking or ranking
        if words := interruption(self):
            unfinished = {**ranking.certificate, "converged": False, "interrupted": True}
            ranking = replace(ranking, certificate=unfinished)
            decision = replace(decision, reason=f"{decision.reason}; {words}")
            warnings.warn(f"{type(self).__name__} was {words}", ConvergenceWarning, stacklevel=4)
        self._store(candidates, ranking, decision)
        return ranking, decision

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        """Rank, then stop."""
        n_top = rule.most(candidates.n_candidates)
        ranking = self._rank_top(candidates, y, self._rng(), n_top)
        decision = self._decide(rule, ranking, candidates, y)
        is_final = n_top is not None or decision.n_features == ranking.n_chosen or bool(interruption(self))
        return ranking, decision if is_final else self._rerank_at_chosen_size(candidates, y, decision)

    def _decide(
        self, rule: StoppingRule, ranking: Ranking, candidates: Candidates, y: np.ndarray | None
    ) -> StopDecision:
        """What the rule says; after Ctrl-C all that is ranked stays, unless the rule can tell from the ranking alone.

        A probe with too few draws, or a curve without its end, would promise what it cannot keep.
        """
        name, n_ranked = type(rule).__name__, ranking.order.size
        undecided = StopDecision(n_ranked, f"all {n_ranked} ranked {candidates.noun}s stay, for {name} has not decided")
        if interruption(self) and not rule.reads_ranking_only:
            return undecided
        try:
            return rule.decide(self, ranking, candidates, y, self._rule_rng(rule))
        except KeyboardInterrupt:
            if not note_interruption(self, f"interrupted before {name} could decide"):
                raise
            return undecided

    def _rerank_at_chosen_size(
        self, candidates: Candidates, y: np.ndarray | None, decision: StopDecision
    ) -> StopDecision:
        """A decision on the whole order, with the set that the method selects at the size decided on."""
        if "nested" in self.provides or decision.ranking is not None or decision.n_features == 0:
            return decision
        return replace(decision, ranking=self._rank_top(candidates, y, self._rng(), decision.n_features))

    def rank_top(self, candidates: Candidates, y: np.ndarray | None, n_top: int | None) -> Ranking:
        """A ranking by a fresh copy of this ranker: what rules use in folds, draws and at several numbers of features.

        Parameters
        ----------
        candidates : Candidates
        y : ndarray or None
        n_top : int or None
            How many the method should select; None puts all in order.
        """
        check_not_all_constant(candidates.table)
        rule = rule_class("top-k")(n_features=n_top)
        ranking, decision = fresh(self, stop=n_top)._select(candidates, y, rule)
        return decision.ranking or ranking

    def _rng(self) -> np.random.RandomState:
        return check_random_state(self.get_params(deep=False).get("random_state"))

    def _rule_rng(self, rule: StoppingRule) -> np.random.RandomState:
        """The rule's own seed, else the ranker's, else 0: a selection can be repeated by default."""
        seeds = (one.get_params(deep=False).get("random_state") for one in (rule, self))
        return check_random_state(next((seed for seed in seeds if seed is not None), 0))

    def _method_sets_size(self) -> bool:
        """Whether the rule in force leaves the number of features to the method."""
        return isinstance(self._stopping_rule(), rule_class("own-choice"))

    def ranks_columns(self) -> bool:
        """Whether columns of X are ranked, by themselves or in groups, and not features of a dictionary."""
        return self.get_params(deep=False).get("dictionary") is None

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

    def feature_name(self, j: int) -> str:
        """What people call feature ``j`` of ``support_``, after ``fit``."""
        return column_name(self, j)

    def _stopping_rule(self) -> StoppingRule:
        """The rule behind ``stop``, whatever way it was given."""
        stop = self.stop  # type: ignore[attr-defined]
        if stop is None:
            return rule_class("top-k")(n_features=None)
        if isinstance(stop, str):
            name, parameters = self.natural_stop if stop == "auto" else (stop, {})
            return rule_class(name)(**parameters)
        if isinstance(stop, bool):
            raise ValueError(f"stop={stop} is neither a rule nor a number; give how many features to keep, or 'auto'")
        if isinstance(stop, type):
            raise ValueError(f"stop={stop.__name__} is a class; give an instance: stop={stop.__name__}()")
        if isinstance(stop, Real):
            return rule_class("top-k")(n_features=stop)
        return stop

    def _store(self, candidates: Candidates, ranking: Ranking, decision: StopDecision) -> None:
        """Set the fitted attributes; arrays follow ``X`` to its namespace and device."""
        for name, value in candidates.fitted_attributes(ranking).items():
            setattr(self, name, value)
        ranking, decision = candidates.to_features(ranking, decision)
        support = np.zeros(ranking.scores.size, dtype=bool)
        support[ranking.order[: decision.n_features]] = True
        X = candidates.table
        xp, _, device = get_namespace_and_device(X)
        scores = ranking.scores
        if X.dtype == xp.float32:
            scores = scores.astype(np.float32)
        arrays = {"scores_": scores, "order_": ranking.order, "ranking_": ranking.ranks(), "support_": support}
        for name, values in arrays.items():
            setattr(self, name, values if is_numpy_namespace(xp) else move_to(values, xp=xp, device=device))
        self.n_features_ = decision.n_features
        self.n_features_in_ = X.shape[1]
        self.path_ = ranking.path
        self.stop_ = decision
        self.certificate_ = dict(ranking.certificate)
        if "own_choice" in self.provides:
            self.n_chosen_ = ranking.n_chosen

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
        if "array_api" in self.provides:
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
        tags.input_tags.sparse = "sparse" in self.provides
        tags.array_api_support = "array_api" in self.provides
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


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
