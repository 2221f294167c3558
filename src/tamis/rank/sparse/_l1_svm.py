"""The support vector machine with an l1 penalty."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.kernels.solvers.losses import LOSSES
from tamis.kernels.solvers.penalized_path import PenalizedPath
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._row_sample import SampledRanker
from tamis.rank.sparse._costed import CostedRanker, resolve_loss
from tamis.rank.sparse._hinge_path import HingePath
from tamis.rank.sparse._target_paths import PathSolver


class L1SVM(SampledRanker, CostedRanker):
    r"""The support vector machine with an l1 penalty: features rank by when they get a weight as errors cost more.

    .. math:: \min_{w, b, \xi} \sum_j |w_j| + C \sum_i \xi_i \quad\text{with}\quad
              y_i (w^\top x_i + b) \ge 1 - \xi_i, \ \xi_i \ge 0

    (Lal et al. 2006, Sec. 4.2), a linear program; or :math:`C \sum_i \xi_i^2`, or, for a quantity,
    :math:`\xi_i = \max(0, |w^\top x_i + b - y_i| - \epsilon)`. Unlike the squared norm, which spreads weight over
    features that say the same, the l1 norm leaves most of them without any.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that have a weight.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    loss : {"auto", "hinge", "squared_hinge", "epsilon_insensitive"}, default="auto"
        "auto" is the hinge for classes and epsilon-insensitive for a quantity.
    C : float, "path" or "auto", default="auto"
        Cost of errors; infinite for a hard margin. "path" raises it from ``C_min_``, the largest at which all weights
        are zero, to a thousand times that, or until as many features have entered as ``stop`` asks for. "auto" is
        chosen by cross-validation with ``stop="auto"`` (the smallest within one standard error of the best), and is the
        path where ``stop`` says how many to keep.
    epsilon : float, default=0.1
        Error that costs nothing, as a share of the standard deviation of y, for a quantity.
    order : {"entry", "magnitude"}, default="entry"
        Features rank by when they first get a weight as C grows (at one C, those that still have it first), or
        by the size of their weights at the end.
    n_alphas : int, default=100
        Steps of the path.
    cv : int, splitter or iterable, default=5
        Folds for ``C="auto"``; a number is stratified and shuffled.
    debias : bool, default=False
        Give the model of the selected features weights without the penalty, which shrinks them.
    standardize : bool, default=True
        Penalize weights of columns of unit variance, so that units do not matter.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of a class's rows.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together. The penalty
        is that of single weights; a group is ranked by the first of them that enters.
    tol : float, default=1e-8
        Relative duality gap of a program, or violation of the conditions for a minimum, relative to ``alpha_max_``.
    max_samples : int or None, default=10000
        Rows to work on, except with the squared hinge: of more, so many are drawn, always the same, and the reason says
        so. A given C is for so many rows. None takes all.
    n_jobs : int, default=None
        Folds in parallel, through joblib.

    Attributes
    ----------
    order_ : ndarray
        Features that got a weight, best first.
    scores_ : ndarray of shape (n_features,)
        ``alpha = 1 / (n C)`` where the feature entered, or the size of its weights (of columns of unit variance); NaN
        if it never had any.
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features) for classes
        Weights in the units of ``X``, of the selected features.
    intercept_ : float, or ndarray of shape (n_targets,) for classes
    estimator_ : LinearModel
        The same model for transformed tables: ``decision_function`` and ``predict``.
    C_, C_min_ : float
        The C of the model, and the largest at which all weights are zero.
    alpha_, alpha_max_ : float
        The same as weights of the penalty against the mean loss, ``1 / (n C)``.
    cv_results_ : dict
        ``alpha``, ``C``, ``mean_error``, ``standard_error`` on held-out rows, where C was chosen by cross-validation.
    classes_ : ndarray
        Labels, for classification.
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        Of the model at the end of the path, before ``stop`` cuts it: ``converged``, ``objective`` (mean loss plus alpha
        times the penalty), ``gap`` (largest duality gap along the path: how far objectives are, at most, from their
        minimum), ``relative_gap`` (of the loss without features), and ``kkt`` (largest violation of the
        conditions for a minimum).

    Notes
    -----
    Cost: the dual program is solved by HiGHS's dual simplex for some columns, at first those whose class means differ
    most; those whose constraint its multipliers violate are added, a few rounds in all, with one product of the table
    with a vector each. A larger C starts from the basis of the last. The squared hinge is minimized by proximal Newton
    steps over a working set. Sparse tables stay sparse. The simplex takes longer by more than the number of rows: the
    default, a path for every fold, takes a quarter of a minute with 10 000 rows and 50 columns.

    More than two classes are each set against the others, and a feature is ranked by the first that it gets a weight
    for. scikit-learn's ``LinearSVC(penalty="l1")`` has the squared hinge and also penalizes the intercept.
    Deviations from the paper: none; C is in the units of columns of unit variance (``standardize``).

    References
    ----------
    Bradley and Mangasarian, "Feature selection via concave minimization and support vector machines", ICML 1998. Zhu,
    Rosset, Hastie and Tibshirani, "1-norm support vector machines", NIPS 2003. Bi, Bennett, Embrechts, Breneman and
    Song, "Dimensionality reduction via sparse support vector machines", JMLR 3, 2003. Lal, Chapelle, Weston and
    Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 4.2.

    Examples
    --------
    >>> from tamis import L1SVM
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(L1SVM(stop=5).fit(X, y > 0).order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    _parameter_constraints: ClassVar[dict] = {
        **CostedRanker._parameter_constraints,
        "loss": [StrOptions({"auto", "hinge", "squared_hinge", "epsilon_insensitive"})],
        **SampledRanker._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        loss: str = "auto",
        C: float | str = "auto",
        epsilon: float = 0.1,
        order: str = "entry",
        n_alphas: int = 100,
        cv: Any = 5,
        debias: bool = False,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        groups: Any = None,
        tol: float = 1e-8,
        max_samples: int | None = 10_000,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.loss = loss
        self.C = C
        self.epsilon = epsilon
        self.order = order
        self.n_alphas = n_alphas
        self.cv = cv
        self.debias = debias
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.groups = groups
        self.tol = tol
        self.max_samples = max_samples
        self.n_jobs = n_jobs

    def _samples_rows(self) -> bool:
        return self.loss != "squared_hinge"  # whose steps are products with the table

    def _make_solver(
        self, problem: LinearProblem, target: int, scale: np.ndarray, members: Sequence[np.ndarray] | None
    ) -> PathSolver:
        loss = resolve_loss(self.loss, problem)
        if loss == "squared_hinge":
            y = np.ascontiguousarray(problem.Y[:, target])
            return PenalizedPath(problem.columns, y, LOSSES[loss], scale, tol=self.tol)
        return HingePath(problem, target, scale, loss=loss, epsilon=self.epsilon, tol=self.tol)
