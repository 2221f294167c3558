"""Algorithm 1 of Flamary et al.: solve on the active set, look at candidates, add the most violating, drop the dead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.kernels.solvers.group_lasso import group_norms
from tamis.kernels.solvers.sparse_hinge import SquaredHingeGroupLasso
from tamis.learn._candidates import Block, Candidates

_STEPS = (0.1, 0.05, 0.025, 0.0125)  # of the refinement, in units of the parameters' ranges
_NEAR = 16  # parameters tried at every step of the refinement
_ALIKE = 0.9  # correlation above which two candidates are not added in the same round
_MORE = 4  # candidates looked at for each that is to be added
_CLIMBS = 3  # started from candidates that do not violate a condition, where none does
_SURE = 0.95
_EXACT = 1e-6  # violation that is none, where all candidates can be looked at


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
class ActiveProblem:
    """One active set: a machine and the maps behind its columns.

    Parameters
    ----------
    machine : SquaredHingeGroupLasso
    targets : slice
        Which targets it is for.
    n_columns : int
        Per map.
    """

    machine: SquaredHingeGroupLasso
    targets: slice
    n_columns: int
    kept: list[Block] = field(default_factory=list)
    n_quiet: int = 0  # rounds in which nothing violated a condition

    def solve(self, penalty: float, tol: float) -> None:
        """Solve on the active set and drop what has no weight."""
        self.machine.solve(penalty, tol)
        alive = np.flatnonzero(self.strengths() > 0)
        if alive.size < len(self.kept):
            groups_each = self.n_columns // self.machine.width
            self.machine.keep_groups((alive[:, None] * groups_each + np.arange(groups_each)).ravel())
            self.kept = [self.kept[i] for i in alive]

    def strengths(self) -> np.ndarray:
        """Norm of the weights of every map."""
        return group_norms(self.machine.weights, self.n_columns)

    def violations(self, pulls: np.ndarray, penalty: float) -> np.ndarray:
        """Norm of r (Eq. 3) of every candidate; with an l1 norm, the largest over the columns of its map."""
        pulls = pulls[:, :, self.targets]
        if self.machine.width == self.n_columns:
            return np.sqrt(np.einsum("mqk,mqk->m", pulls, pulls)) / penalty
        return np.sqrt(np.einsum("mqk,mqk->mq", pulls, pulls)).max(axis=1) / penalty


@dataclass(frozen=True)
class Start:
    """A candidate for a problem, with the norm of r there."""

    problem: ActiveProblem
    parameter: np.ndarray
    value: float

    def better(self, around: np.ndarray, pulls: np.ndarray, penalty: float) -> Start:
        """The most violating of those around it, if one violates more."""
        values = self.problem.violations(pulls, penalty)
        best = int(values.argmax())
        return Start(self.problem, around[best], float(values[best])) if values[best] > self.value else self


class ActiveSearch:
    """Active sets of one or several problems that look at the same candidates.

    Parameters
    ----------
    candidates : Candidates
    Y : ndarray of shape (n_samples, n_targets)
        1 and -1.
    is_shared : bool
        One active set for all targets, with a norm over them, or one for each.
    is_grouped : bool
        A norm per map (l1/l2), or one per column (l1).
    n_add : int
        Candidates added to an active set in one round, at most.
    refine : bool
    tol : float
    rng : RandomState
    """

    def __init__(
        self,
        candidates: Candidates,
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
        self.tol = min(tol, _EXACT) if candidates.is_exhaustive else tol
        size, width = candidates.n_columns, candidates.n_columns if is_grouped else 1
        ranges = [slice(0, Y.shape[1])] if is_shared else [slice(k, k + 1) for k in range(Y.shape[1])]
        self.problems = [
            ActiveProblem(SquaredHingeGroupLasso(Y[:, targets], width), targets, size) for targets in ranges
        ]
        self.n_evaluations = 0
        self.history: list[Round] = []
        self.has_ended = False

    def smallest_C(self, rng: np.random.RandomState) -> float:
        """Where the first of one round's candidates would enter: Cmin."""
        pulls = self._pull(self.candidates.propose(rng))
        largest = max(float(p.violations(pulls, 1.0).max(initial=0.0)) for p in self.problems)
        # what rounding alone pulls is nothing: a slack of size one, times a column of norm sqrt(n)
        return self.n_samples / largest if largest > 1e-12 * self.n_samples else np.inf

    def rounds(self, C: float, max_rounds: int, patience: int) -> Iterator[Round]:
        """Go on until nothing violates its condition for ``patience`` rounds; one is enough for a sweep of all.

        Problems do not depend on each other: each ends by itself.
        """
        penalty, self.has_ended = self.n_samples / C, False
        enough = 1 if self.candidates.is_exhaustive else patience
        for problem in self.problems:
            problem.solve(penalty, min(self.tol, _EXACT))
            problem.n_quiet = 0
        for _ in range(max_rounds):
            violation = self._add(penalty, [problem for problem in self.problems if problem.n_quiet < enough])
            self.history.append(Round(self.objective(C), len(self.active()), violation, self.n_evaluations))
            self.has_ended = all(problem.n_quiet >= enough for problem in self.problems)
            yield self.history[-1]
            if self.has_ended:
                return

    def objective(self, C: float) -> float:
        """Eq. (2)."""
        loss = sum(problem.machine.loss() for problem in self.problems)
        return C / self.n_samples * loss + float(sum(p.machine.group_norms.sum() for p in self.problems))

    def active(self) -> dict[bytes, Block]:
        """The maps with a weight in any of the problems."""
        return {block.key: block for problem in self.problems for block in problem.kept}

    def weights(self) -> tuple[list[Block], np.ndarray, np.ndarray]:
        """Maps, weights of shape (n_maps, n_columns, n_targets), and intercepts of all targets."""
        kept = self.active()
        place = {key: i for i, key in enumerate(kept)}
        intercept = np.concatenate([problem.machine.intercept for problem in self.problems])
        weights = np.zeros((len(kept), self.candidates.n_columns, intercept.size))
        for problem in self.problems:
            rows = [place[block.key] for block in problem.kept]
            shape = (len(rows), self.candidates.n_columns, -1)
            if rows:
                weights[rows, :, problem.targets] = problem.machine.weights.reshape(shape)
        return list(kept.values()), weights, intercept

    def check(self, C: float, n_draws: int) -> dict[str, Any]:
        """How near the minimum this is: on the active sets by Eq. (3), outside of them by candidates.

        Those that ended the search were chosen by finding nothing. So ``n_draws`` times as many are drawn afresh.
        """
        exhaustive = self.candidates.is_exhaustive
        drawn = [self.candidates.propose(self.rng) for _ in range(1 if exhaustive else n_draws)]
        parameters, penalty = np.concatenate(drawn), self.n_samples / C
        pulls = self._look(parameters)
        starts = [
            Start(problem, parameters[i], float(values[i]))
            for problem in self.problems
            for values in [problem.violations(pulls, penalty)]
            for i in np.argsort(-values, kind="stable")[:_CLIMBS]
        ]
        ends = self._climb(starts, penalty)
        largest = [max((end.value for end in ends if end.problem is p), default=0.0) for p in self.problems]
        objective = self.objective(C)
        gap = max(0.0, sum(self._gap(problem, C, top) for problem, top in zip(self.problems, largest, strict=True)))
        residual = max(problem.machine.kkt_residual for problem in self.problems)
        return {
            "converged": bool(residual <= self.tol and self.has_ended),
            "kkt_residual": residual,
            "violation_outside": max(largest),
            "n_checked": len(parameters),
            "exhaustive": exhaustive,
            "violating_share": 0.0 if exhaustive else 1.0 - (1.0 - _SURE) ** (1.0 / len(parameters)),
            "objective": objective,
            "gap": gap,
            "relative_gap": gap / objective if objective > 0 else 0.0,
            "n_rounds": len(self.history),
            "n_evaluations": self.n_evaluations,
        }

    def _gap(self, problem: ActiveProblem, C: float, largest: float) -> float:
        """Duality gap of a problem: its hinges, shrunk until no candidate seen violates a condition, are feasible."""
        hinge = np.abs(problem.machine.signed_hinge())
        shrink = 1.0 / max(1.0, largest, 1.0 + problem.machine.kkt_residual)
        primal = C / self.n_samples * problem.machine.loss() + float(problem.machine.group_norms.sum())
        return primal - C / self.n_samples * float(shrink * hinge.sum() - 0.5 * shrink**2 * np.sum(hinge**2))

    def _look(self, parameters: np.ndarray) -> np.ndarray:
        self.n_evaluations += len(parameters)
        return self._pull(parameters)

    def _pull(self, parameters: np.ndarray) -> np.ndarray:
        slack = np.concatenate([problem.machine.signed_hinge() for problem in self.problems], axis=1)
        return self.candidates.pulls(parameters, slack)

    def _add(self, penalty: float, problems: list[ActiveProblem]) -> float:
        """Look at the candidates of one round, let the most violating enter, and solve; the largest violation."""
        parameters = self.candidates.propose(self.rng)
        pulls = self._look(parameters)
        found = [problem.violations(pulls, penalty) for problem in problems]
        starts = [
            Start(problem, parameters[i], float(values[i]))
            for problem, values in zip(problems, found, strict=True)
            for i in self._choose(problem, parameters, values)
        ]
        ends = self._climb(starts, penalty)
        for problem in problems:
            inside = {block.key for block in problem.kept}
            wanted = [end for end in ends if end.problem is problem and end.value > 1.0 + self.tol]
            wanted = [end for end in wanted if end.parameter.tobytes() not in inside]
            wanted.sort(key=lambda end: -end.value)
            problem.n_quiet = 0 if wanted else problem.n_quiet + 1
            if wanted:
                kept, columns = self._take([end.parameter for end in wanted], problem.n_columns)
                problem.machine.add_columns(columns)
                problem.kept.extend(kept)
                problem.solve(penalty, min(self.tol, _EXACT))
        return max([end.value for end in ends] + [float(values.max(initial=0.0)) for values in found])

    def _choose(self, problem: ActiveProblem, parameters: np.ndarray, values: np.ndarray) -> list[int]:
        """The most violating candidates; if there are none and they can climb, the nearest to be."""
        most = self.n_add * _MORE if self.n_add > 1 else 1
        violating = np.flatnonzero(values > 1.0 + self.tol)
        if self.refine and not violating.size:
            violating, most = np.arange(values.size), _CLIMBS
        best = violating[np.argsort(-values[violating], kind="stable")].tolist()
        inside = {block.key for block in problem.kept}
        return [i for i in best if parameters[i].tobytes() not in inside][:most]

    def _take(self, parameters: list[np.ndarray], size: int) -> tuple[list[Block], np.ndarray]:
        """Maps and their columns; of several, those that are not too much alike."""
        kept, columns = self.candidates.take(np.stack(parameters))
        if len(kept) == 1:
            return kept, columns
        spread = _spread_out(columns.reshape(len(kept), size, -1), self.n_add)
        return [kept[i] for i in spread], columns[(spread[:, None] * size + np.arange(size)).ravel()]

    def _climb(self, starts: list[Start], penalty: float) -> list[Start]:
        """Go from candidates to others nearby that violate more, if there are; all climbs at once."""
        if not self.refine or not starts or self.candidates.is_exhaustive:
            return starts
        for step in _STEPS:
            around = [self.candidates.near(start.parameter, step, _NEAR, self.rng) for start in starts]
            pulls = np.split(self._look(np.concatenate(around)), len(starts))
            found = zip(starts, around, pulls, strict=True)
            starts = [start.better(near, pull, penalty) for start, near, pull in found]
        return starts


def _spread_out(columns: np.ndarray, n: int) -> np.ndarray:
    """The first ``n`` maps, in their order, whose first columns are not much alike."""
    first = columns[:, 0] / np.maximum(np.linalg.norm(columns[:, 0], axis=1, keepdims=True), np.finfo(float).tiny)
    likeness = np.abs(first @ first.T)
    chosen = [0]
    for i in range(1, len(first)):
        if len(chosen) < n and likeness[i, chosen].max() <= _ALIKE:
            chosen.append(i)
    return np.array(chosen)
