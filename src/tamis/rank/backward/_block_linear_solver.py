r"""Eliminations from models on rows that are read in blocks: many models are trained by one pass.

The models that eliminations lead to, one after the other,

.. math:: w_t = \arg\min_w \tfrac12 \|w\|^2 + \sum_i c_i \ell(y_i \langle w, z_i \rangle), \qquad w_E = 0
          \text{ for the entries E eliminated by then},

are guessed (:mod:`~tamis.kernels.solvers.path_model`), and one pass over the rows tells the gradients of all of them
(:mod:`~tamis.kernels.solvers.loss_sums`). It tells the Hessian at some of them, too: at all where few columns remain.
From both come Newton steps of all (:mod:`~tamis.kernels.solvers.newton_estimate`), a better guess of which features
leave, and the models that follow these. A model is trained once the gradient over all rows, in double precision,

.. math:: w + \sum_i c_i \ell'(m_i) y_i z_i, \qquad m_i = y_i \langle w, z_i \rangle,

has no entry larger than the tolerance. A feature leaves only by weights that are trained, so that the order is that of
models trained one by one, whatever was guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tamis.base import StepSize
from tamis.kernels.arrays.blocks import limit_blas_threads
from tamis.kernels.solvers.newton_estimate import Estimate
from tamis.kernels.solvers.path_model import NEAR_ROWS_PER_ENTRY, PathModel
from tamis.rank.backward._block_problem import BlockProblem
from tamis.rank.backward._elimination_solver import EliminationSolver
from tamis.rank.backward._kept_model import KeptClassifier
from tamis.rank.backward._weight_elimination import WeightElimination

_MOST_SETS, _FEWEST_SETS = 64, 16  # sets of features whose models are evaluated by one pass
_MOST_VECTORS = 128  # weights that are, where there are several classes, but for the fewest sets
# The Hessians of d entries that a pass computes are so many times the sets and all entries, divided by d^2: they take
# twice the time of the gradients of all entries. So no pass takes more time than the first, and models of few columns
# have a Hessian each.
_HESSIANS = 8
_MAX_PASSES = 100  # after which a model counts as not converged


class _Models(NamedTuple):
    """The models on one set of columns."""

    remains: np.ndarray  # entries of the weights, as a mask
    estimates: list[Estimate]

    @property
    def are_final(self) -> bool:
        return all(estimate.is_final for estimate in self.estimates)

    @property
    def weights(self) -> np.ndarray:
        return np.array([estimate.w for estimate in self.estimates])


class BlockLinearSolver(EliminationSolver):
    """One model for two classes, or one per class, kept optimal while columns are eliminated.

    Parameters
    ----------
    problem : BlockProblem
    features : ndarray of int, default=None
        Columns of the table to train on; None is all of them.
    """

    def __init__(self, problem: BlockProblem, features: np.ndarray | None = None) -> None:
        self._problem = problem
        self._features = np.arange(problem.mean.size) if features is None else features
        self._paths = [PathModel(sample, problem.penalty, problem.tol) for sample in problem.samples()]
        self._n_most = max(_FEWEST_SETS, min(_MOST_SETS, _MOST_VECTORS // len(self._paths)))
        self._n_evaluations = 0
        remains = self._mask(self._features)
        with limit_blas_threads(remains.size**2):
            self._models = _Models(remains, [path.start(remains) for path in self._paths])
        self._known: dict[bytes, _Models] = {}  # models on the path that is expected
        self._trained: dict[bytes, np.ndarray] = {}  # weights of all models of the path so far
        self._elimination: WeightElimination | None = None
        self._step: StepSize = 1

    # What an elimination asks.

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self._features

    @property
    def n_iter(self) -> int:  # type: ignore[override]
        """Steps of all models."""
        return self._n_evaluations

    def weights(self) -> np.ndarray:
        """One row per model, of the remaining columns; zero for those that are constant."""
        return self._weights_of(self._features, self._models.weights)

    def criteria(self) -> np.ndarray:
        """Squared weights."""
        return np.asarray((self.weights() ** 2).sum(axis=0))

    @property
    def squared_norm(self) -> float:
        """Of the weights."""
        return float((self.weights() ** 2).sum())

    def train(self, elimination: WeightElimination | None = None, step: StepSize = 1) -> BlockLinearSolver:
        """Train the models on all columns; those of an elimination of this solver are expected to follow."""
        self._elimination, self._step = elimination, step
        self._train(self._models, self._features)
        return self

    def remove(self, features: np.ndarray) -> None:
        """Eliminate columns."""
        remaining = np.setdiff1d(self._features, features)
        self._train(self._find(self._mask(remaining)), remaining)

    def kept_model(self, features: np.ndarray) -> KeptClassifier:
        """The models on some columns, in the units of the table: those of the path, or trained by further passes."""
        weights = self._trained.get(self._mask(features).tobytes())
        if weights is None:
            weights = BlockLinearSolver(self._problem, features).train()._models.weights
        n_intercepts = self._problem.n_intercepts
        intercepts = self._problem.learner.intercept * weights[:, :n_intercepts].sum(axis=1)
        return self._problem.model_of(features, self._weights_of(features, weights), intercepts)

    # Entries of the weights: the intercept, and the columns that vary.

    def _mask(self, features: np.ndarray) -> np.ndarray:
        """Entries of the models on some columns."""
        is_intercept = np.ones(self._problem.n_intercepts, dtype=bool)
        return np.concatenate([is_intercept, np.isin(self._problem.columns, features)])

    def _weights_of(self, features: np.ndarray, weights: np.ndarray) -> np.ndarray:
        of_table = np.zeros((len(weights), self._problem.mean.size))
        of_table[:, self._problem.columns] = weights[:, self._problem.n_intercepts :]
        return of_table[:, features]

    def _find(self, remains: np.ndarray) -> _Models:
        """The models on some entries: those that are known, or a first guess."""
        known = self._known.get(remains.tobytes())
        if known is not None:
            return known
        return _Models(remains, [Estimate(w * remains, remains, self._problem.tol) for w in self._models.weights])

    # Training.

    def _train(self, models: _Models, features: np.ndarray) -> None:
        """Passes over the rows until the models on some columns are trained, and others that follow with them."""
        with limit_blas_threads(models.remains.size**2):
            for _ in range(_MAX_PASSES):
                if models.are_final:
                    break
                self._evaluate(self._expected(models, features))
        self._models, self._features = models, features
        self._trained[models.remains.tobytes()] = models.weights
        for path, estimate in zip(self._paths, models.estimates, strict=True):
            path.reach(estimate)
            self.residual = max(self.residual, estimate.residual)
            self.converged = self.converged and estimate.residual <= self._problem.tol

    def _expected(self, models: _Models, features: np.ndarray) -> list[_Models]:
        """Models on some columns, and those that are expected to follow, but for those that are trained."""
        for path in self._paths:
            path.begin(self._models.remains)
        ahead = _Forecast(features, self._elimination, self._step)
        before: _Models = self._models
        following: _Models | None = models
        untrained: list[_Models] = []
        known: dict[bytes, _Models] = {}
        while following is not None:
            for path, *pair in zip(self._paths, before.estimates, following.estimates, strict=True):
                path.go_on(*pair)
            known[following.remains.tobytes()] = before = following
            if not before.are_final:
                untrained.append(before)
            is_enough = len(untrained) == self._n_most or not all(path.can_guess for path in self._paths)
            following = None if is_enough else self._following(before, ahead)
        self._known = known
        return untrained

    def _following(self, models: _Models, ahead: _Forecast) -> _Models | None:
        """The models on the columns that remain next, if weights are as they are; None after the last."""
        while (left := ahead.go_on(self._weights_of(ahead.features, models.weights))) is not None:
            remains = self._mask(left)
            if not np.array_equal(remains, models.remains):  # else constant columns have left, which changes nothing
                return self._find(remains)
        return None

    def _evaluate(self, untrained: list[_Models]) -> None:
        """One pass over the rows for models on sets of entries of which the first contains all others."""
        remains = untrained[0].remains
        n_hessians = _HESSIANS * self._n_most * remains.size // int(remains.sum()) ** 2
        wanted = _Wanted.of(untrained, _places_of_hessians(untrained, n_hessians), self._paths)
        points = np.concatenate(wanted.points)
        sums = self._problem.evaluate(
            remains,
            points[:, remains],
            np.repeat(wanted.models, [len(each) for each in wanted.points]),
            objective_at=tuple(wanted.objective_at),
            hessian_at=tuple(wanted.hessian_at),
            nearest_at=tuple(wanted.nearest_at.values()),
            n_nearest=NEAR_ROWS_PER_ENTRY * int(remains.sum()),
        )
        gradients = np.zeros(points.shape)
        gradients[:, remains] = sums.gradients
        objectives = dict(zip(wanted.objective_at, sums.losses, strict=True))
        hessians = dict(zip(wanted.hessian_at, sums.hessians, strict=True))
        n_curved = dict(zip(wanted.hessian_at, sums.n_curved.tolist(), strict=True))
        for k, estimate, rows in wanted.each():
            kept = np.ix_(estimate.remains[remains], estimate.remains[remains])
            estimate.update(
                np.where(estimate.remains, gradients[rows], 0.0),
                self._problem.gradient_unit(estimate.remains),
                np.array([objectives[row] for row in rows if row in objectives]),
                [hessians[row][kept] for row in rows if row in hessians],
            )
            if estimate.remains is remains and rows[0] in n_curved:
                self._paths[k].count_curved(n_curved[rows[0]], int(remains.sum()))
        for (k, row), near in zip(wanted.nearest_at.items(), sums.nearest, strict=True):
            self._paths[k].take_near(near, remains, points[row])
        self._n_evaluations += len(wanted.estimates)


@dataclass
class _Wanted:
    """What a pass is asked for.

    Attributes
    ----------
    estimates : list of Estimate
    models : list of int
        Which of the models each is of.
    points : list of ndarray
        Weights at which each is to be evaluated, in rows.
    objective_at, hessian_at : list of int
        Rows of all these points together at which they are wanted.
    nearest_at : dict
        For a model, the row for which rows of least margin are to be gathered.
    """

    estimates: list[Estimate] = field(default_factory=list)
    models: list[int] = field(default_factory=list)
    points: list[np.ndarray] = field(default_factory=list)
    objective_at: list[int] = field(default_factory=list)
    hessian_at: list[int] = field(default_factory=list)
    nearest_at: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, untrained: list[_Models], with_hessian: set[int], paths: list[PathModel]) -> _Wanted:
        """Points of all estimates that can go on, with Hessians for the sets at some places."""
        wanted, n_points = cls(), 0
        for place, models in enumerate(untrained):
            for k, estimate in enumerate(models.estimates):
                if estimate.is_final or (estimate.needs_hessian and place not in with_hessian):
                    continue
                points = estimate.points()
                rows = range(n_points, n_points + len(points))
                wanted.estimates.append(estimate)
                wanted.models.append(k)
                wanted.points.append(points)
                wanted.objective_at += rows if estimate.searches_line else ()
                wanted.hessian_at += rows if place in with_hessian else ()
                if paths[k].needs_near_rows:
                    wanted.nearest_at.setdefault(k, n_points)
                n_points = rows.stop
        return wanted

    def each(self) -> Iterator[tuple[int, Estimate, range]]:
        """Which model it is of, the estimate, and the rows of its points."""
        start = 0
        for k, estimate, points in zip(self.models, self.estimates, self.points, strict=True):
            yield k, estimate, range(start, start + len(points))
            start += len(points)


def _places_of_hessians(untrained: list[_Models], n_most: int) -> set[int]:
    """Sets for which a pass computes Hessians: those whose models want them, then some at equal distances."""
    n_most = min(max(1, n_most), len(untrained))
    is_wanted = [any(estimate.wants_hessian for estimate in models.estimates) for models in untrained]
    spread = np.arange(n_most) * len(untrained) // n_most
    return set(list(dict.fromkeys([*np.flatnonzero(is_wanted).tolist(), *spread.tolist()]))[:n_most])


class _Forecast:
    """Which features leave, round after round, if weights are as they are said to be.

    Parameters
    ----------
    features : ndarray of int
        Remaining columns.
    elimination : WeightElimination or None
        That is to be followed, of the same columns; None goes nowhere.
    step : int, float or str
    """

    def __init__(self, features: np.ndarray, elimination: WeightElimination | None, step: StepSize) -> None:
        self._solver = _GivenWeights(features)
        self._elimination = copy(elimination)
        self._step = step
        if self._elimination is not None:
            self._elimination.solver = self._solver

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self._solver.features

    def go_on(self, weights: np.ndarray) -> np.ndarray | None:
        """What remains after the next round, given the weights of the remaining columns; None after the last."""
        if self._elimination is None:
            return None
        self._solver.weights = weights
        leaving, _ = self._elimination.next_to_leave(self._step)
        if leaving.size == self._elimination.n_remaining:
            return None
        self._elimination.remove(leaving)
        return self._solver.features


class _GivenWeights(EliminationSolver):
    """Weights that an elimination is told, in the place of trained models."""

    n_iter = 0
    weights: np.ndarray

    def __init__(self, features: np.ndarray) -> None:
        self._features = features

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self._features

    def criteria(self) -> np.ndarray:
        """Squared weights."""
        return np.asarray((self.weights**2).sum(axis=0))

    def remove(self, features: np.ndarray) -> None:
        """Go on without these columns."""
        self._features = np.setdiff1d(self._features, features)

    @property
    def squared_norm(self) -> float:
        """Of the weights."""
        return float((self.weights**2).sum())
