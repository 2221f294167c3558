"""RUFS: clusters with centers, under losses that forgive single samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import RUFS
from tests.oracles import spectral_selection as oracle

QUICK = settings(deadline=None, max_examples=20, derandomize=True)


@QUICK
@given(
    seed=st.integers(0, 10**6),
    wide=st.booleans(),
    reconstruction=st.sampled_from([0.0, 1.0, 30.0]),
    beta=st.sampled_from([0.01, 10.0]),
    gamma=st.sampled_from([0.0, 10.0, 1e8]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_increases_and_memberships_stay_non_negative(seed, wide, reconstruction, beta, gamma):
    X = np.random.RandomState(seed).standard_normal((15, 40) if wide else (40, 6))
    ranker = RUFS(n_clusters=3, reconstruction=reconstruction, beta=beta, gamma=gamma, max_iter=30, stop=None)
    found = ranker.set_params(random_state=0).fit(X)
    assert np.all(np.diff(found.objective_) <= 1e-10 * np.abs(found.objective_[1:]))
    assert found.cluster_indicator_.min() >= 0


@pytest.mark.parametrize("shape", [(60, 5), (20, 70)], ids=["tall", "wide"])
def test_the_objective_is_the_printed_one(shape):
    X = np.random.RandomState(0).standard_normal(shape)
    found = RUFS(n_clusters=3, nu=0.5, alpha=2.0, beta=3.0, reconstruction=4.0, gamma=50.0, stop=None)
    found.set_params(random_state=0).fit(X)
    L = oracle.normalized_laplacian(found._graph(X, None))
    arguments = (oracle.standardized(X), L, found.cluster_indicator_, found.feature_weights_, found.centers_)
    expected = oracle.rufs(*arguments, found.nu, found.alpha, found.beta, found.gamma, found.reconstruction)
    assert found.objective_[-1] == pytest.approx(expected, rel=1e-9)


def test_memberships_times_centers_come_near_the_samples():
    X, y = oracle.planted()
    found = RUFS(n_clusters=3, random_state=0, stop=None).fit(X)
    rebuilt = found.cluster_indicator_ @ found.centers_
    Z = oracle.standardized(X)
    means = np.array([Z[y == c].mean(axis=0) for c in range(3)])[y]
    assert np.mean((rebuilt - means)[:, :6] ** 2) < 0.1


def test_features_that_carry_clusters_come_first_in_spite_of_wild_samples():
    X, _ = oracle.planted()
    X[::30] += 4.0 * np.random.RandomState(1).standard_normal(X[::30].shape)
    found = RUFS(n_clusters=3, random_state=0, stop=6).fit(X)
    assert set(found.order_[:6]) == set(range(6))


def test_a_small_weight_of_orthogonality_lets_memberships_sit_on_few_samples():
    X = np.random.RandomState(0).standard_normal((40, 300))
    held, free = (
        np.sum(RUFS(n_clusters=2, gamma=gamma, random_state=0, stop=None).fit(X).cluster_indicator_ ** 2, axis=1)
        for gamma in (1e8, 100.0)
    )
    assert np.sort(free)[-2:].sum() / free.sum() > 0.9 > np.sort(held)[-2:].sum() / held.sum()


def test_copies_share_scores_and_constants_get_none():
    X, _ = oracle.planted()
    found = RUFS(n_clusters=3, random_state=0, stop=None).fit(np.column_stack([X, np.full(len(X), 2.5), X[:, 1]]))
    assert found.scores_[-1] == pytest.approx(found.scores_[1], rel=1e-9)
    assert np.isnan(found.scores_[-2])
    assert np.all(found.centers_[:, -2] == 0)


def test_the_order_of_columns_does_not_matter():
    X = np.random.RandomState(0).standard_normal((20, 50))
    shuffle = np.random.RandomState(1).permutation(50)
    plain, shuffled = (RUFS(random_state=0, stop=None).fit(table) for table in (X, X[:, shuffle]))
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-7)


def test_many_more_features_than_samples_are_ranked():
    X = np.random.RandomState(0).standard_normal((40, 2000))
    X[:, :20] += 6.0 * (np.arange(40) % 2)[:, None]
    assert np.median(RUFS(n_clusters=2, random_state=0, stop=20).fit(X).ranking_[:20]) <= 25
