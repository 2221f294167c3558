"""Figure 6.1: what is drawn is what was computed."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from tamis import LaplacianScore, RandomSelection
from tamis.assess import feature_r2
from tamis.plots import FitDisplay

mpl.use("Agg")


@pytest.fixture
def frame():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 12)) + 0.3 * rng.standard_normal((50, 12))
    return pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])


def test_each_curve_is_the_distribution_of_one_selection(frame):
    ranker = LaplacianScore(stop=3).fit(frame)
    display = FitDisplay.from_selections(frame, {"Laplacian": ranker, "all": None})
    np.testing.assert_array_equal(display.r2["Laplacian"], feature_r2(frame, ranker))
    assert [line.get_label().split(" (")[0] for line in display.ax_.lines] == ["Laplacian", "all"]
    assert pd.DataFrame(display.frame())["feature"].tolist() == list(frame.columns)


def test_the_worst_features_are_named(frame):
    display = FitDisplay.from_selections(frame, {"random": RandomSelection(stop=2, random_state=0).fit(frame)})
    worst = display.worst("random", 3)
    assert [value for _, value in worst] == sorted(display.r2["random"])[:3]
    assert worst[0][0] == f"gene {np.argmin(display.r2['random'])}"
    with pytest.raises(ValueError, match="no selection is called 'mine'; choose one of random"):
        display.worst("mine")


def test_it_draws_on_given_axes(frame):
    _, ax = mpl.pyplot.subplots()
    assert FitDisplay.from_selections(frame, {"two": [0, 1]}, ax=ax).ax_ is ax
    mpl.pyplot.close("all")


def test_nothing_to_draw_is_refused(frame):
    with pytest.raises(ValueError, match="no selections"):
        FitDisplay.from_selections(frame, {})
