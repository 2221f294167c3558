"""The zero norm by multiplicative updates of scaling factors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from tamis._sklearn import Interval, StrOptions, safe_indexing
from tamis.base import (
    Candidates,
    LinearModel,
    fresh,
)
from tamis.kernels.solvers.feature_kernel import resolve_gamma
from tamis.rank._kernel_model import KernelModel
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._multiplicative_updates import (
    Round,
    group_owners,
    mean_over_groups,
    multiplicative_updates,
    prepared_columns,
)
from tamis.rank._rounds import best_round, hold_out, round_criteria
from tamis.rank._scaled_machines import KERNELS, ScaledMachines, Trained
from tamis.rank._scaling_base import ScalingRanker
from tamis.rank._validation import selection_error, validation_folds
from tamis.rank.sparse._smooth_loss import classification_errors

_COSTS = 10.0 ** np.arange(-2.0, 4.0)  # from which C="auto" is chosen
_MACHINE_TOL = 1e-9  # of every machine


class ZeroNorm(ScalingRanker):
    r"""The zero norm by multiplicative updates: columns are scaled by their weights until few are left.

    .. math:: \min_w \sum_j \log(\epsilon + |w_j|) \ \text{ with }\ y_i (w^\top x_i + b) \ge 1
              \qquad\text{by}\qquad \sigma^{t+1} = \sigma^t * |w^t|,

    where :math:`w^t` are the weights of a support vector machine on the columns times :math:`\sigma^t` (Lal et al.
    2006, algorithm 4). Here the margin is soft, and :math:`\sigma` rescaled to a constant sum of squares every round.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that are left when nothing changes. A number k ends the rounds before fewer
        than k features are left, which is what makes the method work on few rows.
    loss : {"auto", "squared_hinge", "hinge", "squared", "sparse_fisher"}, default="auto"
        "auto" is the squared hinge for classes and the squared error for a quantity. "squared" of classes is Fisher's
        discriminant; "sparse_fisher" has the l1 norm of its dual variables in place of half the
        squared norm, and half the squared errors; C is raised where no variable would be left.
    C : float or "auto", default=1.0
        Cost of errors against half the squared norm, for a linear kernel whose diagonal is about one: the inner product
        over the number of features. "auto" is chosen by cross-validation, among powers of ten, with as many features as
        ``stop`` asks for.
    kernel : {"linear", "rbf", "poly"}, default="linear"
        Of the scaled columns. The squared weight of a column is then :math:`\sigma_j^2\, \partial W^2 / \partial
        \sigma_j^2` with fixed dual variables, as for a linear kernel.
    gamma : float, "scale" or "auto", default="scale"
    degree : float, default=3
    coef0 : float, default=0.0
        Of the kernel, as in scikit-learn.
    max_iter : int, default=100
        Rounds.
    tol : float, default=1e-3
        Largest change of a scaling factor, relative to the largest one, at which nothing changes.
    early_stopping : bool, default=False
        Stop after the round whose machines have the fewest errors on held-out rows.
    validation_fraction : float, default=0.2
        Share of the rows that are held out for it.
    cv : int, splitter or iterable, default=5
        Folds for ``C="auto"``.
    standardize : bool, default=True
        Give columns zero mean and unit variance first (sparse ones are only scaled): units do not matter then.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    class_weight : dict, "balanced" or None, default=None
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group have one scaling factor, which is
        multiplied by the root mean square of their weights.
    n_jobs : int, default=None
        Folds in parallel, through joblib.
    random_state : int, RandomState or None, default=None
        For the rows that ``early_stopping`` holds out.

    Attributes
    ----------
    order_ : ndarray
        Features by the round in which they vanished, those left at the end first, by their scaling factors.
    scores_ : ndarray of shape (n_features,)
        Rounds that the feature lasted, plus a share of one by its scaling factor in the last of them.
    sigma_ : ndarray of shape (n_features,)
        Scaling factors at the end.
    coef_, intercept_ : ndarray
        Weights in the units of ``X``, of a machine on the selected features; with a linear kernel.
    estimator_ : LinearModel or KernelModel
        The same for transformed tables: ``decision_function`` and ``predict``.
    C_ : float
    n_iter_ : int
        Rounds.
    classes_ : ndarray
        Labels, for classification.
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter``, ``change`` (of a scaling factor, in the last round), ``residual`` (largest violation
        of optimality of any machine) and ``imbalance`` (largest relative difference of the weights of scaled columns,
        or groups of them, from their mean: at a fixed point these are all equal).

    Notes
    -----
    Cost of a round: O(n^2 k) for the kernel matrix of k remaining columns and a dual problem in n variables; with more
    rows than columns and a squared loss O(n k^2). k falls fast: 7129 genes of 72 patients take some ten rounds. Sparse
    tables stay sparse with a linear kernel.

    Run to the end on few rows it finds the smallest set that separates, and overfits; stopped at k features it does
    not. Several classes share their scaling factors, multiplied by the norm of a column's weights over the classes. Of
    columns that are copies of one another only the first has a factor.

    Deviations from the paper: as printed, with a soft margin, the scaling factors shrink until no margin is left and
    one or two features remain: they are rescaled. Where factors go back and forth between two values, which they may
    with a kernel that is not linear, weights are taken to the power of one half, one quarter and so on. Features rank
    by when they vanish: sets of different k are not nested. The intercept is free.

    References
    ----------
    Weston, Elisseeff, Schoelkopf and Tipping, "Use of the zero-norm with linear models and kernel methods", JMLR 3,
    2003. Mika, Raetsch and Mueller, "A mathematical programming approach to the kernel Fisher algorithm", NIPS 2000.
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 4.3 and 4.5.

    Examples
    --------
    >>> from tamis import ZeroNorm
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(ZeroNorm(stop=5).fit(X, y).order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    _parameter_constraints: ClassVar[dict] = {
        **ScalingRanker._parameter_constraints,
        "loss": [StrOptions({"auto", "squared_hinge", "hinge", "squared", "sparse_fisher"})],
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNELS))],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        loss: str = "auto",
        C: float | str = 1.0,
        kernel: str = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        max_iter: int = 100,
        tol: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        cv: Any = 5,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        groups: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.stop = stop
        self.loss = loss
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.groups = groups
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel == "linear"
        return tags

    def _prepare(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None) -> int:
        self.C_ = self._validated_cost(candidates, y, problem, n_top) if self.C == "auto" else float(self.C)
        return self._validated_rounds(candidates, y, problem) if self.early_stopping else self.max_iter

    def _loss(self, problem: LinearProblem) -> str:
        is_quantity = problem.classes is None
        if self.loss == "auto":
            return "squared" if is_quantity else "squared_hinge"
        if is_quantity and self.loss != "squared":
            raise ValueError(
                f"loss='{self.loss}' is for classes, but y holds quantities; use loss='squared' or "
                "task='classification'"
            )
        return self.loss

    def _machines(self, problem: LinearProblem, A: Any) -> ScaledMachines:
        if self.kernel != "linear" and sparse.issparse(A):
            raise ValueError(f"sparse input is not supported with kernel={self.kernel!r}; use 'linear', or X.toarray()")
        gamma = 1.0 / A.shape[1] if self.kernel == "linear" else resolve_gamma(self.gamma, A)
        return ScaledMachines(
            problem.Y,
            self.C_ * problem.columns.sqrt_weight**2,
            self._loss(problem),
            self.kernel,
            gamma,
            float(self.degree),
            float(self.coef0),
            _MACHINE_TOL,
        )

    def _rounds(self, candidates: Candidates, problem: LinearProblem) -> Iterator[Round]:
        alive = np.flatnonzero(problem.scale > 0)
        if not alive.size:
            return iter(())
        A = prepared_columns(problem, alive)
        return multiplicative_updates(A, alive, group_owners(candidates), self._machines(problem, A), self.tol)

    def _criteria(self, factors: Sequence[Mapping[int, float]], order: Sequence[int]) -> list[float]:
        return round_criteria(factors, order)

    def _certify(self, candidates: Candidates, rounds: Sequence[Round], n_rounds: int) -> dict[str, Any]:
        if not rounds:
            return {"converged": True, "n_iter": 0, "change": 0.0, "residual": 0.0, "imbalance": 0.0}
        last, owners = rounds[-1], group_owners(candidates)
        change = float(np.abs(last.updated - last.sigma).max() / max(float(last.updated.max()), np.finfo(float).tiny))
        left = last.updated > 0
        sizes = np.sqrt(mean_over_groups(last.machines.weights2, last.alive, owners)[left])
        imbalance = float(np.abs(sizes / sizes.mean() - 1.0).max()) if sizes.any() else 0.0
        residual = max(done.machines.residual for done in rounds)
        if residual > 1e-6:
            warnings.warn(
                f"ZeroNorm trained machines only to a violation of {residual:.2g}; lower the cost C of errors",
                ConvergenceWarning,
                stacklevel=2,
            )
        is_cut = len(rounds) >= self.max_iter and n_rounds == self.max_iter and change > self.tol
        if is_cut:
            warnings.warn(
                f"ZeroNorm's scaling factors still change by {change:.2g} after {len(rounds)} rounds; raise "
                f"max_iter={self.max_iter}, or tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return {
            "converged": bool(residual <= 1e-6) and not is_cut,
            "n_iter": len(rounds),
            "change": change,
            "residual": residual,
            "imbalance": imbalance,
        }

    # the model of what is kept

    def _train(self, problem: LinearProblem, features: np.ndarray) -> LinearModel | KernelModel:
        if self.kernel != "linear":
            return self._train_kernel_model(problem, features)
        weights, intercept = np.zeros((features.size, problem.Y.shape[1])), problem.row_shares @ problem.Y
        varying = np.flatnonzero(problem.scale[features] > 0)
        if varying.size:
            A = prepared_columns(problem, features[varying])
            trained = self._machines(problem, A).train(A, np.ones(varying.size))
            weights[varying], intercept = trained.coef, centered_intercept(problem, features[varying], trained)
        return problem.model(features, weights, intercept)

    def _train_kernel_model(self, problem: LinearProblem, features: np.ndarray) -> KernelModel:
        A = prepared_columns(problem, features)
        machines = self._machines(problem, A) if features.size else None
        if machines is None:
            return KernelModel.constant(features, problem)
        trained = machines.train(A, np.ones(features.size))
        return KernelModel(features, problem, A, machines, trained, np.ones(features.size))

    # cross-validation and held-out rows

    def _validated_cost(
        self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None
    ) -> float:
        """The smallest cost with the least error on held-out rows, with as many features as are asked for."""
        folds = validation_folds(self.cv, candidates.table, y, problem.classes, self._kept_rows)
        if folds is None:
            return 1.0
        tasks = [(float(C), train, test) for C in _COSTS for train, test in folds]
        errors = Parallel(n_jobs=self.n_jobs)(
            delayed(selection_error)(fresh(self, C=C, n_jobs=None), candidates, y, problem, train, test, n_top)
            for C, train, test in tasks
        )
        mean = np.reshape(errors, (_COSTS.size, len(folds))).mean(axis=1)
        return float(_COSTS[int(np.argmin(mean))])

    def _validated_rounds(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem) -> int:
        """Rounds after which machines on some of the rows have the fewest errors on the others."""
        is_classes = problem.classes is not None
        parts = hold_out(y, self.validation_fraction, is_classes=is_classes, rng=self._rng())
        if parts is None:
            return self.max_iter
        train, test = parts
        seen = candidates.take_rows(train)
        part, errors = self._pose(seen, y[train]), []
        unseen, truth = safe_indexing(candidates.table, test), problem.Y[test]
        for done in self._rounds(seen, part):
            outputs = self._model_of(part, done).decision_function(safe_indexing(unseen, done.alive, axis=1))
            outputs = (outputs - problem.center) / problem.unit
            wrong = classification_errors(outputs, truth) if is_classes else (outputs - truth)[:, 0] ** 2
            errors.append(float(np.average(wrong, weights=problem.row_shares[test])))
            if len(errors) == self.max_iter:
                break
        return best_round(errors) + 1 if errors else self.max_iter

    def _model_of(self, problem: LinearProblem, done: Round) -> LinearModel | KernelModel:
        """The machines of a round, on columns times their scaling factors."""
        if self.kernel != "linear":
            rows = prepared_columns(problem, done.alive) * done.sigma
            return KernelModel(done.alive, problem, rows, done.settings, done.machines, done.sigma)
        coef, intercept = done.machines.coef, centered_intercept(problem, done.alive, done.machines)
        assert coef is not None  # of a linear kernel
        return problem.model(done.alive, coef, intercept)


def centered_intercept(problem: LinearProblem, features: np.ndarray, trained: Trained) -> np.ndarray:
    """The intercept of centered columns; sparse ones were not centered."""
    if not sparse.issparse(problem.table):
        return trained.intercept
    return trained.intercept + (problem.columns.means(features) * problem.scale[features]) @ trained.coef
