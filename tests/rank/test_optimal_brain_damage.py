"""Optimal brain damage: weights of least saliency go, and inputs die with their last."""

import numpy as np
import pytest

from tamis import OptimalBrainDamage
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
    loss = oracle.loss(layers, work.inputs.table, work.goal.values.numpy(), work.goal.is_class)
    return loss + 0.5 * alpha * sum(np.sum(weights**2) for weights, _ in layers)


@pytest.mark.parametrize("task", ["regression", "three classes"])
def test_saliency_is_the_second_order_change_of_the_objective(task):
    X, y = oracle.planted(0, task, n_samples=40, n_features=4)
    ranker = OptimalBrainDamage(hidden_units=(3,), tol=1e-14, max_iter=20000, random_state=0)
    work, network, training = trained(ranker, X, y)
    assert training.objective == pytest.approx(objective(network, work, 0.01), rel=1e-10)
    saliency = ranker._saliency(network, work)
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
    saliency = ranker._saliency(network, work)
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
