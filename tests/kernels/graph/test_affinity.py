"""Graphs against full matrices."""

import array_api_strict
import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel

from tamis.kernels.graph import affinity as module
from tamis.kernels.graph.affinity import (
    ClassGraph,
    KernelGraph,
    SparseGraph,
    dirichlet_energy,
    informative_eigenvectors,
    laplacian_dot,
    neighbor_graph,
    smoothest_eigenvectors,
)
from tests.oracles.graph import heat_matrix


def table(n=40, d=6, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d))


def rings(sizes):
    """Disjoint cycles, whose spectra are known in closed form."""
    blocks = []
    for size in sizes:
        shift = np.roll(np.eye(size), 1, axis=0)
        blocks.append(shift + shift.T)
    return SparseGraph(sparse.csr_array(linalg.block_diag(*blocks)))


@pytest.mark.parametrize("weight", ["heat", "binary", "cosine"])
def test_neighbors_are_tied_both_ways(weight):
    X = table()
    graph = neighbor_graph(X, 4, weight=weight, width=1.3, loop=0.5)
    M = heat_matrix(X, 4, 1.3, weight)
    np.testing.assert_allclose(graph.weights.toarray(), M, atol=1e-12)
    np.testing.assert_allclose(graph.degree, M.sum(axis=1) + 0.5)


def test_the_width_comes_from_the_data_so_units_do_not_matter():
    X = table()
    np.testing.assert_allclose(
        neighbor_graph(1e6 * X, 4).weights.toarray(), neighbor_graph(X, 4).weights.toarray(), atol=1e-9
    )


def test_points_that_all_coincide_are_tied_with_weight_one():
    graph = neighbor_graph(np.ones((5, 2)), 2)
    assert set(graph.weights.data) == {1.0}


def test_all_pairs_are_never_held_but_give_the_same_products(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 100)
    X = table()
    kernel = rbf_kernel(X, gamma=1 / (2 * 1.7**2))
    graph = KernelGraph(X, 1.7, loop=1.0)
    np.testing.assert_allclose(graph.degree, kernel.sum(axis=1))
    np.testing.assert_allclose(graph.dot(X) + X, kernel @ X)
    root = 1 / np.sqrt(kernel.sum(axis=1))
    np.testing.assert_allclose(graph.normalized_dot(X), (np.outer(root, root) * kernel) @ X)


def test_classes_are_tied_by_one_over_their_size():
    codes = np.array([0, 1, 1, 2, 0, 1])
    M = np.array([[(a == b) / (codes == a).sum() for b in codes] for a in codes])
    graph = ClassGraph(codes)
    F = table(6, 3)
    np.testing.assert_allclose(graph.dot(F), M @ F)
    np.testing.assert_allclose(graph.dot(F[:, 0]), M @ F[:, 0])
    np.testing.assert_allclose(graph.dot(sparse.csr_array(F)).toarray(), M @ F)
    np.testing.assert_allclose(graph.degree, M.sum(axis=1))


@pytest.mark.parametrize("kind", ["dense", "sparse", "device"])
def test_dirichlet_energy_is_the_quadratic_form_of_the_laplacian(kind, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 100)
    monkeypatch.setattr(module, "_DEVICE_BLOCK", 100)
    X = table()
    graph = neighbor_graph(X, 4, loop=1.0)
    expected = np.diag(X.T @ (np.diag(graph.between) - graph.weights.toarray()) @ X)
    np.testing.assert_allclose(np.diag(X.T @ laplacian_dot(graph, X)), expected)
    if kind == "device":
        with config_context(array_api_dispatch=True):
            found = dirichlet_energy(graph, array_api_strict.asarray(X))
    else:
        found = dirichlet_energy(graph, sparse.csr_array(X) if kind == "sparse" else X)
    np.testing.assert_allclose(found, expected)


def test_dirichlet_energy_keeps_its_digits_where_weights_are_tiny():
    X = table(10, 2) * 8
    graph = KernelGraph(X, 0.2, loop=1.0)
    assert graph.between.max() < 1e-20
    pairs = [(i, k) for i in range(10) for k in range(i)]
    weight = [np.exp(-((X[i] - X[k]) ** 2).sum() / 0.08) for i, k in pairs]
    expected = [sum(w * (X[i, j] - X[k, j]) ** 2 for w, (i, k) in zip(weight, pairs, strict=True)) for j in range(2)]
    np.testing.assert_allclose(dirichlet_energy(graph, X), expected, rtol=1e-6)


@pytest.mark.parametrize("dense", [True, False])
def test_eigenvectors_of_rings_are_waves(dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(module, "_DENSE", 0)
    graph = rings([40, 30])
    values, vectors = smoothest_eigenvectors(graph, 8)
    waves = [1 - np.cos(2 * np.pi * m / size) for size in (40, 30) for m in range(-5, 6)]
    np.testing.assert_allclose(values, np.sort(waves)[:8], atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-8)
    np.testing.assert_allclose(vectors - graph.normalized_dot(vectors), vectors * values, atol=1e-8)


@pytest.mark.parametrize("sizes", [[50], [20, 30], [10, 10, 10, 10, 10]])
def test_informative_eigenvectors_leave_out_the_constant_one_and_no_other(sizes):
    graph = rings(sizes)
    values, vectors = informative_eigenvectors(graph, 3)
    np.testing.assert_allclose(np.sqrt(graph.degree) @ vectors, 0, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-10)
    zeros = len(sizes) - 1
    assert np.count_nonzero(values < 1e-9) == min(3, zeros)
    np.testing.assert_allclose(vectors - graph.normalized_dot(vectors), vectors * values, atol=1e-8)


def test_there_are_no_more_informative_eigenvectors_than_samples_less_one():
    values, vectors = informative_eigenvectors(rings([4]), 10)
    assert values.size == 3
    assert vectors.shape == (4, 3)
