"""The figure of a probability over features shows the leading ones by name and the others together."""

import numpy as np
import pytest
from matplotlib import colors, pyplot
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tamis import OFW
from tamis.plots import ProbabilityDisplay


class Run(BaseEstimator):
    """What a display reads of a fitted stochastic ranker."""

    def fit(self, X=None, y=None):
        return self

    def feature_name(self, j):
        return f"gene {j}"


def fitted(n_features=30, n_snapshots=15, sharpness=3.0):
    run = Run()
    weight = np.random.RandomState(0).standard_normal(n_features)
    probability = np.exp(sharpness * np.outer(np.linspace(0, 1, n_snapshots), weight))
    probability /= probability.sum(axis=1, keepdims=True)
    run.history_ = {"iteration": 10 * np.arange(n_snapshots), "probability": probability}
    run.probability_ = probability[-1]
    run.order_ = np.argsort(-run.probability_, kind="stable")
    return run


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines}


def test_leading_features_are_named_and_the_others_are_one_gray_line():
    run = fitted()
    display = ProbabilityDisplay.from_estimator(run, n_features=4)
    lines = lines_of(display.ax_)
    assert set(lines) == {f"gene {j}" for j in run.order_[:4]} | {"all others"}
    for j in run.order_[:4]:
        np.testing.assert_array_equal(lines[f"gene {j}"].get_xdata(), run.history_["iteration"])
        np.testing.assert_array_equal(lines[f"gene {j}"].get_ydata(), run.history_["probability"][:, j])
    np.testing.assert_allclose(sum(line.get_ydata() for line in lines.values()), 1.0)
    red, green, blue = colors.to_rgb(lines["all others"].get_color())
    assert red == green == blue
    [legend] = display.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == [*(f"gene {j}" for j in run.order_[:4]), "all others"]


@pytest.mark.parametrize("n_features", [30, 100])
def test_with_a_line_for_every_feature_there_are_no_others(n_features):
    display = ProbabilityDisplay.from_estimator(fitted(), n_features=n_features)
    assert len(display.ax_.lines) == 30
    assert "all others" not in display.frame()["feature"]
    styles = {(line.get_color(), line.get_linestyle()) for line in display.ax_.lines}
    assert len(styles) == 30
    display.figure_.canvas.draw()


def test_the_frame_holds_the_lines_of_the_figure():
    pandas = pytest.importorskip("pandas")
    display = ProbabilityDisplay.from_estimator(fitted(), n_features=3)
    frame = pandas.DataFrame(display.frame())
    assert len(frame) == 4 * 15
    for name, line in lines_of(display.ax_).items():
        rows = frame[frame["feature"] == name]
        np.testing.assert_array_equal(rows["probability"], line.get_ydata())
        np.testing.assert_array_equal(rows["iteration"], line.get_xdata())


def test_the_axis_is_logarithmic_only_where_the_others_would_flatten_all():
    assert ProbabilityDisplay.from_estimator(fitted()).ax_.get_yscale() == "linear"
    wide = fitted(n_features=5000, sharpness=0.5)
    wide.history_["probability"][3, wide.order_[0]] = 0.0
    display = ProbabilityDisplay.from_estimator(wide)
    assert display.ax_.get_yscale() == "log"
    display.figure_.canvas.draw()


def test_it_draws_on_given_axes():
    _, ax = pyplot.subplots()
    display = ProbabilityDisplay.from_estimator(fitted(), ax=ax)
    assert display.ax_ is ax
    assert ax.get_legend() is not None


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(NotFittedError):
        ProbabilityDisplay.from_estimator(Run())
    with pytest.raises(ValueError, match="n_features=0 must be a number of features"):
        ProbabilityDisplay.from_estimator(fitted(), n_features=0)
    other = Run()
    other.scores_ = np.ones(3)
    with pytest.raises(ValueError, match="Run has no history_ of its iterations"):
        ProbabilityDisplay.from_estimator(other)
    with pytest.raises(ValueError, match=r"probability of shape \(2, 2\) is not of 2 iterations and 1 names"):
        ProbabilityDisplay([0, 1], np.ones((2, 2)), ["a"])
    with pytest.raises(ValueError, match=r"others of shape \(3,\) is not of 2 iterations"):
        ProbabilityDisplay([0, 1], np.ones((2, 1)), ["a"], np.ones(3))


def test_a_learned_probability_can_be_drawn_over_time():
    X, y = load_iris(return_X_y=True, as_frame=True)
    ofw = OFW("tree", subset_size=2, n_subsets=20, random_state=0).fit(X, y)
    frame = ProbabilityDisplay.from_estimator(ofw, n_features=2).frame()
    assert {"petal length (cm)", "petal width (cm)"} <= set(frame["feature"])


def test_groups_of_columns_have_one_line_each():
    X, y = load_iris(return_X_y=True)
    ofw = OFW("tree", subset_size=1, groups=["sepal", "sepal", "petal", "petal"], random_state=0).fit(X, y)
    display = ProbabilityDisplay.from_estimator(ofw, n_features=1)
    assert set(lines_of(display.ax_)) == {"petal", "all others"}
    np.testing.assert_array_equal(display.probability[:, 0], ofw.history_["probability"][:, 1])
    np.testing.assert_allclose(display.probability[:, 0] + display.others, 1.0, rtol=1e-6)
