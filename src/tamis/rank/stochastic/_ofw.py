"""Optimal Feature Weighting: a probability over features, learned by stochastic gradient."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from tamis._sklearn import HasMethods, Interval, RealNotInt, StrOptions
from tamis.base import (
    GROUPS_CONSTRAINT,
    Candidates,
    Ranker,
    Ranking,
    Shared,
    fresh,
    interruption,
    open_parallel,
    track,
)
from tamis.kernels.arrays.entropy import effective_number
from tamis.kernels.arrays.targets import encode_classes
from tamis.rank._checkpoint import Checkpoint, check_place, fingerprint
from tamis.rank.stochastic._column_groups import ColumnGroups
from tamis.rank.stochastic._energy import TEST_ROWS, Energy, Splitter, SubsetEvaluation
from tamis.rank.stochastic._gradient_descent import METHODS, GradientDescent, draw_subsets
from tamis.rank.stochastic._preselection import Pool, choose_columns, choose_groups
from tamis.rank.stochastic._search import SearchResult, minimize_energy, scatter
from tamis.rank.stochastic._subset_ensemble import fit_ensemble
from tamis.rank.stochastic._subset_estimator import SubsetEstimator
from tamis.rank.stochastic._subset_learner import SubsetLearner, SubsetTable, scale_table
from tamis.rank.stochastic._subset_neighbors import SubsetNeighbors
from tamis.rank.stochastic._subset_ridge import SubsetRidge
from tamis.rank.stochastic._subset_svm import SubsetSVM
from tamis.rank.stochastic._subset_tree import SubsetTree

LEARNERS: dict[str, SubsetLearner] = {
    "svm": SubsetSVM(),
    "ridge": SubsetRidge(),
    "neighbors": SubsetNeighbors(),
    "hamming": SubsetNeighbors(metric="hamming"),
    "tree": SubsetTree(),
}
_MAX_SVM_SIZE = 50  # of the subsets on which "auto" is a support vector machine: the root of 2500 features
_SIZE_FOLDS = 5  # of the cross-validation that chooses subset_size
_SIZE_SUBSETS = 50  # whose held-out errors are averaged in each of these folds


def make_learner(estimator: Any, n_jobs: int | None, n_classes: int = 2, subset_size: int = 1) -> SubsetLearner:
    """The learner of a name, a learner itself, or a classifier that is fitted subset by subset."""
    if isinstance(estimator, str) and estimator == "auto":
        # support vector machines learn one class after another against all others, by a system for each of some ten
        # Newton steps; ridge all of them by one system
        estimator = "svm" if n_classes == 2 and subset_size <= _MAX_SVM_SIZE else "ridge"
    if isinstance(estimator, str):
        return clone(LEARNERS[estimator])
    if isinstance(estimator, SubsetLearner):
        estimator._validate_params()
        return clone(estimator)
    if not is_classifier(estimator):
        raise ValueError(f"estimator={estimator} is no classifier: give one")
    return SubsetEstimator(estimator, n_jobs=n_jobs)


class OFW(Ranker):
    r"""Learn a probability over features, such that classifiers on subsets drawn from it err least.

    .. math:: \min_{P \in S} E(P) = \sum_{\omega \in F^k} g(\omega) \prod_{i=1}^k P(\omega_i), \qquad
        \nabla E(\delta) = \frac{\mathbb{E}_\omega [g(\omega) C(\omega, \delta)]}{P(\delta)}

    over the simplex :math:`S` (Gadat & Younes 2007, Eqs. 2 and 7), with :math:`g` the error of a classifier that learns
    on one draw of rows and is tested on another, and :math:`C` how often a feature was drawn. Each step draws a batch
    of subsets and follows the mean of :math:`(g - b) C`, where the baseline :math:`b` is the mean error of the other
    subsets of the batch: the gradient stays unbiased, and is far steadier.

    Parameters
    ----------
    estimator : {"auto", "svm", "ridge", "neighbors", "hamming", "tree"} or classifier, default="auto"
        What learns on the subsets. A name stands for a learner that takes all subsets of a batch at once
        (:mod:`tamis.rank.stochastic` has their classes, with their parameters); any scikit-learn classifier will do.
        "auto" is "svm" for two classes and subsets of at most 50 features, which is the root of 2500, and "ridge" for
        more of either, which then takes a tenth of the time or less.
    subset_size : int, "sqrt" or sequence of int, default="sqrt"
        Features per subset, k; the root of their number, rounded up, by default. Five-fold cross-validation chooses
        from several; for other folds, search over ``ofw__subset_size`` of :class:`~tamis.OFWClassifier`. Where there
        are ``groups``, it counts these.
    n_subsets : int, default=100
        Subsets per step.
    method : {"natural", "riemannian", "euclidean", "diffusion", "exact"} or GradientDescent, default="natural"
        Geometry of the steps; step sizes are parameters of :class:`~tamis.rank.stochastic.GradientDescent`.
    evaluation : {"resample", "out-of-bag"} or SubsetEvaluation, default="resample"
        Rows that a subset is tested on: a second draw of all rows as in the paper, or rows that were not learned from.
        How many rows are drawn, and what counts as an error, are parameters of
        :class:`~tamis.rank.stochastic.SubsetEvaluation`.
    standardize : bool, default=True
        Give every column unit variance, and zero mean unless the table is sparse.
    preselect : float, int, selector or None, default=None
        Features to start from: those with a Fisher score above a number (the paper's is 0.01), as many of the best as a
        whole number says, or what a selector keeps.
    group_correlation : float or None, default=None
        Features that correlate at least so much, in absolute value, with a better one are weighted together with it:
        the weight is that of the group, and reported once. Not together with ``groups``.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together. The
        probability is over groups, a subset is k groups drawn from it, and all columns of a drawn group enter the
        learner. A group of which ``preselect`` keeps a column takes part as a whole; ``method="exact"`` sums over
        every draw of groups.
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" is the effective number of features, :class:`~tamis.stop.EffectiveNumber`.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    tol : float, default=0.05
        The search ends when the probability has changed by at most this much, relative to the largest, over the last
        n / mu of n steps; alpha in the paper.
    max_iter : int, default=2000
        Steps at most.
    null_control : bool or int, default=False
        Learn once more on permuted labels, or that many times, to see how far the error falls with nothing to find.
    checkpoint : path, default=None
        File that holds the state of a run; one that was interrupted goes on from there.
    n_jobs : int, default=None
        Workers for a scikit-learn classifier, through joblib; the result is the same.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    probability_ : ndarray of shape (n_features,) or (n_groups,)
        The learned weights; they sum to one. ``scores_`` holds the same, NaN for features that never took part. With
        ``groups``, one entry per group, as ``group_names_`` has them, and ``scores_`` holds for every column the weight
        of its group.
    group_names_ : list of str
        Labels of the groups, in the order in which they first appear among the columns; with ``groups`` only.
    group_columns_ : list of ndarray
        The columns by which each of them takes part: those that vary, one of each set of copies, and none of a group
        that was not preselected; with ``groups`` only.
    energy_ : float
        Mean error of subsets drawn from it.
    null_energy_, null_energies_ : float, ndarray
        The same on permuted labels, in the mean and each time; with ``null_control`` only. One permutation is one draw.
    effective_number_ : float
        Exponential of the entropy of the probability.
    subset_size_ : int
    subset_size_errors_ : dict
        Held-out error of each size; where it was chosen.
    group_of_ : ndarray of shape (n_features,)
        The feature that stands for each; with ``group_correlation`` only.
    history_, null_history_ : dict
        "energy" and "effective_number" of every step, and the "probability" at some of them, see "iteration"; all of
        groups where there are ``groups``.
    classes_, n_iter_, order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker, and the labels.

    Notes
    -----
    Cost of a step: the learners, linear in the number of subsets, and O(D) for the update; sparse tables are made dense
    for the columns in use alone. Beyond 2000 rows a step takes no longer: it learns from 1000 of them, drawn anew, and
    is tested on as many. Many features take many steps, on larger subsets: with 500 rows and 20 000 columns hundreds of
    them, of about a tenth of a second each, which ``preselect`` or ``max_iter`` shortens;
    callbacks are told of every step. Of groups that differ in size, those subsets
    are learned at once that have as many columns. Deviations from the paper, whose Figures 3 and 4 are wrong as
    printed: signs and factors are those of Eqs. 8 to 12; all subsets of a step share one pair of row draws; a draw that
    misses a class is given a row of it; a feature drawn twice counts once for the learner; no weight changes by more
    than a factor e, or 0.3 / |F| in the Euclidean methods, in one step; steps that leave the simplex are projected back
    (``n_projections``); the stopping rule is relative to the largest weight, looks back to the last snapshot before n -
    n / mu, and not before 20 mu steps. Features that are copies of another to the last digit, and constant ones, take
    no part, nor does a group whose columns are copies of another's; a column that two groups hold counts once where
    both are drawn. Features that a Euclidean step left at the same weight tie. With fewer rows than features a low
    energy proves nothing: see ``null_control``.

    References
    ----------
    Gadat and Younes, "A stochastic algorithm for feature selection in pattern recognition", JMLR 8, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import OFW
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ofw = OFW("tree", subset_size=2, random_state=0).fit(X, y)
    >>> ofw.get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    one_shot: ClassVar[bool] = False
    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    units: ClassVar[str | None] = "refused"
    provides: ClassVar[frozenset[str]] = Ranker.provides | {"groups", "probability", "sparse"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("effective-number", {})

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "estimator": [StrOptions({"auto", *LEARNERS}), HasMethods("fit_subsets"), HasMethods(["fit", "predict"])],
        "subset_size": [
            StrOptions({"sqrt"}),
            Interval(Integral, 1, None, closed="left"),
            list,
            tuple,
            range,
            np.ndarray,
        ],
        "n_subsets": [Interval(Integral, 2, None, closed="left")],
        "method": [StrOptions(set(METHODS)), GradientDescent],
        "evaluation": [StrOptions(set(TEST_ROWS)), SubsetEvaluation],
        "standardize": ["boolean"],
        "preselect": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, None, closed="left"),
            HasMethods(["fit", "get_support"]),
            None,
        ],
        "group_correlation": [Interval(Real, 0, 1, closed="right"), None],
        "groups": GROUPS_CONSTRAINT,
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "null_control": ["boolean", Interval(Integral, 0, None, closed="left")],
        "checkpoint": [str, os.PathLike, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        subset_size: int | str | Sequence[int] = "sqrt",
        n_subsets: int = 100,
        method: str | GradientDescent = "natural",
        evaluation: str | SubsetEvaluation = "resample",
        standardize: bool = True,
        preselect: Any = None,
        group_correlation: float | None = None,
        groups: Any = None,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        tol: float = 0.05,
        max_iter: int = 2000,
        null_control: bool | int = False,
        checkpoint: str | os.PathLike | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.subset_size = subset_size
        self.n_subsets = n_subsets
        self.method = method
        self.evaluation = evaluation
        self.standardize = standardize
        self.preselect = preselect
        self.group_correlation = group_correlation
        self.groups = groups
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.tol = tol
        self.max_iter = max_iter
        self.null_control = null_control
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        check_place(self.checkpoint)
        X = candidates.table
        self.classes_, codes = encode_classes(np.asarray(y))
        pool = self._choose_pool(X, codes, candidates)
        n_null = int(self.null_control)
        drawn = int(rng.randint(np.iinfo(np.int32).max - 1 - n_null))
        _, seed, _ = self._resume(self.checkpoint, X, codes, pool, drawn)  # the seed of an interrupted run, if any
        self.subset_size_ = self._choose_subset_size(candidates, X, codes, pool.candidates.size, seed)
        null_paths = [self._null_path(turn) for turn in range(n_null)]
        with make_learner(self.estimator, self.n_jobs, self.classes_.size, self.subset_size_) as learner:
            energy = self._energy(learner, X, codes, pool)
            found = self._search(energy, X, pool, seed, self.checkpoint)
            null = [
                self._search(energy.with_permuted_labels(seed + turn), X, pool, seed + 1 + turn, path)
                for turn, path in enumerate(null_paths)
                if not interruption(self)
            ]
        for path in (self.checkpoint, *null_paths):
            Checkpoint(path, {}).discard()
        places = (pool.candidates, candidates.n_candidates)
        if null:
            self.null_energies_ = np.array([each.energy for each in null])
            self.null_energy_ = float(self.null_energies_.mean())
            self.null_history_ = null[0].history(*places)
        self.energy_, self.history_, self.n_iter_ = found.energy, found.history(*places), found.n_iter
        self.effective_number_ = effective_number(found.probability)
        self.probability_ = scatter(found.probability, *places)
        if not found.converged and not interruption(self):
            reason = found.explain(self._descent().mu, self.tol, self.max_iter)
            warnings.warn(f"OFW has not converged: {reason}", ConvergenceWarning, stacklevel=5)
        ranking = Ranking.from_scores(np.where(self.probability_ > 0, self.probability_, np.nan))
        return replace(ranking, certificate=found.certificate(), notes=self._evaluation().note(codes.size))

    def _choose_pool(self, X: Any, codes: np.ndarray, candidates: Candidates) -> Pool:
        """What subsets are drawn from: columns, or groups of them."""
        if candidates.members is None:
            pool, group_of = choose_columns(X, codes, self.preselect, self.group_correlation)
            if group_of is not None:
                self.group_of_ = group_of
            return pool
        if self.group_correlation is not None:
            raise ValueError(
                "groups says which columns are weighted together, and group_correlation finds that in the data: give "
                "one of them"
            )
        pool, self.group_columns_ = choose_groups(X, codes, self.preselect, candidates.members)
        self.group_names_ = [candidates.name(j) for j in range(candidates.n_candidates)]
        return pool

    def _descent(self) -> GradientDescent:
        descent = GradientDescent(self.method) if isinstance(self.method, str) else self.method
        descent._validate_params()
        return descent

    def _evaluation(self) -> SubsetEvaluation:
        evaluation = SubsetEvaluation(test=self.evaluation) if isinstance(self.evaluation, str) else self.evaluation
        evaluation._validate_params()
        return evaluation

    def _energy(self, learner: SubsetLearner, X: Any, codes: np.ndarray, pool: Pool) -> Energy:
        """What is minimized: the table in the learner's precision, and how rows and subsets of it are drawn."""
        splitter = self._evaluation().splitter(codes, learner)
        table = scale_table(X, pool.columns, standardize=self.standardize, single_precision=learner.single_precision)
        return Energy(SubsetTable(table), splitter, learner, self.subset_size_, self.n_subsets, pool.groups)

    def _search(self, energy: Energy, X: Any, pool: Pool, seed: int, path: Any) -> SearchResult:
        """One search, from where an interrupted one ended."""
        checkpoint, seed, saved = self._resume(path, X, energy.splitter.codes, pool, seed)
        # with a checkpoint Ctrl-C leaves the state on disk, from which the same call goes on
        progress = partial(track, self, task_name="learn", total=self.max_iter, interruptible=self.checkpoint is None)
        ends = (self.tol, self.max_iter)
        is_interrupted = partial(interruption, self)
        return minimize_energy(energy, self._descent(), *ends, seed, checkpoint, saved, progress, is_interrupted)

    def _resume(
        self, path: Any, X: Any, codes: np.ndarray, pool: Pool, seed: int
    ) -> tuple[Checkpoint, int, dict[str, np.ndarray] | None]:
        """The checkpoint, and the seed and state that an interrupted run left: all that it depends on must agree."""
        depends_on: dict[str, Any] = {}
        if path is not None:
            free = ("stop", "evaluation", "checkpoint", "n_jobs", "random_state", "null_control")
            parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in free}
            parameters |= {**self._descent().get_params(), **self._evaluation().get_params()}
            depends_on = {name: joblib.hash(value) for name, value in parameters.items()}
            depends_on |= {"X": fingerprint(X), "y": fingerprint(codes), "candidates": fingerprint(pool.columns)}
            # what they amount to, however they are given
            depends_on["groups"] = pool.groups and joblib.hash((pool.groups.sizes, pool.groups.columns))
        checkpoint = Checkpoint(path, {"ranker": "OFW", **depends_on})
        return checkpoint, *checkpoint.resume(seed, is_free=not isinstance(self.random_state, Integral))

    def _null_path(self, turn: int) -> Path | None:
        """Where a run on permuted labels keeps its state."""
        return None if self.checkpoint is None else Path(f"{self.checkpoint}.null{turn or ''}")

    def _choose_subset_size(
        self, candidates: Candidates, X: Any, codes: np.ndarray, n_candidates: int, seed: int
    ) -> int:
        """Features per subset: the root of their number, as given, or the best of several by cross-validation."""
        sizes: Any = self.subset_size
        if isinstance(sizes, str):
            return int(np.ceil(n_candidates**0.5))
        if isinstance(sizes, Integral):
            return min(int(sizes), n_candidates)
        if not len(sizes) or any(not isinstance(size, Integral) or size < 1 for size in sizes):
            raise ValueError(f"subset_size={sizes!r} must hold whole numbers of features, at least 1")
        sizes = sorted({min(int(size), n_candidates) for size in sizes})
        self.subset_size_errors_ = errors = self._cross_validate_sizes(sizes, candidates, X, codes, seed)
        return min(errors, key=errors.__getitem__)

    def _cross_validate_sizes(
        self, sizes: list[int], candidates: Candidates, X: Any, codes: np.ndarray, seed: int
    ) -> dict[int, float]:
        """Mean held-out error of single subsets of each size."""
        rarest = int(np.bincount(codes).min())
        if rarest < 2:
            raise ValueError("a class has a single row, so that subset_size cannot be cross-validated: give one number")
        folds = list(StratifiedKFold(min(_SIZE_FOLDS, rarest), shuffle=True, random_state=seed).split(codes, codes))
        # by place, for X has no names here
        groups = None if candidates.members is None else list(map(candidates.candidate_of, range(candidates.n_columns)))
        shared = {"stop": None, "null_control": False, "n_jobs": None, "random_state": seed, "groups": groups}
        table = Shared(X)
        with open_parallel(self.n_jobs, "list", shared=[table]) as parallel:
            errors = parallel(
                joblib.delayed(OFW._held_out_error)(fresh(self, subset_size=size, **shared), table, codes, *fold)
                for size in sizes
                for fold in folds
            )
        return dict(zip(sizes, np.reshape(errors, (len(sizes), -1)).mean(axis=1).tolist(), strict=True))

    def _held_out_error(self, table: Shared[Any], codes: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
        """Learn a probability on some rows: mean error on the others of classifiers on subsets drawn from it."""
        X = table.value
        self.fit(X[train], codes[train])
        subsets = self._draw_columns(_SIZE_SUBSETS, np.random.RandomState(self.random_state))
        n_classes = int(codes.max()) + 1
        with make_learner(self.estimator, None, n_classes, self.subset_size_) as learner:
            ensemble = fit_ensemble(learner, X[train], codes[train], n_classes, subsets, standardize=self.standardize)
            predicted = ensemble.predict(X[test])
        splitter = Splitter(
            codes, n_classes, 0, one_vs_all=False, out_of_bag=False, balanced=self._evaluation().balanced
        )
        split = splitter.split(train, test, np.ones_like(train), np.ones_like(test))
        return float(split.errors(predicted[:, None, :]).mean())

    def _draw_columns(self, n_subsets: int, rng: np.random.RandomState) -> list[np.ndarray]:
        """Subsets drawn from the learned probability, as columns: a matrix for those of each size."""
        subsets = draw_subsets(self.probability_, n_subsets, self.subset_size_, rng)
        if self.groups is None:
            return [subsets]
        return [columns for _, columns in ColumnGroups(self.group_columns_).expand(subsets)]
