"""The linear program of the largest margin: against scipy's, the hard-margin l1 machine, and the conditions of (19)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from tamis import L1SVM, AdaptiveScaling, MarginLP
from tests.oracles import adaptive_scaling as oracle
from tests.oracles.zero_norm import train

SEEDS = st.integers(0, 2**20)


def make_separable(n=40, d=60, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    y = (X[:, 0] - X[:, d // 2] + 0.3 * rng.randn(n) > 0).astype(int)
    return X, y


def make_overlapping(n=60, d=5, seed=0):
    X, y = make_separable(n, d, seed)
    y[:4] = 1 - y[:4]
    return X, y


def standardized(X):
    return StandardScaler().fit_transform(X)


def signs(y):
    return np.where(y > 0, 1.0, -1.0)


@pytest.mark.parametrize("seed", range(5))
def test_factors_are_the_multipliers_of_the_printed_dual(seed):
    X, y = make_separable(seed=seed)
    found = MarginLP().fit(X, y)
    optimum, alpha, multipliers = oracle.margin_program(standardized(X), signs(y))
    np.testing.assert_allclose(found.sigma_**2, multipliers / multipliers.sum(), atol=1e-8)
    np.testing.assert_allclose(found.dual_coef_[0] * signs(y), alpha, atol=1e-8)
    assert np.sum(found.sigma_**2) == pytest.approx(1.0)
    assert found.certificate_["norm"] == pytest.approx(optimum, rel=1e-9)
    assert found.certificate_["objective"] == pytest.approx(0.5 * optimum**2, rel=1e-9)
    assert found.certificate_["gap"] < 1e-8
    assert found.certificate_["converged"]
    assert found.certificate_["separable"]
    assert found.n_chosen_ == np.count_nonzero(multipliers > 1e-9) < len(y)


def test_weights_are_those_of_the_hard_margin_l1_machine():
    X, y = make_separable()
    found, machine = MarginLP().fit(X, y), L1SVM(C=np.inf, order="magnitude").fit(X, y)
    np.testing.assert_allclose(found.coef_, machine.coef_, atol=1e-8)
    np.testing.assert_allclose(found.intercept_, machine.intercept_, atol=1e-8)
    assert found.certificate_["norm"] == pytest.approx(np.abs(machine.coef_[0] * X.std(axis=0)).sum(), rel=1e-9)
    assert found.order_[: found.n_chosen_].tolist() == machine.order_.tolist()


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_factors_and_dual_variables_satisfy_the_conditions_of_the_paper_s_problem(seed):
    X, y = make_separable(25, 40, seed=seed)
    found = MarginLP().fit(X, y)
    Z, s, W = standardized(X), signs(y), found.certificate_["norm"]
    alpha = W * found.dual_coef_[0] * s
    assert alpha.min() >= -1e-9
    assert abs(alpha @ s) < 1e-9 * W
    # all columns with a factor have the largest derivative
    products = (alpha * s) @ Z
    np.testing.assert_allclose(np.abs(products[found.sigma_ > 0]), W, rtol=1e-8)
    assert np.abs(products).max() <= W * (1 + 1e-8)
    # alpha solves the inner problem, whose optimum is W^2 / 2
    Zs = Z * found.sigma_
    value = alpha.sum() - 0.5 * np.sum(((alpha * s) @ Zs) ** 2)
    assert value == pytest.approx(0.5 * W**2, rel=1e-8)
    outputs = s * (Zs @ ((alpha * s) @ Zs) + found.intercept_[0] + X.mean(axis=0) @ found.coef_[0])
    assert outputs.min() >= 1 - 1e-7
    np.testing.assert_allclose(outputs[alpha > 1e-7 * W], 1.0, atol=1e-7)


def test_no_other_factors_have_a_larger_margin():
    X, y = make_separable(20, 8, seed=1)
    y = (X[:, 0] - X[:, 4] > 0).astype(int)
    found, Z = MarginLP().fit(X, y), standardized(X)

    def half_norm2(sigma):
        return 0.5 * np.sum(train(Z * sigma, signs(y), 1e8, "hinge")[0] ** 2)

    best = half_norm2(found.sigma_)
    assert best == pytest.approx(found.certificate_["objective"], rel=1e-5)
    rng = np.random.RandomState(0)
    for _ in range(20):
        other = found.sigma_**2 + 0.1 * rng.rand(8)
        assert half_norm2(np.sqrt(other / other.sum())) >= best * (1 - 1e-6)


@pytest.mark.parametrize("C", [0.01, 0.1, 10.0])
def test_a_soft_margin_bounds_the_dual_variables(C):
    X, y = make_overlapping()
    found = MarginLP(C=C).fit(X, y)
    optimum, _, multipliers = oracle.margin_program(standardized(X), signs(y), C)
    np.testing.assert_allclose(found.sigma_**2 * multipliers.sum(), multipliers, atol=1e-8)
    W = found.certificate_["norm"]
    np.testing.assert_allclose(W, multipliers.sum(), rtol=1e-8)
    assert found.certificate_["objective"] == pytest.approx(W * (optimum - 0.5 * W), rel=1e-8)
    assert not found.certificate_["separable"]
    np.testing.assert_allclose(found.coef_, L1SVM(C=C).fit(X, y).coef_, atol=1e-8)


def test_the_soft_objective_is_that_of_adaptive_scaling_with_the_hinge():
    X, y = make_overlapping()
    found = MarginLP(C=0.1).fit(X, y)
    cost = 0.1 * found.certificate_["norm"]
    other = AdaptiveScaling(p=2.0, loss="hinge", C=cost, tol=1e-6, max_iter=2000).fit(X, y)
    assert other.certificate_["objective"][-1] == pytest.approx(found.certificate_["objective"], rel=1e-5)


def test_classes_that_cannot_be_separated_get_a_soft_margin_and_the_reason_says_so():
    X, y = make_overlapping()
    found, soft = MarginLP().fit(X, y), MarginLP(C=1.0).fit(X, y)
    assert found.C_ == 1.0
    assert "errors cannot be avoided, and cost C = 1 each" in found.stop_.reason
    assert not found.certificate_["separable"]
    np.testing.assert_allclose(found.coef_, soft.coef_)


def test_features_without_a_factor_rank_by_how_near_they_are_to_one():
    X, y = make_separable()
    found = MarginLP(stop=None).fit(X, y)
    assert sorted(found.order_.tolist()) == list(range(60))
    n = found.n_chosen_
    assert np.array_equal(np.flatnonzero(found.sigma_), np.sort(found.order_[:n]))
    assert np.all(np.diff(found.scores_[found.order_]) <= 1e-9)
    products = np.abs(found.dual_coef_[0] @ standardized(X))
    np.testing.assert_allclose(found.scores_[found.order_[n:]], products[found.order_[n:]] - 1.0, atol=1e-8)
    assert found.order_.tolist() == MarginLP(stop=50).fit(X, y).order_.tolist()
    np.testing.assert_allclose(found.scores_[found.order_[:n]], found.sigma_[found.order_[:n]])


def test_a_feature_gets_a_weight_once_its_own_costs_less_than_its_product():
    X, y = make_separable()
    found, Z = MarginLP(stop=None).fit(X, y), standardized(X)
    j = found.order_[found.n_chosen_]
    for factor, has_weight in ((0.999, False), (1.001, True)):
        scaled = Z.copy()
        scaled[:, j] *= factor / (1.0 + found.scores_[j])
        assert (MarginLP(standardize=False).fit(scaled, y).sigma_[j] > 0) == has_weight


@pytest.mark.parametrize("k", [1, 3])
def test_the_model_is_the_program_of_the_selected_features(k):
    X, y = make_separable()
    found = MarginLP(stop=k).fit(X, y)
    kept = np.flatnonzero(found.get_support())
    assert kept.size == k
    alone = MarginLP().fit(X[:, kept], y)
    np.testing.assert_allclose(found.coef_[:, kept], alone.coef_, atol=1e-8)
    assert np.array_equal(np.flatnonzero(found.sigma_), np.flatnonzero(MarginLP().fit(X, y).sigma_))
    outputs = found.estimator_.decision_function(found.transform(X))[:, 0]
    np.testing.assert_allclose(outputs, X @ found.coef_[0] + found.intercept_[0], atol=1e-8)


def test_several_classes_add_their_multipliers_up():
    X, _ = make_separable(60, 80)
    y = np.digitize(X[:, 0] + X[:, 3], [-0.7, 0.7])
    found, Z = MarginLP().fit(X, y), standardized(X)
    each = [oracle.margin_program(Z, np.where(y == c, 1.0, -1.0))[2] for c in range(3)]
    total = np.sum(each, axis=0)
    np.testing.assert_allclose(found.sigma_**2, total / total.sum(), atol=1e-8)
    assert found.certificate_["objective"] == pytest.approx(sum(0.5 * m.sum() ** 2 for m in each), rel=1e-8)
    assert found.coef_.shape == (3, 80)
    assert np.mean(found.estimator_.predict(found.transform(X)) == y) == 1.0


@pytest.mark.parametrize("epsilon", [0.1, 0.3])
def test_errors_of_a_quantity_stay_within_epsilon(epsilon):
    rng = np.random.RandomState(0)
    X = rng.randn(30, 50)
    y = 5.0 + 3.0 * X[:, 0] - 2.0 * X[:, 7] + 0.1 * rng.randn(30)
    found = MarginLP(epsilon=epsilon).fit(X, y)
    errors = np.abs(found.estimator_.predict(found.transform(X)) - y) / y.std()
    assert errors.max() == pytest.approx(epsilon, rel=1e-6)
    assert set(found.order_[:2]) == {0, 7}
    np.testing.assert_allclose(found.coef_, L1SVM(C=np.inf, epsilon=epsilon).fit(X, y).coef_, atol=1e-7)
    other = MarginLP(epsilon=epsilon).fit(X, 1e6 * y)
    np.testing.assert_allclose(other.sigma_, found.sigma_, atol=1e-8)


# layouts and weights


@pytest.mark.parametrize("C", [np.inf, 0.1])
def test_weights_of_rows_are_repetitions(C):
    X, y = make_separable(40, 6)
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted, repeated = MarginLP(C=C).fit(X, y, sample_weight=weight), MarginLP(C=C).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.sigma_, repeated.sigma_, atol=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-7)


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = make_overlapping()
    by_class = MarginLP(C=0.1, class_weight={1: 3.0}).fit(X, y)
    by_row = MarginLP(C=0.1).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.sigma_, by_row.sigma_)


@pytest.mark.parametrize("C", [np.inf, 0.1])
def test_sparse_tables_give_the_same(C):
    X, y = make_separable()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, thin = MarginLP(C=C, stop=10).fit(X, y), MarginLP(C=C, stop=10).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.sigma_, dense.sigma_, atol=1e-7)
    assert thin.order_.tolist() == dense.order_.tolist()
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-7)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, atol=1e-7)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_columns_in_another_order_and_units(seed):
    X, y = make_separable(25, 30, seed=seed % 1000)
    rng = np.random.RandomState(seed)
    order, unit = rng.permutation(30), 10.0 ** rng.uniform(-20, 20, 30) * rng.choice([-1.0, 1.0], 30)
    plain, other = MarginLP().fit(X, y), MarginLP().fit(X[:, order] * unit, y)
    np.testing.assert_allclose(other.sigma_, plain.sigma_[order], atol=1e-6)
    np.testing.assert_allclose(other.coef_[0] * unit, plain.coef_[0][order], atol=1e-6)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_copies_and_constants_have_no_factor(seed):
    X, y = make_separable(25, 30, seed=seed % 1000)
    plain = MarginLP().fit(X, y)
    more = MarginLP().fit(np.column_stack([X, X[:, ::-1], np.ones(25)]), y)
    np.testing.assert_allclose(more.sigma_[:30], plain.sigma_, atol=1e-7)
    assert not more.sigma_[30:].any()


def test_tables_without_anything_to_learn():
    y = np.repeat([0, 1], 10)
    X = np.column_stack([np.tile([1.0, -1.0], 10), np.ones(20)])  # says nothing about the classes
    found = MarginLP(stop=None).fit(X, y)
    assert found.certificate_["converged"]
    assert len(found.estimator_.predict(found.transform(X))) == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"epsilon": -0.1}, "'epsilon' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_separable()
    with pytest.raises(ValueError, match=message):
        MarginLP(**arguments).fit(X, y)
