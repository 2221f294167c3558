"""Keeping nothing is an answer, told at fit, with the next thing to try."""

import warnings

import numpy as np
import pytest

from tamis import GramSchmidt
from tamis.base import ColumnCandidates, NothingKeptWarning
from tamis.base._nothing_kept import columns_seen_by_forest


@pytest.fixture(autouse=True)
def _warnings_are_heard():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield


def make_interaction(seed=0, n_samples=300):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_samples, 10))
    return X, X[:, 0] ** 2 + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n_samples)


def test_squares_and_products_do_not_end_in_nothing_matters():
    with pytest.warns(NothingKeptWarning, match=r"A forest .* does see something .*'x0'.*nonlinear.*TreeSelector"):
        GramSchmidt().fit(*make_interaction())


def test_noise_is_called_so():
    rng = np.random.RandomState(1)
    with pytest.warns(NothingKeptWarning, match="sees nothing either"):
        GramSchmidt().fit(rng.standard_normal((100, 10)), rng.standard_normal(100))


def test_a_forest_sees_something_in_noise_no_more_often_than_its_risk():
    seen = 0
    for seed in range(60):
        rng = np.random.RandomState(seed)
        candidates = ColumnCandidates(rng.standard_normal((60, 8)))
        seen += bool(columns_seen_by_forest(candidates, rng.standard_normal(60), "regression", random_state=seed))
    assert seen <= 8  # 60 draws at 5 %: more than 8 with a probability of 0.1 %


def test_no_forest_is_grown_where_the_warning_is_ignored(monkeypatch):
    def grow(*arguments, **parameters):
        raise AssertionError("a forest was grown")

    monkeypatch.setattr("tamis.base._nothing_kept.columns_seen_by_forest", grow)
    rng = np.random.RandomState(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingKeptWarning)
        GramSchmidt().fit(rng.standard_normal((100, 10)), rng.standard_normal(100))
