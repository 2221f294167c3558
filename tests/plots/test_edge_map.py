"""The figure of edge detectors shows their weights where they are."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits

from tamis import FisherScore
from tamis.dictionary import Edges
from tamis.dictionary._edge_detection import STEPS
from tamis.plots import EdgeMapDisplay


@pytest.fixture(scope="module")
def digits():
    return load_digits()


@pytest.fixture(scope="module")
def edges(digits):
    return Edges(polarity=True).fit(digits.images)


@pytest.fixture
def weights(edges):
    return np.random.RandomState(0).dirichlet(np.ones(edges.row_.size))


def test_each_panel_holds_the_sum_of_the_weights_at_each_place(edges, weights):
    display = EdgeMapDisplay.from_weights(edges, weights)
    assert len(display.axes_) == 4
    assert [ax.get_title().split()[0] for ax in display.axes_] == ["horizontal", "diagonal", "vertical", "diagonal"]
    for ax, (orientation, values) in zip(display.axes_, display.maps_.items(), strict=True):
        drawn = ax.images[0].get_array().filled(np.nan)
        np.testing.assert_array_equal(drawn, values)
        for r, c in np.ndindex(8, 8):
            here = (edges.orientation_ == orientation) & (edges.row_ == r) & (edges.column_ == c)
            expected = weights[here].sum() if here.any() else np.nan
            np.testing.assert_allclose(values[r, c], expected, rtol=1e-12)
    assert sum(np.nansum(values) for values in display.maps_.values()) == pytest.approx(1.0)
    assert len({ax.images[0].get_clim() for ax in display.axes_}) == 1
    display.figure_.canvas.draw()


def test_the_heaviest_detectors_are_lines_between_their_pixels(edges, weights):
    display = EdgeMapDisplay.from_weights(edges, weights, n_edges=7)
    heaviest = np.argsort(weights)[::-1][:7]
    lines = display.axes_[-1].lines[::-1]
    assert len(lines) == 7
    for j, line in zip(heaviest, lines, strict=True):
        step = np.array(STEPS[int(edges.orientation_[j])])
        (c0, c1), (r0, r1) = line.get_data()
        np.testing.assert_allclose([(r0 + r1) / 2, (c0 + c1) / 2], [edges.row_[j], edges.column_[j]] + step / 2)
        assert np.dot([r1 - r0, c1 - c0], step) == pytest.approx(0.0, abs=1e-12)
    widths = [line.get_linewidth() for line in lines]
    assert widths == sorted(widths, reverse=True)


def test_a_line_of_45_degrees_rises_to_the_right_as_drawn(digits):
    edges = Edges(orientations=(45,), vagueness=(0,)).fit(digits.images)
    display = EdgeMapDisplay.from_weights(edges, edges.frequency_, n_edges=1)
    ax = display.axes_[-1]
    (x0, y0), (x1, y1) = ax.transData.transform(ax.lines[0].get_xydata())
    assert (y1 - y0) / (x1 - x0) > 0


def test_a_background_is_drawn_under_the_lines(edges, weights, digits):
    mean = digits.images.mean(axis=0)
    display = EdgeMapDisplay.from_weights(edges, weights, background=mean.ravel())
    assert len(display.axes_) == 5
    np.testing.assert_array_equal(display.axes_[-1].images[0].get_array(), mean)
    assert len(display.axes_[-1].lines) == 50


def test_the_frame_holds_a_row_per_detector(edges, weights):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(EdgeMapDisplay.from_weights(edges, weights, n_edges=5).frame())
    assert frame["detector"].tolist() == edges.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame["weight"], weights)
    assert frame.nlargest(5, "weight")["drawn"].all()
    assert frame["drawn"].sum() == 5


def test_a_probability_is_preferred_to_scores_and_bad_scores_weigh_nothing(edges, weights):
    class Learned(BaseEstimator):
        provides = frozenset()

        def fit(self, X, y=None):
            return self

    learned = Learned()
    learned.scores_ = weights[::-1].copy()
    learned.scores_[:3] = [np.nan, -1.0, np.inf]
    by_scores = EdgeMapDisplay.from_estimator(edges, learned).weights
    np.testing.assert_array_equal(by_scores[:3], [0.0, 0.0, learned.scores_[3:].max()])
    np.testing.assert_array_equal(by_scores[3:], learned.scores_[3:])
    learned.provides = frozenset({"probability"})
    learned.probability_ = weights
    np.testing.assert_array_equal(EdgeMapDisplay.from_estimator(edges, learned).weights, weights)
    learned.probability_ = np.array([0.3, 0.7])  # over two groups of detectors: scores tell what each one weighs
    np.testing.assert_array_equal(EdgeMapDisplay.from_estimator(edges, learned).weights, by_scores)


def test_a_ranker_of_the_detectors_can_be_drawn_on_given_axes(edges, digits):
    ranker = FisherScore(stop=10).fit(edges.transform(digits.images), digits.target)
    _, axes = pyplot.subplots(1, 5, layout="constrained")
    display = EdgeMapDisplay.from_estimator(edges, ranker, n_edges=10, ax=axes)
    assert all(a is b for a, b in zip(display.axes_, axes, strict=True))
    with pytest.raises(ValueError, match="ax holds 1 axes and there are 5 panels; give one for each"):
        EdgeMapDisplay.from_estimator(edges, ranker, n_edges=10, ax=axes[0])


def test_weights_that_are_all_zero_are_drawn_all_the_same(edges):
    display = EdgeMapDisplay.from_weights(edges, np.zeros(edges.row_.size), n_edges=3)
    assert not display.axes_[-1].lines
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: {"weights": w[1:]}, "edge detectors, and weights of shape"),
        (lambda w: {"weights": w - 1}, "finite and not negative"),
        (lambda w: {"weights": w * np.nan}, "finite and not negative"),
        (lambda w: {"weights": w, "n_edges": -1}, "n_edges=-1 must be a number"),
        (lambda w: {"weights": w, "background": np.zeros((3, 3))}, "is no image of"),
    ],
)
def test_what_does_not_fit_the_detectors_is_refused(edges, weights, change, message):
    with pytest.raises(ValueError, match=message):
        EdgeMapDisplay.from_weights(edges, **change(weights))


def test_a_missing_matplotlib_names_the_extra(edges, weights, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'tamis\[plot\]'"):
        EdgeMapDisplay.from_weights(edges, weights)
