"""Feature selection concave: the number of features, approximated by a concave penalty."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval, StrOptions, safe_indexing
from tamis.base import Candidates, Ranking, track
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._rounds import best_round, hold_out, order_by_rounds, round_criteria
from tamis.rank._row_sample import SampledRanker
from tamis.rank.sparse._concave_path import ConcavePath
from tamis.rank.sparse._costed import CostedRanker, resolve_loss
from tamis.rank.sparse._hinge_path import HingePath
from tamis.rank.sparse._target_paths import SparseFit, TargetPaths, candidate_magnitudes
from tamis.rank.sparse._weighted_logistic import WeightedLogistic


class FSV(SampledRanker, CostedRanker):
    r"""Feature selection concave: a linear model that separates with as few features as it can.

    .. math:: \min_{w, b, \xi} \sum_j \bigl(1 - e^{-a |w_j|}\bigr) + C \sum_i \xi_i \quad\text{with}\quad
              y_i (w^\top x_i + b) \ge 1 - \xi_i, \ \xi_i \ge 0

    (Lal et al. 2006, algorithm 3, with the slack of the original for classes that cannot be separated). The concave
    term comes near the number of weights, and is replaced by its tangent again and again: a linear program each time,
    whose objective never rises; the first is the l1 support vector machine. The logistic loss in place of the hinge is
    the combination that table 1 of the paper leaves open.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that have a weight. With a given C, a number k ends the programs before fewer
        than k features have a weight.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    loss : {"auto", "hinge", "logistic", "epsilon_insensitive"}, default="auto"
        "auto" is the hinge for classes and epsilon-insensitive for a quantity.
    C : float, "path" or "auto", default="auto"
        Cost of errors; infinite where there may be none. "path" raises it from ``C_min_``, the largest at which all
        weights are zero, to a thousand times that, or until as many features have entered as ``stop`` asks for, and
        ranks by entry. "auto" is chosen by cross-validation with ``stop="auto"`` (the smallest within one standard
        error of the best), and is the path where ``stop`` says how many to keep.
    steepness : float, default=5.0
        a: how near the penalty comes to the number of weights.
    epsilon : float, default=0.1
        Error that costs nothing, as a share of the standard deviation of y, for a quantity.
    max_iter : int, default=50
        Linear programs at each C.
    early_stopping : bool, default=False
        With a given C, stop after the round whose model has the fewest errors on held-out rows, instead of the last.
    validation_fraction : float, default=0.2
        Share of the rows that are held out for it.
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
        Relative duality gap of each program.
    max_samples : int or None, default=2000
        Rows to work on: of more, so many are drawn, always the same for one ``random_state``, and the reason says so.
        A given C is for so many rows. None takes all.
    n_jobs : int, default=None
        Folds in parallel, through joblib.
    random_state : int, RandomState or None, default=None
        For the rows that ``early_stopping`` holds out.

    Attributes
    ----------
    order_ : ndarray
        Features that got a weight, best first.
    scores_ : ndarray of shape (n_features,)
        With a given C, the number of programs in which it had a weight, plus a share of one by its size; along a path,
        ``alpha = 1 / (n C)`` where it entered. NaN if it never had any weight.
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
    n_iter_ : int
        Linear programs at a given C; 1 along a path.
    classes_ : ndarray
        Labels, for classification.
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        Of the model at the end of the path, before ``stop`` cuts it: ``converged``, ``objective`` (mean loss plus alpha
        times the penalty), ``gap`` (largest duality gap along the path: how far objectives are, at most, from their
        minimum), ``relative_gap`` (of the loss without features), and, with a given C, ``n_iter`` and
        ``objectives`` of the programs.

    Notes
    -----
    Cost: some five linear programs at each C, and up to ``max_iter`` where many columns can follow any target, each by
    column generation from the basis of the last (:class:`L1SVM`); with the logistic loss, as many paths of
    :class:`LogisticLasso`. By default this is done along a path of C on the rows of every fold: some ten seconds with
    2000 rows and 50 columns, and by the square of their number more; nearly a minute with 500 rows and 20 000 columns.
    A given C, or a number as ``stop``, spares the folds.

    The result is a stationary point: ``certificate_["gap"]`` is that of the last program, and ``objectives`` holds the
    objective of every round, which never rises.

    Few rows and many columns: run to the end it finds the smallest set that separates, and overfits. Stop it at k
    features, or hold out rows (Lal et al. 2006, Sec. 4.3: early stopping). Where features are correlated, :class:`RFE`
    and :class:`L1SVM` rank them better.

    The weights of a quantity's model count in units of its standard deviation. A number k, or ``max_iter``, may end the
    programs before nothing changes: then the model is that of the last tangent. ``C_min_`` is the largest C at which
    the programs end with the first, without weights; another start might find some.

    Features rank by how many programs they had a weight in, then by its size: sets of different k are not nested.

    References
    ----------
    Bradley and Mangasarian, "Feature selection via concave minimization and support vector machines", ICML 1998. Lal,
    Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 4.3.

    Examples
    --------
    >>> from tamis import FSV
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(FSV(stop=3).fit(X, y > 0).order_[:3].tolist())
    [0, 3, 4]
    """

    # which of several local minima is found depends on more than a feature's part beyond the others
    provides: ClassVar[frozenset[str]] = CostedRanker.provides - {"nested", "conditional_weights"}

    _parameter_constraints: ClassVar[dict] = {
        **CostedRanker._parameter_constraints,
        "loss": [StrOptions({"auto", "hinge", "logistic", "epsilon_insensitive"})],
        "steepness": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        **SampledRanker._parameter_constraints,
        "random_state": ["random_state"],
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
        steepness: float = 5.0,
        epsilon: float = 0.1,
        max_iter: int = 50,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        order: str = "entry",
        n_alphas: int = 100,
        cv: Any = 5,
        debias: bool = False,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        groups: Any = None,
        tol: float = 1e-8,
        max_samples: int | None = 2000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.loss = loss
        self.C = C
        self.steepness = steepness
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
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
        self.random_state = random_state

    def _make_solver(
        self, problem: LinearProblem, target: int, scale: np.ndarray, members: Sequence[np.ndarray] | None
    ) -> ConcavePath:
        solver: HingePath | WeightedLogistic
        if self.loss == "logistic" and problem.classes is not None:
            solver = WeightedLogistic(problem, target, scale, self.tol)
        else:
            loss = resolve_loss(self.loss, problem)
            solver = HingePath(problem, target, scale, loss=loss, epsilon=self.epsilon, tol=self.tol)
        return ConcavePath(solver, scale.size, self.steepness, self.max_iter)

    def _rank_at(
        self,
        paths: TargetPaths,
        candidates: Candidates,
        alpha: float,
        grid: np.ndarray,
        n_top: int | None,
        words: str,
    ) -> Ranking:
        """Rank by how long features keep their weights from one program to the next."""
        n_rounds = self._validated_rounds(candidates, alpha) if self.early_stopping else self.max_iter
        fits: list[SparseFit] = []
        rounds: list[dict[int, float]] = []
        for fit in track(self, self._linearizations(paths, alpha, n_rounds), task_name="program", total=n_rounds):
            magnitudes = candidate_magnitudes(fit, candidates)
            if n_top is not None and fits and len(magnitudes) < n_top <= len(rounds[0]):
                break
            fits.append(fit)
            rounds.append(magnitudes)
        order = order_by_rounds(rounds)
        criteria = round_criteria(rounds, order)
        self._objectives = [fit.objective for fit in fits]
        alphas = dict.fromkeys(order, alpha)
        return self._conclude_order(candidates, order, criteria, fits[-1], alphas, words=words, gap=fits[-1].gap)

    def _certify(self, fit: SparseFit, gap: float) -> dict[str, Any]:
        certificate = super()._certify(fit, gap)
        del certificate["kkt"]  # that of a tangent, whose columns are divided by its slopes
        self.n_iter_ = 1
        if hasattr(self, "_objectives"):
            self.n_iter_ = len(self._objectives)
            if self.n_iter_ == self.max_iter and not self.early_stopping:
                certificate["converged"] = False
                warnings.warn(
                    f"FSV's objective was still falling after {self.n_iter_} programs; raise max_iter={self.max_iter}",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            objective_unit = self._units(self._problem)[1]
            certificate |= {
                "n_iter": len(self._objectives),
                "objectives": [value * objective_unit for value in self._objectives],
            }
            del self._objectives
        return certificate

    def _linearizations(self, paths: TargetPaths, alpha: float, n_rounds: int) -> Iterator[SparseFit]:
        """The minimum at every tangent, until nothing changes for any target."""
        solvers: Sequence[ConcavePath] = paths.solvers  # type: ignore[assignment]
        points = [solver.linearize(alpha, None) for solver in solvers]
        yield SparseFit.unite(points)
        for _ in range(n_rounds - 1):
            moved = [solver.linearize(alpha, point) for solver, point in zip(solvers, points, strict=True)]
            changes = zip(solvers, points, moved, strict=True)
            if all(solver.has_converged(before, after) for solver, before, after in changes):
                return
            points = moved
            yield SparseFit.unite(points)

    def _validated_rounds(self, candidates: Candidates, alpha: float) -> int:
        """Programs after which models of some of the rows have the fewest errors on the others."""
        y, problem = self._target, self._problem
        is_classes = problem.classes is not None
        parts = hold_out(y, self.validation_fraction, is_classes=is_classes, rng=self._rng())
        if parts is None:
            return self.max_iter
        train, test = parts
        part = self._pose(seen := candidates.take_rows(train), y[train])
        paths = self._make_paths(part, seen, part.scale)
        unseen = safe_indexing(candidates.table, test)
        Y = problem.Y[test] * problem.unit + problem.center
        errors = []
        for fit in self._linearizations(paths, alpha, self.max_iter):
            model = part.model(fit.features, fit.weights, fit.intercept)
            outputs = model.decision_function(safe_indexing(unseen, fit.features, axis=1))
            wrong = self._held_out_errors(problem, outputs, Y)
            errors.append(float(np.average(wrong, weights=problem.row_shares[test])))
        return best_round(errors) + 1
