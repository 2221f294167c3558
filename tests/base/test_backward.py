"""Backward elimination: its loop, its ties, its rounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from tamis.base import STEP_CONSTRAINT, BackwardRanker, ColumnCandidates, Elimination, n_to_eliminate
from tamis.base._backward import ascending, count_rounds, sizes_of_rounds
from tests.base.test_progress import Recorder

QUICK = settings(deadline=None, max_examples=100, derandomize=True)
STEPS = st.one_of(
    st.integers(1, 50), st.floats(0, 1, exclude_min=True, exclude_max=True), st.just("halving"), st.just(np.int64(3))
)


@QUICK
@given(STEPS, st.integers(1, 300))
def test_every_round_leaves_out_at_least_one_and_the_last_leaves_none(step, n_features):
    left = list(sizes_of_rounds(step, n_features))
    sizes = [n_to_eliminate(step, n_left) for n_left in left]
    assert left[0] == n_features
    assert min(sizes) >= 1
    assert sum(sizes) == n_features
    np.testing.assert_array_equal(left, n_features - np.cumsum([0, *sizes[:-1]]))


@QUICK
@given(STEPS, st.integers(1, 300))
def test_rounds_are_counted_without_going_through_them(step, n_features):
    assert count_rounds(step, n_features) == len(list(sizes_of_rounds(step, n_features)))


@QUICK
@given(st.integers(1, 50), st.integers(1, 300))
def test_a_count_leaves_out_as_many_each_time_but_the_last(step, n_features):
    assert n_to_eliminate(step, n_features) == min(step, n_features)


@pytest.mark.parametrize(("step", "left"), [(0.5, [10, 5, 3, 2, 1]), (0.2, [10, 8, 7, 6, 5, 4, 3, 2, 1])])
def test_a_fraction_is_of_those_left_rounded_down_but_at_least_one(step, left):
    assert list(sizes_of_rounds(step, 10)) == left


@QUICK
@given(st.integers(2, 2**20))
def test_halving_goes_to_the_next_power_of_two_below(n_left):
    after = n_left - n_to_eliminate("halving", n_left)
    assert after < n_left <= 2 * after
    assert after & (after - 1) == 0


def test_halving_ends_with_one_alone():
    assert list(sizes_of_rounds("halving", 100)) == [100, 64, 32, 16, 8, 4, 2, 1]
    assert n_to_eliminate("halving", 1) == 1


def test_nothing_has_no_rounds():
    assert list(sizes_of_rounds(3, 0)) == []
    assert count_rounds(3, 0) == count_rounds("halving", 0) == 0


@pytest.mark.parametrize("step", [0, -1, 0.0, 1.0, 1.5, "half", None, np.nan])
def test_what_is_no_step_is_refused(step):
    with pytest.raises(InvalidParameterError, match="step"):
        validate_parameter_constraints({"step": STEP_CONSTRAINT}, {"step": step}, "Elimination")


class Weighed(Elimination):
    """Candidates of fixed worth; training fails once fewer than ``fewest`` remain."""

    def __init__(self, worth, fewest=0):
        self.worth, self.fewest = np.asarray(worth, dtype=float), fewest
        self.remaining = np.arange(self.worth.size)

    def criteria(self):
        return self.worth[self.remaining]

    def remove(self, leaving):
        self.remaining = np.setdiff1d(self.remaining, leaving)

    def train(self):
        return self.remaining.size >= self.fewest


class Eliminates(BackwardRanker):
    def __init__(self, worth=(), *, step=1, stop=None, fewest=0):
        self.worth, self.step, self.stop, self.fewest = worth, step, stop, fewest

    def _start_elimination(self, candidates, y, rng):
        return Weighed(self.worth, self.fewest)


X = np.random.RandomState(0).standard_normal((6, 5))
Y = np.arange(6.0)


@pytest.mark.parametrize("step", [1, 2, 0.5, "halving"])
def test_candidates_leave_by_ascending_worth_and_the_last_is_the_best(step):
    found = Eliminates([3.0, 1.0, 5.0, 2.0, 4.0], step=step).fit(X, Y)
    assert found.order_.tolist() == [2, 4, 0, 3, 1]
    assert found.scores_.tolist() == [3.0, 1.0, 5.0, 2.0, 4.0]
    assert [each.info["n_features"] for each in found.path_] == sorted(each.info["n_features"] for each in found.path_)


def test_of_equals_the_last_leaves_first():
    assert Eliminates([1.0, 1.0 + 1e-13, 1.0, 2.0, 1.0]).fit(X, Y).order_.tolist() == [3, 0, 1, 2, 4]


def test_where_the_method_cannot_go_on_the_rest_is_ordered_as_it_stands():
    found = Eliminates([3.0, 1.0, 5.0, 2.0, 4.0], fewest=4).fit(X, Y)
    assert found.order_.tolist() == [2, 4, 0, 3, 1]
    assert {each.info["n_features"] for each in found.path_} == {5, 4, 3}


def test_a_callback_may_end_it_and_every_candidate_is_ranked():
    ranker = Eliminates([3.0, 1.0, 5.0, 2.0, 4.0])
    ranker.set_callbacks(Recorder({"eliminate step": 2}))
    found = ranker.fit(X, Y)
    assert found.order_.tolist() == [2, 4, 0, 3, 1]
    assert [each.info["n_features"] for each in found.path_] == [3, 3, 3, 4, 5]


def test_infinite_and_negative_criteria_have_their_places():
    values = np.array([np.inf, -2.0, 0.0, np.inf, -3.0])
    assert ascending(values, np.arange(5)).tolist() == [4, 1, 2, 3, 0]


def test_what_differs_by_noise_is_equal():
    assert ascending(np.array([1.0, 1.2, 5.0]), np.arange(3), rounding_tol=0.5).tolist() == [1, 0, 2]


def test_an_elimination_of_nothing_ranks_nothing():
    ranker = Eliminates([])
    assert ranker._eliminate(ranker._start_elimination(ColumnCandidates(X), Y, None)) == []
