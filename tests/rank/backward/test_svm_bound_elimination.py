"""Elimination by bounds on the leave-one-out error of support vector machines."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from tamis.kernels.solvers.feature_kernel import FeatureKernel
from tamis.rank.backward._rfe import RFE
from tamis.rank.backward._svm_bound_elimination import SVMBoundElimination
from tests.oracles import svm_bounds as oracle


def make_data(n_samples=16, n_features=5, n_classes=2, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n_samples) % n_classes
    X = rng.standard_normal((n_samples, n_features))
    X[:, 1] += 1.5 * y
    X[:, 3] -= 1.0 * (y == 1)
    return X, y


def kernel_matrix(Z, kernel, gamma):
    return FeatureKernel(Z, kernel, gamma=gamma).matrix


def signs_of(y):
    classes = np.unique(y)
    return [np.where(y == label, 1.0, -1.0) for label in (classes[1:] if len(classes) == 2 else classes)]


def bound_without(name, K_before, K_after, y, ridge, retrain):
    """Bound on the matrix without a feature, with weights from the one or the other matrix."""
    K_train = K_after if retrain else K_before
    Q = K_after + ridge * np.eye(len(y))
    dual, _ = oracle.train(K_train, y, ridge)
    if name == "span":
        return oracle.span_terms(K_after, y, dual, ridge).sum()
    weights = oracle.enclose(K_train, ridge)[0] if name == "ball" else np.full(len(y), 1 / len(y))
    radius2 = weights @ np.diagonal(Q) - weights @ Q @ weights
    return 4 * radius2 * (2 * np.abs(dual).sum() - dual @ Q @ dual)


def eliminate(Z, y, name, kernel, gamma, ridge, retrain):
    """Features and bounds without them in the order in which they go, the slow way."""
    left, gone = list(range(Z.shape[1])), []
    while left:
        before = kernel_matrix(Z[:, left], kernel, gamma)
        bounds = []
        for feature in left:
            after = kernel_matrix(Z[:, [j for j in left if j != feature]], kernel, gamma)
            bounds.append(sum(bound_without(name, before, after, s, ridge, retrain) for s in signs_of(y)))
        worst = int(np.argmin(bounds))
        gone.append((left.pop(worst), bounds[worst]))
    return gone


@pytest.mark.parametrize("criterion", ["fixed", "retrain"])
@pytest.mark.parametrize("name", ["ball", "variance", "span"])
@pytest.mark.parametrize(("kernel", "n_classes"), [("linear", 2), ("linear", 3), ("rbf", 2), ("rbf", 3)])
def test_features_leave_as_in_a_slow_loop(kernel, n_classes, name, criterion):
    X, y = make_data(n_samples=12, n_classes=n_classes)
    bound = {"bound": "span"} if name == "span" else {"bound": "radius-margin", "radius": name}
    found = SVMBoundElimination(stop=None, kernel=kernel, gamma=0.3, C=2.0, criterion=criterion, **bound).fit(X, y)
    gone = eliminate(StandardScaler().fit_transform(X), y, name, kernel, 0.3, 0.5, criterion == "retrain")
    assert found.order_[::-1].tolist() == [feature for feature, _ in gone]
    np.testing.assert_allclose(found.scores_[found.order_[::-1]], [value for _, value in gone], rtol=1e-7)


@pytest.mark.parametrize("name", ["ball", "variance", "span"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_derivatives_are_of_the_bound_along_the_path(kernel, name):
    X, y = make_data(n_samples=14)
    bound = {"bound": "span"} if name == "span" else {"bound": "radius-margin", "radius": name}
    Z, h = StandardScaler().fit_transform(X), 1e-5

    def value(sigma):
        K = kernel_matrix(Z * sigma, kernel, 0.3)
        return oracle.span(K, signs_of(y)[0], 1.0) if name == "span" else oracle.radius_margin(K, *goal)

    goal = (signs_of(y)[0], 1.0, name)
    slopes = [(value(1 + h * unit) - value(1 - h * unit)) / (2 * h) for unit in np.eye(5)]
    for criterion, expected in (("derivative", np.abs(slopes)), ("descent", -np.array(slopes))):
        # all leave in one round, so that every score is at all features
        ranker = SVMBoundElimination(stop=None, kernel=kernel, gamma=0.3, step=5, criterion=criterion, **bound)
        found = ranker.fit(X, y)
        np.testing.assert_allclose(found.scores_, expected, atol=1e-5 * np.abs(slopes).max())
        assert found.order_.tolist() == np.argsort(-expected).tolist()


def test_path_tells_the_bound_of_the_features_left():
    X, y = make_data()
    Z, (signs,) = StandardScaler().fit_transform(X), signs_of(y)
    for bound in ("radius-margin", "span"):
        found = SVMBoundElimination(stop=None, bound=bound, radius="ball").fit(X, y)
        for n_left, step in enumerate(found.path_, start=1):
            left = Z[:, found.order_[:n_left]]
            K = left @ left.T
            dual, _ = oracle.train(K, signs, 1.0)
            assert step.info["n_features"] == n_left
            assert step.info["margin"] == pytest.approx(np.abs(dual).sum() ** -0.5, rel=1e-8)
            if bound == "span":
                terms = oracle.span_terms(K, signs, dual, 1.0)
                assert step.info["bound"] == pytest.approx(terms.sum(), rel=1e-8)
                assert step.info["loo_errors"] == np.count_nonzero(terms >= 1)
            else:
                assert step.info["bound"] == pytest.approx(oracle.radius_margin(K, signs, 1.0), rel=1e-8)
                assert step.info["radius2"] == pytest.approx(oracle.enclose(K, 1.0)[1], rel=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_margin_over_variance_on_a_line_is_recursive_feature_elimination(n_classes):
    X, y = make_data(n_classes=n_classes)
    Z, left, gone = StandardScaler().fit_transform(X), list(range(5)), []
    while left:
        table = Z[:, left]
        weights = [oracle.train(table @ table.T, signs, 1.0)[0] @ table for signs in signs_of(y)]
        gone.append(left.pop(int(np.argmin(np.square(weights).sum(axis=0)))))
    assert SVMBoundElimination(stop=None).fit(X, y).order_[::-1].tolist() == gone


@pytest.mark.parametrize("parameters", [{}, {"step": 3}, {"groups": [0, 0, 1, 2, 2, 2, 3, 4]}, {"C": 0.01}], ids=str)
@pytest.mark.parametrize("table", ["wide", "tall", "sparse"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_give_the_bound_that_the_kernel_matrix_gives(n_classes, table, parameters, monkeypatch):
    X, y = make_data(n_samples=7 if table == "wide" else 30, n_features=8, n_classes=n_classes)
    X[:, 5] = np.where(np.abs(X[:, 5]) < 1, 0.0, X[:, 5]) + 1.0
    X[:, 7] = 3.0 if "groups" not in parameters else X[:, 7]
    X = sparse.csr_array(X) if table == "sparse" else X
    by_weights = SVMBoundElimination(stop=None, **parameters).fit(X, y)
    monkeypatch.setattr(SVMBoundElimination, "_is_recursive_elimination", lambda self: False)
    by_matrix = SVMBoundElimination(stop=None, **parameters).fit(X, y)
    np.testing.assert_array_equal(by_weights.order_, by_matrix.order_)
    np.testing.assert_allclose(by_weights.scores_, by_matrix.scores_, rtol=1e-7)
    for one, other in zip(by_weights.path_, by_matrix.path_, strict=True):
        assert one.info.keys() == other.info.keys()
        for name in other.info:
            assert one.info[name] == pytest.approx(other.info[name], rel=1e-7), name


def test_the_default_is_recursive_feature_elimination_on_a_wide_table():
    rng = np.random.RandomState(0)
    y = np.arange(30) % 2
    X = rng.standard_normal((30, 2000))
    X[:, :20] += y[:, None]
    # half the cost: here C is that of half the squared slack
    expected = RFE("squared_hinge", stop=None, C=0.5).fit(X, y).order_
    np.testing.assert_array_equal(SVMBoundElimination(stop=None, C=1.0).fit(X, y).order_, expected)


def test_a_wide_table_is_copied_no_more_often_than_solvers_need():
    X = np.random.RandomState(0).standard_normal((50, 20_000))
    tracemalloc.start()
    SVMBoundElimination(stop=1, step=0.5).fit(X, np.arange(50) % 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.75 * X.nbytes  # standardized, and with a row for each column


def test_many_rows_need_no_kernel_matrix_by_default_and_are_refused_otherwise():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40_000, 3))
    y = X[:, 1] + rng.standard_normal(40_000) > 0
    assert SVMBoundElimination(stop=1).fit(X, y).get_support(indices=True).tolist() == [1]
    for parameters in ({"bound": "span"}, {"radius": "ball"}, {"kernel": "rbf"}, {"standardize": False}):
        with pytest.raises(ValueError, match=r"40000 rows takes 12 GiB.*sample of at most 23170 rows"):
            SVMBoundElimination(**parameters).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("bound", [{"bound": "span"}, {"radius": "ball"}, {"radius": "variance"}], ids=str)
@pytest.mark.parametrize("criterion", ["fixed", "retrain", "descent"])
def test_sparse_tables_are_ranked_as_dense_ones(criterion, bound, kernel):
    X, y = make_data(n_samples=20)
    X[np.abs(X) < 0.4] = 0.0
    ranker = SVMBoundElimination(stop=None, criterion=criterion, kernel=kernel, step=2, **bound)
    plain, thin = clone(ranker).fit(X, y), clone(ranker).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.order_, plain.order_)
    np.testing.assert_allclose(thin.scores_, plain.scores_, rtol=1e-7)


@pytest.mark.parametrize("criterion", ["fixed", "descent"])
def test_informative_features_of_a_wide_table_come_first(criterion):
    rng = np.random.RandomState(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 200))
    X[:, :3] += 2.0 * y[:, None]
    found = SVMBoundElimination(stop=3, criterion=criterion, step=0.1).fit(X, y)
    assert found.get_support(indices=True).tolist() == [0, 1, 2]


def test_a_kernel_sees_what_a_line_does_not():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((80, 6))
    y = X[:, 2] * X[:, 4] > 0
    found = SVMBoundElimination(stop=2, kernel="rbf", criterion="retrain").fit(X, y)
    assert found.get_support(indices=True).tolist() == [2, 4]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bound": "span"},
        {"criterion": "retrain"},
        {"criterion": "derivative", "radius": "ball"},
        {"bound": "span", "criterion": "descent", "kernel": "rbf"},
    ],
    ids=str,
)
def test_the_last_of_two_copies_leaves_first(parameters):
    X, y = make_data(n_classes=3)
    found = SVMBoundElimination(stop=None, **parameters).fit(np.column_stack([X, X]), y)
    assert np.all(found.ranking_[:5] < found.ranking_[5:])


def test_constant_columns_are_not_ranked():
    X, y = make_data()
    found = SVMBoundElimination(stop=None).fit(np.column_stack([np.full(len(X), 0.1), X]), y)
    assert sorted(found.order_.tolist()) == [1, 2, 3, 4, 5]
    assert np.isnan(found.scores_[0])
    np.testing.assert_allclose(found.scores_[1:], SVMBoundElimination(stop=None).fit(X, y).scores_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_units_do_not_matter(kernel):
    X, y = make_data()
    plain = SVMBoundElimination(stop=None, kernel=kernel).fit(X, y)
    other = SVMBoundElimination(stop=None, kernel=kernel).fit(
        X * [1e200, 1e-200, 3.0, -1.0, 1e6] + [0, 0, 7.0, 1, 0], y
    )
    np.testing.assert_array_equal(other.order_, plain.order_)
    np.testing.assert_allclose(other.scores_, plain.scores_, rtol=1e-7)


@pytest.mark.parametrize(("step", "sizes"), [(2, [5, 3, 1]), ("halving", [5, 4, 2, 1]), (0.5, [5, 3, 2, 1])])
def test_a_step_takes_as_many_as_it_says(step, sizes):
    X, y = make_data()
    found = SVMBoundElimination(stop=None, step=step).fit(X, y)
    assert sorted({path.info["n_features"] for path in found.path_}, reverse=True) == sizes


def test_a_hard_margin_ends_where_classes_cannot_be_separated():
    X, y = make_data(n_samples=12, n_features=30)
    found = SVMBoundElimination(stop=None, C=np.inf).fit(X, y)
    fewest = found.certificate_["fewest_features_trained"]
    assert fewest > 1
    assert sorted(found.order_.tolist()) == list(range(30))
    assert {step.info["n_features"] for step in found.path_[:fewest]} == {fewest}
    assert found.path_[0].criterion == max(step.criterion for step in found.path_[:fewest])


def test_a_hard_margin_cannot_do_without_some_features():
    X, y = make_data(n_samples=12, n_features=6)
    X[:, 4] += 10 * y  # the only one that separates
    found = SVMBoundElimination(stop=None, C=np.inf, criterion="retrain").fit(X, y)
    assert found.order_[0] == 4
    assert found.scores_[4] == np.inf
    assert np.isfinite(found.scores_[[0, 1, 2, 3, 5]]).all()


def test_a_hard_margin_on_classes_that_overlap_is_refused():
    X, y = make_data(n_samples=60)
    with pytest.raises(ValueError, match="C is infinite"):
        SVMBoundElimination(C=np.inf).fit(X, y)


def test_a_quantity_is_refused():
    X, _ = make_data()
    with pytest.raises(ValueError, match="continuous"):
        SVMBoundElimination().fit(X, X[:, 0])


def test_a_kernel_without_derivative_is_named():
    X, y = make_data()
    with pytest.raises(ValueError, match="laplacian"):
        SVMBoundElimination(kernel="laplacian", criterion="derivative").fit(X, y)


@pytest.mark.parametrize("bound", ["radius-margin", "span"])
@pytest.mark.parametrize("max_iter", [1, 2])
def test_svms_that_do_not_converge_are_told_of(max_iter, bound):
    X, y = make_data()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        found = SVMBoundElimination(max_iter=max_iter, bound=bound).fit(X, y)
    assert not found.certificate_["converged"]


def test_single_precision_is_computed_in_double():
    X, y = make_data()
    single = X.astype(np.float32)
    a, b = (SVMBoundElimination(stop=None).fit(table, y) for table in (single, single.astype(float)))
    np.testing.assert_array_equal(a.order_, b.order_)
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-6)


class _EndAfterTwoRounds:
    """A callback that has seen enough."""

    n_rounds = 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.n_rounds += context.task_name == "eliminate step"
        return self.n_rounds >= 2

    def teardown(self, estimator, context):
        pass


@pytest.mark.parametrize(("radius", "fewest"), [("ball", 4), ("variance", 3)])  # the latter retrains at once
def test_a_callback_may_end_the_rounds(radius, fewest):
    X, y = make_data()
    whole = SVMBoundElimination(stop=None, radius=radius).fit(X, y)
    ended = SVMBoundElimination(stop=None, radius=radius)
    ended.set_callbacks(_EndAfterTwoRounds())
    ended.fit(X, y)
    assert sorted(ended.order_.tolist()) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(ended.order_[-2:], whole.order_[-2:])
    assert ended.certificate_["fewest_features_trained"] == fewest


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"C": 0.1, "groups": [0, 0, 1, 2, 3]},
        {"criterion": "retrain"},
        {"radius": "ball"},
        {"criterion": "descent", "kernel": "rbf", "standardize": False},
        {"criterion": "fixed", "kernel": "poly", "radius": "ball", "degree": 2},
        {"bound": "span"},
    ],
    ids=str,
)
def test_weights_stand_for_repeated_rows(parameters, n_classes):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 5)) + np.array([0, 0, 2, 0, 0])
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(40), [0.0, 0.7][: n_classes - 1])
    weight = np.tile([1.0, 3.0, 0.0, 2.0], 10)
    rows = rng.permutation(np.repeat(np.arange(40), weight.astype(int)))
    weighted = SVMBoundElimination(stop=2, **parameters).fit(X, y, sample_weight=weight)
    repeated = SVMBoundElimination(stop=2, **parameters).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-6)
    for ours, theirs in zip(weighted.path_, repeated.path_, strict=True):
        assert ours.info == pytest.approx(theirs.info, rel=1e-6)


def test_span_refuses_weights_that_count_no_rows():
    X, y = np.random.RandomState(0).standard_normal((20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match="whole numbers; use these, or bound='radius-margin'"):
        SVMBoundElimination(bound="span").fit(X, y, sample_weight=np.full(20, 0.5))
