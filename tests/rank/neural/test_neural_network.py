"""The network that the supervised methods share: derivatives, penalties, training, inputs, and what all methods owe."""

import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.callback import FitCallback
from sklearn.exceptions import ConvergenceWarning

from tamis import (
    FQI,
    NNFS,
    DeepFeatureSelection,
    DropOneOut,
    OptimalBrainDamage,
    SensitivityRanking,
    SignalToNoise,
)
from tamis.rank.neural import _penalties as penalties
from tamis.rank.neural._network import Perceptron, Target, curvature, losses_without, row_shares, train, train_proximal
from tamis.rank.neural._supervised import NetworkElimination, distinct_inputs
from tests.oracles import networks as oracle

QUICK = settings(deadline=None, max_examples=30, derandomize=True)
RANKERS = [
    DeepFeatureSelection(),
    DropOneOut(),
    FQI(),
    NNFS(),
    OptimalBrainDamage(),
    SensitivityRanking(),
    SignalToNoise(n_draws=2),
]
every = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
NETWORKS = pytest.mark.parametrize(
    ("sizes", "one_to_one"),
    [((4, 3, 2), False), ((4, 3), False), ((4, 5, 4, 1), False), ((4, 3, 1), True), ((4, 3, 2, 3), True)],
    ids=str,
)


def problem(sizes, one_to_one=False, n_samples=7):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n_samples, sizes[0]))
    is_class = sizes[-1] > 1
    wanted = np.eye(sizes[-1])[np.arange(n_samples) % sizes[-1]] if is_class else rng.standard_normal((n_samples, 1))
    Z = torch.from_numpy(X)
    network = Perceptron.initialize(sizes, Z, torch.Generator().manual_seed(1), one_to_one=one_to_one)
    network.theta += 0.3 * torch.from_numpy(rng.standard_normal(network.theta.numel()))
    return network, X, Target(torch.from_numpy(wanted), is_class, row_shares(Z, None))


def loss_of(network, X, target, theta=None):
    moved = network if theta is None else Perceptron(network.sizes, torch.from_numpy(theta))
    layers = [(weights.numpy(), bias.numpy()) for weights, bias in moved.layers]
    factors = None if moved.factors is None else moved.factors.numpy()
    return oracle.loss(layers, X, target.values.numpy(), target.is_class, factors)


@NETWORKS
def test_loss_and_gradient_agree_with_one_loop_per_unit_and_finite_differences(sizes, one_to_one):
    network, X, target = problem(sizes, one_to_one)
    loss, gradient = network.loss_and_gradient(torch.from_numpy(X), target)
    assert loss.item() == pytest.approx(loss_of(network, X, target), rel=1e-12)
    assert target.loss(network(torch.from_numpy(X))).item() == pytest.approx(loss.item(), rel=1e-12)
    expected = oracle.slope(lambda theta: loss_of(network, X, target, theta), network.theta.numpy())
    np.testing.assert_allclose(gradient, expected, atol=1e-8)


@NETWORKS
def test_curvature_is_the_diagonal_of_the_hessian(sizes, one_to_one):
    if one_to_one:
        return
    network, X, target = problem(sizes)
    expected = oracle.bend(lambda theta: loss_of(network, X, target, theta), network.theta.numpy())
    np.testing.assert_allclose(curvature(network, torch.from_numpy(X), target), expected, atol=1e-7)


def test_curvature_in_blocks_of_rows_is_that_of_all_rows(monkeypatch):
    network, X, target = problem((4, 5, 3))
    whole = curvature(network, torch.from_numpy(X), target)
    monkeypatch.setattr("tamis.rank.neural._network._BLOCK", 2 * 25)
    np.testing.assert_allclose(curvature(network, torch.from_numpy(X), target), whole, rtol=1e-12)


def test_curvature_in_blocks_of_inputs_is_that_of_all_inputs(monkeypatch):
    network, X, target = problem((4, 5, 3))
    whole = curvature(network, torch.from_numpy(X), target)
    monkeypatch.setattr("tamis.rank.neural._network._BLOCK_WITHOUT", 3 * len(X))  # three inputs, then one
    np.testing.assert_allclose(curvature(network, torch.from_numpy(X), target), whole, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(4, 3, 2), (4, 3), (4, 5, 4, 1)], ids=str)
