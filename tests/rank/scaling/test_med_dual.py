"""The dual of maximum entropy discrimination: potentials, derivatives, concavity, the Newton system, the optimum."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime

from tamis.rank.scaling import _med_interior_point as interior_point
from tamis.rank.scaling._med_dual import ClassMargin, MEDDual, TubeMargin
from tamis.rank.scaling._med_interior_point import constrained_step, newton_steps, newton_system, starting_point
from tests.oracles import med as oracle

SHAPES = {"wide": (12, 25), "tall": (25, 4)}
KINDS = ["classes", "three classes", "groups", "quantity", "tasks"]


def make_machines(kind, shape, seed=0):
    """(rows, signs, target, weights) of every machine, and the switch of every column."""
    rng = np.random.RandomState(seed)
    n, d = shape
    Z = rng.standard_normal(shape) / np.sqrt(d)
    signal = 2.0 * Z[:, 0] + Z[:, d // 2] + 0.2 * rng.standard_normal(n)
    weight = rng.randint(1, 4, n).astype(float)
    owners = np.arange(d) // 2 if kind == "groups" else np.arange(d)
    sign = np.where(signal > np.median(signal), 1.0, -1.0)
    if kind == "quantity":
        sides = np.repeat([1.0, -1.0], n)
        return [(np.vstack([Z, Z]), sides, np.tile(signal / signal.std(), 2), np.tile(weight, 2))], owners
    if kind == "three classes":
        codes = np.digitize(signal, np.quantile(signal, [0.33, 0.66]))
        return [(Z, np.where(codes == k, 1.0, -1.0), np.zeros(n), weight) for k in range(3)], owners
    if kind == "tasks":
        half = n // 2
        parts = (np.arange(half), np.arange(half, n))
        return [(Z[rows], sign[rows], np.zeros(rows.size), weight[rows]) for rows in parts], owners
    return [(Z, sign, np.zeros(n), weight)], owners


def make_dual(kind, shape, p0=0.05, kappa=0.5, c=4.0, seed=0, epsilon=0.1, thin=False):
    machines, owners = make_machines(kind, shape, seed)
    return MEDDual(
        [sparse.csr_array(rows) if thin else rows for rows, *_ in machines],
        [sign for _, sign, *_ in machines],
        np.concatenate([weight for *_, weight in machines]),
        np.concatenate([sign * target for _, sign, target, _ in machines]),
        TubeMargin(c, epsilon) if kind == "quantity" else ClassMargin(c),
        owners,
        p0,
        kappa,
    )


def solve(dual, tol=1e-8):
    iterates = []
    for iterate in newton_steps(dual, tol):
        iterates.append(iterate)
        if len(iterates) == 200:
            break
    return iterates


# potentials


@pytest.mark.parametrize("c", [1.2, 5.0, 40.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_potentials_are_logarithms_of_partition_functions(share, c):
    a = np.array([share * c])
    assert ClassMargin(c).value(a)[0] == pytest.approx(oracle.class_potential(a[0], c), rel=1e-8, abs=1e-9)
    for epsilon in (0.01, 0.1, 2.0):
        value = TubeMargin(c, epsilon).value(a)[0]
        assert value == pytest.approx(oracle.tube_potential(a[0], c, epsilon), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    "potential", [ClassMargin(3.0), TubeMargin(3.0, 0.1), TubeMargin(3.0, 1.0), TubeMargin(3.0, 0)]
)
def test_potentials_are_concave_and_have_their_derivatives(potential):
    a = np.linspace(0.01, 2.9, 200)
    first, second = potential.derivatives(a)
    step = 1e-5
    np.testing.assert_allclose((potential.value(a + step) - potential.value(a - step)) / (2 * step), first, atol=1e-6)
    slopes = [potential.derivatives(a + sign * step)[0] for sign in (1, -1)]
    np.testing.assert_allclose((slopes[0] - slopes[1]) / (2 * step), second, rtol=1e-6, atol=1e-6)
    assert np.all(second < 0)
    assert potential.value(np.zeros(1))[0] == pytest.approx(0.0, abs=1e-14)


# objective


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_objective_and_its_gradient(shape, kind):
    dual = make_dual(kind, shape, p0=0.2)
    machines, owners = make_machines(kind, shape)
    rng = np.random.RandomState(1)
    lam = dual.weight * rng.uniform(0.1, 2.0, dual.weight.size)
    epsilon = 0.1 if kind == "quantity" else None
    assert dual.value(lam, dual.weights(lam)) == pytest.approx(
        oracle.dual_value(lam, machines, owners, 0.2, 0.5, 4.0, epsilon)
    )
    numeric = approx_fprime(lam, lambda at: dual.value(at, dual.weights(at)), 1e-6)
    np.testing.assert_allclose(dual.gradient(lam, dual.weights(lam)), numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p0", [1e-6, 0.3, 1.0])
def test_the_objective_is_concave(kind, p0):
    dual = make_dual(kind, (12, 25), p0=p0)
    rng = np.random.RandomState(2)
    for _ in range(50):
        one, other = (dual.weight * rng.uniform(0.0, 4.0, dual.weight.size) for _ in range(2))
        share = rng.uniform()
        between = share * one + (1 - share) * other
        ends = share * dual.value(one, dual.weights(one)) + (1 - share) * dual.value(other, dual.weights(other))
        assert dual.value(between, dual.weights(between)) >= ends - 1e-9 * abs(ends)


@pytest.mark.parametrize("thin", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_newton_system_holds_the_hessian_matrix(shape, kind, thin):
    dual = make_dual(kind, shape, p0=0.2, thin=thin)
    rng = np.random.RandomState(1)
    lam = dual.weight * rng.uniform(0.1, 2.0, dual.weight.size)
    barrier = rng.uniform(0.1, 1.0, lam.size)
    hessian = approx_fprime(lam, lambda at: dual.gradient(at, dual.weights(at)), 1e-7)
    matrix = np.diag(barrier) - (hessian + hessian.T) / 2
    solver = newton_system(dual, lam, dual.weights(lam), barrier)
    right = rng.standard_normal(lam.size)
    constraints = np.zeros((lam.size, len(dual.tables)))
    for m, sign in enumerate(dual.signs):
        constraints[dual.bounds[m] : dual.bounds[m + 1], m] = sign
    lam -= constraints @ np.linalg.lstsq(constraints, lam, rcond=None)[0]  # the step leaves the constraints as they are
    corner = np.zeros((len(dual.tables), len(dual.tables)))
    expected = np.linalg.solve(
        np.block([[matrix, constraints], [constraints.T, corner]]), np.append(right, np.zeros(len(corner)))
    )
    step, bias = constrained_step(dual, solver, lam, right)
    np.testing.assert_allclose(np.append(step, bias), expected, rtol=1e-4, atol=1e-4)


def test_weights_that_vanish_do_not_hurt_the_newton_system():
    dual = make_dual("three classes", (12, 25), p0=0.2)
    lam = starting_point(dual, 0.1)
    solved = newton_system(dual, lam, np.zeros((3, 25)), np.ones(lam.size))
    assert np.all(np.isfinite(solved(np.ones((lam.size, 1)))))


def test_a_newton_step_meets_the_equality_constraints():
    dual = make_dual("three classes", (12, 25))
    lam = starting_point(dual, 0.1)
    solver = newton_system(dual, lam, dual.weights(lam), 1.0 / lam**2)
    step, _ = constrained_step(dual, solver, lam, dual.gradient(lam, dual.weights(lam)))
    sums = [part.sum() for part in dual.of_machines(dual.all_signs * (lam + step))]
    np.testing.assert_allclose(sums, 0.0, atol=1e-10)


def test_a_system_that_memory_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setattr(interior_point, "_MAX_MATRIX_BYTES", 8 * 10**2)
    with pytest.raises(ValueError, match=r"Newton system of 12 multipliers.*at most 10"):
        next(newton_steps(make_dual("classes", (12, 25)), 1e-8))
    next(newton_steps(make_dual("classes", (25, 4)), 1e-8))


# the optimum


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("p0", [1e-4, 0.3])
def test_the_optimum_is_that_of_a_general_solver(p0, shape, kind):
    dual = make_dual(kind, shape, p0=p0)
    last = solve(dual)[-1]
    machines, owners = make_machines(kind, shape)
    lam, value = oracle.maximize(machines, owners, p0, 0.5, 4.0, 0.1 if kind == "quantity" else None)
    assert last.value >= value - 1e-9
    assert last.value == pytest.approx(value, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(last.W, dual.weights(lam), atol=0.02)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("c", [1.01, 10.0, 1000.0])
@pytest.mark.parametrize("p0", [1e-12, 1.0])
def test_the_projected_gradient_and_the_duality_gap_vanish(p0, c, shape, kind):
    dual = make_dual(kind, shape, p0=p0, c=c, kappa=2.0)
    iterates = solve(dual)
    last = iterates[-1]
    assert last.projected_gradient <= 1e-8
    scale = 1.0 + abs(last.value)
    assert -1e-12 * scale <= dual.duality_gap(last.multipliers, last.gradient) <= 1e-6 * scale
    assert all(dual.duality_gap(one.multipliers, one.gradient) >= -1e-12 * scale for one in iterates)
    assert np.all(last.multipliers > 0)
    assert np.all(last.multipliers < c * dual.weight)


def test_the_gap_bounds_what_is_missing():
    dual = make_dual("classes", (12, 25))
    iterates = solve(dual)
    best = iterates[-1].value
    for one in iterates:
        assert best - one.value <= dual.duality_gap(one.multipliers, one.gradient) + 1e-9


def test_all_switches_on_is_the_machine_of_a_direct_solver():
    dual = make_dual("classes", (25, 4), p0=1.0, c=4.0)
    dual = MEDDual(dual.tables, dual.signs, np.ones(25), dual.linear, dual.potential, dual.owners, 1.0, 0.5)
    last = solve(dual)[-1]
    u, b, value = oracle.machine_with_all_switches_on(dual.tables[0], dual.signs[0], 0.5, 4.0)
    np.testing.assert_allclose(dual.expected_weights(last.W)[0], u, atol=1e-5)
    assert last.bias[0] == pytest.approx(b, abs=1e-5)
    assert last.value == pytest.approx(value, rel=1e-9)
