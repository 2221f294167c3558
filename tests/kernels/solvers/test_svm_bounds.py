"""Bounds on leave-one-out errors hold, and their changes and derivatives are what recomputation gives."""

import numpy as np
import pytest

from tamis.kernels.solvers.feature_kernel import FeatureKernel
from tamis.kernels.solvers.svm_bounds import RadiusMarginBound, SpanBound, contract_changes
from tamis.kernels.solvers.svm_dual import solve_dual
from tamis.kernels.solvers.warm_started_svms import WarmStartedSVMs
from tests.oracles import svm_bounds as oracle

PARAMETERS = {"gamma": 0.2, "degree": 2, "coef0": 1.0}
KERNELS = ["linear", "rbf", "poly", "sigmoid"]


def make_problem(n_rows=14, n_features=5, seed=0, noise=0.5):
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((n_rows, n_features))
    y = np.where(Z[:, 0] - Z[:, 1] + noise * rng.standard_normal(n_rows) > 0, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    return Z, y


def make_kernel(Z, kernel, sigma=1.0):
    return FeatureKernel(Z * sigma, kernel, **PARAMETERS)


def train(K, signs, ridge, ball=True):
    return WarmStartedSVMs(K, np.atleast_2d(signs), ridge=ridge, ball=ball, tol=1e-12, max_iter=1000)


def bound_of(name, K, svms, ridge):
    if name == "span":
        return SpanBound(K, svms.solutions, ridge)
    return RadiusMarginBound(K, svms.solutions, svms.weights, ridge)


def trained_bound(name, kernel, signs, ridge):
    return bound_of(name, kernel.matrix, train(kernel.matrix, signs, ridge, ball=name == "ball"), ridge)


@pytest.mark.parametrize("ridge", [0.05, 1.0])
@pytest.mark.parametrize("kernel", KERNELS[:3])
def test_svms_and_ball_are_those_of_a_slow_solver(kernel, ridge):
    Z, y = make_problem()
    K = make_kernel(Z, kernel).matrix
    svms = train(K, y, ridge)
    dual, _ = oracle.train(K, y, ridge)
    weights, radius2 = oracle.enclose(K, ridge)
    np.testing.assert_allclose(svms.solutions[0].dual, dual, atol=1e-9 * np.abs(dual).max())
    np.testing.assert_allclose(svms.weights, weights, atol=1e-9)
    bound = RadiusMarginBound(K, svms.solutions, svms.weights, ridge)
    assert bound.radius2 == pytest.approx(radius2, rel=1e-10)
    assert bound.norms2[0] == pytest.approx(np.abs(dual).sum(), rel=1e-9)  # at the optimum, the sum of the alphas
    assert svms.converged


def test_no_point_is_outside_of_the_ball():
    Z, y = make_problem()
    svms = train(Z @ Z.T, y, ridge=1e-9)
    radius2 = RadiusMarginBound(Z @ Z.T, svms.solutions, svms.weights, 0.0).radius2
    distance2 = ((Z - svms.weights @ Z) ** 2).sum(axis=1)
    assert distance2.max() == pytest.approx(radius2, rel=1e-6)


@pytest.mark.parametrize("ridge", [0.05, 1.0])
@pytest.mark.parametrize("kernel", KERNELS[:3])
def test_bounds_are_those_of_their_definitions(kernel, ridge):
    Z, y = make_problem()
    table = make_kernel(Z, kernel)
    for name in ("ball", "variance"):
        expected = oracle.radius_margin(table.matrix, y, ridge, name)
        assert trained_bound(name, table, y, ridge).value == pytest.approx(expected, rel=1e-9)
    assert trained_bound("span", table, y, ridge).value == pytest.approx(oracle.span(table.matrix, y, ridge), rel=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_span_tells_the_outputs_of_leave_one_out_where_the_support_stays(seed, ridge):
    Z, y = make_problem(n_rows=12, n_features=100, seed=seed)  # separable: more features than rows
    K = Z @ Z.T
    svm = train(K, y, ridge).solutions[0]
    bound = SpanBound(K, [svm], ridge)
    outputs, supports = oracle.leave_one_out(K, y, ridge)
    terms = np.zeros(len(y))
    terms[svm.support] = bound.parts[0].terms
    support = set(svm.support.tolist())
    stays = [row for row in support if supports[row] == support - {row}]
    assert len(stays) >= 6
    np.testing.assert_allclose(y[stays] * outputs[stays], 1 - terms[stays], atol=1e-7)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_leave_one_out_errors_do_not_exceed_radius_over_margin(seed, ridge):
    Z, y = make_problem(n_rows=12, n_features=30, seed=seed)
    K = Z @ Z.T
    outputs, _ = oracle.leave_one_out(K, y, ridge)
    n_errors = np.count_nonzero(y * outputs <= 0)
    assert n_errors <= bound_of("ball", K, train(K, y, ridge), ridge).value


def leave_one_out(K, y, ridge):
    """Outputs of the SVMs that are trained without a row, and their support vectors."""
    outputs, supports = np.empty(len(y)), []
    for row in range(len(y)):
        rest = np.delete(np.arange(len(y)), row)
        problem = {"signs": y[rest], "upper": np.inf, "ridge": ridge, "total": 0.0}
        solution = solve_dual(K[np.ix_(rest, rest)], y[rest], tol=1e-12, **problem)
        assert solution.converged
        outputs[row] = K[row, rest] @ solution.dual + solution.intercept
        supports.append(set(rest[solution.free].tolist()))
    return outputs, supports


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_span_miscounts_leave_one_out_errors_only_where_the_support_changes(ridge):
    excess = []
    for seed in range(6):  # separable, about thirty support vectors
        Z, y = make_problem(n_rows=40, n_features=60, seed=seed)
        K = Z @ Z.T
        svm = train(K, y, ridge, ball=False).solutions[0]
        bound = SpanBound(K, [svm], ridge)
        outputs, supports = leave_one_out(K, y, ridge)
        terms = np.zeros(len(y))
        terms[svm.support] = bound.parts[0].terms
        support = set(svm.support.tolist())
        stays = np.array([without == support - {row} for row, without in enumerate(supports)])
        np.testing.assert_allclose((y * outputs)[stays & (terms > 0)], (1 - terms)[stays & (terms > 0)], atol=1e-9)
        is_error = y * outputs <= 0
        assert not np.any(stays & (is_error != (terms >= 1)))
        excess.append(bound.n_errors - np.count_nonzero(is_error))
    assert min(excess) < 0 < max(excess)  # the count is an estimate, not a bound: it errs on either side


@pytest.mark.parametrize("bound", ["ball", "variance", "span"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_is_the_limit_of_differences_of_trained_bounds(kernel, bound):
    Z, y = make_problem()
    signs = np.array([y, np.where(Z[:, 2] > 0, 1.0, -1.0)])
    ridge, h = 0.5, 1e-5
    table = make_kernel(Z, kernel)
    gradient = trained_bound(bound, table, signs, ridge).gradient(table, table.remaining)
    for feature in range(Z.shape[1]):
        sigma = np.ones(Z.shape[1])
        sigma[feature] += h
        up = trained_bound(bound, make_kernel(Z, kernel, sigma), signs, ridge).value
        sigma[feature] -= 2 * h
        down = trained_bound(bound, make_kernel(Z, kernel, sigma), signs, ridge).value
        scale = np.abs(gradient).max()
        assert gradient[feature] == pytest.approx((up - down) / (2 * h), abs=1e-6 * scale)


@pytest.mark.parametrize("bound", ["ball", "variance", "span"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_changes_with_fixed_weights_are_those_of_recomputation(kernel, bound):
    Z, y = make_problem()
    ridge = 0.3
    table = make_kernel(Z, kernel)
    table.remove(np.array([3]))
    svms = train(table.matrix, y, ridge, ball=bound == "ball")
    at = bound_of(bound, table.matrix, svms, ridge)
    changes = at.changes(table, table.remaining)
    for place, feature in enumerate(table.remaining):
        left = make_kernel(np.delete(Z, [3, feature], axis=1), kernel).matrix
        expected = bound_of(bound, left, svms, ridge).value - at.value
        assert changes[place] == pytest.approx(expected, abs=1e-10 * at.value)


@pytest.mark.parametrize("bound", ["ball", "variance", "span"])
def test_a_linear_kernel_in_closed_form_is_a_linear_kernel_in_blocks(bound, monkeypatch):
    Z, y = make_problem(n_rows=10, n_features=25)
    closed = FeatureKernel(Z)
    plain = FeatureKernel(Z, "poly", gamma=1.0, degree=1, coef0=0.0)  # the same, by another name
    at = trained_bound(bound, closed, y, 0.2)
    monkeypatch.setattr("tamis.kernels.solvers.svm_bounds._NUMBERS", 150)
    np.testing.assert_allclose(at.changes(plain, plain.remaining), at.changes(closed, closed.remaining), rtol=1e-10)
    np.testing.assert_allclose(at.gradient(plain, plain.remaining), at.gradient(closed, closed.remaining), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", KERNELS[:3])
def test_with_fixed_weights_neither_radius_nor_norm_exceeds_that_of_training_anew(kernel, seed):
    Z, y = make_problem(seed=seed)
    ridge = 0.3
    table = make_kernel(Z, kernel)
    svms = train(table.matrix, y, ridge)
    at = bound_of("ball", table.matrix, svms, ridge)
    fixed = at.value + at.changes(table, table.remaining)
    for feature in table.remaining:
        K = table.without_group(np.array([feature]))
        trained = bound_of("ball", K, svms.retrained_copy(K), ridge)
        held = bound_of("ball", K, svms, ridge)
        assert held.radius2 <= trained.radius2 * (1 + 1e-10)
        assert held.norms2[0] <= trained.norms2[0] * (1 + 1e-10)
        assert fixed[feature] <= trained.value * (1 + 1e-10)


def test_bounds_are_summed_over_svms():
    Z, y = make_problem()
    other = np.where(Z[:, 2] > 0, 1.0, -1.0)
    table = make_kernel(Z, "rbf")
    for name in ("ball", "variance", "span"):
        both, first, second = (trained_bound(name, table, signs, 0.4) for signs in (np.array([y, other]), y, other))
        assert both.value == pytest.approx(first.value + second.value, rel=1e-10)
        np.testing.assert_allclose(
            both.gradient(table, table.remaining),
            first.gradient(table, table.remaining) + second.gradient(table, table.remaining),
            rtol=1e-8,
        )


def test_a_span_that_a_feature_alone_holds_open_closes_without_it():
    Z, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0, -1.0])
    bound = trained_bound("span", FeatureKernel(Z), y, 0.0)
    assert bound.value == pytest.approx(6.0)  # alphas 4, 2, 2 times squared spans 1/2, 1, 1
    np.testing.assert_allclose(bound.changes(FeatureKernel(Z), np.arange(2)), -4.0, rtol=1e-6)


def test_a_retrained_copy_leaves_the_svms_as_they_are():
    Z, y = make_problem()
    svms = train(Z @ Z.T, y, 0.5)
    before, weights = svms.solutions[0].dual.copy(), svms.weights
    trial = svms.retrained_copy(Z[:, :1] @ Z[:, :1].T)
    assert not np.allclose(trial.solutions[0].dual, before)
    np.testing.assert_array_equal(svms.solutions[0].dual, before)
    np.testing.assert_array_equal(svms.weights, weights)


def test_retrained_svms_are_those_trained_from_a_cold_start():
    Z, y = make_problem(n_features=8)
    svms = train(Z @ Z.T, y, 0.5)
    for n_left in range(7, 0, -1):
        K = Z[:, :n_left] @ Z[:, :n_left].T
        svms.retrain(K)
        fresh = train(K, y, 0.5)
        np.testing.assert_allclose(svms.solutions[0].dual, fresh.solutions[0].dual, atol=1e-9)
        np.testing.assert_allclose(svms.weights, fresh.weights, atol=1e-9)


def test_forms_are_contracted_over_rows_that_matter():
    Z, _ = make_problem()
    table, rows = make_kernel(Z, "rbf"), np.array([1, 5, 6])
    form = np.random.RandomState(0).standard_normal((3, 3))
    form = form + form.T
    got = contract_changes(table, form[None], rows, table.remaining)
    part = np.ix_(rows, rows)
    expected = [np.sum(form * (table.matrix - left)[part]) for left in table.without(table.remaining)]
    np.testing.assert_allclose(got[0], expected, atol=1e-12)


def test_a_kernel_that_is_no_inner_product_is_said_to_be_none():
    Z, y = make_problem()
    with pytest.raises(ValueError, match="not positive semi-definite"):
        train(-10.0 * Z @ Z.T, y, 0.1)


def test_a_hard_margin_needs_separable_classes():
    Z, y = make_problem(n_rows=40)
    with pytest.raises(ValueError, match="C is infinite"):
        train(Z @ Z.T, y, 0.0)
