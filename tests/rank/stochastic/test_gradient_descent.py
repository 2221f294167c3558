"""The energy of a probability over features, its gradients and projections, against enumeration of every draw."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tamis.kernels.arrays.entropy import effective_number
from tamis.rank.stochastic._gradient_descent import (
    METHODS,
    GradientDescent,
    count_draws,
    count_errors,
    draw_subsets,
    enumerate_draws,
    euclidean_direction,
    exact_energy,
    multiply_probability,
    natural_direction,
    project_onto_simplex,
    riemannian_direction,
    subtract_baseline,
)
from tests.oracles import feature_weighting as oracle

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
GEOMETRIES = {
    "euclidean": (euclidean_direction, oracle.euclidean_gradient),
    "riemannian": (riemannian_direction, oracle.riemannian_gradient),
    "natural": (natural_direction, oracle.natural_gradient),
}
geometry = pytest.mark.parametrize("name", GEOMETRIES)


@st.composite
def problems(draw, most_features=4, most_size=3):
    """A probability without zeros, and an error for every draw of k features, in whatever order."""
    n_features = draw(st.integers(2, most_features))
    size = draw(st.integers(1, most_size))
    raw = draw(arrays(float, n_features, elements=st.floats(0.05, 1)))
    table = draw(arrays(float, (n_features,) * size, elements=st.floats(0, 1)))
    return raw / raw.sum(), table, size


def error_of_set(table):
    """An error that depends on which features were drawn only."""
    return lambda draw: float(table[tuple((sorted(set(draw)) + [min(draw)] * len(draw))[: len(draw)])])


@QUICK
@given(problem=problems())
@geometry
def test_the_mean_direction_over_every_draw_is_the_exact_one(name, problem):
    probability, table, size = problem
    direction, exact = GEOMETRIES[name]
    mean = np.zeros(probability.size)
    for draw in oracle.all_draws(probability.size, size):
        counted = count_errors(np.array([draw]), np.array([table[draw]]), probability.size)
        mean += oracle.chance(probability, draw) * direction(counted, probability)
    np.testing.assert_allclose(mean, exact(probability, lambda draw: float(table[draw]), size), atol=1e-12)


@QUICK
@given(problem=problems(most_features=3, most_size=2))
@geometry
def test_the_baseline_leaves_the_mean_direction_over_every_pair_of_draws_as_it_is(name, problem):
    probability, table, size = problem
    direction, exact = GEOMETRIES[name]
    mean = np.zeros(probability.size)
    for pair in itertools.product(oracle.all_draws(probability.size, size), repeat=2):
        errors = subtract_baseline(np.array([table[draw] for draw in pair]))
        weight = np.prod([oracle.chance(probability, draw) for draw in pair])
        mean += weight * direction(count_errors(np.array(pair), errors, probability.size), probability)
    np.testing.assert_allclose(mean, exact(probability, lambda draw: float(table[draw]), size), atol=1e-12)


@QUICK
@given(errors=arrays(float, st.integers(2, 9), elements=st.floats(0, 1)))
def test_the_baseline_of_each_error_is_the_mean_of_the_others(errors):
    expected = [each - np.delete(errors, place).mean() for place, each in enumerate(errors)]
    np.testing.assert_allclose(subtract_baseline(errors), expected, atol=1e-14)


def test_a_lone_error_has_no_baseline():
    np.testing.assert_array_equal(subtract_baseline(np.array([0.3])), [0.3])


@QUICK
@given(problem=problems())
def test_the_gradient_is_that_of_the_energy_by_finite_differences(problem):
    probability, table, size = problem
    error, step = (lambda draw: float(table[draw])), 1e-4
    counted = np.array(oracle.counted_errors(probability, error, size))
    for feature in range(probability.size):
        up, down = probability.copy(), probability.copy()
        up[feature] += step
        down[feature] -= step
        slope = (oracle.energy(up, error, size) - oracle.energy(down, error, size)) / (2 * step)
        assert counted[feature] / probability[feature] == pytest.approx(slope, abs=1e-6)  # Eq. (7)
        derivative = oracle.partial_derivative(probability, error, size, feature)
        assert derivative == pytest.approx(slope, abs=1e-6)


@QUICK
@given(problem=problems())
@geometry
def test_a_small_step_against_the_direction_lowers_the_energy(name, problem):
    """Descent, to first order, in P itself or in log P."""
    probability, table, size = problem
    error = lambda draw: float(table[draw])  # noqa: E731
    direction, _ = GEOMETRIES[name]
    along = direction(np.array(oracle.counted_errors(probability, error, size)), probability)
    moved = along if name == "euclidean" else probability * along
    gradient = [oracle.partial_derivative(probability, error, size, each) for each in range(probability.size)]
    assert moved @ gradient >= -1e-12


@QUICK
@given(problem=problems(), seed=st.integers(0, 2**31 - 1))
def test_directions_are_tangent_to_the_simplex_whatever_was_drawn(problem, seed):
    probability, _, size = problem
    rng = np.random.RandomState(seed)
    subsets = draw_subsets(probability, 7, size, rng)
    counted = count_errors(subsets, rng.uniform(-1, 1, 7), probability.size)
    assert euclidean_direction(counted, probability).sum() == pytest.approx(0, abs=1e-10)
    assert probability @ riemannian_direction(counted, probability) == pytest.approx(0, abs=1e-12)
    assert probability @ natural_direction(counted, probability) == pytest.approx(0, abs=1e-12)


def test_a_feature_without_probability_does_no_harm():
    probability, counted = np.array([0.0, 0.4, 0.6]), np.array([0.0, 0.2, 0.1])
    for direction, _ in GEOMETRIES.values():
        assert np.isfinite(direction(counted, probability)).all()
    assert multiply_probability(probability, np.array([9.0, 0.0, 0.0]))[0] == 0


@QUICK
@given(problem=problems(most_features=5))
def test_the_exact_energy_and_its_counts_are_those_of_enumeration(problem):
    probability, table, size = problem
    error = error_of_set(table)
    draws = enumerate_draws(probability.size, size)
    errors = np.array([error(members) for members in (tuple((each + each[:1] * size)[:size]) for each in draws.sets)])
    found, counted = exact_energy(draws, errors, probability)
    assert found == pytest.approx(oracle.energy(probability, error, size), abs=1e-12)
    np.testing.assert_allclose(counted, oracle.counted_errors(probability, error, size), atol=1e-12)


@pytest.mark.parametrize(("n_features", "size"), [(1, 1), (1, 3), (4, 1), (4, 3), (3, 5)])
def test_every_draw_is_there_once_with_the_number_of_its_orders(n_features, size):
    draws = enumerate_draws(n_features, size)
    expected: dict = {}
    for draw in oracle.all_draws(n_features, size):
        expected[tuple(sorted(draw))] = expected.get(tuple(sorted(draw)), 0) + 1
    assert len(draws.members) == count_draws(n_features, size) == len(expected)
    assert dict(zip(map(tuple, draws.members.tolist()), draws.orders, strict=True)) == expected
    assert [draws.sets[place] for place in draws.set_of] == [tuple(sorted(set(row))) for row in draws.members.tolist()]
    assert len(set(draws.sets)) == len(draws.sets)


POINTS = arrays(float, st.integers(1, 8), elements=st.floats(-3, 3))


@QUICK
@given(point=POINTS)
def test_the_projection_by_sorting_is_that_by_repeated_clipping(point):
    np.testing.assert_allclose(project_onto_simplex(point), oracle.project_by_clipping(point.tolist()), atol=1e-12)


@QUICK
@given(point=POINTS, seed=st.integers(0, 2**31 - 1))
def test_the_projection_is_the_nearest_probability(point, seed):
    """Optimality: the residual makes no acute angle with any way to stay inside, least of all to a corner."""
    projected = project_onto_simplex(point)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-12)
    residual = point - projected
    assert residual.max() - residual @ projected <= 1e-10
    shift = residual[projected > 0]
    assert np.ptp(shift) <= 1e-10  # the same is taken from all that stay positive ...
    assert np.all(residual <= shift.max() + 1e-10)  # ... and at least as much would be needed of the others
    other = np.random.RandomState(seed).dirichlet(np.ones(point.size))
    assert np.linalg.norm(point - projected) <= np.linalg.norm(point - other) + 1e-12


@QUICK
@given(problem=problems())
def test_a_probability_is_its_own_projection(problem):
    np.testing.assert_allclose(project_onto_simplex(problem[0]), problem[0], atol=1e-15)


@QUICK
@given(problem=problems(), factor=st.floats(-50, 50))
def test_an_exponential_step_stays_inside_and_changes_no_entry_by_more_than_e_before_it_is_scaled(problem, factor):
    probability, _, _ = problem
    moved = multiply_probability(probability, factor * np.linspace(-1, 1, probability.size))
    assert moved.sum() == pytest.approx(1, abs=1e-12)
    assert moved.min() > 0
    ratio = moved / probability
    assert ratio.max() / ratio.min() <= np.exp(2) * (1 + 1e-12)


def test_small_exponential_steps_are_those_of_equation_12():
    probability, change = np.array([0.2, 0.5, 0.3]), np.array([0.4, -0.9, 0.1])
    expected = probability * np.exp(change)
    np.testing.assert_allclose(multiply_probability(probability, change), expected / expected.sum(), rtol=1e-14)


def test_features_are_drawn_as_often_as_their_probability_says():
    probability = np.array([0.0, 0.5, 0.2, 0.0, 0.3, 0.0])
    subsets = draw_subsets(probability, 4000, 5, np.random.RandomState(0))
    assert subsets.shape == (4000, 5)
    share = np.bincount(subsets.ravel(), minlength=6) / subsets.size
    np.testing.assert_allclose(share, probability, atol=4 * np.sqrt(0.25 / subsets.size))
    assert not np.isin(subsets, [0, 3, 5]).any()
    both = np.mean((subsets[:, 0] == 1) & (subsets[:, 1] == 1))
    assert both == pytest.approx(0.25, abs=0.03)  # with replacement, and independent


def test_no_feature_without_probability_is_drawn_where_rounding_is_worst():
    class Largest(np.random.RandomState):
        def random_sample(self, shape):
            return np.full(shape, 1 - 2.0**-53)

    probability = np.append(np.full(7, 1 / 7), 0.0)
    assert draw_subsets(probability, 3, 2, Largest()).max() == 6

    class Smallest(np.random.RandomState):
        def random_sample(self, shape):
            return np.zeros(shape)

    assert draw_subsets(np.array([0.0, 0.0, 1.0]), 3, 2, Smallest()).min() == 2


@pytest.mark.parametrize("shared_by", [1, 3, 10])
def test_features_that_share_the_mass_evenly_are_counted(shared_by):
    probability = np.append(np.full(shared_by, 1 / shared_by), np.zeros(5))
    assert effective_number(probability) == pytest.approx(shared_by)


@QUICK
@given(problem=problems())
def test_the_effective_number_is_between_one_and_all(problem):
    assert 1 <= effective_number(problem[0]) <= problem[0].size * (1 + 1e-12)


def descent(method, **parameters):
    return GradientDescent(method, **{"learning_rate": 1e-4, "decay": 10.0, "noise": 0.0, **parameters})


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_take_the_same_first_step(method):
    uniform, counted = np.full(5, 0.2), np.random.RandomState(0).uniform(size=5)
    moved, outside = descent(method).step(uniform, counted, 0, np.random.RandomState(0))
    expected = uniform - 1e-4 / 5 * (counted - counted.mean())
    np.testing.assert_allclose(moved, expected, atol=1e-8)
    assert not outside


@pytest.mark.parametrize("method", METHODS)
def test_steps_never_leave_the_simplex(method):
    rng = np.random.RandomState(0)
    probability = np.full(6, 1 / 6)
    for n in range(50):
        counted = rng.standard_normal(6) * (probability > 0)
        probability, _ = descent(method, learning_rate=30.0, noise=0.1).step(probability, counted, n, rng)
        assert probability.min() >= 0
        assert probability.sum() == pytest.approx(1)


def test_diffusion_without_noise_is_the_euclidean_gradient():
    probability, counted = np.array([0.02, 0.3, 0.68]), np.array([0.3, 0.1, 0.2])
    for rate in (0.01, 5.0):
        moved, diffused = (
            descent(method, learning_rate=rate).step(probability, counted, 3, np.random.RandomState(0))
            for method in ("euclidean", "diffusion")
        )
        np.testing.assert_allclose(diffused[0], moved[0], atol=1e-15)
        assert diffused[1] == moved[1] == (rate == 5.0)


def test_steps_shrink_as_the_schedule_says():
    rate = descent("natural", learning_rate=3.0, decay=20.0)
    assert rate.step_size(0) == 3.0
    assert rate.step_size(20) == 1.5
    assert rate.step_size(180) == pytest.approx(0.3)
