"""Recursive feature elimination: who leaves, when and why."""

import tracemalloc
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import FitCallback
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE as PeerRFE
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from tamis import RFE as DefaultRFE
from tamis.base import ascending
from tamis.datasets import load
from tamis.rank.backward._kernel_solver import KernelSolver
from tamis.rank.backward._learners import Learner, pose_subproblems
from tamis.rank.backward._tall_linear_solver import TallLinearSolver
from tamis.rank.backward._wide_linear_solver import WideLinearSolver
from tamis.stop import CrossValidation, MonteCarloProbe
from tests.oracles import rfe as oracle

RFE = partial(DefaultRFE, stop=0.5)  # these tests are of the elimination; the default rule orders by many of them
QUICK = settings(deadline=None, max_examples=20, derandomize=True)
SIZES = [(12, 20), (15, 15), (40, 10)]
LOSSES = ["squared_hinge", "hinge", "logistic", "ridge"]
PEERS = {
    "SVC": SVC(kernel="linear", tol=1e-6),
    "LinearSVC": LinearSVC(tol=1e-10, max_iter=100_000, dual=False),
    "Ridge": Ridge(),
    "RidgeClassifier": RidgeClassifier(alpha=0.3),
    "LogisticRegression": LogisticRegression(tol=1e-12, solver="newton-cholesky"),
    "SVR": SVR(kernel="linear", tol=1e-8),
    "LinearSVR": LinearSVR(epsilon=0.2, C=0.3, tol=1e-9, max_iter=1_000_000),
}
QUANTITIES = ("Ridge", "SVR", "LinearSVR")


def make_data(n_samples=40, n_features=10, n_classes=2, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n_samples) % n_classes
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] += y
    X[:, n_features // 2] -= y == 1
    return X, y


def same(a, b, rtol=1e-7):
    np.testing.assert_array_equal(a.order_, b.order_)
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=rtol, atol=1e-12 * np.nanmax(b.scores_))


# scikit-learn's elimination


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", sorted(PEERS))
def test_one_by_one_is_the_elimination_of_scikit_learn(name, size, n_classes):
    X, y = make_data(*size, n_classes)
    target = X[:, 0] + y + 0.1 * X[:, 3] ** 2 if name in QUANTITIES else y
    peer = PeerRFE(PEERS[name], n_features_to_select=1).fit(X, target)
    found = RFE(PEERS[name], stop=1, standardize=False).fit(X, target)
    np.testing.assert_array_equal(found.ranking_, peer.ranking_)
    assert found.certificate_["converged"]


@QUICK
@given(
    st.sampled_from(["SVC", "Ridge", "RidgeClassifier"]), st.integers(6, 30), st.integers(2, 12), st.integers(0, 999)
)
def test_random_tables_lose_features_as_with_scikit_learn(name, n_samples, n_features, seed):
    X, y = make_data(n_samples, n_features, 2 + seed % 2, seed)
    target = X @ np.arange(n_features) + y if name == "Ridge" else y
    peer = PeerRFE(PEERS[name], n_features_to_select=1).fit(X, target)
    np.testing.assert_array_equal(RFE(PEERS[name], standardize=False).fit(X, target).ranking_, peer.ranking_)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", [3, 4])
def test_several_at_a_time_leave_as_with_scikit_learn(size, step):
    X, y = make_data(*size)
    peer = PeerRFE(PEERS["SVC"], n_features_to_select=1, step=step).fit(X, y)
    found = RFE(PEERS["SVC"], step=step, standardize=False).fit(X, y)
    assert np.all(np.diff(peer.ranking_[found.order_]) >= 0)


