"""Scaling factors of given norm, learned as parameters of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, Ranking
from tamis.kernels.solvers.feature_kernel import resolve_gamma
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._machine_scaling_base import MachineScaling
from tamis.rank._multiplicative_updates import FactorUpdate, Round, group_owners, mean_over_groups
from tamis.rank._scaled_machines import ScaledMachines


class AdaptiveScaling(MachineScaling):
    r"""Scaling factors as parameters of a support vector machine: their p-norm is given, their sizes are learned.

    .. math:: \min_{\sigma \ge 0} \max_\alpha \sum_k \alpha_k - \frac12 \sum_{k,l} \alpha_k \alpha_l y_k y_l
              k(\sigma * x_k, \sigma * x_l) \quad\text{with}\quad 0 \le \alpha_k \le C,\ \sum_k \alpha_k y_k = 0,\
              \|\sigma\|_p = \sigma_0

    (Lal et al. 2006, Eq. 18; Grandvalet and Canu 2003). For a linear kernel and weights :math:`w` of the columns as
    they are, the maximum is the minimum over w and b of :math:`\frac12 \sum_j w_j^2 / \sigma_j^2 + C \sum_k \ell_k`.
    With w fixed, :math:`w_j^2 / \sigma_j^3 = \lambda p\, \sigma_j^{p-1} / 2` at the best factors, so that

    .. math:: \sigma_j \propto |w_j|^{2 / (2 + p)}, \qquad
              \min_{\|\sigma\|_p = \sigma_0} \frac12 \sum_j \frac{w_j^2}{\sigma_j^2} =
              \frac{1}{2 \sigma_0^2} \Big(\sum_j |w_j|^q\Big)^{2/q}, \quad q = \frac{2p}{2 + p}:

    a machine with the squared q-"norm" of its weights. At p = 2 that is the l1 norm, and the problem convex: with a
    hard margin it is that of :class:`MarginLP`. At p = 1, q = 2/3; as p falls to 0 the update is that of
    :class:`ZeroNorm`.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that have a factor when nothing changes. A number k ends the rounds before
        fewer than k features are left.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    p : float, default=1.0
        Exponent of the norm, at least 0.1: the smaller, the fewer features, and the more local minima. From p = 2 on
        there is only one for a linear kernel. The linear kernel of the first round is about :math:`D^{1 - 2/p}`: below
        p = 0.5 it may be lost to rounding, and with it the intercept, and the objective, of the hinge.
    loss : {"auto", "squared_hinge", "hinge", "squared"}, default="auto"
        "auto" is the squared hinge for classes and the squared error for a quantity. "squared" of classes is Fisher's
        discriminant.
    C : float or "auto", default=3.0
        Cost of errors. For a linear kernel :math:`\sigma_0 = 1`: another one only changes the unit of C. "auto" is
        chosen by cross-validation, among powers of ten, with as many features as ``stop`` asks for.
    kernel : {"linear", "rbf", "poly"}, default="linear"
        Of the scaled columns.
    gamma : float, "scale" or "auto", default="scale"
        Of the other kernels, for factors with a mean p-th power of one: it stands for :math:`\sigma_0`. Given by a
        name, it is scikit-learn's times :math:`D^{1/2 - 1/p}`, with which a kernel of :math:`\sqrt D` features with
        equal factors has the width that those names give to one of all features. With a larger one factors of p < 2
        are spread over all features, as this keeps the kernel wide.
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
        A label per column, or label -> columns (names or places): columns of a group have one scaling factor.
    n_jobs : int, default=None
        Folds in parallel, through joblib.
    random_state : int, RandomState or None, default=None
        For the rows that ``early_stopping`` holds out.

    Attributes
    ----------
    order_ : ndarray
        Features by the round in which they vanished, those left at the end first, by their scaling factors.
    scores_ : ndarray of shape (n_features,)
        Scaling factor of the feature in the last round in which it had one; the order goes by these rounds first.
    sigma_ : ndarray of shape (n_features,)
        Scaling factors at the end; the mean p-th power over all columns that vary is one.
    coef_, intercept_ : ndarray
        Weights in the units of ``X``, with a linear kernel: of the machine on the selected features, times the factors
        of the last round in which all of them had one.
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
        of optimality of any machine), ``objective`` (of every round, the optimum over :math:`\alpha`: it never
        increases) and ``projected_gradient`` (largest entry of the objective's gradient by :math:`\log \sigma`, over
        the factors that are left and along the constraint, relative to the sum of its sizes; of a group its mean).

    Notes
    -----
    Cost of a round: O(n^2 k) for the kernel matrix of k remaining columns and a dual problem in n variables; with more
    rows than columns and a squared loss O(n k^2). k falls fast for p <= 1; at p = 2 slowly, and weights converge
    slowly: a factor with gradient g falls by :math:`\sqrt{g / g_{\max}}` a round. Sparse tables stay sparse with a
    linear kernel.

    For kernels other than the linear one the update is a direction of descent in :math:`\log \sigma`, for

    .. math:: \partial J / \partial \log \sigma_j = -\tilde w_j^2, \qquad
              d \log \sigma_j = \tfrac{t}{2 + p} \log(\tilde w_j^2 / \sigma_j^p) + \text{const},
              \qquad \tilde w_j^2 = \tfrac12 \partial W^2 / \partial \log \sigma_j \ (\alpha \text{ fixed}),

    and t is halved until the objective does not increase. Where some :math:`\tilde w_j^2` are negative, as those of
    columns that only add noise to distances are, the least ratio is taken from all; factors shrink a thousandfold at
    most. A factor of zero stays there, for p < 2 or another kernel a local minimum in it: what is found is one of
    many.

    Several classes share their scaling factors: the objective is the sum over classes against the rest, and
    :math:`w_j^2` the sum of their squares. Of columns that are copies of one another only the first has a factor.

    Good at few relevant features among many that are correlated with them, from a few hundred rows on. Bad on few rows
    run to the end, where the smallest set that separates overfits: give ``stop=k``.

    Deviations from the paper: the squared hinge by default; the intercept is free. Features rank by when they vanish:
    sets of different k are not nested.

    References
    ----------
    Grandvalet and Canu, "Adaptive scaling for feature selection in SVMs", NIPS 2003. Lal, Chapelle, Weston and
    Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 3.1.

    Examples
    --------
    >>> from tamis import AdaptiveScaling
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(AdaptiveScaling(stop=5).fit(X, y).order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    _parameter_constraints: ClassVar[dict] = {
        **MachineScaling._parameter_constraints,
        "p": [Interval(Real, 0.1, None, closed="left")],
        "loss": [StrOptions({"auto", "squared_hinge", "hinge", "squared"})],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        p: float = 1.0,
        loss: str = "auto",
        C: float | str = 3.0,
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
        self.p = p
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

    def _update(self) -> FactorUpdate:
        return FactorUpdate(p=float(self.p), norm=float(self.p), has_line_search=self.kernel != "linear")

    def _kernel_gamma(self, A: Any, weight: np.ndarray) -> float:
        n_columns = float(A.shape[1])
        if self.kernel == "linear":  # factors have a mean p-th power of one: divided by n^(1/p), their p-norm is one
            return n_columns ** (-2.0 / self.p)
        gamma = resolve_gamma(self.gamma, A, weight)
        # sum_j sigma_j^2 of k equal factors is n^(2/p) k^(1 - 2/p): n, as for ones, at k = sqrt(n)
        return gamma if isinstance(self.gamma, Real) else gamma * n_columns ** (0.5 - 1.0 / self.p)

    def _certify_factors(self, candidates: Candidates, rounds: Sequence[Round]) -> dict[str, Any]:
        if not rounds:
            return {"objective": np.zeros(0), "projected_gradient": 0.0}
        last = rounds[-1]
        slopes = mean_over_groups(last.machines.half_derivatives, last.alive, group_owners(candidates))
        power = last.sigma**self.p
        gradient = slopes - power * (slopes.sum() / power.sum())
        size = max(float(np.abs(slopes).sum()), np.finfo(float).tiny)
        return {
            "objective": np.array([done.machines.objective for done in rounds]),
            "projected_gradient": float(np.abs(gradient).max() / size),
        }

    def _conclude(self, candidates: Candidates, rounds: list[Any], n_rounds: int, n_top: int | None) -> Ranking:
        self._last_rounds = rounds
        return super()._conclude(candidates, rounds, n_rounds, n_top)

    def _keep_model(self, features: np.ndarray) -> None:
        super()._keep_model(features)
        del self._last_rounds

    def _final_machines(
        self, problem: LinearProblem, features: np.ndarray, A: Any
    ) -> tuple[ScaledMachines, np.ndarray]:
        rounds = self._last_rounds
        if not rounds:
            return self._machines(problem, A), np.ones(features.size)
        varies = problem.scale[features] > 0
        sigma = np.zeros(features.size)
        sigma[varies] = last_common_factors(rounds, features[varies])
        return rounds[0].settings, sigma


def last_common_factors(rounds: Sequence[Round], features: np.ndarray) -> np.ndarray:
    """Factors of some features in the last round in which all of them had one."""
    last = rounds[-1]
    for alive, sigma in [(last.alive[last.updated > 0], last.updated[last.updated > 0])] + [
        (done.alive, done.sigma) for done in reversed(rounds)
    ]:
        if np.isin(features, alive).all():
            return sigma[np.searchsorted(alive, features)]
    raise AssertionError("all columns that vary have a factor in the first round")
