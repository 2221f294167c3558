"""Geodesic minimal spanning tree."""

import numpy as np
import pytest

from tamis.dimension import GMST
from tamis.dimension._gmst import neighbor_graph, tree_length
from tests.oracles import dimension as oracle


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 3, 8, 59])
@pytest.mark.parametrize("size", [2, 17, 60])
def test_the_tree_is_as_long_as_that_over_all_shortest_paths(seed, k, size):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((60, 3))
    graph = neighbor_graph(X, k)
    samples = rng.choice(60, size, replace=False)
    assert tree_length(graph, samples) == pytest.approx(oracle.geodesic_tree_length(graph, samples), rel=1e-9)


def test_the_graph_links_neighbors_both_ways():
    X = np.random.RandomState(0).standard_normal((30, 2))
    graph = neighbor_graph(X, 4).toarray()
    D = oracle.distance_matrix(X)
    nearest = np.argsort(D + np.diag(np.full(30, np.inf)), axis=1)[:, :4]
    linked = np.zeros((30, 30), dtype=bool)
    np.put_along_axis(linked, nearest, True, axis=1)
    np.testing.assert_allclose(graph, np.where(linked | linked.T, D, 0.0))


def test_parts_that_are_far_from_each_other_do_not_disturb():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(300, 2))
    arguments = {"standardize": False, "n_subsamples": 0, "random_state": 0}
    together = GMST(**arguments).fit(X).dimension_
    apart = GMST(**arguments).fit(np.vstack([X, rng.uniform(size=(300, 2)) + 100])).dimension_
    assert together == pytest.approx(2, abs=0.3)
    assert apart == pytest.approx(2, abs=0.3)


def test_copies_count_once_and_the_columns_bound_the_dimension():
    X = np.random.RandomState(0).uniform(size=(100, 3))
    arguments = {"n_subsamples": 0, "random_state": 0}
    alone = GMST(**arguments).fit(X).dimension_
    assert GMST(**arguments).fit(np.repeat(X, 2, axis=0)).dimension_ == pytest.approx(alone, rel=1e-9)
    assert alone <= 3


def test_few_samples_in_many_columns_span_no_more_than_they_are():
    X = np.random.RandomState(0).standard_normal((12, 500))
    found = GMST(random_state=0).fit(X)
    assert 1 < found.dimension_ <= 11
    assert found.subsample_dimensions_.max() <= 8


def test_two_points_are_joined_by_a_line():
    assert GMST().fit(np.repeat([[0.0, 1.0], [2.0, 5.0]], 5, axis=0)).dimension_ == 1
