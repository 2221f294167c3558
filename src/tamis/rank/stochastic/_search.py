"""The search for the probability of least energy: gradient steps until it no longer changes, and what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from tamis.kernels.arrays.entropy import effective_number
from tamis.rank._checkpoint import Checkpoint
from tamis.rank.stochastic._energy import Energy, ExactEnergy
from tamis.rank.stochastic._gradient_descent import GradientDescent

_MAX_SNAPSHOTS = 64
_MIN_LAG = 20  # steps over which a change must have been small, before the search counts as converged
_FINAL_BATCHES = 20  # on which the energy of the result is estimated


@dataclass
class State:
    """Where a search is, and what happened before."""

    probability: np.ndarray
    rng: np.random.RandomState
    energy: list[float] = field(default_factory=list)
    effective: list[float] = field(default_factory=list)
    n_projections: int = 0
    stride: int = 1
    taken_at: list[int] = field(default_factory=list)
    snapshots: list[np.ndarray] = field(default_factory=list)

    @property
    def n_iter(self) -> int:
        return len(self.energy)

    def take_snapshot(self) -> None:
        """Keep the probability at every ``stride``-th step; the stride doubles when there are too many snapshots."""
        if self.n_iter % self.stride:
            return
        self.taken_at.append(self.n_iter)
        self.snapshots.append(self.probability.astype(np.float32))  # enough for a plot and for the convergence test
        if len(self.snapshots) > _MAX_SNAPSHOTS:
            self.stride *= 2
            kept = [place for place, n in enumerate(self.taken_at) if n % self.stride == 0]
            self.taken_at = [self.taken_at[place] for place in kept]
            self.snapshots = [self.snapshots[place] for place in kept]

    def change(self, mu: int) -> float:
        """Largest change since step ``n - floor(n / mu)``, relative to the largest probability: Figure 3's rule."""
        since = self.n_iter - self.n_iter // mu
        place = int(np.searchsorted(self.taken_at, since, side="right")) - 1
        return float(np.abs(self.probability - self.snapshots[place]).max() / self.probability.max())

    def has_converged(self, mu: int, tol: float) -> bool:
        """The probability has hardly changed over the last n / mu of n steps, and these are enough to tell."""
        return self.n_iter >= _MIN_LAG * mu and self.change(mu) <= tol

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The whole state, as arrays."""
        _, keys, *rest = self.rng.get_state()
        return {
            "probability": self.probability,
            "rng_keys": np.asarray(keys),
            "rng_rest": np.array(rest, dtype=float),
            "energy": np.array(self.energy),
            "effective": np.array(self.effective),
            "counts": np.array([self.n_projections, self.stride]),
            "taken_at": np.array(self.taken_at),
            "snapshots": np.array(self.snapshots),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> State:
        """The state that :meth:`to_arrays` gave."""
        position, has_gauss, cached = arrays["rng_rest"].tolist()
        rng = np.random.RandomState()
        rng.set_state(("MT19937", arrays["rng_keys"], int(position), int(has_gauss), cached))
        n_projections, stride = arrays["counts"].tolist()
        return cls(
            arrays["probability"],
            rng,
            arrays["energy"].tolist(),
            arrays["effective"].tolist(),
            n_projections,
            stride,
            arrays["taken_at"].tolist(),
            list(arrays["snapshots"]),
        )


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes
    ----------
    state : State
    energy : float
        Of the final probability, estimated anew.
    change : float
        By how much the probability still changed.
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

    def history(self, candidates: np.ndarray, n_candidates: int) -> dict[str, np.ndarray]:
        """Energy, effective number and probability along the steps, by columns of the table or groups of them."""
        return {
            "energy": np.array(self.state.energy),
            "effective_number": np.array(self.state.effective),
            "iteration": np.array(self.state.taken_at),
            "probability": np.stack([scatter(each, candidates, n_candidates) for each in self.state.snapshots]),
        }

    def explain(self, mu: int, tol: float, max_iter: int) -> str:
        """Why it has not converged, and what to do."""
        if self.n_iter < _MIN_LAG * mu:
            return f"max_iter={max_iter} is below {_MIN_LAG} mu, the least that can tell; raise it"
        return (
            f"after {self.n_iter} steps the probability still changes by {self.change:.2g} over the last n / mu, and "
            f"tol={tol:g}; raise max_iter={max_iter}, or tol"
        )

    def certificate(self) -> dict[str, Any]:
        """How we know that it has converged."""
        return {
            "converged": self.converged,
            "n_iter": self.n_iter,
            "change": self.change,
            "energy": self.energy,
            "n_projections": self.state.n_projections,
        }


def minimize_energy(
    energy: Energy,
    descent: GradientDescent,
    tol: float,
    max_iter: int,
    seed: int,
    checkpoint: Checkpoint,
    saved: dict[str, np.ndarray] | None,
    track: Callable[[Iterator[State]], Iterator[State]],
    is_interrupted: Callable[[], Any] = bool,
) -> SearchResult:
    """Search from the uniform probability, or from the state that an interrupted run saved."""
    n_features = energy.n_candidates
    task = ExactEnergy(energy, np.random.RandomState(seed)) if descent.method == "exact" else energy
    if descent.learning_rate == "auto":
        descent = clone(descent).set_params(learning_rate=task.initial_learning_rate(seed))
    uniform = np.full(n_features, 1.0 / n_features)
    state = State(uniform, np.random.RandomState(seed)) if saved is None else State.from_arrays(saved)
    for _ in track(take_steps(state, task, descent, tol, max_iter)):
        if checkpoint.is_due():
            checkpoint.save(state.to_arrays())
    checkpoint.save(state.to_arrays())
    if is_interrupted():  # in a hurry: the last estimates of the search itself
        final = float(np.mean(state.energy[-_FINAL_BATCHES:]))
    else:
        rng = np.random.RandomState([seed, 1])  # for draws that the search has not seen
        final = float(np.mean([energy.evaluate(state.probability, rng)[0] for _ in range(_FINAL_BATCHES)]))
    return SearchResult(state, final, state.change(descent.mu), state.has_converged(descent.mu, tol))


def take_steps(
    state: State, energy: Energy | ExactEnergy, descent: GradientDescent, tol: float, max_iter: int
) -> Iterator[State]:
    """Take steps, yielding the state after each, until it has converged or ``max_iter`` is reached."""
    if not state.snapshots:
        state.take_snapshot()
    while state.n_iter < max_iter and not state.has_converged(descent.mu, tol):
        value, counted = energy.evaluate(state.probability, state.rng)
        state.probability, outside = descent.step(state.probability, counted, state.n_iter, state.rng)
        state.n_projections += outside
        state.energy.append(value)
        state.effective.append(effective_number(state.probability))
        state.take_snapshot()
        yield state


def scatter(values: np.ndarray, candidates: np.ndarray, n_candidates: int) -> np.ndarray:
    """Values of some candidates at their places among all, zero elsewhere."""
    full = np.zeros(n_candidates, dtype=values.dtype)
    full[candidates] = values
    return full
