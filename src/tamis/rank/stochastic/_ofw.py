"""Optimal Feature Weighting: a probability over features, learned by stochastic gradient."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets

from tamis._sklearn import HasMethods, Interval, RealNotInt, StrOptions
from tamis.base import Candidates, Ranker, Ranking, track
from tamis.kernels.arrays.entropy import effective_number
from tamis.kernels.arrays.scaling import rescale_safely
from tamis.kernels.arrays.targets import encode_classes
from tamis.rank._checkpoint import Checkpoint, check_place, fingerprint
from tamis.rank.stochastic._candidates import choose_candidates
from tamis.rank.stochastic._learning import Learned, learn_weights, null_place, shuffle_labels, spread
from tamis.rank.stochastic._named import NAMED, open_learner
from tamis.rank.stochastic._problem import Problem, pose_problem
from tamis.rank.stochastic._search import Schedule
from tamis.rank.stochastic._subset_size import choose_size


class OFW(Ranker):
    r"""Learn a probability over features, such that classifiers on subsets drawn from it err least.

    .. math:: \min_{P \in S} E(P) = \sum_{\omega \in F^k} g(\omega) \prod_{i=1}^k P(\omega_i), \qquad
        \nabla E(\delta) = \frac{\mathbb{E}_\omega [g(\omega) C(\omega, \delta)]}{P(\delta)}

    over the simplex :math:`S` (Gadat & Younes 2007, Eqs. 2 and 7), with :math:`g` the error of a classifier that learns
    on one draw of rows and is judged on another, and :math:`C` how often a feature was drawn. Each step draws a batch
    of subsets and follows the mean of :math:`(g - b) C`, where the baseline :math:`b` is the mean error of the other
    subsets of the batch: the gradient stays unbiased, and is far steadier.

    Parameters
    ----------
    estimator : {"svm", "ridge", "neighbors", "hamming", "tree"} or classifier, default="svm"
        What learns on the subsets. A name stands for a learner that takes all subsets of a batch at once
        (:mod:`tamis.rank.stochastic` has their classes, with their parameters); any scikit-learn classifier will do.
    subset_size : int, "sqrt" or sequence of int, default="sqrt"
        Features per subset, k; the root of their number, rounded up, by default. Cross-validation chooses from several.
    method : {"natural", "riemannian", "euclidean", "diffusion", "exact"}, default="natural"
        Geometry of the steps. "riemannian" is the paper's gradient in log P (Eq. 12), "euclidean" in P (Eq. 8),
        "diffusion" the latter with noise, kept in the simplex by projection (Fig. 5); "natural" follows the gradient
        under Fisher's metric. "exact" sums over every possible draw, for small problems.
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" is the effective number of features, :class:`~tamis.stop.EffectiveNumber`.
    n_subsets : int, default=100
        Subsets per step.
    train_size : int or float, default=0.5
        Rows per draw, T in the paper; a fraction of all, or their number.
    evaluation : {"resample", "out-of-bag"}, default="resample"
        Rows to be judged on: a second draw of all rows as in the paper, or rows that were not learned from.
    multiclass : {"auto", "native", "ovr"}, default="auto"
        Error with more than two classes: of the classifier itself, or the mean over one-vs-all problems (Sec. 2.3),
        which is "auto" for "svm".
    balanced : bool, default=False
        Count every class the same in the error, whatever its size.
    standardize : bool, default=True
        Give every column unit variance, and zero mean unless the table is sparse.
    preselect : float, int, selector or None, default=None
        Features to start from: those with a Fisher score above a number (the paper's is 0.01), as many of the best as a
        whole number says, or what a selector keeps.
    group_correlation : float or None, default=None
        Features that correlate at least so much, in absolute value, with a better one are weighted together with it:
        the weight is that of the group, and reported once.
    learning_rate : float or "auto", default="auto"
        First step; "auto" goes by the spread of errors in a first batch.
    decay : float, default=200.0
        Step n is ``learning_rate * decay / (n + decay)``, that is eps / (n + C) with C the decay.
    noise : float, default=0.003
        Of "diffusion": the root of sigma.
    mu : int, default=10
        Stop when the probability has hardly changed over the last n / mu steps...
    tol : float, default=0.05
        ... that is, by at most this much, relative to the largest; alpha in the paper.
    max_iter : int, default=2000
    cv : int, default=5
        Folds by which ``subset_size`` is chosen.
    null_control : bool or int, default=False
        Learn once more on permuted labels, or that many times, to see how far the error falls with nothing to find.
    checkpoint : path, default=None
        File that holds the state of a run; one that was interrupted goes on from there.
    n_jobs : int, default=None
        Workers for a scikit-learn classifier, through joblib; the result is the same.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    probability_ : ndarray of shape (n_features,)
        The learned weights; they sum to one. ``scores_`` holds the same, NaN for features that never took part.
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
        "energy" and "effective_number" of every step, and the "probability" at some of them, see "iteration".
    classes_, n_iter_, order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker, and the labels.

    Notes
    -----
    Cost of a step: the learners, linear in the number of subsets, and O(D) for the update; sparse tables are made dense
    for the columns in use alone. Deviations from the paper, whose Figures 3 and 4 are wrong as printed: signs and
    factors are those of Eqs. 8 to 12; all subsets of a step share one pair of row draws; a draw that misses a class is
    given a row of it; a feature drawn twice counts once for the learner; no weight changes by more than a factor e, or
    0.3 / |F| in the Euclidean methods, in one step; steps that leave the simplex are projected back ("n_outside" in
    ``certificate_``); the stopping rule is relative to the largest weight, looks back to the last snapshot before n - n
    / mu, and not before 20 mu steps. Features that are copies of another to the last digit, and constant ones, take no
    part; those that a Euclidean step left at the same weight tie. With fewer rows than features a low energy proves
    nothing: see ``null_control``.

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
    provides: ClassVar[frozenset[str]] = Ranker.provides | {"probability", "sparse"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("effective-number", {})

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "estimator": [StrOptions(set(NAMED)), HasMethods("fit_subsets"), HasMethods(["fit", "predict"])],
        "subset_size": [
            StrOptions({"sqrt"}),
            Interval(Integral, 1, None, closed="left"),
            list,
            tuple,
            range,
            np.ndarray,
        ],
        "method": [StrOptions({"natural", "riemannian", "euclidean", "diffusion", "exact"})],
        "n_subsets": [Interval(Integral, 2, None, closed="left")],
        "train_size": [Interval(Integral, 2, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right")],
        "evaluation": [StrOptions({"resample", "out-of-bag"})],
        "multiclass": [StrOptions({"auto", "native", "ovr"})],
        "balanced": ["boolean"],
        "standardize": ["boolean"],
        "preselect": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, None, closed="left"),
            HasMethods(["fit", "get_support"]),
            None,
        ],
        "group_correlation": [Interval(Real, 0, 1, closed="right"), None],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "decay": [Interval(Real, 0, None, closed="neither")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "mu": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "null_control": ["boolean", Interval(Integral, 0, None, closed="left")],
        "checkpoint": [str, os.PathLike, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = "svm",
        *,
        subset_size: int | str | Sequence[int] = "sqrt",
        method: str = "natural",
        stop: Any = "auto",
        n_subsets: int = 100,
        train_size: float = 0.5,
        evaluation: str = "resample",
        multiclass: str = "auto",
        balanced: bool = False,
        standardize: bool = True,
        preselect: Any = None,
        group_correlation: float | None = None,
        learning_rate: float | str = "auto",
        decay: float = 200.0,
        noise: float = 0.003,
        mu: int = 10,
        tol: float = 0.05,
        max_iter: int = 2000,
        cv: int = 5,
        null_control: bool | int = False,
        checkpoint: str | os.PathLike | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.subset_size = subset_size
        self.method = method
        self.stop = stop
        self.n_subsets = n_subsets
        self.train_size = train_size
        self.evaluation = evaluation
        self.multiclass = multiclass
        self.balanced = balanced
        self.standardize = standardize
        self.preselect = preselect
        self.group_correlation = group_correlation
        self.learning_rate = learning_rate
        self.decay = decay
        self.noise = noise
        self.mu = mu
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.null_control = null_control
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X = candidates.table
        check_place(self.checkpoint)
        X = rescale_safely(X) if self.standardize else X
        check_classification_targets(y)
        self.classes_, codes = encode_classes(np.asarray(y))
        columns, group_of = choose_candidates(X, codes, self.preselect, self.group_correlation)
        if group_of is not None:
            self.group_of_ = group_of
        n_null = int(self.null_control)
        drawn = int(rng.randint(np.iinfo(np.int32).max - 1 - n_null))
        # that of an interrupted run, if there is one
        _, seed, _ = self._resume(self.checkpoint, X, codes, columns, drawn)
        self.subset_size_, errors = choose_size(self, X, codes, columns.size, seed)
        if errors is not None:
            self.subset_size_errors_ = errors
        places = [null_place(self.checkpoint, turn) for turn in range(n_null)]
        with open_learner(self.estimator, self.n_jobs) as learner:
            problem = pose_problem(self, learner, X, codes, columns)
            found = self._learn(problem, X, columns, seed, self.checkpoint)
            null = [
                self._learn(shuffle_labels(problem, seed + turn), X, columns, seed + 1 + turn, place)
                for turn, place in enumerate(places)
            ]
        for each in (self.checkpoint, *places):
            Checkpoint(each, {}).discard()
        if null:
            self.null_energies_ = np.array([each.energy for each in null])
            self.null_energy_ = float(self.null_energies_.mean())
            self.null_history_ = null[0].history(columns, X.shape[1])
        self.energy_, self.history_, self.n_iter_ = found.energy, found.history(columns, X.shape[1]), found.n_iter
        self.effective_number_ = effective_number(found.probability)
        self.probability_ = spread(found.probability, columns, X.shape[1])
        if not found.converged:
            warnings.warn(f"OFW has not settled: {found.problem(self._schedule())}", ConvergenceWarning, stacklevel=5)
        ranking = Ranking.from_scores(np.where(self.probability_ > 0, self.probability_, np.nan))
        return replace(ranking, certificate=found.certificate())

    def _schedule(self) -> Schedule:
        return Schedule(self.method, self.learning_rate, self.decay, self.noise, self.mu, self.tol, self.max_iter)

    def _learn(self, problem: Problem, X: Any, columns: np.ndarray, seed: int, place: Any) -> Learned:
        """One search, from where an interrupted one ended."""
        checkpoint, seed, saved = self._resume(place, X, problem.splitter.codes, columns, seed)
        watch = partial(track, self, task_name="learn", total=self.max_iter)
        return learn_weights(problem, self._schedule(), seed, checkpoint, saved, watch)

    def _resume(
        self, place: Any, X: Any, codes: np.ndarray, columns: np.ndarray, seed: int
    ) -> tuple[Checkpoint, int, dict[str, np.ndarray] | None]:
        """Where the state is kept, and what an interrupted run left there: all that it depends on must be the same."""
        told: dict[str, Any] = {}
        if place is not None:
            unlike = ("stop", "checkpoint", "n_jobs", "random_state", "null_control")
            told = {
                name: joblib.hash(value) for name, value in self.get_params(deep=False).items() if name not in unlike
            }
            told |= {"X": fingerprint(X), "y": fingerprint(codes), "candidates": fingerprint(columns)}
        checkpoint = Checkpoint(place, {"ranker": "OFW", **told})
        return checkpoint, *checkpoint.resume(seed, is_free=not isinstance(self.random_state, Integral))
