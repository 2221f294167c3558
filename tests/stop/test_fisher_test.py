"""Fisher's test along the path, from explicit residuals."""

import numpy as np
import pytest
from scipy import stats

from tamis import CorrelationScore, ForwardLeastSquares, GramSchmidt
from tamis.datasets import make_linear
from tamis.stop import FisherTest, Probe
from tests.oracles.gram_schmidt import brute_force
from tests.oracles.least_squares import squared_error

N, D = 40, 9


@pytest.fixture
def problem():
    return make_linear(N, n_features=D, coef=[2, -1, 0.5, 0.3], noise=1.0, random_state=0)


def errors(X, y, order, fit_intercept=True):
    return [squared_error(X[:, order[:k]], y[:, None], None, fit_intercept) for k in range(len(order) + 1)]


@pytest.mark.parametrize("ranker", [GramSchmidt, ForwardLeastSquares])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_next_compares_each_model_with_the_one_before(problem, ranker, fit_intercept):
    X, y = problem
    found = ranker(stop=FisherTest(0.05, n_beyond=D), fit_intercept=fit_intercept).fit(X, y)
    rss = errors(X, y, found.order_, fit_intercept)
    expected = []
    for n in range(1, D + 1):
        dof = N - n - fit_intercept
        expected.append(stats.f.sf(dof * (rss[n - 1] - rss[n]) / rss[n], 1, dof))
    np.testing.assert_allclose(found.stop_.curve, expected, rtol=1e-7)
    kept = next(n for n, p in enumerate(expected) if p > 0.05)
    assert found.stop_.n_features == kept
    assert f"'x{found.order_[kept]}'" in found.stop_.reason


@pytest.mark.parametrize("risk", [0.05, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_complete_compares_each_sub_model_with_the_whole_path(problem, risk, fit_intercept):
    X, y = problem
    found = GramSchmidt(stop=FisherTest(risk, against="complete"), fit_intercept=fit_intercept).fit(X, y)
    rss = errors(X, y, found.order_, fit_intercept)
    dof = N - D - fit_intercept
    expected = []  # Eq. (7), q = D - k parameters set to zero
    for k in range(D):
        ratio = dof / (D - k) * (rss[k] - rss[D]) / rss[D]
        expected.append(stats.f.sf(ratio, D - k, dof))
    np.testing.assert_allclose(found.stop_.curve, expected, rtol=1e-7)
    np.testing.assert_array_equal(found.stop_.curve_at, np.arange(D))
    assert found.stop_.n_features == next((k for k, p in enumerate(expected) if p > risk), D)


def test_next_is_the_published_probe_without_cumulating(problem):
    X, y = problem
    test = GramSchmidt(stop=FisherTest(n_beyond=D)).fit(X, y).stop_.curve
    probe = GramSchmidt(stop=Probe(correction="none", null="gaussian", n_beyond=D)).fit(X, y).stop_.curve
    np.testing.assert_allclose(1 - np.cumprod(1 - test), probe, rtol=1e-9)


def test_with_several_classes_each_feature_gets_the_partial_test_of_wilks(problem):
    X, y = problem
    labels = np.argsort(np.argsort(y)) * 4 // N
    found = GramSchmidt(stop=FisherTest(n_beyond=D)).fit(X, labels)
    _, shares = brute_force(X, np.eye(4)[labels])
    m = 3
    expected = []
    for n, share in enumerate(shares, start=1):
        dof = N - n - m
        expected.append(stats.f.sf(dof / m * share / (1 - share), m, dof))
    np.testing.assert_allclose(found.stop_.curve, expected, rtol=1e-5)


def test_the_search_ends_a_few_steps_after_the_cut(problem):
    found = GramSchmidt(stop=FisherTest(0.001, n_beyond=2)).fit(*problem)
    assert len(found.path_) == found.stop_.n_features + 1 + 2


def test_complete_is_for_one_target_only(problem):
    X, y = problem
    with pytest.raises(ValueError, match=r"FisherTest.*against='next'"):
        GramSchmidt(stop=FisherTest(against="complete")).fit(X, np.argsort(np.argsort(y)) * 3 // N)


def test_complete_needs_degrees_of_freedom_and_says_how_to_get_them():
    X, y = make_linear(10, n_features=20, random_state=0)
    with pytest.raises(ValueError, match=r"no degree of freedom.*max_features"):
        GramSchmidt(stop=FisherTest(against="complete")).fit(X, y)
    assert GramSchmidt(stop=FisherTest(against="complete"), max_features=5).fit(X, y).stop_.n_features <= 5


def test_a_ranker_without_a_least_squares_path_is_refused_and_both_are_named(problem):
    with pytest.raises(ValueError, match=r"FisherTest is for methods.*GramSchmidt.*CorrelationScore"):
        CorrelationScore(stop=FisherTest()).fit(*problem)
