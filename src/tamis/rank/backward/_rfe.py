"""Recursive feature elimination, linear and with kernels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from tamis._sklearn import HasMethods, Interval, StrOptions
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
    n_to_eliminate,
)
from tamis.kernels.arrays.blocks import limit_blas_threads
from tamis.kernels.arrays.scaling import standardize_columns
from tamis.rank._kernel_parameters import KERNEL_CONSTRAINTS
from tamis.rank.backward._elimination_solver import EliminationSolver
from tamis.rank.backward._kernel_solver import KernelSolver
from tamis.rank.backward._learners import LOSSES, Learner, pose_subproblems, read_estimator, resolve_task
from tamis.rank.backward._refit_solver import RefitSolver
from tamis.rank.backward._tall_linear_solver import TallLinearSolver
from tamis.rank.backward._wide_linear_solver import WideLinearSolver, is_wide


class RFE(BackwardRanker):
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
        solved here, to their exact optimum; any other with ``coef_`` or ``feature_importances_`` is fitted again and
        again.
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
        Sum of squared weights, which is what :math:`W^2` loses, or of absolute weights (Lal et al. 2004).
    multiclass : {"ovr", "ovo", "multinomial"}, default="ovr"
        One model per class or pair of classes, or, of logistic regression, one of all classes.
    epsilon : float, default=0.1
        Error up to which "epsilon_insensitive" takes a row as explained, in the units of the target.
    class_weight : dict, "balanced" or None, default=None
    task : {"auto", "regression", "classification"}, default="auto"
    standardize : bool, default=True
        Give columns zero mean and unit variance first (sparse ones are only scaled): units do not matter then.
    tol : float, default=1e-10
        Largest violation of optimality of every model.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The criterion when the feature was eliminated.
    path_ : tuple of Step
        Best feature first; ``info`` holds ``n_features`` (how many there were then), ``margin`` (one over the norm of
        the weights of all models) and ``group``, where there are groups.
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
    primal is, O(nD + D^2) for the squared hinge, ridge and logistic regression; for the hinge and the
    epsilon-insensitive loss by some tens of Newton steps of O(nD + D^3). A kernel costs O(n^2 D) a round. Sparse tables
    stay sparse with linear models.

    Deviations from the paper: intercepts are not penalized (those of a given ``LinearSVC`` are, as there); of equal
    features the last one is eliminated first. scikit-learn's ``RFE`` takes a fraction of all features as ``step``, here
    it is of the remaining ones.

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

    provides: ClassVar[frozenset[str]] = Ranker.provides | {"groups", "sparse"}
    one_shot: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "estimator": [StrOptions({"auto", *LOSSES}), HasMethods("fit")],
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kernel = self.kernel if isinstance(self.estimator, str) else getattr(self.estimator, "kernel", "linear")
        tags.input_tags.sparse = isinstance(kernel, str) and kernel == "linear"
        return tags

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X = candidates.table
        with limit_blas_threads(X.shape[0] * min(X.shape)):
            return super()._rank(candidates, y, rng)

    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> WeightElimination:
        solver = self._train(candidates.table, np.asarray(y))
        _warn_of_zero_weights(solver)
        if candidates.members is None:
            return WeightElimination(solver)
        return GroupWeightElimination(solver, candidates.members, self.group_norm)

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

    def _train(self, X: Any, y: np.ndarray) -> EliminationSolver:
        """The solver that suits kernel and table, trained on all features."""
        task = resolve_task(y, self.task, self.estimator)
        learner = self._learner(y, task)
        if learner is None:
            return RefitSolver(self.estimator, _prepare(X, self.standardize, False), y)
        is_linear = isinstance(learner.kernel, str) and learner.kernel == "linear"
        subproblems = pose_subproblems(y, task, learner)
        centered = is_linear and learner.free_intercept and learner.intercept > 0
        table = _prepare(X, self.standardize, centered).T
        if is_linear:
            kind = WideLinearSolver if is_wide(X.shape, learner) else TallLinearSolver
            table = table.tocsr() if sparse.issparse(table) else np.ascontiguousarray(table)
            return kind(table, subproblems, learner, self.tol)
        if sparse.issparse(X):
            raise ValueError(
                f"sparse input is not supported with kernel={learner.kernel!r}; use kernel='linear', or X.toarray()"
            )
        return KernelSolver(table, subproblems, learner, self.tol)

    def _learner(self, y: np.ndarray, task: str) -> Learner | None:
        """What to train; None for an estimator that only scikit-learn can."""
        if not isinstance(self.estimator, str):
            return read_estimator(self.estimator, np.unique(y).size if task == "classification" else 0)
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


class WeightElimination(Elimination):
    """Features by what they contribute to the squared norm of the weights of trained models."""

    def __init__(self, solver: EliminationSolver) -> None:
        self.solver = solver

    @property
    def remaining(self) -> np.ndarray:  # type: ignore[override]
        """Columns of the table."""
        return self.solver.features

    @property
    def n_remaining(self) -> int:
        """How many these are."""
        return self.solver.n_features

    @property
    def rounding_tol(self) -> float:  # type: ignore[override]
        """Criterion that rounding alone explains."""
        return self.solver.rounding_tol

    def criteria(self) -> np.ndarray:
        """Contributions to the squared norm."""
        return self.solver.criteria()

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """The least, without computing all criteria where the solver can do that."""
        one_leaves = n_to_eliminate(step, self.n_remaining) == 1
        least = self.solver.least() if one_leaves and self.keep.size == 0 else None
        return super().next_to_leave(step) if least is None else (np.array([least[0]]), np.array([least[1]]))

    def remove(self, leaving: np.ndarray) -> None:
        """Train without them, at once: the solver starts from where it is."""
        self.solver.remove(leaving)

    def info(self) -> Mapping[str, Any]:
        """How many columns remain, and the margin: one over the norm of the weights of all models."""
        norm2 = self.solver.squared_norm
        info: dict[str, Any] = {"n_features": self.solver.n_features}
        if norm2 is not None:
            info["margin"] = 1.0 / norm2**0.5 if norm2 > 0 else np.inf
        return info

    def certificate(self) -> dict[str, Any]:
        """How well the models were trained."""
        solver = self.solver
        return {"converged": solver.converged, "residual": solver.residual, "n_iter": solver.n_iter}


class GroupWeightElimination(WeightElimination):
    """Groups of columns by the same, or by the sum of their absolute weights.

    Parameters
    ----------
    solver : EliminationSolver
    members : list of ndarray
        Columns of every group.
    norm : {"l2", "l1"}
    """

    def __init__(self, solver: EliminationSolver, members: list[np.ndarray], norm: str) -> None:
        super().__init__(solver)
        self.members, self.norm = members, norm
        self._remaining = np.arange(len(members))

    @property
    def remaining(self) -> np.ndarray:  # type: ignore[override]
        """Groups."""
        return self._remaining

    @property
    def n_remaining(self) -> int:
        """How many these are."""
        return self._remaining.size

    def criteria(self) -> np.ndarray:
        """Of each group: the change of the squared norm without it, or the sum over its columns."""
        groups = [self.members[g] for g in self._remaining]
        if self.norm == "l2" and (whole := self.solver.group_criteria(groups)) is not None:
            return whole
        values = np.zeros(sum(columns.size for columns in self.members))
        criteria = self.solver.criteria()
        values[self.solver.features] = criteria if self.norm == "l2" else np.sqrt(criteria)
        return np.array([values[columns].sum() for columns in groups])

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """The groups of the least criteria."""
        return Elimination.next_to_leave(self, step)

    def remove(self, leaving: np.ndarray) -> None:
        """Train without their columns."""
        self._remaining = self._remaining[~np.isin(self._remaining, leaving)]
        super().remove(np.concatenate([self.members[g] for g in leaving]))


def _prepare(X: Any, standardize: bool, centered: bool) -> Any:
    """Columns in double precision, of unit variance if asked; centered where an intercept makes up for it."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    if standardize:
        return standardize_columns(X.astype(float))
    if sparse.issparse(X) or not centered:
        return X.astype(float)
    return X - X.mean(axis=0, dtype=float)


def _warn_of_zero_weights(solver: EliminationSolver) -> None:
    """An order of weights that are all zero means nothing."""
    norm2 = solver.squared_norm
    if norm2 is not None and 0 < norm2 <= solver.rounding_tol * solver.n_features:
        warnings.warn(
            "RFE's model gives no feature a weight, so that the order is that of the columns: classes are too "
            "unbalanced for its cost C; raise C, or use class_weight='balanced'",
            stacklevel=2,
        )
