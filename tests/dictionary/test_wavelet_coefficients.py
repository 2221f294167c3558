"""Coefficients of signals: the inner product with a sampled wavelet, for one channel or several."""

import numpy as np
import pytest

from tamis import GramSchmidt
from tamis.dictionary import Pool, WaveletCoefficients
from tamis.dictionary._wavelets import MOTHERS

MOTHER = {
    "gaussian_derivative": lambda z: -z * np.exp(-(z**2) / 2),
    "mexican_hat": lambda z: (1 - z**2) * np.exp(-(z**2) / 2),
    "morlet": lambda z: np.cos(5 * z) * np.exp(-(z**2) / 2),
}


def signals(n=12, n_times=50, channels=None, seed=0):
    shape = (n, n_times) if channels is None else (n, channels, n_times)
    return np.random.RandomState(seed).standard_normal(shape)


@pytest.mark.parametrize("wavelet", MOTHERS)
@pytest.mark.parametrize("channels", [None, 1, 3])
def test_every_feature_is_an_inner_product_with_a_unit_wavelet(wavelet, channels):
    X = signals(channels=channels)
    dictionary = WaveletCoefficients(wavelet, sfreq=10.0, scale=(0.1, 1.0)).fit(X)
    theta = dictionary.sample(8, np.random.RandomState(0))
    features = dictionary.compute(dictionary.prepare(X), theta)
    n_channels = channels or 1
    assert features.shape == (12, 8 * n_channels)
    for k, (time, scale) in enumerate(theta):
        atom = MOTHER[wavelet]((np.arange(50) / 10.0 - time) / scale)
        expected = X.reshape(12, n_channels, 50) @ (atom / np.sqrt(np.sum(atom**2)))
        np.testing.assert_allclose(features[:, k * n_channels : (k + 1) * n_channels], expected, atol=1e-10)


def test_torch_and_single_precision_keep_what_they_are():
    torch = pytest.importorskip("torch")
    X = signals(channels=2)
    dictionary = WaveletCoefficients().fit(torch.asarray(X))
    theta = dictionary.sample(5, np.random.RandomState(0))
    moved = dictionary.compute(dictionary.prepare(torch.asarray(X)), theta)
    assert isinstance(moved, torch.Tensor)
    exact = dictionary.compute(dictionary.prepare(X), theta)
    np.testing.assert_allclose(moved.numpy(), exact, atol=1e-12)
    single = dictionary.compute(dictionary.prepare(X.astype(np.float32)), theta)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, atol=1e-5)


def test_draws_and_ends_of_the_space_give_finite_features():
    X = signals(n_times=4)
    dictionary = WaveletCoefficients("gaussian_derivative").fit(X)
    theta = np.vstack([dictionary.sample(20, np.random.RandomState(0)), dictionary.grid(9)])
    assert np.isfinite(dictionary.compute(dictionary.prepare(X), theta)).all()


@pytest.mark.parametrize("seed", range(3))
def test_gram_schmidt_finds_when_two_classes_differ(seed):
    X, y = signals(n=200, n_times=64, seed=seed), np.arange(200) % 2
    X += np.outer(y - 0.5, 3 * MOTHER["mexican_hat"]((np.arange(64) - 40) / 3.0))
    found = GramSchmidt(max_features=5, dictionary=Pool(WaveletCoefficients(), 500, random_state=seed)).fit(X, y)
    assert found.stop_.n_features >= 1
    time, scale = found.dictionary_.parameters_[found.order_[0]]
    assert abs(time - 40) < 2
    assert 1.5 < scale < 6


def test_a_channel_is_told_from_another():
    X, y = signals(n=100, channels=3), np.arange(100) % 2
    X[:, 1, 20:30] += 2 * y[:, None]
    pool = Pool(WaveletCoefficients(), 100, random_state=0).fit(X, y)
    features = pool.compute(X, np.arange(300))
    best = np.argmax(np.abs(features.T @ (y - 0.5)))
    assert best % 3 == 1
    assert pool.names(np.array([best]))[0].endswith("[1]")


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({}, np.zeros((3, 2, 2, 9)), "4 axes"),
        ({}, np.zeros((3, 3)), "3 samples are too short"),
        ({}, np.where(np.arange(40).reshape(4, 10) == 25, np.nan, 0.0), "signal 2 holds missing"),
        ({}, [[1.0] * 9], "dense array"),
        ({"scale": (3.0, 1.0)}, signals(), r"scale=.* must be a pair"),
        ({"sfreq": 0.0}, signals(), "'sfreq' parameter of WaveletCoefficients"),
    ],
)
def test_what_cannot_be_is_refused(parameters, X, message):
    with pytest.raises(ValueError, match=message):
        WaveletCoefficients(**parameters).fit(X)


def test_other_signals_than_those_of_fit_are_refused():
    with pytest.raises(ValueError, match=r"shape \(40,\), but WaveletCoefficients was fitted on \(50,\)"):
        WaveletCoefficients().fit(signals()).prepare(signals(n_times=40))
