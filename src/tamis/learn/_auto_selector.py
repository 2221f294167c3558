"""One line, no choices: which features, which model, and how well it will do."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d

from tamis._sklearn import Interval, StrOptions, fit_context
from tamis.base import NothingKeptWarning, interruption, track
from tamis.base._caller import caller_level
from tamis.base._rounded_away import check_not_rounded_away
from tamis.base._validation import (
    check_not_lost_to_rounding,
    check_one_target,
    check_row_groups,
    check_units,
    frame_library,
)
from tamis.kernels.arrays.targets import describe_target, infer_task, looks_like_counts
from tamis.learn._auto_results import (
    Alternative,
    Results,
    explain,
    find_alternatives,
    interchangeable,
    selection_shares,
    tabulate,
)
from tamis.learn._choice import N_VOTERS
from tamis.learn._final_fit import fit_guess
from tamis.learn._kept_columns_predictor import KeptColumnsPredictor
from tamis.learn._learning_table import LearningTable
from tamis.learn._metrics import find_metric, with_threshold
from tamis.learn._portfolio import ALL, check_models_explain, choose_models, choose_rankers, describe_problem
from tamis.learn._race import Race
from tamis.learn._race_file import RaceFile
from tamis.learn._rows_and_target import (
    as_numbers,
    check_folds_hold_both_classes,
    encode_labels,
    further_partitions,
    split_folds,
)
from tamis.learn._scalings import scalings_of
from tamis.learn._searched_rows import SearchedRows, choose_searched_rows
from tamis.learn._unsupervised import select_faithful, without_target
from tamis.learn._verdict import Verdict, judge, seconds_to_judge
from tamis.table._source import Source, enumerate_names
from tamis.table._target import read_target


class AutoSelector(CallbackSupportMixin, KeptColumnsPredictor):
    r"""Features, a model and an honest estimate of its score, in the time that is given.

    .. math:: \hat\jmath = \min \{ j : \bar\ell_j - \min_b \bar\ell_b \le t \, \mathrm{se}(\bar\ell_j - \bar\ell_b) \}

    over configurations j = (ranker, number of features, scaling, model), those with the fewest features first, with
    :math:`\bar\ell_j` the mean loss on rows that neither ranking nor model has seen, and the standard error that of the
    paired difference over rows.

    Parameters
    ----------
    time_budget : float, default=60.0
        Seconds for everything, the final fit included; not looked at without y. A fit that has begun is not
        interrupted: none begins that, told from those before it, would not end in time. The cheapest configuration is
        run whatever it takes. Tables too tall for it (4000 entries a second, 2000 rows at least) are searched on rows
        drawn at random, and what is chosen is fitted to as many as there is time for.
    prefer : {"balanced", "accurate", "small"}, default="balanced"
        t = 1/2, 0 or 1. With fewer than 150 rows "balanced" and "accurate" keep all features unless fewer are better by
        as many standard errors as the best of all that were tried is by chance (about 3.5), and "small" unless fewer do
        as well: cross-validation of so few rows is no ground to throw features away.
    ensemble : bool, default=False
        A vote (of quantities: the mean) of the best seven configurations; what is kept is then all that any of them
        keeps.
    rankers : "auto", sequence of names, or mapping, default="auto"
        Of "fisher" (correlation for quantities), "rfe", "forest", "relief" (recursive), "l1". A mapping adds rankers by
        name, and takes those away whose value is None. All features are always compared.
    models : "auto", sequence of names, or mapping, default="auto"
        Of "ridge", "naive-bayes" (sparse or binary tables), "logistic", "linear-svm", "knn", "rbf-svm" (four settings),
        "boosting" (up to four classes); other settings of those that do best are tried with time left. A mapping as for
        rankers.
    scoring : str, default=None
        "balanced_accuracy" (the default for classes: one minus the balanced error rate), "accuracy", "roc_auc" (two
        classes), "r2" (the default for quantities), "neg_mean_squared_error", "neg_root_mean_squared_error",
        "neg_mean_absolute_error".
    cv : int, splitter or iterable, default=5
        A number of folds, whose rows are drawn at random; it is lowered to the number of rows of the rarest class,
        but not below 2. With time left, as many folds are drawn anew up to four times; folds that are given stay alone.
    n_bootstraps : int, default=1000
        Samples of the rows behind ``estimate_``; they train nothing. Once time is up 100 are enough.
    confidence : float, default=0.95
        Of the interval.
    task : {"auto", "classification", "regression"}, default="auto"
        Give it where scikit-learn should know before ``fit``, as ``cross_val_score`` does for its folds.
    checkpoint : path, default=None
        File that holds what is finished; a run with the same data and parameters goes on from there, with the seconds
        that are left (of tall tables, with the same time_budget). It is taken away at the end.
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
        ``metric``, ``value``, ``low``, ``high``, ``naive``, ``chance``, ``n_rows``; ``prediction_interval(m)`` is the
        interval for the score on a test set of m rows.
    reason_ : str
        What was chosen, against what, and how the time was spent.
    results_ : Results
        Mapping of columns, one row per configuration: ``ranker``, ``scaling``, ``model``, ``n_features``, ``score``
        (of those that predicted all rows once or more; where the best did so more often, by the difference from it),
        ``standard_error`` (of that difference), ``n_folds``, ``seconds``, ``status`` ("complete", "dropped", "failed",
        "not run"), ``error``, ``chosen``, ``within_one_se``; ``frame()`` gives a data frame.
    alternatives_ : list of Alternative
        Configurations within one standard error of the best that keep other sets.
    groups_ : dict
        For each kept feature those that are linearly the same up to a tenth of the variance; empty where more than
        1000 are kept.
    stability_ : ndarray of shape (n_features_,)
        Share of the folds in which each kept feature is selected.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Tables are encoded inside each fold, by its training rows (as :class:`~tamis.TableSelector` does, levels by their
    mean target among them). Rankings are computed once per ranker and fold, and shared by all numbers of features and
    models. Configurations run in a fixed sequence of waves: all features with every model (with costly ones where a fit
    takes at most 4 % of the time), then ranker by ranker, then what is costly; each model keeps the scaling that served
    it best on all features. After the first fold of a wave the better third go on (all, below 300 rows), and none that
    is worse than the best of all by two standard errors. With
    time left, what differs by one step (half-way to the next number of features, another scaling, the next setting of
    the model) from the best configurations of the six best pairs of ranker and model is tried, up to six times over;
    then what is not worse than the best by two standard errors is repeated on other partitions of the rows, and losses
    of a row are means over partitions: on a few hundred rows, which configuration is best depends on the partition as
    much as on the configuration.

    By balanced accuracy of two classes, models are asked for decision values, and classes are parted where a logistic
    regression on those of rows not seen finds both as likely (Platt 1999; for the rows of a fold, on the other folds):
    where one class is rare, models place that border badly. A model keeps its own unless the one found is better there
    by half a standard error. ``predict`` parts there; ``decision_function`` and
    ``predict_proba`` are those of the model.

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
    hyperparameter optimization", AISTATS 2016. Platt, "Probabilistic outputs for support vector machines", 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import AutoSelector
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> auto = AutoSelector(rankers=["fisher"], models=["ridge", "knn"]).fit(X[::2], y[::2])
    >>> auto.estimate_.low < auto.score(X[1::2], y[1::2]) <= 1
    True
    """

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
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
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
        if (finished := self._fit_keeping_checkpoint(X, y, row_groups=row_groups)) is not None:
            finished.discard()
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def _fit_keeping_checkpoint(self, X: Any, y: Any, *, row_groups: Any) -> RaceFile | None:
        """The same; returns the checkpoint of a search that has ended, to be discarded once its result is safe."""
        started = time.time()
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)  # a fit that fails must not leave what an earlier one found
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        self._interruption, self._loops = "", []  # what Ctrl-C has ended, in words; loops that callbacks are told of
        try:
            finished = self._fit(X, y, row_groups, started)
        finally:
            del self._interruption, self._loops
        context.call_on_fit_task_end(estimator=self)
        return finished

    def _fit(self, X: Any, y: Any, row_groups: Any, started: float) -> RaceFile | None:
        rankers, models = choose_rankers(self.rankers), choose_models(self.models)
        X = self._read_input(X, reset=True)
        row_groups = check_row_groups(row_groups, X)
        self._frame_library = frame_library(X)
        check_not_rounded_away(X, self.feature_name)
        table = as_numbers(X)
        self._remember_kinds(table)
        self._takes_missing = isinstance(table, Source)  # which is encoded
        n_rows = table.n_rows if isinstance(table, Source) else table.shape[0]
        if n_rows < 2:
            raise ValueError(f"Found array with {n_rows} sample(s) while a minimum of 2 is required: add rows")
        if y is None and self.task == "auto":
            self._fit_unsupervised(table, row_groups)
            return None
        labels = self._read_target(y, n_rows)
        codes = self._learn_target(labels)
        check_models_explain(models, self.task_, codes)
        n_classes = len(self.classes_) if self.task_ == "classification" else 0
        metric = with_threshold(find_metric(self.scoring, self.task_, n_classes), n_classes)
        whole, seed = LearningTable(table, codes, self.task_), int(self.random_state)
        searched = choose_searched_rows(whole, self.time_budget, row_groups, self.cv, metric, seed)
        data, codes, row_groups = searched.data, searched.data.y, searched.row_groups
        folds, notes = split_folds(self.cv, codes, self.task_, row_groups, seed)
        if metric.output == "decision":
            check_folds_hold_both_classes(folds, codes, self.cv)
        everything = (data if isinstance(table, Source) else whole).all_rows()  # to encode a tall table takes long
        check_not_lost_to_rounding(everything.train)
        check_units(everything.train, lambda j: self.feature_name(int(everything.places[j])))
        labels_of_codes = tuple(self.classes_.tolist()) if n_classes and self._has_own_models() else None
        problem = describe_problem(data, n_classes, metric.counts_classes_alike, seed, labels_of_codes)
        decided_by = {"time_budget": None if searched.rows is None else self.time_budget, "output": metric.asked}
        file = RaceFile(self.checkpoint, whole, self._settings(folds) | decided_by)
        ledger, used = file.resume(seed)
        file.begin(ledger, used)
        race = Race(
            data,
            folds,
            partitions=further_partitions(self.cv, len(folds), codes, self.task_, row_groups, seed),
            rankers=rankers,
            models=models,
            scalings=scalings_of(everything.train),
            problem=problem,
            metric=metric,
            budget=float(self.time_budget),
            n_final=N_VOTERS if self.ensemble else 1,
            least_reserve=searched.least_reserve(),
            started=started - used,
            n_jobs=self.n_jobs,
            ledger=ledger,
        )
        race.seconds_to_judge = seconds_to_judge(race, self.prefer, self.n_bootstraps)
        self._run(race, file, X, labels, searched, notes)
        return None if interruption(self) else file

    def _learn_target(self, labels: np.ndarray) -> np.ndarray:
        """Task and classes of a target, and its codes, or the quantities."""
        self.task_ = infer_task(labels) if self.task == "auto" else self.task
        classes, codes = encode_labels(labels, self.task_)
        if classes is not None:
            self.classes_ = classes
        if self.task == "auto" and self.task_ == "classification" and looks_like_counts(labels):
            warnings.warn(
                f"{describe_target(labels, self.task_)}, but its values look like counts or ratings: give "
                "task='regression' to explain a quantity, or task='classification' if they are labels",
                UserWarning,
                stacklevel=caller_level(),
            )
        return codes

    def _run(
        self,
        race: Race,
        file: RaceFile,
        X: Any,
        labels: np.ndarray,
        searched: SearchedRows,
        notes: Sequence[str],
    ) -> None:
        """Search, choose, and fit what was chosen to all rows."""
        for _ in track(self, race.run(), task_name="configurations"):
            file.save_if_due(race.ledger, time.time() - race.started)
        file.save(race.ledger, time.time() - race.started)
        notes = [*notes, *self._notes_on_race(race)]
        verdict = judge(
            race,
            prefer=self.prefer,
            ensemble=self.ensemble,
            n_bootstraps=self.n_bootstraps,
            confidence=self.confidence,
            row_groups=searched.row_groups,
            seed=self.random_state,
        )
        self._store(race, verdict, X, labels, searched, [*notes, *verdict.notes])

    def _fit_unsupervised(self, table: Any, row_groups: np.ndarray | None) -> None:
        data = without_target(table)
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

    def _has_own_models(self) -> bool:
        """Whether there are models of the user's, whose parameters may speak of labels."""
        return isinstance(self.models, Mapping) and any(each is not None for each in self.models.values())

    def _settings(self, folds: list[Any]) -> dict[str, Any]:
        """What predictions of folds depend on."""
        rows = [rows for fold in folds for rows in fold]
        given = {"rankers": self.rankers, "models": self.models, "scoring": self.scoring}
        return {**given, "task": self.task_, "cv": rows}

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
        elif len(race.complete()) == 1 and len({key for key, _ in race.ledger.outputs}) == 1 < len(race.configurations):
            notes.append("there was time for the cheapest configuration only: raise time_budget")
        return notes

    def _store(
        self,
        race: Race,
        verdict: Verdict,
        X: Any,
        labels: np.ndarray,
        searched: SearchedRows,
        notes: Sequence[str],
    ) -> None:
        names = [self.feature_name(j) for j in range(race.data.n_columns)]
        self.estimate_ = verdict.estimate
        orders: dict[str, np.ndarray] = {}
        if verdict.is_noise:
            n_fitted = None
            self.support_ = np.zeros(race.data.n_columns, dtype=bool)
            self.order_ = np.empty(0, dtype=int)
            self.estimator_ = fit_guess(self.task_, labels)
        else:
            final = searched.fit(race, verdict.chosen, X, labels, in_haste=bool(interruption(self)))
            self.support_, self.order_, self.estimator_ = final.support, final.order, final.estimator
            orders, n_fitted = final.orders, final.n_rows
        kept = np.flatnonzero(self.support_)
        self.n_features_ = int(kept.size)
        if not verdict.is_noise and all(each.ranker == ALL for each in verdict.chosen) and not self.support_.all():
            silent = [self.feature_name(int(j)) for j in np.flatnonzero(~self.support_)]
            notes = [f"all but {enumerate_names(silent)}, which tell no row from another, are kept", *notes]
        self.results_ = tabulate(race, verdict, self._frame_library)
        self.alternatives_ = [] if verdict.is_noise else find_alternatives(race, verdict, orders, kept, names)
        self.groups_ = interchangeable(race.data, kept, names) if kept.size else {}
        self.stability_ = selection_shares(race, verdict.chosen, kept) if kept.size else np.empty(0)
        self.reason_ = explain(
            race,
            verdict,
            self.n_features_,
            confidence=self.confidence,
            seconds=time.time() - race.started,
            notes=[*searched.notes(n_fitted), *notes, describe_target(labels, self.task_)],
        )
        if verdict.is_noise:
            warnings.warn(f"AutoSelector: {self.reason_}", NothingKeptWarning, stacklevel=caller_level())
