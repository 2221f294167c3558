"""Scaling factors of the largest margin, by a linear program."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval
from tamis.base import Candidates, LinearModel, Ranking, heartbeat
from tamis.base._row_sample import MAX_SAMPLES_CONSTRAINT
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._row_sample import draw_rows_for_task
from tamis.rank._scaling_base import ScalingRanker
from tamis.rank.scaling._margin_program import MarginSolution, solve_margin

_LEAST_SIZE = 1e-12  # of a column without a factor, so that it has a place in the order


@dataclass(frozen=True)
class MarginRound:
    """The program's only round; see ``ScalingRound``."""

    alive: np.ndarray
    sigma: np.ndarray
    updated: np.ndarray
    strength: np.ndarray
    solution: MarginSolution


class MarginLP(ScalingRanker):
    r"""Scaling factors of the largest margin at constant radius, which a linear program gives.

    .. math:: \min_\sigma \max_\alpha \sum_k \alpha_k - \frac12 \sum_{k,l} \alpha_k \alpha_l y_k y_l
              \sum_i \sigma_i^2 x_{ki} x_{li} \quad\text{with}\quad \alpha_k \ge 0,\ \sum_k \alpha_k y_k = 0,\
              \sum_i \sigma_i^2 = 1

    (Lal et al. 2006, Eq. 19): for columns of unit variance the sum of squared factors is the squared radius of the
    data, and the maximum half the squared norm of the weights. The problem is convex in :math:`\sigma^2`. Its dual,

    .. math:: \max_\alpha \sum_k \alpha_k \quad\text{with}\quad \alpha_k \ge 0,\ \sum_k \alpha_k y_k = 0,\
              -1 \le \sum_k \alpha_k y_k x_{ki} \le 1,

    is the linear program of the hard-margin machine with an l1 norm, :math:`\min \sum_i |w_i|` with
    :math:`y_k (w^\top x_k + b) \ge 1`. The multipliers of its last constraints are :math:`\mu_i^+ + \mu_i^- = |w_i|`.
    With their sum :math:`W`, :math:`\sigma_i^2 = |w_i| / W`, the optimum of (19) is :math:`W^2 / 2`, and its dual
    variables are W times those of the program.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that have a factor, which are fewer than rows.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    C : float, default=inf
        Cost of errors: :math:`\alpha_k \le C` in the program, and :math:`\sum_i |w_i| + C \sum_k \xi_k` in the other
        one. Infinite for a hard margin; where the classes cannot be separated then, C = 1 takes its place, and
        ``stop_.reason`` says so. :class:`L1SVM` chooses C by cross-validation.
    epsilon : float, default=0.1
        For a quantity, whose errors must not exceed this share of its standard deviation.
    standardize : bool, default=True
        Give columns unit variance first, as the paper assumes: units do not matter then.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of a class's rows, as ``sample_weight``: in the means and variances of columns, and as a factor of the
        cost of errors, where these have one.
    tol : float, default=1e-8
        Relative duality gap.
    max_samples : int or None, default=20000
        Rows to work on: of more, so many are drawn, always the same, and the reason says so. None takes all.

    Attributes
    ----------
    order_ : ndarray
        Features with a factor first, by its size; then the others by :math:`|\sum_k \alpha_k y_k x_{ki}|`.
    scores_ : ndarray of shape (n_features,)
        The factors; of features without any :math:`|\sum_k \alpha_k y_k x_{ki}| - 1 \le 0`: a feature would get a
        weight if its own were cheaper by this, in units of the price of the others (minus its reduced cost).
    sigma_ : ndarray of shape (n_features,)
        Scaling factors; their squares sum to one.
    coef_, intercept_ : ndarray
        Weights in the units of ``X``, of the program with the selected features only.
    dual_coef_ : ndarray of shape (n_targets, n_sampled)
        :math:`\alpha_k y_k` of the program (rows of weight zero are left out), on all rows or those drawn.
    estimator_ : LinearModel
        The model for transformed tables: ``decision_function`` and ``predict``.
    C_ : float
    n_iter_ : int
        1, or 0 where no feature varies.
    classes_ : ndarray
        Labels, for classification.
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``gap`` (largest relative duality gap of a program), ``norm`` (:math:`W`, summed over targets),
        ``objective`` (:math:`W^2 / 2`, the optimum of (19), of each target, summed; with a finite C
        :math:`W^2 / 2 + C W \sum_k \xi_k`, that of :class:`AdaptiveScaling` with p = 2, the hinge, and the cost C W)
        and ``separable``.

    Notes
    -----
    Cost: that of :class:`L1SVM`, whose solver it shares: HiGHS's dual simplex on a few columns, to which those that
    violate their constraint are added; each time one product of the table with a vector. Sparse tables stay sparse. The
    program itself holds several times the columns that it has: hence ``max_samples``.

    More than two classes are each set against the others, with a program of their own; the multipliers are added up
    before they are divided by their sum, and the largest product of a feature counts. Of columns that are copies of one
    another only the first has a factor. One factor for a group of columns makes (19) a problem with a group norm, which
    is no linear program: ``AdaptiveScaling(p=2, groups=...)`` solves it.

    Good where classes can be separated with few errors in their labels; the optimum is exact. Bad where there are more
    features than rows and labels are noisy, as the paper says: the margin is hard, and features explain flipped labels.

    Deviations from the paper: a soft margin, quantities, and an order of the features without a factor.

    References
    ----------
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 3.1. Peleg and
    Meir, "A feature selection algorithm based on the global minimization of a generalization error bound", NIPS 2004.

    Examples
    --------
    >>> from tamis import MarginLP
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(MarginLP(stop=5).fit(X, y > 0).order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    provides: ClassVar[frozenset[str]] = ScalingRanker.provides - {"groups"}

    _parameter_constraints: ClassVar[dict] = {
        **ScalingRanker._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "max_samples": MAX_SAMPLES_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        C: float = np.inf,
        epsilon: float = 0.1,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-8,
        max_samples: int | None = 20_000,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.C = C
        self.epsilon = epsilon
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.tol = tol
        self.max_samples = max_samples

    def _sample_rows(self, candidates: Candidates, y: np.ndarray) -> np.ndarray | None:
        return draw_rows_for_task(y, self.task, self.max_samples)

    def _prepare(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None) -> int:
        return 1

    def _solve(self, problem: LinearProblem, scale: np.ndarray) -> MarginSolution:
        """The programs; they are solved in one call each, so that progress can only tell that it goes on."""
        with heartbeat(self, task_name="program") as beat:
            return solve_margin(problem, scale, float(self.C), float(self.epsilon), self.tol, beat)

    def _rounds(self, candidates: Candidates, problem: LinearProblem) -> Iterator[MarginRound]:
        alive = np.flatnonzero(problem.scale > 0)
        if not alive.size:
            return
        solution = self._solve(problem, problem.scale)
        sigma2 = np.abs(solution.weights[alive]).sum(axis=1)
        sigma = np.sqrt(sigma2 / max(float(sigma2.sum()), np.finfo(float).tiny))
        product = np.maximum(solution.products[alive].max(axis=1), _LEAST_SIZE)
        strength = np.where(sigma > 0, 1.0 + sigma, np.minimum(product, 1.0))
        yield MarginRound(alive, product, sigma, strength, solution)

    def _certify(self, candidates: Candidates, rounds: Sequence[MarginRound], n_rounds: int) -> dict[str, Any]:
        if not rounds:
            return {"converged": True, "gap": 0.0, "norm": 0.0, "objective": 0.0, "separable": False}
        solution = rounds[0].solution
        if not solution.converged:
            warnings.warn(
                f"MarginLP's program is solved to a relative gap of {solution.gap:.2g} only; raise tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return {
            "converged": solution.converged,
            "gap": solution.gap,
            "norm": float(np.abs(solution.weights).sum()),
            "objective": solution.objective,
            "separable": bool(np.isinf(solution.C)),
        }

    def _criteria(self, factors: Sequence[Mapping[int, float]], order: Sequence[int]) -> list[float]:
        return self._sizes[np.asarray(order, dtype=np.int64)].tolist()

    def _conclude(self, candidates: Candidates, rounds: list[Any], n_rounds: int, n_top: int | None) -> Ranking:
        self.C_, self.dual_coef_ = float(self.C), np.zeros(self._problem.Y.T.shape)
        self._solution: MarginSolution | None = None
        self._sizes = np.zeros(candidates.n_columns)
        if not rounds:
            return super()._conclude(candidates, rounds, n_rounds, n_top)
        [done] = rounds
        self._solution, self.C_, self.dual_coef_ = done.solution, done.solution.C, done.solution.multipliers.T
        self._sizes[done.alive] = np.where(done.updated > 0, done.updated, np.minimum(done.sigma, 1.0) - 1.0)
        ranking = super()._conclude(candidates, rounds, n_rounds, n_top)
        n_left = int(np.count_nonzero(done.updated))
        reason = f"{n_left} {candidates.noun}{' has' if n_left == 1 else 's have'} a scaling factor"
        if self.C_ != self.C:
            reason += f"; errors cannot be avoided, and cost C = {self.C_:g} each"
        return replace(ranking, n_chosen=n_left, reason=reason)

    def _train(self, problem: LinearProblem, features: np.ndarray) -> LinearModel:
        scale, ranked = problem.kept_scale(features), self._solution
        if ranked is None or not scale.any():
            return problem.constant_model(features)
        has_all = np.isin(np.flatnonzero(ranked.weights.any(axis=1)), features).all()
        solution = ranked if has_all else self._solve(problem, scale)
        return problem.model(features, solution.weights[features], solution.intercept)

    def _keep_model(self, features: np.ndarray) -> None:
        super()._keep_model(features)
        del self._solution, self._sizes
