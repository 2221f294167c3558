"""The base of linear models with a sparsity term: a path over the penalty, an order, and a model of what is kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import delayed

from tamis._sklearn import Interval, StrOptions, safe_indexing
from tamis.base import (
    GROUPS_CONSTRAINT,
    Candidates,
    LinearModel,
    Ranking,
    Step,
    StopDecision,
    StoppingRule,
    WeightedRanker,
    finish,
    fresh,
    interruption,
    open_parallel,
    track,
)
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._validation import one_standard_error, path_outputs, stay_at_last, validation_folds
from tamis.rank.sparse._target_paths import Entries, PathSolver, SparseFit, TargetPaths, candidate_magnitudes, certify

_PATH_END = 1e-3  # of alpha_max: where a path ends, unless it is saturated before
_PATH_END_IN_DRAWS, _N_ALPHAS_IN_DRAWS = 1e-2, 20  # coarser: any penalty serves features and copies alike
_UNVALIDATED = 0.1  # of alpha_max: the penalty where there are too few rows to cross-validate it
NO_PENALTY = 1e-9  # of alpha_max: a penalty too small to matter


class PenalizedRanker(WeightedRanker):
    """Linear models whose penalty makes weights zero: features rank by when they enter as it falls, or by their weight.

    A method writes :meth:`_make_solver`, the path solver of one target, and :meth:`_held_out_errors`, by which
    cross-validation compares penalties.
    """

    one_shot: ClassVar[bool] = False
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {
        "conditional_weights",
        "groups",
        "own_choice",
        "sparse",
    }
    natural_stop: ClassVar = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "alpha": [StrOptions({"auto", "path"}), Interval(Real, 0, None, closed="neither")],
        "order": [StrOptions({"entry", "magnitude"})],
        "n_alphas": [Interval(Integral, 2, None, closed="left")],
        "cv": ["cv_object"],
        "debias": ["boolean"],
        "standardize": ["boolean"],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "groups": GROUPS_CONSTRAINT,
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
    }

    order: str
    n_alphas: int
    cv: Any
    debias: bool
    standardize: bool
    task: str
    class_weight: Any
    groups: Any
    tol: float
    n_jobs: int | None

    # what a method writes

    @abstractmethod
    def _make_solver(
        self, problem: LinearProblem, target: int, scale: np.ndarray, members: Sequence[np.ndarray] | None
    ) -> PathSolver:
        """The solver of one target, on columns times ``scale``."""

    @abstractmethod
    def _held_out_errors(self, problem: LinearProblem, outputs: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Error of every row: outputs and true targets have the shape (n_samples, n_targets)."""

    def _has_squared_loss(self, classes: np.ndarray | None) -> bool:
        """Whether the loss is squared for classes, or for a quantity: it then depends on products of columns alone."""
        return False

    def _units(self, problem: LinearProblem) -> tuple[float, float]:
        """What alphas and objectives of the problem have to be multiplied by, in the units of a quantity."""
        return problem.unit, problem.unit * problem.unit  # infinite where it overflows, which a power refuses

    def _given_alpha(self, problem: LinearProblem, paths: TargetPaths) -> float | str:
        """The penalty that was asked for, in units of the problem, or how to choose it: "auto" or "path"."""
        alpha = self.alpha  # type: ignore[attr-defined]
        return alpha if isinstance(alpha, str) else float(alpha) / self._units(problem)[0]

    # ranking

    def _pose(self, candidates: Candidates, y: np.ndarray | None) -> LinearProblem:
        weights = {"task": self.task, "class_weight": self.class_weight}
        problem = LinearProblem.pose(
            candidates, np.asarray(y), **weights, standardize=self.standardize, has_squared_loss=self._has_squared_loss
        )
        return self._without_copies(candidates, problem)

    def _without_copies(self, candidates: Candidates, problem: LinearProblem) -> LinearProblem:
        is_shared = self._shares_weight_among_copies(candidates)
        return problem if is_shared else problem.without_copies()

    def _shares_weight_among_copies(self, candidates: Candidates) -> bool:
        """Whether the penalty gives copies of a column their shares; the l1 norm lets any of them have all."""
        return self._penalized_groups(candidates) is not None

    def _make_paths(self, problem: LinearProblem, candidates: Candidates, scale: np.ndarray) -> TargetPaths:
        members = self._penalized_groups(candidates)
        return TargetPaths([self._make_solver(problem, t, scale, members) for t in range(problem.Y.shape[1])])

    def _penalized_groups(self, candidates: Candidates) -> Sequence[np.ndarray] | None:
        """Groups of the penalty; None where it is a sum over single weights, whatever is ranked."""
        return None

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        return self._rank_top(candidates, y, rng, None)

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        problem = self._pose(candidates, y)
        paths = self._make_paths(problem, candidates, problem.scale)
        self._problem, self._target, self._null_loss = problem, np.asarray(y), paths.null_loss
        self.alpha_max_ = paths.alpha_max * self._units(problem)[0]
        if paths.alpha_max == 0.0:
            return self._conclude_empty(candidates, paths)
        alpha = self._given_alpha(problem, paths)
        grid = paths.alpha_max * np.geomspace(1.0, _PATH_END, self.n_alphas)
        words = ""
        if alpha == "auto":
            is_own_choice = n_top is None and self._method_sets_size()
            alpha, words = self._validated_alpha(candidates, y, problem, grid) if is_own_choice else ("path", "")
        if isinstance(alpha, str):
            return self._rank_along(paths, candidates, grid, n_top)
        return self._rank_at(paths, candidates, float(alpha), grid, n_top, words)

    def _rank_along(self, paths: TargetPaths, candidates: Candidates, alphas: np.ndarray, n_top: int | None) -> Ranking:
        """Rank by first entry along the path, until ``n_top`` candidates have entered."""
        entries, fit, gap = Entries({}, {}), None, 0.0
        for number, fit in enumerate(track(self, paths.follow(alphas), task_name="penalty", total=alphas.size)):
            entries.add(number, fit, candidates)
            gap = max(gap, fit.gap)
            active = candidate_magnitudes(fit, candidates)
            if n_top is not None and len(entries.step if self.order == "entry" else active) >= n_top:
                break
        assert fit is not None
        return self._conclude(candidates, fit, entries, active_first=self.order == "magnitude", words="", gap=gap)

    def _rank_at(
        self,
        paths: TargetPaths,
        candidates: Candidates,
        alpha: float,
        grid: np.ndarray,
        n_top: int | None,
        words: str,
    ) -> Ranking:
        """Rank by the model at one penalty; by entry on the way there, those with a weight first."""
        entries = Entries({}, {})
        if self.order == "magnitude":
            fit, gap = paths.solve(alpha), 0.0
        else:
            alphas, gap = grid[grid > alpha * (1 + 1e-12)], 0.0
            alphas = np.append(alphas, alpha) if alpha > 0 or not alphas.size else alphas
            for number, fit in enumerate(track(self, paths.follow(alphas), task_name="penalty", total=alphas.size)):
                entries.add(number, fit, candidates)
                gap = max(gap, fit.gap)
            if fit.alpha != alpha and not interruption(self):  # nothing was left to be explained before
                fit = paths.solve(alpha)
        return self._conclude(candidates, fit, entries, active_first=True, words=words, gap=max(gap, fit.gap))

    def _conclude(
        self, candidates: Candidates, fit: SparseFit, entries: Entries, *, active_first: bool, words: str, gap: float
    ) -> Ranking:
        """A ranking from when candidates entered and from the weights at the end."""
        unit, alpha_unit = self._problem.unit, self._units(self._problem)[0]
        magnitudes = candidate_magnitudes(fit, candidates)
        entries.add(len(entries.step), fit, candidates)
        order = list(entries.step)
        if active_first:
            order = [j for j in order if j in magnitudes] + [j for j in order if j not in magnitudes]
        if self.order == "magnitude":
            # the sort is stable: those without a weight stay in the order of their entry
            order.sort(key=lambda j: -magnitudes.get(j, 0.0))
        by_magnitude = self.order == "magnitude"
        criteria = [magnitudes.get(j, 0.0) * unit if by_magnitude else entries.alpha[j] * alpha_unit for j in order]
        return self._conclude_order(candidates, order, criteria, fit, entries.alpha, words=words, gap=gap)

    def _conclude_order(
        self,
        candidates: Candidates,
        order: Sequence[int],
        criteria: Sequence[float],
        fit: SparseFit,
        entry_alphas: dict[int, float],
        *,
        words: str,
        gap: float,
    ) -> Ranking:
        """A ranking in the given order, of which the method itself keeps what has a weight at the end."""
        unit, alpha_unit = self._problem.unit, self._units(self._problem)[0]
        magnitudes = candidate_magnitudes(fit, candidates)
        path = [
            Step(j, criterion, {"alpha": entry_alphas[j] * alpha_unit, "weight": magnitudes.get(j, 0.0) * unit})
            for j, criterion in zip(order, criteria, strict=True)
        ]
        self._entry_alphas: dict[int, float] = entry_alphas
        self._fit_at_end = fit
        self.alpha_ = fit.alpha * alpha_unit
        certificate = self._certify(fit, gap)
        n_chosen, noun = len(magnitudes), candidates.noun
        has = f"the {n_chosen} {noun}{'s that have' if n_chosen > 1 else ' that has'} a weight"
        found, where = has if n_chosen else f"no {noun} has a weight", self._describe_alpha(fit.alpha * alpha_unit)
        ranking = Ranking.from_path(path, candidates.n_candidates, certificate)
        return replace(ranking, n_chosen=n_chosen, reason=f"{found} at {where}{words}")

    def _conclude_empty(self, candidates: Candidates, paths: TargetPaths) -> Ranking:
        """No column has anything to do with the target."""
        self._entry_alphas, self._fit_at_end, self.alpha_ = {}, paths.solve(1.0), 0.0
        ranking = Ranking.from_path([], candidates.n_candidates, {"converged": True, "gap": 0.0, "kkt": 0.0})
        return replace(ranking, n_chosen=0, reason=f"no {candidates.noun} is correlated with the target")

    def _describe_alpha(self, alpha: float) -> str:
        share = f" ({alpha / self.alpha_max_:.2g} of the smallest that leaves none)" if self.alpha_max_ else ""
        return f"alpha = {alpha:.4g}{share}"

    def _certify(self, fit: SparseFit, gap: float) -> dict[str, Any]:
        """How we know that the path ends at a minimum; methods add what is particular to theirs."""
        return certify(type(self).__name__, fit, gap, self._null_loss, self._units(self._problem))

    def weighing_in_draws(self, among: Candidates, y: np.ndarray | None) -> PenalizedRanker:
        """Weights at one penalty: that given, else the one of the least held-out error among these candidates."""
        copy = fresh(self, order="magnitude", stop=None)
        problem = copy._pose(among, y)
        paths = copy._make_paths(problem, among, problem.scale)
        alpha = copy._given_alpha(problem, paths)
        if isinstance(alpha, str) and paths.alpha_max > 0.0:
            alpha = copy._best_alpha(among, y, problem, paths.alpha_max)
        return copy._at_penalty(1.0 if isinstance(alpha, str) else alpha, problem)

    def _best_alpha(self, among: Candidates, y: np.ndarray | None, problem: LinearProblem, alpha_max: float) -> float:
        """The penalty of the least held-out error on a coarse grid; where rows are too few for it, a fixed share."""
        grid = alpha_max * np.geomspace(1.0, _PATH_END_IN_DRAWS, min(_N_ALPHAS_IN_DRAWS, self.n_alphas))
        alpha, _ = self._validated_alpha(among, y, problem, grid)
        return float(grid[np.argmin(self.cv_results_["mean_error"])]) if hasattr(self, "cv_results_") else alpha

    def _at_penalty(self, alpha: float, problem: LinearProblem) -> PenalizedRanker:
        """A copy whose penalty is this, given in units of the problem."""
        return fresh(self, alpha=alpha * self._units(problem)[0], max_norm=None)

    # the penalty by cross-validation

    def _validated_alpha(
        self, candidates: Candidates, y: np.ndarray | None, problem: LinearProblem, grid: np.ndarray
    ) -> tuple[float, str]:
        """The largest penalty whose held-out error is within one standard error of the least, and why in words."""
        folds = validation_folds(self.cv, candidates, y := np.asarray(y), problem.classes, self._kept_rows)
        if folds is None:
            return float(grid[0]) * _UNVALIDATED, "; a class has too few rows to cross-validate the penalty"
        alphas = grid * self._units(problem)[0]
        with open_parallel(self.n_jobs, shared=[candidates]) as parallel:
            results = parallel(self._fold_tasks(candidates, y, problem, folds, alphas))
            errors = np.array(list(track(self, results, task_name="fold", total=len(folds), interruptible=False)))
            finish(results)
        mean, spread, best, chosen = one_standard_error(errors)
        with np.errstate(over="ignore"):
            mean, spread = mean * self._units(problem)[1], spread * self._units(problem)[1]
        self.cv_results_ = {"alpha": alphas, "mean_error": mean, "standard_error": spread}
        words = (
            f"; the sparsest whose held-out error ({mean[chosen]:.4g}) is within one standard error of the least "
            f"({mean[best]:.4g} +- {spread[best]:.2g})"
        )
        return float(grid[chosen]), words

    def _fold_tasks(
        self,
        candidates: Candidates,
        y: np.ndarray,
        problem: LinearProblem,
        folds: Sequence[tuple[np.ndarray, np.ndarray]],
        alphas: np.ndarray,
    ) -> list[Any]:
        """Calls, delayed, that give the errors of every fold."""
        shared = candidates, y, problem.without_table()
        return [delayed(fresh(self)._fold_errors)(*shared, *fold, alphas) for fold in folds]

    def _fold_errors(
        self,
        candidates: Candidates,
        y: np.ndarray,
        problem: LinearProblem,
        train: np.ndarray,
        test: np.ndarray,
        alphas: np.ndarray,
    ) -> np.ndarray:
        """Mean error on held-out rows at every penalty, by models of the training rows."""
        seen = candidates.take_rows(train)
        models = self._path_models(seen, self._pose(seen, y[train]), alphas, train.size)
        # in units of the problem, in which squares of very large or small quantities can be summed
        of_rows = path_outputs(models, safe_indexing(candidates.table, test))
        outputs = [(each - problem.center) / problem.unit for each in of_rows]
        truth, share = problem.Y[test], problem.row_shares[test]
        with np.errstate(over="ignore"):  # of rows far beyond those of the training
            errors = np.array([self._held_out_errors(problem, each, truth) @ (share / share.sum()) for each in outputs])
        return stay_at_last(errors, alphas.size)

    def _path_models(
        self, candidates: Candidates, problem: LinearProblem, alphas: np.ndarray, n_rows: int
    ) -> list[LinearModel]:
        """Models at decreasing penalties, given in the units of y, until nothing is left to be explained."""
        models = []
        for fit in self._make_paths(problem, candidates, problem.scale).follow(alphas / self._units(problem)[0]):
            models.append(problem.model(fit.features, fit.weights, fit.intercept))
            if np.count_nonzero(fit.weights, axis=0).max(initial=0) >= n_rows:
                break  # as many weights as rows can follow any target, and smaller penalties only follow it closer
        return models

    # the model of what is kept

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        """Rank, stop, and fit the model on what is kept."""
        ranking, decision = super()._select(candidates, y, rule)
        kept = (decision.ranking or ranking).order[: decision.n_features]
        self._keep_model(candidates, kept)
        self._describe_penalty()
        for name in ("_problem", "_target", "_null_loss", "_entry_alphas", "_fit_at_end"):
            delattr(self, name)
        return ranking, decision

    def _describe_penalty(self) -> None:
        """Set attributes that say the penalty in other words."""

    def _keep_model(self, candidates: Candidates, kept: np.ndarray) -> None:
        """The minimum over the kept candidates, at the penalty at which the last of them entered."""
        problem, features = self._problem, np.sort(candidates.columns_of(kept)).astype(np.int64)
        fit = self._refit(candidates, kept, features)
        weights = np.zeros((features.size, problem.Y.shape[1]))
        weights[np.searchsorted(features, fit.features)] = fit.weights
        model = problem.model(features, weights, fit.intercept)
        self.estimator_ = model
        self.coef_, self.intercept_ = model.coefficients(candidates.n_columns)
        if model.classes is not None:
            self.classes_ = model.classes

    def _refit(self, candidates: Candidates, kept: np.ndarray, features: np.ndarray) -> SparseFit:
        """The model at the end of the path where it has these features, else another minimum over them."""
        problem, end = self._problem, self._fit_at_end
        if not features.size:  # nothing but the intercept, also where rules keep none of those that have a weight
            if not end.features.size:
                return end
            paths = self._make_paths(problem, candidates, problem.scale)
            return paths.solve(2.0 * paths.alpha_max)
        entered = [self._entry_alphas[j] for j in kept.tolist() if j in self._entry_alphas]
        # where all weights are of kept features, the minimum over these is that over all
        is_end = bool(np.isin(end.features, features).all())
        alpha = end.alpha if is_end else min(entered, default=end.alpha)
        self.alpha_ = alpha * self._units(problem)[0]
        if self.debias:
            alpha = NO_PENALTY * self.alpha_max_ / self._units(problem)[0]
        elif is_end:
            return end
        paths = self._make_paths(problem, candidates, problem.kept_scale(features))
        return paths.solve(alpha)
