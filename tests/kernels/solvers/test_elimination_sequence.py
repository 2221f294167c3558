"""Minima along a sequence of eliminations are those of the quadratic function without these entries."""

import numpy as np
import pytest

from tamis.kernels.solvers.elimination_sequence import EliminationSequence


def a_function(d=9, seed=0):
    """Hessian, its inverse and the minimum."""
    rng = np.random.RandomState(seed)
    half = rng.standard_normal((d, d + 3))
    H = half @ half.T
    return H, np.linalg.inv(H), rng.standard_normal(d)


@pytest.mark.parametrize("places", [[4], [2, 0, 7], [8, 1, 3, 5, 0, 2]])
def test_every_minimum_is_that_without_the_entries(places):
    H, A, w = a_function()
    sequence = EliminationSequence(w, len(places))
    assert all(sequence.eliminate(place, A[place]) for place in places)
    for t in range(len(places)):
        kept = np.setdiff1d(np.arange(w.size), places[: t + 1])
        expected = np.zeros(w.size)
        expected[kept] = np.linalg.solve(H[np.ix_(kept, kept)], (H @ w)[kept])
        np.testing.assert_allclose(sequence.minima[t], expected, atol=1e-10)


def test_systems_along_the_sequence_are_those_without_the_entries():
    H, A, w = a_function()
    places = [3, 6, 1]
    sequence = EliminationSequence(w, len(places))
    right = np.random.RandomState(1).standard_normal((3, w.size))
    for t, place in enumerate(places):
        sequence.eliminate(place, A[place])
        right[t:, place] = 0.0
    solved = sequence.solve(right, A)
    for t in range(3):
        kept = np.setdiff1d(np.arange(w.size), places[: t + 1])
        np.testing.assert_allclose(solved[t, kept], np.linalg.solve(H[np.ix_(kept, kept)], right[t, kept]), atol=1e-10)
        assert not solved[t, places[: t + 1]].any()
        np.testing.assert_allclose(sequence.solve_after(t + 1, right[t], A), solved[t], atol=1e-10)
    np.testing.assert_allclose(sequence.solve_after(0, right[2], A), A @ right[2], atol=1e-10)


def test_an_entry_that_others_decide_is_refused():
    A = np.ones((2, 2))  # singular: without the one entry nothing is known of the other
    sequence = EliminationSequence(np.array([1.0, 2.0]), 2)
    assert sequence.eliminate(0, A[0])
    assert not sequence.eliminate(1, A[1])
    assert sequence.places == [0]
