"""Joint classifier and feature optimization: Laplace priors on the weights of samples and on scaling factors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, LinearModel
from tamis.base._row_sample import MAX_SAMPLES_CONSTRAINT
from tamis.kernels.solvers.feature_kernel import AdditiveKernel, resolve_gamma
from tamis.kernels.solvers.gram import check_gram_fits
from tamis.kernels.solvers.losses import LOSSES, PROBIT
from tamis.rank._kernel_model import KernelModel
from tamis.rank._kernel_parameters import check_kernel_takes
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._multiplicative_updates import group_owners, prepared_columns
from tamis.rank._rounds import round_criteria
from tamis.rank._row_sample import draw_rows_for_task
from tamis.rank._scaled_machines import KERNELS
from tamis.rank._scaling_base import ScalingRanker
from tamis.rank.scaling._jcfo_posterior import (
    Point,
    Posterior,
    balanced,
    best_alpha,
    contributions,
    raise_factors,
    residuals,
)

_LIKELIHOODS = {"probit": PROBIT, "logistic": LOSSES["logistic"], "squared": LOSSES["squared"]}
_LINE_SEARCHES = 100  # iterations of L-BFGS-B per round
_STALLED = 1e-13  # relative rise of the posterior in a round that is rounding
_BITS = 34  # of the entries of a column
_HALVINGS = 1100  # of a penalty under which nothing is left: from the largest number down to one


@dataclass(frozen=True)
class _Round:
    """One maximization over alpha and one over the factors.

    Attributes
    ----------
    alive, updated, strength : ndarray
        As every round of scaling factors; the strength of a feature is its contribution to the outputs.
    posterior : Posterior
        Over the columns that were alive.
    point : Point
        At the end of the round, before any are discarded.
    value : float
        Negative log posterior there.
    residuals : tuple of float
        Of theta and of alpha; none while features are still discarded.
    """

    alive: np.ndarray
    updated: np.ndarray
    strength: np.ndarray
    posterior: Posterior
    point: Point
    value: float
    residuals: tuple[float, float] | None

    @property
    def sigma(self) -> np.ndarray:
        """What orders features that do not outlast the round: factors are equal at first, and zero for many later."""
        return self.strength


class JCFO(ScalingRanker):
    r"""Joint classifier and feature optimization: a kernel classifier that is sparse in samples and in features.

    .. math:: P(y = 1 | x) = \Phi\Bigl(\sum_k \alpha_k k_\theta(x, x_k) + b\Bigr), \qquad
              \max_{\alpha, b, \theta \ge 0}\ \sum_i \log P(y_i | x_i) - \gamma_1 \sum_k |\alpha_k|
              - \gamma_2 \sum_j \theta_j

    (Lal et al. 2006, Sec. 3.4), the mode of the posterior under Laplace priors on the weights :math:`\alpha` of samples
    and the factors :math:`\theta` of features, where :math:`k_\theta` is the kernel of columns times
    :math:`\sqrt{\theta}`: :math:`\exp(-\sum_j \theta_j (x_j - x_j')^2)`, say. As :math:`\theta \ge 0` its penalty is
    linear, and factors are exactly zero where
    :math:`\partial_{\theta_j} \sum_i \log P(y_i | x_i) \le \gamma_2`.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all whose factors are positive at a maximum of the posterior. A number k discards
        a share ``step`` of the features after every round, those that move the outputs least, until k are left.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    loss : {"auto", "probit", "logistic", "squared"}, default="auto"
        The negative log-likelihood. "auto" is the probit model for classes and Gaussian noise, "squared", for a
        quantity.
    sample_penalty : float, default=0.1
        :math:`\gamma_1`, the rate of the prior on :math:`|\alpha_k|`. Lowered where it leaves no sample at the start;
        ``sample_penalty_`` is what was used.
    feature_penalty : float, default=5.0
        :math:`\gamma_2`, the rate of the prior on :math:`\theta_j`. Halved until a feature is left after the first
        round: ``feature_penalty_``. With a linear kernel only the product of the two penalties matters.
    kernel : {"linear", "rbf", "poly"}, default="linear"
    gamma : float, "scale" or "auto", default="scale"
        All factors at the start; ``theta = gamma * sigma_**2``. The linear kernel starts at one over the number of
        features.
    degree : float, default=3
    coef0 : float, default=0.0
        Of the kernel, as in scikit-learn.
    step : float, default=0.2
        Share of the features that is discarded per round, if a number of features is asked for.
    max_iter : int, default=100
        Rounds.
    tol : float, default=1e-3
        Largest violation of the conditions for a maximum, relative to the penalties.
    standardize : bool, default=True
        Give columns zero mean and unit variance first: units do not matter then.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the log-likelihood, as ``sample_weight``.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group have one factor, penalized once.
    max_samples : int or None, default=2000
        Rows to work on: of more, so many are drawn, always the same, and the reason says so; the kernel matrix grows
        with their square. None takes all.

    Attributes
    ----------
    order_ : ndarray
        Features by their factors at the end; then those at zero, by the round in which they were discarded and how far
        they moved the outputs then, or would have.
    scores_ : ndarray of shape (n_features,)
        Rounds that the feature lasted, plus a share of one by its factor, or by how far it moved the outputs.
    sigma_ : ndarray of shape (n_features,)
        :math:`\sqrt{\theta_j / \gamma}` at the end.
    log_posterior_ : ndarray of shape (n_iter_,)
        After every round, up to a constant. It never falls, but for what discarding takes.
    support_samples_ : ndarray
        Rows of ``X`` with a weight in the classifier of the selected features.
    dual_coef_ : ndarray of shape (n_targets, n_support_samples)
        Their weights :math:`\alpha`, of a quantity in units of its standard deviation.
    coef_, intercept_ : ndarray
        Weights in the units of ``X``, with a linear kernel.
    estimator_ : LinearModel or KernelModel
        The classifier of the selected features, for transformed tables: ``decision_function`` and ``predict``.
    sample_penalty_, feature_penalty_ : float
    n_iter_ : int
        Rounds.
    classes_ : ndarray
        Labels, for classification.
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        ``converged`` (rounds ended as asked: at a maximum, or before fewer features than ``stop`` asks for are left),
        ``stationary`` (at a maximum: both residuals are at most ``tol``), ``n_iter``, ``projected_gradient`` (by the
        factors, over ``feature_penalty_``), ``kkt`` (residual of alpha's conditions, over ``sample_penalty_``) and
        ``log_posterior``.

    Notes
    -----
    A round maximizes over alpha and b with fixed factors, a convex problem that is solved to its optimality conditions,
    and then over factors and b by L-BFGS-B; once nothing is discarded also over both, with the signs of alpha fixed.
    Cost of a round: O(n^2 k) for the kernel matrix of k columns with positive factors and per gradient, O(n k) with a
    linear kernel; O(n^2 D) once for the gradients of all columns. A kernel matrix is held. Sparse tables stay sparse
    with a linear kernel. Several classes have one classifier each against the others, and share the factors. Of columns
    that are copies of one another only the first has a factor.

    Good at: a classifier that needs few rows and few columns at prediction. Bad at: finding all relevant features with
    few rows. The sparsest expansion is not the one that tells features best: with a linear kernel the weight of a
    column is :math:`\theta_j (X^\top\alpha)_j`, and of two expansions the prior prefers one of a single sample, whose
    entries are of order one and mostly noise, to a mean over many, whose entries are small where a column tells
    nothing. The posterior rises while the selection becomes worse; hence features are discarded in the first rounds,
    and by their weights rather than their factors.

    Deviations from the paper: each maximization is carried to its end where the original makes one EM step, which has
    the same fixed points. The factors of the original, which are squares of those of Lal et al., are kept: the prior
    acts on :math:`\theta_j = \gamma\sigma_j^2`, so that a factor at zero may become positive again. With a linear
    kernel the outputs are linear in :math:`\theta`, and the step in :math:`\theta` a convex program with non-negative
    variables, without local maxima. The intercept is free.

    References
    ----------
    Krishnapuram, Hartemink, Carin and Figueiredo, "A Bayesian approach to joint feature selection and classifier
    design", IEEE PAMI 26, 2004. Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction,
    Springer, 2006, Sec. 3.4.

    Examples
    --------
    >>> from tamis import JCFO
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(JCFO(stop=5).fit(X, y).order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    _parameter_constraints: ClassVar[dict] = {
        **ScalingRanker._parameter_constraints,
        "max_samples": MAX_SAMPLES_CONSTRAINT,
        "loss": [StrOptions({"auto", *_LIKELIHOODS})],
        "sample_penalty": [Interval(Real, 0, None, closed="neither")],
        "feature_penalty": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNELS))],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "step": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        loss: str = "auto",
        sample_penalty: float = 0.1,
        feature_penalty: float = 5.0,
        kernel: str = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        step: float = 0.2,
        max_iter: int = 100,
        tol: float = 1e-3,
        standardize: bool = True,
        max_samples: int | None = 2000,
        task: str = "auto",
        class_weight: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.loss = loss
        self.sample_penalty = sample_penalty
        self.feature_penalty = feature_penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.step = step
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.max_samples = max_samples
        self.task = task
        self.class_weight = class_weight
        self.groups = groups

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel == "linear"
        return tags

    def _sample_rows(self, candidates: Candidates, y: np.ndarray) -> np.ndarray | None:
        return draw_rows_for_task(y, self.task, self.max_samples)

    def _prepare(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None) -> int:
        self._n_top = n_top
        self.sample_penalty_, self.feature_penalty_ = float(self.sample_penalty), float(self.feature_penalty)
        return self.max_iter

    def _likelihood(self, problem: LinearProblem) -> str:
        is_quantity = problem.classes is None
        if self.loss == "auto":
            return "squared" if is_quantity else "probit"
        if is_quantity and self.loss != "squared":
            raise ValueError(
                f"loss='{self.loss}' is for classes, but y holds quantities; use loss='squared' or "
                "task='classification'"
            )
        return self.loss

    def _posterior(self, problem: LinearProblem, features: np.ndarray, owner: np.ndarray) -> Posterior:
        check_gram_fits(len(problem.Y), "use ZeroNorm, which forms no kernel matrix of more rows than columns")
        A = without_last_digits(prepared_columns(problem, features))
        check_kernel_takes(A, self.kernel)
        means = np.zeros(features.size)
        if sparse.issparse(A):
            means = problem.columns.means(features) * problem.scale[features]
        return Posterior(
            A.tocsr() if sparse.issparse(A) else np.ascontiguousarray(A),
            means,
            owner,
            problem.Y,
            problem.columns.sqrt_weight**2,
            _LIKELIHOODS[self._likelihood(problem)],
            self.kernel,
            float(self.degree),
            float(self.coef0),
            self.sample_penalty_,
            self.feature_penalty_,
        )

    # rounds

    def _rounds(self, candidates: Candidates, problem: LinearProblem) -> Iterator[_Round]:
        alive = np.flatnonzero(problem.scale > 0)
        n_columns = alive.size
        if not n_columns:
            return
        # an order of their own, so that rounding, which L-BFGS-B multiplies, is the same in whatever order columns come
        products = (problem.columns.dot(problem.Y * problem.columns.sqrt_weight[:, None]))[alive].sum(axis=1)
        alive = alive[np.argsort(products * problem.scale[alive], kind="stable")]
        posterior = self._posterior(problem, alive, factor_places(group_owners(candidates), alive))
        if self.kernel == "linear":
            self._gamma = 1.0 / n_columns
        else:
            self._gamma = resolve_gamma(self.gamma, posterior.A, problem.columns.sqrt_weight**2)
        point, posterior = self._start(posterior)
        value = np.inf
        while True:
            n_left = self._n_after_discarding(posterior.n_factors)
            is_discarding = n_left < posterior.n_factors
            if np.isinf(value) and alive.size == n_columns:
                point, posterior = self._first_factors(posterior, point)
            else:
                point = raise_factors(posterior, point, max_iter=_LINE_SEARCHES, with_alpha=not is_discarding)
            point = balanced(posterior, point)
            strength = contributions(posterior, point)
            kept = np.arange(posterior.n_factors)
            if is_discarding:
                kept = np.sort(np.argsort(-strength, kind="stable")[:n_left])
            theta = np.zeros_like(point.theta)
            theta[kept] = point.theta[kept]
            found = None if is_discarding else residuals(posterior, point)
            last, value = value, posterior.value(point)
            updated = np.sqrt(theta / self._gamma)[posterior.owner]
            yield _Round(alive, updated, strength[posterior.owner], posterior, point, value, found)
            if found is not None and (max(found) <= self.tol or _has_stalled(last, value)):
                return
            if is_discarding:
                alive = alive[np.isin(posterior.owner, kept)]
                posterior, theta, value = posterior.restrict_to(kept), theta[kept], np.inf
            point = self._alpha_step(posterior, replace(point, theta=theta))
            if not point.alpha.any():
                return

    def _n_after_discarding(self, n_factors: int) -> int:
        """How many are to be left after a round."""
        if self._n_top is None or n_factors <= self._n_top:
            return n_factors
        return max(self._n_top, min(int((1.0 - self.step) * n_factors), n_factors - 1))

    def _start(self, posterior: Posterior) -> tuple[Point, Posterior]:
        """The best alpha for equal factors, with a penalty low enough for a sample to be left."""
        theta = np.full(posterior.n_factors, self._gamma)
        point, largest = best_alpha(posterior, theta)
        if not point.alpha.any() and largest > 0:
            self.sample_penalty_ = 0.5 * largest
            posterior = replace(posterior, sample_penalty=self.sample_penalty_)
            point, _ = best_alpha(posterior, theta)
        return point, posterior

    def _first_factors(self, posterior: Posterior, point: Point) -> tuple[Point, Posterior]:
        """The factors of the first round, with a feature penalty that is halved until any is positive."""
        for _ in range(_HALVINGS if point.alpha.any() else 0):
            moved = raise_factors(posterior, point, max_iter=_LINE_SEARCHES, with_alpha=False)
            if moved.theta.any():
                return moved, posterior
            self.feature_penalty_ *= 0.5
            posterior = replace(posterior, feature_penalty=self.feature_penalty_)
        return point, posterior

    def _alpha_step(self, posterior: Posterior, point: Point) -> Point:
        """The best alpha for these factors, or that of the point where rounding makes it no better."""
        found, _ = best_alpha(posterior, point.theta)
        return found if posterior.value(found) <= posterior.value(point) else point

    def _criteria(self, factors: Sequence[Mapping[int, float]], order: Sequence[int]) -> list[float]:
        return round_criteria(factors, order)

    def _certify(self, candidates: Candidates, rounds: Sequence[_Round], n_rounds: int) -> dict[str, Any]:
        self.log_posterior_ = -np.array([done.value for done in rounds])
        self._theta = np.zeros(candidates.n_columns)
        if not rounds:
            empty = {"projected_gradient": 0.0, "kkt": 0.0, "log_posterior": 0.0}
            return {"converged": True, "stationary": True, "n_iter": 0, **empty}
        last = rounds[-1]
        self._theta[last.alive] = self._gamma * last.updated**2
        projected_gradient, kkt = last.residuals or residuals(last.posterior, last.point)
        is_cut = len(rounds) >= n_rounds
        # rounds also end where fewer features than asked for would be left, or no sample
        has_stalled = last.residuals is not None and len(rounds) > 1 and _has_stalled(rounds[-2].value, last.value)
        is_stationary = max(projected_gradient, kkt) <= self.tol
        if (is_cut or has_stalled) and not is_stationary:
            cure = f"raise max_iter={self.max_iter}" if is_cut else "give other penalties"
            warnings.warn(
                f"JCFO violates the conditions for a maximum of its posterior by {max(projected_gradient, kkt):.2g} "
                f"after {len(rounds)} rounds; {cure}, or raise tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return {
            "converged": is_stationary or not (is_cut or has_stalled),
            "stationary": is_stationary,
            "n_iter": len(rounds),
            "projected_gradient": projected_gradient,
            "kkt": kkt,
            "log_posterior": -last.value,
        }

    # the model of what is kept

    def _train(self, problem: LinearProblem, features: np.ndarray) -> LinearModel | KernelModel:
        """The best alpha for the factors at the end; for equal ones where all of these are zero."""
        varying = np.flatnonzero(problem.scale[features] > 0)
        self.support_samples_ = np.empty(0, dtype=np.int64)
        self.dual_coef_ = np.empty((problem.Y.shape[1], 0))
        if not varying.size:
            is_linear = self.kernel == "linear"
            return problem.constant_model(features) if is_linear else KernelModel.constant(features, problem)
        posterior = self._posterior(problem, features[varying], np.arange(varying.size))
        theta = self._theta[features[varying]]
        if not theta.any():
            theta = np.full(varying.size, self._gamma)
        point, largest = best_alpha(posterior, theta)
        if not point.alpha.any() and largest > 0:
            posterior = replace(posterior, sample_penalty=0.5 * largest)
            point, _ = best_alpha(posterior, theta)
        used = np.flatnonzero(np.any(point.alpha != 0, axis=1))
        places = used if self._sample is None else self._sample[used]
        self.support_samples_ = places if self._kept_rows is None else self._kept_rows[places]
        self.dual_coef_ = point.alpha[used].T
        if self.kernel == "linear":
            weights = np.zeros((features.size, problem.Y.shape[1]))
            weights[varying] = posterior.coefficients(point)
            return problem.model(features, weights, point.intercept)
        if not used.size:
            return KernelModel.constant(features, problem)
        sigma = np.zeros(features.size)
        sigma[varying] = np.sqrt(theta / self._gamma)
        rows = np.zeros((used.size, features.size))
        rows[:, varying] = posterior.A[used] * sigma[varying]
        kernel = AdditiveKernel(self.kernel, self._gamma, float(self.degree), float(self.coef0))
        return KernelModel(features, problem, sigma, kernel, rows, point.alpha[used], point.intercept)


def _has_stalled(before: float, after: float) -> bool:
    """Whether the negative log posterior fell by no more than rounding."""
    return before - after <= _STALLED * abs(after)


def without_last_digits(A: Any) -> Any:
    """Columns to some ten digits of their largest entry.

    L-BFGS-B, ended early, multiplies differences in the last digits, which centering leaves between the same columns in
    another layout or order.
    """
    largest = np.abs(A).max(axis=0)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
    quantum = np.ldexp(1.0, np.frexp(np.maximum(largest, np.finfo(float).tiny))[1] - _BITS)
    if not sparse.issparse(A):
        return np.round(A / quantum) * quantum
    A = A.tocsc(copy=True)
    of_entries = np.repeat(quantum, np.diff(A.indptr))
    A.data = np.round(A.data / of_entries) * of_entries
    return A


def factor_places(owners: np.ndarray | None, columns: np.ndarray) -> np.ndarray:
    """The factor of every column, counted as they come: columns of a group share one."""
    if owners is None:
        return np.arange(columns.size)
    _, first, inverse = np.unique(owners[columns], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
