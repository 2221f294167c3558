r"""The active-set method of Flamary et al. (Algorithm 1) for the minimum of Eq. (2) over a dictionary of features.

.. math:: \min_{\Theta, W, b} \frac{C}{2n} \sum_i \bigl(1 - y_i f(x_i)\bigr)_+^2
          + \sum_{\theta \in \Theta} \|w_\theta\|_2,
          \qquad f(x) = b + \sum_{\theta \in \Theta} \langle w_\theta, \phi_\theta(x) \rangle

With :math:`r_\theta = \frac{C}{n} \sum_i y_i \phi_\theta(x_i) (1 - y_i f(x_i))_+`, the minimum is where
:math:`r_\theta = w_\theta / \|w_\theta\|` on the active set (Eq. 3) and :math:`\|r_\theta\| \le 1` outside of it
(Eq. 4). Every round

1. evaluates :math:`\|r_\theta\|` of candidates outside of the active set;
2. refines the most violating ones by local search in the space of their parameters, where the dictionary is infinite;
3. adds the maps that still violate Eq. (4) the most;
4. solves the problem on the active set, and drops the maps whose weights are zero.

It ends after some rounds in a row without a violating candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from tamis.kernels.solvers.group_lasso import group_norms
from tamis.kernels.solvers.squared_hinge_group_lasso import SquaredHingeGroupLasso
from tamis.learn._map_candidates import FeatureMap, MapCandidates, column_indices

_LOCAL_SEARCH_STEPS = (0.1, 0.05, 0.025, 0.0125)  # in units of the parameters' ranges
_N_PERTURBED = 16  # parameters tried at every step of a local search
_MAX_CORRELATION = 0.9  # of two maps that are added in the same round
_EXAMINED_PER_ADDED = 4  # candidates from which each of several added maps is chosen
_N_RESTARTS = 3  # local searches from the candidates nearest to violating, where none violates
_CONFIDENCE = 0.95
_ACTIVE_SET_TOL = 1e-6  # KKT residual on the active set, and violation that is none where all candidates are evaluated

Solution = tuple[list[FeatureMap], np.ndarray, np.ndarray]  # maps, weights (n_maps, n_columns, n_targets), intercepts


@dataclass(frozen=True)
class Round:
    """What one round did.

    Attributes
    ----------
    objective : float
        Of Eq. (2), after the round.
    n_active : int
        Maps with a weight.
    violation : float
        Largest norm of :math:`r_\\theta` (Eq. 3) among the candidates of the round: above 1, one was added.
    n_evaluations : int
        Candidates computed so far.
    """

    objective: float
    n_active: int
    violation: float
    n_evaluations: int


@dataclass
class ActiveSet:
    """One active set: the problem on it, and the maps behind its columns.

    Parameters
    ----------
    problem : SquaredHingeGroupLasso
    targets : slice
        Which targets it is for.
    n_columns : int
        Per map.
    """

    problem: SquaredHingeGroupLasso
    targets: slice
    n_columns: int
    maps: list[FeatureMap] = field(default_factory=list)
    n_rounds_without_violation: int = 0

    def keys(self) -> set[bytes]:
        """Keys of the maps."""
        return {feature_map.key for feature_map in self.maps}

    def add(self, maps: list[FeatureMap], columns: np.ndarray) -> None:
        """Append maps and their columns, at weight zero."""
        self.problem.add_columns(columns)
        self.maps.extend(maps)

    def solve(self, penalty: float, tol: float) -> None:
        """Solve on the active set, and drop maps without a weight."""
        self.problem.solve(penalty, tol)
        nonzero = np.flatnonzero(group_norms(self.problem.weights, self.n_columns) > 0)
        if nonzero.size < len(self.maps):
            groups_per_map = self.n_columns // self.problem.width
            self.problem.keep_groups(column_indices(nonzero, groups_per_map))
            self.maps = [self.maps[i] for i in nonzero]

    def violations(self, negative_gradients: np.ndarray, penalty: float) -> np.ndarray:
        """Norm of r (Eq. 3) of every candidate; with an l1 norm, the largest over the columns of its map."""
        of_targets = negative_gradients[:, :, self.targets]
        if self.problem.width == self.n_columns:
            return np.sqrt(np.einsum("mqk,mqk->m", of_targets, of_targets)) / penalty
        return np.sqrt(np.einsum("mqk,mqk->mq", of_targets, of_targets)).max(axis=1) / penalty

    def objective(self, C: float) -> float:
        """Eq. (2), of the targets of this active set."""
        return C / len(self.problem.Y) * self.problem.loss() + float(self.problem.group_norms.sum())

    def duality_gap(self, C: float, largest_violation: float) -> float:
        """Objective above that of a dual point: the hinges, scaled until no candidate seen violates a constraint."""
        hinge = np.abs(self.problem.signed_hinge())
        scale = 1.0 / max(1.0, largest_violation, 1.0 + self.problem.kkt_residual)
        dual = C / len(hinge) * float(scale * hinge.sum() - 0.5 * scale**2 * np.sum(hinge**2))
        return self.objective(C) - dual


@dataclass(frozen=True)
class SearchPoint:
    """A parameter that may enter an active set, with the norm of r there."""

    active_set: ActiveSet
    parameter: np.ndarray
    violation: float


class ActiveSetSearch:
    """Active sets of one or several problems that look at the same candidates.

    Parameters
    ----------
    candidates : MapCandidates
    Y : ndarray of shape (n_samples, n_targets)
        1 and -1.
    is_shared : bool
        One active set for all targets, with a norm over them, or one for each.
    is_grouped : bool
        A norm per map (l1/l2), or one per column (l1).
    n_add : int
        Maps added to an active set in one round, at most.
    refine : bool
        Whether candidates are refined by local search.
    tol : float
    rng : RandomState
    """

    def __init__(
        self,
        candidates: MapCandidates,
        Y: np.ndarray,
        *,
        is_shared: bool,
        is_grouped: bool,
        n_add: int,
        refine: bool,
        tol: float,
        rng: np.random.RandomState,
    ) -> None:
        self.candidates, self.n_samples = candidates, len(Y)
        self.n_add, self.refine, self.rng = n_add, refine, rng
        self.tol = min(tol, _ACTIVE_SET_TOL) if candidates.is_exhaustive else tol
        n_columns, width = candidates.n_columns, candidates.n_columns if is_grouped else 1
        slices = [slice(0, Y.shape[1])] if is_shared else [slice(k, k + 1) for k in range(Y.shape[1])]
        self.active_sets = [
            ActiveSet(SquaredHingeGroupLasso(Y[:, targets], width), targets, n_columns) for targets in slices
        ]
        self.n_evaluations = 0
        self.history: list[Round] = []
        self.has_ended = False

    def find_C_min(self, rng: np.random.RandomState) -> float:
        """C at which the first of one round's candidates enters."""
        negative_gradients = self._negative_gradients(self.candidates.propose(rng))
        largest = max(float(each.violations(negative_gradients, 1.0).max(initial=0.0)) for each in self.active_sets)
        # hinges are of size one and columns of norm sqrt(n): a product below this is rounding
        return self.n_samples / largest if largest > 1e-12 * self.n_samples else np.inf

    def rounds(self, C: float, max_rounds: int, patience: int) -> Iterator[Round]:
        """Rounds until nothing violates Eq. (4) for ``patience`` of them; one is enough where all are evaluated.

        Active sets do not depend on each other: each ends by itself.
        """
        penalty, self.has_ended = self.n_samples / C, False
        n_needed = 1 if self.candidates.is_exhaustive else patience
        for active_set in self.active_sets:
            active_set.solve(penalty, min(self.tol, _ACTIVE_SET_TOL))
            active_set.n_rounds_without_violation = 0
        for _ in range(max_rounds):
            searching = [each for each in self.active_sets if each.n_rounds_without_violation < n_needed]
            violation = self._run_round(penalty, searching)
            self.history.append(Round(self.objective(C), len(self._active_maps()), violation, self.n_evaluations))
            self.has_ended = all(each.n_rounds_without_violation >= n_needed for each in self.active_sets)
            yield self.history[-1]
            if self.has_ended:
                return

    def objective(self, C: float) -> float:
        """Eq. (2)."""
        return sum(active_set.objective(C) for active_set in self.active_sets)

    def solution(self) -> Solution:
        """Maps with a weight in any active set, weights (n_maps, n_columns, n_targets), intercepts of all targets."""
        maps = self._active_maps()
        position = {key: i for i, key in enumerate(maps)}
        intercept = np.concatenate([active_set.problem.intercept for active_set in self.active_sets])
        weights = np.zeros((len(maps), self.candidates.n_columns, intercept.size))
        for active_set in self.active_sets:
            rows = [position[feature_map.key] for feature_map in active_set.maps]
            if rows:
                shape = (len(rows), self.candidates.n_columns, -1)
                weights[rows, :, active_set.targets] = active_set.problem.weights.reshape(shape)
        return list(maps.values()), weights, intercept

    def certify(self, C: float, n_draws: int) -> dict[str, Any]:
        """How near the minimum this is: on the active sets by Eq. (3), outside of them by candidates.

        The candidates of the last rounds are biased, for the search ended because they violate nothing. So ``n_draws``
        times as many are drawn afresh.
        """
        exhaustive = self.candidates.is_exhaustive
        draws = [self.candidates.propose(self.rng) for _ in range(1 if exhaustive else n_draws)]
        parameters, penalty = np.concatenate(draws), self.n_samples / C
        negative_gradients = self._evaluate(parameters)
        starts = [
            SearchPoint(active_set, parameters[i], float(violations[i]))
            for active_set in self.active_sets
            for violations in [active_set.violations(negative_gradients, penalty)]
            for i in np.argsort(-violations, kind="stable")[:_N_RESTARTS]
        ]
        ends = self._local_search(starts, penalty)
        largest = [max((e.violation for e in ends if e.active_set is each), default=0.0) for each in self.active_sets]
        objective = self.objective(C)
        gaps = [each.duality_gap(C, violation) for each, violation in zip(self.active_sets, largest, strict=True)]
        gap = max(0.0, sum(gaps))
        residual = max(active_set.problem.kkt_residual for active_set in self.active_sets)
        return {
            "converged": bool(residual <= self.tol and self.has_ended),
            "kkt_residual": residual,
            "violation_outside": max(largest),
            "n_checked": len(parameters),
            "exhaustive": exhaustive,
            "violating_share": 0.0 if exhaustive else 1.0 - (1.0 - _CONFIDENCE) ** (1.0 / len(parameters)),
            "objective": objective,
            "gap": gap,
            "relative_gap": gap / objective if objective > 0 else 0.0,
            "n_rounds": len(self.history),
            "n_evaluations": self.n_evaluations,
        }

    def _active_maps(self) -> dict[bytes, FeatureMap]:
        return {feature_map.key: feature_map for active_set in self.active_sets for feature_map in active_set.maps}

    def _evaluate(self, parameters: np.ndarray) -> np.ndarray:
        """Negative gradients of candidates, counted."""
        self.n_evaluations += len(parameters)
        return self._negative_gradients(parameters)

    def _negative_gradients(self, parameters: np.ndarray) -> np.ndarray:
        signed_hinge = np.concatenate([active_set.problem.signed_hinge() for active_set in self.active_sets], axis=1)
        return self.candidates.negative_gradients(parameters, signed_hinge)

    def _run_round(self, penalty: float, active_sets: list[ActiveSet]) -> float:
        """Evaluate, refine, add and solve; the largest violation seen."""
        parameters = self.candidates.propose(self.rng)
        negative_gradients = self._evaluate(parameters)
        violations = [active_set.violations(negative_gradients, penalty) for active_set in active_sets]
        starts = [
            SearchPoint(active_set, parameters[i], float(values[i]))
            for active_set, values in zip(active_sets, violations, strict=True)
            for i in self._most_violating(active_set, parameters, values)
        ]
        ends = self._local_search(starts, penalty)
        for active_set in active_sets:
            active = active_set.keys()
            violating = [end for end in ends if end.active_set is active_set and end.violation > 1.0 + self.tol]
            entering = [end for end in violating if end.parameter.tobytes() not in active]
            entering.sort(key=lambda end: -end.violation)
            active_set.n_rounds_without_violation = 0 if entering else active_set.n_rounds_without_violation + 1
            if entering:
                active_set.add(*self._build_maps(np.stack([end.parameter for end in entering])))
                active_set.solve(penalty, min(self.tol, _ACTIVE_SET_TOL))
        return max([end.violation for end in ends] + [float(values.max(initial=0.0)) for values in violations])

    def _most_violating(self, active_set: ActiveSet, parameters: np.ndarray, violations: np.ndarray) -> list[int]:
        """The most violating candidates; if none violates, the nearest to it, for a local search to start from."""
        n_most = self.n_add * _EXAMINED_PER_ADDED if self.n_add > 1 else 1
        violating = np.flatnonzero(violations > 1.0 + self.tol)
        if self.refine and not violating.size:
            violating, n_most = np.arange(violations.size), _N_RESTARTS
        ordered = violating[np.argsort(-violations[violating], kind="stable")]
        active = active_set.keys()
        outside = (i for i in ordered.tolist() if parameters[i].tobytes() not in active)
        return list(islice(outside, n_most))

    def _build_maps(self, parameters: np.ndarray) -> tuple[list[FeatureMap], np.ndarray]:
        """Maps and their columns; of several, at most ``n_add`` that are not too correlated."""
        maps, columns = self.candidates.build_maps(parameters)
        if len(maps) == 1:
            return maps, columns
        size = self.candidates.n_columns
        chosen = _choose_dissimilar(columns.reshape(len(maps), size, -1), self.n_add)
        return [maps[i] for i in chosen], columns[column_indices(chosen, size)]

    def _local_search(self, starts: list[SearchPoint], penalty: float) -> list[SearchPoint]:
        """Maximize the violation over perturbed parameters, by steps that shrink; all searches at once."""
        if not self.refine or not starts or self.candidates.is_exhaustive:
            return starts
        for step in _LOCAL_SEARCH_STEPS:
            perturbed = [self.candidates.perturb(each.parameter, step, _N_PERTURBED, self.rng) for each in starts]
            negative_gradients = np.split(self._evaluate(np.concatenate(perturbed)), len(starts))
            starts = [
                _most_violating_of(start, parameters, start.active_set.violations(of_start, penalty))
                for start, parameters, of_start in zip(starts, perturbed, negative_gradients, strict=True)
            ]
        return starts


def _most_violating_of(start: SearchPoint, parameters: np.ndarray, violations: np.ndarray) -> SearchPoint:
    best = int(violations.argmax())
    if violations[best] <= start.violation:
        return start
    return SearchPoint(start.active_set, parameters[best], float(violations[best]))


def _choose_dissimilar(columns: np.ndarray, n: int) -> np.ndarray:
    """The first ``n`` maps, in their order, whose first columns are not too correlated."""
    first = columns[:, 0] / np.maximum(np.linalg.norm(columns[:, 0], axis=1, keepdims=True), np.finfo(float).tiny)
    correlation = np.abs(first @ first.T)
    chosen = [0]
    for i in range(1, len(first)):
        if len(chosen) < n and correlation[i, chosen].max() <= _MAX_CORRELATION:
            chosen.append(i)
    return np.array(chosen)
