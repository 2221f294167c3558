"""The figure of an automatic selection shows what was tried and what was chosen."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_wine

from tamis import AutoSelector
from tamis.plots import AutoDisplay


@pytest.fixture(scope="module")
def fitted():
    X, y = load_wine(return_X_y=True)
    return AutoSelector(rankers=["fisher"], models=["ridge", "knn"], n_bootstraps=50).fit(X, y)


def test_all_complete_configurations_are_shown_and_the_chosen_one_is_marked(fitted):
    display = AutoDisplay.from_estimator(fitted)
    frame = display.frame()
    assert len(frame["score"]) == fitted.results_["status"].count("complete")
    assert sum(frame["chosen"]) == 1
    chosen = frame["chosen"].index(True)
    everything, marked, estimate = display.ax_.collections
    assert len(everything.get_offsets()) == len(frame["score"])
    np.testing.assert_allclose(marked.get_offsets(), [[frame["n_features"][chosen], frame["score"][chosen]]])
    np.testing.assert_allclose(estimate.get_offsets()[0, 1], fitted.estimate_.value)


def test_each_ranker_has_a_line_of_its_best_models(fitted):
    display = AutoDisplay.from_estimator(fitted)
    labels = [line.get_label() for line in display.ax_.lines]
    assert {"all, best model", "fisher, best model"} <= set(labels)
    line = display.ax_.lines[labels.index("fisher, best model")]
    frame = display.frame()
    for size, score in zip(*line.get_data(), strict=True):
        of_size = [
            s
            for s, k, r in zip(frame["score"], frame["n_features"], frame["ranker"], strict=True)
            if k == size and r == "fisher"
        ]
        assert score == max(of_size)


def test_it_can_be_drawn_on_given_axes(fitted):
    _, ax = pyplot.subplots()
    display = AutoDisplay.from_estimator(fitted, ax=ax)
    assert display.ax_ is ax
    display.figure_.canvas.draw()


def test_without_a_target_there_is_nothing_to_draw():
    X = np.random.RandomState(0).standard_normal((40, 6))
    with pytest.raises(ValueError, match="without a target"):
        AutoDisplay.from_estimator(AutoSelector().fit(X))
