"""The base of every method: validate, rank, stop, fitted attributes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
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
    get_output_config,
    is_numpy_namespace,
    move_to,
)
from tamis.base._caller import caller_level
from tamis.base._candidates import Candidates, ColumnCandidates, GroupCandidates
from tamis.base._new_rows import check_kept_columns, check_rows_to_keep_columns_of
from tamis.base._nothing_kept import warn_of_nothing_kept
from tamis.base._progress import interruption, note_interruption
from tamis.base._ranking import Ranking, StopDecision
from tamis.base._raw_input import check_container
from tamis.base._refuse_weights import refuse_weights
from tamis.base._row_blocks import (
    gather_target,
    is_in_blocks,
    open_blocks,
    take_dask_columns,
    take_file_columns,
    watched,
)
from tamis.base._row_sample import draw_rows_of_blocks
from tamis.base._rules import StoppingRule, rule_class
from tamis.base._summary import as_frame, as_html, summary_columns
from tamis.base._target_values import check_classes_recur, check_explained_by, check_holds_classes
from tamis.base._tree_models import check_read_by_trees
from tamis.base._validation import (
    check_array_library,
    check_not_all_constant,
    check_row_groups,
    check_table,
    check_units,
    check_weights,
    column_name,
    drop_weightless,
    errors_that_name_columns,
    frame_library,
    known_names,
)
from tamis.engine import BlankedBlocks, FileTable, RowBlocks, is_dask
from tamis.kernels.arrays.columns import blank_columns
from tamis.kernels.arrays.scaling import may_lose_squares, rescale_columns, rescale_safely
from tamis.kernels.arrays.targets import describe_target, infer_task, looks_like_counts
from tamis.kernels.arrays.transfer import from_numpy

# What a method may provide. Rules, checks, docs and the command line read it from the class.
CAPABILITIES: Mapping[str, str] = {
    "nested": "the features kept at k are kept at k + 1",
    "nested_linear": "every step extends a least-squares model: rules find its degrees of freedom in Step.info",
    "own_choice": "Ranking.n_chosen says how many features the method itself would keep",
    "probability": "scores are a probability over the features",
    "biased_scores": "scores of noise depend on its kind: probes compare a feature's with those of its own copies",
    "conditional_weights": "weights of one model of all features say what each tells beyond the others",
    "sample_weight": "fit takes weights of the rows",
    "missing": "takes missing values (NaN) as they are",
    "several_targets": "the target may have several columns",
    "groups": "groups of columns can be ranked",
    "dictionary": "features that a dictionary computes can be ranked",
    "sparse": "takes sparse tables as they are",
    "array_api": "works where an array of another library lives",
    "row_blocks": "takes tables read in blocks of rows: files larger than memory, dask collections",
    "dask": "takes dask collections",
    "single_scores": "scores every candidate by itself, and permuted copies of all without ranking them",
}


class Ranker(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Base of every method: ``fit`` = validate, rank, stop, fitted attributes. A method writes :meth:`_rank`.

    Class attributes say what a method is: ``supervised``, ``tasks`` (what it can explain), ``one_shot`` (its order
    sorts its scores), ``provides`` (names of :data:`CAPABILITIES`), ``natural_stop`` (name and parameters of the rule
    behind ``stop="auto"``), ``units`` (what may be divided by a power of two where squares of values would be lost:
    each of the "columns" by its own, the "table" by one, or nothing, None, for the method sees to it; "refused", for
    the user's model cannot be relied on to do so; with a parameter ``standardize`` that is true, all but None are
    "columns").
    """

    supervised: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    one_shot: ClassVar[bool] = True
    provides: ClassVar[frozenset[str]] = frozenset({"nested"})
    # 19 draws are the fewest that can tell a risk of 5 %
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("monte-carlo-probe", {"n_draws": 19})

    units: ClassVar[str | None] = None

    keep: Any = None
    exclude: Any = None
    min_features: int | None = None

    stop_: StopDecision
    _forced_columns: frozenset[int] = frozenset()
    _excluded_columns: frozenset[int] = frozenset()
    _frame_library: str | None = None
    _loops: list[Any]
    _written_as: str = "{}"  # how people write a ranker where an estimator holds this one: "TableSelector({})"
    _group_noun: str = "group"  # what people call a group of columns
    _kept_rows: np.ndarray | None = None  # of the table given to fit: those of a weight above zero

    _parameter_constraints: ClassVar[dict] = {
        "stop": [
            str,
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            HasMethods("decide"),
        ],
        "keep": ["array-like", str, Integral, None],
        "exclude": ["array-like", str, Integral, None],
        "min_features": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self, *, stop: Any = "auto", keep: Any = None, exclude: Any = None, min_features: int | None = None
    ) -> None:
        self.stop = stop
        self.keep = keep
        self.exclude = exclude
        self.min_features = min_features

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

    def scores_of_permuted_copies(
        self, candidates: Candidates, y: np.ndarray | None, permutations: np.ndarray
    ) -> np.ndarray | None:
        """Scores of copies of all candidates whose rows are permuted, of shape (n_draws, n_candidates).

        They must be those that the method gives when it ranks the candidates among these copies, and may stay on the
        device of the table. One-shot methods may override it that score every candidate by itself; None: a rule has to
        rank them.

        Parameters
        ----------
        candidates : Candidates
        y : ndarray or None
        permutations : ndarray of shape (n_draws, n_samples)
            Row i of a copy is row ``permutations[b, i]`` of the table; the target and the weights stay in place.
        """
        return None

    def _reads_blocks(self) -> bool:
        """Whether these parameters allow tables that are read in blocks of rows."""
        return "row_blocks" in self.provides

    def scores_of_copies_in_blocks(
        self, candidates: Candidates, y: np.ndarray | None, seeds: Sequence[int]
    ) -> np.ndarray:
        """The same of a table read in blocks, within which rows are permuted; methods with "single_scores" have it.

        Parameters
        ----------
        candidates : Candidates
        y : ndarray or None
        seeds : sequence of int
            One for each draw.
        """
        raise NotImplementedError(f"{type(self).__name__} does not score candidates of tables in blocks one by one")

    def weighing_in_draws(self, among: Candidates, y: np.ndarray | None) -> Ranker:
        """A copy whose scores are the weights of one model of all candidates, 0 or NaN where a candidate has none.

        Methods with "conditional_weights" have it: a probe that keeps correlations compares these weights in every
        draw. A penalty that is not given is chosen for the candidates at hand, the features among their copies.
        """
        raise NotImplementedError(f"{type(self).__name__} has no model of all features")

    def spread_by_chance(self, candidates: Candidates) -> np.ndarray | None:
        """Standard deviations of the scores of permuted copies of every candidate, up to a common factor.

        Methods override it whose scores spread differently for candidates of different kinds: probes then compare
        scores in these units. None: all spread alike.
        """
        return None

    @refuse_weights
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, row_groups: Any = None) -> Ranker:
        """Rank the features of ``X`` and decide how many to keep.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Target; ignored by unsupervised methods.
        row_groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as those of one patient, for rules that split rows.

        Returns
        -------
        self
        """
        return self._fit(X, y, None, row_groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, row_groups: Any = None) -> Ranker:
        self._reset()
        self._interruption = ""  # what Ctrl-C has ended in this fit, in words
        self._loops = []  # that callbacks are told of at present
        context = self._init_callback_context(max_subtasks=self._n_tasks())
        context.call_on_fit_task_begin(estimator=self)
        try:
            row_groups = check_row_groups(row_groups, X)
            if library := frame_library(X):
                self._frame_library = library
            X, y, sample_weight = self._validate(X, y, sample_weight)
            self.task_ = self._find_task(y)
            if y is not None and (model := self._model_to_fit()) is not None:
                check_explained_by(model, np.asarray(y))
            if self.task_ == "classification":
                check_classes_recur(np.asarray(y))
            candidates = self._make_candidates(X, y, sample_weight)
            self._check_read_by_trees(candidates, y)
            if isinstance(candidates, GroupCandidates):
                candidates.noun = self._group_noun
            if row_groups is not None:
                candidates.row_groups = row_groups if self._kept_rows is None else row_groups[self._kept_rows]
                self._check_splits_rows()
            self._set_apart(candidates)
            with watched(self, X) if isinstance(X, RowBlocks) else nullcontext():
                self._fit_candidates(candidates, y, self._stopping_rule())
            self._tell_of_target(y)
            if self.n_features_ == 0 and self.supervised and "interrupted" not in self.certificate_:
                warn_of_nothing_kept(self, candidates, np.asarray(y))
        except KeyboardInterrupt:
            self._reset()  # unfitted, rather than fitted in part
            raise
        finally:
            for name in ("_kept_rows", "_interruption", "_loops"):
                if name in vars(self):
                    delattr(self, name)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _n_tasks(self) -> int | None:
        """How many loops of a fit report their progress, at most, so that it is known how far the whole is.

        Methods override it that can tell; None: not known.
        """
        return None

    def _check_splits_rows(self) -> None:
        """Refuse labels of rows where nothing splits rows: they would change nothing."""
        rule = self._stopping_rule()
        names = {*self.get_params(deep=False), *rule.get_params(deep=False)}
        if not names & {"cv", "validation_fraction"}:
            raise ValueError(
                f"row_groups changes nothing: neither {type(self).__name__} nor {type(rule).__name__} splits rows; "
                "give it with stop=CrossValidation(), or to a method that has a parameter cv"
            )

    def _model_to_fit(self) -> BaseEstimator | None:
        """The user's model that is to learn the target, if there is one."""
        estimator = self.get_params(deep=False).get("estimator") if self.supervised else None
        return estimator if isinstance(estimator, BaseEstimator) else None

    def _check_read_by_trees(self, candidates: Candidates, y: np.ndarray | None) -> None:
        """Refuse what the trees of a user's model would see nothing of."""
        if y is not None and (model := self._model_to_fit()) is not None:
            table = None if self._standardizes() else candidates.table
            check_read_by_trees(model, table, np.asarray(y), self.feature_name)

    def _standardizes(self) -> bool:
        """Whether columns are brought to unit variance, so that their units do not matter."""
        return bool(self.get_params(deep=False).get("standardize", False))

    def _find_task(self, y: np.ndarray | None) -> str:
        """What the target is taken for: "classification", "regression", or "unsupervised" where it is not looked at."""
        if not self.supervised or y is None:
            return "unsupervised"
        if len(self.tasks) == 1:
            others = " or ".join(map(self.written, ("GramSchmidt()", "CorrelationScore()")))
            check_holds_classes(y, type(self).__name__, f"use a method for these, such as {others}, or ")
            return next(iter(self.tasks))
        parameters = self.get_params(deep=False)
        if parameters.get("task", "auto") != "auto":
            return parameters["task"]
        estimator = parameters.get("estimator")
        if isinstance(estimator, BaseEstimator) and (is_classifier(estimator) or is_regressor(estimator)):
            return "classification" if is_classifier(estimator) else "regression"
        return infer_task(y) if y.ndim == 1 else "regression"

    def _tell_of_target(self, y: np.ndarray | None) -> None:
        """Say in the reason what the target was taken for, and warn where that may be wrong."""
        if y is None or self.task_ == "unsupervised":
            return
        taken_for = describe_target(y, self.task_)
        self.stop_ = replace(self.stop_, reason=f"{self.stop_.reason}; {taken_for}")
        guessed = self.get_params(deep=False).get("task") == "auto"
        if guessed and self.task_ == "classification" and looks_like_counts(y):
            give, quantity, labels = "give", "task='regression'", "task='classification'"
            if self._written_as != "{}":
                name = type(self).__name__
                give, quantity, labels = "write", *(self.written(f"{name}({task})") for task in (quantity, labels))
            warnings.warn(
                f"{taken_for}, but its values look like counts or ratings: {give} {quantity} to explain a "
                f"quantity, or {labels} if they are labels",
                UserWarning,
                stacklevel=caller_level(),
            )

    def _set_apart(self, candidates: Candidates) -> None:
        """Find the columns that stay and those that are not ranked."""
        if self.keep is None and self.exclude is None:
            return
        if not self.ranks_columns():
            raise ValueError("keep and exclude name columns of X, but features of a dictionary are ranked: drop them")
        if self.keep is not None:
            candidates.keep = candidates.find("keep", self.keep)
        if self.exclude is not None:
            candidates.excluded = np.sort(candidates.find("exclude", self.exclude))
            if both := np.intersect1d(candidates.keep, candidates.excluded).tolist():
                raise ValueError(f"column '{candidates.name(both[0])}' is in both keep and exclude")
            blank = candidates.columns_of(candidates.excluded)
            if isinstance(candidates.table, RowBlocks):
                candidates.table = BlankedBlocks(candidates.table, blank)
                return
            candidates.table = blank_columns(candidates.table, blank)
            check_not_all_constant(candidates.table, "exclude leaves no column of X that varies")

    def _reset(self) -> None:
        """Drop what an earlier fit found."""
        found = [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]
        for name in (*found, *(vars(self).keys() & {"_forced_columns", "_excluded_columns", "_frame_library"})):
            delattr(self, name)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        """What came in as the method wants it, or an error that says what to do."""
        if is_in_blocks(X):
            X = open_blocks(self, X)
            return X, gather_target(self, y, X), check_weights(sample_weight, X)
        check_array_library(self, X, self.provides)
        accept_sparse = "sparse" in self.provides
        if self.supervised:
            several = self._takes_several_targets()
            X, y = check_table(
                self, X, y, accept_sparse=accept_sparse, allow_nan=self._takes_missing(), several_targets=several
            )
        else:  # the method looks at X alone, but a rule such as cross-validation may want y
            X, _ = check_table(self, X, accept_sparse=accept_sparse, allow_nan=self._takes_missing())
        sample_weight = check_weights(sample_weight, X)
        self._kept_rows = None if sample_weight is None else np.flatnonzero(sample_weight)
        X, y, sample_weight = drop_weightless(X, y, sample_weight)
        check_not_all_constant(X)
        return X, y, sample_weight

    def _takes_missing(self) -> bool:
        """Whether NaN may stand in the table; methods override it where that depends on their parameters."""
        return "missing" in self.provides

    def _takes_several_targets(self) -> bool:
        """Whether the target may have several columns; methods override it where that depends on their parameters."""
        return "several_targets" in self.provides

    def has_biased_scores(self) -> bool:
        """Whether scores of noise depend on its kind; methods override it where that depends on their parameters."""
        return "biased_scores" in self.provides

    def _make_candidates(self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None) -> Candidates:
        """What there is to rank in a validated table: its columns, or groups of them."""
        names = known_names(self)
        if (units := self._find_units()) and not isinstance(X, RowBlocks) and may_lose_squares(X):
            X = self._in_safe_units(X, units)
        if "groups" in self.provides and self.groups is not None:  # type: ignore[attr-defined]
            groups = self.groups  # type: ignore[attr-defined]
            return GroupCandidates(X, groups, sample_weight=sample_weight, column_names=names)
        return ColumnCandidates(X, sample_weight=sample_weight, column_names=names)

    def _find_units(self) -> str | None:
        """What may be rescaled; methods override it where that depends on their parameters."""
        return "columns" if self.units is not None and self._standardizes() else self.units

    def _in_safe_units(self, X: Any, units: str) -> Any:
        """The table in units in which squares of its values are numbers."""
        if units == "columns":
            return rescale_columns(X)
        if units == "table":
            return rescale_safely(X)
        check_units(X, self.feature_name)
        return X

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
        n_top = self._most(rule, candidates)
        ranking = arranged(self._rank_top(candidates, y, self._rng(), n_top), candidates)
        decision = self._decide(rule, ranking, candidates, y)
        decision = self._reach_minimum(candidates, y, ranking, decision)
        is_final = n_top is not None or decision.n_features == ranking.n_chosen or bool(interruption(self))
        return ranking, decision if is_final else self._rerank_at_chosen_size(candidates, y, decision)

    def _most(self, rule: StoppingRule, candidates: Candidates) -> int | None:
        """Upper bound on how many candidates can be kept, if known beforehand."""
        n_top = rule.most(candidates.n_rankable)
        if n_top is None:
            return None
        return max(n_top, candidates.keep.size, min(self.min_features or 0, candidates.n_rankable))

    def _decide(
        self, rule: StoppingRule, ranking: Ranking, candidates: Candidates, y: np.ndarray | None
    ) -> StopDecision:
        """What the rule says, but for what stays whatever it says."""
        decision = self._ask(rule, ranking, candidates, y)
        order = (decision.ranking or ranking).order
        n_features, why = max(decision.n_features, ranking.n_forced), ""
        if ranking.n_forced:
            why = f"; {candidates.kept_in_words()}"
        if n_features < min(self.min_features or 0, order.size):
            n_features, why = min(self.min_features or 0, order.size), why + f"; at least {self.min_features} asked for"
        return replace(decision, n_features=n_features, reason=decision.reason + why) if why else decision

    def _ask(self, rule: StoppingRule, ranking: Ranking, candidates: Candidates, y: np.ndarray | None) -> StopDecision:
        """What the rule says; after Ctrl-C only if it can tell from the ranking alone.

        A probe with too few draws, or a curve without its end, would promise what it cannot keep: a sequential method
        then hands back all that it has ranked, any other nothing.
        """
        name, n_ranked = type(rule).__name__, ranking.order.size
        undecided = StopDecision(n_ranked, f"all {n_ranked} ranked {candidates.noun}s stay, for {name} has not decided")
        if interruption(self) and not rule.reads_ranking_only:
            if self.one_shot:
                raise KeyboardInterrupt
            return undecided
        try:
            rng = self._rule_rng(rule)
            most = rule.max_rows_in_blocks() if candidates.in_blocks else None
            if most is None:
                return rule.decide(self, ranking, candidates, y, rng)
            n_rows = candidates.table.shape[0]
            decision = rule.decide(self, ranking, *_row_sample(candidates, y, min(most, n_rows), rng), rng)
            some = f" (on {most} of {n_rows} rows)" if most < n_rows else ""
            return replace(decision, reason=decision.reason + some)
        except KeyboardInterrupt:
            if self.one_shot or not note_interruption(self, f"interrupted before {name} could decide"):
                raise
            return undecided

    def _reach_minimum(
        self, candidates: Candidates, y: np.ndarray | None, ranking: Ranking, decision: StopDecision
    ) -> StopDecision:
        """Rank anew where the order ended before the fewest that are asked for."""
        wanted = min(self.min_features or 0, candidates.n_rankable)
        if interruption(self) or wanted <= (decision.ranking or ranking).order.size:
            return decision
        longer = arranged(self._rank_top(candidates, y, self._rng(), wanted), candidates)
        why = f"at least {self.min_features} asked for"
        n_features = max(decision.n_features, min(wanted, longer.order.size))
        return replace(decision, n_features=n_features, ranking=longer, reason=f"{decision.reason}; {why}")

    def _rerank_at_chosen_size(
        self, candidates: Candidates, y: np.ndarray | None, decision: StopDecision
    ) -> StopDecision:
        """A decision on the whole order, with the set that the method selects at the size decided on."""
        if "nested" in self.provides or decision.ranking is not None or decision.n_features == 0:
            return decision
        ranking = self._rank_top(candidates, y, self._rng(), decision.n_features)
        return replace(decision, ranking=arranged(ranking, candidates))

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
        ranking, decision = fresh(self, stop=n_top, min_features=None)._select(candidates, y, rule)
        return decision.ranking or ranking

    def fit_scaler(self, columns: Any, sample_weight: np.ndarray | None) -> Any:
        """What scales columns before a model is given them, fitted; None where it gets them as they are.

        Rules that judge by a model use it. Methods override it that scale columns for their own models.
        """
        return None

    def for_draws(self) -> Ranker:
        """The copy of this ranker with which a probe ranks features among permuted copies of them, in every draw.

        A feature unrelated to the target and its copy are ranked alike, whatever the search, so that a coarser one
        keeps a probe calibrated. Methods override it that can save work that way, or that cannot rank other columns
        than those of ``X`` and say so.
        """
        return fresh(self)

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

    def hold_in(self, estimator: str, group_noun: str) -> Ranker:
        """Speak, in warnings and errors, as part of an estimator that holds this ranker.

        Parameters
        ----------
        estimator : str
            Name of its class.
        group_noun : str
            What people call there what is a group of columns here.

        Returns
        -------
        self
        """
        self._written_as, self._group_noun = f"{estimator}({{}})", group_noun
        return self

    def written(self, ranker: str) -> str:
        """Code for another ranker in the place of this one, as people write it."""
        return self._written_as.format(ranker)

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
        if candidates.keep.size:
            self._forced_columns = frozenset(candidates.columns_of(candidates.keep).tolist())
        if candidates.excluded.size:
            self._excluded_columns = frozenset(candidates.columns_of(candidates.excluded).tolist())
        ranking, decision = candidates.to_features(ranking, decision)
        support = np.zeros(ranking.scores.size, dtype=bool)
        support[ranking.order[: decision.n_features]] = True
        X = candidates.table
        if isinstance(X, RowBlocks):  # only its type and its width count
            X = np.empty((0, X.shape[1]), dtype=X.dtype)
        xp, _, device = get_namespace_and_device(X)
        scores = ranking.scores
        if X.dtype == xp.float32:
            scores = scores.astype(np.float32)
        arrays = {"scores_": scores, "order_": ranking.order, "ranking_": ranking.ranks(), "support_": support}
        for name, values in arrays.items():
            setattr(self, name, values if is_numpy_namespace(xp) else from_numpy(values, xp, device))
        self.n_features_ = decision.n_features
        self.n_features_in_ = X.shape[1]
        self.path_ = ranking.path
        self.stop_ = replace(decision, reason="; ".join([decision.reason, *ranking.notes]))
        self.certificate_ = dict(ranking.certificate)
        if "own_choice" in self.provides:
            self.n_chosen_ = ranking.n_chosen

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(move_to(self.support_, xp=np, device="cpu"))

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of ``X``; a dask collection or a table of files stays one.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        table of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        if isinstance(X, FileTable):
            return take_file_columns(self, X, self._get_support_mask())
        if is_dask(X) and "dask" in self.provides:
            return take_dask_columns(self, X, self._get_support_mask())
        X = check_container(X)
        if "array_api" in self.provides:
            check_same_namespace(X, self, attribute="scores_", method="transform")
        table = check_rows_to_keep_columns_of(self, X, allow_nan=self._takes_missing())
        gives_frame = get_output_config("transform", estimator=self)["dense"] != "default"
        return self._transform(X if gives_frame and nw.dependencies.is_pandas_dataframe(X) else table)

    def inverse_transform(self, X: Any) -> Any:
        """Put the selected columns back in their places, with zeros where others were.

        Parameters
        ----------
        X : table of shape (n_samples, n_selected)

        Returns
        -------
        table of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_kept_columns(X, int(self._get_support_mask().sum()))
        xp, is_array_api = get_namespace(X)
        if not is_array_api or is_numpy_namespace(xp):
            with errors_that_name_columns(X):
                return super().inverse_transform(X)
        place = np.flatnonzero(self._get_support_mask())
        full = xp.zeros((X.shape[0], self.support_.shape[0]), dtype=X.dtype, device=X.device)
        for source, target in enumerate(place.tolist()):
            full[:, target] = X[:, source]
        return full

    def summary(self) -> Any:
        """What was found, one row per feature, best first.

        Returns
        -------
        data frame
            Of the library of the table given to ``fit``, else of pandas or polars, where neither is installed a dict of
            columns: ``feature``, ``rank``, ``score``, ``kept``, ``why_not`` (why a feature is not kept), ``risk`` (at
            which the rule took or refused it, where the rule speaks of risks) and ``redundant_with`` (the feature that
            makes it superfluous, where the method tells).
        """
        check_is_fitted(self)
        return as_frame(summary_columns(self), self._frame_library)

    def _html_repr(self) -> str:
        """Parameters as scikit-learn shows them; below, after ``fit``, the kept features and the reason."""
        shown = super()._html_repr()
        return shown + as_html(self) if hasattr(self, "stop_") else shown

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.supervised
        tags.input_tags.sparse = "sparse" in self.provides
        tags.input_tags.allow_nan = self._takes_missing()
        tags.target_tags.multi_output = self._takes_several_targets()
        tags.array_api_support = "array_api" in self.provides
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _row_sample(
    candidates: Candidates, y: np.ndarray | None, n_rows: int, rng: np.random.RandomState
) -> tuple[Candidates, np.ndarray | None]:
    """Some rows, drawn at random, of a table that is read in blocks, or all of them."""
    rows = draw_rows_of_blocks(candidates.table.shape[0], n_rows, rng)
    return candidates.sample_rows(rows), None if y is None else y[rows]


def arranged(ranking: Ranking, candidates: Candidates) -> Ranking:
    """A ranking with the candidates that stay in front, and without those that are not to be ranked."""
    return ranking.without(candidates.excluded).starting_with(candidates.keep)


R = TypeVar("R", bound=Ranker)


def fresh(ranker: R, **parameters: Any) -> R:
    """An unfitted copy with other parameters and no callbacks: what folds, draws and sub-problems are given.

    It keeps no checkpoint either: a file can tell of one run only.
    """
    copy = clone(ranker)
    copy.set_params(**{name: value for name, value in parameters.items() if name in copy.get_params(deep=False)})
    if "checkpoint" in copy.get_params(deep=False):
        copy.set_params(checkpoint=None)
    copy.set_callbacks()
    return copy
