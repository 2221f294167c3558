"""Weights of rows in the supervised networks stand for repeated rows, to rounding where these keep their order."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tamis import (  # noqa: E402
    FQI,
    NNFS,
    DeepFeatureSelection,
    DropOneOut,
    OptimalBrainDamage,
    SensitivityRanking,
    SignalToNoise,
)
from tamis.rank.neural import _network as network_module  # noqa: E402
from tamis.rank.neural._network import Perceptron, Target, curvature, row_shares  # noqa: E402
from tamis.rank.neural._supervised import distinct_inputs, encode_outputs  # noqa: E402

WEIGHT = np.tile([1.0, 3.0, 0.0, 2.0], 15)
ROWS = np.repeat(np.arange(WEIGHT.size), WEIGHT.astype(int))
RANKERS = [
    DeepFeatureSelection(tol=1e-6),
    DropOneOut(tol=1e-6),
    FQI(tol=1e-8),
    NNFS(tol=1e-8),
    OptimalBrainDamage(tol=1e-8),
    SensitivityRanking(tol=1e-8),
]


def table(task):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((WEIGHT.size, 4)) * [1.0, 5.0, 0.1, 1.0] + [0.0, 3.0, 0.0, 1.0]
    quantity = np.tanh(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(WEIGHT.size)
    return X, quantity if task == "regression" else np.digitize(quantity, [0.5, 1.5])


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_weights_stand_for_repeated_rows(ranker, task):
    X, y = table(task)
    ranker.set_params(stop=2, random_state=0, hidden_units=(3,))
    weighted = ranker.fit(X, y, sample_weight=WEIGHT)
    order, scores = weighted.order_, weighted.scores_
    repeated = ranker.fit(X[ROWS], y[ROWS])
    np.testing.assert_array_equal(order, repeated.order_)
    np.testing.assert_allclose(scores, repeated.scores_, rtol=1e-2, atol=1e-4)


def test_signal_to_noise_follows_the_weights():
    # half of the rows depend on one column, half on another
    rng = np.random.RandomState(0)
    X, first = rng.standard_normal((120, 4)), np.arange(120) < 60
    y = np.where(first, X[:, 0], X[:, 1])
    for favored, weight in ((0, np.where(first, 1.0, 0.01)), (1, np.where(first, 0.01, 1.0))):
        found = SignalToNoise(stop=1, n_draws=2, random_state=0).fit(X, y, sample_weight=weight)
        assert found.order_[0] == favored


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_loss_gradient_and_curvature_of_weighted_rows_are_those_of_repeated_rows(task):
    X, y = table(task)
    rows = np.flatnonzero(WEIGHT)
    weight = WEIGHT[rows]
    found = []
    for chosen, counted in ((rows, weight), (ROWS, None)):
        inputs = distinct_inputs(X[chosen], standardize=True, sample_weight=counted)
        values, is_class = encode_outputs(y[chosen], task, counted)
        place = np.argsort(inputs.first)  # order and signs of the inputs depend on the rows
        Z = inputs.table[:, place]
        Z = torch.from_numpy(Z * np.sign(np.corrcoef(Z.T, X[chosen].T)[:4, 4:].diagonal()))
        target = Target(torch.from_numpy(values), is_class, row_shares(Z, counted))
        generator = torch.Generator().manual_seed(0)
        network = Perceptron.initialize((4, 3, values.shape[1]), Z, generator, sample_weight=counted)
        loss, gradient = network.loss_and_gradient(Z, target)
        assert loss.item() == pytest.approx(target.loss(network(Z)).item())
        found.append((network.theta.numpy(), loss.numpy(), gradient.numpy(), curvature(network, Z, target).numpy()))
    for of_weighted, of_repeated in zip(*found, strict=True):
        np.testing.assert_allclose(of_weighted, of_repeated, rtol=1e-9, atol=1e-12)


def test_random_start_of_weighted_rows_has_their_variance(monkeypatch):
    monkeypatch.setattr(network_module, "_MAX_CELLS", 300)
    weight = np.array([0.5, 2.0, 1e6, 4e6, 1.5])
    noise = network_module._row_noise(5, 4000, torch.Generator().manual_seed(0), weight).numpy()
    assert np.isfinite(noise).all()
    spread = noise[[2, 3]].std(axis=1)
    assert spread[1] / spread[0] == pytest.approx(2.0, rel=0.1)
