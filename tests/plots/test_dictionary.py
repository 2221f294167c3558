"""The figure of a machine on feature maps shows what it selected, as what these maps are."""

import sys

import numpy as np
import pytest
from matplotlib import colors, pyplot
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError

from tamis import InfiniteSVM
from tamis.dictionary import RBF, BandPass, BandPassCSP, Dictionary, Gabor, Parameter, Pool, Wavelets
from tamis.plots import DictionaryDisplay

pytestmark = pytest.mark.filterwarnings("ignore:InfiniteSVM ended:sklearn.exceptions.ConvergenceWarning")


def waves(n=60, seed=0):
    """Small noisy images of horizontal and vertical waves."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 2
    place = np.arange(8) + rng.uniform(0, 4, size=(n, 1))
    wave = np.repeat(np.cos(np.pi * place / 2)[:, None, :], 8, axis=1)
    images = np.where(y[:, None, None] == 1, wave.transpose(0, 2, 1), wave)
    return images + 0.5 * rng.standard_normal(images.shape), np.array(["up", "across"])[1 - y]


def trials(n=60, n_classes=2, n_channels=1, seed=0):
    """Signals of 1 s at 128 Hz, with more of 10, 16 or 24 Hz for each class."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % n_classes
    X = rng.standard_normal((n, n_channels, 128))
    phase = 2 * np.pi * np.array([10.0, 16.0, 24.0])[y][:, None] * np.arange(128) / 128
    X[:, 0] += 0.5 * np.sin(phase + rng.uniform(0, 7, size=(n, 1)))
    return (X[:, 0] if n_channels == 1 else X), y


def fit(dictionary, X, y, **more):
    return InfiniteSVM(dictionary, **{"C": 20.0, "max_rounds": 12, "random_state": 0, **more}).fit(X, y)


@pytest.fixture(scope="module")
def gabors():
    return fit(Gabor(), *waves())


@pytest.fixture(scope="module")
def bands():
    X, y = trials()
    return fit(BandPass(128.0), X, np.array(["slow", "fast"])[y])


def made(dictionary, parameters, weights, classes=("a", "b"), **more):
    """A display of weights of shape (n_targets, n_maps), or with columns."""
    weights = np.asarray(weights, dtype=float)
    weights = weights[:, :, None] if weights.ndim == 2 else weights
    names = [f"map {j}" for j in range(weights.shape[1])]
    return DictionaryDisplay(dictionary, np.asarray(parameters), weights, names, classes, **more)


class Tones(Dictionary):
    """A dictionary of one's own with as many parameters as asked for."""

    def __init__(self, size=1):
        self.size = size

    def space(self):
        scales = ("log", "linear", "circular")
        return tuple(Parameter(f"p{i}", 0.1, 10.0, scales[i % 3], "s") for i in range(self.size))

    def compute(self, signals, parameters, learned=None):
        return np.cos(signals[:, :1] * parameters[:, 0])


def same_color(a, b):
    return colors.to_hex(a) == colors.to_hex(b)


def legend_texts(display):
    legend = display.figure_.legends[0] if display.figure_.legends else display.axes_[0].get_legend()
    return [text.get_text() for text in legend.get_texts()]


def test_each_of_the_heaviest_gabors_is_a_gray_picture_on_a_symmetric_scale(gabors):
    display = DictionaryDisplay.from_estimator(gabors, n_maps=3)
    assert display.kind == "pictures"
    assert len(display.axes_) == 3
    theta = np.column_stack(list(gabors.params_.values()))
    atoms = gabors.dictionary_.atoms(theta)
    for j, ax in enumerate(display.axes_):
        np.testing.assert_array_equal(ax.images[0].get_array(), atoms[j])
        low, high = ax.images[0].get_clim()
        assert low == -high == -np.abs(atoms[j]).max()
    display.figure_.canvas.draw()


