"""Methods that take long on many rows rank a sample of them, and say so."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from tamis import (
    FQI,
    FSV,
    L1SVM,
    NNFS,
    DeepFeatureSelection,
    DropOneOut,
    MarginLP,
    OptimalBrainDamage,
    PerceptronElimination,
    SensitivityRanking,
    SignalToNoise,
    SVMBoundElimination,
)
from tamis.rank._row_sample import draw_rows

RELEVANT = [1, 4]
NETWORK = {"hidden_units": (3,), "random_state": 0}
METHODS = [
    FQI(**NETWORK),
    NNFS(**NETWORK),
    SignalToNoise(n_draws=2, threshold=None, **NETWORK),
    DropOneOut(**NETWORK),
    DeepFeatureSelection(**NETWORK),
    OptimalBrainDamage(**NETWORK),
    SensitivityRanking(**NETWORK),
    PerceptronElimination(),
    SVMBoundElimination(),
    L1SVM(),
    FSV(C=1.0),
    MarginLP(C=1.0),
]
NAMES = [type(method).__name__ for method in METHODS]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 6))
    return X, (X[:, RELEVANT].sum(axis=1) + 0.3 * rng.standard_normal(240) > 0).astype(int)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_sample_of_the_rows_is_told_of_and_finds_what_is_planted(method, table):
    X, y = table
    found = clone(method).set_params(stop=2, max_samples=120).fit(X, y)
    assert sorted(found.order_[:2].tolist()) == RELEVANT
    assert "ranked on 120 of 240 rows, drawn at random (max_samples)" in found.stop_.reason


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_up_to_so_many_rows_all_of_them_are_ranked_as_without_a_limit(method, table):
    X, y = table
    limited, free = (clone(method).set_params(stop=2, max_samples=most).fit(X, y) for most in (240, None))
    np.testing.assert_array_equal(limited.scores_, free.scores_)
    assert limited.stop_.reason == free.stop_.reason
    assert "rows, drawn" not in limited.stop_.reason


@pytest.mark.parametrize("method", [SVMBoundElimination(), L1SVM(), MarginLP(C=1.0)], ids=lambda m: type(m).__name__)
def test_a_sample_is_ranked_as_a_table_of_these_rows_alone(method, table):
    X, y = table
    rows = draw_rows(240, 100)
    sampled = clone(method).set_params(stop=None, max_samples=100).fit(X, y)
    alone = clone(method).set_params(stop=None, max_samples=None).fit(X[rows], y[rows])
    np.testing.assert_array_equal(sampled.order_, alone.order_)
    np.testing.assert_allclose(sampled.scores_, alone.scores_)


def test_the_same_rows_are_drawn_again_and_another_seed_draws_others(table):
    X, y = table
    scores = [PerceptronElimination(stop=2, max_samples=60, random_state=s).fit(X, y).scores_ for s in (None, None, 1)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_a_class_that_the_draw_misses_is_in_the_sample(table):
    X, _ = table
    y = np.array(["common"] * 238 + ["rare"] * 2)
    X = X + 5.0 * (y == "rare")[:, None] * (np.arange(6) == 3)
    found = SVMBoundElimination(stop=1, max_samples=20).fit(X, y)
    assert found.order_[0] == 3
    assert "ranked on 2" in found.stop_.reason


def test_folds_that_are_given_as_rows_speak_of_the_table_and_not_of_the_sample(table):
    X, y = table
    half = np.arange(240) < 120
    folds = [(np.flatnonzero(half), np.flatnonzero(~half)), (np.flatnonzero(~half), np.flatnonzero(half))]
    found = L1SVM(cv=folds, n_alphas=5, max_samples=100).fit(X, y)
    assert set(RELEVANT) <= set(np.flatnonzero(found.support_).tolist())
    assert np.isfinite(found.cv_results_["mean_error"]).all()


def test_weights_of_the_rows_go_with_the_sample(table):
    X, y = table
    nothing = np.r_[X, np.full((240, 6), 3.0) * np.random.default_rng(1).standard_normal((240, 6))]
    weight = np.r_[np.ones(240), np.full(240, 1e-9)]
    found = SVMBoundElimination(stop=2, max_samples=200).fit(nothing, np.r_[y, 1 - y], sample_weight=weight)
    assert sorted(found.order_[:2].tolist()) == RELEVANT


def test_an_estimator_in_place_of_a_network_learns_from_all_rows(table):
    X, y = table
    for method in (OptimalBrainDamage, SensitivityRanking):
        found = method(LogisticRegression(), stop=2, max_samples=50).fit(X, y)
        assert "rows, drawn" not in found.stop_.reason


def test_the_squared_hinge_takes_all_rows(table):
    X, y = table
    assert "rows, drawn" not in L1SVM(loss="squared_hinge", stop=2, max_samples=50).fit(X, y).stop_.reason


def test_quantities_are_sampled_too(table):
    X, _ = table
    y = X[:, RELEVANT].sum(axis=1)
    for method in (FQI(**NETWORK), L1SVM(), MarginLP(C=1.0)):
        found = clone(method).set_params(stop=2, max_samples=100).fit(X, y)
        assert sorted(found.order_[:2].tolist()) == RELEVANT
        assert "ranked on 100 of 240 rows" in found.stop_.reason


def test_bounds_that_need_a_kernel_matrix_take_all_rows(table):
    X, y = table
    found = SVMBoundElimination(radius="ball", stop=2, step="halving", max_samples=50).fit(X, y)
    assert "rows, drawn" not in found.stop_.reason
