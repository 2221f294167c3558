"""Algorithm 1 of Flamary et al.: solve on the active set, look at candidates, add the most violating, drop the dead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.kernels.group_lasso import group_norms
from tamis.kernels.hinge_machine import HingeMachine
from tamis.rank.sparse._candidates import Block, Candidates

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
    machine : HingeMachine
    targets : slice
        Which targets it is for.
    n_columns : int
        Per map.
    """

    machine: HingeMachine
    targets: slice
    n_columns: int
    kept: list[Block] = field(default_factory=list)

    def solve(self, penalty: float, tol: float) -> None:
        """Solve on the active set and drop what has no weight."""
        self.machine.solve(penalty, tol)
        alive = np.flatnonzero(self.strengths() > 0)
        if alive.size < len(self.kept):
            groups_each = self.n_columns // self.machine.width
            self.machine.keep((alive[:, None] * groups_each + np.arange(groups_each)).ravel())
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
        self.problems = [ActiveProblem(HingeMachine(Y[:, targets], width), targets, size) for targets in ranges]
        self.n_evaluations = 0
        self.history: list[Round] = []
        self.has_ended = False

    def smallest_C(self) -> float:
        """Where the first of one round's candidates would enter: Cmin."""
        pulls = self._look(self.candidates.propose(self.rng))
        largest = max(float(p.violations(pulls, 1.0).max(initial=0.0)) for p in self.problems)
        # what rounding alone pulls is nothing: a slack of size one, times a column of norm sqrt(n)
        return self.n_samples / largest if largest > 1e-12 * self.n_samples else np.inf

    def rounds(self, C: float, max_rounds: int, patience: int) -> Iterator[Round]:
        """Go on until nothing violates its condition for ``patience`` rounds; one is enough for a sweep of all."""
        penalty, quiet, self.has_ended = self.n_samples / C, 0, False
        self._solve(penalty)
        for _ in range(max_rounds):
            added, violation = self._add(penalty)
            if added:
                self._solve(penalty)
            quiet = 0 if added else quiet + 1
            self.history.append(Round(self.objective(C), len(self.active()), violation, self.n_evaluations))
            self.has_ended = quiet >= (1 if self.candidates.is_exhaustive else patience)
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
        largest = [self._climb_highest(p, parameters, p.violations(pulls, penalty), penalty) for p in self.problems]
        objective = self.objective(C)
        gap = max(0.0, sum(self._gap(problem, C, top) for problem, top in zip(self.problems, largest, strict=True)))
        residual = max(problem.machine.residual for problem in self.problems)
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

    def _climb_highest(
        self, problem: ActiveProblem, parameters: np.ndarray, values: np.ndarray, penalty: float
    ) -> float:
        """Largest violation among candidates, and where climbs from the best of them end."""
        best = np.argsort(-values, kind="stable")[:_CLIMBS]
        ends = (self._climb(problem, parameters[i], float(values[i]), penalty)[1] for i in best)
        return max(ends, default=0.0)

    def _gap(self, problem: ActiveProblem, C: float, largest: float) -> float:
        """Duality gap of a problem: its hinges, shrunk until no candidate seen violates a condition, are feasible."""
        hinge = np.abs(problem.machine.slack())
        shrink = 1.0 / max(1.0, largest, 1.0 + problem.machine.residual)
        primal = C / self.n_samples * problem.machine.loss() + float(problem.machine.group_norms.sum())
        return primal - C / self.n_samples * float(shrink * hinge.sum() - 0.5 * shrink**2 * np.sum(hinge**2))

    def _solve(self, penalty: float) -> None:
        for problem in self.problems:
            problem.solve(penalty, min(self.tol, _EXACT))

    def _look(self, parameters: np.ndarray) -> np.ndarray:
        self.n_evaluations += len(parameters)
        slack = np.concatenate([problem.machine.slack() for problem in self.problems], axis=1)
        return self.candidates.pulls(parameters, slack)

    def _add(self, penalty: float) -> tuple[bool, float]:
        """Look at the candidates of one round, let the most violating enter; whether any did, and the violation."""
        parameters = self.candidates.propose(self.rng)
        pulls = self._look(parameters)
        found = [problem.violations(pulls, penalty) for problem in self.problems]
        chosen = [self._choose(p, parameters, values, penalty) for p, values in zip(self.problems, found, strict=True)]
        for problem, wanted in zip(self.problems, chosen, strict=True):
            if wanted:
                kept, columns = self._take([parameter for parameter, _ in wanted], problem.n_columns)
                problem.machine.add(columns)
                problem.kept.extend(kept)
        largest = [value for wanted in chosen for _, value in wanted] + [values.max(initial=0.0) for values in found]
        return any(chosen), float(max(largest))

    def _choose(
        self, problem: ActiveProblem, parameters: np.ndarray, values: np.ndarray, penalty: float
    ) -> list[tuple[np.ndarray, float]]:
        """The most violating candidates, refined, with their violations."""
        inside = {block.key for block in problem.kept}
        most = self.n_add * _MORE if self.n_add > 1 else 1
        violating = np.flatnonzero(values > 1.0 + self.tol)
        if self.refine and not violating.size:  # a climb may yet lead to one that does
            violating, most = np.arange(values.size), _CLIMBS
        best = violating[np.argsort(-values[violating], kind="stable")].tolist()
        best = [i for i in best if parameters[i].tobytes() not in inside][:most]
        climbed = [self._climb(problem, parameters[i], float(values[i]), penalty) for i in best]
        wanted = [end for end in climbed if end[1] > 1.0 + self.tol and end[0].tobytes() not in inside]
        wanted.sort(key=lambda end: -end[1])
        return wanted[:1] if self.n_add == 1 else wanted

    def _take(self, parameters: list[np.ndarray], size: int) -> tuple[list[Block], np.ndarray]:
        """Maps and their columns; of several, those that are not too much alike."""
        kept, columns = self.candidates.take(np.stack(parameters))
        if len(kept) == 1:
            return kept, columns
        spread = _spread_out(columns.reshape(len(kept), size, -1), self.n_add)
        return [kept[i] for i in spread], columns[(spread[:, None] * size + np.arange(size)).ravel()]

    def _climb(
        self, problem: ActiveProblem, parameter: np.ndarray, value: float, penalty: float
    ) -> tuple[np.ndarray, float]:
        """Go from a candidate to one nearby that violates more, if there is; with its violation."""
        for step in _STEPS if self.refine else ():
            around = self.candidates.near(parameter, step, _NEAR, self.rng)
            if around is None:
                break
            values = problem.violations(self._look(around), penalty)
            if values.max() > value:
                parameter, value = around[values.argmax()], float(values.max())
        return parameter, value


def _spread_out(columns: np.ndarray, n: int) -> np.ndarray:
    """The first ``n`` maps, in their order, whose first columns are not much alike."""
    first = columns[:, 0] / np.maximum(np.linalg.norm(columns[:, 0], axis=1, keepdims=True), np.finfo(float).tiny)
    likeness = np.abs(first @ first.T)
    chosen = [0]
    for i in range(1, len(first)):
        if len(chosen) < n and likeness[i, chosen].max() <= _ALIKE:
            chosen.append(i)
    return np.array(chosen)