def test_a_picture_says_its_weight_class_angle_and_period(gabors):
    display = DictionaryDisplay.from_estimator(gabors)
    for j, ax in enumerate(display.axes_):
        side = gabors.classes_[int(gabors.coef_[0, j] > 0)]
        first, second = ax.get_title().split("\n")
        assert first == f"{gabors.importances_[j]:.2g} for {side}"
        angle, frequency = np.degrees(gabors.params_["angle"][j]), gabors.params_["frequency"][j]
        assert second == f"{angle:.0f}°, period {1 / frequency:.2g} px"
        assert same_color(ax.spines["left"].get_edgecolor(), "C0" if side == gabors.classes_[0] else "C1")


def test_pictures_of_many_maps_fill_rows_evenly_and_fit_given_axes(gabors):
    display = made(gabors.dictionary_, np.tile([0.5, 0.2, 2, 2], (8, 1)), np.arange(1, 9)[None])
    shape = display.plot().axes_[0].get_gridspec()
    assert (shape.nrows, shape.ncols) == (2, 4)
    _, axes = pyplot.subplots(3, 3)
    display.plot(ax=axes)
    assert display.axes_[0] is axes[0, 0]
    assert not axes[2, 2].axison
    with pytest.raises(ValueError, match="ax holds 3 axes and there are 8 pictures; give more, or lower n_maps"):
        display.plot(ax=axes[0])


def test_a_pool_is_drawn_as_the_dictionary_it_was_drawn_from():
    svm = fit(Pool(Gabor(), 16, method="grid"), *waves())
    display = DictionaryDisplay.from_estimator(svm)
    assert display.kind == "pictures"
    np.testing.assert_array_equal(display.frame()["angle"], svm.dictionary_.parameters_[svm.params_["index"], 0])
    assert display.names == svm.get_feature_names_out().tolist()


def test_every_band_is_a_bar_between_its_edges_the_heaviest_on_top_and_thickest(bands):
    display = DictionaryDisplay.from_estimator(bands)
    assert display.kind == "bands"
    upper, lower = display.axes_
    bars = upper.patches
    assert len(bars) == bands.importances_.size
    np.testing.assert_allclose([bar.get_x() for bar in bars], bands.params_["low"])
    np.testing.assert_allclose([bar.get_x() + bar.get_width() for bar in bars], bands.params_["high"])
    heights = [bar.get_height() for bar in bars]
    assert heights == sorted(heights, reverse=True)
    pixels = [upper.transData.transform((0, bar.get_y()))[1] for bar in bars]
    assert pixels == sorted(pixels, reverse=True)
    for bar, weight in zip(bars, bands.coef_[0], strict=True):
        assert same_color(bar.get_facecolor(), "C1" if weight > 0 else "C0")
    assert legend_texts(display) == ["for fast", "for slow"]
    assert lower.get_xlabel() == "frequency (Hz)"
    assert upper.get_xlim() == lower.get_xlim()


def test_the_curve_is_the_sum_of_gains_times_importance(bands):
    lower = DictionaryDisplay.from_estimator(bands).axes_[1]
    theta = np.column_stack([bands.params_["low"], bands.params_["high"]])
    frequencies, gains = bands.dictionary_.atoms(theta)
    total, first, second = lower.lines
    np.testing.assert_array_equal(total.get_xdata(), frequencies)
    np.testing.assert_allclose(total.get_ydata(), bands.importances_ @ gains)
    np.testing.assert_allclose(first.get_ydata() + second.get_ydata(), total.get_ydata())
    np.testing.assert_allclose(second.get_ydata(), np.maximum(bands.coef_[0], 0) @ gains)


