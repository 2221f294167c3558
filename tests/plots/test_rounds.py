"""The figure of the rounds shows how the objective falls and what is left to add."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tamis import InfiniteSVM
from tamis.dictionary import RBF
from tamis.learn._active_set import Round
from tamis.plots import RoundsDisplay


@pytest.fixture(scope="module")
def svm():
    X = np.random.RandomState(0).uniform(-2, 2, size=(100, 2))
    return InfiniteSVM(RBF(), random_state=0).fit(X, np.linalg.norm(X - [1, 0], axis=1) < 0.8)


def test_there_is_a_panel_for_each_of_objective_maps_and_violation(svm):
    display = RoundsDisplay.from_estimator(svm)
    assert [ax.get_ylabel() for ax in display.axes_] == ["objective", "active maps", "largest violation"]
    for ax, name in zip(display.axes_, ("objective", "n_active", "violation"), strict=True):
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(1, svm.n_iter_ + 1))
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), [getattr(each, name) for each in svm.history_])
    objective = display.axes_[0].lines[0].get_ydata()
    assert np.all(np.diff(objective) <= 1e-9 * objective[0])
    display.figure_.canvas.draw()


@pytest.mark.parametrize("violations", [(3.0, 1.5, 0.9), (40.0, 3.0, 0.98), (0.4,), (20.0, 0.0)])
def test_the_level_of_satisfied_conditions_is_always_in_sight(violations):
    display = RoundsDisplay([Round(1.0, 2, violation, 100) for violation in violations]).plot()
    ax = display.axes_[2]
    level = ax.lines[1]
    assert set(level.get_ydata()) == {1.0}
    low, high = ax.get_ylim()
    assert low < 1.0 < high
    assert low <= min(violations)
    assert max(violations) < high
    display.figure_.canvas.draw()


def test_rounds_are_counted_in_whole_numbers():
    display = RoundsDisplay([Round(1.0, 0, 0.5, 100)]).plot()
    display.figure_.canvas.draw()
    ax = display.axes_[2]
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if low <= tick <= high] == [1.0]
    assert display.axes_[1].get_ylim()[1] > 0


def test_the_frame_holds_a_row_per_round(svm):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(RoundsDisplay.from_estimator(svm).frame())
    assert list(frame) == ["round", "objective", "n_active", "violation", "n_evaluations"]
    assert len(frame) == svm.n_iter_
    assert frame["n_active"].iloc[-1] == svm.importances_.size


def test_it_draws_on_given_axes(svm):
    _, axes = pyplot.subplots(3, 1)
    assert RoundsDisplay.from_estimator(svm, ax=axes).axes_[1] is axes[1]
    with pytest.raises(ValueError, match="ax holds 1 axes and there are 3 panels"):
        RoundsDisplay.from_estimator(svm, ax=axes[0])


def test_what_has_no_rounds_is_refused():
    with pytest.raises(NotFittedError):
        RoundsDisplay.from_estimator(InfiniteSVM())
    with pytest.raises(ValueError, match="history holds no rounds to draw"):
        RoundsDisplay([])

    class Run(BaseEstimator):
        def fit(self, X=None, y=None):
            return self

    run = Run()
    run.history_ = {"energy": [1.0]}
    with pytest.raises(ValueError, match="Run has no history_ of rounds; give a fitted InfiniteSVM"):
        RoundsDisplay.from_estimator(run)
