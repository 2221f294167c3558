"""Signal-to-noise: weights against those of a noise input."""

import numpy as np
import pytest

from tamis import SignalToNoise
from tamis.rank.neural._signal_to_noise import add_noise
from tests.oracles import networks as oracle


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_come_first_and_most_others_are_not_above_the_noise(task, seed):
    X, y = oracle.planted(seed, task)
    found = SignalToNoise(random_state=seed).fit(X, y)
    assert set(found.order_[:3]) == {0, 1, 2}
    assert found.support_.sum() <= 6
    assert np.all(found.scores_[found.support_] > found.threshold_)
    assert np.all(found.scores_[~found.support_] <= found.threshold_)
    assert f"{found.support_.sum()} of 15 features exceed the strongest noise input" in found.stop_.reason


def test_the_ratio_is_the_printed_one():
    X, y = oracle.planted(0, n_samples=60, n_features=5)
    ranker = SignalToNoise(n_draws=1, threshold=None, stop=None, random_state=0)
    found = ranker.fit(X, y)
    ranker._callback_fit_ctx = None
    rng = ranker._rng()
    work = ranker._task(X, y, rng)
    noisy = add_noise(work, rng)
    network = ranker._start(noisy)
    ranker._train(network, noisy)
    power = [sum(w**2 for w in row) for row in network.layers[0][0].tolist()]
    ratio = [10 * np.log10(power[j] / power[-1]) for j in range(5)]
    np.testing.assert_allclose(found.scores_[work.inputs.first], ratio, rtol=1e-8)
    assert noisy.Z.shape == (60, 6)
    assert noisy.Z[:, -1].std(correction=0).item() == pytest.approx(1.0)


def test_more_draws_are_steadier():
    X, y = oracle.planted(0, n_samples=60, n_features=6)
    spread = {}
    for n_draws in (1, 8):
        runs = [SignalToNoise(n_draws=n_draws, random_state=seed).fit(X, y).scores_[0] for seed in range(6)]
        spread[n_draws] = np.std(runs)
    assert spread[8] < spread[1]


def test_the_threshold_may_be_the_average_noise_a_number_or_none():
    X, y = oracle.planted(0, n_samples=100)
    kept = {
        threshold: SignalToNoise(threshold=threshold, random_state=0).fit(X, y).order_.size
        for threshold in (None, 0.0, "noise", 1000.0)
    }
    assert kept[None] == 15
    assert kept[None] > kept[0.0] >= kept["noise"] >= 3
    assert kept[1000.0] == 0


def test_noise_alone_is_mostly_left_out():
    rng = np.random.RandomState(0)
    kept = [
        SignalToNoise(n_draws=9, random_state=seed).fit(rng.standard_normal((60, 10)), np.arange(60) % 2).order_.size
        for seed in range(6)
    ]
    assert np.mean(kept) <= 3
