"""Redundancy: which features could stand for the kept ones."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context

from tamis import MaxVariance
from tamis.assess._redundancy import Redundancy, RedundancyGroup, redundancy
from tamis.kernels.arrays import correlations

NAMES = [f"column {j}" for j in range(9)]


def data(seed=0, n=50):
    """Columns 0 to 2 with near copies 3 to 5 (one flipped), noise, and a constant last."""
    rng = np.random.RandomState(seed)
    base = rng.standard_normal((n, 3))
    near = base * [2.0, -1.0, 5.0] + [0.1, 0.2, 3.0] * rng.standard_normal((n, 3)) + 7.0
    return np.column_stack([base, near, rng.standard_normal((n, 2)), np.full(n, 3.7)])


def by_loops(X, kept, threshold):
    """Groups from the correlation of every pair, one at a time."""
    groups, covered = [], set(kept)
    for s in kept:
        found = []
        for f in range(X.shape[1]):
            if f != s and np.ptp(X[:, f]) > 0 and np.ptp(X[:, s]) > 0:
                r2 = np.corrcoef(X[:, s], X[:, f])[0, 1] ** 2
                if r2 >= threshold:
                    found.append((-r2, f))
                    covered.add(f)
        groups.append((s, [f for _, f in sorted(found)], [-r2 for r2, _ in sorted(found)]))
    return groups, sum(np.ptp(X[:, f]) > 0 and f not in covered for f in range(X.shape[1]))


@given(st.integers(0, 1000), st.floats(0.01, 0.99), st.permutations(range(9)), st.integers(1, 9))
def test_groups_are_those_of_all_pairwise_correlations(seed, threshold, order, n_kept):
    X, kept = data(seed, n=8), order[:n_kept]
    expected, uncovered = by_loops(X, kept, threshold)
    found = redundancy(X, kept, threshold=threshold)
    assert [(group.kept, list(group.alternatives)) for group in found] == [(s, near) for s, near, _ in expected]
    for group, (_, _, similarity) in zip(found, expected, strict=True):
        assert group.similarity == pytest.approx(similarity)
    assert found.uncovered == uncovered


def test_the_threshold_is_on_the_squared_correlation_and_the_sign_does_not_matter():
    X = data()
    r = np.corrcoef(X[:, 1], X[:, 4])[0, 1]
    assert r < 0
    assert redundancy(X, [1], threshold=r**2 - 1e-6)[0].alternatives == (4,)
    assert redundancy(X, [1], threshold=r**2 + 1e-6)[0].alternatives == ()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mean", [0.0, 90.0, 1e4])
def test_copies_are_found_at_threshold_one_in_order_of_index(dtype, mean):
    X = (np.random.RandomState(0).standard_normal((60, 4)) + mean).astype(dtype)
    found = redundancy(np.hstack([X, X, X]), [5], threshold=1.0)
    assert found[0].alternatives == (1, 9)
    assert found[0].similarity == pytest.approx((1, 1), abs=1e-5)
    assert found[0].similarity[0] == found[0].similarity[1] <= 1
    assert found.uncovered == 9


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9, 1e25 / 3])
def test_constant_columns_belong_to_nobody(value):
    X = data()
    X[:, 8] = value
    X[0, 8] = np.nextafter(value, np.inf) if value else value  # constant up to rounding; beside zero units are free
    X = np.column_stack([X, X[:, 8]])
    found = redundancy(X, [8, 0], threshold=1e-3)
    assert found[0].alternatives == ()
    assert not {8, 9} & set(found[1].alternatives)
    assert redundancy(X, [8], threshold=0.5).uncovered == 8


def test_keeping_everything_leaves_nothing_uncovered():
    found = redundancy(data())
    assert len(found) == 9
    assert found.uncovered == 0


def test_blocks_do_not_change_the_groups(monkeypatch):
    whole = redundancy(data(), threshold=0.1)
    monkeypatch.setattr(correlations, "_BLOCK", 20)
    cut = redundancy(data(), threshold=0.1)
    for a, b in zip(whole, cut, strict=True):
        assert a.alternatives == b.alternatives
        assert a.similarity == pytest.approx(b.similarity)


def test_sparse_float32_and_torch_tables_give_the_same_groups():
    X = np.where(np.random.RandomState(1).uniform(size=(50, 9)) < 0.6, data(), 0.0)
    expected = redundancy(X, [0, 4], threshold=0.05)
    assert sum(len(group.alternatives) for group in expected) > 2
    tables = [sparse.csr_array(X), sparse.csc_matrix(X), X.astype(np.float32), np.asfortranarray(X)]
    with config_context(array_api_dispatch=True):
        every = [redundancy(torch.asarray(X), [0, 4], threshold=0.05)]
    for found in every + [redundancy(table, [0, 4], threshold=0.05) for table in tables]:
        for group, reference in zip(found, expected, strict=True):
            assert group.alternatives == reference.alternatives
            assert group.similarity == pytest.approx(reference.similarity, rel=1e-4)


@pytest.mark.parametrize("library", [pd, pl])
def test_names_come_from_the_table_from_the_user_or_from_the_ranker(library):
    X = data()
    frame = library.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    group = redundancy(frame, [0])[0]
    assert (group.kept_name, group.alternative_names) == ("column 0", ("column 3",))
    group = redundancy(frame, [0], feature_names=list("abcdefghi"))[0]
    assert (group.kept_name, group.alternative_names) == ("a", ("d",))
    ranker = MaxVariance(stop=1).fit(frame)
    for table in (X, frame):
        group = redundancy(table, ranker, threshold=0.5)[0]
        assert (group.kept, group.kept_name, group.alternative_names) == (5, "column 5", ("column 2",))
    named = MaxVariance(stop=1).name_features(NAMES).fit(X)
    assert redundancy(X, named)[0].kept_name == "column 5"
    assert redundancy(X, [0])[0].kept_name == "x0"


def test_the_result_is_a_sequence_that_cannot_be_changed():
    found = redundancy(data(), [0, 6])
    assert isinstance(found, Redundancy)
    assert [group.kept for group in found] == [0, 6]
    assert found[1] == RedundancyGroup(6, "x6", (), (), ())
    assert found[:1] == (found[0],)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found[0].kept = 2


def test_a_ranker_fitted_on_columns_in_another_order_is_refused():
    frame = pd.DataFrame(data(), columns=NAMES)
    ranker = MaxVariance(stop=1).fit(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match="column 0 of X is 'column 0', but MaxVariance was fitted with 'column 8'"):
        redundancy(frame, ranker)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"support": [9]}, "index 9, but there are 9 features"),
        ({"support": []}, "nothing to judge"),
        ({"threshold": 0}, "threshold=0 is no squared correlation"),
        ({"threshold": 1.5}, "threshold=1.5 is no squared correlation"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, but X has 9 columns"),
    ],
)
def test_bad_arguments_are_refused_with_their_reason(arguments, message):
    with pytest.raises(ValueError, match=message):
        redundancy(data(), **arguments)


def test_missing_values_are_refused_by_the_name_of_their_column():
    X = data()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="'x2' holds 1 missing value"):
        redundancy(X, [0])
