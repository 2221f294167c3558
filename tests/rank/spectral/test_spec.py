"""SPEC against its definition, and on graphs whose eigenvectors are known."""

import numpy as np
import pytest
from scipy import sparse

from tamis import SPEC, LaplacianScore
from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.graph.affinity import SparseGraph, dirichlet_energy
from tamis.rank.spectral._spec import alignment, energy_by_spectrum
from tests.oracles.graph import heat_matrix, spec_scores


def table(n=30, d=5, seed=0):
    X = np.random.RandomState(seed).standard_normal((n, d))
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("phi", [1, 2, 3])
@pytest.mark.parametrize("self_loops", [True, False])
def test_it_is_the_score_of_the_thesis(phi, self_loops):
    X = table()
    M = heat_matrix(X, 6, 1.5) + self_loops * np.eye(30)
    expected = np.array([spec_scores(M, f, 3)[phi - 1] for f in X.T])
    found = SPEC(phi=phi, n_clusters=3, n_neighbors=6, width=1.5, self_loops=self_loops).fit(X)
    np.testing.assert_allclose(found.scores_, expected if phi == 3 else -expected, rtol=1e-9)


@pytest.mark.parametrize("phi", [1, 3])
def test_without_standardizing_the_offset_of_a_feature_counts(phi):
    X = table() + 3
    M = heat_matrix(X, 6, 1.5)
    expected = np.array([spec_scores(M, f, 3)[phi - 1] for f in X.T])
    found = SPEC(phi=phi, n_clusters=3, n_neighbors=6, width=1.5, standardize=False).fit(X)
    np.testing.assert_allclose(found.scores_, expected if phi == 3 else -expected, rtol=1e-9)


def ring(n):
    shift = np.roll(np.eye(n), 1, axis=0)
    return SparseGraph(sparse.csr_array(shift + shift.T))


def test_on_a_ring_waves_have_their_eigenvalues():
    angle = 2 * np.pi * np.arange(24) / 24
    waves = np.column_stack([np.cos(m * angle) for m in (1, 2, 5)])
    values = 1 - np.cos(2 * np.pi * np.array([1, 2, 5]) / 24)
    graph = ring(24)
    columns = as_columns(waves, graph.degree)
    np.testing.assert_allclose(dirichlet_energy(graph, waves) / columns.norm2, values)  # phi 1 and phi 2
    np.testing.assert_allclose(
        alignment(graph, columns, 4) / columns.norm2, [2 - values[0], 2 - values[1], 0], atol=1e-9
    )


def test_on_a_ring_the_offset_lowers_phi_1_and_not_phi_2():
    angle = 2 * np.pi * np.arange(24) / 24
    X = np.column_stack([np.cos(angle) + 10, np.cos(3 * angle)])
    graph = ring(24)
    value = 1 - np.cos(2 * np.pi / 24)
    about_mean = as_columns(X, graph.degree).norm2
    size = as_columns(X, graph.degree, fit_intercept=False).norm2
    assert dirichlet_energy(graph, X)[0] / about_mean[0] == pytest.approx(value)
    assert dirichlet_energy(graph, X)[0] / size[0] == pytest.approx(value * 0.5 / 100.5)


def test_phi_2_is_the_laplacian_score():
    X = table(50, 7)
    np.testing.assert_allclose(SPEC(phi=2).fit(X).scores_, LaplacianScore().fit(X).scores_, rtol=1e-12)


@pytest.mark.parametrize("phi", [1, 2])
def test_the_whole_spectrum_gives_the_same_as_the_quadratic_form(phi):
    X = table(40, 6)
    by_spectrum = SPEC(phi=phi, algorithm="spectrum").fit(X)
    np.testing.assert_allclose(by_spectrum.scores_, SPEC(phi=phi).fit(X).scores_, rtol=1e-8)


def test_the_spectrum_without_its_first_vector_drops_what_is_constant():
    graph = ring(10)
    F = np.column_stack([np.ones(10), np.arange(10.0)])
    assert energy_by_spectrum(graph, F, without_first=True)[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("phi", [1, 2, 3])
def test_rough_first_turns_the_order_around(phi):
    X = table(40, 9)
    smooth, rough = SPEC(phi=phi).fit(X), SPEC(phi=phi, prefer="rough").fit(X)
    np.testing.assert_array_equal(rough.order_, smooth.order_[::-1])


def test_clusters_are_seen_by_phi_3():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.standard_normal((120, 8))
    X[:, 2] += 6 * y
    X[:, 5] += 6 * (y == 1)
    assert set(SPEC(phi=3, n_clusters=2, stop=2).fit(X).order_[:2]) == {2, 5}
