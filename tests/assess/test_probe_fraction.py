"""Share of kept features that are probes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tamis import MaxVariance
from tamis.assess._probe_fraction import probe_fraction


@given(st.integers(1, 20).flatmap(lambda d: arrays(bool, (2, d))))
def test_masks_and_indices_count_the_same_probes(pair):
    support, probes = pair
    kept = [f for f in range(support.size) if support[f]]
    expected = sum(bool(probes[f]) for f in kept) / len(kept) if kept else 0.0
    for s in (support, np.flatnonzero(support)):
        for p in (probes, np.flatnonzero(probes)):
            assert probe_fraction(s, p) == pytest.approx(expected)


def test_nothing_kept_means_no_probe_kept():
    assert probe_fraction([], [1, 2]) == 0
    assert probe_fraction([False, False], [True, True]) == 0


def test_no_probes_means_no_probe_kept():
    assert probe_fraction([0, 1], []) == 0


def test_none_stands_for_all_features():
    assert probe_fraction(None, [True, False, False, False]) == 0.25


def test_a_fitted_ranker_may_stand_for_its_selection():
    X = np.random.RandomState(0).standard_normal((30, 4)) * [1, 2, 3, 4]
    assert probe_fraction(MaxVariance(stop=2).fit(X), probes=[0, 3]) == 0.5


@pytest.mark.parametrize(
    ("support", "probes", "message"),
    [
        ([True, False], [True, False, True], "probes speaks of 3 features, but there are 2"),
        ([True, False], [2], "probes holds index 2"),
        ([5], [True, False], "support holds index 5"),
        ([0], [1, 1], "probes holds index 1 more than once"),
        ([0], None, "probes=None"),
        (None, [1], "their number is not known"),
    ],
)
def test_bad_input_is_refused_with_its_reason(support, probes, message):
    with pytest.raises(ValueError, match=message):
        probe_fraction(support, probes)
