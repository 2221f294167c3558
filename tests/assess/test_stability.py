"""Stability: how much selections agree."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from tamis import MaxVariance
from tamis.assess import _stability
from tamis.assess._stability import Stability, stability
from tests.oracles import stability as oracle
from tests.oracles.chance import LUCK, fewest, most

selections = st.tuples(st.integers(2, 7), st.integers(1, 12)).flatmap(lambda shape: arrays(bool, shape))


def draw(n_sets=40, n_features=60, seed=0):
    """Selections of unequal sizes among features of unequal worth."""
    rng = np.random.RandomState(seed)
    return rng.uniform(size=(n_sets, n_features)) < rng.beta(0.3, 0.7, size=n_features)


@st.composite
def equal_sizes(pick):
    d, n_sets = pick(st.integers(1, 12)), pick(st.integers(2, 7))
    k = pick(st.integers(0, d))
    return np.array([np.isin(np.arange(d), pick(st.permutations(range(d)))[:k]) for _ in range(n_sets)])


@given(selections)
def test_nogueira_follows_its_definition(Z):
    assert stability(Z).value == pytest.approx(oracle.nogueira(Z), abs=1e-12)


@given(selections, st.sampled_from(["jaccard", "hamming"]))
def test_pairwise_measures_are_means_over_all_pairs(Z, measure):
    assert stability(Z, measure=measure).value == pytest.approx(oracle.pairwise(Z, measure), abs=1e-12)


@given(equal_sizes())
def test_at_equal_sizes_kuncheva_is_a_mean_over_pairs_and_equals_nogueira(Z):
    value = stability(Z, measure="kuncheva").value
    assert value == pytest.approx(oracle.pairwise(Z, "kuncheva"), abs=1e-12)
    assert value == pytest.approx(stability(Z).value, abs=1e-12)


@given(selections, st.randoms(use_true_random=False))
def test_the_order_of_selections_and_of_features_does_not_matter(Z, random):
    rows, cols = (random.sample(range(n), n) for n in Z.shape)
    for measure in ("nogueira", "jaccard", "hamming"):
        assert stability(Z[rows][:, cols], measure=measure).value == pytest.approx(stability(Z, measure=measure).value)


@given(arrays(bool, st.integers(1, 12)), st.integers(2, 5))
def test_identical_selections_are_perfectly_stable(mask, n_sets):
    Z = np.tile(mask, (n_sets, 1))
    for measure, best in (("nogueira", 1), ("kuncheva", 1), ("jaccard", 1), ("hamming", 0)):
        assert stability(Z, measure=measure).value == best
    assert stability(Z).interval == pytest.approx((1, 1))


def test_random_selections_of_one_size_have_no_stability_on_average():
    rng = np.random.RandomState(0)
    found = [stability(np.argsort(rng.uniform(size=(4, 20)), axis=1) < 6).value for _ in range(1000)]
    assert abs(np.mean(found)) < norm.isf(LUCK / 2) * np.std(found) / 1000**0.5


def test_random_selections_of_unequal_sizes_have_hardly_any_stability():
    rng = np.random.RandomState(0)
    n_sets = 200
    size = np.tile([0.1, 0.9], n_sets // 2)[:, None]
    assert abs(stability(rng.uniform(size=(n_sets, 1000)) < size).value) < 2 / n_sets


def test_the_interval_follows_its_formula_and_is_that_of_the_jackknife():
    # strict and lenient selections in turn, so that the sizes matter
    Z = draw(n_sets=400) & (np.random.RandomState(1).uniform(size=(400, 60)) < np.tile([1.0, 0.3], 200)[:, None])
    found = stability(Z, confidence=0.9)
    half = (found.interval[1] - found.interval[0]) / 2
    assert half == pytest.approx(norm.ppf(0.95) * np.sqrt(oracle.nogueira_variance(Z)))
    assert half == pytest.approx(norm.ppf(0.95) * np.sqrt(oracle.jackknife_variance(Z)), rel=0.01)
    assert sum(found.interval) / 2 == pytest.approx(found.value)


@pytest.mark.parametrize("correlated", [False, True], ids=["independent", "sizes vary"])
def test_the_interval_holds_the_truth_as_often_as_it_says(correlated):
    rng = np.random.RandomState(0)
    n_trials, n_sets, d = 400, 300, 40
    p = rng.beta(0.5, 0.5, size=d)
    # a strict and a lenient selector, in turn at random: the sizes of the selections then vary widely
    strictness = np.array([1.0, 0.2]) if correlated else np.array([1.0, 1.0])
    mean = p * strictness.mean()
    truth = 1 - np.mean(mean * (1 - mean)) / (mean.mean() * (1 - mean.mean()))
    hits = 0
    for _ in range(n_trials):
        level = strictness[rng.randint(2, size=n_sets)]
        lowest, highest = stability(rng.uniform(size=(n_sets, d)) < level[:, None] * p).interval
        hits += lowest <= truth <= highest
    # the interval is asymptotic: a point of coverage either way is its own, the rest is luck
    assert fewest(n_trials, 0.94) <= hits <= most(n_trials, 0.96)


def test_a_higher_confidence_gives_a_wider_interval_that_holds_the_value_and_ends_at_one():
    Z = draw(n_sets=5)
    narrow, wide = stability(Z, confidence=0.5), stability(Z, confidence=0.99999)
    assert wide.interval[0] < narrow.interval[0] <= narrow.value <= narrow.interval[1] <= wide.interval[1] <= 1


def test_the_result_says_what_it_is_about():
    Z = draw()
    found = stability(Z)
    assert found == Stability(found.value, found.interval, "nogueira", 40, 60, pytest.approx(Z.sum(axis=1).mean()))
    assert stability(Z, measure="jaccard").interval is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.value = 0


@pytest.mark.parametrize("measure", ["nogueira", "jaccard"])
def test_blocks_do_not_change_the_figures(monkeypatch, measure):
    whole = stability(draw(), measure=measure)
    monkeypatch.setattr(_stability, "_BLOCK", 7 * 40)
    cut = stability(draw(), measure=measure)
    assert cut.value == pytest.approx(whole.value)
    assert cut.interval == pytest.approx(whole.interval)


def test_selections_may_come_as_masks_indices_rankers_or_tables():
    Z = draw(n_sets=4, n_features=9)
    expected = stability(Z)
    assert stability([list(row) for row in Z.tolist()]) == expected
    assert stability([np.flatnonzero(row) for row in Z], n_features=9) == expected
    assert stability(row for row in Z) == expected
    assert stability(torch.asarray(Z)) == expected
    names = [f"f{j}" for j in range(9)]
    for library in (pd, pl):
        assert stability(library.DataFrame(dict(zip(names, Z.T, strict=True)))) == expected
    rng = np.random.RandomState(0)
    rankers = [MaxVariance(stop=2).fit(rng.standard_normal((20, 9))) for _ in range(3)]
    assert stability(rankers) == stability([ranker.support_ for ranker in rankers])
    assert stability([rankers[0], rankers[1].support_, [1, 2]]).n_features == 9


@pytest.mark.parametrize(
    ("supports", "arguments", "message"),
    [
        ([[True, False]], {}, "got 1: give at least two"),
        ([], {}, "got 0: give at least two"),
        ([[0, 1], [1, 2]], {}, "give n_features, or boolean masks"),
        (np.eye(3, dtype=int), {}, "give n_features, or boolean masks"),
        (np.eye(3, dtype=int), {"n_features": 3}, r"supports\[0\] holds index 0 more than once; if it is a mask"),
        ([[True, False], [True]], {}, r"supports\[1\] speaks of 1 features, but there are 2"),
        ([[True, False], [False, True]], {"n_features": 3}, r"supports\[0\] speaks of 2 features, but there are 3"),
        ([[0], [5]], {"n_features": 5}, r"supports\[1\] holds index 5"),
        (np.empty((3, 0), dtype=bool), {}, "among 0 features"),
        ([[True, False], [False, True]], {"measure": "dice"}, "choose one of nogueira, kuncheva, jaccard, hamming"),
        ([[True, False], [False, True]], {"confidence": 95}, "confidence=95 must lie between 0 and 1"),
        (
            [[True, False, True], [False, True, False]],
            {"measure": "kuncheva"},
            "keep 1 to 2 features; use measure='nogueira'",
        ),
        (MaxVariance(), {}, "supports is one MaxVariance; give a list"),
    ],
)
def test_bad_input_is_refused_with_its_reason(supports, arguments, message):
    with pytest.raises(ValueError, match=message):
        stability(supports, **arguments)
