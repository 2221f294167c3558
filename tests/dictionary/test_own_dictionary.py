"""A dictionary of one's own is a space and a map; all else comes with the base."""

import numpy as np
import pytest

from tamis import GramSchmidt
from tamis.dictionary import Dictionary, Parameter, Pool


class RollingMean(Dictionary):
    """Mean of a time series over a window: from a share of its length, over a share of what is left."""

    def space(self):
        return (Parameter("start", 0.0, 0.9), Parameter("width", 0.05, 0.5, "log"))

    def prepare(self, signals):
        return np.cumsum(np.pad(signals, ((0, 0), (1, 0))), axis=1)

    def compute(self, signals, parameters, learned=None):
        n_times = signals.shape[1] - 1
        start = (parameters[:, 0] * n_times).astype(int)
        stop = np.clip(start + (parameters[:, 1] * n_times).astype(int), start + 1, n_times)
        return (signals[:, stop] - signals[:, start]) / (stop - start)


def series(seed=0, n=300, n_times=100):
    """Noisy series whose mean between samples 40 and 60 is what the target follows."""
    rng = np.random.RandomState(seed)
    X = np.cumsum(rng.standard_normal((n, n_times)), axis=1) / 5 + rng.standard_normal((n, n_times))
    X -= X.mean(axis=1, keepdims=True)
    return X, X[:, 40:60].mean(axis=1) + 0.1 * rng.standard_normal(n)


def test_the_map_is_the_mean_of_the_window():
    X, _ = series(n=20)
    own = RollingMean().fit(X)
    theta = own.sample(50, np.random.RandomState(0))
    features = own.compute(own.prepare(X), theta)
    for column, (start, width) in enumerate(theta):
        begin = int(start * 100)
        end = min(100, max(begin + 1, begin + int(width * 100)))
        np.testing.assert_allclose(features[:, column], X[:, begin:end].mean(axis=1), atol=1e-12)


@pytest.mark.parametrize("method", ["random", "grid"])
def test_gram_schmidt_finds_the_window_that_matters(method):
    X, y = series()
    pool = Pool(RollingMean(), 900, method=method, random_state=0)
    found = GramSchmidt(max_features=5, dictionary=pool).fit(X, y)
    assert found.stop_.n_features >= 1
    start, width = found.dictionary_.parameters_[found.order_[0]]
    assert abs(start - 0.4) < 0.05
    assert abs(width - 0.2) < 0.06
    new, target = series(seed=1)
    assert np.corrcoef(found.transform(new)[:, 0], target)[0, 1] ** 2 > 0.5
    assert found.feature_name(found.order_[0]).startswith("rollingmean start=")


def test_refinement_moves_within_the_space():
    own = RollingMean()
    theta = own.sample(100, np.random.RandomState(0))
    np.testing.assert_allclose(own.from_unit(own.to_unit(theta)), theta, rtol=1e-9)
    moved = own.from_unit(own.to_unit(theta) + np.random.RandomState(1).standard_normal(theta.shape))
    assert np.all((moved[:, 0] >= 0) & (moved[:, 0] <= 0.9) & (moved[:, 1] >= 0.05) & (moved[:, 1] <= 0.5))
