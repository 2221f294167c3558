"""Where two classes part: against scikit-learn's logistic regression on rows that stand for both targets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tamis.learn._configurations import Configuration, beside
from tamis.learn._metrics import METRICS
from tamis.learn._portfolio import ALL, MODELS
from tamis.learn._thresholds import find_borders, find_thresholds


def threshold_of_definition(y, decisions, weights):
    """Each row stands twice, as either class, with the shares that Platt's targets give it."""
    n_rarer = min(y.sum(), (1 - y).sum())
    target = np.where(y == 1, (n_rarer + 1) / (n_rarer + 2), 1 / (n_rarer + 2))
    rows, labels = np.tile(decisions, 2)[:, None], np.repeat([1, 0], y.size)
    shares = np.concatenate([weights * target, weights * (1 - target)])
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(rows, labels, shares / shares.mean())
    return -model.intercept_[0] / model.coef_[0, 0]


def draw(rng, n_rows, share, shift, n_models=3):
    y = (np.arange(n_rows) < share * n_rows).astype(int)
    return y, rng.normal(size=(n_rows, n_models)) * [1.0, 0.2, 5.0][:n_models] + shift * y[:, None] - 0.4


@pytest.mark.parametrize("name", ["balanced_accuracy", "accuracy"])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_thresholds_are_those_of_the_definition(name, share):
    y, decisions = draw(np.random.default_rng(0), 200, share, 1.0)
    weights = METRICS[name].scales(y, np.ones((1, y.size)))[0]
    expected = [threshold_of_definition(y, column, weights) for column in decisions.T]
    assert find_borders(y, decisions, weights) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_threshold_of_classes_that_are_parted_without_error_lies_between_them():
    y = np.repeat([0, 1], [90, 10])
    decisions = np.r_[np.linspace(-3, -2, 90), np.linspace(-1, -0.5, 10)][:, None]
    weights = METRICS["balanced_accuracy"].scales(y, np.ones((1, y.size)))[0]
    assert -2 < find_borders(y, decisions, weights)[0] < -1


def test_what_tells_nothing_or_the_contrary_is_parted_where_the_model_does():
    y = np.repeat([0, 1], 20)
    decisions = np.column_stack([np.full(40, 0.3), -y + 0.1 * np.sin(np.arange(40))])
    assert find_borders(y, decisions, np.full(40, 1 / 40)).tolist() == [0.0, 0.0]
    assert find_borders(np.ones(40), decisions, np.full(40, 1 / 40)).tolist() == [0.0, 0.0]


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3), st.floats(-10, 10))
def test_threshold_follows_the_scale_and_the_origin_of_decision_values(seed, scale, origin):
    y, decisions = draw(np.random.default_rng(seed), 60, 0.3, 1.5, 1)
    weights = METRICS["balanced_accuracy"].scales(y, np.ones((1, y.size)))[0]
    first = find_borders(y, decisions, weights)[0]
    moved = find_borders(y, scale * decisions + origin, weights)[0]
    assert moved == pytest.approx(scale * first + origin, rel=1e-5, abs=1e-5 * scale)


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_border_between_two_normal_laws_is_half_way_however_rare_one_is(share):
    found = []
    for seed in range(50):
        y = (np.arange(200) < share * 200).astype(int)
        decisions = np.random.default_rng(seed).normal(size=(200, 10)) + 1.0 * y[:, None]
        found.append(find_borders(y, decisions, METRICS["balanced_accuracy"].scales(y, np.ones((1, 200)))[0]))
    assert np.median(found) == pytest.approx(0.5, abs=0.1)


def test_a_border_that_parts_no_more_rows_rightly_is_not_moved():
    y = np.repeat([0, 1], 50)
    decisions = np.r_[np.linspace(-3, -0.1, 50), np.linspace(0.2, 1, 50)][:, None]
    weights = np.full(100, 0.01)
    assert find_borders(y, decisions, weights)[0] != 0
    assert find_thresholds(y, decisions, weights)[0] == 0
    assert find_thresholds(y, decisions - 1.0, weights)[0] == pytest.approx(find_borders(y, decisions, weights)[0] - 1)


def test_steps_beside_a_configuration_change_one_thing():
    start = Configuration("fisher", 10, "raw", "rbf-svm (C=10, width=1)", 3)
    found = beside(start, [5, 10, 40], MODELS, ["standardized", "raw"])
    assert sorted(each.n_features for each in found if each.n_features != 10) == [7, 20]
    assert [each.scaling for each in found if each.scaling != "raw"] == ["standardized"]
    settings = {each.model for each in found} - {start.model}
    assert {"rbf-svm (C=1, width=0.35)", "rbf-svm (C=100, width=4)"} <= settings
    assert len(settings) == 8
    for each in found:
        assert sum([each.n_features != 10, each.scaling != "raw", each.model != start.model]) == 1
    every = Configuration(ALL, 40, "as it is", "boosting", 4)
    assert beside(every, [40], MODELS, ["standardized"]) == []