def test_bands_of_several_columns_have_no_sign_and_one_name_each():
    X, y = trials(n_channels=3)
    svm = fit(BandPassCSP(128.0, n_components=2), X, y)
    display = DictionaryDisplay.from_estimator(svm)
    assert len(display.axes_[1].lines) == 1
    assert not display.figure_.legends
    frame = display.frame()
    np.testing.assert_allclose(frame["importance"], svm.importances_)
    np.testing.assert_allclose(frame["weight"], svm.importances_)
    assert set(frame["class"]) == {None}
    assert frame["name"][0] == f"band {svm.params_['low'][0]:.4g}-{svm.params_['high'][0]:.4g} Hz"


def test_bands_of_three_classes_have_a_color_and_a_curve_each():
    X, y = trials(n=90, n_classes=3)
    svm = fit(BandPass(128.0), X, y)
    display = DictionaryDisplay.from_estimator(svm)
    upper, lower = display.axes_
    for bar, weights in zip(upper.patches, svm.coef_.T, strict=True):
        k = np.abs(weights).argmax()
        assert same_color(bar.get_edgecolor(), f"C{k}")
        assert (bar.get_facecolor()[3] == 0) == (weights[k] < 0)
    assert [line.get_color() for line in lower.lines[1:]] == ["C0", "C1", "C2"]
    assert legend_texts(display)[:3] == ["0", "1", "2"]
    assert {"weight 0", "weight 1", "weight 2"} <= set(display.frame())


def test_many_bands_are_drawn_without_labels_and_a_band_without_edges_by_its_gain():
    X, _ = trials()
    dictionary = BandPass(128.0).fit(X)
    theta = dictionary.sample(80, np.random.RandomState(0))
    display = made(dictionary, theta, np.ones((1, 80))).plot()
    assert len(display.axes_[0].patches) == 80
    assert not display.axes_[0].get_yticklabels()

    class Resonance(Tones):
        def atoms(self, parameters):
            frequencies = np.linspace(0, 10, 101)
            return frequencies, np.exp(-((frequencies - parameters[:, :1]) ** 2))

    [bar] = made(Resonance(), [[5.0]], [[1.0]]).plot().axes_[0].patches
    assert bar.get_x() == pytest.approx(5 - np.sqrt(np.log(2)), abs=0.1)
    assert bar.get_width() == pytest.approx(2 * np.sqrt(np.log(2)), abs=0.2)


def test_maps_of_two_parameters_are_points_whose_area_grows_with_importance():
    theta = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    display = made(Tones(2), theta, [[1.0, -4.0, 2.0]]).plot()
    assert display.kind == "points"
    ax = display.axes_[0]
    points = ax.collections[0]
    np.testing.assert_array_equal(points.get_offsets(), np.array(theta)[[1, 2, 0]])
    sizes = points.get_sizes()
    assert sizes[0] > sizes[1] > sizes[2]
    assert [same_color(c, f"C{k}") for c, k in zip(points.get_edgecolors(), (0, 1, 1), strict=True)] == [True] * 3
    assert ax.get_xscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("p0 (s)", "p1 (s)")
    assert ax.get_xlim()[0] < 0.1 < 10 < ax.get_xlim()[1]
    assert legend_texts(display) == ["for a", "for b", "area: importance"]


def test_maps_of_one_parameter_are_points_as_high_as_their_importance():
    display = made(Tones(1), [[1.0], [3.0]], [[0.5, -2.0]]).plot()
    np.testing.assert_array_equal(display.axes_[0].collections[0].get_offsets(), [[3.0, 2.0], [1.0, 0.5]])
    assert display.axes_[0].get_ylabel() == "importance"


def test_points_that_speak_against_one_of_three_classes_are_hollow():
    weights = [[1.0, 0.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, 3.0]]
    display = made(Tones(2), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], weights, classes=("x", "y", "z")).plot()
    filled, hollow = display.axes_[0].collections[:2]
    assert len(filled.get_offsets()) == 2
    np.testing.assert_array_equal(hollow.get_offsets(), [[3.0, 4.0]])
    assert len(hollow.get_facecolors()) == 0
    assert same_color(hollow.get_edgecolors()[0], "C1")
    assert legend_texts(display) == ["x", "y", "z", "hollow: against", "area: importance"]
    assert display.frame()["class"] == ["x", "y", "z"]
    assert display.frame()["weight y"] == [0.0, -2.0, 0.0]


