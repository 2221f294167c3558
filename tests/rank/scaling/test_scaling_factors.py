"""Scaling factors by a bound: derivatives by differences, minima, discarding, and the link with elimination."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from tamis import RFE, ScalingFactors
from tamis.kernels.solvers.feature_kernel import AdditiveKernel
from tamis.rank.scaling._bound_descent import ScaledCriterion, minimize_criterion
from tamis.rank.scaling._svm_criteria import BallMargin, RadiusMargin, Span, ValidationLoss
from tamis.stop import MonteCarloProbe
from tests.oracles import scaling_factors as oracle

KERNELS = ["linear", "rbf", "poly"]
CRITERIA = ["variance", "ball", "span", "validation"]
FOLDS = [(np.arange(12), np.arange(12, 24)), (np.arange(12, 24), np.arange(12))]


def make_classes(n=40, d=8, seed=0, noise=0.7):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, (X[:, 0] - X[:, d // 2] + noise * rng.randn(n) > 0).astype(int)


def make_product(n=100, d=12, seed=0):
    X = np.random.RandomState(seed).randn(n, d)
    return X, (X[:, 3] * X[:, 7] > 0).astype(int)


def signs_of(y):
    classes = np.unique(y)
    return np.array([np.where(y == c, 1.0, -1.0) for c in (classes[1:] if classes.size == 2 else classes)])


def pose(kernel, name, n_classes=2, total=None, weights=None, groups=None):
    rng = np.random.RandomState(3)
    A = rng.randn(24, 5)
    y = np.digitize(A[:, 0] + 0.5 * rng.randn(24), [0.0] if n_classes == 2 else [-0.5, 0.5])
    machines = (signs_of(y), 2.0, np.ones(24) if weights is None else weights, 1e-12)
    criterion = {
        "variance": lambda: RadiusMargin(*machines),
        "ball": lambda: BallMargin(*machines),
        "span": lambda: Span(*machines),
        "validation": lambda: ValidationLoss(*machines, FOLDS),
    }[name]()
    function = AdditiveKernel(kernel, 1.0 if kernel == "linear" else 0.3, 3.0, 1.0)
    owner = np.arange(5) if groups is None else np.asarray(groups)
    return ScaledCriterion(A, owner, function, criterion, total), y


def differences(function, at, h=1e-5):
    return np.array([(function(at + h * e) - function(at - h * e)) / (2 * h) for e in np.eye(at.size)])


# criteria and derivatives


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_criteria_are_those_of_svms_trained_from_scratch(kernel, name, n_classes):
    scaled, y = pose(kernel, name, n_classes)
    for s in np.random.RandomState(0).uniform(0.2, 2.0, (3, 5)):  # warm starts from the point before
        K = oracle.kernel_matrix(scaled.A * np.sqrt(s), kernel, scaled.function.gamma, coef0=1.0)
        expected = oracle.criterion(K, signs_of(y), 2.0, name, FOLDS)
        assert scaled.evaluate(s)[0] == pytest.approx(expected, rel=1e-7)
        assert scaled.criterion.value(K) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("total", [None, 5.0], ids=["free", "normalized"])
def test_gradients_are_those_of_differences(kernel, name, total):
    weights = np.random.RandomState(1).randint(1, 4, 24).astype(float)
    scaled, _ = pose(kernel, name, 3, total, weights)
    s = np.random.RandomState(0).uniform(0.5, 1.5, 5)
    gradient = scaled.evaluate(s)[1]
    by_difference = differences(lambda t: scaled.evaluate(t)[0], s)
    np.testing.assert_allclose(gradient, by_difference, atol=1e-6 * np.abs(by_difference).max(), rtol=1e-6)


@pytest.mark.parametrize("name", ["variance", "span"])
def test_the_gradient_of_a_group_is_that_of_its_common_factor(name):
    scaled, _ = pose("rbf", name, groups=[0, 0, 1, 2, 1])
    t = np.array([0.7, 1.2, 0.4])
    by_difference = differences(lambda t: scaled.evaluate(t)[0], t)
    np.testing.assert_allclose(scaled.evaluate(t)[1], by_difference, rtol=1e-6)


@pytest.mark.parametrize("name", ["variance", "ball"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_second_order_saliencies_hold_second_derivatives(kernel, name):
    scaled, _ = pose(kernel, name, 3)
    s = np.random.RandomState(0).uniform(0.5, 1.5, 5)
    gradient = scaled.evaluate(s)[1]
    hessian = differences(lambda t: scaled.evaluate(t)[1], s)
    np.testing.assert_allclose(
        scaled.second_order(s), -s * gradient + 0.5 * s**2 * np.diagonal(hessian), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("kernel", KERNELS)
def test_increases_are_those_of_svms_trained_without_each(kernel, name):
    scaled, _ = pose(kernel, name)
    s = np.random.RandomState(0).uniform(0.5, 1.5, 5)
    before = scaled.evaluate(s)[0]
    without = [scaled.evaluate(np.where(np.arange(5) == p, 0.0, s))[0] for p in range(5)]
    np.testing.assert_allclose(scaled.increases(s), np.array(without) - before, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_criterion_never_gets_worse_along_the_iterations(kernel, name):
    scaled, _ = pose(kernel, name, total=5.0 if kernel == "linear" else None)
    found = minimize_criterion(scaled, np.ones(5), 30, 1e-6)
    assert np.all(np.diff(found.history) <= 1e-12 * found.start)
    assert found.value == pytest.approx(min(found.history))
    assert found.value < found.start


# the method


@pytest.mark.parametrize("radius", ["variance", "ball"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_certificate_is_the_projected_gradient_of_the_bound(kernel, radius):
    X, y = make_classes(24, 5)
    found = ScalingFactors(stop=4, kernel=kernel, radius=radius, tol=1e-6, max_iter=2000, coef0=1.0).fit(X, y)
    assert found.certificate_["converged"]
    assert found.certificate_["gradient"] < 1e-5
    Z, s, kept = StandardScaler().fit_transform(X), found.sigma_**2, np.flatnonzero(found.get_support())

    def bound(squares):
        if kernel == "linear":
            squares = squares * 5 / squares.sum()
        K = oracle.kernel_matrix(Z[:, kept] * np.sqrt(squares), kernel, 0.2, coef0=1.0)
        return oracle.criterion(K, signs_of(y), 1.0, radius)

    assert bound(s[kept]) == pytest.approx(found.certificate_["bound"], rel=1e-6)
    assert not np.delete(s, kept).any()
    for p in range(kept.size):
        for step in (-1e-2, 1e-2):
            moved = s[kept].copy()
            moved[p] = max(moved[p] + step, 0.0)
            assert bound(moved) >= found.certificate_["bound"] * (1 - 1e-6)


def test_a_gradient_step_with_a_linear_kernel_is_a_step_of_recursive_elimination():
    X, y = make_classes(30, 12)
    Z = StandardScaler().fit_transform(X)
    criterion = RadiusMargin(signs_of(y), 1.0, np.ones(30), 1e-12)
    scaled = ScaledCriterion(Z, np.arange(12), AdditiveKernel("linear", 1.0, 3.0, 0.0), criterion, None)
    value, gradient = scaled.evaluate(np.ones(12))
    v = criterion._svms.solutions[0].dual
    w = Z.T @ v
    radius2 = 12 + 1 - 1 / 30  # of the columns, and of the ridge
    norm2 = value / (4 * radius2)
    np.testing.assert_allclose(gradient, 4 * (norm2 - radius2 * w**2), rtol=1e-8)
    worst = RFE(stop=11, C=1.0).fit(X, y)
    first_out = np.flatnonzero(~worst.get_support())[0]
    assert np.argmin(w**2) == first_out
    assert np.argmax(gradient) == first_out


@pytest.mark.parametrize("discard", ["factor", "increase", "second-order"])
@pytest.mark.parametrize("radius", ["variance", "ball"])
def test_both_variables_of_a_product_are_found(discard, radius):
    X, y = make_product()
    found = ScalingFactors(stop=2, discard=discard, radius=radius, step=0.3).fit(X, y)
    assert set(found.order_[:2]) == {3, 7}
    assert np.mean(found.estimator_.predict(found.transform(X)) == y) > 0.9
    assert not hasattr(found, "coef_")


@pytest.mark.parametrize(
    "arguments",
    [{"criterion": "span"}, {"criterion": "validation"}, {"kernel": "poly", "degree": 2, "coef0": 1.0}],
)
def test_both_variables_of_a_product_are_found_by_other_criteria_and_kernels(arguments):
    X, y = make_product()
    assert set(ScalingFactors(stop=2, tol=1e-2, **arguments).fit(X, y).order_[:2]) == {3, 7}


def test_its_own_choice_is_the_round_with_the_smallest_bound():
    X, y = make_product()
    found = ScalingFactors().fit(X, y)
    sizes = [12, 6, 3, 2, 1]
    assert len(found.bounds_) == len(sizes)
    assert np.all(found.bounds_[:, 1] <= found.bounds_[:, 0])
    assert found.n_chosen_ == sizes[int(np.argmin(found.bounds_[:, 1]))]
    assert found.get_support().sum() == found.n_chosen_


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("k", [1, 3, 7, 20])
def test_a_number_of_features_ends_the_rounds_with_exactly_as_many(k, kernel):
    X, y = make_classes(30, 20)
    found = ScalingFactors(stop=k, kernel=kernel, tol=0.01).fit(X, y)
    assert found.get_support().sum() == k
    assert set(np.flatnonzero(found.sigma_)) <= set(found.order_[:k])
    assert np.all(np.diff(found.scores_[found.order_]) <= 0)


def test_the_sum_of_squared_factors_of_a_linear_kernel_stays():
    X, y = make_classes(30, 20)
    X[:, 3] = 2.0
    for stop in (2, 5, "auto"):
        found = ScalingFactors(stop=stop, kernel="linear").fit(X, y)
        assert np.sum(found.sigma_**2) == pytest.approx(19.0)
        assert found.sigma_[3] == 0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_model_is_an_svm_on_scaled_columns(kernel):
    X, y = make_classes(40, 8)
    found = ScalingFactors(stop=3, kernel=kernel, C=2.0).fit(X, y)
    kept = np.flatnonzero(found.get_support())
    Z = StandardScaler().fit_transform(X)[:, kept] * found.sigma_[kept]
    K = oracle.kernel_matrix(Z, kernel, 1 / 8)
    v, b = oracle.svm_bounds.train(K, signs_of(y)[0], 0.5)
    outputs = found.estimator_.decision_function(found.transform(X))[:, 0]
    np.testing.assert_allclose(outputs, K @ v + b, rtol=1e-6, atol=1e-7)
    if kernel == "linear":
        np.testing.assert_allclose(X @ found.coef_[0] + found.intercept_[0], outputs, rtol=1e-6, atol=1e-8)


def test_several_classes_share_their_factors():
    X, _ = make_classes(60, 8)
    y = np.digitize(X[:, 0] + X[:, 3], [-0.7, 0.7])
    for kernel in KERNELS:
        found = ScalingFactors(stop=2, kernel=kernel, coef0=1.0).fit(X, y)
        assert set(found.order_[:2]) == {0, 3}
        assert np.mean(found.estimator_.predict(found.transform(X)) == y) > 0.8


# weights, groups, layouts


@pytest.mark.parametrize("radius", ["variance", "ball"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_of_rows_are_repetitions(kernel, radius):
    X, y = make_classes(30, 8)
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    method = ScalingFactors(stop=3, kernel=kernel, radius=radius)
    weighted = method.fit(X, y, sample_weight=weight)
    sigma, order = weighted.sigma_, weighted.order_
    repeated = method.fit(X[rows], y[rows])
    np.testing.assert_allclose(sigma, repeated.sigma_, rtol=1e-5, atol=1e-6)
    assert order.tolist() == repeated.order_.tolist()


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = make_classes()
    by_class = ScalingFactors(stop=3, class_weight={1: 3.0}).fit(X, y)
    by_row = ScalingFactors(stop=3).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.sigma_, by_row.sigma_)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"criterion": "span"},
        {"criterion": "validation"},
        {"radius": "ball"},
        {"discard": "second-order"},
        {"discard": "increase"},
    ],
)
def test_sparse_tables_give_the_same(arguments):
    X, y = make_classes(30, 40)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    method = ScalingFactors(stop=5, kernel="linear", **arguments)
    dense = method.fit(X, y)
    sigma, order, coef, intercept = dense.sigma_, dense.order_, dense.coef_, dense.intercept_
    thin = method.fit(sparse.csr_array(X), y)
    assert thin.order_[:5].tolist() == order[:5].tolist()
    np.testing.assert_allclose(thin.sigma_, sigma, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(thin.coef_, coef, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(thin.intercept_, intercept, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_groups_of_one_are_columns_and_larger_ones_share_a_factor(kernel):
    X, y = make_classes(40, 12)
    plain = ScalingFactors(stop=3, kernel=kernel).fit(X, y)
    alone = ScalingFactors(stop=3, kernel=kernel, groups=np.arange(12)).fit(X, y)
    np.testing.assert_allclose(alone.sigma_, plain.sigma_, rtol=1e-6, atol=1e-9)
    groups = np.repeat(np.arange(4), 3)
    for discard in ("factor", "increase", "second-order"):
        found = ScalingFactors(stop=2, kernel=kernel, groups=groups, discard=discard).fit(X, y)
        assert discard == "second-order" or set(groups[found.order_[:6]]) == {0, 2}
        assert np.all(found.sigma_.reshape(4, 3) == found.sigma_.reshape(4, 3)[:, :1])


@pytest.mark.parametrize("kernel", KERNELS)
def test_columns_in_another_order_and_units_copies_and_constants(kernel):
    X, y = make_classes(25, 8)
    rng = np.random.RandomState(0)
    order, unit = rng.permutation(8), 10.0 ** rng.uniform(-50, 50, 8) * rng.choice([-1.0, 1.0], 8)
    method = ScalingFactors(stop=3, kernel=kernel)
    plain = method.fit(X, y).sigma_
    np.testing.assert_allclose(method.fit(X[:, order] * unit, y).sigma_, plain[order], rtol=1e-4, atol=1e-5)
    more = method.fit(np.column_stack([X, X[:, ::-1], np.ones(25)]), y)
    np.testing.assert_allclose(more.sigma_[:8], plain, rtol=1e-9)
    assert not more.sigma_[8:].any()


def test_folds_may_be_given_as_one_validation_set():
    X, y = make_classes(60, 8)
    train, test = next(StratifiedKFold(3).split(X, y))
    found = ScalingFactors(stop=2, criterion="validation", cv=[(train, test)], tol=1e-2).fit(X, y)
    assert set(found.order_[:2]) == {0, 4}


def test_with_rules():
    X, y = make_classes(50, 8)
    for stop in (MonteCarloProbe(n_draws=19, random_state=0), "cross-validation"):
        found = ScalingFactors(stop=stop).fit(X, y)
        assert 0 < found.get_support().sum() <= 8
        assert len(found.estimator_.predict(found.transform(X))) == 50


# small, odd and bad input


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1]),
        (np.array([[0.0], [1.0], [3.0]]), ["a", "b", "b"]),
        (np.eye(5), [0, 1, 2, 3, 4]),
    ],
)
def test_tables_of_a_few_rows(X, y, kernel):
    for arguments in ({}, {"stop": 1}, {"stop": 1, "criterion": "span"}, {"radius": "ball"}):
        found = ScalingFactors(kernel=kernel, tol=0.5, **arguments).fit(X, y)
        assert set(found.estimator_.predict(found.transform(X)).tolist()) <= set(y)


def test_a_descent_that_is_cut_warns():
    X, y = make_classes(40, 8)
    with pytest.warns(ConvergenceWarning, match="raise max_iter=1"):
        found = ScalingFactors(stop=4, round_iter=1, max_iter=1, tol=1e-9).fit(X, y)
    assert not found.certificate_["converged"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": np.inf}, "'C' parameter"),
        ({"kernel": "sigmoid"}, "'kernel' parameter"),
        ({"criterion": "loo"}, "'criterion' parameter"),
        ({"discard": "random"}, "'discard' parameter"),
        ({"step": 1.5}, "'step' parameter"),
        ({"round_iter": 0}, "'round_iter' parameter"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
        ({"discard": "second-order", "criterion": "span"}, "second-order.*no closed form"),
        ({"kernel": "poly", "degree": 2.5}, "kernel='poly' is not finite"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        ScalingFactors(**arguments).fit(X, y)


def test_quantities_too_few_rows_and_sparse_kernels_are_refused():
    X, y = make_classes()
    with pytest.raises(ValueError, match="explains classes, but y holds quantities"):
        ScalingFactors().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"kernel='rbf'.*toarray"):
        ScalingFactors().fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="criterion='validation' needs every class"):
        ScalingFactors(criterion="validation").fit(X[:2], [0, 1])
    with pytest.raises(ValueError, match="30000 rows takes 7 GiB"):
        ScalingFactors(kernel="linear", max_samples=None).fit(
            np.ones((30_000, 2)) * [[1.0, 2.0]] + np.arange(30_000)[:, None], np.arange(30_000) % 2
        )
