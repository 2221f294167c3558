"""The figure of a stopping rule shows what the rule saw."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.linear_model import LinearRegression

from tamis import CorrelationScore, GramSchmidt
from tamis.base import StopDecision
from tamis.datasets import make_linear
from tamis.plots import PathDisplay
from tamis.stop import CrossValidation, LeaveOneOut, Probe


@pytest.fixture
def data():
    return make_linear(60, random_state=0)


def test_the_curve_the_threshold_and_the_cut_are_drawn(data):
    selector = GramSchmidt(stop=Probe(risk=0.01)).fit(*data)
    display = PathDisplay.from_estimator(selector)
    curve, cut, threshold = display.ax_.lines
    np.testing.assert_array_equal(curve.get_ydata(), np.maximum(selector.stop_.curve, 1e-10))
    assert set(threshold.get_ydata()) == {0.01}
    assert set(cut.get_xdata()) == {selector.stop_.n_features + 0.5}
    assert display.ax_.get_ylabel() == "risk that a random feature does better"
    ticks = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert ticks == [f"x{j}" for j in selector.order_[: len(ticks)]]


def test_the_frame_holds_the_numbers_of_the_figure(data):
    pandas = pytest.importorskip("pandas")
    selector = GramSchmidt(stop=Probe(risk=0.01)).fit(pandas.DataFrame(data[0], columns=list("abcdefghij")), data[1])
    frame = pandas.DataFrame(PathDisplay.from_estimator(selector).frame())
    assert set(frame.loc[frame["kept"], "feature"]) == set(selector.get_feature_names_out())
    np.testing.assert_array_equal(frame["risk that a random feature does better"], selector.stop_.curve)


@pytest.mark.parametrize("rule", [LeaveOneOut(), CrossValidation(LinearRegression(), rule="one-se")], ids=repr)
def test_every_rule_with_a_curve_can_be_drawn_on_given_axes(data, rule):
    _, ax = pyplot.subplots()
    display = PathDisplay.from_estimator(GramSchmidt(stop=rule).fit(*data), ax=ax)
    assert display.ax_ is ax
    display.figure_.canvas.draw()
    spread = rule.__class__ is CrossValidation
    assert ("standard error" in display.frame()) == spread


def test_a_mere_number_of_features_has_no_curve(data):
    with pytest.raises(ValueError, match="CorrelationScore was cut by a number of features"):
        PathDisplay.from_estimator(CorrelationScore(stop=3).fit(*data))


def test_groups_are_drawn_as_groups():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 6))
    found = GramSchmidt(groups=["a", "a", "b", "b", "b", "c"]).fit(X, X[:, 2] + X[:, 4] + 0.1 * rng.standard_normal(60))
    display = PathDisplay.from_estimator(found)
    frame = display.frame()
    assert frame["group"][0] == "b"
    assert frame["kept"] == [True, False, False]
    assert frame["n_groups"] == [1, 2, 3]
    assert "groups" in display.ax_.get_xlabel()


def drawn(curve, label="risk that a random feature does better", n_features=1):
    curve = np.array(curve)
    at = np.arange(1, curve.size + 1)
    decision = StopDecision(n_features, "", curve=curve, curve_at=at, threshold=0.05, label=label)
    return PathDisplay(decision, [f"x{j}" for j in range(curve.size)]).plot()


@pytest.mark.parametrize(
    ("curve", "lowest"),
    [([1e-3, 0.5], 1e-3), ([0.0, 2e-4, 0.5], 1e-5), ([0.0, 0.5], 1e-3), ([1e-80, 0.9], 1e-10), ([0.0, 0.0], 1e-3)],
)
def test_risks_that_span_decades_are_drawn_on_a_logarithmic_axis(curve, lowest):
    display = drawn(curve)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.lines[0].get_ydata().min() == pytest.approx(lowest)
    display.figure_.canvas.draw()
    assert display.frame()["risk that a random feature does better"] == curve  # as it is


def test_other_curves_are_drawn_on_a_plain_axis():
    assert drawn([0.2, 0.5]).ax_.get_yscale() == "linear"
    assert drawn([1e-3, 0.5], label="held-out score").ax_.get_yscale() == "linear"


def test_features_after_the_cut_are_gray():
    display = drawn([1e-3, 0.5, 0.9], n_features=1)
    colors = [label.get_color() for label in display.ax_.get_xticklabels()]
    assert colors == ["black", "0.65", "0.65"]
    kept, after = display.ax_.collections
    assert (len(kept.get_offsets()), len(after.get_offsets())) == (1, 2)