def test_bumps_on_two_columns_are_centers_with_circles_of_their_width():
    X = np.random.RandomState(0).uniform(-2, 2, size=(80, 2)) * [1, 3]
    svm = fit(RBF(), X, np.linalg.norm(X, axis=1) < 1)
    display = DictionaryDisplay.from_estimator(svm)
    assert display.kind == "points"
    circles = display.axes_[0].lines
    assert len(circles) == svm.importances_.size
    for j, circle in enumerate(circles):
        center = [svm.params_["center 0"][j], svm.params_["center 1"][j]]
        distance = np.linalg.norm((circle.get_xydata() - center) / svm.dictionary_.scale_, axis=1)
        np.testing.assert_allclose(distance, svm.params_["width"][j])


def test_columns_of_a_table_are_bars_by_name():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    svm = InfiniteSVM().fit(X, y)
    display = DictionaryDisplay.from_estimator(svm, n_maps=4)
    assert display.kind == "names"
    ax = display.axes_[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == svm.get_feature_names_out()[:4].tolist()
    np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], svm.coef_[0, :4])
    assert display.frame()["index"] == svm.params_["index"].tolist()
    assert sum(display.frame()["drawn"]) == 4


def test_columns_that_serve_several_classes_have_a_bar_for_each():
    X, y = load_wine(return_X_y=True, as_frame=True)
    svm = InfiniteSVM().fit(X, y)
    display = DictionaryDisplay.from_estimator(svm)
    widths = np.reshape([bar.get_width() for bar in display.axes_[0].patches], (3, -1))
    np.testing.assert_array_equal(widths, svm.coef_)
    assert legend_texts(display) == ["0", "1", "2"]
    display.figure_.canvas.draw()


def test_maps_of_many_parameters_are_named_by_the_columns_of_the_table():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    svm = fit(Wavelets(), X, y, max_rounds=5)
    display = DictionaryDisplay.from_estimator(svm)
    assert display.kind == "names"
    assert all(any(column in name for column in X.columns) for name in display.names)
    assert all(len(text.get_text()) <= 60 for text in display.axes_[0].get_yticklabels())


def test_a_dictionary_of_ones_own_is_fitted_and_drawn():
    X = np.random.RandomState(0).uniform(-2, 2, size=(80, 1))
    svm = fit(Tones(2), X, np.cos(3 * X[:, 0]) > 0)
    display = DictionaryDisplay.from_estimator(svm)
    assert display.kind == "points"
    assert display.frame()["p0"] == svm.params_["p0"].tolist()
    assert made(Tones(3), [[1.0, 2.0, 3.0]], [[1.0]]).kind == "names"


def test_maps_of_several_columns_are_for_no_class_of_two_and_matter_to_one_of_three(gabors):
    theta, weights = [[0.5, 0.2, 2.0, 2.0]], np.array([[[-3.0, 4.0]]])
    assert made(gabors.dictionary_, theta, weights).plot().axes_[0].get_title().startswith("5\n")
    weights = np.concatenate([0 * weights, weights, 0 * weights])
    display = made(gabors.dictionary_, theta, weights, classes=("x", "y", "z")).plot()
    assert display.axes_[0].get_title().startswith("5 y\n")


def test_atoms_that_cannot_be_drawn_are_refused():
    class Odd(Tones):
        def atoms(self, parameters):
            return np.zeros((len(parameters), 5))

    with pytest.raises(ValueError, match=r"Odd.atoms gave neither pictures, of shape \(1, height, width\)"):
        made(Odd(), [[1.0]], [[1.0]])


