"""The state of a search: its snapshots, when it has converged, and how it is stored."""

import numpy as np
import pytest

from tamis.rank.stochastic import _search
from tamis.rank.stochastic._search import State


def test_snapshots_are_bounded_and_evenly_spread():
    state = State(np.full(3, 1 / 3), np.random.RandomState(0))
    state.take_snapshot()
    for n in range(1, 1001):
        state.energy.append(0.5)
        state.probability = np.full(3, float(n))
        state.take_snapshot()
        assert len(state.snapshots) <= _search._MAX_SNAPSHOTS
        assert n < _search._MAX_SNAPSHOTS or 2 * len(state.snapshots) >= _search._MAX_SNAPSHOTS
    assert state.taken_at == list(range(0, 1001, 16))
    assert [snapshot[0] for snapshot in state.snapshots[1:]] == state.taken_at[1:]


def test_a_run_has_converged_when_the_last_part_of_it_moved_little():
    state = State(np.array([0.5, 0.5]), np.random.RandomState(0))
    state.take_snapshot()
    moves = [np.array([0.5, 0.5])] * 20 + [np.array([0.8, 0.2])] * 40
    converged = []
    for moved in moves:
        state.probability = moved
        state.energy.append(0.0)
        state.take_snapshot()
        converged.append(state.has_converged(2, 0.1))
    # the jump was in step 21; at step n the rule looks back to n - floor(n / 2), and not before 40 steps
    assert converged.index(True) + 1 == 41
    assert state.change(2) == pytest.approx(0.0, abs=1e-6)


def test_a_state_survives_being_written_to_arrays():
    rng = np.random.RandomState(3)
    rng.standard_normal()  # leaves a second number waiting
    state = State(np.array([0.25, 0.75]), rng, [0.5], [1.8], 4, 2, [0], [np.array([0.5, 0.5])])
    back = State.from_arrays(state.to_arrays())
    np.testing.assert_array_equal(back.probability, state.probability)
    np.testing.assert_array_equal(back.rng.standard_normal(5), rng.standard_normal(5))
    assert (back.energy, back.effective, back.n_projections, back.stride, back.taken_at) == ([0.5], [1.8], 4, 2, [0])
    np.testing.assert_array_equal(back.snapshots, state.snapshots)
