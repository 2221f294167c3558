"""The law of the probe's angle, against the paper's closed forms, exact arithmetic and simulation."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tamis.kernels.arrays.shapes import shape_moments
from tamis.kernels.probe.law import (
    best_of,
    check_draws,
    log_betaincc,
    probe_survival,
    single_column_cos2,
    tail_error,
)
from tests.oracles import probe_law as paper

GRID = [0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.77, 0.95, 0.9999, 1.0]


@pytest.mark.parametrize("v", [2, 3, 4, 5, 6, 7, 8, 15, 16, 30, 31])
def test_survival_is_one_minus_the_closed_form_of_appendix_a(v):
    for x in GRID:
        assert probe_survival(x, v) == pytest.approx(1 - paper.distribution(x, v), abs=1e-12)


@pytest.mark.parametrize("v", [2, 3, 10, 99.5, 1000, 10**6])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_survival_is_the_tail_of_a_beta_law_in_any_dimension(v, m):
    if v <= m:
        assert probe_survival(0.5, v, m) == 1.0
        return
    for x in GRID:
        assert probe_survival(x, v, m) == pytest.approx(stats.beta(m / 2, (v - m) / 2).sf(x), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("a", "b", "x"), [(1, 1e5, 0.3), (4, 1e5, 0.02), (15, 50.5, 0.9), (40, 300, 0.99), (2, 7, 0.999)]
)
def test_the_logarithm_of_a_tail_is_that_of_its_finite_sum(a, b, x):
    k = np.arange(a)
    terms = np.cumsum(np.log(np.append(1.0, (b + k[:-1]) * x / (k[:-1] + 1))))  # (b)_k x^k / k!
    expected = b * np.log1p(-x) + np.logaddexp.reduce(terms)
    assert log_betaincc(np.array([a]), np.array([b]), np.array([x]))[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("r", [2, 5, 25])
def test_a_single_column_of_the_equivalent_cosine_is_as_rare_as_the_subspace(m, r):
    cos2 = np.linspace(0.01, 0.9, 20)
    equivalent = single_column_cos2(cos2, 99, m, r)
    np.testing.assert_allclose(probe_survival(equivalent, 99, m), probe_survival(cos2, 99, m, r), rtol=1e-6)
    assert np.all((equivalent > 0) & (equivalent < cos2))
    assert np.all(np.diff(equivalent) > 0)


def test_tails_too_small_for_a_double_are_compared_by_their_logarithms():
    cos2 = np.linspace(0.8, 0.9999, 400)  # the tail at 99 999 dimensions is below 1e-300 everywhere
    equivalent = single_column_cos2(cos2, 99999, 1, 30)
    assert np.all(np.diff(equivalent) > 0)
    assert np.all(equivalent < cos2)
    at, v, r = np.array([0.3]), 2000, 9
    tail = log_betaincc(np.array([r / 2]), np.array([(v - r) / 2]), at)
    one = single_column_cos2(at, v, 1, r)
    assert log_betaincc(np.array([0.5]), np.array([(v - 1) / 2]), one) == pytest.approx(tail, rel=1e-12)
    # both ways give the same where they meet
    near = np.linspace(0.58, 0.6, 50)
    steps = np.diff(single_column_cos2(near, 1400, 1, 9))
    assert steps.min() > 0.9 * steps.max()


def test_groups_that_explain_almost_nothing_have_a_cosine_of_zero_and_not_nan():
    for cos2, v, m, r in ((1e-8, 99, 9, 5), (1e-4, 49, 9, 12), (0.1, 49, 9, 30)):
        assert 0 <= single_column_cos2(cos2, v, m, r) <= cos2


def test_what_a_single_column_explains_stays_and_what_no_law_limits_tells_nothing():
    assert single_column_cos2(np.array([0.3, 1.0, 0.0]), 20, 1, 1).tolist() == [0.3, 1.0, 0.0]
    assert single_column_cos2(np.array([0.3, 1.0]), 20, 1, 20).tolist() == [0.0, 0.0]
    assert single_column_cos2(np.array([1.0, 0.0]), 20, 1, 3).tolist() == [1.0, 0.0]


def test_survival_keeps_the_digits_of_a_tiny_tail():
    x = 1 - 1e-8
    expected = stats.beta(0.5, 19.5).logsf(x)
    assert expected < -300
    assert np.log(probe_survival(x, 40)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("m", [1, 3])
def test_survival_is_the_share_of_random_directions_that_come_closer_to_a_subspace(m):
    rng = np.random.RandomState(0)
    directions = rng.standard_normal((20000, 7))
    cos2 = np.sum(directions[:, :m] ** 2, axis=1) / np.sum(directions**2, axis=1)
    for x in (0.2, 0.6):
        p = probe_survival(x, 7, m)
        assert stats.binomtest(int(np.sum(cos2 > x)), 20000, p).pvalue > 1e-4


def test_a_space_without_room_lets_a_random_direction_explain_everything():
    assert probe_survival(0.999, 1) == probe_survival(0.999, 3, 3) == probe_survival(1.0, 0) == 1.0


@pytest.mark.parametrize("p", [0.5, 0.01, 1e-7, 1e-15])
@pytest.mark.parametrize("n", [1, 2, 13, 60])
def test_best_of_n_is_one_minus_the_chance_that_all_fail(p, n):
    assert best_of(p, n) == pytest.approx(float(1 - (1 - Fraction(p)) ** n), rel=1e-12)


def test_best_of_many_keeps_probabilities_that_a_plain_difference_loses():
    assert best_of(1e-300, 1000) == pytest.approx(1e-297, rel=1e-12)
    assert best_of(1e-20, 10**6) == pytest.approx(1e-14, rel=1e-9)
    assert best_of(0.0, 10) == 0.0
    assert best_of(1.0, 10) == 1.0


def test_too_few_draws_are_refused_with_the_number_that_would_do():
    check_draws(19, 0.05)
    with pytest.raises(ValueError, match=r"n_draws=18.*0\.05.*at least 19"):
        check_draws(18, 0.05)


@pytest.mark.parametrize("risk", [0.5, 0.1, 0.07, 0.05, 1 / 49, 0.01, 0.003, 1e-4])
def test_the_number_of_draws_that_the_message_asks_for_is_accepted(risk):
    with pytest.raises(ValueError, match="use at least") as caught:
        check_draws(int(0.9 / risk) - 1, risk)
    check_draws(int(str(caught.value).split()[-1]), risk)


def shape(columns):
    centered = columns - columns.mean(axis=0)
    return shape_moments(centered, np.ones(len(columns)))


def test_the_gaussian_law_errs_little_on_normal_data_and_much_on_lognormal_data_on_both_sides():
    rng = np.random.RandomState(0)
    normal, heavy = rng.standard_normal((60, 200)), np.exp(1.5 * rng.standard_normal((60, 200)))
    y_normal, y_heavy = rng.standard_normal((60, 1)), np.exp(1.5 * rng.standard_normal((60, 1)))
    tail = 0.05 / 200
    assert tail_error(shape(normal), shape(y_normal), 60, tail) < 0.1
    assert tail_error(shape(heavy), shape(y_heavy), 60, tail) > 1
    # one Gaussian side is enough for the angle to be nearly that of a random direction
    one_sided = max(
        tail_error(shape(normal), shape(y_heavy), 60, tail), tail_error(shape(heavy), shape(y_normal), 60, tail)
    )
    assert one_sided < tail_error(shape(heavy), shape(y_heavy), 60, tail) / 3


def test_the_error_of_the_gaussian_law_shrinks_with_the_number_of_rows():
    rng = np.random.RandomState(0)
    x, y = shape(np.exp(rng.standard_normal((100, 20)))), shape(np.exp(rng.standard_normal((100, 1))))
    assert tail_error(x, y, 10000, 0.01) == pytest.approx(tail_error(x, y, 100, 0.01) / 100, rel=1e-9)


@pytest.mark.parametrize(("v", "m", "r"), [(10, 4, 7), (19, 9, 12), (5, 2, 4), (3, 3, 1)])
def test_subspaces_that_must_intersect_explain_everything_by_chance(v, m, r):
    assert probe_survival(1.0, v, m, r) == 1.0


@pytest.mark.parametrize(("v", "m", "r"), [(20, 2, 3), (30, 3, 3), (30, 4, 6), (25, 1, 8)])
def test_the_law_of_wilks_lambda_is_that_of_random_subspaces(v, m, r):
    rng = np.random.RandomState(0)
    draws = []
    for _ in range(1000):
        U, Q = (np.linalg.qr(rng.standard_normal((v, k)))[0] for k in (m, r))
        draws.append(1 - np.linalg.det(np.eye(m) - U.T @ Q @ Q.T @ U))
    for share in (0.5, 0.1, 0.02):
        level = probe_survival(np.quantile(draws, 1 - share), v, m, r)
        assert level == pytest.approx(share, abs=4 * np.sqrt(share / 1000))
