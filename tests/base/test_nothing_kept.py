"""Keeping nothing is an answer, told at fit, with the next thing to try."""

import warnings

import numpy as np
import pytest

from tamis import CorrelationScore, GramSchmidt, ReliefF, TableSelector
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


def told(ranker, X, y):
    with pytest.warns(NothingKeptWarning) as caught:
        ranker.fit(X, y)
    return next(str(each.message) for each in caught if each.category is NothingKeptWarning)


@pytest.mark.parametrize("ranker", [GramSchmidt(), CorrelationScore(), TableSelector()], ids=repr)
def test_outliers_of_the_target_that_hide_everything_are_named(ranker):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((200, 6))
    y = 2 * X[:, 0] + rng.standard_normal(200)
    y[[3, 50]] = 1e4, -5e3
    message = told(ranker, X, y)
    assert "in 2 rows" in message
    assert "clip or transform y" in message
    assert "More rows" not in message


def test_counts_that_were_taken_as_classes_are_named_before_other_methods():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((200, 6)), rng.poisson(3, 200)
    assert "try TableSelector(GramSchmidt(task='regression')) first" in told(TableSelector(), X, y)
    assert "counts" not in told(GramSchmidt(task="classification"), X, y)


def test_the_method_that_found_nothing_is_not_advised():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((300, 40))
    y = 0.7 * X[:, :10].sum(axis=1) + rng.standard_normal(300)
    message = told(ReliefF(n_neighbors=1, n_samples=5, random_state=0), X, y)
    assert "does see something" in message
    assert "ReliefF()" not in message
