"""The zero norm by multiplicative updates of scaling factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import StrOptions
from tamis.base import Candidates
from tamis.kernels.solvers.feature_kernel import resolve_gamma
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._machine_scaling_base import MachineScaling
from tamis.rank._multiplicative_updates import FactorUpdate, Round, group_owners, mean_over_groups
from tamis.rank._rounds import round_criteria
from tamis.rank._scaled_machines import ScaledMachines


class ZeroNorm(MachineScaling):
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
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
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
        **MachineScaling._parameter_constraints,
        "loss": [StrOptions({"auto", "squared_hinge", "hinge", "squared", "sparse_fisher"})],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
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
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
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

    def _criteria(self, factors: Sequence[Mapping[int, float]], order: Sequence[int]) -> list[float]:
        return round_criteria(factors, order)

    def _update(self) -> FactorUpdate:
        return FactorUpdate(p=0.0, norm=2.0, has_line_search=False)

    def _kernel_gamma(self, A: Any, weight: np.ndarray) -> float:
        return 1.0 / A.shape[1] if self.kernel == "linear" else resolve_gamma(self.gamma, A, weight)

    def _certify_factors(self, candidates: Candidates, rounds: Sequence[Round]) -> dict[str, Any]:
        if not rounds:
            return {"imbalance": 0.0}
        last, left = rounds[-1], rounds[-1].updated > 0
        sizes = np.sqrt(mean_over_groups(last.machines.weights2, last.alive, group_owners(candidates))[left])
        return {"imbalance": float(np.abs(sizes / sizes.mean() - 1.0).max()) if sizes.any() else 0.0}

    def _final_machines(
        self, problem: LinearProblem, features: np.ndarray, A: Any
    ) -> tuple[ScaledMachines, np.ndarray]:
        return self._machines(problem, A), np.ones(features.size)
