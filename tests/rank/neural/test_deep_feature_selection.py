"""Deep feature selection: a one-to-one layer under an elastic net."""

import numpy as np
import pytest

from tamis import DeepFeatureSelection
from tests.oracles import networks as oracle


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_are_kept_and_few_others(task, seed):
    X, y = oracle.planted(seed, task)
    found = DeepFeatureSelection(random_state=seed).fit(X, y)
    assert set(found.order_[:3]) == {0, 1, 2}
    assert found.support_.sum() <= 6
    assert found.stop_.reason.startswith(f"{found.support_.sum()} of 15 features have a factor that is not zero")


def test_scores_are_the_factors_and_zeros_are_exact():
    X, y = oracle.planted(0)
    found = DeepFeatureSelection(stop=None, random_state=0).fit(X, y)
    unranked = np.setdiff1d(np.arange(15), found.order_)
    assert unranked.size >= 9
    assert np.all(found.scores_[unranked] == 0)
    assert np.all(found.scores_[found.order_] > 0)


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_factors_are_stationary(l1_ratio, monkeypatch):
    import tamis.rank.neural._network as networks

    trained = []

    def remember(network, smooth, *arguments, **keywords):
        training = train_proximal(network, smooth, *arguments, **keywords)
        trained.append((network, smooth, training))
        return training

    train_proximal = networks.train_proximal
    monkeypatch.setattr(networks, "train_proximal", remember)
    X, y = oracle.planted(0, n_samples=100, n_features=8)
    ranker = DeepFeatureSelection(
        l1_ratio=l1_ratio, sparsity=0.05, hidden_units=(4,), tol=1e-11, max_iter=50000, random_state=0
    )
    found = ranker.fit(X, y)
    network, smooth, training = trained[-1]
    factors, slope = network.factors.numpy(), smooth()[1].numpy()[-8:]
    l1, l2 = 0.05 * l1_ratio, 0.05 * (1 - l1_ratio)
    zero = factors == 0
    assert zero.any()
    assert np.abs(slope[zero]).max() <= l1 + 1e-6
    np.testing.assert_allclose(slope[~zero], -l1 * np.sign(factors[~zero]) - l2 * factors[~zero], atol=1e-4)
    np.testing.assert_allclose(np.sort(found.scores_), np.sort(np.abs(factors)))
    layers = [(weights.numpy(), bias.numpy()) for weights, bias in network.layers]
    wanted = ((y - y.mean()) / y.std())[:, None]
    Z = ranker._task(X, y, ranker._rng()).inputs.table
    printed = oracle.loss(layers, Z, wanted, False, factors) + l1 * np.abs(factors).sum() + 0.5 * l2 * factors @ factors
    printed += 0.5 * 0.01 * sum(np.sum(weights**2) for weights, _ in layers)
    assert training.objective == found.certificate_["objective"] == pytest.approx(printed, rel=1e-8)


def test_more_sparsity_leaves_fewer_features_and_much_of_it_none():
    X, y = oracle.planted(0, "two classes", n_samples=150)
    kept = [DeepFeatureSelection(sparsity=value, random_state=0).fit(X, y).order_.size for value in (0.001, 0.03, 10.0)]
    assert kept[0] > kept[1] > kept[2] == 0


def test_the_ridge_alone_gives_no_zeros():
    X, y = oracle.planted(0, n_samples=100)
    assert DeepFeatureSelection(l1_ratio=0.0, random_state=0).fit(X, y).order_.size == 15


def test_many_more_features_than_samples_leave_few():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 500))
    y = X[:, 3] + X[:, 7] > 0
    found = DeepFeatureSelection(random_state=0).fit(X, y)
    assert set(found.order_[:2]) == {3, 7}
    assert found.order_.size < 100
