"""Step-down maxima and false discovery rates, against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.stop._step_down import FalseDiscoveryRate, FamilyRisk
from tests.oracles.probes import benjamini_hochberg, pooled_p_values, step_down


def draws(seed, n_draws, n_features, ties):
    rng = np.random.RandomState(seed)
    scores, copies = rng.standard_normal(n_features) + 1, rng.standard_normal((n_draws, n_features))
    return (np.round(scores), np.round(copies)) if ties else (scores, copies)


CASES = {
    "seed": st.integers(0, 10**6),
    "n_draws": st.integers(1, 30),
    "n_features": st.integers(1, 8),
    "ties": st.booleans(),
    "level": st.floats(0.02, 0.9),
}


@settings(deadline=None, max_examples=50, derandomize=True)
@given(**CASES)
def test_a_feature_passes_exactly_when_the_plain_step_down_keeps_it(seed, n_draws, n_features, ties, level):
    scores, copies = draws(seed, n_draws, n_features, ties)
    passed = FamilyRisk(level).p_values(scores, copies, n_draws) <= level
    assert set(np.flatnonzero(passed)) == step_down(scores, copies, level)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(**CASES)
def test_adjusted_p_values_pass_exactly_where_benjamini_hochberg_rejects(seed, n_draws, n_features, ties, level):
    scores, copies = draws(seed, n_draws, n_features, ties)
    passed = FalseDiscoveryRate(level).p_values(scores, copies, n_draws) <= level
    assert set(np.flatnonzero(passed)) == benjamini_hochberg(pooled_p_values(scores, copies), level)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(**CASES)
def test_once_settled_no_further_draw_changes_what_is_kept(seed, n_draws, n_features, ties, level):
    scores, copies = draws(seed, n_draws, n_features, ties)
    rule = FamilyRisk(level)
    kept = set(np.flatnonzero(rule.p_values(scores, copies, n_draws) <= level))
    for drawn in range(1, n_draws):
        if rule.settled(scores, copies[:drawn], n_draws):
            early = set(np.flatnonzero(rule.p_values(scores, copies[:drawn], n_draws) <= level))
            late = rule.p_values(scores, copies[:drawn], n_draws, extra=n_draws - drawn) <= level
            assert early == kept == set(np.flatnonzero(late))


@pytest.mark.parametrize("rule", [FamilyRisk(0.2), FalseDiscoveryRate(0.2)], ids=["risk", "fdr"])
def test_an_unranked_copy_reaches_no_feature(rule):
    scores = np.array([1.0, 0.0])
    copies = np.full((19, 2), -np.inf)
    assert np.all(rule.p_values(scores, copies, 19) <= 0.2)


@pytest.mark.parametrize("rule", [FamilyRisk(0.2), FalseDiscoveryRate(0.2)], ids=["risk", "fdr"])
def test_an_infinite_score_is_reached_by_no_finite_copy(rule):
    copies = np.random.RandomState(0).standard_normal((19, 3))
    p_values = rule.p_values(np.array([np.inf, -5.0, -5.0]), copies, 19)
    assert p_values[0] <= 0.2 < p_values[1]


@settings(deadline=None, max_examples=30, derandomize=True)
@given(**CASES)
def test_features_that_are_not_tested_leave_the_rate_of_the_others_alone(seed, n_draws, n_features, ties, level):
    scores, copies = draws(seed, n_draws, n_features + 2, ties)
    found = FalseDiscoveryRate(level, [0, n_features + 1]).p_values(scores, copies, n_draws)
    alone = FalseDiscoveryRate(level).p_values(scores[1:-1], copies[:, 1:-1], n_draws)
    assert found.tolist() == [1.0, *alone.tolist(), 1.0]
