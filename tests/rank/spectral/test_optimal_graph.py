"""A graph that is learned with a projection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.rank.spectral import _optimal_graph as optimal_graph
from tamis.rank.spectral._optimal_graph import (
    adaptive_scale,
    laplacian_of,
    learn_graph,
    project_rows_onto_simplex,
    smoothest_indicator,
    smoothest_projection,
)
from tests.oracles import spectral_selection as oracle

QUICK = settings(deadline=None, max_examples=40, derandomize=True)


def points(n=40, d=3, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d))


@QUICK
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-6, 0.3, 1.0, 50.0]), width=st.integers(1, 12))
def test_rows_are_projected_onto_the_simplex(seed, scale, width):
    V = scale * np.random.RandomState(seed).standard_normal((5, width)) + 7.0
    found = project_rows_onto_simplex(V)
    np.testing.assert_allclose(found, [oracle.project_onto_simplex(v) for v in V], atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found.min() >= 0


def test_equal_entries_share_the_simplex_equally():
    np.testing.assert_allclose(project_rows_onto_simplex(np.full((2, 4), -3.0)), 0.25)


def test_every_row_of_the_graph_solves_its_own_problem(monkeypatch):
    P, alpha = points(), 0.4
    S = learn_graph(P, alpha)
    dense = S.toarray()
    for i, row in enumerate(dense):
        others = np.arange(len(P)) != i
        apart = np.sum((P[others] - P[i]) ** 2, axis=1)
        np.testing.assert_allclose(row[others], oracle.project_onto_simplex(-apart / (2 * alpha)), atol=1e-12)
        assert row[i] == 0
    assert S.nnz == np.count_nonzero(dense) < 0.5 * dense.size
    monkeypatch.setattr(optimal_graph, "_BLOCK", 100)
    np.testing.assert_allclose(learn_graph(P, alpha).toarray(), dense, atol=1e-13)


def test_the_scale_gives_about_as_many_neighbors_as_asked_for():
    P = points(300, 4)
    for n_neighbors in (3, 10):
        S = learn_graph(P, adaptive_scale(P, n_neighbors))
        assert 0.5 * n_neighbors < S.nnz / len(P) < 2.5 * n_neighbors


def test_the_scale_follows_its_formula_and_is_never_zero():
    P = points(9, 2)
    apart = np.sort(np.sum((P[:, None] - P) ** 2, axis=2), axis=1)[:, 1:]
    expected = np.mean([3 / 2 * row[3] - row[:3].sum() / 2 for row in apart])
    assert adaptive_scale(P, 3) == pytest.approx(expected)
    assert adaptive_scale(np.zeros((5, 2)), 3) > 0
    assert adaptive_scale(P[:2], 3) > 0


def test_the_laplacian_measures_distances_along_the_graph():
    P = points()
    S = learn_graph(P, 0.4)
    apart = np.sum((P[:, None] - P) ** 2, axis=2)
    assert 2 * np.trace(P.T @ (laplacian_of(S) @ P)) == pytest.approx(np.sum(apart * S.toarray()))


@pytest.mark.parametrize("dense_up_to", [10**6, 0], ids=["dense", "Lanczos"])
def test_the_smoothest_indicator_reaches_the_least_energy(monkeypatch, dense_up_to):
    monkeypatch.setattr(optimal_graph, "_DENSE", dense_up_to)
    L = laplacian_of(learn_graph(points(80, 2), 0.3))
    F = smoothest_indicator(L, 4)
    np.testing.assert_allclose(F.T @ F, np.eye(4), atol=1e-10)
    assert np.trace(F.T @ (L @ F)) == pytest.approx(np.linalg.eigvalsh(L.toarray())[:4].sum(), abs=1e-10)


@pytest.mark.parametrize("dense_up_to", [10**6, 0], ids=["dense", "Lanczos"])
def test_parts_of_the_graph_are_indicators(monkeypatch, dense_up_to):
    monkeypatch.setattr(optimal_graph, "_DENSE", dense_up_to)
    parts = [laplacian_of(learn_graph(points(25, 2, seed), 0.3)) for seed in range(3)]
    L = sparse.csr_array(sparse.block_diag(parts))
    for count in (2, 3, 5):
        F = smoothest_indicator(L, count)
        np.testing.assert_allclose(F.T @ F, np.eye(count), atol=1e-10)
        assert np.trace(F.T @ (L @ F)) == pytest.approx(np.linalg.eigvalsh(L.toarray())[:count].sum(), abs=1e-10)


def test_of_more_parts_than_asked_for_the_mixture_nearest_to_the_last_is_taken():
    L = sparse.csr_array(sparse.block_diag([laplacian_of(learn_graph(points(8, 2, s), 0.3)) for s in range(4)]))
    last = np.zeros((32, 2))
    last[8:16, 0] = last[24:, 1] = 8**-0.5
    np.testing.assert_allclose(smoothest_indicator(L, 2, near=last), last, atol=1e-12)


@pytest.mark.parametrize(("n", "d", "count"), [(40, 12, 3), (15, 90, 4), (20, 21, 9), (12, 1, 1)])
def test_the_projection_holds_the_eigenvectors_of_the_smallest_eigenvalues(n, d, count):
    rng = np.random.RandomState(n)
    Z, penalty = rng.standard_normal((n, d)), rng.uniform(0.5, 9.0, d)
    L = laplacian_of(learn_graph(Z[:, :3], 0.5))
    W = smoothest_projection(Z, L, penalty, count)
    M = 2 * Z.T @ (L @ Z) + np.diag(penalty)
    values, vectors = np.linalg.eigh(M)
    np.testing.assert_allclose(W.T @ W, np.eye(count), atol=1e-9)
    assert np.trace(W.T @ M @ W) == pytest.approx(values[:count].sum(), rel=1e-9)
    np.testing.assert_allclose(W @ W.T, vectors[:, :count] @ vectors[:, :count].T, atol=1e-7)


@pytest.mark.parametrize(("n", "d"), [(40, 12), (15, 90)], ids=["tall", "wide"])
def test_rows_of_features_without_weight_are_right_to_their_own_precision(n, d):
    rng = np.random.RandomState(0)
    Z, penalty = rng.standard_normal((n, d)), rng.uniform(0.5, 9.0, d)
    penalty[3:6] = 1e12
    Z[:, 5] = Z[:, 4]
    L = laplacian_of(learn_graph(Z[:, :3], 0.5))
    W = smoothest_projection(Z, L, penalty, 2)
    lengths = np.linalg.norm(W, axis=1)
    assert 0 < lengths[3:6].max() < 1e-8
    np.testing.assert_allclose(lengths[5], lengths[4], rtol=1e-10)
    order = rng.permutation(d)
    shuffled = smoothest_projection(Z[:, order], L, penalty[order], 2)
    np.testing.assert_allclose(np.linalg.norm(shuffled, axis=1), lengths[order], rtol=1e-7)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-10])
def test_the_projection_is_orthonormal_however_roughly_it_is_found(tol):
    rng = np.random.RandomState(0)
    Z, penalty = rng.standard_normal((15, 90)), np.r_[rng.uniform(0.5, 9.0, 20), rng.uniform(1e2, 1e5, 70)]
    L = laplacian_of(learn_graph(Z[:, :3], 0.5))
    W = smoothest_projection(Z, L, penalty, 4, tol=tol)
    np.testing.assert_allclose(W.T @ W, np.eye(4), atol=1e-13)
