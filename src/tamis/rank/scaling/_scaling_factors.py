"""Scaling factors that minimize a bound on the error of a support vector machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from tamis._sklearn import Interval, StrOptions
from tamis.base import STEP_CONSTRAINT, Candidates, LinearModel, Ranking, n_to_eliminate
from tamis.base._row_sample import MAX_SAMPLES_CONSTRAINT, draw_rows
from tamis.kernels.arrays.targets import infer_task
from tamis.kernels.solvers.feature_kernel import AdditiveKernel, resolve_gamma
from tamis.kernels.solvers.gram import check_gram_fits
from tamis.rank._kernel_model import KernelModel
from tamis.rank._kernel_parameters import check_kernel_takes
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._machine_scaling_base import centered_intercept, kernel_model
from tamis.rank._multiplicative_updates import group_owners, prepared_columns
from tamis.rank._rounds import best_round, round_criteria
from tamis.rank._row_sample import with_all_classes
from tamis.rank._scaled_machines import KERNELS, ScaledMachines
from tamis.rank._scaling_base import ScalingRanker
from tamis.rank._validation import validation_folds
from tamis.rank.scaling._bound_descent import Minimum, ScaledCriterion, minimize_criterion, strengths
from tamis.rank.scaling._svm_criteria import BallMargin, RadiusMargin, Span, SVMCriterion, ValidationLoss

_MACHINE_TOL = 1e-9  # of every SVM
_WITH_GRAM = "use RFE or ZeroNorm with kernel='linear', which need no such matrix"


@dataclass(frozen=True)
class Discard:
    """A round: factors of the columns that remain are optimized, and some of them discarded.

    Attributes
    ----------
    alive : ndarray of int
        Columns that remain before the round.
    strength : ndarray
        Between zero and one: what is smallest is discarded first.
    updated : ndarray
        The same, zero for those that are discarded.
    factors : ndarray
        Squared scaling factor of every column after the iterations.
    minimum : Minimum
    """

    alive: np.ndarray
    strength: np.ndarray
    updated: np.ndarray
    factors: np.ndarray
    minimum: Minimum

    @property
    def sigma(self) -> np.ndarray:
        """Sizes by which columns are ordered that this round discards."""
        return self.strength


class ScalingFactors(ScalingRanker):
    r"""Scaling factors that minimize a bound on the error of a support vector machine, by gradient descent.

    .. math:: \min_{\sigma \ge 0} B(\sigma), \qquad k_\sigma(x, x') = k(\sigma * x, \sigma * x'), \qquad
              B = 4 R^2 \|w\|^2 \ \text{ or }\ \sum_k \alpha_k S_k^2
              \ \text{ or }\ \sum_k \max(0, 1 - y_k f(x_k))^2

    (Lal et al. 2006, Eq. 15 and 16; Weston et al. 2000; Chapelle et al. 2002): the radius and margin, the span, or the
    loss on rows that are held out. Factors are optimized, features with small ones discarded, and so on. At a minimum
    :math:`\partial B / \partial \sigma_p^2 = 0` where :math:`\sigma_p > 0`, and it is not negative elsewhere.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps the features of the round whose bound is smallest. A number k ends the rounds
        with exactly k features.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    criterion : {"radius-margin", "span", "validation"}, default="radius-margin"
        "validation" is the mean squared hinge of the outputs on rows that are held out, over the folds of ``cv``.
    radius : {"variance", "ball"}, default="variance"
        Variance in place of the squared radius (Eq. 17), or the smallest ball that holds all points.
    discard : {"factor", "increase", "second-order"}, default="factor"
        What is discarded first: the smallest factor; the one without which the bound increases least after retraining,
        at the cost of as many SVMs as features in each round; or the smallest increase to second order,
        :math:`-\sigma_p^2 B_p + \tfrac12 \sigma_p^4 B_{pp}`, derivatives by :math:`\sigma_p^2` (radius-margin only).
    step : int, float or "halving", default=0.5
        How many are discarded in each round: a count, a fraction of the remaining ones, or down to a power of two.
    round_iter : int, default=5
        Iterations of L-BFGS before features are discarded.
    C : float, default=1.0
        Cost of squared slack, as a ridge 1/C on the diagonal of the kernel.
    kernel : {"linear", "rbf", "poly"}, default="rbf"
        Of the scaled columns. The linear one is the inner product over the number of features.
    gamma : float, "scale" or "auto", default="scale"
        As in scikit-learn, for factors of one, with which the first round starts.
    degree : float, default=3
    coef0 : float, default=0.0
    max_iter : int, default=200
        Iterations of L-BFGS on the features that are kept, at the end.
    tol : float, default=1e-4
        Largest entry of the projected gradient there, of the bound over its value when they begin.
    cv : int, splitter or iterable, default=5
        Folds for ``criterion="validation"``; one pair of rows ``[(train, test)]`` is a validation set.
    standardize : bool, default=True
        Give columns zero mean and unit variance first (sparse ones are only scaled): units do not matter then.
    class_weight : dict, "balanced" or None, default=None
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group have one scaling factor.
    max_samples : int or None, default=1000
        Rows to work on: of more, so many are drawn, always the same, and the reason says so; the kernel matrix grows
        with their square. None takes all. Not used with ``criterion="validation"``, whose ``cv`` speaks of all rows.

    Attributes
    ----------
    order_ : ndarray
        Features by the last round that they survived, and by their factors (or what ``discard`` says) there.
    scores_ : ndarray of shape (n_features,)
        Rounds that the feature lasted, plus a share of one by its factor in the last of them.
    sigma_ : ndarray of shape (n_features,)
        Scaling factors at the end, of what is kept with ``stop="auto"`` or a number; zero for all others.
    bounds_ : ndarray of shape (n_rounds, 2)
        The bound before and after the iterations of each round.
    n_iter_ : int
        Rounds.
    coef_, intercept_ : ndarray
        Weights in the units of ``X``, of an SVM on the selected features times their factors; with a linear kernel.
    estimator_ : LinearModel or KernelModel
        The same for transformed tables: ``decision_function`` and ``predict``.
    classes_ : ndarray
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        ``converged`` (L-BFGS ended by itself), ``n_iter`` (of L-BFGS at the end), ``bound``, ``gradient`` (largest
        entry of the projected gradient of the bound by :math:`\sigma^2`, in units of the bound and of the mean of
        :math:`\sigma^2` when these iterations begin) and ``residual`` (largest violation of the KKT conditions of any
        SVM). The span jumps where a row becomes a support vector: it may be least there, with a large ``gradient``.

    Notes
    -----
    Cost of an evaluation of the bound and its gradient: O(n^2 D) in two products of matrices, and O(n^3) for the SVM,
    which starts from the last solution; memory O(n^2 + n D). Halving makes all rounds together about as expensive as
    two with all features. Several classes: one SVM for each against the rest; bounds are summed. Of columns that are
    copies of one another only the first has a factor. Sparse tables stay sparse with a linear kernel.

    Deviations from the paper. The bound is divided by its value at the start of a round: undivided, the first step ends
    on a plateau. L-BFGS runs in :math:`\sigma^2 \ge 0` rather than within [0, 1]: a kernel's width is learned too.
    With a linear kernel, or a polynomial one without ``coef0``, the scale of :math:`\sigma` only changes what C means:
    :math:`\sum_p \sigma_p^2` is fixed at the number of features that vary. A round makes few iterations, and the next
    one starts from equal factors of the same sum: with more features than rows, factors run to convergence follow
    noise. The discard printed as second order, :math:`\sigma_p^2 \partial B / \partial \sigma_p^2`, is of first
    order and zero at a minimum; here the second-order term of optimal brain damage is added. The expansion is poor
    where a few factors are large, and "factor" finds more (bench "xor"). With a weight of m, a row counts m times in
    the span, as left out with all its weight; elsewhere it is m rows.

    One gradient step with a linear kernel and "variance" on standardized columns is a step of recursive feature
    elimination: :math:`\partial R^2 \|w\|^2 / \partial \sigma_p^2 = \|w\|^2 - R^2 w_p^2`.

    References
    ----------
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 3.1. Weston,
    Mukherjee, Chapelle, Pontil, Poggio and Vapnik, "Feature selection for SVMs", NIPS 2000. Chapelle, Vapnik, Bousquet
    and Mukherjee, "Choosing multiple parameters for support vector machines", Machine Learning 46, 2002. LeCun, Denker
    and Solla, "Optimal brain damage", NIPS 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import ScalingFactors
    >>> X = np.random.RandomState(0).randn(100, 20)
    >>> y = X[:, 3] * X[:, 7] > 0
    >>> sorted(ScalingFactors(stop=2).fit(X, y).order_[:2].tolist())
    [3, 7]
    """

    task: ClassVar[str] = "classification"  # type: ignore[misc]

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    _parameter_constraints: ClassVar[dict] = {
        **{name: constraint for name, constraint in ScalingRanker._parameter_constraints.items() if name != "task"},
        "max_samples": MAX_SAMPLES_CONSTRAINT,
        "criterion": [StrOptions({"radius-margin", "span", "validation"})],
        "radius": [StrOptions({"ball", "variance"})],
        "discard": [StrOptions({"factor", "increase", "second-order"})],
        "step": STEP_CONSTRAINT,
        "round_iter": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNELS))],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        criterion: str = "radius-margin",
        radius: str = "variance",
        discard: str = "factor",
        step: float | str = 0.5,
        round_iter: int = 5,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        max_iter: int = 200,
        tol: float = 1e-4,
        cv: Any = 5,
        standardize: bool = True,
        max_samples: int | None = 1000,
        class_weight: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.criterion = criterion
        self.radius = radius
        self.discard = discard
        self.step = step
        self.round_iter = round_iter
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.standardize = standardize
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.groups = groups

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel == "linear"
        return tags

    @property
    def _orders_all_at_the_end(self) -> bool:  # type: ignore[override]
        # an expansion to second order is far off once a few factors dominate: the first round tells more
        return self.discard != "second-order"

    # the problem

    def _sample_rows(self, candidates: Candidates, y: np.ndarray) -> np.ndarray | None:
        rows = None if self.criterion == "validation" else draw_rows(len(y), self.max_samples)
        return None if rows is None else with_all_classes(rows, y)

    def _pose(self, candidates: Candidates, y: np.ndarray) -> LinearProblem:
        if infer_task(y) == "regression":
            raise ValueError(
                f"ScalingFactors is for classes, but y holds {np.unique(y).size} distinct numbers; use AdaptiveScaling "
                "or ARD for a quantity, and text for labels of many classes"
            )
        if self.discard == "second-order" and self.criterion != "radius-margin":
            raise ValueError(
                f"discard='second-order' has no closed form with criterion={self.criterion!r}; use 'factor' or "
                "'increase', or criterion='radius-margin'"
            )
        check_kernel_takes(candidates.table, self.kernel)
        check_gram_fits(candidates.table.shape[0], _WITH_GRAM)
        return super()._pose(candidates, y)

    def _prepare(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None) -> int:
        varying = np.flatnonzero(problem.scale > 0)
        self._n_top = n_top
        self._function = self._kernel_function(problem, varying)
        self._judge = self._svm_criterion(candidates, y, problem)
        owners = group_owners(candidates)
        self._n_left = varying.size if owners is None else np.unique(owners[varying]).size
        return len(list(self._sizes()))

    def _kernel_function(self, problem: LinearProblem, varying: np.ndarray) -> AdditiveKernel:
        if self.kernel == "linear":
            gamma = 1.0 / max(varying.size, 1)
        else:
            gamma = resolve_gamma(self.gamma, prepared_columns(problem, varying), problem.columns.sqrt_weight**2)
        return AdditiveKernel(self.kernel, gamma, float(self.degree), float(self.coef0))

    def _svm_criterion(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem) -> SVMCriterion:
        machines = (np.ascontiguousarray(problem.Y.T), float(self.C), problem.columns.sqrt_weight**2, _MACHINE_TOL)
        if self.criterion == "radius-margin":
            return BallMargin(*machines) if self.radius == "ball" else RadiusMargin(*machines)
        if self.criterion == "span":
            return Span(*machines)
        folds = validation_folds(self.cv, candidates, y, problem.classes, self._kept_rows)
        if folds is None:
            raise ValueError(
                f"criterion='validation' needs every class in the training rows of a fold, which cv={self.cv!r} does "
                "not give; use criterion='radius-margin'"
            )
        return ValidationLoss(*machines, folds)

    def _sizes(self) -> Iterator[int]:
        """How many candidates remain in every round, to the last."""
        n_left, n_last = self._n_left, max(self._n_top or 1, 1)
        while n_left:
            yield n_left
            if n_left <= n_last:
                return
            n_left = max(n_left - n_to_eliminate(self.step, n_left), n_last)

    def _scaled(self, problem: LinearProblem, alive: np.ndarray, owner: np.ndarray) -> ScaledCriterion:
        A = prepared_columns(problem, alive)
        if self.kernel == "linear":
            A = A * np.sqrt(self._function.gamma)
        is_homogeneous = self.kernel == "linear" or (self.kernel == "poly" and self.coef0 == 0)
        total = float(np.count_nonzero(problem.scale)) if is_homogeneous else None
        return ScaledCriterion(A, owner, self._function, self._judge, total)

    # rounds

    def _rounds(self, candidates: Candidates, problem: LinearProblem) -> Iterator[Discard]:
        alive = np.flatnonzero(problem.scale > 0)
        owners = group_owners(candidates)
        sizes, sum_of_squares = list(self._sizes()), float(alive.size)
        for n_next in [*sizes[1:], *sizes[-1:]]:
            owner = _factor_of(alive, owners)
            scaled = self._scaled(problem, alive, owner)
            start = np.full(int(owner.max()) + 1, sum_of_squares / alive.size)
            minimum = minimize_criterion(scaled, start, self.round_iter, self.tol)
            strength = strengths(self._saliency(scaled, minimum), minimum.gradient)
            kept = np.argsort(-strength, kind="stable")[:n_next]
            is_kept = np.isin(owner, kept)
            squares = scaled.squares(minimum.squares)
            yield Discard(alive, strength[owner], np.where(is_kept, strength[owner], 0.0), squares, minimum)
            alive, sum_of_squares = alive[is_kept], float(squares.sum())

    def _saliency(self, scaled: ScaledCriterion, minimum: Minimum) -> np.ndarray:
        if self.discard == "increase":
            return scaled.increases(minimum.squares)
        if self.discard == "second-order":
            return scaled.second_order(minimum.squares)
        return np.sqrt(minimum.squares)

    def _criteria(self, factors: Sequence[Mapping[int, float]], order: Sequence[int]) -> list[float]:
        return round_criteria(factors, order)

    # the end

    def _certify(self, candidates: Candidates, rounds: Sequence[Discard], n_rounds: int) -> dict[str, Any]:
        """Optimize the factors of what is kept; with ``stop="auto"`` that is the round with the smallest bound."""
        self._trail = [(done.alive, done.factors) for done in rounds]
        self.bounds_ = np.array([(done.minimum.start, done.minimum.value) for done in rounds]).reshape(-1, 2)
        if not rounds:
            return {"converged": True, "n_iter": 0, "bound": np.nan, "gradient": 0.0, "residual": 0.0}
        chosen = rounds[-1] if self._n_top is not None else rounds[best_round(self.bounds_[:, 1].tolist())]
        alive, owner = chosen.alive, _factor_of(chosen.alive, group_owners(candidates))
        scaled = self._scaled(self._problem, alive, owner)
        minimum = minimize_criterion(scaled, chosen.minimum.squares, self.max_iter, self.tol)
        self._trail.append((alive, scaled.squares(minimum.squares)))
        if not minimum.converged:
            warnings.warn(
                f"ScalingFactors' projected gradient is still {minimum.projected_gradient:.2g} after {minimum.n_iter} "
                f"iterations; raise max_iter={self.max_iter}, or tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return {
            "converged": minimum.converged,
            "n_iter": minimum.n_iter,
            "bound": minimum.value,
            "gradient": minimum.projected_gradient,
            "residual": self._judge.residual,
        }

    def _conclude(self, candidates: Candidates, rounds: list[Any], n_rounds: int, n_top: int | None) -> Ranking:
        ranking = super()._conclude(candidates, rounds, n_rounds, n_top)
        if not rounds:
            return ranking
        alive, factors = self._trail[-1]
        self.sigma_[:] = 0.0
        self.sigma_[alive] = np.sqrt(factors)
        if n_top is not None:
            return ranking
        owners = group_owners(candidates)
        n_chosen = alive.size if owners is None else np.unique(owners[alive]).size
        plural = "s" * (n_chosen != 1)
        return replace(
            ranking, n_chosen=n_chosen, reason=f"the bound is smallest with {n_chosen} {candidates.noun}{plural}"
        )

    # the model of what is kept

    def _train(self, problem: LinearProblem, features: np.ndarray) -> LinearModel | KernelModel:
        """An SVM on the columns times their factors, of the last descent that had one for each of them."""
        sigma = self._factors_of(problem, features)
        used = np.flatnonzero(sigma > 0)
        cost = 0.5 * self.C * problem.columns.sqrt_weight**2  # of squared slack against half the squared norm
        function = self._function
        machines = ScaledMachines(
            problem.Y, cost, "squared_hinge", self.kernel, function.gamma, function.degree, function.coef0, _MACHINE_TOL
        )
        if self.kernel != "linear":
            if not used.size:
                return KernelModel.constant(features, problem)
            A = prepared_columns(problem, features)
            return kernel_model(features, problem, A * sigma, sigma, machines, machines.train(A, sigma))
        weights, intercept = np.zeros((features.size, problem.Y.shape[1])), problem.row_shares @ problem.Y
        if used.size:
            A = prepared_columns(problem, features[used])
            trained = machines.train(A, sigma[used])
            weights[used], intercept = trained.coef, centered_intercept(problem, features[used], trained)
        return problem.model(features, weights, intercept)

    def _factors_of(self, problem: LinearProblem, features: np.ndarray) -> np.ndarray:
        varying = features[problem.scale[features] > 0]
        squares = np.zeros(problem.scale.size)
        for alive, factors in reversed(self._trail):
            if np.isin(varying, alive).all():
                squares[alive] = factors
                break
        return np.sqrt(squares[features])


def _factor_of(alive: np.ndarray, owners: np.ndarray | None) -> np.ndarray:
    """The place of every column's factor: its own, or that of its group."""
    return np.arange(alive.size) if owners is None else np.unique(owners[alive], return_inverse=True)[1]
