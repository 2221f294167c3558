"""Maximum likelihood over k neighbors."""

import numpy as np
import pytest
from scipy import sparse

from tamis.dimension import MLE
from tests.oracles import dimension as oracle


@pytest.mark.parametrize("aggregate", ["harmonic", "mean"])
@pytest.mark.parametrize("k", [3, 7, 29])
def test_local_and_pooled_dimensions_follow_their_formulas(aggregate, k):
    X = np.random.RandomState(k).standard_normal((30, 4))
    local, pooled = oracle.mle(X, k, aggregate)
    found = MLE(n_neighbors=k, aggregate=aggregate, standardize=False, n_subsamples=0).fit(X)
    assert found.dimension_ == pytest.approx(pooled, rel=1e-9)
    np.testing.assert_allclose(found.local_dimension_, local, rtol=1e-9)


def test_more_neighbors_than_samples_means_all_of_them():
    X = np.random.RandomState(0).standard_normal((12, 3))
    assert MLE(n_neighbors=500).fit(X).dimension_ == MLE(n_neighbors=11).fit(X).dimension_


def test_copies_are_left_out_of_the_sums():
    X = np.random.RandomState(0).standard_normal((60, 2))
    plain = MLE(n_neighbors=10, n_subsamples=0).fit(X).dimension_
    X[0] = X[1]
    found = MLE(n_neighbors=10, n_subsamples=0).fit(X)
    assert found.dimension_ == pytest.approx(plain, rel=0.1)
    assert np.all(found.local_dimension_ > 0)


def test_a_sample_that_has_copies_only_around_it_has_local_dimension_zero_and_no_vote():
    X = np.random.RandomState(0).standard_normal((60, 2))
    for aggregate in ("harmonic", "mean"):
        estimator = MLE(n_neighbors=5, aggregate=aggregate, standardize=False, n_subsamples=0)
        alone = estimator.fit(X).dimension_
        found = estimator.fit(np.vstack([X, np.full((20, 2), 50.0)]))
        assert found.local_dimension_[60:].tolist() == [0.0] * 20
        assert found.dimension_ == pytest.approx(alone, rel=1e-9)


def test_equally_far_neighbors_of_one_sample_are_infinite_for_the_mean_alone():
    corners = np.vstack([np.zeros(5), np.eye(5), 1.7 * np.eye(5) + 0.3 * np.arange(5)])
    arguments = {"n_neighbors": 5, "standardize": False, "n_subsamples": 0}
    assert MLE(aggregate="mean", **arguments).fit(corners).dimension_ == np.inf
    assert np.isfinite(MLE(**arguments).fit(corners).dimension_)


def test_the_local_dimension_tells_a_line_from_a_cube():
    rng = np.random.RandomState(0)
    line = rng.uniform(size=(300, 1)) @ np.ones((1, 5))
    cube = rng.uniform(size=(300, 5)) + 10
    local = MLE(standardize=False, n_subsamples=0).fit(np.vstack([line, cube])).local_dimension_
    assert np.median(local[:300]) < 1.3
    assert np.median(local[300:]) > 3.5


def test_sparse_tables_give_the_same_dimensions():
    X = np.random.RandomState(0).standard_normal((80, 12))
    X[np.abs(X) < 1] = 0
    expected, found = (MLE(random_state=0).fit(table) for table in (X, sparse.csr_array(X)))
    assert found.dimension_ == pytest.approx(expected.dimension_, rel=1e-9)
    np.testing.assert_allclose(found.local_dimension_, expected.local_dimension_, rtol=1e-9)
    assert found.standard_error_ == pytest.approx(expected.standard_error_, rel=1e-6)
