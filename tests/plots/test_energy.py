"""The figure of a run shows its error at every iteration, beside that of permuted labels."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tamis import OFW
from tamis.plots import EnergyDisplay


class Run(BaseEstimator):
    """What a display reads of a fitted stochastic ranker."""

    def fit(self, X=None, y=None):
        return self


def fitted(seed=0, n_iter=120, null=False):
    rng, run = np.random.RandomState(seed), Run()
    run.history_ = {
        "energy": 0.1 + 0.3 * np.exp(-np.arange(n_iter) / 30) + 0.05 * rng.uniform(size=n_iter),
        "effective_number": np.linspace(50, 5, n_iter),
    }
    if null:
        run.null_history_ = {"energy": rng.uniform(0.4, 0.5, size=n_iter)}
    return run


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_each_run_is_a_smooth_line_over_a_pale_raw_one():
    runs = {"gradient": fitted(0), "diffusion": fitted(1, n_iter=80)}
    display = EnergyDisplay.from_estimators(runs, window=9)
    [ax] = display.axes_
    assert list(lines_of(ax)) == ["gradient", "diffusion"]
    for raw, smooth in zip(ax.lines[::2], ax.lines[1::2], strict=True):
        energy = runs[smooth.get_label()].history_["energy"]
        np.testing.assert_array_equal(raw.get_ydata(), energy)
        np.testing.assert_array_equal(smooth.get_xdata(), np.arange(1, energy.size + 1))
        expected = [energy[max(0, i - 4) : i + 5].mean() for i in range(energy.size)]
        np.testing.assert_allclose(smooth.get_ydata(), expected, rtol=1e-10)
        assert raw.get_alpha() < 0.5
        assert raw.get_color() == smooth.get_color()
    display.figure_.canvas.draw()


def test_permuted_labels_are_dashed_and_named():
    alone = EnergyDisplay.from_estimators(fitted(null=True))
    assert list(lines_of(alone.axes_[0])) == ["Run", "permuted labels"]
    assert lines_of(alone.axes_[0])["permuted labels"].get_linestyle() == "--"
    both = EnergyDisplay.from_estimators({"a": fitted(null=True), "b": fitted(1)})
    assert list(lines_of(both.axes_[0])) == ["a", "a, permuted labels", "b"]
    assert [text.get_text() for text in both.figure_.legends[0].get_texts()] == ["a", "a, permuted labels", "b"]


def test_a_run_without_permuted_labels_may_say_none():
    run = fitted()
    run.null_history_ = None
    assert list(lines_of(EnergyDisplay.from_estimators(run).axes_[0])) == ["Run"]


def test_the_effective_number_has_a_panel_below():
    run = fitted()
    display = EnergyDisplay.from_estimators(run, effective_number=True)
    upper, lower = display.axes_
    assert upper.get_ylabel() == "mean error"
    assert lower.get_ylabel() == "effective number of features"
    np.testing.assert_array_equal(lower.lines[0].get_ydata(), run.history_["effective_number"])
    assert display.frame()["effective_number"] == run.history_["effective_number"].tolist()


def test_the_frame_holds_a_row_per_run_and_iteration():
    pandas = pytest.importorskip("pandas")
    runs = {"a": fitted(null=True), "b": fitted(1, n_iter=10)}
    frame = pandas.DataFrame(EnergyDisplay.from_estimators(runs, effective_number=True).frame())
    assert len(frame) == 120 + 10 + 120
    one = frame[(frame["run"] == "a") & frame["permuted"]]
    np.testing.assert_array_equal(one["energy"], runs["a"].null_history_["energy"])
    assert one["effective_number"].isna().all()
    assert one["iteration"].tolist() == list(range(1, 121))


@pytest.mark.parametrize("n_iter", [1, 2, 39, 40, 1000])
def test_a_moving_mean_stays_within_the_values_and_keeps_a_constant(n_iter):
    display = EnergyDisplay({"a": np.full(n_iter, 0.3)})
    np.testing.assert_allclose(display.smooth(display.energies["a"]), 0.3)
    values = np.random.RandomState(0).uniform(size=n_iter)
    smooth = EnergyDisplay({"a": values}, window=10**6).smooth(values)
    np.testing.assert_allclose(smooth, values.mean())
    np.testing.assert_allclose(EnergyDisplay({"a": values}, window=1).smooth(values), values)


def test_it_draws_on_given_axes():
    _, ax = pyplot.subplots()
    display = EnergyDisplay.from_estimators(fitted(null=True), ax=ax)
    assert display.axes_[0] is ax
    assert ax.get_legend() is not None
    with pytest.raises(ValueError, match="ax holds 1 axes and there are 2 panels"):
        EnergyDisplay.from_estimators(fitted(), effective_number=True, ax=ax)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({},), "there are no runs to draw"),
        (({"a": []},), "the run 'a' must have one finite value per iteration"),
        (({"a": [0.1, np.nan]},), "the run 'a' must have one finite value per iteration"),
        (({"a": [[0.1]]},), "the run 'a' must have one finite value per iteration"),
    ],
)
def test_what_is_no_run_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        EnergyDisplay(*arguments)


def test_other_mistakes_are_refused_too():
    with pytest.raises(ValueError, match="there is no run 'b'; the runs are a"):
        EnergyDisplay({"a": [0.1]}, null_energies={"b": [0.2]})
    with pytest.raises(ValueError, match="window=0 must be a number of iterations"):
        EnergyDisplay({"a": [0.1]}, window=0)
    with pytest.raises(NotFittedError):
        EnergyDisplay.from_estimators(Run())
    other = Run()
    other.scores_ = np.ones(3)
    with pytest.raises(ValueError, match="Run has no history_ of its iterations; give a fitted OFW"):
        EnergyDisplay.from_estimators(other)


def test_a_run_and_its_control_can_be_drawn():
    X, y = load_iris(return_X_y=True)
    ofw = OFW("tree", subset_size=2, n_subsets=20, null_control=True, random_state=0).fit(X, y)
    display = EnergyDisplay.from_estimators(ofw, effective_number=True)
    assert "permuted labels" in str([text.get_text() for text in display.figure_.findobj(pyplot.Text)])


def test_several_runs_without_names_are_refused():
    with pytest.raises(ValueError, match="a mapping that names them"):
        EnergyDisplay.from_estimators([fitted(), fitted(1)])
