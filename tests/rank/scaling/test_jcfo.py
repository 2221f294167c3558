"""Joint classifier and feature optimization: the posterior term by term, its conditions, and what is found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tamis import JCFO
from tamis.assess import compare
from tamis.kernels.solvers.losses import LOSSES, PROBIT
from tamis.rank.scaling._jcfo_posterior import Point, Posterior, balanced, best_alpha, raise_factors, residuals
from tamis.stop import MonteCarloProbe
from tests.oracles import jcfo as oracle

SEEDS = st.integers(0, 2**20)
KERNELS = ["linear", "rbf", "poly"]
LIKELIHOODS = {"probit": PROBIT, "logistic": LOSSES["logistic"], "squared": LOSSES["squared"]}


def make_classes(n=40, d=8, seed=0, noise=0.7):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, (X[:, 0] - X[:, d // 2] + noise * rng.randn(n) > 0).astype(int)


def make_quantity(n=40, d=8, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, 3.0 + X[:, 0] - 2.0 * X[:, d // 2] + 0.3 * rng.randn(n)


def make_posterior(kernel, likelihood="probit", n=12, d=5, n_targets=1, seed=0, groups=None, penalties=(0.1, 1.0)):
    rng = np.random.RandomState(seed)
    owner = np.arange(d) if groups is None else np.asarray(groups)
    A, Y = rng.randn(n, d), np.where(rng.randn(n, n_targets) > 0, 1.0, -1.0)
    cost = rng.uniform(0.5, 2.0, n)
    settings = (LIKELIHOODS[likelihood], kernel, 3.0, 0.7, *penalties)
    posterior = Posterior(A, np.zeros(d), owner, Y, cost, *settings)
    alpha = rng.randn(n, n_targets) * (rng.rand(n, n_targets) < 0.6)
    return posterior, Point(rng.uniform(0.1, 0.5, owner.max() + 1), alpha, rng.randn(n_targets))


def oracle_options(posterior, likelihood="probit"):
    penalties = (posterior.sample_penalty, posterior.feature_penalty)
    kernel = {"name": posterior.kernel, "degree": posterior.degree, "coef0": posterior.coef0}
    return {"likelihood": likelihood, "penalties": penalties, **kernel}


# the posterior


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_posterior_is_the_sum_of_its_terms(kernel, likelihood):
    posterior, point = make_posterior(kernel, likelihood, n_targets=2)
    options = oracle_options(posterior, likelihood)
    data = (posterior.A, posterior.Y, posterior.cost)
    expected = oracle.negative_log_posterior(*data, point.theta, point.alpha, point.intercept, **options)
    assert posterior.value(point) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 2, 2]])
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_are_finite_differences(kernel, n_targets, groups):
    posterior, point = make_posterior(kernel, n_targets=n_targets, groups=groups)
    _, by_theta, by_alpha, by_intercept = posterior.derivatives(point)
    rows, step = np.flatnonzero(np.any(point.alpha != 0, axis=1)), 1e-5

    def slope(name, place):
        values = []
        for sign in (1.0, -1.0):
            moved = {"theta": point.theta.copy(), "alpha": point.alpha.copy(), "intercept": point.intercept.copy()}
            moved[name][place] += sign * step
            values.append(posterior.value(Point(**moved)))
        return (values[0] - values[1]) / (2 * step)

    for j in range(point.theta.size):
        assert by_theta[j] == pytest.approx(slope("theta", j), rel=1e-6, abs=1e-6)
    for t in range(n_targets):
        assert by_intercept[t] == pytest.approx(slope("intercept", t), rel=1e-6, abs=1e-6)
        for place, i in enumerate(rows):
            if point.alpha[i, t] != 0:
                full = by_alpha[place, t] + posterior.sample_penalty * np.sign(point.alpha[i, t])
                assert full == pytest.approx(slope("alpha", (i, t)), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_output_slopes_are_spreads_of_finite_differences(kernel):
    posterior, point = make_posterior(kernel, n_targets=2)
    share = posterior.cost / posterior.cost.sum()

    def outputs(theta):
        return posterior.kernel_values(posterior.kernel_sums(theta, np.arange(12))) @ point.alpha

    for j, found in enumerate(posterior.output_slopes(point)):
        step = 1e-6 * np.eye(5)[j]
        change = (outputs(point.theta + step) - outputs(point.theta - step)) / 2e-6
        spread = np.sqrt(share @ ((change - share @ change) ** 2).sum(axis=1))
        assert found == pytest.approx(spread, rel=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_alpha_meets_its_conditions(kernel, likelihood):
    posterior, point = make_posterior(kernel, likelihood, n=20, n_targets=2)
    found, largest = best_alpha(posterior, point.theta)
    assert residuals(posterior, found)[1] < 1e-5
    _, _, _, by_intercept = posterior.derivatives(found)
    np.testing.assert_allclose(by_intercept, 0.0, atol=1e-6)
    penalties = (1.001 * largest, 1.0)
    nothing, _ = best_alpha(make_posterior(kernel, likelihood, 20, n_targets=2, penalties=penalties)[0], point.theta)
    assert not nothing.alpha.any()


@pytest.mark.parametrize("with_alpha", [False, True])
@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_no_step_lowers_the_posterior(with_alpha, seed):
    kernel = KERNELS[seed % 3]
    posterior, point = make_posterior(kernel, n_targets=1 + seed % 2, seed=seed)
    value = posterior.value(point)
    for _ in range(3):
        for step in ("factors", "balance", "alpha"):
            if step == "factors":
                point = raise_factors(posterior, point, max_iter=20, with_alpha=with_alpha)
            else:
                point = balanced(posterior, point) if step == "balance" else best_alpha(posterior, point.theta)[0]
            assert posterior.value(point) <= value + 1e-7 * abs(value)
            value = posterior.value(point)
            assert np.all(point.theta >= 0)


@pytest.mark.parametrize(("kernel", "coef0"), [("linear", 0.0), ("poly", 0.0)])
def test_balancing_keeps_the_outputs(kernel, coef0):
    posterior, point = make_posterior(kernel)
    posterior = Posterior(**{**posterior.__dict__, "coef0": coef0})
    moved = balanced(posterior, point)
    rows = np.arange(12)
    for one, other in [(point, moved)]:
        outputs = [posterior.kernel_values(posterior.kernel_sums(p.theta, rows)) @ p.alpha for p in (one, other)]
        np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-9)
    best = posterior.value(moved)
    for c in (0.9, 1.1):
        degree = 1.0 if kernel == "linear" else 3.0
        assert posterior.value(Point(moved.theta / c, moved.alpha * c**degree, moved.intercept)) > best


# the maximum


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_plain_minimizer_finds_nothing_better_nearby(kernel):
    X, y = make_classes(12, 3, noise=1.5)
    penalties = {"sample_penalty": 0.3, "feature_penalty": 1.0}
    found = JCFO(kernel=kernel, tol=1e-6, coef0=1.0, degree=2, **penalties).fit(X, y)
    assert found.certificate_["stationary"]
    assert (found.sample_penalty_, found.feature_penalty_) == (0.3, 1.0)
    A, Y = (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == 1, 1.0, -1.0)[:, None]
    gamma = 1.0 / 3.0
    theta = gamma * found.sigma_**2
    alpha = np.zeros((12, 1))
    alpha[found.support_samples_, 0] = found.dual_coef_[0]
    if kernel == "linear":
        outputs = A @ (theta[:, None] * (A.T @ alpha))
    else:
        outputs = np.array([[oracle.kernel(a, z, theta, kernel, 2, 1.0) for z in A] for a in A]) @ alpha
    intercept = found.estimator_.decision_function(found.transform(X))[0] - outputs[0]
    options = {"name": kernel, "likelihood": "probit", "penalties": (0.3, 1.0), "degree": 2, "coef0": 1.0}
    point = (A, Y, np.ones(12), theta, alpha, intercept)
    value = oracle.negative_log_posterior(*point, **options)
    assert -value == pytest.approx(found.certificate_["log_posterior"], abs=1e-6)
    assert oracle.lowest_from(*point, **options) >= value - 1e-5


@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_the_posterior_never_falls_and_ends_at_a_maximum(seed):
    X, y = make_classes(25, 6, seed=seed % 1000)
    found = JCFO(kernel=KERNELS[seed % 3], coef0=1.0).fit(X, y)
    rise = np.diff(found.log_posterior_)
    assert np.all(rise >= -1e-9 * np.abs(found.log_posterior_[1:]))
    certificate = found.certificate_
    assert certificate["stationary"]
    assert max(certificate["projected_gradient"], certificate["kkt"]) <= 1e-3


def test_few_rounds_are_said_to_be_few():
    X, y = make_classes()
    with pytest.warns(ConvergenceWarning, match="raise max_iter=1"):
        found = JCFO(max_iter=1, tol=1e-8).fit(X, y)
    assert not found.certificate_["converged"]


def test_only_the_product_of_the_penalties_matters_to_a_linear_kernel():
    X, y = make_classes(40, 6)
    one = JCFO(sample_penalty=0.1, feature_penalty=4.0, tol=1e-6).fit(X, y)
    other = JCFO(sample_penalty=0.2, feature_penalty=2.0, tol=1e-6).fit(X, y)
    assert one.certificate_["log_posterior"] == pytest.approx(other.certificate_["log_posterior"], rel=0.05)


# what is found


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_planted_features_are_recovered(kernel):
    rng = np.random.RandomState(0)
    X = rng.randn(120, 40)
    planted = [3, 10, 27]
    y = (X[:, planted] @ [1.0, -1.0, 1.0] > 0).astype(int)
    found = JCFO(stop=3, kernel=kernel).fit(X, y)
    assert sorted(np.flatnonzero(found.get_support()).tolist()) == planted
    assert np.mean(found.estimator_.predict(found.transform(X)) == y) > 0.9
    assert 0 < found.support_samples_.size < 120


def test_both_variables_of_a_product_are_found():
    rng = np.random.RandomState(0)
    X = rng.randn(150, 12)
    y = (X[:, 3] * X[:, 7] > 0).astype(int)
    found = JCFO(stop=2, kernel="rbf").fit(X, y)
    assert set(np.flatnonzero(found.get_support())) == {3, 7}
    assert np.mean(found.estimator_.predict(found.transform(X)) == y) > 0.9
    assert not hasattr(found, "coef_")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_quantity(kernel):
    X, y = make_quantity(60)
    found = JCFO(stop=2, kernel=kernel).fit(X, 1e3 * y)
    assert set(np.flatnonzero(found.get_support())) == {0, 4}
    assert np.corrcoef(found.estimator_.predict(found.transform(X)), y)[0, 1] > 0.95


@pytest.mark.parametrize("kernel", KERNELS)
def test_several_classes_share_their_factors(kernel):
    X, _ = make_classes(60, 8)
    y = np.digitize(X[:, 0] + X[:, 3], [-0.7, 0.7])
    found = JCFO(kernel=kernel, stop=2, coef0=1.0, degree=2).fit(X, y)
    assert set(np.flatnonzero(found.get_support())) == {0, 3}
    assert found.dual_coef_.shape == (3, found.support_samples_.size)
    if kernel == "linear":
        assert found.coef_.shape == (3, 8)
    else:
        assert np.mean(found.estimator_.predict(found.transform(X)) == y) > 0.85


def test_the_linear_model_is_the_expansion_on_samples():
    X, y = make_classes(40, 8)
    found = JCFO().fit(X, y)
    A = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = found.sigma_**2 / 8 * (found.dual_coef_[0] @ A[found.support_samples_])
    np.testing.assert_allclose(found.coef_[0] * X.std(axis=0), weights, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("k", [1, 3, 11])
def test_a_number_of_features(k, kernel):
    X, y = make_classes(30, 40)
    found = JCFO(stop=k, kernel=kernel).fit(X, y)
    assert found.get_support().sum() == k
    assert len(JCFO(stop=None, kernel=kernel).fit(X, y).order_) == 40


# weights, groups, layouts


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_of_rows_are_repetitions(kernel):
    X, y = make_classes(30, 6)
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    options = {"kernel": kernel, "coef0": 1.0, "stop": 3}
    weighted, repeated = JCFO(**options).fit(X, y, sample_weight=weight), JCFO(**options).fit(X[rows], y[rows])
    assert set(weighted.order_[:3]) == set(repeated.order_[:3])
    np.testing.assert_allclose(weighted.sigma_, repeated.sigma_, rtol=1e-4)  # theta over gamma, which counts rows too
    assert weighted.certificate_["log_posterior"] == pytest.approx(repeated.certificate_["log_posterior"], rel=1e-4)
    assert not np.isin(weighted.support_samples_, np.flatnonzero(weight == 0)).any()


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = make_classes()
    by_class = JCFO(class_weight={1: 3.0}).fit(X, y)
    by_row = JCFO().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.sigma_, by_row.sigma_)


def test_sparse_tables_give_the_same():
    X, y = make_classes(30, 20)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, thin = JCFO(stop=5).fit(X, y), JCFO(stop=5).fit(sparse.csr_array(X), y)
    assert thin.order_.tolist() == dense.order_.tolist()
    np.testing.assert_allclose(thin.sigma_, dense.sigma_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, rtol=1e-3, atol=1e-4)


def test_sparse_tables_are_refused_with_a_kernel():
    X, y = make_classes()
    with pytest.raises(ValueError, match=r"kernel='rbf'.*toarray"):
        JCFO(kernel="rbf").fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_columns_of_a_group_have_one_factor(kernel):
    X, y = make_classes(60, 12, noise=0.1)
    groups = np.repeat(np.arange(4), 3)
    found = JCFO(groups=groups, stop=2, kernel=kernel).fit(X, y)
    assert np.all(found.sigma_.reshape(4, 3) == found.sigma_.reshape(4, 3)[:, :1])
    assert set(groups[np.flatnonzero(found.get_support())]) == {0, 2}


def test_groups_of_one_column_are_columns():
    X, y = make_classes()
    plain, grouped = JCFO(stop=3).fit(X, y), JCFO(stop=3, groups=np.arange(8)).fit(X, y)
    np.testing.assert_allclose(grouped.sigma_, plain.sigma_)
    assert np.array_equal(grouped.order_, plain.order_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@given(seed=SEEDS)
@settings(max_examples=5, deadline=None)
def test_columns_in_another_order_and_units(kernel, seed):
    X, y = make_classes(40, 8, seed=seed % 1000)
    rng = np.random.RandomState(seed)
    order, unit = rng.permutation(8), 10.0 ** rng.uniform(-50, 50, 8) * rng.choice([-1.0, 1.0], 8)
    plain, other = JCFO(stop=3, kernel=kernel).fit(X, y), JCFO(stop=3, kernel=kernel).fit(X[:, order] * unit, y)
    assert set(order[other.order_[:3]]) == set(plain.order_[:3])
    first, second = plain.certificate_["log_posterior"], other.certificate_["log_posterior"]
    assert first == pytest.approx(second, rel=1e-3)


@given(seed=SEEDS)
@settings(max_examples=5, deadline=None)
def test_copies_and_constants_have_no_factor(seed):
    X, y = make_classes(25, 6, seed=seed % 1000)
    plain = JCFO(gamma=1.0).fit(X, y)
    more = JCFO(gamma=1.0).fit(np.column_stack([X, X[:, ::-1], np.ones(25)]), y)
    np.testing.assert_allclose(more.sigma_[:6], plain.sigma_, rtol=1e-5, atol=1e-6)
    assert not more.sigma_[6:].any()


# small, odd and bad input


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1]),
        (np.array([[0.0], [1.0], [3.0]]), ["a", "b", "b"]),
        (np.array([[0.0, 2.0], [1.0, 2.5]]), [0.5, 1.7]),
        (np.eye(5), [0, 1, 2, 3, 4]),
        (np.tile([[1.0, 0.0], [-1.0, 0.0]], (2, 1)), [0, 0, 1, 1]),
    ],
)
def test_tables_of_a_few_rows(X, y, kernel):
    for arguments in ({}, {"stop": 1}):
        found = JCFO(kernel=kernel, **arguments).fit(X, y)
        assert len(found.estimator_.predict(X[:, found.get_support()])) == len(y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_penalties_under_which_nothing_would_be_left_are_lowered(kernel):
    X, y = make_classes()
    found = JCFO(kernel=kernel, sample_penalty=1e6, feature_penalty=1e6).fit(X, y)
    assert found.sample_penalty_ < 1e6
    assert found.feature_penalty_ < 1e6
    assert found.log_posterior_.size == found.n_iter_ > 0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("penalty", [1e9, 1e100])
def test_any_penalty_is_lowered_until_a_feature_is_left(kernel, penalty):
    X = np.random.RandomState(0).randn(60, 10)
    found = JCFO(kernel=kernel, feature_penalty=penalty).fit(X, X[:, 7] > 0)
    assert found.feature_penalty_ < 1e6
    assert found.order_[0] == 7
    assert found.n_chosen_ < 10


def test_rounds_that_stall_before_a_maximum_are_said_to():
    rng = np.random.RandomState(1)
    X = rng.randn(60, 10)
    with pytest.warns(ConvergenceWarning, match="give other penalties"):
        found = JCFO(kernel="rbf", feature_penalty=1e-9).fit(X, X[:, 7] + 0.3 * rng.randn(60))
    assert not found.certificate_["converged"]


@pytest.mark.parametrize("arguments", [{}, {"kernel": "rbf"}])
def test_with_rules_and_in_a_comparison(arguments):
    X, y = make_classes(40, 6)
    probed = JCFO(stop=MonteCarloProbe(n_draws=19, random_state=0), **arguments).fit(X, y)
    assert 0 <= probed.get_support().sum() <= 6
    assert 0 < JCFO(stop="cross-validation", **arguments).fit(X, y).get_support().sum() <= 6
    assert "JCFO" in str(compare([JCFO(**arguments)], X, y, ks=(2, 4), n_seeds=1, n_random=10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample_penalty": 0.0}, "'sample_penalty' parameter"),
        ({"feature_penalty": -1.0}, "'feature_penalty' parameter"),
        ({"kernel": "sigmoid"}, "'kernel' parameter"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"degree": 0}, "'degree' parameter"),
        ({"step": 1.0}, "'step' parameter"),
        ({"loss": "hinge"}, "'loss' parameter"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        JCFO(**arguments).fit(X, y)


@pytest.mark.parametrize("loss", ["probit", "logistic"])
def test_losses_of_classes_are_refused_for_a_quantity(loss):
    X, y = make_quantity()
    with pytest.raises(ValueError, match=f"loss='{loss}' is for classes.*use loss='squared'"):
        JCFO(loss=loss).fit(X, y)


def test_a_kernel_matrix_that_memory_cannot_hold_is_refused():
    X = np.random.RandomState(0).standard_normal((30_000, 2))
    with pytest.raises(ValueError, match=r"30000 rows takes 7 GiB.*at most 23170 rows, or use ZeroNorm"):
        JCFO(max_samples=None).fit(X, X[:, 0] > 0)
