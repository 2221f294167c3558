"""Optimal brain damage: weights of least saliency go, and inputs die with their last."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from tamis import OptimalBrainDamage
from tamis.rank.backward._linear_saliency import saliency_of
from tamis.rank.backward._optimal_brain_damage import WeightPruning
from tests.base.test_progress import Recorder
from tests.oracles import networks as oracle


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_live_longest(task, seed):
    X, y = oracle.planted(seed, task)
    found = OptimalBrainDamage(stop=3, random_state=seed).fit(X, y)
    assert found.support_.nonzero()[0].tolist() == [0, 1, 2]


def trained(ranker, X, y):
    ranker._callback_fit_ctx = None
    work = ranker._task(X, y, ranker._rng())
    network = ranker._start(work)
    return work, network, ranker._train(network, work)


def objective(network, work, alpha):
    layers = [(weights.numpy(), bias.numpy()) for weights, bias in network.layers]
    loss = oracle.loss(layers, work.inputs.table, work.target.values.numpy(), work.target.is_class)
    return loss + 0.5 * alpha * sum(np.sum(weights**2) for weights, _ in layers)


@pytest.mark.parametrize("task", ["regression", "three classes"])
def test_saliency_is_the_second_order_change_of_the_objective(task):
    X, y = oracle.planted(0, task, n_samples=40, n_features=4)
    ranker = OptimalBrainDamage(hidden_units=(3,), tol=1e-14, max_iter=20000, random_state=0)
    work, network, training = trained(ranker, X, y)
    assert training.objective == pytest.approx(objective(network, work, 0.01), rel=1e-10)
    saliency = WeightPruning(network, work, [], ranker.alpha, ranker._train)._saliency()
    for i in np.flatnonzero(network.is_weight().numpy()):
        weight, width = network.theta[i].item(), 1e-3
        change = []
        for sign in (1, -1):
            network.theta[i] = weight * (1 + sign * width)
            change.append(objective(network, work, 0.01) - training.objective)
        network.theta[i] = weight
        # along the line from w to 0 the objective rises by s (distance / w)^2, at its minimum
        assert sum(change) / 2 == pytest.approx(saliency[i] * width**2, rel=1e-3, abs=1e-13)
        assert change[0] - change[1] == pytest.approx(0.0, abs=1e-8)


def test_deleting_a_small_weight_of_a_linear_model_costs_its_saliency():
    X, y = oracle.planted(0, n_samples=50, n_features=5)
    ranker = OptimalBrainDamage(hidden_units=(), tol=1e-15, max_iter=20000, random_state=0)
    work, network, training = trained(ranker, X, y)
    saliency = WeightPruning(network, work, [], ranker.alpha, ranker._train)._saliency()
    for i in range(5):  # the objective is quadratic, and so the second order is all there is
        weight = network.theta[i].item()
        network.theta[i] = 0.0
        assert objective(network, work, 0.01) - training.objective == pytest.approx(saliency[i], rel=1e-5, abs=1e-10)
        network.theta[i] = weight


def test_every_feature_is_ranked_once_and_fewer_weights_are_left_for_better_ones():
    X, y = oracle.planted(0, "three classes")
    found = OptimalBrainDamage(stop=None, random_state=0).fit(X, y)
    assert sorted(found.order_) == list(range(15))
    left = [step.info["n_weights"] for step in found.path_]
    assert left == sorted(left)
    assert left[-1] <= 15 * 10 + 10 * 3


@pytest.mark.parametrize("parameters", [{"step": 5}, {"step": 10**6}, {"step": 0.9}, {"hidden_units": (5, 4)}], ids=str)
def test_weights_may_go_slowly_fast_or_all_at_once(parameters):
    X, y = oracle.planted(0)
    found = OptimalBrainDamage(stop=None, random_state=0, **parameters).fit(X, y)
    assert sorted(found.order_) == list(range(15))
    assert set(found.order_[:3]) == {0, 1, 2}
    assert np.isfinite(found.scores_).all()


def test_without_decay_it_works_too():
    X, y = oracle.planted(0)
    found = OptimalBrainDamage(alpha=0.0, stop=3, random_state=0).fit(X, y)
    assert 0 in found.order_[:3]


def squares(outputs, y):
    return 0.5 * np.sum((outputs - y) ** 2)


def log_loss(outputs, y):
    if outputs.shape[1] == 1:
        return np.sum(np.logaddexp(0.0, outputs[:, 0]) - y * outputs[:, 0])
    return np.sum(logsumexp(outputs, axis=1) - outputs[np.arange(len(y)), y])


def weighted_log_loss(outputs, y):
    each = np.logaddexp(0.0, outputs[:, 0]) - y * outputs[:, 0]
    return np.sum(np.where(y == 1, 3.0, 1.0) * each)


def squared_hinge(outputs, y):
    label = np.where(y[:, None] == (1 if outputs.shape[1] == 1 else np.arange(3)), 1.0, -1.0)
    return np.sum(np.maximum(0.0, 1.0 - label * outputs) ** 2)


def signed_squares(outputs, y):
    return squares(outputs, np.where(y[:, None] == (1 if outputs.shape[1] == 1 else np.arange(3)), 1.0, -1.0))


def poisson(outputs, y):
    return np.sum(np.exp(outputs[:, 0]) - y * outputs[:, 0])


def gamma(outputs, y):
    return np.sum(outputs[:, 0] + y * np.exp(-outputs[:, 0]))


def compound(outputs, y):
    mean = np.exp(outputs[:, 0])
    return np.sum(mean**0.5 / 0.5 - y * mean**-0.5 / -0.5)


def plain(outputs, y):
    return squares(outputs[:, 0], y)


# model, kind of target, sum of the losses over the rows, decay of the weights
MODELS = [
    (LinearRegression(), "quantity", plain, 0.0),
    (Ridge(alpha=3.0), "quantity", plain, 3.0),
    (Lasso(alpha=0.01), "quantity", plain, 0.0),
    (ElasticNet(alpha=0.1, l1_ratio=0.25), "quantity", plain, 60 * 0.1 * 0.75),
    (TweedieRegressor(power=0, alpha=0.2), "quantity", plain, 60 * 0.2),
    (LogisticRegression(C=0.5), "two", log_loss, 2.0),
    (LogisticRegression(C=2.0), "three", log_loss, 0.5),
    (LogisticRegression(class_weight={0: 1.0, 1: 3.0}), "two", weighted_log_loss, 1.0),
    (LinearSVC(C=0.5), "two", squared_hinge, 2.0),
    (LinearSVC(), "three", squared_hinge, 1.0),
    (RidgeClassifier(alpha=2.0), "two", signed_squares, 2.0),
    (RidgeClassifier(alpha=2.0), "three", signed_squares, 2.0),
    (PoissonRegressor(alpha=0.1), "count", poisson, 6.0),
    (GammaRegressor(alpha=0.1), "positive", gamma, 6.0),
    (TweedieRegressor(power=1.5, alpha=0.1), "positive", compound, 6.0),
]


def modeled(kind, n_samples=60):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n_samples, 5))
    signal = X[:, 0] - 0.6 * X[:, 1] + 0.3 * X[:, 2] + 0.5 * rng.standard_normal(n_samples)
    y = {
        "quantity": signal,
        "two": (signal > 0).astype(int),
        "three": np.digitize(signal, [-0.5, 0.5]),
        "count": rng.poisson(np.exp(0.5 * signal)),
        "positive": np.exp(0.5 * signal),
    }[kind]
    return X, y


@pytest.mark.parametrize(
    ("model", "kind", "loss", "decay"), MODELS, ids=lambda value: getattr(value, "__name__", str(value)[:40])
)
def test_saliency_of_a_linear_model_is_the_second_difference_of_its_objective(model, kind, loss, decay):
    X, y = modeled(kind)
    model = clone(model).fit(X, y)
    weights = np.atleast_2d(model.coef_)

    def objective(weights):
        return loss(X @ weights.T + model.intercept_, y) + 0.5 * decay * np.sum(weights**2)

    expected, width = np.zeros(5), 1e-3
    for c, i in np.ndindex(weights.shape):
        step = np.zeros_like(weights)
        step[c, i] = width
        bend = (objective(weights + step) - 2 * objective(weights) + objective(weights - step)) / width**2
        expected[i] += 0.5 * bend * weights[c, i] ** 2
    np.testing.assert_allclose(saliency_of(model, X, y), expected, rtol=2e-3 if isinstance(model, LinearSVC) else 1e-5)
    np.testing.assert_allclose(saliency_of(model, sparse.csr_array(X), y), saliency_of(model, X, y))


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(alpha=5.0)], ids=repr)
def test_deleting_a_weight_of_least_squares_costs_exactly_its_saliency(model):
    X, y = modeled("quantity")
    X, y = X - X.mean(axis=0), y - y.mean()
    model = clone(model).fit(X, y)
    decay = getattr(model, "alpha", 0.0)
    saliency = saliency_of(model, X, y)

    def objective(weights):
        return squares(X @ weights, y) + 0.5 * decay * weights @ weights

    for i in range(5):
        without = model.coef_ * (np.arange(5) != i)
        assert objective(without) - objective(model.coef_) == pytest.approx(saliency[i])
    if decay == 0:
        np.testing.assert_allclose(saliency, 0.5 * np.sum(X**2, axis=0) * model.coef_**2)


@pytest.mark.parametrize("step", [1, 2, 0.5, "halving"])
@pytest.mark.parametrize(
    ("model", "kind", "loss", "decay"), MODELS, ids=lambda value: getattr(value, "__name__", str(value)[:40])
)
def test_inputs_of_a_linear_model_leave_in_the_order_of_their_saliency(model, kind, loss, decay, step):
    X, y = modeled(kind)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    left, expected = list(range(5)), []
    while left:
        saliency = saliency_of(clone(model).set_params(**seed(model)).fit(Z[:, left], y), Z[:, left], y)
        size = {1: 1, 2: 2, 0.5: max(1, len(left) // 2), "halving": {5: 1, 4: 2, 2: 1, 1: 1}.get(len(left))}[step]
        for i in np.argsort(saliency)[:size]:
            expected.append(left[i])
        left = [i for i in left if i not in expected]
    found = OptimalBrainDamage(clone(model).set_params(**seed(model)), step=step, stop=None).fit(X, y)
    assert found.order_.tolist() == expected[::-1]
    assert found.certificate_["converged"]
    assert [step.info["n_features"] for step in found.path_][-1] == 5


def seed(model):
    return {"random_state": 0} if "random_state" in model.get_params() else {}


def test_sparse_tables_go_to_the_estimator_as_they_are_and_the_network_refuses_them():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((80, 10)) * (rng.rand(80, 10) < 0.3)
    y = X[:, 2] - 2 * X[:, 5]
    found = OptimalBrainDamage(Ridge(tol=1e-12), stop=2).fit(sparse.csr_array(X), y)
    dense = OptimalBrainDamage(Ridge(), stop=2, standardize=False).fit(X / X.std(axis=0), y)
    np.testing.assert_array_equal(found.order_, dense.order_)
    np.testing.assert_allclose(found.scores_, dense.scores_, rtol=1e-6)  # sparse ridge is iterative
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        OptimalBrainDamage().fit(sparse.csr_array(X), y)


def test_units_do_not_matter_to_an_estimator_on_standardized_columns():
    X, y = modeled("two")
    other = X * 10.0 ** np.array([-150, 200, 0, 3, -3])
    plain, moved = (OptimalBrainDamage(LogisticRegression(), stop=None).fit(table, y) for table in (X, other))
    np.testing.assert_array_equal(plain.order_, moved.order_)
    np.testing.assert_allclose(plain.scores_, moved.scores_, rtol=1e-6)


def test_copies_and_constant_columns_never_reach_the_estimator():
    X, y = modeled("quantity")
    X = np.column_stack([X[:, 0], X, np.full(len(X), 7.0), X[:, 1]])
    found = OptimalBrainDamage(LinearRegression(), stop=None).fit(X, y)
    assert found.order_[-2:].tolist() == [1, 7]
    assert set(found.order_[:3]) == {0, 2, 3}
    assert np.isnan(found.scores_[6])
    assert found.path_[-1].info == {"copy": True}


def test_missing_values_are_refused_with_what_mends_them():
    X, y = oracle.planted(0, n_samples=40, n_features=4)
    X[3, 1] = np.nan
    for estimator in (None, Ridge()):
        with pytest.raises(ValueError, match=r"holds 1 missing value.*TableSelector\(.*make_pipeline\(SimpleImputer"):
            OptimalBrainDamage(estimator, stop=1).fit(X, y)
    with pytest.raises(ValueError, match="no saliencies known here"):  # whatever is done to the table
        OptimalBrainDamage(DecisionTreeRegressor(), stop=1).fit(X, y)


def test_models_without_known_saliencies_are_refused_with_the_list_of_those_known():
    X, y = modeled("two")
    with pytest.raises(ValueError, match=r"estimator=SGDClassifier\(\) .*GammaRegressor, Lasso, LinearRegression"):
        OptimalBrainDamage(SGDClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="use loss='squared_hinge'"):
        OptimalBrainDamage(LinearSVC(loss="hinge")).fit(X, y)
    with pytest.raises(ValueError, match="'estimator' parameter of OptimalBrainDamage"):
        OptimalBrainDamage("ridge").fit(X, y)


def test_trainings_that_were_cut_short_are_reported_once():
    X, y = modeled("three")
    with pytest.warns(ConvergenceWarning, match=r"LogisticRegression did not converge in \d of 5 trainings") as caught:
        found = OptimalBrainDamage(LogisticRegression(max_iter=2), step=1, stop=1).fit(X, y)
    assert len(caught) == 1
    assert not found.certificate_["converged"]


def test_an_estimator_needs_no_torch():
    code = (
        "import sys; from tamis import OptimalBrainDamage; "
        "from sklearn.linear_model import Ridge; from tamis.datasets import make_linear; "
        "OptimalBrainDamage(Ridge()).fit(*make_linear(30, random_state=0)); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_weights_of_a_network_may_be_halved_too():
    X, y = oracle.planted(0)
    found = OptimalBrainDamage(step="halving", stop=None, random_state=0).fit(X, y)
    assert sorted(found.order_) == list(range(15))


def test_a_callback_may_end_the_pruning_of_an_estimator():
    X, y = modeled("quantity")
    ranker = OptimalBrainDamage(LinearRegression(), step=1, stop=None)
    whole = clone(ranker).fit(X, y)
    ranker.set_callbacks(Recorder({"eliminate step": 2}))
    found = ranker.fit(X, y)
    assert sorted(found.order_) == list(range(5))
    np.testing.assert_array_equal(found.order_[3:], whole.order_[3:])
    assert found.n_iter_ == 2


@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        RidgeClassifier(),
        ElasticNet(alpha=0.05, tol=1e-10),
        LogisticRegression(class_weight="balanced", tol=1e-10),
        LinearSVC(class_weight="balanced", tol=1e-10, max_iter=10_000, random_state=0),
        PoissonRegressor(tol=1e-10),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_weights_of_rows_stand_for_repeated_rows_in_an_estimator(model, layout):
    rng = np.random.RandomState(0)
    X = 2.0 * rng.standard_normal((40, 4)) + np.array([0.0, 1.0, 0.0, 3.0])
    quantity = np.exp(0.2 * (X[:, 0] - X[:, 1]) + 0.3 * rng.standard_normal(40))
    y = np.digitize(quantity, [0.7, 1.2]) if is_classifier(model) else quantity
    weight = np.tile([1.0, 3.0, 0.0, 2.0], 10)
    rows = rng.permutation(np.repeat(np.arange(40), weight.astype(int)))
    weighted = OptimalBrainDamage(model, stop=2).fit(layout(X), y, sample_weight=weight)
    repeated = OptimalBrainDamage(model, stop=2).fit(layout(X[rows]), y[rows])
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-4)
