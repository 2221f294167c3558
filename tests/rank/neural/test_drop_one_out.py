"""Drop-one-out: inputs that survive a sparse-group lasso, ranked by what the network loses without them."""

import numpy as np
import pytest

from tamis import DropOneOut
from tests.oracles import networks as oracle


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_survive_and_come_first(task, seed):
    X, y = oracle.planted(seed, task)
    found = DropOneOut(step=0.5, random_state=seed).fit(X, y)
    assert set(found.order_[:3]) == {0, 1, 2}
    assert found.support_.sum() <= 10
    assert found.stop_.reason.startswith(f"{found.support_.sum()} of 15 features have weights that are not zero")


def trained(ranker, X, y):
    ranker._callback_fit_ctx = None
    work = ranker._task(X, y, ranker._rng())
    network = ranker._start(work)
    ranker._train(network, work)
    return work, network, ranker._fit_network(network, work)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_the_network_is_stationary_and_its_zeros_are_exact(l1_ratio):
    X, y = oracle.planted(0, n_samples=100, n_features=8)
    ranker = DropOneOut(l1_ratio=l1_ratio, sparsity=0.03, hidden_units=(4,), tol=1e-12, max_iter=50000, random_state=0)
    work, network, training = trained(ranker, X, y)
    assert training.converged
    weights, slope = network.layers[0][0].numpy(), network.loss_and_gradient(work.Z, work.target)[1].numpy()
    slope = slope[: weights.size].reshape(weights.shape)
    length, l1, group = np.linalg.norm(weights, axis=1), 0.03 * l1_ratio, 0.03 * (1 - l1_ratio) * 2.0
    dropped = length == 0
    assert dropped.any() or l1_ratio == 1.0
    assert np.any(weights == 0)
    excess = np.linalg.norm(np.maximum(np.abs(slope[dropped]) - l1, 0), axis=1)
    assert np.all(excess <= group + 1e-5)
    kept, rest = weights[~dropped], -slope[~dropped] - group * weights[~dropped] / length[~dropped, None]
    np.testing.assert_allclose(rest[kept != 0], l1 * np.sign(kept[kept != 0]), atol=1e-4)
    assert np.all(np.abs(rest[kept == 0]) <= l1 + 1e-4)


def test_the_objective_is_the_printed_one():
    X, y = oracle.planted(0, "three classes", n_samples=40, n_features=4)
    ranker = DropOneOut(sparsity=0.01, l1_ratio=0.3, alpha=0.02, hidden_units=(3,), random_state=0)
    work, network, training = trained(ranker, X, y)
    layers = [(weights.numpy(), bias.numpy()) for weights, bias in network.layers]
    first, second = layers[0][0], layers[1][0]
    penalty = sum(0.7 * 3**0.5 * np.linalg.norm(row) + 0.3 * np.abs(row).sum() for row in first)
    printed = oracle.loss(layers, work.inputs.table, np.eye(3)[y], True) + 0.01 * penalty + 0.01 * np.sum(second**2)
    assert training.objective == pytest.approx(printed, rel=1e-10)


def test_a_column_that_was_dropped_may_hold_anything():
    X, y = oracle.planted(0)
    found = DropOneOut(step=0.5, random_state=0, stop=None).fit(X, y)
    dropped = np.setdiff1d(np.arange(15), found.order_)
    assert dropped.size
    assert np.all(found.scores_[dropped] == 0)
    work, network, _ = trained(found, X, y)
    held = work.Z.clone()
    places = work.inputs.input_of[dropped]
    held[:, places] = held[:, places].flip(0) * 100
    np.testing.assert_array_equal(network(held), network(work.Z))


def test_more_sparsity_leaves_fewer_features_and_much_of_it_none():
    X, y = oracle.planted(0, n_samples=100)
    kept = [DropOneOut(sparsity=value, step=0.5, random_state=0).fit(X, y).order_.size for value in (0.001, 0.02, 10.0)]
    assert kept[0] > kept[1] > kept[2] == 0


def test_copies_of_survivors_come_last():
    X, y = oracle.planted(0, n_samples=100, n_features=5)
    found = DropOneOut(stop=None, random_state=0).fit(np.column_stack([X, X[:, 0]]), y)
    assert found.order_[-1] == 5
    assert found.path_[-1].info == {"copy_of": 0}
