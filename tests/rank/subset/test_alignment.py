"""Alignment of a set of columns with the leading components of all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.rank.subset import _alignment as module
from tamis.rank.subset._alignment import AlignmentSearch, component_affinities
from tests.oracles.neighbor_faithful import alignment, component_target, unit_columns

QUICK = settings(deadline=None, max_examples=30, derandomize=True)
SEED = st.integers(0, 2**31 - 1)


def problem(seed=0, shape=(15, 20), r=4):
    rng = np.random.RandomState(seed)
    Y = unit_columns(
        rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1])) + rng.standard_normal(shape)
    )
    return Y, component_affinities(Y, Y @ Y.T, [r])[0], component_target(Y, r)


@pytest.mark.parametrize("r", [1, 4, 50])
def test_affinities_are_quadratic_forms_of_the_leading_components(r):
    Y, affinity, T = problem(r=r)
    np.testing.assert_allclose(affinity, np.einsum("ij,ik,kj->j", Y, T, Y))


@QUICK
@given(seed=SEED, data=st.data())
def test_figures_are_those_of_the_definition_whatever_was_added_and_dropped(seed, data):
    Y, affinity, T = problem(seed)
    kept = data.draw(st.lists(st.integers(0, 19), min_size=3, max_size=8, unique=True))
    search = AlignmentSearch(Y, affinity, kept)
    removed = data.draw(st.sampled_from(kept))
    search.remove(removed)
    remaining = [j for j in kept if j != removed]
    assert search.kept == remaining
    grown = search.alignment_with()
    for j in range(20):
        assert grown[j] == (-np.inf if j in remaining else pytest.approx(alignment(Y, T, [*remaining, j])))
    expected = [alignment(Y, T, [c for c in remaining if c != j]) for j in remaining]
    np.testing.assert_allclose(search.alignment_without(), expected)


@QUICK
@given(seed=SEED, size=st.integers(1, 8))
def test_extending_adds_the_best_column_each_time(seed, size):
    Y, affinity, T = problem(seed)
    search = AlignmentSearch(Y, affinity)
    search.extend(size)
    expected = []
    for _ in range(size):
        values = [-np.inf if j in expected else alignment(Y, T, [*expected, j]) for j in range(20)]
        expected.append(int(np.argmax(values)))
    assert search.kept == expected


@QUICK
@given(seed=SEED, size=st.integers(2, 8))
def test_after_improving_no_single_exchange_helps(seed, size):
    Y, affinity, T = problem(seed)
    search = AlignmentSearch(Y, affinity, list(range(size)))
    before = alignment(Y, T, search.kept)
    assert search.improve(10_000) >= 0
    reached = alignment(Y, T, search.kept)
    assert reached >= before
    for out in search.kept:
        rest = [j for j in search.kept if j != out]
        others = [alignment(Y, T, [*rest, j]) for j in range(20) if j not in rest]
        assert max(others) <= reached * (1 + 1e-8)


def test_swaps_are_counted_and_limited():
    Y, affinity, _ = problem()
    assert AlignmentSearch(Y, affinity, [0, 1, 2, 3]).improve(1) == 1


def test_without_room_to_cache_products_the_result_is_the_same(monkeypatch):
    Y, affinity, _ = problem()
    cached = AlignmentSearch(Y, affinity, [0, 1, 2, 3])
    cached.improve(100)
    monkeypatch.setattr(module, "_CACHED", 0)
    computed = AlignmentSearch(Y, affinity, [0, 1, 2, 3])
    computed.improve(100)
    assert computed.kept == cached.kept
