"""Packing dimension."""

import numpy as np
import pytest

from tamis.dimension import PackingDimension
from tamis.dimension._packing_dimension import _neighbor_graph, pack_greedily
from tests.oracles import dimension as oracle


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("k", "ratio"), [(4, 0.2), (15, 0.3), (500, 0.1)])
def test_the_estimate_follows_its_formula(seed, k, ratio):
    X = np.random.RandomState(seed).standard_normal((40, 3))
    rng = np.random.RandomState(7)
    orders = [rng.permutation(40) for _ in range(3)]
    arguments = {"n_neighbors": k, "ratio": ratio, "n_orders": 3, "standardize": False, "n_subsamples": 0}
    found = PackingDimension(**arguments, random_state=7).fit(X)
    assert found.dimension_ == pytest.approx(oracle.packing_dimension(X, k, ratio, orders), rel=1e-9)


def test_a_greedy_packing_cannot_be_extended_and_holds_no_neighbors():
    rng = np.random.RandomState(0)
    first, second = np.nonzero(np.triu(rng.uniform(size=(50, 50)) < 0.1, 1))
    graph = _neighbor_graph(first, second, 50)
    assert pack_greedily(_neighbor_graph(first[:0], second[:0], 50), np.arange(50)) == 50
    links = set(zip(first.tolist(), second.tolist(), strict=True))
    for _ in range(5):
        order = rng.permutation(50)
        taken = []
        for i in order:
            if not any((min(i, j), max(i, j)) in links for j in taken):
                taken.append(i)
        assert pack_greedily(graph, order) == len(taken)


def test_copies_count_once():
    X = np.random.RandomState(0).uniform(size=(100, 2))
    arguments = {"n_subsamples": 0, "random_state": 0}
    alone = PackingDimension(**arguments).fit(X).dimension_
    assert PackingDimension(**arguments).fit(np.repeat(X, 3, axis=0)).dimension_ == pytest.approx(alone, rel=1e-9)


def test_the_dimension_grows_with_that_of_the_cube_though_it_lags_behind():
    rng = np.random.RandomState(0)
    found = [
        PackingDimension(n_subsamples=0, random_state=0).fit(rng.uniform(size=(1000, d))).dimension_ for d in (1, 2, 4)
    ]
    assert 0.8 < found[0] < 1.1 < found[1] < 2.1 < found[2] < 4
