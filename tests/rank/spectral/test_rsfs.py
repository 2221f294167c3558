"""RSFS: a few memberships may be wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import NDFS, RSFS
from tests.oracles import spectral_selection as oracle

QUICK = settings(deadline=None, max_examples=20, derandomize=True)


@QUICK
@given(seed=st.integers(0, 10**6), wide=st.booleans(), noise=st.sampled_from([1e-3, 0.1, 10.0]))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_increases_and_memberships_stay_non_negative(seed, wide, noise):
    X = np.random.RandomState(seed).standard_normal((15, 40) if wide else (40, 6))
    found = RSFS(n_clusters=3, noise=noise, max_iter=30, random_state=0, stop=None).fit(X)
    assert np.all(np.diff(found.objective_) <= 1e-10 * np.abs(found.objective_[1:]))
    assert found.cluster_indicator_.min() >= 0


@pytest.mark.parametrize("shape", [(60, 5), (20, 70)], ids=["tall", "wide"])
def test_the_objective_is_the_printed_one(shape):
    X = np.random.RandomState(0).standard_normal(shape)
    found = RSFS(n_clusters=3, alpha=0.5, noise=0.05, random_state=0, stop=None).fit(X)
    L = oracle.normalized_laplacian(found._graph(X, None))
    arguments = (oracle.standardized(X), L, found.cluster_indicator_, found.feature_weights_, found.noise_)
    expected = oracle.rsfs(*arguments, found.alpha, found.beta, found.gamma, found.noise)
    assert found.objective_[-1] == pytest.approx(expected, rel=1e-9)


def test_no_other_correction_of_the_memberships_does_better():
    X = np.random.RandomState(0).standard_normal((40, 6))
    found = RSFS(n_clusters=3, noise=0.1, random_state=0, stop=None).fit(X)
    left = found.cluster_indicator_ - oracle.standardized(X) @ found.feature_weights_
    grid = np.linspace(-1, 1, 2001)[:, None, None]
    cost = found.alpha * (left - grid) ** 2 + found.noise * np.abs(grid)
    np.testing.assert_allclose(grid[cost.argmin(axis=0), 0, 0], found.noise_, atol=1e-3)
    assert 0 < np.mean(found.noise_ != 0) < 0.5


def test_where_noise_is_dear_it_is_ndfs():
    X, _ = oracle.planted()
    settings_ = {"n_clusters": 3, "random_state": 0, "stop": None}
    found = RSFS(noise=100.0, **settings_).fit(X)
    assert not found.noise_.any()
    np.testing.assert_allclose(found.scores_, NDFS(**settings_).fit(X).scores_, rtol=1e-9)


def test_features_that_carry_clusters_come_first():
    X, _ = oracle.planted()
    found = RSFS(n_clusters=3, random_state=0, stop=6).fit(X)
    assert set(found.order_[:6]) == set(range(6))


def test_copies_share_scores_and_constants_get_none():
    X, _ = oracle.planted()
    found = RSFS(n_clusters=3, random_state=0, stop=None).fit(np.column_stack([X, np.full(len(X), 2.5), X[:, 1]]))
    assert found.scores_[-1] == pytest.approx(found.scores_[1], rel=1e-9)
    assert np.isnan(found.scores_[-2])


def test_the_order_of_columns_does_not_matter():
    X = np.random.RandomState(0).standard_normal((20, 50))
    shuffle = np.random.RandomState(1).permutation(50)
    plain, shuffled = (RSFS(random_state=0, stop=None).fit(table) for table in (X, X[:, shuffle]))
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-7)


def test_many_more_features_than_samples_are_ranked():
    X = np.random.RandomState(0).standard_normal((40, 2000))
    X[:, :20] += 6.0 * (np.arange(40) % 2)[:, None]
    assert np.median(RSFS(n_clusters=2, random_state=0, stop=20).fit(X).ranking_[:20]) <= 25
