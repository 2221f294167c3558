"""Exchanges that raise FIT."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.rank.subset import _faithful_swaps as module
from tamis.rank.subset._alignment import AlignmentSearch, component_affinities
from tamis.rank.subset._faithful_swaps import SwapSearch, fit_among, nearest_rows
from tests.oracles.neighbor_faithful import loo_fit, unit_columns

QUICK = settings(deadline=None, max_examples=20, derandomize=True)
SEED = st.integers(0, 2**31 - 1)


def problem(seed=0, shape=(40, 25)):
    rng = np.random.RandomState(seed)
    Y = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1])) + 0.5 * rng.standard_normal(shape)
    Z = unit_columns(Y)
    return Z, Z @ Z.T * (shape[0] / shape[1])


def search_from(Z, gram, kept, n_neighbors=5, queries=None):
    affinity = component_affinities(Z, Z @ Z.T, [5])[0]
    queries = np.arange(len(Z)) if queries is None else queries
    return SwapSearch(Z, gram, AlignmentSearch(Z, affinity, kept), n_neighbors, queries)


@QUICK
@given(seed=SEED, n_neighbors=st.integers(1, 8), width=st.integers(8, 39))
def test_fit_among_the_nearest_rows_is_that_of_the_definition(seed, n_neighbors, width):
    Z, gram = problem(seed)
    near, distance2 = nearest_rows(Z, [1, 4, 7], width)
    assert np.all(np.diff(near, axis=1) > 0)
    assert not (near == np.arange(40)[:, None]).any()
    assert fit_among(near, distance2, gram, n_neighbors) == pytest.approx(loo_fit(Z, [1, 4, 7], n_neighbors))


def test_nearest_rows_do_not_depend_on_the_blocks(monkeypatch):
    Z, _ = problem()
    whole = nearest_rows(Z, [0, 3], 6)
    monkeypatch.setattr(module, "_BLOCK", 100)
    for one, other in zip(nearest_rows(Z, [0, 3], 6), whole, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-15)


@pytest.mark.parametrize("few", [True, False], ids=["all rows are looked at", "only near rows are looked at"])
@QUICK
@given(seed=SEED, size=st.integers(1, 12), n_neighbors=st.integers(1, 6))
def test_fit_never_falls_and_is_that_of_the_set(few, seed, size, n_neighbors):
    Z, gram = problem(seed)
    with pytest.MonkeyPatch.context() as patch:
        if not few:
            for name, value in (
                ("_FEW_ROWS", 10),
                ("_MIN_NEIGHBORS", 12),
                ("_MIN_NEIGHBORS_FOR_ONE", 12),
                ("_COLUMNS_PER_REFRESH", 3),
            ):
                patch.setattr(module, name, value)
        search = search_from(Z, gram, list(range(size)), n_neighbors, None if few else np.arange(0, 40, 2))
        for _ in range(2):
            search.run_pass(100)
            assert len(set(search.kept)) == size
            assert search.history[-1] == pytest.approx(loo_fit(Z, search.kept, n_neighbors))
    assert np.all(np.diff(search.history) >= 0)


def test_exchanges_find_a_better_set_where_there_is_an_obvious_one():
    rng = np.random.RandomState(0)
    signal = np.linspace(0, 1, 60)[:, None]
    Z = unit_columns(np.hstack([rng.standard_normal((60, 3)), signal + 0.05 * rng.standard_normal((60, 12))]))
    search = search_from(Z, Z @ Z.T * (60 / 15), [0, 1, 2])
    assert search.run_pass(3) > 0.5
    assert search.n_swaps >= 1
    assert max(search.kept) >= 3


def test_only_as_many_columns_are_taken_out_as_allowed():
    Z, gram = problem()
    search = search_from(Z, gram, list(range(10)))
    search.run_pass(2)
    assert search.n_swaps <= 2
