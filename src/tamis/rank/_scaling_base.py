"""The base of methods that learn a scaling factor for every feature together with a model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

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
    track,
)
from tamis.kernels.arrays.blocks import limit_blas_threads
from tamis.rank._kernel_model import KernelModel
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._rounds import best_round, hold_out, order_by_rounds
from tamis.rank._row_sample import note_rows
from tamis.rank._validation import classification_errors

_LARGEST_RANGE, _LEAST_RANGE = 1e30, 1e-100  # of columns that are not standardized


class ScalingRound(Protocol):
    """One update of the scaling factors.

    Attributes
    ----------
    alive : ndarray of int
        Columns of the table that have a factor before the update.
    sigma : ndarray
        Their factors before the update.
    updated : ndarray
        Their factors after the update; zero for those that vanish.
    strength : ndarray
        Sizes by which they are ordered if the update leaves too few: those of the update, before any vanishes.
    """

    @property
    def alive(self) -> np.ndarray: ...

    @property
    def sigma(self) -> np.ndarray: ...

    @property
    def updated(self) -> np.ndarray: ...

    @property
    def strength(self) -> np.ndarray: ...


class ScalingRanker(WeightedRanker):
    """Scaling factors that are updated in rounds: features rank by the last round in which theirs was not zero.

    A method writes :meth:`_rounds`, which yields one update after another until nothing changes; :meth:`_certify`; and
    :meth:`_train`, the model of what is kept. If k features are asked for, the rounds end before fewer are left.

    Attributes
    ----------
    sigma_ : ndarray of shape (n_features,)
        Scaling factors at the end.
    n_iter_ : int
        Rounds.
    estimator_ : LinearModel or KernelModel
        The model of the features that are kept.
    coef_, intercept_ : ndarray
        Of a linear one, in the shapes of scikit-learn's linear models.
    """

    one_shot: ClassVar[bool] = False
    provides: ClassVar[frozenset[str]] = frozenset({"groups", "own_choice", "sample_weight", "sparse"})
    natural_stop: ClassVar = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "standardize": ["boolean"],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "groups": GROUPS_CONSTRAINT,
    }

    # whether all features in order are those of the rounds to the end, rather than of the first round
    _orders_all_at_the_end: ClassVar[bool] = True

    max_iter: int
    tol: float
    standardize: bool
    task: str
    class_weight: Any
    groups: Any

    # what a method writes

    @abstractmethod
    def _rounds(self, candidates: Candidates, problem: LinearProblem) -> Iterator[ScalingRound]:
        """Updates of the scaling factors, until nothing changes; none where no column varies."""

    @abstractmethod
    def _certify(self, candidates: Candidates, rounds: Sequence[Any], n_rounds: int) -> dict[str, Any]:
        """How well the last round solves the method's problem; "converged" is among it. ``rounds`` may be empty."""

    @abstractmethod
    def _train(self, problem: LinearProblem, features: np.ndarray) -> LinearModel | KernelModel:
        """The model of some features, with the scaling factors that the method means for them."""

    def _prepare(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None) -> int:
        """Choose what the data are to choose before the first round; returns the most rounds to be made."""
        return self.max_iter

    def _criteria(self, factors: Sequence[Mapping[int, float]], order: Sequence[int]) -> list[float]:
        """Score of each: its factor in the last round in which it had one."""
        last = {j: size for sizes in factors for j, size in sizes.items()}
        return [last[j] for j in order]

    # ranking

    def _pose(self, candidates: Candidates, y: np.ndarray) -> LinearProblem:
        if not self.standardize:
            check_units(candidates)
        weights = {"task": self.task, "class_weight": self.class_weight}
        problem = LinearProblem.pose(candidates, y, **weights, standardize=self.standardize)
        # products of many rounds would tell copies of a column apart by the rounding of the first
        return problem.without_copies() if candidates.members is None else problem

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        return self._rank_top(candidates, y, rng, None)

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        if self._orders_all_at_the_end and n_top is not None and n_top >= candidates.n_candidates:
            n_top = None
        y, n_rows = np.asarray(y), candidates.table.shape[0]
        rows = self._sample = self._sample_rows(candidates, y)
        if rows is not None:
            candidates, y = candidates.take_rows(rows), y[rows]
        problem = self._problem = self._pose(candidates, y)
        n_rounds = self._prepare(candidates, y, problem, n_top)
        rounds: list[ScalingRound] = []
        for done in track(self, self._rounds(candidates, problem), task_name="round", total=n_rounds):
            rounds.append(done)
            n_left = len(factors_of_candidates(candidates, done.alive, done.updated))
            if len(rounds) >= n_rounds or (n_top is not None and n_left < n_top):
                break
        return replace(self._conclude(candidates, rounds, n_rounds, n_top), notes=note_rows(rows, n_rows))

    def _sample_rows(self, candidates: Candidates, y: np.ndarray) -> np.ndarray | None:
        """Rows to work on, where a kernel matrix of all is too large; None for all."""
        return None

    def _conclude(
        self, candidates: Candidates, rounds: list[ScalingRound], n_rounds: int, n_top: int | None
    ) -> Ranking:
        """Rank by the last round in which a scaling factor was not zero, and by its size there."""
        certificate = self._certify(candidates, rounds, n_rounds)
        self.sigma_, self.n_iter_ = np.zeros(candidates.n_columns), len(rounds)
        if not rounds:
            ranking = Ranking.from_path([], candidates.n_candidates, certificate)
            return replace(ranking, n_chosen=0, reason=f"no {candidates.noun} varies")
        factors = [factors_of_candidates(candidates, done.alive, done.sigma) for done in rounds]
        last = rounds[-1]
        at_end = factors_of_candidates(candidates, last.alive, last.updated)
        if n_top is None or len(at_end) >= n_top:
            factors.append(at_end)
        else:  # fewer than asked for would be left: the last update tells the order of those that were
            factors[-1] = at_end = factors_of_candidates(candidates, last.alive, last.strength)
        order = order_by_rounds(factors)
        self.sigma_[last.alive] = last.updated
        n_lasted = {j: number for number, sizes in enumerate(factors) for j in sizes}
        path = [
            Step(j, value, {"rounds": n_lasted[j]})
            for j, value in zip(order, self._criteria(factors, order), strict=True)
        ]
        n_left, n_done = len(at_end), len(rounds)
        left = f"{n_left} {candidates.noun}{' is' if n_left == 1 else 's are'} left"
        ranking = Ranking.from_path(path, candidates.n_candidates, certificate)
        return replace(ranking, n_chosen=n_left, reason=f"{left} after {n_done} round{'s' * (n_done != 1)}")

    # the model of what is kept

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        """Rank, stop, and train a model on what is kept."""
        before = set(vars(self))
        with limit_blas_threads(candidates.table.shape[0] * min(candidates.table.shape)):
            ranking, decision = super()._select(candidates, y, rule)
            kept = (decision.ranking or ranking).order[: decision.n_features]
            self._keep_model(np.sort(candidates.columns_of(kept)).astype(np.int64))
        for name in set(vars(self)) - before:
            if name.startswith("_"):  # what only ranking and training needed
                delattr(self, name)
        return ranking, decision

    def _keep_model(self, features: np.ndarray) -> None:
        problem = self._problem
        if problem.classes is not None:
            self.classes_ = problem.classes
        self.estimator_ = model = self._train(problem, features)
        if isinstance(model, LinearModel):
            self.coef_, self.intercept_ = model.coefficients(problem.scale.size)


