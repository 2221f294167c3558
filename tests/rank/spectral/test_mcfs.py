"""MCFS against a direct lasso."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

from tamis import MCFS
from tamis.kernels.graph.affinity import informative_eigenvectors, inverse_root
from tamis.rank.spectral._mcfs import group_copies


def table(n=40, d=12, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, 0] += 3 * y
    X[:, 1] += 3 * (y == 1)
    return X


def targets(ranker, X):
    graph = ranker._graph(X, None)
    Y = inverse_root(graph.degree)[:, None] * informative_eigenvectors(graph, ranker.n_clusters)[1]
    return Y - Y.mean(axis=0)


@pytest.mark.parametrize("shape", [(40, 12), (20, 60)])
def test_its_weights_are_those_of_a_lasso_at_its_penalty(shape):
    X = table(*shape)
    ranker = MCFS(n_clusters=3, n_nonzero=6).fit(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for y, weights, beta in zip(targets(ranker, X).T, ranker.coef_, ranker.penalty_, strict=True):
        scale = np.abs(y).max()
        direct = Lasso(alpha=beta / (2 * len(X)) / scale, tol=1e-12, max_iter=100_000, fit_intercept=False)
        np.testing.assert_allclose(weights, scale * direct.fit(Z, y / scale).coef_, atol=1e-7 * scale)
        assert 0 < np.count_nonzero(weights) <= 6
    np.testing.assert_allclose(ranker.scores_[ranker.order_], np.abs(ranker.coef_).max(axis=0)[ranker.order_])


def test_the_penalty_can_be_given_instead():
    X = table()
    free = MCFS(n_clusters=2).fit(X)
    start = 2 * np.abs(((X - X.mean(axis=0)) / X.std(axis=0)).T @ targets(free, X)).max(axis=0)
    held = MCFS(n_clusters=2, alpha=0.3 * start.min()).fit(X)
    np.testing.assert_allclose(held.penalty_, 0.3 * start.min(), rtol=1e-8)
    assert held.order_.size < free.order_.size


@settings(deadline=None, max_examples=15, derandomize=True)
@given(seed=st.integers(0, 1000), wide=st.booleans())
def test_it_ends_where_the_optimality_conditions_hold(seed, wide):
    X = table(*((15, 40) if wide else (40, 10)), seed)
    assert MCFS(n_nonzero=8).fit(X).certificate_["kkt"] < 1e-8


def test_features_that_carry_the_clusters_come_first():
    X = table(150, 6)
    y = np.arange(150) % 3
    X[:, 0] += 5 * y
    X[:, 1] += 5 * (y == 1)
    assert set(MCFS(n_clusters=2, stop=2).fit(X).order_[:2]) == {0, 1}


def test_features_without_weight_are_not_ranked():
    ranker = MCFS(n_clusters=1, n_nonzero=3, stop=None).fit(table())
    assert ranker.order_.size <= 3
    assert np.isnan(np.delete(ranker.scores_, ranker.order_)).all()


def test_copies_get_the_weight_that_one_alone_would():
    X = table()
    plain = MCFS(n_nonzero=5, standardize=False, weight="class").fit(X, np.arange(40) % 3)
    crowded = MCFS(n_nonzero=5, standardize=False, weight="class").fit(
        np.column_stack([X, X[:, :2]]), np.arange(40) % 3
    )
    np.testing.assert_allclose(crowded.scores_[:12], plain.scores_)
    np.testing.assert_array_equal(crowded.scores_[12:], crowded.scores_[:2])


def test_copies_are_found_whatever_their_sign_and_last_digits():
    rng = np.random.RandomState(0)
    Z = rng.standard_normal((30, 4))
    Z = np.column_stack([Z, -Z[:, 1], Z[:, 0] * (1 + 1e-12), Z[:, 2] + 0.01 * Z[:, 3]])
    single, copy_of, sign = group_copies(Z)
    assert single.tolist() == [0, 1, 2, 3, 6]
    assert copy_of.tolist() == [0, 1, 2, 3, 1, 0, 4]
    assert sign.tolist() == [1, 1, 1, 1, -1, 1, 1]


@pytest.mark.parametrize("factor", [2.0, 2.54, -1.0])
def test_copies_in_other_units_share_the_score_and_leave_the_path_optimal(factor):
    X = np.random.RandomState(3).standard_normal((60, 20))
    ranker = MCFS(stop=None).fit(np.column_stack([X, factor * X]))
    assert ranker.certificate_["kkt"] < 1e-8
    np.testing.assert_allclose(ranker.scores_[20:], ranker.scores_[:20])


def test_columns_that_depend_on_others_leave_the_path_optimal():
    levels = np.random.RandomState(0).randint(0, 4, (60, 25))
    X = (levels[:, :, None] == np.arange(4)).reshape(60, 100).astype(float)
    assert MCFS(stop=None).fit(X).certificate_["kkt"] < 1e-8


def test_two_classes_have_one_direction_between_them():
    X = table()
    y = np.arange(40) % 2
    ranker = MCFS(weight="class").fit(X, y)
    assert ranker.coef_.shape == (1, 12)
    rows = np.random.RandomState(0).permutation(40)
    np.testing.assert_allclose(MCFS(weight="class").fit(X[rows], y[rows]).scores_, ranker.scores_, rtol=1e-6)


def test_signs_count_if_asked():
    X = table()
    signed = MCFS(absolute=False).fit(X)
    np.testing.assert_allclose(signed.scores_[signed.order_], signed.coef_.max(axis=0)[signed.order_])
