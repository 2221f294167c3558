"""From a problem to a probability: the whole of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tamis.rank._checkpoint import Checkpoint
from tamis.rank.stochastic._feature_weighting import draw_subsets, natural_direction
from tamis.rank.stochastic._problem import ExactProblem, Problem
from tamis.rank.stochastic._search import LEAST_LAG, Schedule, State, has_converged, search

_NOISE = 0.1  # standard deviation that the first step of log P owes to chance, where the rate is left to us
_EXACT_CHANGE = 0.5  # the same where nothing is left to chance: the largest change
_JUDGED = 20  # batches on which the energy of the result is measured


@dataclass(frozen=True)
class Learned:
    """What a run found.

    Attributes
    ----------
    state : State
    energy : float
        Of the final probability, measured anew.
    change : float
        By how much the probability still moved.
    converged : bool
    """

    state: State
    energy: float
    change: float
    converged: bool

    @property
    def probability(self) -> np.ndarray:
        """The learned weights of the candidates."""
        return self.state.probability

    @property
    def n_iter(self) -> int:
        """Number of steps taken."""
        return self.state.n_iter

    def history(self, columns: np.ndarray, n_features: int) -> dict[str, np.ndarray]:
        """What happened on the way, by features of the table."""
        return {
            "energy": np.array(self.state.energy),
            "effective_number": np.array(self.state.effective),
            "iteration": np.array(self.state.taken_at),
            "probability": np.stack([spread(each, columns, n_features) for each in self.state.snapshots]),
        }

    def problem(self, schedule: Schedule) -> str:
        """What keeps it from being converged, and what to do."""
        if self.n_iter < LEAST_LAG * schedule.mu:
            return f"max_iter={schedule.max_iter} is below {LEAST_LAG} mu, the least that can tell; raise it"
        return (
            f"after {self.n_iter} steps the probability still changes by {self.change:.2g} over the last n / mu, and "
            f"tol={schedule.tol:g}; raise max_iter={schedule.max_iter}, or tol"
        )

    def certificate(self) -> dict[str, Any]:
        """How we know that it has settled."""
        return {
            "converged": self.converged,
            "n_iter": self.n_iter,
            "change": self.change,
            "energy": self.energy,
            "n_outside": self.state.n_outside,
        }


def learn_weights(
    problem: Problem,
    schedule: Schedule,
    seed: int,
    checkpoint: Checkpoint,
    saved: dict[str, np.ndarray] | None,
    watch: Callable[[Iterator[State]], Iterator[State]],
) -> Learned:
    """Search from the uniform probability, or from where an interrupted run was."""
    size = problem.table.n_columns
    task: Any = ExactProblem(problem, np.random.RandomState(seed)) if schedule.method == "exact" else problem
    if schedule.learning_rate == "auto":
        schedule = replace(schedule, learning_rate=_choose_rate(task, size, seed))
    state = State(np.full(size, 1.0 / size), np.random.RandomState(seed)) if saved is None else State.from_arrays(saved)
    for _ in watch(search(state, task.measure, schedule)):
        if checkpoint.is_due():
            checkpoint.save(state.to_arrays())
    checkpoint.save(state.to_arrays())
    judge = np.random.RandomState([seed, 1])  # draws that the search has not seen
    energy = float(np.mean([problem.measure(state.probability, judge)[0] for _ in range(_JUDGED)]))
    return Learned(state, energy, state.change(schedule.mu), has_converged(state, schedule))


def _choose_rate(task: Problem | ExactProblem, size: int, seed: int) -> float:
    """A first step that changes log P by a little more than chance would let it be known.

    At the uniform probability the mean of error times counts over B subsets of k features has a standard deviation of s
    sqrt(k / (D B)) by chance alone, with s that of the errors.
    """
    uniform, rng = np.full(size, 1.0 / size), np.random.RandomState(seed)
    if isinstance(task, ExactProblem):
        _, counted = task.measure(uniform, rng)
        largest = np.abs(natural_direction(counted, uniform)).max() / size
        return _EXACT_CHANGE / max(largest, 1e-12)
    subsets = draw_subsets(uniform, task.n_subsets, task.subset_size, rng)
    split = task.splitter.draw(rng)
    deviation = max(task.errors(subsets, split, rng).std(), 0.5 / split.test.size)
    return float(_NOISE * np.sqrt(size * task.n_subsets / task.subset_size) / deviation)


def shuffle_labels(problem: Problem, seed: int) -> Problem:
    """The same problem with nothing to find."""
    codes = np.random.RandomState(seed).permutation(problem.splitter.codes)
    return replace(problem, splitter=replace(problem.splitter, codes=codes))


def null_place(checkpoint: Any, turn: int) -> Path | None:
    """Where a run on permuted labels keeps its state."""
    return None if checkpoint is None else Path(f"{checkpoint}.null{turn or ''}")


def spread(values: np.ndarray, columns: np.ndarray, n_features: int) -> np.ndarray:
    """Values of some columns at their places among all, zero elsewhere."""
    full = np.zeros(n_features, dtype=values.dtype)
    full[columns] = values
    return full
