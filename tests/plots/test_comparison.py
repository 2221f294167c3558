"""The figure of a comparison shows what its summary says."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_iris, load_wine

from tamis import FisherScore, MaxVariance
from tamis.assess._compare import compare
from tamis.assess._criteria import Criterion
from tamis.plots import ComparisonDisplay


@pytest.fixture(scope="module")
def table():
    data = {"wine": load_wine(return_X_y=True), "iris": load_iris(return_X_y=True)}
    return compare(
        [FisherScore(), MaxVariance()], data, ks=[1, 2, 5], metrics=["knn_accuracy", "balanced_error_rate"], n_seeds=2
    )


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines}


def test_one_line_per_ranker_with_random_and_all_features_beside(table):
    display = table.plot(metric="knn_accuracy", dataset="wine")
    [[ax]] = display.axes_
    lines, columns = lines_of(ax), display.frame()
    assert set(lines) == {"FisherScore", "MaxVariance", "random", "all features"}
    for name in ("FisherScore", "MaxVariance", "random"):
        rows = [i for i, ranker in enumerate(columns["ranker"]) if ranker == name]
        np.testing.assert_array_equal(lines[name].get_xdata(), [columns["k"][i] for i in rows])
        np.testing.assert_array_equal(lines[name].get_ydata(), [columns["mean"][i] for i in rows])
    whole = columns["mean"][columns["ranker"].index("all features")]
    assert set(lines["all features"].get_ydata()) == {whole}
    assert lines["all features"].get_linestyle() == "--"
    assert ax.get_ylabel() == "knn_accuracy (held-out)"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "5"]


def test_the_bands_are_one_deviation_wide_and_that_of_random_is_grey(table):
    display = table.plot(metric="knn_accuracy", dataset="wine")
    [[ax]] = display.axes_
    columns = display.frame()
    band, *others = ax.collections
    assert len(others) == 2
    red, green, blue, _ = band.get_facecolor()[0]
    assert red == green == blue
    rows = [i for i, ranker in enumerate(columns["ranker"]) if ranker == "random"]
    corners = band.get_paths()[0].vertices
    for i in rows:
        heights = corners[np.isclose(corners[:, 0], columns["k"][i]), 1]
        assert heights.max() == pytest.approx(columns["mean"][i] + columns["std"][i])
        assert heights.min() == pytest.approx(columns["mean"][i] - columns["std"][i])


def test_all_metrics_and_data_sets_have_a_panel_each_and_colors_are_kept(table):
    display = ComparisonDisplay.from_comparison(table)
    assert display.axes_.shape == (2, 2)
    assert [ax.get_title() for ax in display.axes_[0]] == ["wine", "iris"]
    assert display.axes_[1, 0].get_ylabel() == "balanced_error_rate (held-out, lower is better)"
    colors = {(label, line.get_color()) for ax in display.axes_.flat for label, line in lines_of(ax).items()}
    assert len(colors) == 4
    [legend] = display.figure_.legends
    assert not legend.get_frame_on()
    assert len(legend.get_texts()) == 4
    assert display.frame() == table.summary()
    display.figure_.canvas.draw()


def test_given_axes_hold_one_panel(table):
    _, ax = pyplot.subplots()
    display = table.plot(metric="knn_accuracy", dataset="iris", ax=ax)
    assert display.axes_[0, 0] is ax
    assert ax.get_legend() is not None
    with pytest.raises(ValueError, match="ax is one panel and there are 4"):
        table.plot(ax=ax)


def test_one_number_of_features_is_drawn_with_bars():
    display = compare([MaxVariance()], load_wine().data, ks=3).plot()
    [[ax]] = display.axes_
    assert len(ax.containers) == 2
    display.figure_.canvas.draw()


def test_a_failed_ranker_leaves_no_line():
    def never(X, y, support):
        raise ValueError("never")

    with pytest.warns(RuntimeWarning, match="never"):
        table = compare([MaxVariance()], load_wine().data, ks=[2, 3], metrics=["fit", Criterion("never", never)])
    display = table.plot()
    assert not display.axes_[1, 0].lines
    display.figure_.canvas.draw()


@pytest.mark.parametrize("what", ["metric", "dataset"])
def test_an_unknown_panel_is_refused(table, what):
    with pytest.raises(ValueError, match=f"there is no {what} 'x' in this comparison; choose among"):
        table.plot(**{what: "x"})


def test_a_missing_matplotlib_names_the_extra(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'tamis\[plot\]'"):
        table.plot()