@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_an_intercept_that_is_not_there_or_scaled_is_read_from_the_estimator(size):
    X, y = make_data(*size)
    X += 1.0
    for parameters in ({"fit_intercept": False}, {"intercept_scaling": 7.0}, {"C": 0.03}):
        peer = PEERS["LinearSVC"].__class__(**{**PEERS["LinearSVC"].get_params(), **parameters})
        expected = PeerRFE(peer, n_features_to_select=1).fit(X, y).ranking_
        np.testing.assert_array_equal(RFE(peer, standardize=False).fit(X, y).ranking_, expected)
    for peer in (Ridge(fit_intercept=False), LogisticRegression(C=9, tol=1e-12, fit_intercept=False, solver="lbfgs")):
        expected = PeerRFE(peer, n_features_to_select=1).fit(X, y).ranking_
        np.testing.assert_array_equal(RFE(peer, standardize=False).fit(X, y).ranking_, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
@pytest.mark.parametrize("intercept", [0.0, 2.0])
def test_the_hinge_with_a_penalized_intercept_follows_the_oracle(size, n_classes, intercept):
    X, y = make_data(*size, n_classes)
    X += 0.5
    estimator = LinearSVC(
        loss="hinge", fit_intercept=intercept > 0, intercept_scaling=intercept or 1.0, max_iter=100_000
    )
    found = RFE(estimator, standardize=False).fit(X, y)
    oracle.check_path(found.path_, X, oracle.pose(y), "hinge", intercept=intercept)


# the oracle, algorithms 1 and 2


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loss", LOSSES)
def test_linear_models_follow_algorithm_1(loss, size, n_classes, multiclass):
    X, y = make_data(*size, n_classes, seed=1)
    found = RFE(loss, multiclass=multiclass, standardize=False, task="classification").fit(X, y)
    assert len(found.path_) == X.shape[1]
    oracle.check_path(found.path_, X, oracle.pose(y, 1.0, multiclass), loss)


TABLES = st.sampled_from(["integers", "copied columns", "copied rows", "contradictions", "thin", "empty rows"])


def awkward(kind, n_samples, n_features, seed):
    X, y = make_data(n_samples, n_features, 2, seed)
    rng, half = np.random.RandomState(seed), n_samples // 2
    if kind == "integers":
        X = np.round(X)
    elif kind == "copied columns":
        X = X[:, rng.randint(0, n_features, n_features)]
    elif kind == "copied rows":
        X[half : 2 * half], y[half : 2 * half] = X[:half], y[:half]
    elif kind == "contradictions":
        X[half : 2 * half], y[half : 2 * half] = X[:half], 1 - y[:half]
    elif kind == "thin":
        X *= rng.random_sample(X.shape) < 0.3
    else:
        X[rng.random_sample(n_samples) < 0.4] = 0.0
    y[:2] = [0, 1]
    X[0, 0] += 1.0  # no table is constant
    return X, y


@settings(QUICK, max_examples=60)
@given(
    st.sampled_from(["hinge", "squared_hinge", "ridge"]),
    TABLES,
    st.integers(4, 20),
    st.integers(2, 14),
    st.booleans(),
    st.integers(0, 999),
)
@pytest.mark.filterwarnings("ignore:RFE's model gives no feature a weight")
def test_awkward_tables_follow_algorithm_1(loss, kind, n_samples, n_features, thin, seed):
    X, y = awkward(kind, n_samples, n_features, seed)
    found = RFE(loss, standardize=False).fit(sparse.csr_array(X) if thin else X, y)
    oracle.check_path(found.path_, X, oracle.pose(y), loss, rtol=1e-4)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [(12, 14), (20, 6)])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_kernel_models_follow_algorithm_2(kernel, loss, size, n_classes, multiclass):
    X, y = make_data(*size, n_classes, seed=2)
    parameters = {"gamma": 0.1}
    if kernel == "poly":
        parameters |= {"degree": 2, "coef0": 0.5}
    found = RFE(loss, kernel=kernel, multiclass=multiclass, standardize=False, **parameters).fit(X, y)
    evaluate = oracle.named_kernel(kernel, **parameters)
    oracle.check_path(found.path_, X, oracle.pose(y, 1.0, multiclass), loss, kernel=evaluate, rtol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "ridge"])
def test_kernel_models_of_other_losses_follow_algorithm_2(loss):
    X, y = make_data(20, 6, seed=2)
    found = RFE(loss, kernel="rbf", gamma=0.1, task="classification", standardize=False).fit(X, y)
    kernel = oracle.named_kernel("rbf", gamma=0.1)
    oracle.check_path(found.path_, X, oracle.pose(y), loss, kernel=kernel, rtol=1e-4)


def test_kernel_ridge_on_quantities_follows_algorithm_2():
    X, y = make_data(20, 6, seed=2)
    y = X[:, 0] ** 2 + 0.1 * X[:, 1]
    found = RFE("ridge", kernel="rbf", gamma=0.1, standardize=False).fit(X, y)
    oracle.check_path(found.path_, X, oracle.quantity(y), "ridge", kernel=oracle.named_kernel("rbf", gamma=0.1))


@pytest.mark.parametrize(("gamma", "value"), [("scale", lambda X: 1 / (6 * X.var())), ("auto", lambda X: 1 / 6)])
def test_an_svc_with_a_kernel_is_solved_with_its_own_parameters(gamma, value):
    X, y = make_data(20, 6, 3, seed=3)
    X *= 1.7
    found = RFE(SVC(C=2.0, gamma=gamma), standardize=False).fit(X, y)
    kernel = oracle.named_kernel("rbf", gamma=value(X))
    oracle.check_path(found.path_, X, oracle.pose(y, 2.0, "ovo"), "hinge", kernel=kernel, rtol=1e-4)


LINEAR_KERNELS = {
    "function": {"kernel": linear_kernel},
    "polynomial": {"kernel": "poly", "degree": 1, "gamma": 1.0, "coef0": 0.0},
}


@pytest.mark.parametrize("form", sorted(LINEAR_KERNELS))
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_linear_kernel_in_disguise_gives_the_linear_elimination(loss, size, n_classes, form):
    X, y = make_data(*size, n_classes)
    same(RFE(loss, **LINEAR_KERNELS[form]).fit(X, y), RFE(loss).fit(X, y))


