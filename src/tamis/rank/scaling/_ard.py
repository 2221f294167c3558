"""Automatic relevance determination: a prior variance for every weight, learned by maximizing the evidence."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, LinearModel
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._multiplicative_updates import group_owners, prepared_columns
from tamis.rank._scaling_base import EarlyStoppedScaling, factors_of_candidates
from tamis.rank.scaling._ard_updates import (
    UPDATES,
    EvidenceRound,
    Likelihood,
    evidence_rounds,
    started,
)
from tamis.rank.scaling._evidence import MAP_TOL, CenteredTable

_START_VARIANCE = 0.1  # of the prior's outputs, before the first round
_RESERVE = 8  # of early_stopping="auto": effective number of features for each one that is asked for


class ARD(EarlyStoppedScaling):
    r"""Automatic relevance determination: every weight has a prior variance, learned by maximizing the evidence.

    .. math:: \max_\beta \log \int P(y | w) \prod_i N(w_i;\, 0, \beta_i^{-1}) \, dw
              \qquad\text{by}\qquad \beta_i = \frac{1 - \beta_i (H^{-1})_{ii}}{w_i^2},

    where w is the maximum a posteriori and H the Hessian of the negative log posterior there (Lal et al. 2006, Eq. 20
    to 22). The precision of a weight that does not help grows until its feature vanishes. The scaling factors are
    :math:`\sigma_i = \beta_i^{-1/2}`. The likelihood is Gaussian for a quantity, and logistic for classes, with
    Laplace's approximation of the integral.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that are left where the evidence is largest. A number k ends the rounds
        early (see ``early_stopping``), and before fewer than k features are left.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    loss : {"auto", "logistic", "squared"}, default="auto"
        "auto" is the logistic likelihood for classes and the Gaussian one for a quantity. "squared" takes classes as
        quantities, 1 and -1.
    update : {"mackay", "mm"}, default="mackay"
        "mackay" is Eq. 22. "mm" moves half as far in :math:`\log \beta`, to the maximum of a lower bound of the
        evidence (Wipf and Nagarajan 2008), and needs twice the rounds. Either is shortened where the evidence would
        fall.
    noise_precision : float or "auto", default="auto"
        Of the Gaussian likelihood, relative to one over the variance of ``y`` (of classes, 1 and -1, as it is). "auto"
        learns it with the evidence once fewer features than rows are left; until then it is 2: half of the variance is
        noise.
    max_iter : int, default=1000
        Rounds.
    tol : float, default=1e-3
        Largest derivative of the log evidence by a :math:`\log \beta_i` at which the rounds end.
    early_stopping : "auto", int or bool, default="auto"
        Rounds after which to end: a number; True for those after which the weights have the fewest errors on held-out
        rows; False for none, so that rounds end at ``tol``. "auto" ends them, where ``stop`` asks for k of D features,
        before the effective number of features, the exponential of the entropy of the scaling factors' shares, falls
        below the smaller of 8 k and :math:`\sqrt{k D}`.
    validation_fraction : float, default=0.2
        Share of the rows that ``early_stopping=True`` holds out.
    standardize : bool, default=True
        Give columns zero mean and unit variance first (sparse ones without writing them out): units do not matter then.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the rows' log likelihoods, besides ``sample_weight``.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group G have one precision,
        :math:`\beta_G = \sum_{i \in G} \gamma_i / \sum_{i \in G} w_i^2`.
    random_state : int, RandomState or None, default=None
        For the rows that ``early_stopping=True`` holds out.

    Attributes
    ----------
    order_ : ndarray
        Features by the round in which they vanished, those left at the end first, by their scaling factors.
    scores_ : ndarray of shape (n_features,)
        Scaling factor in the last round in which the feature had one.
    sigma_ : ndarray of shape (n_features,)
        Scaling factors at the end, :math:`\beta_i^{-1/2}`.
    beta_ : ndarray of shape (n_features,)
        Precisions of the weights of columns in units of one (scikit-learn calls them ``lambda_``); infinite where a
        feature has vanished.
    noise_precision_ : float or None
        Relative to one over the variance of ``y`` (of classes as it is); None with a logistic likelihood.
    evidence_ : ndarray of shape (n_iter_ + 1,)
        Log evidence before the first round and after each, of a target in units of one.
    coef_, intercept_ : ndarray
        Weights at the maximum a posteriori of the selected features, in the units of ``X``.
    estimator_ : LinearModel
        The same for transformed tables: ``decision_function`` and ``predict``.
    n_iter_ : int
        Rounds.
    classes_ : ndarray
        Labels, for classification.
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        ``converged`` (rounds ended as asked), ``stationary`` (``gradient`` is at most ``tol``), ``n_iter``,
        ``evidence``, ``gain`` (of the evidence, in the last round), ``gradient`` (largest derivative of the evidence by
        the logarithm of a precision; zero for features that have vanished) and ``residual`` (largest violation of
        optimality of any maximum a posteriori).

    Notes
    -----
    With the variances :math:`B = \mathrm{diag}(1 / \beta)` and the curvature R of the log likelihood (the noise's
    precision, or p (1 - p)),

    .. math:: \log P(y | \beta) = \log P(y | w) - \tfrac12 \sum_i \beta_i w_i^2
              - \tfrac12 \log |I + R^{1/2} X B X^\top R^{1/2}|,
              \qquad \frac{\partial \log P}{\partial \log \beta_i} = \tfrac12 (\gamma_i - \beta_i w_i^2),

    with :math:`\gamma_i = 1 - \beta_i (H^{-1})_{ii}`, exactly for a Gaussian; Laplace's approximation has one term
    more, as R follows w. Eq. 22 sets this derivative to zero, and moves every :math:`\log \beta_i` in the direction of
    its sign: a step that lowers the evidence is halved until it does not. Where Eq. 22 has nothing more to gain,
    Laplace's evidence is raised further with its exact derivative.

    Cost of a round: O(n^2 k) for k remaining columns, by the Cholesky factor of an n x n matrix; O(n k^2) with more
    rows than columns (O(k^3) for a Gaussian after the first such round). Sparse tables stay sparse.
    Memory: about a dozen times a tall table.

    The evidence has many maxima; all columns start with the same variance, such that outputs have the variance 1/10
    (larger ones were no better on planted problems, and worse on prostate).
    On few rows the largest evidence overfits: it keeps the few features that separate the rows seen. Rounds that end
    early do not, and the fewer features are asked for, the more rounds are good: on planted problems, prostate and
    arcene together the rule of ``early_stopping="auto"`` was better than any number of rounds. On leukemia 10 rounds
    were better, by one patient in a hundred. Ordering by scaling factors was at least as good as by weights, and
    the logistic likelihood better than the Gaussian one for classes. More columns than rows explain a quantity exactly,
    at an evidence that nothing else reaches: hence the noise is held until they are fewer.

    Several classes are set one against the rest, with shared precisions: evidence, :math:`\gamma` and :math:`w^2` are
    summed over them. Of columns that are copies of one another only the first has a factor.

    Deviations from the paper: the intercept has no prior and is maximized together with the weights rather than
    integrated over, which would make the evidence of separable classes unbounded. A feature vanishes where its factor
    falls below 1e-5 of the largest. Features rank by when they vanish: sets of different k are not nested.

    References
    ----------
    MacKay, "Bayesian methods for backpropagation networks", in Models of Neural Networks III, 1994. Tipping, "Sparse
    Bayesian learning and the relevance vector machine", JMLR 1, 2001. Li, Campbell and Tipping, "Bayesian automatic
    relevance determination algorithms for classifying gene expression data", Bioinformatics 18, 2002. Wipf and
    Nagarajan, "A new view of automatic relevance determination", NIPS 2008. Lal, Chapelle, Weston and Elisseeff,
    "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 3.2.

    Examples
    --------
    >>> from tamis import ARD
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(ARD(stop=5).fit(X, y).order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    _parameter_constraints: ClassVar[dict] = {
        **EarlyStoppedScaling._parameter_constraints,
        "loss": [StrOptions({"auto", "logistic", "squared"})],
        "update": [StrOptions(set(UPDATES))],
        "noise_precision": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "early_stopping": [StrOptions({"auto"}), "boolean", Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        loss: str = "auto",
        update: str = "mackay",
        noise_precision: float | str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-3,
        early_stopping: bool | int | str = "auto",
        validation_fraction: float = 0.2,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        groups: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.loss = loss
        self.update = update
        self.noise_precision = noise_precision
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.groups = groups
        self.random_state = random_state

    def _prepare(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None) -> int:
        self._fewest = 0.0
        if self.early_stopping == "auto":
            if n_top is not None:
                self._fewest = min(_RESERVE * n_top, float(np.sqrt(n_top * candidates.n_candidates)))
            return self.max_iter
        if isinstance(self.early_stopping, bool | np.bool_):
            return self._validated_rounds(candidates, y, problem) if self.early_stopping else self.max_iter
        return min(int(self.early_stopping), self.max_iter)

    def _likelihood(self, problem: LinearProblem) -> Likelihood:
        is_quantity = problem.classes is None
        if self.loss == "logistic" and is_quantity:
            raise ValueError(
                "loss='logistic' is for classes, but y holds quantities; use loss='squared' or task='classification'"
            )
        loss = ("squared" if is_quantity else "logistic") if self.loss == "auto" else self.loss
        precision = None if self.noise_precision == "auto" else float(self.noise_precision)
        return Likelihood(problem.Y, problem.columns.sqrt_weight**2, loss, precision)

    def _rounds(self, candidates: Candidates, problem: LinearProblem) -> Iterator[EvidenceRound]:
        alive = np.flatnonzero(problem.scale > 0)
        if not alive.size:
            return iter(())
        likelihood = self._likelihood(problem)
        total_variance = float(problem.columns.norm2[alive] @ problem.scale[alive] ** 2) / problem.columns.total
        variance = _START_VARIANCE / total_variance
        X = centered_table(problem, alive)
        start = started(X, alive, variance, likelihood)
        rounds = evidence_rounds(X, start, likelihood, group_owners(candidates), self.update, self.tol)
        return ended_early(rounds, candidates, self._fewest)

    def _certify(self, candidates: Candidates, rounds: Sequence[EvidenceRound], n_rounds: int) -> dict[str, Any]:
        self.beta_ = np.full(candidates.n_columns, np.inf)
        self._last, self.evidence_, self.noise_precision_ = None, np.zeros(0), None
        if not rounds:
            return {"converged": True, "n_iter": 0, "stationary": True}
        last = self._last = rounds[-1]
        after = last.after
        self.beta_[after.alive] = 1.0 / after.variances
        self.evidence_ = np.array([rounds[0].evidence_before, *(r.after.posterior.evidence for r in rounds)])
        certificate = {
            "n_iter": len(rounds),
            "evidence": after.posterior.evidence,
            "gain": float(self.evidence_[-1] - self.evidence_[-2]),
            "gradient": last.gradient,
            "stationary": last.gradient <= self.tol,
            "residual": max(r.after.posterior.residual for r in rounds),
        }
        if self._likelihood(self._problem).loss == "squared":
            self.noise_precision_ = after.noise_precision
        return {"converged": self._has_ended(last, certificate, n_rounds), **certificate}

    def _has_ended(self, last: EvidenceRound, certificate: dict[str, Any], n_rounds: int) -> bool:
        """Whether rounds ended as they were asked to; warns otherwise."""
        is_exact = certificate["residual"] <= 100.0 * MAP_TOL
        if not is_exact:
            warnings.warn(
                f"ARD found weights only to a violation of {certificate['residual']:.2g} of their optimality; "
                "standardize the columns",
                ConvergenceWarning,
                stacklevel=3,
            )
        is_stuck = not last.has_moved
        is_cut = n_rounds == self.max_iter and certificate["n_iter"] >= self.max_iter
        if not certificate["stationary"] and (is_cut or is_stuck):
            advice = f"tol={self.tol:g}" if is_stuck else f"max_iter={self.max_iter}"
            warnings.warn(
                f"the evidence of ARD still has a derivative of {last.gradient:.2g} after {certificate['n_iter']} "
                f"rounds; raise {advice}, or set early_stopping",
                ConvergenceWarning,
                stacklevel=3,
            )
            return False
        return is_exact

    # the model of what is kept

    def _train(self, problem: LinearProblem, features: np.ndarray) -> LinearModel:
        """The maximum a posteriori with the variances that were learned; zero weights where these are zero."""
        weights, intercept = np.zeros((features.size, problem.Y.shape[1])), problem.row_shares @ problem.Y
        if self._last is not None:
            variances = np.zeros(problem.scale.size)
            # those that the last update removed, but which were asked for, have their variance from before
            variances[self._last.alive] = self._last.sigma**2
            variances[self._last.after.alive] = self._last.after.variances
            kept = np.flatnonzero(variances[features] > 0)
            if kept.size:
                likelihood, chosen = self._likelihood(problem), features[kept]
                found = likelihood.posterior(
                    centered_table(problem, chosen), variances[chosen], self._last.after.noise_precision
                )
                weights[kept], intercept = found.coef, found.intercept
        return problem.model(features, weights, intercept)

    def _model_of(self, problem: LinearProblem, done: Any) -> LinearModel:
        found = done.after.posterior
        return problem.model(done.after.alive, found.coef, found.intercept)


def ended_early(rounds: Iterator[EvidenceRound], candidates: Candidates, fewest: float) -> Iterator[EvidenceRound]:
    """The first round, and those after which the effective number of features is not below ``fewest``."""
    for number, done in enumerate(rounds):
        factors = factors_of_candidates(candidates, done.alive, done.updated)
        if number > 0 and effective_number(np.array(list(factors.values()))) < fewest:
            return
        yield done


def effective_number(sizes: np.ndarray) -> float:
    """Exponential of the entropy of their shares: k for k equal ones."""
    shares = sizes / sizes.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


def centered_table(problem: LinearProblem, features: np.ndarray) -> CenteredTable:
    """Columns in units of one; those of a sparse table are centered without being written out."""
    columns = prepared_columns(problem, features)
    if not sparse.issparse(columns):
        return CenteredTable(columns, np.zeros(features.size))
    return CenteredTable(columns, problem.columns.means(features) * problem.scale[features])
