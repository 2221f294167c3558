"""NDFS: clusters and the features that explain them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from tamis import NDFS
from tests.oracles import spectral_selection as oracle

QUICK = settings(deadline=None, max_examples=20, derandomize=True)


def objective(found, X):
    """The printed objective at what was found."""
    Z, L = oracle.standardized(X), oracle.normalized_laplacian(found._graph(X, None))
    A, F = found.feature_weights_, found.cluster_indicator_
    return oracle.ndfs(Z, L, F, A, found.alpha, found.beta, found.gamma)


@QUICK
@given(
    seed=st.integers(0, 10**6),
    wide=st.booleans(),
    gamma=st.sampled_from([0.0, 1.0, 10.0, 1e8]),
    beta=st.sampled_from([1e-3, 1.0, 30.0]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_increases_and_memberships_stay_non_negative(seed, wide, gamma, beta):
    X = np.random.RandomState(seed).standard_normal((15, 40) if wide else (40, 6))
    found = NDFS(n_clusters=3, gamma=gamma, beta=beta, max_iter=30, random_state=0, stop=None).fit(X)
    assert np.all(np.diff(found.objective_) <= 1e-10 * np.abs(found.objective_[1:]))
    assert found.cluster_indicator_.min() >= 0
    assert found.objective_.size == found.n_iter_ == found.certificate_["n_iter"]


@pytest.mark.parametrize("shape", [(60, 5), (20, 70)], ids=["tall", "wide"])
@pytest.mark.parametrize("parameters", [{}, {"alpha": 0.3, "beta": 2.0, "gamma": 50.0, "self_loops": True}], ids=str)
def test_the_objective_is_the_printed_one(shape, parameters):
    X = np.random.RandomState(0).standard_normal(shape)
    found = NDFS(n_clusters=3, random_state=0, stop=None, **parameters).fit(X)
    assert found.objective_[-1] == pytest.approx(objective(found, X), rel=1e-9)
    assert found.certificate_["objective"] == found.objective_[-1]
    F = found.cluster_indicator_
    assert found.certificate_["orthogonality"] == pytest.approx(np.linalg.norm(F.T @ F - np.eye(3)))


def test_weights_are_optimal_for_the_memberships():
    X = np.random.RandomState(0).standard_normal((60, 5))
    found = NDFS(n_clusters=3, random_state=0, tol=1e-13, max_iter=5000, stop=None).fit(X)
    Z, A = oracle.standardized(X), found.feature_weights_
    penalty = found.beta / (2 * oracle.lengths(A))
    np.testing.assert_allclose(A, oracle.ridge(Z, found.cluster_indicator_, penalty), rtol=1e-4)


def test_memberships_are_stationary():
    X, _ = oracle.planted()
    found = NDFS(n_clusters=3, random_state=0, tol=1e-13, max_iter=5000, stop=None).fit(X)
    Z, L = oracle.standardized(X), oracle.normalized_laplacian(found._graph(X, None))
    F, A = found.cluster_indicator_, found.feature_weights_
    gradient = 2 * (L @ F + found.alpha * (F - Z @ A) + found.gamma * F @ (F.T @ F - np.eye(3)))
    assert np.abs(F * gradient).max() < 1e-4
    assert gradient[F < 1e-6].min(initial=0.0) > -1e-2


@pytest.mark.parametrize("init", ["k-means", "spectral"])
def test_features_that_carry_clusters_come_first(init):
    X, y = oracle.planted()
    found = NDFS(n_clusters=3, init=init, random_state=0, stop=6).fit(X)
    assert set(found.order_[:6]) == set(range(6))
    assert np.all([np.unique(y[found.cluster_indicator_.argmax(axis=1) == k]).size == 1 for k in range(3)])


def test_a_huge_weight_of_orthogonality_holds_memberships_at_the_start():
    X = np.random.RandomState(0).standard_normal((60, 8))
    start = NDFS(max_iter=1, gamma=1e8, random_state=0, stop=None)
    with pytest.warns(ConvergenceWarning):
        start.fit(X)
    clusters = {}
    for gamma in (1e8, 10.0):
        found = NDFS(gamma=gamma, random_state=0, stop=None).fit(X)
        clusters[gamma] = found.cluster_indicator_.argmax(axis=1)
    assert np.mean(clusters[1e8] == start.cluster_indicator_.argmax(axis=1)) == 1.0
    assert np.mean(clusters[10.0] == start.cluster_indicator_.argmax(axis=1)) < 0.95


def test_a_larger_beta_leaves_fewer_features():
    X, _ = oracle.planted()
    active = [
        np.count_nonzero(NDFS(n_clusters=3, beta=beta, random_state=0, stop=None).fit(X).scores_ > 1e-5)
        for beta in (0.1, 3.0, 20.0)
    ]
    assert active[0] > active[1] > active[2]


def test_copies_share_scores_and_constants_get_none():
    X, _ = oracle.planted()
    found = NDFS(n_clusters=3, random_state=0, stop=None).fit(np.column_stack([X, np.full(len(X), 2.5), X[:, 1]]))
    assert found.scores_[-1] == pytest.approx(found.scores_[1], rel=1e-9)
    assert np.isnan(found.scores_[-2])
    assert X.shape[1] not in found.order_
    assert np.all(found.feature_weights_[-2] == 0)


@pytest.mark.parametrize("shape", [(60, 8), (20, 50)], ids=["tall", "wide"])
def test_the_order_of_columns_does_not_matter(shape):
    X = np.random.RandomState(0).standard_normal(shape)
    shuffle = np.random.RandomState(1).permutation(shape[1])
    plain, shuffled = (NDFS(random_state=0, stop=None).fit(table) for table in (X, X[:, shuffle]))
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-7)


def test_units_do_not_matter_unless_asked_for():
    X, _ = oracle.planted()
    scaled = X * np.logspace(-3, 3, X.shape[1]) + 5.0
    plain, other = (NDFS(n_clusters=3, random_state=0, stop=None).fit(table).scores_ for table in (X, scaled))
    np.testing.assert_allclose(other, plain, rtol=1e-6)
    raw = NDFS(n_clusters=3, standardize=False, random_state=0, stop=None).fit(scaled).scores_
    assert not np.allclose(raw, plain, rtol=0.1)


def test_many_more_features_than_samples_are_ranked():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 2000))
    X[:, :20] += 6.0 * (np.arange(40) % 2)[:, None]
    found = NDFS(n_clusters=2, random_state=0, stop=20).fit(X)
    assert found.order_.size == 2000
    assert np.median(found.ranking_[:20]) <= 25


def test_the_graph_may_tie_the_samples_of_a_class_or_all_of_them():
    X, y = oracle.planted()
    for weight, target in (("class", y), ("rbf", None), ("binary", None)):
        found = NDFS(n_clusters=3, weight=weight, random_state=0, stop=6).fit(X, target)
        assert set(found.order_[:6]) == set(range(6))


def test_a_run_that_ends_too_early_says_so():
    X = np.random.RandomState(0).standard_normal((40, 6))
    with pytest.warns(ConvergenceWarning, match="NDFS still lowers its objective after 3 sweeps; raise max_iter"):
        found = NDFS(max_iter=3, random_state=0, stop=None).fit(X)
    assert not found.certificate_["converged"]


def test_more_clusters_than_samples_are_refused():
    with pytest.raises(ValueError, match="n_clusters=5 is more than the 4 samples"):
        NDFS().fit(np.random.RandomState(0).standard_normal((4, 3)))
