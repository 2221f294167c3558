"""The search for a probability: one step after another, until it no longer moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tamis.kernels.arrays.entropy import effective_number
from tamis.rank.stochastic._feature_weighting import (
    euclidean_direction,
    multiply_probability,
    natural_direction,
    project_onto_simplex,
    riemannian_direction,
)

_MOST_SNAPSHOTS = 64
_MOST_MOVE = 0.3  # of P in a Euclidean step, relative to the uniform probability
LEAST_LAG = 20  # steps over which a change is looked at, before it can be called small


@dataclass(frozen=True)
class Schedule:
    r"""How far to go in each step, and when to stop.

    Steps are :math:`\varepsilon_n = \varepsilon / (n + C)` with :math:`\varepsilon` = ``learning_rate`` x ``decay`` and
    :math:`C` = ``decay`` (Sec. 4.1.4): the first is ``learning_rate``, whatever the decay.
    """

    method: str
    learning_rate: float | str
    decay: float
    noise: float
    mu: int
    tol: float
    max_iter: int

    def length(self, n: int) -> float:
        """Length of the step after ``n`` others."""
        return float(self.learning_rate) * self.decay / (n + self.decay)


@dataclass
class State:
    """Where a search is, and what it has seen."""

    probability: np.ndarray
    rng: np.random.RandomState
    energy: list[float] = field(default_factory=list)
    effective: list[float] = field(default_factory=list)
    n_outside: int = 0
    stride: int = 1
    taken_at: list[int] = field(default_factory=list)
    snapshots: list[np.ndarray] = field(default_factory=list)

    @property
    def n_iter(self) -> int:
        return len(self.energy)

    def note(self) -> None:
        """Keep the probability now and then: always more than half of the most, evenly spread."""
        if self.n_iter % self.stride:
            return
        self.taken_at.append(self.n_iter)
        self.snapshots.append(self.probability.astype(np.float32))  # many of them, and to look at
        if len(self.snapshots) > _MOST_SNAPSHOTS:
            self.stride *= 2
            kept = [place for place, n in enumerate(self.taken_at) if n % self.stride == 0]
            self.taken_at = [self.taken_at[place] for place in kept]
            self.snapshots = [self.snapshots[place] for place in kept]

    def change(self, mu: int) -> float:
        """Largest change since step ``n - floor(n / mu)``, relative to the largest probability: Figure 3's rule."""
        since = self.n_iter - self.n_iter // mu
        place = int(np.searchsorted(self.taken_at, since, side="right")) - 1
        return float(np.abs(self.probability - self.snapshots[place]).max() / self.probability.max())

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All there is to know, as arrays."""
        _, keys, *rest = self.rng.get_state()
        return {
            "probability": self.probability,
            "rng_keys": np.asarray(keys),
            "rng_rest": np.array(rest, dtype=float),
            "energy": np.array(self.energy),
            "effective": np.array(self.effective),
            "counts": np.array([self.n_outside, self.stride]),
            "taken_at": np.array(self.taken_at),
            "snapshots": np.array(self.snapshots),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> State:
        """The state that :meth:`to_arrays` was asked for."""
        position, has_gauss, cached = arrays["rng_rest"].tolist()
        rng = np.random.RandomState()
        rng.set_state(("MT19937", arrays["rng_keys"], int(position), int(has_gauss), cached))
        n_outside, stride = arrays["counts"].tolist()
        return cls(
            arrays["probability"],
            rng,
            arrays["energy"].tolist(),
            arrays["effective"].tolist(),
            n_outside,
            stride,
            arrays["taken_at"].tolist(),
            list(arrays["snapshots"]),
        )


Measure = Callable[[np.ndarray, np.random.RandomState], tuple[float, np.ndarray]]


def search(state: State, measure: Measure, schedule: Schedule) -> Iterator[State]:
    """Take steps, yielding the state after each, until it has converged or may go no further.

    ``measure`` gives the energy of a probability and the mean of error times counts, both perhaps estimates.
    """
    if not state.snapshots:
        state.note()
    while state.n_iter < schedule.max_iter and not has_converged(state, schedule):
        energy, counted = measure(state.probability, state.rng)
        moved, outside = take_step(state.probability, counted, schedule, state.n_iter, state.rng)
        state.probability = moved
        state.n_outside += outside
        state.energy.append(energy)
        state.effective.append(effective_number(moved))
        state.note()
        yield state


def has_converged(state: State, schedule: Schedule) -> bool:
    """The probability has hardly moved over the last n / mu of n steps, which must be some."""
    return state.n_iter >= LEAST_LAG * schedule.mu and state.change(schedule.mu) <= schedule.tol


def take_step(
    probability: np.ndarray, counted: np.ndarray, schedule: Schedule, n: int, rng: np.random.RandomState
) -> tuple[np.ndarray, bool]:
    """The next probability, and whether the step led out of the simplex.

    From the uniform probability all methods take the same first step, up to noise.
    """
    length = schedule.length(n)
    size = probability.size
    if schedule.method == "riemannian":
        return multiply_probability(probability, -length * riemannian_direction(counted, probability)), False
    if schedule.method in ("natural", "exact"):
        return multiply_probability(probability, -length / size * natural_direction(counted, probability)), False
    moved = _walk(probability, counted, length)
    if schedule.method == "diffusion":
        moved += schedule.noise * np.sqrt(length) / size * rng.standard_normal(size)
    return project_onto_simplex(moved), bool((moved < 0).any())


def _walk(probability: np.ndarray, counted: np.ndarray, length: float) -> np.ndarray:
    """A Euclidean step, perhaps out of the simplex, and not far for any feature: 1 / P of a rare one is huge."""
    size = probability.size
    move = length / size**2 * euclidean_direction(counted, probability)
    return probability - np.clip(move, -_MOST_MOVE / size, _MOST_MOVE / size)
