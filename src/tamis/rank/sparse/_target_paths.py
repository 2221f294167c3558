"""The paths of all targets of a linear problem, followed side by side at the same penalties."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tamis.base import Candidates, Ranking
from tamis.kernels.arrays.tolerances import TRAINED_TIE
from tamis.kernels.solvers.penalized_path import PathPoint

_MOST_GAP = 1e-6  # duality gap, relative to the loss without features, of a path that has converged
_SATURATED = 1e-3  # share of the loss without features, below which a path has explained what there is


class PathSolver(Protocol):
    """Minima of one target's penalized loss."""

    alpha_max: float
    null_loss: float

    def path(self, alphas: Sequence[float]) -> Iterator[PathPoint]:
        """Minima at decreasing penalties."""

    def solve(self, alpha: float) -> PathPoint:
        """The minimum at one penalty."""


@dataclass(frozen=True)
class SparseFit:
    """Linear models of all targets at one penalty.

    Attributes
    ----------
    alpha : float
    features : ndarray of int
        Columns with a weight for any target, ascending.
    weights : ndarray of shape (n_active, n_targets)
        Of centered and scaled columns.
    intercept : ndarray of shape (n_targets,)
    loss, objective, gap : float
        Sums over the targets.
    kkt : float
        The largest of the targets.
    """

    alpha: float
    features: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray
    loss: float
    objective: float
    gap: float
    kkt: float

    @classmethod
    def unite(cls, points: Sequence[PathPoint]) -> SparseFit:
        """One point per target, all at the same penalty."""
        features = points[0].active if len(points) == 1 else np.unique(np.concatenate([p.active for p in points]))
        weights = np.zeros((features.size, len(points)))
        for target, point in enumerate(points):
            weights[np.searchsorted(features, point.active), target] = point.weights
        return cls(
            points[0].alpha,
            features,
            weights,
            np.array([point.intercept for point in points]),
            sum(point.loss for point in points),
            sum(point.objective for point in points),
            sum(point.gap for point in points),
            max(point.kkt for point in points),
        )

    @property
    def magnitudes(self) -> np.ndarray:
        """Size of every feature's weights: their norm over the targets."""
        return np.sqrt(np.sum(self.weights**2, axis=1))


class TargetPaths:
    """Path solvers of all targets."""

    def __init__(self, solvers: Sequence[PathSolver]) -> None:
        self.solvers = solvers
        self.alpha_max = max(solver.alpha_max for solver in solvers)
        self.null_loss = sum(solver.null_loss for solver in solvers)

    def follow(self, alphas: Sequence[float] | np.ndarray, *, to_the_end: bool = False) -> Iterator[SparseFit]:
        """Minima at decreasing penalties, until nothing is left to be explained or to the last of them."""
        falling = [float(alpha) for alpha in alphas]
        for points in zip(*(solver.path(falling) for solver in self.solvers), strict=True):
            fit = SparseFit.unite(points)
            yield fit
            if fit.loss <= _SATURATED * self.null_loss and not to_the_end:
                return

    def solve(self, alpha: float) -> SparseFit:
        """The minimum at one penalty."""
        return SparseFit.unite([solver.solve(alpha) for solver in self.solvers])


def certify(method: str, fit: SparseFit, gap: float, null_loss: float, units: tuple[float, float]) -> dict[str, Any]:
    """Duality gap and violation of the conditions, in the units of the target, with a warning where they are not met.

    Parameters
    ----------
    method : str
        Name of the class, for the warning.
    fit : SparseFit
    gap : float
        The largest along the path.
    null_loss : float
        Loss without features.
    units : tuple of float
        What penalties and objectives are multiplied by.
    """
    (alpha_unit, objective_unit), relative_gap = units, gap / null_loss
    converged = bool(relative_gap <= _MOST_GAP)
    if not converged:
        warnings.warn(
            f"{method} ended with a duality gap of {relative_gap:.2g} of the loss without features; raise alpha, or "
            "use standardize=True",
            ConvergenceWarning,
            stacklevel=3,
        )
    return {
        "converged": converged,
        "objective": fit.objective * objective_unit,
        "gap": gap * objective_unit,
        "relative_gap": relative_gap,
        "kkt": fit.kkt * alpha_unit,
    }


@dataclass
class Entries:
    """When candidates got their first weight, along a path.

    Attributes
    ----------
    step : dict
        Candidate -> number of the penalty at which it entered, in the order of entry.
    alpha : dict
        Candidate -> that penalty.
    """

    step: dict[int, int]
    alpha: dict[int, float]

    def add(self, number: int, fit: SparseFit, candidates: Candidates) -> None:
        """Take note of those that have a weight for the first time; of several the one with the largest is first."""
        magnitudes = candidate_magnitudes(fit, candidates)
        names = sorted(magnitudes)
        order = Ranking.from_scores(np.array([magnitudes[j] for j in names]), rounding=TRAINED_TIE).order
        for candidate in (names[place] for place in order.tolist()):
            if candidate not in self.step:
                self.step[candidate] = number
                self.alpha[candidate] = fit.alpha


def candidate_magnitudes(fit: SparseFit, candidates: Candidates) -> dict[int, float]:
    """Size of the weights of every candidate that has any."""
    squares: dict[int, float] = {}
    for feature, magnitude in zip(fit.features.tolist(), fit.magnitudes.tolist(), strict=True):
        candidate = candidates.candidate_of(feature)
        squares[candidate] = squares.get(candidate, 0.0) + magnitude**2
    return {candidate: square**0.5 for candidate, square in squares.items()}
