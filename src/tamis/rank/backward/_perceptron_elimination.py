"""Perceptron elimination: large margins in a norm that follows the number of remaining features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval
from tamis.base import (
    STEP_CONSTRAINT,
    BackwardRanker,
    Candidates,
    Elimination,
    Ranker,
    Ranking,
    Step,
    StepSize,
    ascending,
    interruption,
    n_to_eliminate,
    track,
)
from tamis.kernels.arrays.scaling import (
    rescale_columns,
    rescale_safely,
    standardize_columns,
    varying_columns,
)
from tamis.kernels.arrays.targets import encode_target
from tamis.rank._row_sample import SampledRanker
from tamis.rank.backward._alma import Hyperplane, adapt_norm, count_spare, find_hyperplane, normalize_rows


@dataclass(frozen=True)
class _Hyperplanes:
    """The hyperplanes of one round, one per class beyond two.

    Attributes
    ----------
    importance : ndarray of shape (n_features,)
        Share of ``sum |w_i|^q`` that a feature has, on average over the hyperplanes.
    powers : ndarray of shape (n_hyperplanes, n_features)
        ``|w_i|^q``.
    budgets : ndarray of shape (n_hyperplanes,)
        How much of its sum each may lose.
    """

    runs: tuple[Hyperplane, ...]
    importance: np.ndarray
    powers: np.ndarray
    budgets: np.ndarray

    @property
    def converged(self) -> bool:
        return all(run.converged for run in self.runs)


class PerceptronElimination(SampledRanker, BackwardRanker):
    r"""Backward elimination of the smallest weights of a large-margin perceptron, as long as the margin allows.

    .. math:: \sum_{i\ \text{left out}} |w_i|^q \le \bigl(\alpha (1 - \alpha) \gamma\bigr)^q, \qquad
              y_k\, w \cdot x_k > (1 - \alpha) \gamma, \quad \|x_k\|_p = 1, \quad \|w\|_q \le 1, \quad
              \frac{1}{p} + \frac{1}{q} = 1

    Each round runs ALMA on the remaining features, a perceptron that finds nearly the largest margin in the p-norm
    (Gentile 2001), with :math:`p = \max(2, 2 \ln D)` for D of them: where there are many, few weights are large, as
    with multiplicative updates; where there are few it is close to a support vector machine. The smallest weights are
    eliminated as long as the inequality holds (Lal et al. 2006, Sec. 2.3; Gentile 2004). When none can be, the method
    has chosen; the remaining features are then eliminated likewise, ``step`` at a time, to be ranked as well.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" is the method's own choice, :class:`~tamis.stop.OwnChoice`.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    alpha : float, default=0.5
        Share of the margin to do without, in (0, 1]: ALMA finds at least 1 - alpha of the largest one, and leaving
        features out costs at most alpha of that.
    slack : float, default=1.0
        Size of the slack feature that every row has for itself, relative to the row: errors are allowed, at a price
        that falls with it. 0 is the paper's perceptron, which settles only where a hyperplane separates the classes.
    step : int, float or "halving", default=0.1
        Features to eliminate at a time once none can be spared: a count, a fraction of the remaining ones, or down to a
        power of two. Without slack those that remain then are ranked by their weights, for fewer may not separate the
        classes.
    fit_intercept : bool, default=True
        Add a constant feature, of the table's root mean square, that is never eliminated.
    max_iter : int, default=5000
        Passes over the rows in one run.
    max_samples : int or None, default=5000
        Rows to work on: of more, so many are drawn, always the same for one ``random_state``, and the reason says so.
        None takes all.
    standardize : bool, default=True
        Center the columns and scale them to unit variance, so that units do not matter; sparse ones are only scaled.
    random_state : int, RandomState or None, default=None
        Shuffles the rows before the first run; with None they are taken in their order.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Share of :math:`\|w\|_q^q` that a feature had when it was eliminated; NaN for constant columns, which are not
        ranked.
    path_ : tuple of Step
        Best feature first; ``info`` holds ``n_features`` and ``p`` of the round in which it was eliminated, and
        ``spared``, whether the inequality allowed it.
    n_iter_ : int
        Passes of all runs.
    order_, ranking_, support_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter``, ``n_corrections``, ``gamma`` (of the run at the method's own stop, the least one
        over the classes).
    n_chosen_ : int
        How many features are left where the method itself stops.

    Notes
    -----
    Why the inequality: by Hölder, leaving features out changes no margin by more than
    :math:`(\sum |w_i|^q)^{1/q} \|x\|_p`, which it keeps below :math:`\alpha (1 - \alpha) \gamma`. ALMA ends with all
    margins above :math:`(1 - \alpha) \gamma`, so that those of the truncated weights stay above
    :math:`(1 - \alpha)^2 \gamma`. Lal et al. print :math:`\sum |w_i| \ge 1 - \alpha (1 - \alpha) \gamma^{p/(p-1)}`
    for those kept, without the power q on the weights and the bracket. That is the same for q = 1 only; in other norms
    :math:`\sum |w_i|` can exceed :math:`\|w\|_q = 1` many times over, and nearly all features could go at once.

    :math:`\gamma` is the margin that the last pass held against the rows, never below the largest one there is. A
    projected w may be shorter than one, and the inequality is for w as it is.

    Deviations: the slack, measured in the 2-norm whatever p is (see :func:`tamis.rank.backward._alma.find_hyperplane`);
    features alone are left out, and a row's length without its slack counts in the bound. With more than two classes
    there is one hyperplane for each against the rest; features are eliminated by their mean share of the weights, and
    as many as the inequality allows for *every* hyperplane. At least one is kept. From 150 features on, p is rounded to
    a whole number, so that powers are products.

    Cost: O(n D) per pass and O(D) per correction, of which a run makes at most :math:`2 (p - 1) (2 / \alpha - 1)^2 /
    \gamma_*^2 + 8 / \alpha - 4`, :math:`\gamma_*` being the largest margin: with slack that falls as the root of the
    number of rows, so that corrections grow with it, and the cost with its square up to ``max_samples`` rows. Most
    of it is that of the first round: less than a minute in all with 500 rows and 20 000 columns.

    References
    ----------
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 2.3. Gentile,
    "A new approximate maximal margin classification algorithm", JMLR 2, 2001. Gentile, "Fast feature selection from
    microarray expression data via multiplicative large margin algorithms", NIPS 16, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import PerceptronElimination
    >>> X = np.random.RandomState(0).standard_normal((60, 200))
    >>> y = X[:, 3] - X[:, 8] > 0
    >>> found = PerceptronElimination(stop=2).fit(X, y)
    >>> found.get_feature_names_out()
    array(['x3', 'x8'], dtype=object)
    """

    one_shot: ClassVar[bool] = False
    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    provides: ClassVar[frozenset[str]] = Ranker.provides | {"own_choice", "sparse"}
    natural_stop: ClassVar[tuple[str, dict[str, Any]]] = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **SampledRanker._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="right")],
        "slack": [Interval(Real, 0, None, closed="left")],
        "step": STEP_CONSTRAINT,
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        alpha: float = 0.5,
        slack: float = 1.0,
        step: float | str = 0.1,
        fit_intercept: bool = True,
        max_iter: int = 5000,
        max_samples: int | None = 5000,
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.alpha = alpha
        self.slack = slack
        self.step = step
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.max_samples = max_samples
        self.standardize = standardize
        self.random_state = random_state

    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> PerceptronRounds:
        labels = encode_target(np.asarray(y), "classification").values.T
        labels = np.where(labels > 0, 1.0, -1.0)
        Z, varies = self._table(candidates.table)
        if not varies.size:
            raise ValueError("every column of X is constant, up to rounding: there is nothing to rank")
        if self.random_state is not None:
            rows = rng.permutation(Z.shape[0])
            Z, labels = Z[rows], labels[:, rows]
        Z = Z.tocsc() if sparse.issparse(Z) else Z
        return PerceptronRounds(Z, varies, partial(self._run, labels=labels), bool(self.slack))

    def _table(self, X: Any) -> tuple[Any, np.ndarray]:
        """The table that the perceptron sees, and the columns of it that vary."""
        X = X.astype(float)
        Z = rescale_columns(X) if self.standardize else rescale_safely(X)
        varies = varying_columns(Z)
        return (standardize_columns(Z) if self.standardize else Z), varies

    def _run(self, Z: Any, *, labels: np.ndarray) -> _Hyperplanes:
        """One hyperplane per row of ``labels``."""
        n_features, p = Z.shape[1], adapt_norm(Z.shape[1])
        rows = normalize_rows(self._add_constant(Z), p)
        runs = tuple(self._find(rows, label, p) for label in labels)
        q = p / (p - 1)
        powers = np.abs([run.weights[:n_features] for run in runs]) ** q
        length = np.hypot(1.0, self.slack)  # of a row with its slack, whose features have length one
        budgets = [(self.alpha * (1 - self.alpha) * run.gamma * length) ** q * run.converged for run in runs]
        total = powers.sum(axis=1, keepdims=True)
        shares = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)
        return _Hyperplanes(runs, shares.mean(axis=0), powers, np.array(budgets))

    def _find(self, rows: Any, label: np.ndarray, p: float) -> Hyperplane:
        passes = track(self, range(1, self.max_iter + 1), task_name="pass", total=self.max_iter)
        return find_hyperplane(rows, label, p=p, alpha=self.alpha, slack=self.slack, passes=passes)

    def _add_constant(self, Z: Any) -> Any:
        if not self.fit_intercept:
            return Z
        values = Z.data if sparse.issparse(Z) else Z
        constant = np.full((Z.shape[0], 1), np.sqrt(np.sum(values**2) / (Z.shape[0] * Z.shape[1])))
        return sparse.hstack([Z, constant], format="csr") if sparse.issparse(Z) else np.hstack([Z, constant])

    def _conclude(self, elimination: Elimination, path: list[Step], n_candidates: int) -> Ranking:
        """How the runs went, with a warning if one of them was cut short, and where the method itself would stop."""
        assert isinstance(elimination, PerceptronRounds)
        runs = elimination.runs
        short = sum(not run.converged for run in runs)
        if short and not interruption(self):
            advice = "give slack > 0, which separates any classes" if self.slack == 0 else f"raise slack={self.slack:g}"
            warnings.warn(
                f"PerceptronElimination ended {short} of {len(runs)} runs while rows were still corrected; {advice}, "
                f"or raise max_iter={self.max_iter}",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter_ = sum(run.n_passes for run in runs)
        n_corrections = sum(run.n_corrections for run in runs)
        certificate: dict[str, Any] = {"converged": short == 0, "n_iter": self.n_iter_, "n_corrections": n_corrections}
        ranking = Ranking.from_path(path, n_candidates, certificate)
        last = elimination.last_spared
        if last is None:
            n_chosen, reason = elimination.n_remaining, "the elimination was ended before its time"
            return replace(ranking, n_chosen=n_chosen, reason=reason)
        certificate["gamma"] = last.gamma
        return replace(ranking, n_chosen=last.n_features, reason=self._reason(last))

    def _reason(self, last: LastSpared) -> str:
        """Why no more features can be spared."""
        remaining = f"{last.n_features} feature{'s' if last.n_features > 1 else ''}"
        if not last.converged:
            return f"the perceptron on {remaining} did not converge, so that no more could be left out"
        name = self.feature_name(last.least_useful)
        if last.n_features == 1:
            return f"all but one could be spared: kept '{name}'"
        return (
            f"to leave out '{name}', the last of {remaining}, could cost more than "
            f"{self.alpha:.0%} of the margin {(1 - self.alpha) * last.gamma:.3g}"
        )


@dataclass(frozen=True)
class LastSpared:
    """The round in which no feature could be spared any more."""

    n_features: int
    least_useful: int
    gamma: float
    converged: bool


class PerceptronRounds(Elimination):
    """Runs of the perceptron on the features that remain.

    Features leave as long as every hyperplane can spare them; after that, in steps, to the last.

    Parameters
    ----------
    Z : table
    remaining : ndarray
        Columns that vary.
    run : callable
        Gives the hyperplanes of a table.
    has_slack : bool
        Without slack, rows cannot be separated by any fewer features: all leave at once.

    Attributes
    ----------
    runs : list of Hyperplane
        Of all rounds.
    last_spared : LastSpared or None
    """

    def __init__(self, Z: Any, remaining: np.ndarray, run: Callable[[Any], _Hyperplanes], has_slack: bool) -> None:
        self.Z, self.remaining, self._run, self._has_slack = Z, remaining, run, has_slack
        self.runs: list[Hyperplane] = []
        self.last_spared: LastSpared | None = None
        self._n_spare = 0
        self._criteria = np.zeros(remaining.size)

    def train(self) -> bool:
        """Run on the features that remain, and see how many of them can be spared."""
        self._hyperplanes = self._run(self.Z[:, self.remaining])
        self.runs.extend(self._hyperplanes.runs)
        self._criteria = self._hyperplanes.importance
        order = ascending(self._criteria, self.remaining)
        self._n_spare = 0
        if self.last_spared is None:
            powers, budgets = self._hyperplanes.powers[:, order], self._hyperplanes.budgets
            self._n_spare = min(count_spare(powers, budgets), order.size - 1)
            if not self._n_spare:
                gamma = min(run.gamma for run in self._hyperplanes.runs)
                least_useful = int(self.remaining[order[0]])
                self.last_spared = LastSpared(order.size, least_useful, gamma, self._hyperplanes.converged)
        return True

    def n_rounds(self, step: StepSize) -> None:
        """As many features leave as can be spared."""

    def criteria(self) -> np.ndarray:
        """Mean share of the weights."""
        return self._criteria

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """Those that can be spared; where none can, as many as ``step`` says."""
        n_leaving = self._n_spare or (n_to_eliminate(step, self.n_remaining) if self._has_slack else self.n_remaining)
        candidates, criteria = self.ordered()
        return candidates[:n_leaving], criteria[:n_leaving]

    def remove(self, leaving: np.ndarray) -> None:
        """Leave them out of the next run."""
        stay = ~np.isin(self.remaining, leaving)
        self.remaining, self._criteria = self.remaining[stay], self._criteria[stay]

    def info(self) -> Mapping[str, Any]:
        """How many features remain, the norm for so many, and whether some can be spared."""
        return {"n_features": self.n_remaining, "p": adapt_norm(self.n_remaining), "spared": self._n_spare > 0}
