"""SOGFS: a graph and a projection that are learned together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import SOGFS
from tests.oracles import spectral_selection as oracle

QUICK = settings(deadline=None, max_examples=20, derandomize=True)


@QUICK
@given(
    seed=st.integers(0, 10**6),
    wide=st.booleans(),
    gamma=st.sampled_from([0.1, 10.0, 1e3]),
    laplacian=st.sampled_from([None, 0.0, 5.0]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_increases_and_the_constraints_hold(seed, wide, gamma, laplacian):
    X = np.random.RandomState(seed).standard_normal((15, 40) if wide else (40, 6))
    found = SOGFS(n_clusters=3, gamma=gamma, laplacian=laplacian, max_iter=15, stop=None).fit(X)
    assert np.all(np.diff(found.objective_) <= 1e-10 * np.abs(found.objective_[1:]))
    W, F, S = found.feature_weights_, found.cluster_indicator_, found.similarity_
    np.testing.assert_allclose(W.T @ W, np.eye(W.shape[1]), atol=1e-8)
    np.testing.assert_allclose(F.T @ F, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(S.sum(axis=1), 1.0)
    assert S.min() >= 0
    assert not S.diagonal().any()


@pytest.mark.parametrize("shape", [(50, 5), (20, 70)], ids=["tall", "wide"])
@pytest.mark.parametrize("parameters", [{}, {"alpha": 2.0, "laplacian": 0.5, "n_components": 2}], ids=str)
def test_the_objective_is_the_printed_one(shape, parameters):
    X = np.random.RandomState(0).standard_normal(shape)
    found = SOGFS(n_clusters=3, stop=None, **parameters).fit(X)
    arguments = (found.similarity_.toarray(), found.feature_weights_, found.cluster_indicator_)
    expected = oracle.sogfs(oracle.standardized(X), *arguments, found.alpha_, found.gamma, found.laplacian_)
    assert found.objective_[-1] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("n_components", [2, 6])
def test_features_that_carry_clusters_come_first(n_components):
    X, _ = oracle.planted()
    found = SOGFS(n_clusters=3, n_components=n_components, gamma=0.1, stop=6).fit(X)
    assert set(found.order_[:4]) <= set(range(6))
    assert np.median(found.scores_[:6]) > np.max(found.scores_[6:]) or n_components < 6


def test_the_graph_falls_into_the_clusters():
    X, y = oracle.planted(n_noise=4)
    found = SOGFS(n_clusters=3, stop=None).fit(X)
    across = found.similarity_.toarray()[y[:, None] != y]
    assert across.sum() < 0.05 * len(X)


def test_copies_share_scores_and_constants_get_none():
    X, _ = oracle.planted()
    found = SOGFS(n_clusters=3, stop=None).fit(np.column_stack([X, np.full(len(X), 2.5), X[:, 1]]))
    assert found.scores_[-1] == pytest.approx(found.scores_[1], rel=1e-8)
    assert np.isnan(found.scores_[-2])


@pytest.mark.parametrize("shape", [(60, 8), (20, 80)], ids=["tall", "wide"])
def test_the_order_of_columns_does_not_matter(shape):
    X = np.random.RandomState(0).standard_normal(shape)
    shuffle = np.random.RandomState(1).permutation(shape[1])
    plain, shuffled = (SOGFS(stop=None, n_components=3).fit(table) for table in (X, X[:, shuffle]))
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-5, atol=1e-9)


def test_many_more_features_than_samples_are_ranked():
    X = np.random.RandomState(0).standard_normal((40, 2000))
    found = SOGFS(n_clusters=2, n_components=5, stop=20).fit(X)
    assert found.order_.size == 2000
    assert found.certificate_["converged"]


@pytest.mark.parametrize("max_iter", [2, 3, 200])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_constraints_hold_and_the_objective_falls_at_every_sweep_of_wide_tables(max_iter):
    X = np.random.RandomState(0).standard_normal((30, 300))
    found = SOGFS(n_clusters=3, n_components=5, max_iter=max_iter, stop=None).fit(X)
    W = found.feature_weights_
    np.testing.assert_allclose(W.T @ W, np.eye(5), atol=1e-12)
    assert np.all(np.diff(found.objective_) <= 0)
    assert found.certificate_["converged"] == (max_iter == 200)


def test_a_given_scale_sets_the_number_of_neighbors():
    X, _ = oracle.planted()
    few, many = (SOGFS(alpha=alpha, stop=None).fit(X).similarity_.nnz for alpha in (0.1, 100.0))
    assert few < many


def test_more_components_than_features_are_refused():
    with pytest.raises(ValueError, match="n_components=9 is more than the 8 features that vary"):
        SOGFS(n_components=9).fit(np.random.RandomState(0).standard_normal((20, 8)))
