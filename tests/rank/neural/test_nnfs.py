"""NNFS: inputs that a penalized network misses least leave first."""

import numpy as np
import pytest
import torch

from tamis import NNFS
from tamis.rank.neural._penalties import saturating_decay
from tests.oracles import networks as oracle


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_come_first(task, seed):
    X, y = oracle.planted(seed, task)
    found = NNFS(stop=3, random_state=seed).fit(X, y)
    assert found.support_.nonzero()[0].tolist() == [0, 1, 2]


def trained(ranker, X, y):
    ranker._callback_fit_ctx = None
    work = ranker._task(X, y, ranker._rng())
    network = ranker._start(work)
    return work, network, ranker._fit_network(network, work)


def test_the_objective_is_the_printed_one():
    X, y = oracle.planted(0, "three classes", n_samples=40, n_features=4)
    ranker = NNFS(eps1=0.01, eps2=0.002, beta=5.0, hidden_units=(3,), random_state=0)
    work, network, training = trained(ranker, X, y)
    layers = [(weights.numpy(), bias.numpy()) for weights, bias in network.layers]
    loss = oracle.loss(layers, work.inputs.table, np.eye(3)[y], True)
    weights = torch.cat([weights.reshape(-1) for weights, _ in network.layers])
    assert training.objective == pytest.approx(loss + saturating_decay(weights, 0.01, 0.002, 5.0).item(), rel=1e-10)


def test_the_first_to_leave_costs_least_and_its_cost_is_the_printed_one():
    X, y = oracle.planted(0, n_samples=60, n_features=5)
    ranker = NNFS(stop=None, random_state=0)
    found = ranker.fit(X, y)
    work, network, _ = trained(ranker, X, y)
    layers, Z = [(weights.numpy(), bias.numpy()) for weights, bias in network.layers], work.inputs.table
    wanted = work.target.values.numpy()
    cost = [oracle.loss(layers, oracle.without(Z, j), wanted, False) for j in range(5)]
    cost -= oracle.loss(layers, Z, wanted, False)
    last = found.path_[-1]
    assert last.feature == work.inputs.first[np.argmin(cost)]
    assert last.criterion == pytest.approx(min(cost), rel=1e-8)
    assert [step.info["n_inputs"] for step in found.path_] == [1, 2, 3, 4, 5]


def test_the_loss_hardly_rises_until_features_that_matter_leave():
    X, y = oracle.planted(0)
    path = NNFS(stop=None, random_state=0).fit(X, y).path_
    loss = [step.info["loss"] for step in path]
    assert loss[2] < 2 * loss[-1] + 0.1
    assert loss[1] > 4 * loss[2]


@pytest.mark.parametrize("step", [0.3, 2, 20])
def test_several_inputs_may_leave_at_a_time(step):
    X, y = oracle.planted(0)
    found = NNFS(step=step, stop=None, random_state=0).fit(X, y)
    assert sorted(found.order_) == list(range(15))
    assert set(found.order_[:3]) == {0, 1, 2}
    assert found.n_iter_ < NNFS(stop=None, random_state=0).fit(X, y).n_iter_


def test_copies_leave_first_at_no_cost():
    X, y = oracle.planted(0, n_samples=100, n_features=6)
    found = NNFS(stop=None, random_state=0).fit(np.column_stack([X, X[:, 0], -X[:, 1]]), y)
    assert found.order_[-2:].tolist() == [6, 7]
    assert found.scores_[6:].tolist() == [0.0, 0.0]
    assert found.path_[-1].info == {"copy_of": 1}


def test_the_saturating_term_empties_small_weights():
    X, y = oracle.planted(0)
    small = {}
    for eps1 in (0.0, 3e-3):
        _, network, _ = trained(NNFS(eps1=eps1, random_state=0), X, y)
        small[eps1] = (network.layers[0][0].abs() < 0.01).double().mean().item()
    assert small[3e-3] > small[0.0] + 0.2
