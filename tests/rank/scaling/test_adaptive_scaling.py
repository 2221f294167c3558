"""Factors of given norm: a loop around scikit-learn's machines, the norm of weights they stand for, and gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from tamis import AdaptiveScaling, GroupLasso, MarginLP
from tamis.rank._multiplicative_updates import FactorUpdate
from tests.oracles import adaptive_scaling as oracle

SEEDS = st.integers(0, 2**20)
LOSSES = ["squared_hinge", "hinge", "squared"]
SHAPES = pytest.mark.parametrize("shape", [(40, 8), (15, 30)], ids=["primal", "dual"])


def make_classes(n=40, d=8, seed=0, noise=0.7):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, (X[:, 0] - X[:, d // 2] + noise * rng.randn(n) > 0).astype(int)


def make_quantity(n=40, d=8, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, 3.0 + X[:, 0] - 2.0 * X[:, d // 2] + 0.3 * rng.randn(n)


def make_xor(n=80, d=8, seed=0):
    X = np.random.RandomState(seed).randn(n, d)
    return X, (X[:, 1] * X[:, 4] > 0).astype(int)


def standardized(X):
    return StandardScaler().fit_transform(X)


def targets(y):
    classes = np.unique(y)
    return np.stack([np.where(y == c, 1.0, -1.0) for c in (classes[1:] if classes.size == 2 else classes)], axis=1)


def of_norm_one(sigma, p):
    return sigma / np.sum(sigma**p) ** (1.0 / p)


# the loop


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
@SHAPES
def test_factors_are_those_of_a_loop_around_other_machines(shape, p, loss):
    X, y = make_classes(*shape)
    found = AdaptiveScaling(p=p, C=2.0, loss=loss, tol=1e-2).fit(X, y)
    history, objectives = oracle.scaling_factors(standardized(X), targets(y), p, 2.0, loss, tol=1e-2)
    assert found.certificate_["n_iter"] == len(objectives)
    np.testing.assert_allclose(of_norm_one(found.sigma_, p), history[-1], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.certificate_["objective"], objectives, rtol=1e-5)
    assert np.mean(found.sigma_**p) == pytest.approx(1.0)


@SHAPES
def test_factors_of_a_quantity_are_those_of_a_loop_around_ridge_regression(shape):
    X, y = make_quantity(*shape)
    found = AdaptiveScaling(tol=1e-4).fit(X, y)
    Y = ((y - y.mean()) / y.std())[:, None]
    history, objectives = oracle.scaling_factors(standardized(X), Y, 1.0, 3.0, "squared", tol=1e-4)
    np.testing.assert_allclose(of_norm_one(found.sigma_, 1.0), history[-1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.certificate_["objective"], objectives, rtol=1e-8)
    assert set(found.order_[:2]) == {0, shape[1] // 2}
    assert np.corrcoef(found.estimator_.predict(found.transform(X)), y)[0, 1] > 0.9


def test_several_classes_share_their_factors():
    X, _ = make_classes(60, 8)
    y = np.digitize(X[:, 0] + X[:, 3], [-0.7, 0.7])
    found = AdaptiveScaling().fit(X, y)
    history, objectives = oracle.scaling_factors(standardized(X), targets(y), 1.0, 3.0, "squared_hinge")
    np.testing.assert_allclose(of_norm_one(found.sigma_, 1.0), history[-1], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.certificate_["objective"], objectives, rtol=1e-6)
    assert found.coef_.shape == (3, 8)


def test_columns_of_a_group_have_one_factor():
    X, y = make_classes(40, 12)
    groups = np.repeat(np.arange(4), 3)
    found = AdaptiveScaling(groups=groups).fit(X, y)
    history, _ = oracle.scaling_factors(standardized(X), targets(y), 1.0, 3.0, "squared_hinge", groups=groups)
    np.testing.assert_allclose(of_norm_one(found.sigma_, 1.0), history[-1], rtol=1e-3, atol=1e-4)
    assert np.all(found.sigma_.reshape(4, 3) == found.sigma_.reshape(4, 3)[:, :1])
    assert set(groups[found.order_[:6]]) == {0, 2}
    assert AdaptiveScaling(groups=groups, stop=1).fit(X, y).get_support().sum() == 3


def test_groups_of_one_are_columns():
    X, y = make_classes()
    one_each, plain = AdaptiveScaling(groups=np.arange(8)).fit(X, y), AdaptiveScaling().fit(X, y)
    np.testing.assert_allclose(one_each.sigma_, plain.sigma_)
    np.testing.assert_allclose(one_each.coef_, plain.coef_)


# the problem that the loop solves


@given(seed=SEEDS, p=st.floats(0.1, 4.0), log_cost=st.floats(-2.0, 3.0), loss=st.sampled_from(LOSSES))
@settings(max_examples=25, deadline=None)
@SHAPES
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_of_a_linear_machine_never_increases(shape, seed, p, log_cost, loss):
    X, y = make_classes(*shape, seed=seed)
    p = max(p, 0.5) if loss == "hinge" else p  # kernels of the first rounds would be lost to rounding
    found = AdaptiveScaling(p=p, C=10.0**log_cost, loss=loss, max_iter=20, tol=1e-6).fit(X, y)
    objective = found.certificate_["objective"]
    assert np.all(np.diff(objective) <= 1e-8 * objective[:-1])


@given(seed=SEEDS, p=st.floats(0.5, 4.0), kernel=st.sampled_from(["rbf", "poly"]), loss=st.sampled_from(LOSSES))
@settings(max_examples=25, deadline=None)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_of_a_kernel_machine_never_increases(seed, p, kernel, loss):
    X, y = make_classes(25, 6, seed=seed)
    found = AdaptiveScaling(p=p, kernel=kernel, loss=loss, degree=2, coef0=1.0, max_iter=20).fit(X, y)
    objective = found.certificate_["objective"]
    assert np.all(np.diff(objective) <= 1e-8 * objective[:-1])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 4.0])
def test_the_weights_minimize_their_q_norm_and_the_loss(p, loss):
    X, y = make_classes(25, 5)
    found = AdaptiveScaling(p=p, loss=loss, tol=1e-6, max_iter=5000).fit(X, y)
    q, s, Z = 2.0 * p / (2.0 + p), targets(y)[:, 0], standardized(X)
    w = found.coef_[0] * X.std(axis=0)

    def value(weights, b):
        norm = np.sum(np.abs(weights) ** q) ** (1.0 / q)
        return 0.5 * norm**2 + 3.0 * np.sum(oracle.losses(Z @ weights + b, s, loss))

    b = found.intercept_[0] + X.mean(axis=0) @ found.coef_[0]
    least = value(w, b)
    assert least == pytest.approx(found.certificate_["objective"][-1], rel=1e-6)
    rng = np.random.RandomState(0)
    for size in (1e-3, 1e-2):
        for _ in range(20):
            step = size * rng.randn(5) * ((w != 0) | (p >= 2))  # weights of zero are local minima for p < 2
            assert value(w + step, b + size * rng.randn()) >= least * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_p_2_and_a_hard_margin_is_the_linear_program(seed):
    X, y = make_classes(30, 50, seed=seed)
    found = AdaptiveScaling(p=2.0, loss="hinge", C=1e6, tol=1e-4, max_iter=1000).fit(X, y)
    program = MarginLP().fit(X, y)
    objective = found.certificate_["objective"]
    assert objective[-1] == pytest.approx(program.certificate_["objective"], rel=1e-4)
    assert np.all(objective >= program.certificate_["objective"] * (1 - 1e-8))
    np.testing.assert_allclose(of_norm_one(found.sigma_, 2.0) ** 2, program.sigma_**2, atol=0.02)


def test_p_2_with_groups_is_the_group_lasso():
    X, y = make_quantity(60, 12)
    groups = np.repeat(np.arange(4), 3)
    found = AdaptiveScaling(p=2.0, groups=groups, tol=1e-7, max_iter=5000).fit(X, y)
    Z, t = standardized(X), (y - y.mean()) / y.std()
    w = found.coef_ * X.std(axis=0) / y.std()
    sizes = np.sqrt([3.0 * np.sum(w[groups == g] ** 2) for g in range(4)])  # times the root of the group's size
    gradient = 6.0 * Z.T @ (t - Z @ w)
    for g in range(4):
        of_group = np.linalg.norm(gradient[groups == g]) / np.sqrt(3.0)
        assert of_group <= sizes.sum() * (1 + 1e-4)
        if sizes[g] > 0:
            assert of_group == pytest.approx(sizes.sum(), rel=1e-4)
    assert set(GroupLasso(groups=groups, stop=2).fit(X, y).order_[:6]) == set(found.order_[:6])


def test_the_update_of_p_0_is_the_factor_times_the_size_of_the_weight():
    rng = np.random.RandomState(0)
    sigma, weights2 = rng.rand(5), rng.rand(5)
    of_zero = FactorUpdate(p=0.0, norm=2.0, has_line_search=False)
    np.testing.assert_allclose(
        of_zero.step(sigma, of_zero.ratios(weights2, sigma), 1.0), sigma * np.sqrt(weights2), rtol=1e-12
    )
    of_two = FactorUpdate(p=2.0, norm=2.0, has_line_search=False)  # sigma^2 is the weight of the column as it is
    np.testing.assert_allclose(
        of_two.step(sigma, of_two.ratios(weights2, sigma), 1.0) ** 2, sigma * np.sqrt(weights2), rtol=1e-12
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_projected_gradient_vanishes_at_the_end(kernel):
    X, y = make_xor() if kernel == "rbf" else make_classes()
    found = AdaptiveScaling(kernel=kernel, degree=2, coef0=1.0, tol=1e-6, max_iter=3000).fit(X, y)
    assert found.certificate_["converged"]
    assert found.certificate_["projected_gradient"] < 1e-4


# kernels


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_an_interaction_is_found_with_a_kernel(p):
    X, y = make_xor()
    found = AdaptiveScaling(kernel="rbf", p=p, stop=2).fit(X, y)
    assert set(found.order_[:2]) == {1, 4}
    unseen, labels = make_xor(seed=1)
    assert np.mean(found.estimator_.predict(found.transform(unseen)) == labels) > 0.75


def test_a_quantity_with_a_kernel():
    X, _ = make_quantity(60, 6)
    found = AdaptiveScaling(kernel="rbf", stop=2).fit(X, X[:, 1] * X[:, 4])
    assert set(found.order_[:2]) == {1, 4}


def test_sparse_tables_are_refused_with_a_kernel():
    X, y = make_classes()
    with pytest.raises(ValueError, match=r"kernel='rbf'.*toarray"):
        AdaptiveScaling(kernel="rbf").fit(sparse.csr_array(X), y)


# how many


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rounds_end_before_fewer_than_asked_for_are_left(kernel, k):
    X, y = make_classes()
    found = AdaptiveScaling(stop=k, kernel=kernel).fit(X, y)
    assert found.get_support().sum() == k
    assert len(found.order_) >= k
    if kernel == "linear":
        assert np.count_nonzero(found.coef_) == k


def test_smaller_p_leaves_fewer_features():
    X, y = make_classes(60, 40, noise=1.0)
    left = [AdaptiveScaling(p=p, max_iter=1000).fit(X, y).n_chosen_ for p in (0.2, 0.5, 1.0, 2.0)]
    assert left == sorted(left)
    assert left[0] < left[-1]


def test_cost_by_cross_validation_and_early_stopping():
    X, y = make_classes(60, 10, noise=1.0)
    chosen = AdaptiveScaling(C="auto", stop=2, cv=3).fit(X, y)
    assert chosen.C_ in 10.0 ** np.arange(-2.0, 4.0)
    np.testing.assert_allclose(chosen.coef_, AdaptiveScaling(C=chosen.C_, stop=2).fit(X, y).coef_)
    early, full = AdaptiveScaling(early_stopping=True, random_state=0).fit(X, y), AdaptiveScaling().fit(X, y)
    assert early.certificate_["n_iter"] <= full.certificate_["n_iter"]


# weights, layouts, units


@pytest.mark.parametrize("loss", LOSSES)
@SHAPES
def test_weights_of_rows_are_repetitions(shape, loss):
    X, y = make_classes(*shape)
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = AdaptiveScaling(loss=loss).fit(X, y, sample_weight=weight)
    repeated = AdaptiveScaling(loss=loss).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.sigma_, repeated.sigma_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_weights_of_rows_are_repetitions_for_the_width_of_a_kernel_too(kernel):
    X, y = make_classes()
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    machine = AdaptiveScaling(kernel=kernel, loss="squared", tol=0.5)
    weighted, repeated = clone(machine).fit(X, y, sample_weight=weight), clone(machine).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.sigma_, repeated.sigma_, rtol=1e-6, atol=1e-8)
    outputs = [found.estimator_.decision_function(found.transform(X)) for found in (weighted, repeated)]
    np.testing.assert_allclose(*outputs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@SHAPES
def test_sparse_tables_give_the_same(shape, loss):
    X, y = make_classes(*shape)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = AdaptiveScaling(loss=loss, stop=5).fit(X, y)
    thin = AdaptiveScaling(loss=loss, stop=5).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.sigma_, dense.sigma_, rtol=1e-4, atol=1e-6)
    assert thin.order_.tolist() == dense.order_.tolist()
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, rtol=1e-4, atol=1e-6)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_columns_in_another_order_and_units(seed):
    X, y = make_classes(25, 8, seed=seed % 1000)
    rng = np.random.RandomState(seed)
    order, unit = rng.permutation(8), 10.0 ** rng.uniform(-50, 50, 8) * rng.choice([-1.0, 1.0], 8)
    plain, other = AdaptiveScaling().fit(X, y), AdaptiveScaling().fit(X[:, order] * unit, y)
    np.testing.assert_allclose(other.sigma_, plain.sigma_[order], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(other.coef_[0] * unit, plain.coef_[0][order], rtol=1e-4, atol=1e-6)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_copies_and_constants_have_no_factor(seed):
    X, y = make_classes(25, 6, seed=seed % 1000)
    plain = AdaptiveScaling().fit(X, y)
    more = AdaptiveScaling().fit(np.column_stack([X, X[:, ::-1], np.ones(25)]), y)
    np.testing.assert_allclose(more.sigma_[:6], plain.sigma_, rtol=1e-9)
    assert not more.sigma_[6:].any()
    assert np.array_equal(more.order_, plain.order_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("p", [0.1, 1.0, 10.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_p_on_tables_of_a_few_rows(p, kernel):
    tables = [
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1]),
        (np.array([[0.0], [1.0], [3.0]]), ["a", "b", "b"]),
        (np.array([[0.0, 2.0], [1.0, 2.5]]), [0.5, 1.7]),
        (np.eye(5), [0, 1, 2, 3, 4]),
    ]
    for X, y in tables:
        for arguments in ({}, {"C": "auto"}, {"stop": 1}, {"stop": None}):
            found = AdaptiveScaling(p=p, kernel=kernel, **arguments).fit(X, y)
            assert len(found.estimator_.predict(found.transform(X))) == len(y)


@pytest.mark.parametrize("p", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("C", [1e-6, 1e8])
@pytest.mark.parametrize("loss", LOSSES)
def test_very_large_and_very_small_costs(loss, C, p):
    X, y = make_classes(20, 200)
    found = AdaptiveScaling(p=p, C=C, loss=loss, stop=3, max_iter=300).fit(X, y)
    assert found.get_support().sum() == 3


def test_too_few_rounds_are_told():
    X, y = make_classes(30, 60)
    with pytest.warns(ConvergenceWarning, match=r"AdaptiveScaling's scaling factors.*max_iter=3"):
        found = AdaptiveScaling(max_iter=3).fit(X, y)
    assert not found.certificate_["converged"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 0.0}, "'p' parameter"),
        ({"C": 0.0}, "'C' parameter"),
        ({"kernel": "sigmoid"}, "'kernel' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"loss": "sparse_fisher"}, "'loss' parameter"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        AdaptiveScaling(**arguments).fit(X, y)


def test_losses_of_classes_are_refused_for_a_quantity():
    X, y = make_quantity()
    with pytest.raises(ValueError, match=r"loss='hinge' is for classes.*use loss='squared'"):
        AdaptiveScaling(loss="hinge").fit(X, y)
