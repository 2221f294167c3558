"""Maximum entropy discrimination with a switch for every feature."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d

from tamis._sklearn import Interval, StrOptions, fit_context, num_samples
from tamis.base import Candidates, LinearModel, Ranking, Step, StopDecision, StoppingRule, rule_class
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._multiplicative_updates import group_owners
from tamis.rank._scaling_base import ScalingRanker, ScalingRound
from tamis.rank.scaling._med_interior_point import Iterate, newton_steps
from tamis.rank.scaling._med_machines import (
    Machines,
    Priors,
    TaskModel,
    constant_models,
    pose_machines,
    stacked_coefficients,
    within_task_units,
)

_LARGEST = 1e50  # kappa or c, beyond which exponents of the switches overflow
_SAME_NORM = 1e-9  # of the larger one: norms of weights closer than that are equal


@dataclass(frozen=True)
class MEDRound:
    """A Newton step on the multipliers.

    Attributes
    ----------
    machines : Machines
    iterate : Iterate
    candidates : ndarray of int
        The candidate of every switch.
    probabilities : ndarray
        That a switch is on.
    norms : ndarray
        Of the weights of a switch.
    """

    machines: Machines
    iterate: Iterate
    candidates: np.ndarray
    probabilities: np.ndarray
    norms: np.ndarray

    @classmethod
    def of(cls, machines: Machines, iterate: Iterate, candidates: np.ndarray) -> MEDRound:
        """With what the multipliers say of the switches."""
        dual = machines.dual
        return cls(machines, iterate, candidates, dual.probabilities(iterate.W), np.sqrt(dual.squared_norms(iterate.W)))

    @property
    def alive(self) -> np.ndarray:
        """Columns that vary."""
        return self.machines.features

    @property
    def sigma(self) -> np.ndarray:
        """Their probabilities of being active."""
        return self.probabilities[self.machines.dual.owners]

    @property
    def updated(self) -> np.ndarray:
        """The same: none vanishes."""
        return self.sigma

    @property
    def strength(self) -> np.ndarray:
        """Norms of the weights of their switches."""
        return self.norms[self.machines.dual.owners]


class MED(ScalingRanker):
    r"""Maximum entropy discrimination: a prior probability that a feature is active, and its posterior as factor.

    .. math:: \max_{0 \le \lambda < c}\ \sum_t \left[\lambda_t + \log(1 - \lambda_t / c)\right]
              - \sum_i \log\left(1 - p_0 + p_0\, e^{\kappa w_i^2}\right), \qquad
              w_i = \sum_t \lambda_t y_t x_{ti}, \qquad \sum_t \lambda_t y_t = 0,

    which is concave (Lal et al. 2006, Sec. 3.3; Jebara and Jaakkola 2000). Weights have a Gaussian prior of variance
    :math:`2 \kappa`, each times a switch that is on with probability :math:`p_0`; the bias is flat; the margin of a row
    is at most 1, with a prior that falls exponentially at the rate c. Among all distributions that have the margins in
    the mean, the one nearest to the prior has the switch of feature i on with probability

    .. math:: p_i = \frac{1}{1 + \frac{1 - p_0}{p_0}\, e^{-\kappa w_i^2}}, \qquad
              E[\text{weight}_i] = 2 \kappa\, w_i\, p_i,

    its factor. At the optimum :math:`y_t f(x_t) = 1 - 1 / (c - \lambda_t)` where :math:`\lambda_t > 0`, else at least
    :math:`1 - 1 / c`, for the machine :math:`f` with the expected weights.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those whose probability of being active is above one half.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    p0 : float or "auto", default="auto"
        Prior probability that a feature (or group) is active; 1 gives all features a weight, as a support vector
        machine does. "auto" is (1 + D)^(-4/3) for D features (or groups) that vary, of which fewer than one is then
        expected to be active.
    kappa : float, default=0.5
        Half the prior variance of the weights, for a linear kernel whose diagonal is about one: columns are divided by
        the square root of their number. The original has 1/2; Lal et al. print :math:`e^{-w^2}`, which is 1.
    c : float or "auto", default="auto"
        Cost of errors: the largest multiplier. For classes above 1: below, every multiplier is zero, and so is every
        weight. "auto" lets a column be switched on whose correlation with the classes, or with the signs of a
        quantity's errors, is one tenth, and is at least 10.
    epsilon : float, default=0.1
        For a quantity, in its standard deviations: the prior of the largest error is flat up to epsilon, and falls at
        the rate c beyond. Errors up to its mean, :math:`1 / c` for 0 and :math:`\epsilon / 2` for a large c, cost
        nothing.
    max_iter : int, default=200
        Newton steps.
    tol : float, default=1e-8
        Largest entry of the projected gradient at which they end.
    standardize : bool, default=True
        Give columns zero mean and unit variance first (sparse ones are only scaled): units do not matter then. With
        tasks the mean is that of each, and the variance that within them.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    class_weight : dict, "balanced" or None, default=None
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group have one switch, whose exponent
        is :math:`\kappa \sum_{i \in G} w_i^2`. Large groups are switched on more easily than small ones.

    Attributes
    ----------
    order_ : ndarray
        Features by the size of :math:`w`: by their probabilities, also where these are 0 or 1 up to rounding.
    scores_ : ndarray of shape (n_features,)
        Posterior probabilities of being active; NaN for constant columns and copies.
    sigma_ : ndarray of shape (n_features,)
        The same, zero for constant columns and copies.
    expected_coef_, expected_intercept_ : ndarray
        Expected weights of all features in the units of ``X``, one row per machine: the predictor of the method itself.
    multipliers_ : ndarray of shape (n_samples, n_targets)
        One column per machine (of the row's task), for rows of a weight above zero, times this weight; of a quantity
        those of errors above less those below.
    coef_, intercept_ : ndarray
        Weights in the units of ``X`` of a machine on the selected features, with their switches on (:math:`p_0 = 1`).
    estimator_ : LinearModel or TaskModel
        The same for transformed tables: ``decision_function`` and ``predict``; with tasks both take the rows' tasks.
    p0_, c_ : float
        As used.
    n_iter_ : int
        Newton steps.
    classes_ : ndarray
        Labels, for classification.
    tasks_ : ndarray
        Labels of the tasks, sorted, if there are any.
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter``, ``objective`` (of the dual), ``projected_gradient`` (its largest entry) and
        ``duality_gap``.

    Notes
    -----
    Cost of a Newton step: O(n^2 D), or O(n D^2) where there are fewer columns than rows, without a matrix of the order
    of the larger of both; an interior-point method takes ten to forty of them. Sparse tables stay sparse.

    The primal problem has the loss :math:`s - 1 - \log s` with :math:`s = c (1 - y f) > 1`, a smooth hinge, and a
    convex penalty of the expected weights u: quadratic next to zero, then about
    :math:`\sqrt{\log(1 / p_0) / \kappa}\, |u|`, and quadratic again far out, so that it works like an elastic net. A
    probability above one half means an expected weight above :math:`\sqrt{\kappa \log(1 / p_0 - 1)}`, whatever the
    number of rows.

    Several classes, one against the rest, share the switches, with exponents :math:`\kappa \sum_m w_{mi}^2`: the form
    for several tasks (Jebara 2004). Tasks with rows of their own are given to ``fit``. A row that counts twice is two
    rows. Of columns that are copies of one another only the first has a factor. Which features rank first does not
    depend on how many are asked for. Lowering p0 until k features are left was no better.

    Deviations from the papers: columns are divided by the root of their number, without which a prior variance of one
    lets hardly any probability pass one half; the expected weight has the factor :math:`2 \kappa` (1 in the original),
    with which it is the gradient of the dual.

    References
    ----------
    Jaakkola, Meila and Jebara, "Maximum entropy discrimination", NIPS 1999. Jebara and Jaakkola, "Feature selection and
    dualities in maximum entropy discrimination", UAI 2000. Jebara, "Multi-task feature and kernel selection for SVMs",
    ICML 2004. Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MED
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(120, 30)
    >>> y = X[:, 0] - X[:, 7] > 0
    >>> np.flatnonzero(MED(stop=2).fit(X, y).get_support())
    array([0, 7])

    Two tasks, with weights of their own on the same features:

    >>> tasks = np.repeat(["left", "right"], 60)
    >>> y = np.where(tasks == "left", X[:, 0] - X[:, 7], X[:, 0] + X[:, 7]) > 0
    >>> found = MED(stop=2).fit(X, y, tasks=tasks)
    >>> np.flatnonzero(found.get_support())
    array([0, 7])
    >>> np.sign(found.coef_[:, [0, 7]])
    array([[ 1., -1.],
           [ 1.,  1.]])
    """

    provides: ClassVar[frozenset[str]] = ScalingRanker.provides | {"nested"}

    _task_labels: np.ndarray | None = None  # of the rows given to fit

    _parameter_constraints: ClassVar[dict] = {
        **ScalingRanker._parameter_constraints,
        "p0": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "kappa": [Interval(Real, 0, None, closed="neither")],
        "c": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        p0: float | str = "auto",
        kappa: float = 0.5,
        c: float | str = "auto",
        epsilon: float = 0.1,
        max_iter: int = 200,
        tol: float = 1e-8,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.p0 = p0
        self.kappa = kappa
        self.c = c
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.groups = groups

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, tasks: Any = None, *, row_groups: Any = None
    ) -> MED:
        """Rank the features of ``X`` and decide how many to keep.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.
        tasks : array-like of shape (n_samples,), default=None
            Label of the task of each row: every task has weights and a bias of its own, and all share the switches.
        row_groups : array-like of shape (n_samples,), default=None
            Which rows belong together, for rules that split rows.

        Returns
        -------
        self
        """
        self._task_labels = None if tasks is None else _checked_tasks(tasks, X)
        self._fit(X, y, sample_weight, row_groups)
        del self._task_labels
        return self

    # tasks

    def _task_codes(self, problem: LinearProblem) -> np.ndarray | None:
        """The task of every row; refuses tasks that lack a class."""
        if self._task_labels is None:
            return None
        labels = self._task_labels if self._kept_rows is None else self._task_labels[self._kept_rows]
        self.tasks_, codes = np.unique(labels, return_inverse=True)
        for t, label in enumerate(self.tasks_.tolist()):
            Y = problem.Y[codes == t]
            if np.any(Y.min(axis=0) == Y.max(axis=0)):
                lacks = "rows of one value of y only" if problem.classes is None else "no rows of some class"
                raise ValueError(f"task {label!r} has {lacks}: leave it out, or join it with another")
        return codes

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        if self._task_labels is not None and not isinstance(rule, (rule_class("own-choice"), rule_class("top-k"))):
            raise ValueError(
                f"{type(rule).__name__} ranks again without knowing the tasks; with tasks use stop='auto' or a number"
            )
        return super()._select(candidates, y, rule)

    def _pose(self, candidates: Candidates, y: np.ndarray) -> LinearProblem:
        problem = super()._pose(candidates, y)
        self._tasks = self._task_codes(problem)
        if self._tasks is None:
            return problem
        return within_task_units(problem, self._tasks, standardize=self.standardize)

    # ranking

    def _priors(self, problem: LinearProblem, p0: float) -> Priors:
        c = None if isinstance(self.c, str) else float(self.c)
        if c is not None and c <= 1.0 and problem.classes is not None:
            raise ValueError(
                f"c={self.c:g} leaves every multiplier at zero, for the expected margin 1 - 1/c is not positive; use "
                "c above 1, or c='auto'"
            )
        for name, value in (("kappa", float(self.kappa)), ("c", 1.0 if c is None else c)):
            if not 1.0 / _LARGEST <= value <= _LARGEST:
                raise ValueError(
                    f"{name}={value:g} leaves nothing but rounding; use {1.0 / _LARGEST:g} to {_LARGEST:g}"
                )
        return Priors(p0, float(self.kappa), c, float(self.epsilon))

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        return super()._rank_top(candidates, y, rng, None)  # the order does not depend on how many are asked for

    def _rounds(self, candidates: Candidates, problem: LinearProblem) -> Iterator[MEDRound]:
        alive = np.flatnonzero(problem.scale > 0)
        groups = group_owners(candidates)
        ids, owners = np.unique(alive if groups is None else groups[alive], return_inverse=True)
        self.p0_ = (1.0 + ids.size) ** (-4 / 3) if isinstance(self.p0, str) else float(self.p0)
        priors = self._priors(problem, self.p0_)
        if not alive.size:
            return
        machines = pose_machines(problem, alive, owners, self._tasks, priors)
        self.c_ = machines.dual.potential.c
        for iterate in newton_steps(machines.dual, self.tol):
            yield MEDRound.of(machines, iterate, ids)

    def _certify(self, candidates: Candidates, rounds: Sequence[Any], n_rounds: int) -> dict[str, Any]:
        if not rounds:
            return {"converged": True, "n_iter": 0, "objective": 0.0, "projected_gradient": 0.0, "duality_gap": 0.0}
        last, dual = rounds[-1].iterate, rounds[-1].machines.dual
        return {
            "converged": self._has_converged(last, len(rounds)),
            "n_iter": len(rounds),
            "objective": last.value,
            "projected_gradient": last.projected_gradient,
            "duality_gap": max(dual.duality_gap(last.multipliers, last.gradient), 0.0),
        }

    def _has_converged(self, last: Iterate, n_steps: int) -> bool:
        """Whether the projected gradient is small enough; warns if it is not."""
        if last.projected_gradient <= self.tol:
            return True
        warnings.warn(
            f"MED's projected gradient is {last.projected_gradient:.2g} after {n_steps} Newton steps; raise "
            f"max_iter={self.max_iter}, or tol={self.tol:g}",
            ConvergenceWarning,
            stacklevel=2,
        )
        return False

    def _conclude(
        self, candidates: Candidates, rounds: list[ScalingRound], n_rounds: int, n_top: int | None
    ) -> Ranking:
        """Rank by the size of the weights, with the posterior probabilities as scores."""
        if not rounds:
            return super()._conclude(candidates, rounds, n_rounds, n_top)
        last = rounds[-1]
        assert isinstance(last, MEDRound)
        p, norms = last.probabilities, last.norms
        order = Ranking.from_scores(norms, rounding=_SAME_NORM).order
        path = [Step(int(last.candidates[g]), float(p[g]), {"norm": float(norms[g])}) for g in order]
        ranking = Ranking.from_path(path, candidates.n_candidates, self._certify(candidates, rounds, n_rounds))
        self._describe(candidates, last)
        self.n_iter_ = len(rounds)
        n_chosen = int(np.count_nonzero(p > 0.5))
        active = f"{n_chosen} {candidates.noun}{' is' if n_chosen == 1 else 's are'} active"
        return replace(ranking, n_chosen=n_chosen, reason=f"{active} with a probability above 1/2")

    def _describe(self, candidates: Candidates, last: MEDRound) -> None:
        """Factors, multipliers and the machine with the expected weights."""
        problem, machines, iterate = self._problem, last.machines, last.iterate
        self.sigma_ = np.zeros(candidates.n_columns)
        self.sigma_[last.alive] = last.sigma
        self.multipliers_ = machines.multipliers(iterate.multipliers, problem.Y.shape[0])
        models = machines.models(problem, last.alive, iterate.W, iterate.bias)
        self.expected_coef_, self.expected_intercept_ = stacked_coefficients(models, candidates.n_columns)

    # the model of what is kept

    def _keep_model(self, features: np.ndarray) -> None:
        problem = self._problem
        if self._tasks is None:
            super()._keep_model(features)
        else:
            if problem.classes is not None:
                self.classes_ = problem.classes
            models = self._train_tasks(problem, features)
            self.estimator_ = TaskModel(features, self.tasks_, models, problem.classes)  # type: ignore[assignment]
            self.coef_, self.intercept_ = stacked_coefficients(models, problem.scale.size)

    def _train(self, problem: LinearProblem, features: np.ndarray) -> LinearModel:
        return self._train_tasks(problem, features)[0]

    def _train_tasks(self, problem: LinearProblem, features: np.ndarray) -> list[LinearModel]:
        """Machines on some features, all of whose switches are on; one for every task."""
        varying = features[problem.scale[features] > 0]
        if not varying.size:
            return constant_models(problem, features, self._tasks)
        machines = pose_machines(problem, varying, np.arange(varying.size), self._tasks, self._priors(problem, p0=1.0))
        steps = list(islice(newton_steps(machines.dual, self.tol), self.max_iter))
        self._has_converged(steps[-1], len(steps))
        return machines.models(problem, features, steps[-1].W, steps[-1].bias)


def _checked_tasks(tasks: Any, X: Any) -> np.ndarray:
    """Labels, one for every row, none missing."""
    labels = column_or_1d(np.asarray(tasks))
    if labels.size != num_samples(X):
        raise ValueError(f"X has {num_samples(X)} rows, but tasks has {labels.size}: give the task of every row")
    if any(label is None or label != label for label in labels.tolist()):
        raise ValueError("tasks holds missing labels; give the task of every row, or drop those rows")
    return labels
