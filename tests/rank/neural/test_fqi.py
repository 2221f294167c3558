"""FQI: the change of the outputs when an input is held at its mean."""

import numpy as np
import pytest

from tamis import FQI
from tests.oracles import networks as oracle


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_come_first(task, seed):
    X, y = oracle.planted(seed, task)
    found = FQI(stop=3, random_state=seed).fit(X, y)
    assert found.support_.nonzero()[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("hidden_units", [(), (4,), (4, 3)], ids=str)
@pytest.mark.parametrize("task", ["regression", "three classes"])
def test_the_index_is_the_printed_one(task, hidden_units):
    X, y = oracle.planted(0, task, n_samples=40, n_features=5)
    ranker = FQI(hidden_units=hidden_units, stop=None, random_state=0)
    found = ranker.fit(X, y)
    ranker._callback_fit_ctx = None
    work = ranker._task(X, y, ranker._rng())
    network = ranker._start(work)
    ranker._train(network, work)
    layers = [(weights.numpy(), bias.numpy()) for weights, bias in network.layers]

    def predict(table):
        outputs = [oracle.outputs(layers, row) for row in table]
        return np.array([oracle.probabilities(output) for output in outputs] if task != "regression" else outputs)

    Z = work.inputs.table
    change = [np.mean(np.sum((predict(Z) - predict(oracle.without(Z, j))) ** 2, axis=1)) for j in range(5)]
    np.testing.assert_allclose(found.scores_[work.inputs.first], change, rtol=1e-8)


@pytest.mark.parametrize("hidden_units", [(), (4, 3)], ids=str)
def test_the_index_does_not_depend_on_how_many_inputs_are_tried_at_a_time(hidden_units, monkeypatch):
    X, y = oracle.planted(0, "three classes", n_samples=40, n_features=7)
    ranker = FQI(hidden_units=hidden_units, stop=None, random_state=0)
    at_once = ranker.fit(X, y).scores_
    monkeypatch.setattr("tamis.rank.neural._network._BLOCK_WITHOUT", 3 * 40 * 4)  # the last block is a smaller one
    np.testing.assert_allclose(ranker.fit(X, y).scores_, at_once, rtol=1e-12)


def test_a_linear_model_gives_squared_weights_of_standardized_columns():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((2000, 3)) * [1.0, 10.0, 0.1]
    y = X @ [2.0, 0.1, 30.0]
    found = FQI(hidden_units=(), alpha=0.0, tol=1e-12, stop=None).fit(X, y)
    weight2 = (X.std(axis=0) * [2.0, 0.1, 30.0] / y.std()) ** 2
    np.testing.assert_allclose(found.scores_, weight2, rtol=1e-4)


def test_copies_share_a_score():
    X, y = oracle.planted(0)
    plain = FQI(stop=None, random_state=0).fit(X, y)
    found = FQI(stop=None, random_state=0).fit(np.column_stack([X, -X[:, 1]]), y)
    np.testing.assert_array_equal(found.scores_[:15], plain.scores_)
    assert found.scores_[15] == found.scores_[1]
    assert found.ranking_[1] < found.ranking_[15]


def test_columns_are_not_scaled_unless_asked_for():
    X, y = oracle.planted(0, n_samples=100, n_features=4)
    raw, scaled = (FQI(standardize=flag, stop=None, random_state=0).fit(X * 0.01, y) for flag in (False, True))
    assert raw.scores_.max() < 0.5 * scaled.scores_.max()  # weights would have to be large, which decay forbids