def test_a_function_of_two_tables_may_be_the_kernel():
    X, y = make_data(20, 6)
    named = RFE("hinge", kernel="laplacian", gamma=0.3).fit(X, y)
    same(RFE("hinge", kernel=lambda A, B: laplacian_kernel(A, B, gamma=0.3)).fit(X, y), named)


# the solvers


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("learner", ["free", "none", "penalized"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_all_solvers_agree(size, loss, learner, multiclass):
    X, y = make_data(*size, 3)
    settled = Learner(
        loss, 0.8, intercept=0.0 if learner == "none" else 1.5, free_intercept=learner == "free", multiclass=multiclass
    )
    problems, table = pose_subproblems(y, "classification", settled), np.ascontiguousarray(X.T)
    forms = [
        kind(make(table), problems, settled, 1e-10)
        for kind in (WideLinearSolver, TallLinearSolver)
        for make in (np.copy, sparse.csr_array)
    ]
    forms.append(KernelSolver(table, problems, settled, 1e-10))
    for leaving in ([3], [0, 7], [1], [2, 4, 5, 6, 8]):
        for solver in forms:
            np.testing.assert_array_equal(solver.features, forms[0].features)
            np.testing.assert_allclose(solver.criteria(), forms[0].criteria(), rtol=1e-6, atol=1e-12)
            np.testing.assert_allclose(solver.squared_norm, forms[0].squared_norm, rtol=1e-7)
            assert solver.converged
        for solver in forms:
            solver.remove(np.array(leaving))


@pytest.mark.parametrize("make", [np.copy, sparse.csr_array], ids=["dense", "sparse"])
def test_the_least_feature_is_found_as_among_all_criteria(make):
    X, y = make_data(20, 200, 3)
    settled = Learner("squared_hinge", 1.0)
    solver = WideLinearSolver(make(X.T), pose_subproblems(y, "classification", settled), settled, 1e-10)
    while solver.n_features > 1:
        feature, criterion = solver.least()
        criteria = solver.criteria()
        assert solver.features[criteria.argmin()] == feature
        np.testing.assert_allclose(criterion, criteria.min(), rtol=1e-8)
        solver.remove(np.array([feature]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [(30, 200), (90, 80)])
def test_models_after_many_features_have_left_are_those_trained_from_nothing(size, loss):
    X, y = make_data(*size, 2)
    found = RFE(loss, task="classification", standardize=False).fit(X, y)
    assert found.certificate_["converged"]
    for n_left in (size[1], size[1] // 2, size[1] // 4, 5, 1):
        kept = np.sort(found.order_[:n_left])
        fresh = RFE(loss, task="classification", standardize=False).fit(X[:, kept], y)
        assert kept[fresh.order_].tolist() == found.order_[:n_left].tolist()
        np.testing.assert_allclose(
            [step.criterion for step in fresh.path_], [step.criterion for step in found.path_[:n_left]], rtol=1e-5
        )


# margins and stopping


@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_the_margin_is_that_of_a_model_on_the_remaining_features(size):
    X, y = make_data(*size)
    found = RFE(PEERS["SVC"], standardize=False).fit(X, y)
    for n_features, step in enumerate(found.path_, start=1):
        weights = SVC(kernel="linear", tol=1e-6).fit(X[:, found.order_[:n_features]], y).coef_
        np.testing.assert_allclose(step.info["margin"], 1 / np.linalg.norm(weights), rtol=1e-4)
        np.testing.assert_allclose(step.criterion, weights[0, -1] ** 2, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_a_hard_margin_never_grows_as_features_leave(size):
    X, y = make_data(*size)
    X[:, 0] += 20.0 * y
    found = RFE(SVC(kernel="linear", C=np.inf), standardize=False).fit(X, y)
    margins = np.array([step.info["margin"] for step in found.path_])
    assert found.order_[0] == 0
    assert np.all(np.diff(margins) >= -1e-12)
    gap = X[y == 1, 0].min() - X[y == 0, 0].max()
    np.testing.assert_allclose(margins[0], gap / 2)


@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_a_hard_margin_that_is_lost_on_the_way_is_told(size):
    X, y = make_data(*size)
    X[:, 0] = X[::-1, 0]
    X[:, 1:3] += 6.0 * y[:, None]
    X[0, 1], X[1, 2] = X[1, 1] + 20, X[0, 2] - 20  # neither of the two separates alone
    with pytest.raises(ValueError, match="do not separate the classes, or hardly, and C is infinite: give a finite C"):
        RFE(SVC(kernel="linear", C=np.inf), standardize=False).fit(X, y)


def test_cross_validation_chooses_how_many_to_keep():
    X, y = make_data(120, 12, seed=3)
    X[:, 0] += 3.0 * y
    found = RFE(stop=CrossValidation(rule="one-se")).fit(X, y)
    assert 0 in found.get_support(indices=True)
    assert found.stop_.n_features <= 4
    assert found.stop_.label == "held-out score"


def test_probes_choose_how_many_to_keep():
    X, y = make_data(120, 12, seed=3)
    X[:, [0, 6]] += 2.0 * y[:, None]
    found = RFE(stop=MonteCarloProbe(0.1, n_draws=19, random_state=0)).fit(X, y)
    assert {0, 6} <= set(found.get_support(indices=True))
    assert found.stop_.n_features <= 6


def test_a_pipeline_stops_by_itself():
    X, y = make_data(90, 10, seed=4)
    X[:, 0] += 3.0 * y
    model = make_pipeline(StandardScaler(), RFE(step=1, stop=CrossValidation(SVC(), rule="one-se")), SVC())
    assert model.fit(X, y).score(X, y) > 0.9
    assert model[1].support_[0]
    assert model[:-1].transform(X).shape[1] == model[1].stop_.n_features < 10


def test_what_beats_permuted_copies_is_kept_unless_something_else_is_said():
    X, y = make_data()
    by_default = DefaultRFE().fit(X, y)
    by_rule = DefaultRFE(stop=MonteCarloProbe(n_draws=19)).fit(X, y)
    np.testing.assert_array_equal(by_default.support_, by_rule.support_)
    assert DefaultRFE(stop=3).fit(X, y).support_.sum() == 3
    assert DefaultRFE(stop=0.2).fit(X, y).support_.sum() == 2
    assert DefaultRFE(stop=None).fit(X, y).support_.sum() == 10


# steps and progress


@pytest.mark.parametrize("size", [(12, 20), (40, 20)])
@pytest.mark.parametrize(
    ("step", "left"), [(6, [20, 14, 8, 2]), (0.5, [20, 10, 5, 3, 2, 1]), ("halving", [20, 16, 8, 4, 2, 1])]
)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_as_many_leave_at_a_time_as_the_step_says(loss, step, left, size):
    X, y = make_data(*size)
    found = RFE(loss, step=step, standardize=False).fit(X, y)
    told = [info.info["n_features"] for info in found.path_]
    assert sorted(set(told), reverse=True) == left
    for n_left, n_next in zip(left, [*left[1:], 0], strict=True):
        kept = sorted(found.order_[:n_left].tolist())
        now = oracle.judge(X, oracle.pose(y), loss, [[j] for j in kept])
        leaving = np.array(kept)[np.argsort(now.criteria)][: n_left - n_next]
        np.testing.assert_array_equal(found.order_[n_next:n_left][::-1], leaving)
        np.testing.assert_allclose(found.scores_[leaving], np.sort(now.criteria)[: n_left - n_next], rtol=1e-4)


class Recorder:
    """Counts the rounds, and may end them."""

    def __init__(self, most=None):
        self.n_rounds, self.total, self.most = 0, None, most

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context):
        if context.task_name == "eliminate":
            self.total = context.max_subtasks

    def on_fit_task_end(self, estimator, context):
        self.n_rounds += context.task_name == "eliminate step"
        return self.most is not None and self.n_rounds >= self.most

    def teardown(self, estimator, context): ...


@pytest.mark.parametrize(("step", "n_rounds"), [(1, 10), (4, 3), (0.5, 5), ("halving", 5)])
def test_every_round_is_reported(step, n_rounds):
    recorder = Recorder()
    assert isinstance(recorder, FitCallback)
    RFE(step=step).set_callbacks(recorder).fit(*make_data())
    assert recorder.n_rounds == recorder.total == n_rounds


@pytest.mark.parametrize("parameters", [{}, {"step": 2}, {"kernel": "rbf"}, {"groups": [0, 1, 1, 2, 3, 4, 5, 6, 7, 7]}])
@pytest.mark.parametrize("n_samples", [8, 40])
def test_a_callback_may_end_the_elimination_and_the_rest_is_ranked_as_it_stands(n_samples, parameters):
    X, y = make_data(n_samples)
    whole = RFE(**parameters).fit(X, y)
    ended = RFE(**parameters).set_callbacks(Recorder(most=2)).fit(X, y)
    assert sorted(ended.order_.tolist()) == list(range(10))
    told = sorted({step.info["n_features"] for step in ended.path_}, reverse=True)
    assert len(told) == 3
    n_left = told[-1]
    np.testing.assert_array_equal(ended.order_[n_left:], whole.order_[n_left:])
    rest = [step.criterion for step in ended.path_[:n_left]]
    assert np.all(np.diff(rest) <= 1e-9 * max(rest))


# kinds of input


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("density", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("size", [(20, 60), (60, 20)])
@pytest.mark.parametrize("step", [1, 3, 7])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_sparse_table_loses_features_as_a_dense_one(loss, step, size, density, n_classes):
    X, y = make_data(*size, n_classes)
    X *= np.random.RandomState(1).random_sample(X.shape) < density
    X[0] = 1.0
    a, b = (
        RFE(loss, step=step, task="classification", standardize=False).fit(table, y)
        for table in (X, sparse.csr_array(X))
    )
    same(a, b, rtol=1e-6)
    np.testing.assert_allclose(
        [step.info["margin"] for step in a.path_], [step.info["margin"] for step in b.path_], rtol=1e-6
    )


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix, sparse.coo_array])
def test_the_layout_of_a_sparse_table_does_not_matter(make):
    X, y = make_data(20, 30)
    X[np.abs(X) < 0.5] = 0.0
    same(RFE().fit(make(X), y), RFE().fit(sparse.csr_array(X), y))


def test_a_large_sparse_table_is_never_made_dense():
    try:
        data = load("nips_dexter")
    except (FileNotFoundError, OSError) as error:
        pytest.skip(f"the data set nips_dexter is not here: {error}")
    X, y = data.X, data.y
    assert sparse.issparse(X)
    RFE(step="halving").fit(X[:50, :50], y[:50])  # imports are not what is measured
    tracemalloc.start()
    found = RFE(step="halving").fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.25 * 8 * X.shape[0] * X.shape[1]
    assert found.order_.size == X.shape[1]
    assert found.certificate_["converged"]


@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_whole_numbers_and_single_precision_are_computed_in_double(size):
    X, y = make_data(*size)
    whole = np.round(4 * X).astype(np.int32)
    same(RFE().fit(whole, y), RFE().fit(whole.astype(float), y))
    single = X.astype(np.float32)
    a, b = (RFE(standardize=False).fit(table, y) for table in (single, single.astype(float)))
    np.testing.assert_array_equal(a.order_, b.order_)
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
@pytest.mark.parametrize("loss", LOSSES)
def test_units_do_not_matter_where_columns_are_standardized(loss, size, make):
    X, y = make_data(*size)
    units = 10.0 ** np.random.RandomState(0).randint(-150, 150, size[1])
    with np.errstate(all="raise", under="ignore"):
        scaled = RFE(loss, task="classification").fit(make(X * units), y)
    same(scaled, RFE(loss, task="classification").fit(make(X), y), rtol=1e-6)


@QUICK
@given(st.sampled_from(["hinge", "squared_hinge", "ridge"]), st.booleans(), st.integers(0, 999))
def test_columns_may_come_in_any_order_and_unit_and_place(loss, wide, seed):
    X, y = make_data(*((10, 16) if wide else (24, 9)), 2 + seed % 2, seed)
    rng = np.random.RandomState(seed)
    shuffled = rng.permutation(X.shape[1])
    a = RFE(loss, task="classification").fit(X, y)
    moved = X * rng.uniform(0.1, 9.0, X.shape[1]) + rng.uniform(-5, 5, X.shape[1])
    b = RFE(loss, task="classification").fit(moved[:, shuffled], y)
    np.testing.assert_array_equal(shuffled[b.order_], a.order_)
    np.testing.assert_allclose(b.scores_, a.scores_[shuffled], rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [(12, 20), (30, 8)])
@pytest.mark.parametrize(("unit", "C"), [(1e3, 1.0), (1e6, 1.0), (1e3, 1e3), (1e3, 1e6)])
@pytest.mark.parametrize("loss", LOSSES)
def test_large_values_that_are_not_standardized_are_ranked_or_said_to_be_too_large(loss, unit, C, size, n_classes):
    X, y = make_data(*size, n_classes, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = RFE(loss, C=C, task="classification", standardize=False).fit(unit * X, y)
    assert sorted(found.order_.tolist()) == list(range(size[1]))
    assert np.all(np.isfinite(found.scores_))
    assert np.isfinite(found.certificate_["residual"])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("size", [(12, 20), (60, 20)])
@pytest.mark.parametrize("loss", LOSSES)
def test_values_of_a_hundred_are_not_too_large(loss, size, make):
    X, y = make_data(*size, seed=1)
    found = RFE(loss, task="classification", standardize=False).fit(make(100 * X), y)
    assert found.certificate_["converged"]
    expected = RFE(loss, C=1e4, task="classification", standardize=False).fit(X, y)
    np.testing.assert_array_equal(found.order_, expected.order_)


@QUICK
@given(st.sampled_from(["hinge", "squared_hinge"]), st.floats(-3, 3), st.integers(0, 999))
def test_a_table_in_another_unit_is_made_up_for_by_the_cost(loss, power, seed):
    X, y = make_data(15, 8, seed=seed)
    unit = 10.0**power
    a = RFE(loss, standardize=False).fit(X, y)
    b = RFE(loss, C=unit**-2, standardize=False).fit(unit * X, y)
    np.testing.assert_array_equal(a.order_, b.order_)


@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
@pytest.mark.parametrize("loss", LOSSES)
def test_of_copies_the_last_leaves_first(loss, size):
    X, y = make_data(*size)
    found = RFE(loss, task="classification", standardize=False).fit(np.column_stack([X, X[:, :3]]), y)
    for j in range(3):
        assert found.ranking_[j] < found.ranking_[size[1] + j]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_constant_columns_leave_first(size, kernel):
    X, y = make_data(*size)
    X[:, 3], X[:, 7] = 5.0, -1e6
    found = RFE(kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(found.order_[-2:], [3, 7])
    assert found.scores_[[3, 7]].max() < 1e-12


# weights of classes


WEIGHTS = [{0: 3.0, 1: 0.5}, {1: 4.0}, "balanced"]


@pytest.mark.parametrize("class_weight", WEIGHTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [(13, 20), (41, 10)])
def test_weights_of_classes_are_those_of_scikit_learn(size, n_classes, class_weight):
    X, y = make_data(*size, n_classes)
    y = np.where(np.arange(len(y)) % 4 == 0, 0, y)
    estimator = SVC(kernel="linear", tol=1e-6, class_weight=class_weight)
    peer = PeerRFE(estimator, n_features_to_select=1).fit(X, y)
    same(
        RFE(estimator, standardize=False).fit(X, y),
        RFE("hinge", multiclass="ovo", class_weight=class_weight, standardize=False).fit(X, y),
    )
    np.testing.assert_array_equal(RFE(estimator, standardize=False).fit(X, y).ranking_, peer.ranking_)


@pytest.mark.parametrize("name", ["LinearSVC", "RidgeClassifier", "LogisticRegression"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_classes_are_those_of_scikit_learn_for_other_models(name, n_classes):
    X, y = make_data(40, 8, n_classes)
    estimator = PEERS[name].__class__(**{**PEERS[name].get_params(), "class_weight": {0: 3.0, 1: 0.5}})
    peer = PeerRFE(estimator, n_features_to_select=1).fit(X, y)
    np.testing.assert_array_equal(RFE(estimator, standardize=False).fit(X, y).ranking_, peer.ranking_)


def test_a_weight_of_a_class_that_y_does_not_have_is_named():
    with pytest.raises(ValueError, match=r"class_weight names 7, which is no class of y"):
        RFE(class_weight={0: 1.0, 7: 2.0}).fit(*make_data())


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_a_weight_of_a_class_that_is_no_positive_number_is_refused(weight):
    with pytest.raises(ValueError, match=r"class_weight=.* must hold positive numbers"):
        RFE(class_weight={0: weight}).fit(*make_data())


def test_labels_may_be_words():
    X, y = make_data(30, 8, 3)
    words = np.array(["ape", "bee", "cat"])[y]
    same(RFE(class_weight={"bee": 2.0}).fit(X, words), RFE(class_weight={1: 2.0}).fit(X, y))


# quantities


@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_quantities_are_explained_by_ridge_regression(size):
    X, _ = make_data(*size)
    y = 3 * X[:, 2] - X[:, 4] + 7.5
    found = RFE(C=2.0, standardize=False).fit(X, y)
    peer = PeerRFE(Ridge(alpha=0.25), n_features_to_select=1).fit(X, y)
    np.testing.assert_array_equal(found.ranking_, peer.ranking_)
    oracle.check_path(found.path_, X, oracle.quantity(y, 2.0), "ridge")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_quantities_are_refused_where_classes_are_needed(loss):
    X, _ = make_data()
    with pytest.raises(ValueError, match=f"y holds quantities, and estimator='{loss}' needs classes; use .*'ridge'"):
        RFE(loss).fit(X, X[:, 0])


def test_whole_numbers_are_quantities_if_one_says_so():
    X, y = make_data(40, 10, 4)
    peer = PeerRFE(Ridge(alpha=0.5), n_features_to_select=1).fit(X, y)
    np.testing.assert_array_equal(RFE(task="regression", standardize=False).fit(X, y).ranking_, peer.ranking_)


def test_one_class_alone_is_refused():
    X, _ = make_data()
    with pytest.raises(ValueError, match="one class"):
        RFE().fit(X, np.zeros(len(X), dtype=int))


# other estimators


@pytest.mark.parametrize("n_classes", [2, 3])
def test_importances_of_any_estimator_will_do(n_classes):
    X, y = make_data(40, 7, n_classes)
    forest = RandomForestClassifier(n_estimators=5, random_state=0)
    found = RFE(forest, standardize=False).fit(X, y)
    peer = PeerRFE(forest, n_features_to_select=1).fit(X, y)
    np.testing.assert_array_equal(np.sort(found.order_), np.arange(7))
    first = found.path_[-1]
    assert first.criterion == forest.fit(X, y).feature_importances_.min()
    assert "margin" not in first.info
    assert peer.ranking_[first.feature] == 7


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_coefficients_of_any_estimator_will_do(make):
    X, y = make_data(40, 7)
    target = X @ np.arange(7.0) + y
    estimator = Lasso(alpha=0.01, tol=1e-10)
    peer = PeerRFE(estimator, n_features_to_select=1).fit(X, target)
    found = RFE(estimator, standardize=False).fit(make(X), target)
    np.testing.assert_array_equal(found.ranking_, peer.ranking_)
    weights = estimator.fit(X, target).coef_
    np.testing.assert_allclose(found.path_[-1].criterion, np.min(weights**2), rtol=1e-6)
    np.testing.assert_allclose(found.path_[-1].info["margin"], 1 / np.linalg.norm(weights), rtol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_weights_may_come_as_a_sparse_matrix(make):
    X, y = make_data(40, 7)
    estimator = SVR(kernel="linear", tol=1e-8)
    peer = PeerRFE(estimator, n_features_to_select=1).fit(X, X @ np.arange(7.0) + y)
    found = RFE(estimator, standardize=False).fit(make(X), X @ np.arange(7.0) + y)
    np.testing.assert_array_equal(found.ranking_, peer.ranking_)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("size", [(12, 20), (40, 10), (15, 12)])
def test_support_vector_regression_has_a_name_of_its_own(size, make):
    X, y = make_data(*size)
    target = 5.0 + X[:, 2] + y
    found = RFE("epsilon_insensitive", epsilon=0.3, C=2.0, standardize=False).fit(make(X), target)
    same(found, RFE(SVR(kernel="linear", epsilon=0.3, C=2.0), standardize=False).fit(X, target), rtol=1e-5)
    assert found.certificate_["converged"]
    assert found.certificate_["residual"] < 1e-9


def test_support_vector_regression_with_a_kernel_goes_by_the_weight_of_its_own_dual():
    X, y = make_data(25, 5)
    target = np.sin(2 * X[:, 1]) + 0.1 * y
    machine = SVR(gamma=0.2, tol=1e-8).fit(X, target)
    v = np.zeros(25)
    v[machine.support_] = machine.dual_coef_[0]
    expected = oracle.algorithm_2(X, v[None], [[j] for j in range(5)], oracle.named_kernel("rbf", gamma=0.2))
    first = RFE(SVR(gamma=0.2), standardize=False).fit(X, target).path_[-1]
    assert first.feature == expected.argmin()
    np.testing.assert_allclose(first.criterion, expected.min(), rtol=1e-4)


def test_classes_are_refused_by_support_vector_regression_where_they_are_words():
    X, y = make_data()
    with pytest.raises(ValueError, match="task='classification' contradicts estimator='epsilon_insensitive'"):
        RFE("epsilon_insensitive", task="classification").fit(X, y)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 1: 0.5}])
@pytest.mark.parametrize("size", [(12, 20), (40, 10)])
def test_one_model_of_all_classes_is_that_of_scikit_learn(size, class_weight, make):
    X, y = make_data(*size, 3)
    found = RFE("logistic", multiclass="multinomial", class_weight=class_weight, standardize=False).fit(make(X), y)
    estimator = LogisticRegression(tol=1e-10, class_weight=class_weight, max_iter=1000)
    np.testing.assert_array_equal(found.ranking_, PeerRFE(estimator, n_features_to_select=1).fit(X, y).ranking_)
    same(found, RFE(estimator, standardize=False).fit(X, y), rtol=1e-6)
    assert found.certificate_["converged"]


def test_one_model_of_all_classes_with_two_of_them_is_logistic_regression():
    X, y = make_data()
    same(RFE("logistic", multiclass="multinomial").fit(X, y), RFE("logistic").fit(X, y))


def test_one_model_of_all_classes_with_a_linear_kernel_in_disguise_gives_the_linear_elimination():
    X, y = make_data(30, 8, 3)
    parameters = {"estimator": "logistic", "multiclass": "multinomial"}
    same(RFE(kernel=linear_kernel, **parameters).fit(X, y), RFE(**parameters).fit(X, y), rtol=1e-5)


def test_one_model_of_all_classes_is_for_logistic_regression_alone():
    with pytest.raises(ValueError, match="multiclass='multinomial' needs estimator='logistic', not 'squared_hinge'"):
        RFE(multiclass="multinomial").fit(*make_data())


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_the_hinge_converges_on_many_rows(C):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((10_000, 10))
    y = X @ np.linspace(1.0, 0.1, 10) + rng.standard_normal(10_000) > 0
    found = RFE("hinge", C=C).fit(X, y)
    assert found.certificate_["residual"] < 1e-9
    np.testing.assert_array_equal(found.order_, np.arange(10))


def test_a_kernel_matrix_instead_of_a_table_is_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="precomputed"):
        RFE(SVC(kernel="precomputed")).fit(X @ X.T, y)


def test_the_last_step_of_a_pipeline_tells_the_weights():
    X, y = make_data(40, 7)
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10))
    np.testing.assert_array_equal(
        RFE(model, standardize=False).fit(X, y).order_, RFE(LogisticRegression(tol=1e-10)).fit(X, y).order_
    )


def test_the_estimator_given_is_left_as_it_was():
    forest = RandomForestClassifier(n_estimators=3, random_state=0)
    RFE(forest).fit(*make_data(30, 5))
    assert not hasattr(forest, "estimators_")


def test_an_estimator_without_weights_is_refused():
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\(\) has neither coef_ nor feature_importances_"):
        RFE(KNeighborsClassifier()).fit(*make_data())


class Miscounting(ClassifierMixin, BaseEstimator):
    """Has a weight too many."""

    def fit(self, X, y):
        self.coef_ = np.zeros((1, X.shape[1] + 1))
        return self


def test_an_estimator_with_a_wrong_number_of_weights_is_refused():
    with pytest.raises(ValueError, match=r"Miscounting\(\) gives 11 weights for 10 features"):
        RFE(Miscounting()).fit(*make_data())


# errors and odds


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_sparse_table_with_a_kernel_is_refused_and_the_way_out_is_named(kernel):
    X, y = make_data()
    for ranker in (RFE(kernel=kernel), RFE(SVC(kernel=kernel))):
        with pytest.raises(ValueError, match=rf"sparse input is not supported with kernel='{kernel}'.*toarray"):
            ranker.fit(sparse.csr_array(X), y)


def test_an_unknown_kernel_is_refused_by_name():
    with pytest.raises(ValueError, match="kernel='cubic' is unknown"):
        RFE(kernel="cubic").fit(*make_data())


@pytest.mark.parametrize(
    "parameters",
    [{"C": 0.0}, {"C": -1}, {"step": 0}, {"tol": 0}, {"gamma": "large"}, {"multiclass": "all"}, {"estimator": "tree"}],
)
def test_bad_parameters_are_refused_by_name(parameters):
    with pytest.raises(ValueError, match=f"'{next(iter(parameters))}'"):
        RFE(**parameters).fit(*make_data())


def test_a_violation_above_the_tolerance_is_told():
    X, y = make_data()
    with pytest.warns(ConvergenceWarning, match="tol=1e-300"):
        found = RFE("logistic", tol=1e-300).fit(X, y)
    assert not found.certificate_["converged"]
    assert 0 < found.certificate_["residual"] < 1e-8


def test_one_feature_alone_is_ranked():
    X, y = make_data(20, 2)
    for estimator in (*LOSSES, SVC(), LinearSVC()):
        found = RFE(estimator, stop=1, task="classification").fit(X[:, :1], y)
        assert found.order_.tolist() == [0]


@QUICK
@given(st.lists(st.sampled_from([0.0, 1.0, 1.0 + 1e-13, 2.0, 5.0]), min_size=1, max_size=8))
def test_criteria_are_sorted_and_the_last_of_equal_ones_comes_first(values):
    values = np.array(values)
    places = ascending(values, np.arange(values.size))
    assert sorted(places.tolist()) == list(range(values.size))
    for a, b in pairwise(places):
        close = abs(values[a] - values[b]) < 1e-10
        assert a > b if close else values[a] < values[b]


def test_a_model_without_weights_is_said_to_have_none_and_rows_do_not_matter():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((200, 5)), np.arange(200) < 10
    shuffled = rng.permutation(200)
    orders = []
    for rows in (np.arange(200), shuffled):
        with pytest.warns(UserWarning, match="raise C, or use class_weight='balanced'"):
            orders.append(RFE("hinge").fit(X[rows], y[rows]).order_)
    np.testing.assert_array_equal(*orders)


def test_entries_of_a_sparse_table_that_stand_twice_count_as_their_sum():
    X, y = make_data(40, 10)
    once = sparse.csr_matrix(np.round(np.abs(X)))
    twice = sparse.csr_matrix(
        (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr), shape=once.shape
    )
    a, b = (RFE().fit(table, y) for table in (once, twice))
    np.testing.assert_array_equal(a.order_, b.order_)
    np.testing.assert_allclose(a.scores_, b.scores_)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_of_a_quantity_does_not_matter(unit):
    X, _ = make_data(40, 10)
    y = 3 * X[:, 2] + X[:, 4]
    np.testing.assert_array_equal(RFE().fit(X, unit * y).order_, RFE().fit(X, y).order_)


def test_what_contradicts_an_estimator_is_refused():
    X, y = make_data(40, 10)
    with pytest.raises(ValueError, match="y holds quantities, and estimator=SVC needs classes"):
        RFE(SVC()).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="task='regression' contradicts estimator=SVC"):
        RFE(SVC(), task="regression").fit(X, y)
    with pytest.raises(ValueError, match="'gamma' parameter of SVC"):
        RFE(SVC(gamma=-1.0)).fit(X, y)
    with pytest.raises(ValueError, match="kernel='poly' is not finite"):
        RFE(kernel="poly", degree=2.5).fit(X, y)
