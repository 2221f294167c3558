"""Recursive feature elimination, linear and with kernels."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import Tags, get_tags

from tamis._sklearn import HasMethods, Interval, StrOptions, safe_indexing
from tamis.base import (
    GROUPS_CONSTRAINT,
    STEP_CONSTRAINT,
    BackwardRanker,
    Candidates,
    Elimination,
    Ranker,
    Ranking,
    Step,
    StepSize,
    StopDecision,
    StoppingRule,
    WeightedRanker,
)
from tamis.kernels.arrays.blocks import limit_blas_threads
from tamis.kernels.arrays.transfer import host_table
from tamis.rank._kernel_parameters import KERNEL_CONSTRAINTS
from tamis.rank._missing import takes_missing
from tamis.rank.backward._block_linear_solver import BlockLinearSolver
from tamis.rank.backward._block_problem import BLOCK_LOSSES, GatheredRows, can_train_in_blocks, pose_in_blocks
from tamis.rank.backward._compressed_ridge import CompressedRidge, compress_ridge
from tamis.rank.backward._elimination_solver import EliminationSolver
from tamis.rank.backward._exact_training import (
    can_train_in_place,
    has_free_intercept,
    is_linear,
    prepare_columns,
    resolve_kernel,
    train_exactly,
)
from tamis.rank.backward._kept_model import constant_model, train_kept_model
from tamis.rank.backward._kept_predictor import (
    KeptColumnsPredictor,
    fit_constant_model,
    fit_given_estimator,
    fit_standard_scaler,
)
from tamis.rank.backward._learners import LOSSES, Learner, pose_subproblems, read_estimator, resolve_task
from tamis.rank.backward._refit_solver import RefitSolver, prepare_for_refit
from tamis.rank.backward._weight_elimination import GroupWeightElimination, WeightElimination


class RFE(KeptColumnsPredictor, WeightedRanker, BackwardRanker):
    r"""Recursive feature elimination: the feature of least weight in a linear or kernel model is eliminated.

    .. math:: \arg\min_p \bigl| W^2 - W_{(-p)}^2 \bigr|, \qquad
              W^2 = \sum_{k,l} \alpha_k \alpha_l y_k y_l k(x_k, x_l)

    with :math:`\alpha` fixed (Lal et al. 2006, algorithm 2): for a linear kernel that is the least :math:`w_p^2`
    (algorithm 1). The model is trained again without the feature, and so on; the last to be eliminated is the best.
    Several classes: the criterion is summed over the models, which lose the same feature.

    Parameters
    ----------
    estimator : str or estimator, default="auto"
        "squared_hinge", "hinge" or "logistic" for classes, "ridge" or "epsilon_insensitive" (support vector regression)
        for quantities; "auto" is "squared_hinge" for classes, "ridge" for quantities. Or a scikit-learn estimator:
        ``SVC``, ``LinearSVC``, ``SVR``, ``LinearSVR``, ``Ridge``, ``RidgeClassifier`` and ``LogisticRegression`` are
        solved here, to their exact optimum; any other with ``coef_`` or ``feature_importances_``, or a pipeline that
        ends in one, is fitted again and again.
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %. With
        ``groups`` it counts groups.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    step : int, float or "halving", default=1
        Features to eliminate at a time, the fraction of the remaining ones, or down to a power of two. With ``groups``
        it counts groups.
    C : float, default=1.0
        Weight of errors against half the squared norm (1 / (2 alpha) for ridge); not used with a given estimator.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", or another of scikit-learn's pairwise kernels, or a function of two tables.
    gamma : float, "scale" or "auto", default="scale"
        As in scikit-learn: "scale" is one over the number of features times the variance of the table, "auto" one over
        the number of features; it stays the same as features are eliminated.
    degree : float, default=3
    coef0 : float, default=0.0
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together.
    group_norm : {"l2", "l1"}, default="l2"
        Squared weights, whose sum is what :math:`W^2` loses, or absolute weights (Lal et al. 2004); their mean over
        the columns of a group, so that a group does not stay for its size.
    multiclass : {"ovr", "ovo", "multinomial"}, default="ovr"
        One model per class or pair of classes, or, of logistic regression, one of all classes.
    epsilon : float, default=0.1
        Error up to which "epsilon_insensitive" takes a row as explained, in the units of the target.
    class_weight : dict, "balanced" or None, default=None
    task : {"auto", "regression", "classification"}, default="auto"
    standardize : bool, default=True
        Give columns zero mean and unit variance first (sparse ones are only scaled): units do not matter then. This
        holds for the ranking, for ``estimator_`` and for the models by which ``stop=CrossValidation(...)`` judges.
    tol : float, default=1e-10
        Largest violation of optimality of every model.
    importance_getter : str or callable, default="auto"
        Where a given estimator has its importances: a path of attributes such as ``"named_steps.svc.coef_"``, or a
        function of the fitted estimator. Their squares, summed over outputs, are what features are eliminated by.
        "auto" looks for ``coef_``, then for ``feature_importances_``. With another one every estimator is fitted as it
        is.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The criterion when the feature was eliminated.
    path_ : tuple of Step
        Best feature first; ``info`` holds ``n_features`` (how many there were then), ``margin`` (one over the norm of
        the weights of all models) and ``group``, where there are groups.
    estimator_ : estimator
        Fitted on the columns that are kept: a copy of the given estimator (behind a ``StandardScaler``, in a pipeline
        of steps "standardize" and "estimator", if ``standardize``), or the model of the named loss, with ``coef_`` and
        ``intercept_`` in the units of the table if it is linear. Without columns it is the most frequent class or the
        mean. :meth:`predict`, :meth:`score`, ``decision_function``, ``predict_proba`` and ``predict_log_proba`` give it
        the columns that are kept, and are there where it has them.
    classes_ : ndarray
        Labels, for classes.
    group_order_ : ndarray
        Labels of the groups, best first, with ``groups``.
    order_, ranking_, support_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``residual`` (largest violation of optimality of any model on the path) and ``n_iter``.

    Notes
    -----
    Cost of leaving one feature out: with no more rows than columns the n x n Gram matrix is downdated and the dual is
    solved from the last one, O(n^2) as a rule; a pass over the table is made only when weights may have changed enough
    to matter, so that 7129 genes of 72 patients are ranked one by one within a second. With more rows than columns the
    primal is, O(nD + D^2) for the squared hinge, ridge and logistic regression (with eight times as many rows as
    columns, and up to 600 of these, O(D^3) for ridge and one pass over the table for the squared hinge); for the hinge
    and the epsilon-insensitive loss by some tens of Newton steps of O(nD + D^3). A kernel costs O(n^2 D) a round.
    Sparse tables stay sparse with linear models. Under scikit-learn's ``array_api_dispatch`` an array with no more rows
    than columns stays on its device with linear models: the Gram matrix, weights, and a few hundred columns at a time,
    of which some leave next, come from it, and the n x n problems are solved on the host. Others are copied to the host
    once, and so are the columns that are kept. One more model is trained, on what is kept. Files and dask collections
    are read in blocks where ``stop`` is a number and models are linear: in one pass for ridge (``estimator="ridge"``,
    ``Ridge``, ``RidgeClassifier``); for the squared hinge and logistic regression (``LinearSVC``,
    ``LogisticRegression`` of two classes) in passes that each tell the gradients of dozens of models on the path, far
    fewer than there are features, and more where few rows are inside the margin. Every model is exact to ``tol`` over
    all rows. Several classes: one model per class. :attr:`estimator_` is then the model itself.

    The default rule ranks twenty times, among copies of all columns. On tall tables that takes about eleven times the
    memory of the table, with 500 rows and 20 000 columns more than a minute: a number as ``stop`` ranks once.

    A row of weight m in ``sample_weight`` counts as m copies of it, in means and variances of columns as well; it is
    handed to a given estimator, and to the steps of a pipeline that take it. Missing values and several targets are
    handed on where the given estimator says that it takes them.

    Deviations from the paper: intercepts are not penalized (those of a given ``LinearSVC`` are, as there); of equal
    features the last one is eliminated first; the criterion of a group is per column. scikit-learn's ``RFE`` takes a
    fraction of all features as ``step``, here it is of the remaining ones.

    References
    ----------
    Guyon, Weston, Barnhill and Vapnik, "Gene selection for cancer classification using support vector machines",
    Machine Learning 46, 2002. Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer,
    2006, Sec. 2.3. Zhu and Hastie, "Classification of gene microarrays by penalized logistic regression", 2004.

    Examples
    --------
    >>> from tamis import RFE
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> RFE(stop=5).fit(X, y > 0).get_support(indices=True)
    array([0, 1, 2, 3, 4])
    """

    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {
        "array_api",
        "dask",
        "groups",
        "row_blocks",
        "several_targets",
        "sparse",
    }
    one_shot: ClassVar[bool] = False
    _block_models: GatheredRows | BlockLinearSolver  # while a table that is read in blocks is fitted

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "estimator": [StrOptions({"auto", *LOSSES}), HasMethods("fit")],
        "importance_getter": [str, callable],
        "step": STEP_CONSTRAINT,
        "C": [Interval(Real, 0, None, closed="neither")],
        **KERNEL_CONSTRAINTS,
        "groups": GROUPS_CONSTRAINT,
        "group_norm": [StrOptions({"l1", "l2"})],
        "multiclass": [StrOptions({"ovr", "ovo", "multinomial"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "standardize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        step: StepSize = 1,
        C: float = 1.0,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        groups: Any = None,
        group_norm: str = "l2",
        multiclass: str = "ovr",
        epsilon: float = 0.1,
        class_weight: Any = None,
        task: str = "auto",
        standardize: bool = True,
        tol: float = 1e-10,
        importance_getter: Any = "auto",
    ) -> None:
        self.estimator = estimator
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.step = step
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.groups = groups
        self.group_norm = group_norm
        self.multiclass = multiclass
        self.epsilon = epsilon
        self.class_weight = class_weight
        self.task = task
        self.standardize = standardize
        self.tol = tol
        self.importance_getter = importance_getter

    def __sklearn_tags__(self) -> Tags:
        tags = self._tags_of_predictor(super().__sklearn_tags__())
        kernel = self.kernel if isinstance(self.estimator, str) else getattr(self.estimator, "kernel", "linear")
        tags.input_tags.sparse &= isinstance(kernel, str) and kernel == "linear"
        tags.input_tags.allow_nan = self._takes_missing()
        return tags

    def _reads_blocks(self) -> bool:
        """Where models are linear, and their gradients sums over rows."""
        if isinstance(self.estimator, str):
            is_linear_kernel = isinstance(self.kernel, str) and self.kernel == "linear"
            return is_linear_kernel and self.estimator in ("auto", "ridge", *BLOCK_LOSSES)
        return isinstance(self.estimator, Ridge | RidgeClassifier | LinearSVC | LogisticRegression)

    def _takes_missing(self) -> bool:
        """Where the given estimator does."""
        return not isinstance(self.estimator, str) and takes_missing(self.estimator)

    def _takes_several_targets(self) -> bool:
        """Where the given estimator does."""
        return not isinstance(self.estimator, str) and get_tags(self.estimator).target_tags.multi_output

    def _find_task(self, y: np.ndarray | None) -> str:
        """That of the estimator, where it is for one only."""
        return resolve_task(np.asarray(y), self.task, self.estimator)

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X = candidates.table
        with limit_blas_threads(X.shape[0] * min(X.shape)):
            return super()._rank(candidates, y, rng)

    def _fit_candidates(
        self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule
    ) -> tuple[Ranking, StopDecision]:
        try:
            found = super()._fit_candidates(candidates, y, rule)
            with limit_blas_threads(candidates.table.shape[0] * min(candidates.table.shape)):
                self.estimator_ = self._fit_on_kept(candidates, np.asarray(y), self.get_support(indices=True))
        finally:
            if hasattr(self, "_block_models"):
                del self._block_models  # which hold the table
        return found

    def fit_scaler(self, columns: Any, sample_weight: np.ndarray | None) -> Any:
        """As for ``estimator_``, so that folds are judged by models like it."""
        return fit_standard_scaler(columns, sample_weight) if self.standardize else None

    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> WeightElimination:
        if candidates.in_blocks:
            solver = self._start_in_blocks(candidates, np.asarray(y))
        else:
            solver = self._train(candidates.table, np.asarray(y), candidates.sample_weight)
        if candidates.members is None:
            elimination = WeightElimination(solver)
        else:
            elimination = GroupWeightElimination(solver, candidates.members, self.group_norm)
        if isinstance(solver, BlockLinearSolver):
            elimination.keep = candidates.keep
            solver.train(elimination, self.step)
        _warn_of_zero_weights(solver)
        return elimination

    def _conclude(self, elimination: Elimination, path: list[Step], n_candidates: int) -> Ranking:
        certificate = elimination.certificate()
        if not certificate["converged"]:
            warnings.warn(
                f"RFE trained models only to a violation of {certificate['residual']:.2g}; raise tol={self.tol:g}, or "
                "lower the cost C of errors",
                ConvergenceWarning,
                stacklevel=2,
            )
        return super()._conclude(elimination, path, n_candidates)

    def _train(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> EliminationSolver:
        """The solver that suits estimator and table, trained on all features."""
        task = resolve_task(y, self.task, self.estimator)
        learner = self._learner(y, task, sample_weight)
        X = X if can_train_in_place(X, learner) else host_table(X)
        if learner is None:
            table = prepare_for_refit(X, sample_weight, standardize=self.standardize)
            return RefitSolver(self.estimator, table, y, sample_weight, self.importance_getter)
        centered = has_free_intercept(learner)
        table = prepare_columns(X, sample_weight, standardize=self.standardize, centered=centered)
        learner = resolve_kernel(learner, table, sample_weight)
        return train_exactly(table, pose_subproblems(y, task, learner, sample_weight), learner, self.tol)

    def _start_in_blocks(self, candidates: Candidates, y: np.ndarray) -> EliminationSolver:
        """The solver for a table that is read in blocks; that of the squared hinge and of logistic regression waits."""
        learner = self._learner_in_blocks(y, candidates.sample_weight)
        if learner.loss == "ridge":
            return self._compressed_ridge(candidates, y, learner).train()
        problem = pose_in_blocks(candidates, y, learner, standardize=self.standardize, tol=self.tol)
        if problem.is_small:
            self._block_models = gathered = GatheredRows(problem)
            return gathered.train()
        self._block_models = solver = BlockLinearSolver(problem)
        return solver

    def _learner_in_blocks(self, y: np.ndarray, sample_weight: np.ndarray | None) -> Learner:
        """What to train on rows that are read in blocks; refuses what needs them in memory."""
        learner = self._learner(y, resolve_task(y, self.task, self.estimator), sample_weight)
        if learner is None or not can_train_in_blocks(learner):
            raise ValueError(
                "RFE reads rows in blocks for linear models of ridge regression, the squared hinge and logistic "
                "regression, and this model needs all rows in memory: use estimator='ridge', 'squared_hinge' or "
                "'logistic', or give X as an array"
            )
        return learner

    def _compressed_ridge(self, candidates: Candidates, y: np.ndarray, learner: Learner) -> CompressedRidge:
        """Ridge models of a table that is read in blocks, from sums over its rows."""
        task = resolve_task(y, self.task, self.estimator)
        return compress_ridge(candidates, y, learner, task=task, standardize=self.standardize, tol=self.tol)

    def _fit_in_blocks(self, candidates: Candidates, y: np.ndarray, features: np.ndarray, task: str) -> Any:
        """The predictor on the columns that are kept of a table that is read in blocks."""
        learner = self._learner_in_blocks(y, candidates.sample_weight)
        if features.size == 0:
            return constant_model(y, learner, task=task, sample_weight=candidates.sample_weight)
        if learner.loss == "ridge":
            return self._compressed_ridge(candidates, y, learner).kept_model(features, y, task)
        return self._block_models.kept_model(features)

    def _fit_on_kept(self, candidates: Candidates, y: np.ndarray, features: np.ndarray) -> Any:
        """The predictor on the columns that are kept, in the units of the table."""
        X, weight, task = candidates.table, candidates.sample_weight, resolve_task(y, self.task, self.estimator)
        if candidates.in_blocks:
            return self._fit_in_blocks(candidates, y, features, task)
        columns = host_table(safe_indexing(X, features, axis=1))
        if not isinstance(self.estimator, str):
            if features.size == 0:
                return fit_constant_model(columns, y, weight, task=task)
            return fit_given_estimator(self.estimator, columns, y, weight, standardize=self.standardize)
        learner = self._named_learner(task)
        if features.size == 0:
            return constant_model(y, learner, task=task, sample_weight=weight)
        if not is_linear(learner):
            table = prepare_columns(host_table(X), weight, standardize=self.standardize, centered=False)
            learner = resolve_kernel(learner, table, weight)
        return train_kept_model(
            columns,
            y,
            features,
            learner,
            task=task,
            sample_weight=weight,
            standardize=self.standardize,
            tol=self.tol,
        )

    def _learner(self, y: np.ndarray, task: str, sample_weight: np.ndarray | None) -> Learner | None:
        """What to train here; None for an estimator that is fitted as it is."""
        if not isinstance(self.estimator, str):
            # "balanced" means other weights of classes in some estimators than in others where rows are weighted
            is_balanced = sample_weight is not None and getattr(self.estimator, "class_weight", None) == "balanced"
            if y.ndim > 1 or is_balanced or self.importance_getter != "auto":
                return None
            return read_estimator(self.estimator, np.unique(y).size if task == "classification" else 0)
        return self._named_learner(task)

    def _named_learner(self, task: str) -> Learner:
        """The loss that has a name, with the parameters given here."""
        if self.importance_getter != "auto":
            raise ValueError(
                f"importance_getter is for a given estimator, but estimator='{self.estimator}'; leave it out"
            )
        loss = self.estimator
        if loss == "auto":
            loss = "squared_hinge" if task == "classification" else "ridge"
        if self.multiclass == "multinomial" and loss != "logistic":
            raise ValueError(
                f"multiclass='multinomial' needs estimator='logistic', not {loss!r}; or use multiclass='ovr' or 'ovo'"
            )
        return Learner(
            loss,
            self.C,
            class_weight=self.class_weight,
            multiclass=self.multiclass,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            epsilon=self.epsilon,
        )


def _warn_of_zero_weights(solver: EliminationSolver) -> None:
    """An order of weights that are all zero means nothing."""
    norm2 = solver.squared_norm
    if norm2 is not None and 0 < norm2 <= solver.rounding_tol * solver.n_features:
        warnings.warn(
            "RFE's model gives no feature a weight, so that the order is that of the columns: classes are too "
            "unbalanced for its cost C; raise C, or use class_weight='balanced'",
            stacklevel=2,
        )