@pytest.mark.parametrize("block", [1, 2**21])
def test_leaving_an_input_out_is_holding_it_at_zero(sizes, block, monkeypatch):
    monkeypatch.setattr("tamis.rank.neural._network._BLOCK_WITHOUT", block)
    network, X, target = problem(sizes)
    found = losses_without(network, torch.from_numpy(X), target)
    expected = [loss_of(network, oracle.without(X, j), target) for j in range(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_network_on_some_inputs_is_the_network_with_the_others_at_zero():
    network, X, _ = problem((4, 3, 2))
    Z = torch.from_numpy(oracle.without(oracle.without(X, 0), 2))
    np.testing.assert_allclose(network.keep_inputs(np.array([1, 3]))(Z[:, [1, 3]]), network(Z), rtol=1e-12)


def test_an_elimination_holds_only_the_inputs_that_remain():
    ranker = FQI(hidden_units=(3,))
    X = np.random.RandomState(0).standard_normal((20, 6))
    task = ranker._task(X, X[:, 0], np.random.RandomState(0))
    table = weakref.ref(task.inputs.table)
    elimination = NetworkElimination(ranker._start(task), task, np.arange(6), [], ranker._train)
    del task
    before = elimination.criteria()
    elimination.remove(elimination.remaining[:0])
    np.testing.assert_allclose(elimination.criteria(), before, rtol=1e-12)
    assert table() is None


# tables with more columns than rows


@pytest.mark.parametrize("hidden_units", [(3,), (), (4, 3)], ids=str)
@pytest.mark.parametrize("one_to_one", [False, True])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_training_in_the_space_of_the_rows_takes_the_steps_of_training_on_all_columns(hidden_units, one_to_one, task):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((12, 40))
    X[3] = X[5]  # rows that depend on each other
    y = X[:, 0] > 0 if task == "classification" else X[:, 0]
    found = []
    for name in ("_train_in_row_space", "_train"):
        ranker = FQI(hidden_units=hidden_units, task=task, max_iter=8, alpha=0.1)
        inputs = ranker._task(X, y, np.random.RandomState(1))
        network = ranker._start(inputs, one_to_one=one_to_one)
        free = np.arange(network.theta.numel()) < network.theta.numel() - 40 * one_to_one
        training = getattr(ranker, name)(network, inputs, *([free] if name == "_train" else []))
        found.append((training, network.theta.numpy()))
    (one, theta), (other, expected) = found
    np.testing.assert_allclose(theta, expected, rtol=1e-7, atol=1e-9)
    assert (one.n_iter, one.converged) == (other.n_iter, other.converged)
    assert one.objective == pytest.approx(other.objective, rel=1e-10)


@every
def test_wide_tables_are_ranked_the_same_in_the_space_of_their_rows(ranker, monkeypatch):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((25, 60))
    y = X[:, 7] + X[:, 30] > 0
    quick = clone(ranker).set_params(stop=2, random_state=0, max_iter=10, tol=1e-3)
    with pytest.warns(ConvergenceWarning):
        found = quick.fit(X, y)
    monkeypatch.setattr("tamis.rank.neural._supervised._WIDE", np.inf)
    with pytest.warns(ConvergenceWarning):
        expected = clone(quick).fit(X, y)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-5, atol=1e-9)


# penalties

WEIGHTS = st.lists(st.floats(-3, 3), min_size=6, max_size=6).map(lambda w: torch.tensor(w, dtype=torch.float64))
RATIO = st.sampled_from([0.0, 0.3, 1.0])


@QUICK
@given(w=WEIGHTS, step=st.floats(0.01, 5), strength=st.floats(0.01, 2), ratio=RATIO)
def test_the_elastic_net_step_is_optimal(w, step, strength, ratio):
    v = penalties.elastic_net_step(w, step, strength, ratio)
    l1, l2 = step * strength * ratio, step * strength * (1 - ratio)
    rest = (w - v - l2 * v).numpy()  # must be l1 times a subgradient of |v|
    np.testing.assert_allclose(rest[v != 0], l1 * np.sign(v[v != 0].numpy()), atol=1e-12)
    assert np.all(np.abs(rest[v == 0]) <= l1 + 1e-12)


@QUICK
@given(w=WEIGHTS, step=st.floats(0.01, 5), strength=st.floats(0.01, 2), ratio=RATIO)
def test_the_sparse_group_lasso_step_is_optimal(w, step, strength, ratio):
    W = w.view(3, 2)
    V = penalties.sparse_group_lasso_step(W, step, strength, ratio)
    l1, group = step * strength * ratio, step * strength * (1 - ratio) * 2**0.5
    for before, after in zip(W.numpy(), V.numpy(), strict=True):
        if not after.any():
            assert np.linalg.norm(np.maximum(np.abs(before) - l1, 0)) <= group + 1e-12
            continue
        rest = before - after - group * after / np.linalg.norm(after)
        np.testing.assert_allclose(rest[after != 0], l1 * np.sign(after[after != 0]), atol=1e-9)
        assert np.all(np.abs(rest[after == 0]) <= l1 + 1e-9)


@QUICK
@given(w=WEIGHTS, step=st.floats(0.01, 2), strength=st.floats(0.01, 2), ratio=RATIO, seed=st.integers(0, 1000))
def test_no_other_point_is_better_than_a_proximal_step(w, step, strength, ratio, seed):
    other = torch.from_numpy(np.random.RandomState(seed).standard_normal(6))
    for penalty, prox, shape in (
        (penalties.elastic_net, penalties.elastic_net_step, (6,)),
        (penalties.sparse_group_lasso, penalties.sparse_group_lasso_step, (3, 2)),
    ):
        found = prox(w.view(shape), step, strength, ratio)
        for size in (1e-3, 0.1, 1.0):
            values = [
                0.5 * (v - w.view(shape)).square().sum() + step * penalty(v, strength, ratio)
                for v in (found, found + size * other.view(shape))
            ]
            assert values[0] <= values[1] + 1e-12


@QUICK
@given(w=WEIGHTS, eps1=st.floats(0, 1), eps2=st.floats(0, 1), beta=st.floats(0.1, 20))
def test_the_saturating_decay_is_the_printed_one_and_so_is_its_gradient(w, eps1, eps2, beta):
    def printed(x):
        return sum(eps1 * beta * v**2 / (1 + beta * v**2) + eps2 * v**2 for v in x)

    assert penalties.saturating_decay(w, eps1, eps2, beta).item() == pytest.approx(printed(w.tolist()), abs=1e-12)
    found = penalties.saturating_decay_gradient(w, eps1, eps2, beta)
    np.testing.assert_allclose(found, oracle.slope(printed, w.numpy()), atol=1e-6)


# training


def test_training_ends_where_the_gradient_vanishes_and_leaves_fixed_entries_alone():
    network, X, target = problem((4, 3, 1), n_samples=30)
    Z, decay = torch.from_numpy(X), 0.01
    free = np.arange(network.theta.numel()) != 2
    start = network.theta.clone()

    def objective():
        loss, gradient = network.loss_and_gradient(Z, target)
        return loss + 0.5 * decay * network.theta.square().sum(), gradient + decay * network.theta

    training = train(network, objective, max_iter=5000, tol=1e-15, free=free)
    assert training.converged
    assert network.theta[2] == start[2]
    value, gradient = objective()
    assert value.item() == pytest.approx(training.objective, rel=1e-12)
    assert np.abs(gradient.numpy()[free]).max() < 1e-5


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_proximal_training_of_a_linear_model_is_optimal_and_its_zeros_exact(n_outputs):
    network, X, target = problem((12, n_outputs), n_samples=40)
    Z, strength, shape = torch.from_numpy(X), 0.05, (12, n_outputs)

    def penalty(theta):
        return penalties.sparse_group_lasso(theta[: 12 * n_outputs].view(shape), strength, 0.0)

    def shrink(theta, length):
        first = theta[: 12 * n_outputs].view(shape)
        first.copy_(penalties.sparse_group_lasso_step(first, length, strength, 0.0))
        return theta

    training = train_proximal(
        network, lambda: network.loss_and_gradient(Z, target), penalty, shrink, max_iter=5000, tol=1e-13
    )
    assert training.converged
    loss, gradient = network.loss_and_gradient(Z, target)
    assert (loss + penalty(network.theta)).item() == pytest.approx(training.objective, rel=1e-9)
    slope, weights = gradient[: 12 * n_outputs].view(shape).numpy(), network.layers[0][0].numpy()
    length, limit = np.linalg.norm(weights, axis=1), strength * n_outputs**0.5
    zero = length == 0
    assert 0 < zero.sum() < 12
    assert np.linalg.norm(slope[zero], axis=1).max() <= limit + 1e-6
    np.testing.assert_allclose(slope[~zero], -limit * weights[~zero] / length[~zero, None], atol=1e-5)


# inputs


def test_inputs_do_not_depend_on_the_order_signs_and_copies_of_columns():
    X = np.random.RandomState(0).standard_normal((20, 6))
    shuffle = np.random.RandomState(1).permutation(9)
    crowded = np.column_stack([X, -X[:, 1], X[:, 4], np.full(20, 3.3)])[:, shuffle]
    plain, other = distinct_inputs(X, standardize=True), distinct_inputs(crowded, standardize=True)
    np.testing.assert_array_equal(other.table, plain.table)
    np.testing.assert_allclose(plain.table.std(axis=0), 1.0)
    assert other.input_of[np.flatnonzero(shuffle == 8)] == -1
    np.testing.assert_array_equal(other.input_of[shuffle == 6], other.input_of[shuffle == 1])
    assert other.copies().size == 2
    assert np.isnan(other.share(np.arange(6.0))).sum() == 1


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_inputs_of_any_size_are_standardized(scale):
    X = np.random.RandomState(0).standard_normal((20, 3))
    table = distinct_inputs(scale * X, standardize=True).table
    assert np.isfinite(table).all()
    np.testing.assert_allclose(table.std(axis=0), 1.0)


# what every method owes


@every
def test_rows_as_few_as_two_and_a_single_column_are_enough(ranker):
    ranker = clone(ranker).set_params(random_state=0, stop=None)
    X = np.random.RandomState(0).standard_normal((30, 1))
    assert clone(ranker).fit(X, X[:, 0] > 0).order_.tolist() == [0]
    assert clone(ranker).fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"]).scores_.shape == (2,)
    assert clone(ranker).fit([[0.0, 1.0], [1.0, 3.0]], [0.5, 7.25]).scores_.shape == (2,)


@every
def test_units_of_columns_and_target_hardly_matter(ranker):
    X, y = oracle.planted(0, n_samples=100, n_features=6)
    scale = np.logspace(-6, 6, 6)
    plain = clone(ranker).set_params(random_state=0, stop=3).fit(X, y)
    other = clone(ranker).set_params(random_state=0, stop=3).fit(X * scale + 5 * scale, 1e9 * y - 1e10)
    np.testing.assert_array_equal(other.support_, plain.support_)


@every
def test_constant_columns_are_not_ranked_and_change_nothing(ranker):
    X, y = oracle.planted(0, "two classes", n_samples=80, n_features=6)
    ranker = clone(ranker).set_params(random_state=0, stop=None)
    plain = clone(ranker).fit(X, y)
    found = clone(ranker).fit(np.column_stack([X[:, :2], np.full(80, 0.1), X[:, 2:]]), y)
    assert np.isnan(found.scores_[2])
    np.testing.assert_array_equal(np.delete(np.arange(7), 2)[plain.order_], found.order_)
    np.testing.assert_allclose(np.delete(found.scores_, 2), plain.scores_)


@every
def test_names_of_the_classes_do_not_matter(ranker):
    X, y = oracle.planted(0, "three classes", n_samples=80, n_features=5)
    ranker = clone(ranker).set_params(random_state=0, stop=None)
    plain, named = clone(ranker).fit(X, y), clone(ranker).fit(X, np.array(["ant", "bee", "cat"])[y])
    np.testing.assert_array_equal(named.scores_, plain.scores_)


@every
def test_noise_alone_is_ranked_without_complaint(ranker):
    rng = np.random.RandomState(0)
    for seed, shape in enumerate([(10, 3), (30, 40), (100, 5)]):
        X = rng.standard_normal(shape)
        for y in (rng.standard_normal(shape[0]), rng.permutation(np.arange(shape[0]) % 2)):
            found = clone(ranker).set_params(random_state=seed, stop=None).fit(X, y)
            assert found.certificate_["converged"]
            assert np.isfinite(found.scores_).all()


@every
def test_a_training_that_ends_too_early_says_so(ranker):
    X, y = oracle.planted(0, n_samples=100)
    with pytest.warns(ConvergenceWarning, match=f"{type(ranker).__name__} ended .* raise max_iter=1 or tol"):
        found = clone(ranker).set_params(max_iter=1, random_state=0).fit(X, y)
    assert not found.certificate_["converged"]


@every
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"hidden_units": (3, 0)}, "hidden_units=\\(3, 0\\)"),
        ({"hidden_units": (2.5,)}, "hidden_units"),
        ({"hidden_units": 3}, "'hidden_units' parameter"),
        ({"device": "abacus"}, "device='abacus' cannot be used here"),
        ({"task": "ranking"}, "'task' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(ranker, parameters, words):
    X, y = oracle.planted(0, n_samples=20, n_features=4)
    with pytest.raises(ValueError, match=words):
        clone(ranker).set_params(**parameters).fit(X, y)


@every
def test_a_target_that_says_nothing_is_refused(ranker):
    X = np.random.RandomState(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match="constant"):
        clone(ranker).set_params(task="regression").fit(X, np.full(20, 2.5))
    with pytest.raises(ValueError, match="one class only"):
        clone(ranker).fit(X, np.zeros(20, dtype=int))


class Recorder:
    """Counts the tasks that it is told of, and asks to stop after some of a name."""

    def __init__(self, **stop_at):
        self.stop_at, self.ended = stop_at, {}

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        name = context.task_name
        self.ended[name] = self.ended.get(name, 0) + 1
        return self.ended[name] >= self.stop_at.get(name.split()[0], np.inf)

    def teardown(self, estimator, context):
        pass


@every
def test_iterations_are_reported_and_a_callback_may_end_them(ranker):
    X, y = oracle.planted(0, n_samples=100, n_features=5)
    recorder = Recorder()
    assert isinstance(recorder, FitCallback)
    found = clone(ranker).set_params(random_state=0).set_callbacks(recorder).fit(X, y)
    assert recorder.ended["epoch step"] >= 0.8 * found.n_iter_
    with pytest.warns(ConvergenceWarning):
        found = clone(ranker).set_params(random_state=0).set_callbacks(Recorder(epoch=2)).fit(X, y)
    assert not found.certificate_["converged"]


@pytest.mark.parametrize(
    ("ranker", "task"),
    [
        (NNFS(stop=None), "eliminate"),
        (DropOneOut(stop=None), "eliminate"),
        (OptimalBrainDamage(stop=None), "eliminate"),
        (SignalToNoise(stop=None, threshold=None), "noise"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_rounds_are_reported_and_every_feature_is_ranked_when_a_callback_ends_them(ranker, task):
    X, y = oracle.planted(0, n_samples=100, n_features=6)
    whole = clone(ranker).set_params(random_state=0).fit(X, y)
    recorder = Recorder(**{task: 2})
    found = clone(ranker).set_params(random_state=0).set_callbacks(recorder).fit(X, y)
    assert recorder.ended[f"{task} step"] == 2
    assert set(found.order_) == set(whole.order_)


class Tasks(Recorder):
    """Remembers tasks that have steps, each with the one that it is a part of."""

    def __init__(self):
        super().__init__()
        self.begun = []

    def on_fit_task_begin(self, estimator, context):
        if context.max_subtasks != 0 and context.parent is not None:
            self.begun.append((context.parent.task_name, context.task_name))


@pytest.mark.parametrize("ranker", [NNFS(stop=None), OptimalBrainDamage(stop=None)], ids=type)
def test_trainings_between_eliminations_are_one_task_together(ranker):
    X, y = oracle.planted(0, n_samples=60, n_features=6)
    tasks = Tasks()
    clone(ranker).set_params(random_state=0).set_callbacks(tasks).fit(X, y)
    assert tasks.begun == [("fit", "epoch"), ("fit", "eliminate"), ("eliminate", "epoch")]


def test_trainings_with_noise_are_one_task_together():
    X, y = oracle.planted(0, n_samples=60, n_features=6)
    tasks = Tasks()
    SignalToNoise(n_draws=3, random_state=0).set_callbacks(tasks).fit(X, y)
    assert tasks.begun == [("fit", "noise"), ("noise", "epoch")]


def test_methods_are_imported_without_torch():
    modules = sorted({type(ranker).__module__ for ranker in RANKERS})
    code = f"import sys, {', '.join(modules)}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@every
def test_columns_that_only_rounding_makes_vary_are_refused(ranker):
    X = 1e15 + np.random.RandomState(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match="every column of X is constant"):
        clone(ranker).fit(X, np.arange(30) % 2)


@pytest.mark.parametrize("exponent", [-700, 700, 1020])
def test_a_table_of_any_size_is_read_without_scaling_its_columns(exponent):
    X = np.random.RandomState(0).standard_normal((20, 3)) * [1.0, 2.0, 3.0]
    table = distinct_inputs(np.ldexp(X, exponent), standardize=False).table
    spread = np.sort(table.std(axis=0))
    np.testing.assert_allclose(spread / spread[0], np.sort(X.std(axis=0)) / X.std(axis=0).min())


def test_proximal_training_ends_where_the_objective_is_no_number():
    network, X, target = problem((4, 3, 1))
    Z = torch.from_numpy(np.where(np.arange(4) == 1, np.nan, X))
    training = train_proximal(
        network,
        lambda: network.loss_and_gradient(Z, target),
        lambda theta: theta.abs().sum(),
        lambda theta, length: theta,
        max_iter=50,
        tol=1e-4,
    )
    assert not training.converged
    assert torch.isfinite(network.theta).all()