@pytest.mark.parametrize("dictionary", [None, Gabor(image_shape=(5, 6)), RBF(), Pool(RBF(), 10, random_state=0)])
def test_a_machine_that_selected_nothing_says_so(dictionary):
    X, y = load_breast_cancer(return_X_y=True)
    svm = InfiniteSVM(dictionary, C=1e-3, random_state=0).fit(X[:60], y[:60])
    display = DictionaryDisplay.from_estimator(svm)
    assert "no feature map was selected" in display.axes_[0].texts[0].get_text()
    assert display.frame()["name"] == display.frame()["weight"] == []
    _, axes = pyplot.subplots(1, 2)
    assert display.plot(ax=axes).axes_[1] is axes[1]
    display.figure_.canvas.draw()


def test_the_frame_holds_a_row_per_map_even_if_a_parameter_is_called_as_another_column(gabors):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DictionaryDisplay.from_estimator(gabors, n_maps=2).frame())
    assert list(frame)[:5] == ["name", *gabors.params_]
    np.testing.assert_array_equal(frame["weight"], gabors.coef_[0])
    assert frame["name"].tolist() == gabors.get_feature_names_out().tolist()
    assert frame["drawn"].sum() == 2

    class Named(Tones):
        def space(self):
            return (Parameter("importance", 0.0, 1.0), Parameter("name", 0.0, 1.0))

    frame = made(Named(), [[0.2, 0.3]], [[5.0]]).frame()
    assert (frame["importance"], frame["parameter importance"], frame["parameter name"]) == ([5.0], [0.2], [0.3])


def test_long_names_of_classes_and_many_classes_stay_inside_of_the_figure():
    classes = [f"a class with a very long name, number {k}" for k in range(12)]
    display = made(Tones(3), np.ones((12, 3)), np.eye(12), classes=classes).plot()
    display.figure_.canvas.draw()
    inside = display.figure_.bbox
    for text in [*display.figure_.legends[0].get_texts(), *display.axes_[0].get_yticklabels()]:
        box = text.get_window_extent()
        assert inside.x0 <= box.x0
        assert box.x1 <= inside.x1
        assert box.y1 <= inside.y1


def test_it_draws_on_given_axes_with_a_legend_of_its_own(bands):
    _, axes = pyplot.subplots(2, 1)
    display = DictionaryDisplay.from_estimator(bands, ax=axes)
    assert display.axes_[0] is axes[0]
    assert legend_texts(display) == ["for fast", "for slow"]
    with pytest.raises(ValueError, match="ax holds 1 axes and there are 2 panels"):
        DictionaryDisplay.from_estimator(bands, ax=axes[0])


def test_mistakes_are_refused(gabors):
    with pytest.raises(NotFittedError):
        DictionaryDisplay.from_estimator(InfiniteSVM())
    for n_maps in (0, 2.5):
        with pytest.raises(ValueError, match=rf"n_maps={n_maps} must be a number of maps"):
            DictionaryDisplay.from_estimator(gabors, n_maps=n_maps)
    with pytest.raises(ValueError, match=r"give weights of shape \(1, 1, n_columns\)"):
        DictionaryDisplay(Tones(), [[1.0]], np.ones((1, 2, 1)), ["a"], [0, 1])
    with pytest.raises(ValueError, match=r"3 classes: give weights of shape \(3, 1, n_columns\)"):
        DictionaryDisplay(Tones(), [[1.0]], np.ones((1, 1, 1)), ["a"], [0, 1, 2])

    class Other(BaseEstimator):
        def fit(self, X=None, y=None):
            return self

    other = Other()
    other.scores_ = np.ones(3)
    with pytest.raises(ValueError, match="Other has no params_ of maps; give a fitted InfiniteSVM"):
        DictionaryDisplay.from_estimator(other)


def test_a_missing_matplotlib_names_the_extra(gabors, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'tamis\[plot\]'"):
        DictionaryDisplay.from_estimator(gabors)
