"""CGSSL: weights near a subspace."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import CGSSL, NDFS
from tests.oracles import spectral_selection as oracle

QUICK = settings(deadline=None, max_examples=20, derandomize=True)


@QUICK
@given(seed=st.integers(0, 10**6), wide=st.booleans(), structure=st.sampled_from([0.0, 1.0, 1e3]))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_increases_and_memberships_stay_non_negative(seed, wide, structure):
    X = np.random.RandomState(seed).standard_normal((15, 40) if wide else (40, 6))
    found = CGSSL(n_clusters=3, structure=structure, max_iter=30, random_state=0, stop=None).fit(X)
    assert np.all(np.diff(found.objective_) <= 1e-10 * np.abs(found.objective_[1:]))
    assert found.cluster_indicator_.min() >= 0


@pytest.mark.parametrize("shape", [(60, 5), (20, 70)], ids=["tall", "wide"])
def test_the_objective_is_the_printed_one_with_an_orthonormal_basis(shape):
    X = np.random.RandomState(0).standard_normal(shape)
    found = CGSSL(n_clusters=4, n_components=2, alpha=0.5, random_state=0, stop=None).fit(X)
    Q = found.components_
    np.testing.assert_allclose(Q.T @ Q, np.eye(2), atol=1e-12)
    L = oracle.normalized_laplacian(found._graph(X, None))
    arguments = (oracle.standardized(X), L, found.cluster_indicator_, found.feature_weights_, Q)
    expected = oracle.cgssl(*arguments, found.alpha, found.beta, found.gamma, found.structure)
    assert found.objective_[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("parameters", [{"structure": 0.0}, {"n_components": 3}], ids=["no weight", "whole space"])
def test_without_a_say_of_the_subspace_it_is_ndfs(parameters):
    X, _ = oracle.planted()
    settings_ = {"n_clusters": 3, "random_state": 0, "stop": None, "tol": 1e-12, "max_iter": 5000}
    np.testing.assert_allclose(
        CGSSL(**settings_, **parameters).fit(X).scores_, NDFS(**settings_).fit(X).scores_, rtol=1e-3, atol=1e-6
    )


def test_a_large_weight_leaves_little_outside_the_subspace():
    X = np.random.RandomState(0).standard_normal((60, 8))
    outside = []
    for structure in (0.0, 1e3):
        A = CGSSL(n_clusters=4, n_components=1, structure=structure, random_state=0, stop=None).fit(X).feature_weights_
        size = np.linalg.svd(A, compute_uv=False)
        outside.append(size[1] / size[0])
    assert outside[1] < 0.2 * outside[0]


def test_features_that_carry_clusters_come_first():
    X, _ = oracle.planted()
    found = CGSSL(n_clusters=3, random_state=0, stop=6).fit(X)
    assert set(found.order_[:6]) == set(range(6))


def test_copies_share_scores_and_constants_get_none():
    X, _ = oracle.planted()
    found = CGSSL(n_clusters=3, random_state=0, stop=None).fit(np.column_stack([X, np.full(len(X), 2.5), X[:, 1]]))
    assert found.scores_[-1] == pytest.approx(found.scores_[1], rel=1e-9)
    assert np.isnan(found.scores_[-2])
    assert np.all(found.components_[-2] == 0)


def test_the_order_of_columns_does_not_matter():
    X = np.random.RandomState(0).standard_normal((20, 50))
    shuffle = np.random.RandomState(1).permutation(50)
    plain, shuffled = (CGSSL(random_state=0, stop=None).fit(table) for table in (X, X[:, shuffle]))
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-7)


def test_many_more_features_than_samples_are_ranked():
    X = np.random.RandomState(0).standard_normal((40, 2000))
    X[:, :20] += 6.0 * (np.arange(40) % 2)[:, None]
    assert np.median(CGSSL(n_clusters=2, random_state=0, stop=20).fit(X).ranking_[:20]) <= 25


def test_more_components_than_clusters_are_refused():
    with pytest.raises(ValueError, match="n_components=4 is more than n_clusters=3"):
        CGSSL(n_clusters=3, n_components=4).fit(oracle.planted()[0])
