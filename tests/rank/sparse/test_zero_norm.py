"""The zero norm by multiplicative updates, against a loop around scikit-learn's machines, and at its fixed points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from tamis import ZeroNorm
from tamis.assess import compare
from tamis.stop import MonteCarloProbe
from tests.oracles import zero_norm as oracle

SEEDS = st.integers(0, 2**20)
LOSSES = ["squared_hinge", "hinge", "squared"]


def make_classes(n=40, d=8, seed=0, noise=0.7):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, (X[:, 0] - X[:, d // 2] + noise * rng.randn(n) > 0).astype(int)


def make_quantity(n=40, d=8, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, 3.0 + X[:, 0] - 2.0 * X[:, d // 2] + 0.3 * rng.randn(n)


def standardized(X):
    return StandardScaler().fit_transform(X)


def targets(y):
    classes = np.unique(y)
    return np.stack([np.where(y == c, 1.0, -1.0) for c in (classes[1:] if classes.size == 2 else classes)], axis=1)


def order_of(history):
    """Features by the last round in which they have a factor, and by the size of it."""
    alive = np.array(history) > 0
    last = np.where(alive.any(axis=0), len(history) - 1 - np.argmax(alive[::-1], axis=0), -1)
    size = np.array([history[last[j]][j] for j in range(alive.shape[1])])
    return np.lexsort([-size, -last]).tolist()


# the loop


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("shape", [(40, 8), (15, 30)], ids=["primal", "dual"])
def test_factors_are_those_of_a_loop_around_other_machines(shape, C, loss):
    X, y = make_classes(*shape)
    found = ZeroNorm(C=C, loss=loss, max_iter=60, tol=1e-4).fit(X, y)
    history = oracle.scaling_factors(standardized(X), targets(y), C, loss, tol=1e-4, max_iter=60)
    assert found.certificate_["n_iter"] == len(history) - 1
    np.testing.assert_allclose(found.sigma_, history[-1], rtol=1e-3, atol=1e-4)
    assert found.order_.tolist() == order_of(history)
    assert found.n_chosen_ == np.count_nonzero(history[-1])


@pytest.mark.parametrize("shape", [(40, 8), (15, 30)], ids=["primal", "dual"])
def test_factors_of_a_quantity_are_those_of_a_loop_around_ridge_regression(shape):
    X, y = make_quantity(*shape)
    found = ZeroNorm(C=1.0, tol=1e-4).fit(X, y)
    Y = ((y - y.mean()) / y.std())[:, None]
    history = oracle.scaling_factors(standardized(X), Y, 1.0, "squared", tol=1e-4)
    assert found.certificate_["n_iter"] == len(history) - 1
    np.testing.assert_allclose(found.sigma_, history[-1], rtol=1e-5, atol=1e-6)
    assert found.order_.tolist() == order_of(history)
    kept = np.flatnonzero(found.get_support())
    Z = standardized(X)[:, kept]
    Z = Z / np.sqrt(kept.size)
    w, _ = oracle.train(Z, Y[:, 0], 1.0, "squared")
    np.testing.assert_allclose(found.coef_[kept] * X[:, kept].std(axis=0) / y.std(), w / np.sqrt(kept.size), rtol=1e-6)
    predicted = y.mean() + y.std() * Z @ w
    np.testing.assert_allclose(found.estimator_.predict(found.transform(X)), predicted, rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_several_classes_share_their_factors(loss):
    X, _ = make_classes(60, 8)
    y = np.digitize(X[:, 0] + X[:, 3], [-0.7, 0.7])
    found = ZeroNorm(loss=loss).fit(X, y)
    history = oracle.scaling_factors(standardized(X), targets(y), 1.0, loss)
    np.testing.assert_allclose(found.sigma_, history[-1], rtol=1e-3, atol=1e-4)
    assert found.order_.tolist() == order_of(history)
    assert found.coef_.shape == (3, 8)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_model_is_a_machine_on_the_selected_features(loss):
    X, y = make_classes()
    found = ZeroNorm(loss=loss, C=2.0, stop=3).fit(X, y)
    kept = np.flatnonzero(found.get_support())
    Z = standardized(X)[:, kept] / np.sqrt(3)
    w, b = oracle.train(Z, targets(y)[:, 0], 2.0, loss)
    np.testing.assert_allclose(found.coef_[0, kept] * X[:, kept].std(axis=0), w / np.sqrt(3), rtol=1e-4, atol=1e-6)
    outputs = Z @ w + b
    np.testing.assert_allclose(
        found.estimator_.decision_function(found.transform(X))[:, 0], outputs, rtol=1e-3, atol=1e-4
    )


# fixed points


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [(40, 8), (15, 30)], ids=["primal", "dual"])
def test_weights_of_scaled_columns_are_equal_at_the_end(shape, loss):
    X, y = make_classes(*shape)
    found = ZeroNorm(loss=loss, tol=1e-7, max_iter=2000).fit(X, y)
    assert found.certificate_["imbalance"] < 1e-5
    assert found.certificate_["change"] <= 1e-7
    left = found.sigma_ > 0
    Z = standardized(X)[:, left] * found.sigma_[left] / np.sqrt(X.shape[1])
    w, _ = oracle.train(Z, targets(y)[:, 0], 1.0, loss)
    np.testing.assert_allclose(np.abs(w), np.abs(w).mean(), rtol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_the_sum_of_squared_factors_stays(max_iter, kernel):
    X, y = make_classes()
    X[:, 2] = 1.0
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        found = ZeroNorm(max_iter=max_iter, kernel=kernel, tol=1e-12).fit(X, y)
    assert np.sum(found.sigma_**2) == pytest.approx(7.0)
    assert found.sigma_[2] == 0.0
    assert not found.certificate_["converged"]


def test_a_sparse_separator_is_recovered():
    rng = np.random.RandomState(0)
    X = rng.randn(80, 300)
    planted = [3, 50, 110, 270]
    y = (X[:, planted] @ [1.0, -1.0, 1.0, 1.0] > 0).astype(int)
    found = ZeroNorm(stop=4, C=1.0).fit(X, y)
    assert sorted(np.flatnonzero(found.get_support()).tolist()) == planted


@pytest.mark.parametrize("loss", [*LOSSES, "sparse_fisher"])
@pytest.mark.parametrize("k", [1, 2, 5, 11])
def test_a_number_of_features_ends_the_rounds_before_fewer_are_left(k, loss):
    X, y = make_classes(30, 40)
    found = ZeroNorm(stop=k, loss=loss).fit(X, y)
    assert found.get_support().sum() == k
    assert np.count_nonzero(np.any(found.coef_ != 0, axis=0)) <= k
    if loss == "sparse_fisher":
        return
    history = oracle.scaling_factors(standardized(X), targets(y), 1.0, loss, fewest=k)
    assert np.count_nonzero(history[-1]) >= k
    assert set(found.order_[:k]) <= set(np.flatnonzero(history[-1]))


def test_features_that_last_longest_are_first():
    X, y = make_classes(30, 40)
    found = ZeroNorm(stop=None).fit(X, y)
    assert np.all(np.diff(found.scores_[found.order_]) <= 0)
    assert len(found.order_) == 40


# kernels


@pytest.mark.parametrize("loss", LOSSES)
def test_a_polynomial_of_degree_one_is_the_linear_kernel(loss):
    X, y = make_classes(20, 30)
    plain = ZeroNorm(loss=loss).fit(X, y)
    other = ZeroNorm(loss=loss, kernel="poly", degree=1).fit(X, y)  # gamma is one over the number of features
    np.testing.assert_allclose(other.sigma_, plain.sigma_, rtol=1e-5, atol=1e-7)
    assert other.order_.tolist() == plain.order_.tolist()
    np.testing.assert_allclose(
        other.estimator_.decision_function(other.transform(X)),
        plain.estimator_.decision_function(plain.transform(X)),
        atol=1e-6,
    )


@pytest.mark.parametrize(("kernel", "n"), [("rbf", 150), ("poly", 100)])
def test_both_variables_of_a_product_are_found(kernel, n):
    rng = np.random.RandomState(0)
    X = rng.randn(n, 12)
    y = (X[:, 3] * X[:, 7] > 0).astype(int)
    found = ZeroNorm(stop=2, kernel=kernel, degree=2, coef0=1.0, max_iter=500).fit(X, y)
    assert set(np.flatnonzero(found.get_support())) == {3, 7}
    predicted = found.estimator_.predict(found.transform(X))
    assert np.mean(predicted == y) > 0.9
    assert not hasattr(found, "coef_")


def test_a_kernel_of_a_quantity():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (80, 8))
    y = 1e3 * X[:, 2] ** 2 + 5e3
    found = ZeroNorm(stop=1, kernel="rbf").fit(X, y)
    assert np.flatnonzero(found.get_support()).tolist() == [2]
    predicted = found.estimator_.predict(found.transform(X))
    assert np.corrcoef(predicted, y)[0, 1] > 0.9
    assert abs(np.mean(predicted - y)) < 0.1 * y.std()


def test_factors_that_go_back_and_forth_settle():
    """The full update of a polynomial kernel has a cycle of two here; shorter ones have the same fixed point."""
    rng = np.random.RandomState(0)
    X = rng.randn(40, 12)
    rng.randn(40)
    y = X[:, 0] - 2 * X[:, 3] + 0.1 * rng.randn(40)
    found = ZeroNorm(kernel="poly", tol=1e-6, max_iter=300).fit(X, y)
    assert found.certificate_["change"] <= 1e-6
    assert found.certificate_["imbalance"] < 1e-3
    assert set(np.flatnonzero(found.sigma_)) == {0, 3}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_fisher_without_anything_to_explain(kernel):
    X, y = np.tile([[1.0, 0.0], [-1.0, 0.0]], (10, 1)), np.repeat([0, 1], 10)
    found = ZeroNorm(loss="sparse_fisher", kernel=kernel).fit(X, y)
    assert found.certificate_["converged"]


def test_sparse_tables_are_refused_with_a_kernel():
    X, y = make_classes()
    with pytest.raises(ValueError, match=r"kernel='rbf'.*toarray"):
        ZeroNorm(kernel="rbf").fit(sparse.csr_array(X), y)


# weights, groups, layouts


@pytest.mark.parametrize("loss", [*LOSSES, "sparse_fisher"])
@pytest.mark.parametrize("shape", [(40, 8), (20, 60)], ids=["primal", "dual"])
def test_weights_of_rows_are_repetitions(shape, loss):
    X, y = make_classes(*shape)
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = ZeroNorm(loss=loss).fit(X, y, sample_weight=weight)
    repeated = ZeroNorm(loss=loss).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.sigma_, repeated.sigma_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_weights_of_rows_are_repetitions_for_the_width_of_a_kernel_too(kernel):
    X, y = make_classes()
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    machine = ZeroNorm(kernel=kernel, loss="squared", tol=0.5)
    weighted, repeated = clone(machine).fit(X, y, sample_weight=weight), clone(machine).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.sigma_, repeated.sigma_, rtol=1e-6, atol=1e-8)
    outputs = [found.estimator_.decision_function(found.transform(X)) for found in (weighted, repeated)]
    np.testing.assert_allclose(*outputs, rtol=1e-6, atol=1e-8)


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = make_classes()
    by_class = ZeroNorm(class_weight={1: 3.0}).fit(X, y)
    by_row = ZeroNorm().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.sigma_, by_row.sigma_)


@pytest.mark.parametrize("loss", [*LOSSES, "sparse_fisher"])
@pytest.mark.parametrize("shape", [(40, 8), (20, 60)], ids=["primal", "dual"])
def test_sparse_tables_give_the_same(shape, loss):
    X, y = make_classes(*shape)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, thin = ZeroNorm(loss=loss, stop=5).fit(X, y), ZeroNorm(loss=loss, stop=5).fit(sparse.csr_array(X), y)
    if loss == "sparse_fisher":  # whose penalty is one of dual variables, which centering changes
        assert thin.get_support().sum() == 5
        return
    np.testing.assert_allclose(thin.sigma_, dense.sigma_, rtol=1e-4, atol=1e-6)
    assert thin.order_.tolist() == dense.order_.tolist()
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, rtol=1e-4, atol=1e-6)
    outputs = dense.estimator_.decision_function(dense.transform(X))
    np.testing.assert_allclose(outputs[:, 0], (X @ dense.coef_[0]) + dense.intercept_[0], atol=1e-8)


def test_columns_of_a_group_have_one_factor():
    X, y = make_classes(40, 12)
    groups = np.repeat(np.arange(4), 3)
    found = ZeroNorm(groups=groups).fit(X, y)
    history = oracle.scaling_factors(standardized(X), targets(y), groups=groups)
    np.testing.assert_allclose(found.sigma_, history[-1], rtol=1e-3, atol=1e-4)
    assert np.all(found.sigma_.reshape(4, 3) == found.sigma_.reshape(4, 3)[:, :1])
    assert set(groups[found.order_[:6]]) == {0, 2}
    one = ZeroNorm(groups=groups, stop=1).fit(X, y)
    assert one.get_support().sum() == 3


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_columns_in_another_order_and_units(seed):
    X, y = make_classes(25, 8, seed=seed % 1000)
    rng = np.random.RandomState(seed)
    order, unit = rng.permutation(8), 10.0 ** rng.uniform(-50, 50, 8) * rng.choice([-1.0, 1.0], 8)
    plain, other = ZeroNorm().fit(X, y), ZeroNorm().fit(X[:, order] * unit, y)
    np.testing.assert_allclose(other.sigma_, plain.sigma_[order], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(other.coef_[0] * unit, plain.coef_[0][order], rtol=1e-4, atol=1e-6)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_copies_and_constants_have_no_factor(seed):
    X, y = make_classes(25, 6, seed=seed % 1000)
    plain = ZeroNorm().fit(X, y)
    more = ZeroNorm().fit(np.column_stack([X, X[:, ::-1], np.ones(25)]), y)
    np.testing.assert_allclose(more.sigma_[:6], plain.sigma_, rtol=1e-9)
    assert not more.sigma_[6:].any()
    assert np.array_equal(more.order_, plain.order_)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_any_units(kernel, unit):
    X, y = make_classes()
    plain, other = ZeroNorm(kernel=kernel).fit(X, y), ZeroNorm(kernel=kernel).fit(X * unit, y)
    np.testing.assert_allclose(other.sigma_, plain.sigma_, rtol=1e-6, atol=1e-9)
    assert np.array_equal(
        other.estimator_.predict(other.transform(X * unit)), plain.estimator_.predict(plain.transform(X))
    )
    X, y = make_quantity()
    for arguments in ({}, {"C": "auto"}, {"early_stopping": True, "random_state": 0}):
        plain = ZeroNorm(kernel=kernel, **arguments).fit(X, y)
        other = ZeroNorm(kernel=kernel, **arguments).fit(X, y * unit)
        np.testing.assert_allclose(other.sigma_, plain.sigma_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.bool_])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_tables_of_other_types(kernel, kind):
    X, y = make_classes()
    X = (np.round(3 * X) if kind is not np.bool_ else X > 0).astype(kind)
    found, plain = ZeroNorm(kernel=kernel).fit(X, y), ZeroNorm(kernel=kernel).fit(X.astype(float), y)
    np.testing.assert_allclose(found.sigma_, plain.sigma_, rtol=1e-5, atol=1e-6)


# cost and rounds by held-out rows


def test_cost_by_cross_validation_as_by_hand():
    X, y = make_classes(60, 10, noise=1.0)
    found = ZeroNorm(C="auto", stop=2, cv=4).fit(X, y)
    errors = {}
    for C in 10.0 ** np.arange(-2.0, 4.0):
        errors[C] = np.mean(
            [
                np.mean(one.estimator_.predict(one.transform(X[test])) != y[test])
                for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)
                for one in [ZeroNorm(C=C, stop=2).fit(X[train], y[train])]
            ]
        )
    assert min(C for C in errors if errors[C] == min(errors.values())) == found.C_
    np.testing.assert_allclose(found.coef_, ZeroNorm(C=found.C_, stop=2).fit(X, y).coef_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_early_stopping_takes_the_round_with_the_fewest_errors_on_held_out_rows(kernel):
    X, y = make_classes(60, 30, noise=1.0)
    found = ZeroNorm(early_stopping=True, validation_fraction=0.3, random_state=3, kernel=kernel).fit(X, y)
    train, test = train_test_split(np.arange(60), test_size=0.3, stratify=y, random_state=np.random.RandomState(3))
    if kernel == "rbf":
        assert found.certificate_["n_iter"] < ZeroNorm(kernel=kernel).fit(X, y).certificate_["n_iter"]
        return
    scaler = StandardScaler().fit(X[train])
    Z, s = scaler.transform(X), targets(y)
    errors = []
    for sigma in oracle.scaling_factors(Z[train], s[train])[:-1]:
        w, b = oracle.train(Z[train] * sigma / np.sqrt(30), s[train, 0], 1.0, "squared_hinge")
        errors.append(np.mean(s[test, 0] * (Z[test] * sigma / np.sqrt(30) @ w + b) <= 0))
    best = np.flatnonzero(np.array(errors) <= min(errors))[-1] + 1
    assert found.certificate_["n_iter"] == min(best, ZeroNorm().fit(X, y).certificate_["n_iter"])
    assert found.n_chosen_ >= ZeroNorm().fit(X, y).n_chosen_


# small, odd and bad input


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1]),
        (np.array([[0.0], [1.0], [3.0]]), ["a", "b", "b"]),
        (np.array([[0.0, 2.0], [1.0, 2.5]]), [0.5, 1.7]),
        (np.eye(5), [0, 1, 2, 3, 4]),
    ],
)
def test_tables_of_a_few_rows(X, y, kernel):
    for arguments in ({"C": 10.0}, {"C": "auto"}, {"early_stopping": True}, {"stop": 1}):
        found = ZeroNorm(kernel=kernel, **arguments).fit(X, y)
        predicted = found.estimator_.predict(found.transform(X))
        assert len(predicted) == len(y)
        if not isinstance(y[0], float):
            assert set(predicted.tolist()) <= set(y)


@pytest.mark.parametrize("C", [1e-10, 1e8])
@pytest.mark.parametrize("loss", LOSSES)
def test_very_large_and_very_small_costs(loss, C):
    X, y = make_classes(20, 60)
    found = ZeroNorm(C=C, loss=loss, stop=3).fit(X, y)
    assert found.get_support().sum() == 3
    assert found.certificate_["converged"]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_columns_that_vary_only_in_rows_that_are_left_out(kernel):
    X, y = np.zeros((12, 2)), np.arange(12) % 2
    X[3, 1] = 1.0
    for arguments in ({"C": "auto"}, {"early_stopping": True, "random_state": 0}):
        for target in (y, y + 0.1 * np.arange(12)):
            found = ZeroNorm(kernel=kernel, **arguments).fit(X, target)
            assert found.order_.tolist() == [1]


def test_heavy_imbalance():
    X, y = make_classes(60, 8)
    y[:] = 0
    y[[4, 9]] = 1
    for arguments in ({}, {"C": "auto"}, {"early_stopping": True}, {"class_weight": "balanced"}, {"loss": "hinge"}):
        found = ZeroNorm(stop=2, **arguments).fit(X, y)
        assert found.get_support().sum() == 2


@pytest.mark.parametrize("arguments", [{}, {"kernel": "rbf"}])
def test_with_rules_and_in_a_comparison(arguments):
    X, y = make_classes(50, 8)
    method = ZeroNorm(**arguments)
    probed = method.set_params(stop=MonteCarloProbe(n_draws=19, random_state=0)).fit(X, y)
    assert 0 < probed.get_support().sum() <= 8
    validated = method.set_params(stop="cross-validation").fit(X, y)
    assert 0 < validated.get_support().sum() <= 8
    assert "ZeroNorm" in str(compare([ZeroNorm(**arguments)], X, y, ks=(2, 4), n_seeds=1, n_random=10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"C": np.inf}, "'C' parameter"),
        ({"kernel": "sigmoid"}, "'kernel' parameter"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"degree": 0}, "'degree' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"loss": "logistic"}, "'loss' parameter"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        ZeroNorm(**arguments).fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "sparse_fisher"])
def test_losses_of_classes_are_refused_for_a_quantity(loss):
    X, y = make_quantity()
    with pytest.raises(ValueError, match=f"loss='{loss}' is for classes.*use loss='squared'"):
        ZeroNorm(loss=loss).fit(X, y)


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {"kernel": "rbf"}])
def test_a_kernel_matrix_that_memory_cannot_hold_is_refused(options):
    X = np.random.RandomState(0).standard_normal((30_000, 2))
    with pytest.raises(ValueError, match=r"30000 rows takes 7 GiB.*at most 23170 rows, or use kernel='linear'"):
        ZeroNorm(**options).fit(X, X[:, 0] > 0)
