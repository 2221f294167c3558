"""Rounds of an elimination."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from tamis.base._elimination import STEP_CONSTRAINT, batch_size, count_rounds, countdown

QUICK = settings(deadline=None, max_examples=100, derandomize=True)
STEPS = st.one_of(
    st.integers(1, 50), st.floats(0, 1, exclude_min=True, exclude_max=True), st.just("halving"), st.just(np.int64(3))
)


@QUICK
@given(STEPS, st.integers(1, 300))
def test_every_round_leaves_out_at_least_one_and_the_last_leaves_none(step, n_features):
    left = list(countdown(step, n_features))
    sizes = [batch_size(step, n_left) for n_left in left]
    assert left[0] == n_features
    assert min(sizes) >= 1
    assert sum(sizes) == n_features
    np.testing.assert_array_equal(left, n_features - np.cumsum([0, *sizes[:-1]]))


@QUICK
@given(STEPS, st.integers(1, 300))
def test_rounds_are_counted_without_going_through_them(step, n_features):
    assert count_rounds(step, n_features) == len(list(countdown(step, n_features)))


@QUICK
@given(st.integers(1, 50), st.integers(1, 300))
def test_a_count_leaves_out_as_many_each_time_but_the_last(step, n_features):
    assert batch_size(step, n_features) == min(step, n_features)


@pytest.mark.parametrize(("step", "left"), [(0.5, [10, 5, 3, 2, 1]), (0.2, [10, 8, 7, 6, 5, 4, 3, 2, 1])])
def test_a_fraction_is_of_those_left_rounded_down_but_at_least_one(step, left):
    assert list(countdown(step, 10)) == left


@QUICK
@given(st.integers(2, 2**20))
def test_halving_goes_to_the_next_power_of_two_below(n_left):
    after = n_left - batch_size("halving", n_left)
    assert after < n_left <= 2 * after
    assert after & (after - 1) == 0


def test_halving_ends_with_one_alone():
    assert list(countdown("halving", 100)) == [100, 64, 32, 16, 8, 4, 2, 1]
    assert batch_size("halving", 1) == 1


def test_nothing_has_no_rounds():
    assert list(countdown(3, 0)) == []
    assert count_rounds(3, 0) == count_rounds("halving", 0) == 0


@pytest.mark.parametrize("step", [0, -1, 0.0, 1.0, 1.5, "half", None, np.nan])
def test_what_is_no_step_is_refused(step):
    with pytest.raises(InvalidParameterError, match="step"):
        validate_parameter_constraints({"step": STEP_CONSTRAINT}, {"step": step}, "Elimination")