class EarlyStoppedScaling(ScalingRanker):
    """Scaling factors whose rounds can be ended where held-out rows are predicted best."""

    _parameter_constraints: ClassVar[dict] = {
        **ScalingRanker._parameter_constraints,
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    validation_fraction: float
    random_state: Any

    @abstractmethod
    def _model_of(self, problem: LinearProblem, done: Any) -> LinearModel | KernelModel:
        """The model of a round, of the features that have a factor in it."""

    def _validated_rounds(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem) -> int:
        """Rounds after which models of some of the rows have the fewest errors on the others."""
        is_classes = problem.classes is not None
        parts = hold_out(y, self.validation_fraction, is_classes=is_classes, rng=self._rng())
        if parts is None:
            return self.max_iter
        train, test = parts
        seen = candidates.take_rows(train)
        part, errors = self._pose(seen, y[train]), []
        unseen, truth = safe_indexing(candidates.table, test), problem.Y[test]
        for done in self._rounds(seen, part):
            model = self._model_of(part, done)
            outputs = model.decision_function(safe_indexing(unseen, model.features, axis=1))
            outputs = (outputs - problem.center) / problem.unit
            with np.errstate(over="ignore"):  # of a held-out row far beyond the others: an infinite error
                wrong = classification_errors(outputs, truth) if is_classes else (outputs - truth)[:, 0] ** 2
            errors.append(float(np.average(wrong, weights=problem.row_shares[test])))
            if len(errors) == self.max_iter:
                break
        return best_round(errors) + 1 if errors else self.max_iter


def factors_of_candidates(candidates: Candidates, alive: np.ndarray, sigma: np.ndarray) -> dict[int, float]:
    """Scaling factor of every candidate that has one; of a group, that of its last column, which all of them share."""
    places = np.flatnonzero(sigma)
    if candidates.members is None:
        return dict(zip(alive[places].tolist(), sigma[places].tolist(), strict=True))
    return {candidates.candidate_of(int(alive[p])): float(sigma[p]) for p in places}


def check_units(candidates: Candidates) -> None:
    """Refuse columns that overflow when they are squared, and tables that vanish then."""
    X = candidates.table
    least, largest = min_max_axis(X, axis=0) if sparse.issparse(X) else (X.min(axis=0), X.max(axis=0))
    half_range = 0.5 * np.asarray(largest, dtype=float) - 0.5 * np.asarray(least, dtype=float)
    widest = int(np.argmax(half_range))
    span = f"{2.0 * min(half_range[widest], 0.5 * np.finfo(float).max):.2g}"
    if half_range[widest] > _LARGEST_RANGE:
        raise ValueError(
            f"column {candidates.column_name(widest)} spans {span}, too much to be squared; use standardize=True, or "
            "other units"
        )
    if 0 < half_range[widest] < _LEAST_RANGE:
        raise ValueError(
            f"no column spans more than {span}, too little to be squared; use standardize=True, or other units"
        )
