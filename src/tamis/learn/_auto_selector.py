"""One line, no choices: which features, which model, and how well it will do."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import ClassifierTags, RegressorTags, Tags, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import Interval, StrOptions, fit_context
from tamis.base import NothingKeptWarning, interruption, split_rows, track
from tamis.base._caller import caller_level
from tamis.base._summary import as_frame
from tamis.base._validation import check_one_target, check_row_groups, column_name, frame_library
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.targets import describe_target, encode_classes, infer_task
from tamis.learn._auto_results import (
    Alternative,
    Results,
    explain,
    find_alternatives,
    interchangeable,
    selection_shares,
    tabulate,
)
from tamis.learn._bias_corrected import Estimate
from tamis.learn._final_fit import fit_final, fit_guess
from tamis.learn._learning_table import LearningTable
from tamis.learn._metrics import find_metric
from tamis.learn._portfolio import Problem, choose_models, choose_rankers
from tamis.learn._race import Race
from tamis.learn._race_file import RaceFile
from tamis.learn._scalings import scalings_of
from tamis.learn._unsupervised import select_faithful
from tamis.learn._verdict import Verdict, judge
from tamis.table._source import Source, read_source
from tamis.table._source_columns import ReadsTables, take_columns
from tamis.table._target import read_target

_FEWEST_TO_JUDGE = 10  # rows, without a target


def _can_predict(selector: AutoSelector) -> bool:
    if vars(selector).get("task_") == "unsupervised":
        raise AttributeError("AutoSelector was fitted without a target y: it selects features and predicts nothing")
    return True


def _has_method(name: str) -> Any:
    def check(selector: AutoSelector) -> bool:
        if "estimator_" not in vars(selector) and _can_predict(selector):
            raise AttributeError(f"which model is chosen, and whether it has {name}, is known after fit")
        if not hasattr(selector.estimator_, name):
            raise AttributeError(f"the chosen model has no {name}: {selector.estimator_!r}")
        return True

    return check


class AutoSelector(CallbackSupportMixin, SelectorMixin, ReadsTables):
    r"""Features, a model and an honest estimate of its score, in the time that is given.

    .. math:: \hat\jmath = \min \{ j : \bar\ell_j - \min_b \bar\ell_b \le t \, \mathrm{se}(\bar\ell_j - \bar\ell_b) \}

    over configurations j = (ranker, number of features, scaling, model), those with the fewest features first, with
    :math:`\bar\ell_j` the mean loss on rows that neither ranking nor model has seen, and the standard error that of the
    paired difference over rows.

    Parameters
    ----------
    time_budget : float, default=60.0
        Seconds for everything, the final fit included. A fit that has begun is not interrupted: none begins that, told
        from those before it, would not end in time. The cheapest configuration is run whatever it takes.
    prefer : {"balanced", "accurate", "small"}, default="balanced"
        t = 1/2, 0 or 1. With fewer than 150 rows "balanced" and "accurate" keep all features unless fewer are better by
        a standard error, and "small" unless fewer do as well: cross-validation of so few rows is no ground to throw
        features away.
    ensemble : bool, default=False
        A vote (of quantities: the mean) of the best seven configurations; what is kept is then all that any of them
        keeps.
    rankers : "auto", sequence of names, or mapping, default="auto"
        Of "fisher" (correlation for quantities), "rfe", "forest", "relief" (recursive), "l1". A mapping adds rankers by
        name, and takes those away whose value is None. All features are always compared.
    models : "auto", sequence of names, or mapping, default="auto"
        Of "ridge", "naive-bayes" (sparse or binary tables), "logistic", "linear-svm", "knn", "rbf-svm" (four settings),
        "boosting" (up to four classes). A mapping as for rankers.
    scoring : str, default=None
        "balanced_accuracy" (the default for classes: one minus the balanced error rate), "accuracy", "roc_auc" (two
        classes), "r2" (the default for quantities), "neg_mean_squared_error", "neg_root_mean_squared_error",
        "neg_mean_absolute_error".
    cv : int, splitter or iterable, default=5
        A number of folds, whose rows are drawn at random; it is lowered to the number of rows of the rarest class, but not below 2.
    n_bootstraps : int, default=1000
        Samples of the rows behind ``estimate_``; they train nothing.
    confidence : float, default=0.95
        Of the interval.
    task : {"auto", "classification", "regression"}, default="auto"
        Give it where scikit-learn should know before ``fit``, as ``cross_val_score`` does for its folds.
    checkpoint : path, default=None
        File that holds what is finished; a run with the same data and parameters goes on from there, with the seconds
        that are left. It is taken away at the end.
    n_jobs : int, default=None
        Through joblib. The answer does not depend on it unless time ends the search.
    random_state : int, default=0

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Columns of the table that are kept; none where nothing is better than guessing, with a warning.
    order_ : ndarray of int
        Columns by the chosen ranking on all rows, the kept ones first.
    n_features_ : int
    estimator_ : predictor
        Fitted on the kept columns of all rows, as :meth:`transform` gives them.
    classes_ : ndarray
    task_ : {"classification", "regression", "unsupervised"}
    estimate_ : Estimate
        ``metric``, ``value``, ``low``, ``high``, ``naive``, ``chance``, ``n_rows``.
    reason_ : str
        What was chosen, against what, and how the time was spent.
    results_ : Results
        Mapping of columns, one row per configuration: ``ranker``, ``scaling``, ``model``, ``n_features``, ``score``,
        ``standard_error`` (of the paired difference from the best), ``n_folds``, ``seconds``, ``status`` ("complete",
        "dropped", "failed", "not run"), ``error``, ``chosen``, ``within_one_se``; ``frame()`` gives a data frame.
    alternatives_ : list of Alternative
        Configurations within one standard error of the best that keep other sets.
    groups_ : dict
        For each kept feature those that are linearly the same up to a tenth of the variance.
    stability_ : ndarray of shape (n_features_,)
        Share of the folds in which each kept feature is selected.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Tables are encoded inside each fold, by its training rows (as :class:`~tamis.TableSelector` does, levels by their
    mean target among them). Rankings are computed once per ranker and fold, and shared by all numbers of features and
    models. Configurations run in a fixed sequence of waves: all features with every model, then ranker by ranker, then
    what is costly; each model keeps the scaling that served it best on all features. After the first fold of a wave the
    better third go on (all, below 300 rows), and none that is worse than the best of all by two standard errors.

    The estimate is that of bootstrap bias-corrected cross-validation: per bootstrap sample of the rows the whole choice
    is made on it, and scored on the rows left out, from predictions that are at hand. Rows of a first fold by which a
    wave was cut to a third are not scored, for what is left was chosen by them; what is dropped for being worse by two
    standard errors is taken to be so in every sample. Where the interval comes near to guessing, the target is permuted
    19 times: what does not exceed these is noise.

    Without y, :class:`~tamis.NeighborFaithful` selects the features from which all can be recovered, as few as it
    takes; ``estimate_`` is FIT on held-out rows, with the range over five splits.

    Deviations: weights of rows are not taken. After Ctrl-C what is finished decides.

    References
    ----------
    Tsamardinos, Greasidou and Borboudakis, "Bootstrapping the out-of-sample predictions for efficient and accurate
    cross-validation", Machine Learning 107, 2018. Jamieson and Talwalkar, "Non-stochastic best arm identification and
    hyperparameter optimization", AISTATS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import AutoSelector
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> auto = AutoSelector(rankers=["fisher"], models=["ridge", "knn"]).fit(X[::2], y[::2])
    >>> auto.estimate_.low < auto.score(X[1::2], y[1::2]) <= 1
    True
    """

    _accepts_sparse = True

    estimate_: Estimate
    results_: Results
    alternatives_: list[Alternative]
    _loops: list[Any]

    _parameter_constraints: ClassVar[dict] = {
        "time_budget": [Interval(Real, 0, None, closed="neither")],
        "prefer": [StrOptions({"balanced", "accurate", "small"})],
        "ensemble": ["boolean"],
        "rankers": [str, "array-like", Mapping],
        "models": [str, "array-like", Mapping],
        "scoring": [str, None],
        "cv": ["cv_object"],
        "n_bootstraps": [Interval(Integral, 1, None, closed="left")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "checkpoint": [str, os.PathLike, None],
        "n_jobs": [Integral, None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        time_budget: float = 60.0,
        *,
        prefer: str = "balanced",
        ensemble: bool = False,
        rankers: Any = "auto",
        models: Any = "auto",
        scoring: str | None = None,
        cv: Any = 5,
        n_bootstraps: int = 1000,
        confidence: float = 0.95,
        task: str = "auto",
        checkpoint: str | os.PathLike | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.time_budget = time_budget
        self.prefer = prefer
        self.ensemble = ensemble
        self.rankers = rankers
        self.models = models
        self.scoring = scoring
        self.cv = cv
        self.n_bootstraps = n_bootstraps
        self.confidence = confidence
        self.task = task
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, row_groups: Any = None) -> AutoSelector:
        """Select features, and learn to predict ``y`` from them.

        Parameters
        ----------
        X : data frame, mapping from names to arrays, array or sparse table of shape (n_samples, n_features)
            Frames may hold text, dates and missing values.
        y : array-like of shape (n_samples,), default=None
            Classes or a quantity; without it features are kept from which all can be recovered.
        row_groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as those of one patient: folds and bootstrap samples keep them together.

        Returns
        -------
        self
        """
        started = time.time()
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)  # a fit that fails must not leave what an earlier one found
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        self._interruption, self._loops = "", []  # what Ctrl-C has ended, in words; loops that callbacks are told of
        try:
            self._fit(X, y, row_groups, started)
        finally:
            del self._interruption, self._loops
        context.call_on_fit_task_end(estimator=self)
        return self

    def _fit(self, X: Any, y: Any, row_groups: Any, started: float) -> None:
        rankers, models = choose_rankers(self.rankers), choose_models(self.models)
        X = self._read_input(X, reset=True)
        row_groups = check_row_groups(row_groups, X)
        self._frame_library = frame_library(X)
        table = _as_numbers(X)
        n_rows = table.n_rows if isinstance(table, Source) else table.shape[0]
        if n_rows < 2:
            raise ValueError(f"Found array with {n_rows} sample(s) while a minimum of 2 is required: add rows")
        if y is None and self.task == "auto":
            self._fit_unsupervised(table, row_groups)
            return
        labels = self._read_target(y, n_rows)
        codes = self._encode_target(labels)
        n_classes = len(self.classes_) if self.task_ == "classification" else 0
        metric = find_metric(self.scoring, self.task_, n_classes)
        data = LearningTable(table, codes, self.task_)
        folds, notes = self._folds(table, codes, row_groups)
        problem = self._describe(data, n_classes, metric.name in ("balanced_accuracy", "roc_auc"))
        file = RaceFile(self.checkpoint, data, self._settings(folds))
        ledger, used = file.resume(int(self.random_state))
        race = Race(
            data,
            folds,
            rankers=rankers,
            models=models,
            scalings=scalings_of(data.all_rows().train),
            problem=problem,
            metric=metric,
            budget=float(self.time_budget),
            started=started - used,
            n_jobs=self.n_jobs,
            ledger=ledger,
        )
        for _ in track(self, race.run(), task_name="configurations"):
            file.save_if_due(ledger, time.time() - race.started)
        file.save(ledger, time.time() - race.started)
        notes += self._notes_on_race(race)
        verdict = judge(
            race,
            prefer=self.prefer,
            ensemble=self.ensemble,
            n_bootstraps=self.n_bootstraps,
            confidence=self.confidence,
            row_groups=row_groups,
            seed=self.random_state,
        )
        self._store(race, verdict, X, labels, [*notes, *verdict.notes])
        if not interruption(self):
            file.discard()

    def _fit_unsupervised(self, table: Any, row_groups: np.ndarray | None) -> None:
        if sparse.issparse(table):
            raise ValueError("without a target y, neighbors among rows are looked at: give X as a dense table")
        n_rows = table.n_rows if isinstance(table, Source) else table.shape[0]
        if n_rows < _FEWEST_TO_JUDGE:
            raise ValueError(
                f"X has {n_rows} rows, too few to judge a selection without a target: give more, or a target y"
            )
        data = LearningTable(table, np.zeros(n_rows), "unsupervised")
        found = select_faithful(
            data,
            row_groups=row_groups,
            confidence=self.confidence,
            seed=int(self.random_state),
            splits=lambda rows: track(self, rows, task_name="split", total=len(rows)),
        )
        self.task_ = "unsupervised"
        self.support_, self.order_, self.stability_ = found.support, found.order, found.stability
        self.n_features_ = int(found.support.sum())
        self.estimate_, self.reason_ = found.estimate, found.reason
        self.alternatives_ = []
        names = [self.feature_name(j) for j in range(data.n_columns)]
        self.groups_ = interchangeable(data, np.flatnonzero(found.support), names)
        self.results_ = Results(
            {"ranker": ["neighbor-faithful"], "n_features": [self.n_features_], "score": [found.estimate.value]},
            self._frame_library,
        )

    def _read_target(self, y: Any, n_rows: int) -> np.ndarray:
        if y is None:
            raise ValueError("This AutoSelector estimator requires y to be passed, but the target y is None")
        check_one_target(self, y)
        labels = read_target(y, n_rows)
        return column_or_1d(labels, warn=True)

    def _encode_target(self, labels: np.ndarray) -> np.ndarray:
        """Codes of classes, or quantities as floats."""
        self.task_ = infer_task(labels) if self.task == "auto" else self.task
        if self.task_ == "classification":
            if labels.dtype.kind == "f" and np.any(labels != np.round(labels)) and infer_task(labels) == "regression":
                raise ValueError("Unknown label type: continuous. y holds quantities: give task='regression'")
            self.classes_, codes = encode_classes(labels)
            return codes.ravel()
        if labels.dtype.kind not in "fiub":
            raise ValueError("y holds labels, not numbers; use task='classification' for classes")
        values = labels.astype(float)
        if np.ptp(values) == 0:
            raise ValueError(f"y is constant ({values[0]:g}): there is nothing to explain")
        return values

    def _folds(self, table: Any, y: np.ndarray, row_groups: np.ndarray | None) -> tuple[list[Any], list[str]]:
        """Training and test rows, and what is to be said about them."""
        is_classes, cv, notes = self.task_ == "classification", self.cv, []
        if isinstance(cv, Integral) or cv is None:
            cv = 5 if cv is None else int(cv)
            if y.size < cv:
                raise ValueError(f"X has {y.size} samples, fewer than cv={cv} folds: give more rows or a smaller cv")
            if is_classes and row_groups is None and (rarest := int(np.bincount(y).min())) < cv:
                if np.bincount(y).max() < 2:
                    raise ValueError(
                        "every class has one row only: nothing can be learned from one row and tested on another"
                    )
                cv = max(2, rarest)
                notes.append(f"{cv} folds instead of {self.cv}, for the rarest class has {rarest} rows")
            if row_groups is None:  # tables may be sorted
                kind = StratifiedKFold if is_classes else KFold
                cv = kind(cv, shuffle=True, random_state=int(self.random_state))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            rows = np.empty((y.size, 0))
            folds = split_rows(cv, rows, y, classifier=is_classes, kept_rows=None, row_groups=row_groups)
        return folds, notes

    def _describe(self, data: LearningTable, n_classes: int, is_balanced: bool) -> Problem:
        table = data.table
        is_array = isinstance(table, np.ndarray)
        return Problem(
            self.task_,
            n_classes,
            data.y.size,
            data.n_columns,
            sparse.issparse(table),
            is_array and bool(np.isin(table[:100], (0, 1)).all() and np.isin(table, (0, 1)).all()),
            is_balanced,
            int(self.random_state),
        )

    def _settings(self, folds: list[Any]) -> dict[str, Any]:
        """What predictions of folds depend on."""
        names = ("rankers", "models", "task")
        rows = [rows for fold in folds for rows in fold]
        scoring = find_metric(self.scoring, self.task_, 2).output
        return {name: getattr(self, name) for name in names} | {"cv": rows, "output": scoring}

    def _notes_on_race(self, race: Race) -> list[str]:
        notes = []
        if not race.complete():
            if interruption(self):
                raise KeyboardInterrupt
            errors = [each.error for each in race.ledger.outputs.values() if each.error]
            raise ValueError(
                f"no configuration could be run; the first failed with {errors[0] if errors else 'no message'}"
            )
        if interruption(self):
            notes.append(interruption(self))
            warnings.warn(f"AutoSelector was {interruption(self)}", ConvergenceWarning, stacklevel=caller_level())
        elif len(race.complete()) == 1 and len(race.configurations) > 1:
            notes.append("there was time for the cheapest configuration only: raise time_budget")
        return notes

    def _store(self, race: Race, verdict: Verdict, X: Any, labels: np.ndarray, notes: Sequence[str]) -> None:
        names = [self.feature_name(j) for j in range(race.data.n_columns)]
        self.estimate_ = verdict.estimate
        orders: dict[str, np.ndarray] = {}
        if verdict.is_noise:
            self.support_ = np.zeros(race.data.n_columns, dtype=bool)
            self.order_ = np.empty(0, dtype=int)
            self.estimator_ = fit_guess(self.task_, labels)
        else:
            final = fit_final(race.data, verdict.chosen, race.rankers, race.models, race.problem, X, labels)
            self.support_, self.order_, self.estimator_, orders = (
                final.support,
                final.order,
                final.estimator,
                final.orders,
            )
        kept = np.flatnonzero(self.support_)
        self.n_features_ = int(kept.size)
        self.results_ = tabulate(race, verdict, self._frame_library)
        self.alternatives_ = [] if verdict.is_noise else find_alternatives(race, verdict, orders, kept, names)
        self.groups_ = interchangeable(race.data, kept, names) if kept.size else {}
        self.stability_ = selection_shares(race, verdict.chosen, kept) if kept.size else np.empty(0)
        self.reason_ = explain(
            race,
            verdict,
            self.n_features_,
            prefer=self.prefer,
            confidence=self.confidence,
            seconds=time.time() - race.started,
            notes=[*notes, describe_target(labels, self.task_)],
        )
        if verdict.is_noise:
            warnings.warn(f"AutoSelector: {self.reason_}", NothingKeptWarning, stacklevel=caller_level())

    def feature_name(self, j: int) -> str:
        """What people call source column ``j``, after ``fit``."""
        return column_name(self, j)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of ``X``, as they are.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Like the one given to ``fit``.

        Returns
        -------
        of the type of X, of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        X = self._read_input(X, reset=False)
        if (isinstance(X, Mapping) and not sparse.issparse(X)) or frame_library(X):
            return take_columns(X, np.flatnonzero(self.support_))
        return self._transform(X)

    def _kept_columns(self, X: Any) -> Any:
        """The kept columns, as ``estimator_`` is given them."""
        check_is_fitted(self)
        X = self._read_input(X, reset=False)
        if self.n_features_:
            return take_columns(X, np.flatnonzero(self.support_))
        return np.zeros((read_source(X).n_rows if not hasattr(X, "shape") else X.shape[0], 1))

    @available_if(_can_predict)
    def predict(self, X: Any) -> np.ndarray:
        """Class or quantity of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        kept = self._kept_columns(X)
        return self.estimator_.predict(kept)

    @available_if(_has_method("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, where the chosen model gives such.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        kept = self._kept_columns(X)
        return self.estimator_.predict_proba(kept)

    @available_if(_has_method("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values, where the chosen model gives such.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        kept = self._kept_columns(X)
        return self.estimator_.decision_function(kept)

    @available_if(_can_predict)
    def score(self, X: Any, y: Any) -> float:
        """The metric of ``estimate_`` on other rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        float
        """
        check_is_fitted(self)
        metric = find_metric(self.estimate_.metric, self.task_, 2)
        output = self.decision_function(X) if metric.output == "decision" else self.predict(X)
        labels = np.asarray(read_target(y, len(output)))
        if self.task_ == "classification":
            known = {label: code for code, label in enumerate(self.classes_.tolist())}
            labels = np.array([known.get(label, -1) for label in labels.tolist()])
            if metric.output == "label":
                output = np.array([known[label] for label in output.tolist()])
        losses = metric.losses(labels, output)
        return float(metric.score(metric.scales(labels, np.ones((1, labels.size))) @ losses)[0])

    def summary(self) -> Any:
        """What was found, one row per feature, those kept first.

        Returns
        -------
        data frame of the library that ``fit`` was given, else of pandas or polars, else a dict of lists
            Columns ``feature``, ``rank``, ``kept``, ``stability`` (share of the folds in which it is selected) and
            ``would_do_as_well`` (features interchangeable with it).
        """
        check_is_fitted(self)
        rest = np.setdiff1d(np.arange(self.support_.size), self.order_)
        rank_of = {int(j): place for place, j in enumerate(self.order_, start=1)}
        share = dict(zip(np.flatnonzero(self.support_).tolist(), self.stability_.tolist(), strict=True))
        features = np.concatenate([self.order_, rest]).astype(int).tolist()
        columns: dict[str, list[Any]] = {
            "feature": [self.feature_name(j) for j in features],
            "rank": [rank_of.get(j) for j in features],
            "kept": [bool(self.support_[j]) for j in features],
            "stability": [share.get(j) for j in features],
            "would_do_as_well": [", ".join(self.groups_.get(self.feature_name(j), [])) for j in features],
        }
        return as_frame(columns, self._frame_library)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        task = vars(self).get("task_", self.task)
        tags.classifier_tags, tags.regressor_tags = ClassifierTags(), RegressorTags(poor_score=True)
        tags.estimator_type = {"classification": "classifier", "regression": "regressor"}.get(task)
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _as_numbers(X: Any) -> Any:
    """An array of finite numbers or a sparse table as it is, anything else as columns of what they hold."""
    if sparse.issparse(X):
        return X.tocsr()
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and not has_missing(X):
        if not np.isfinite(X).all():
            raise ValueError("Input X contains infinity; replace or drop it")
        return X if X.dtype.kind == "f" else X.astype(float)
    return read_source(X)
