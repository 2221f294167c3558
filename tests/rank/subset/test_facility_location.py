"""Lazy facility location finds what plain greedy search finds, however its work is cut up."""

from itertools import islice

import numpy as np
import pytest

from tamis.kernels.arrays.scaling import center_columns
from tamis.rank.subset import _facility_location as facility_location
from tamis.rank.subset._facility_location import FacilityLocationSearch, assign_columns, similarities
from tests.oracles.column_subset import medoids, squared_correlations


def clusters(shape, seed=0, n_groups=5, noise=0.7):
    """Columns in groups, of different scales."""
    rng = np.random.RandomState(seed)
    centers = rng.standard_normal((shape[0], n_groups))
    X = centers[:, rng.randint(n_groups, size=shape[1])] + noise * rng.standard_normal(shape)
    return X * np.logspace(-1, 1, shape[1]) + 3.0


def search(X, standardize=True):
    return FacilityLocationSearch(*center_columns(X, scale=standardize, share=True))


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("shape", [(25, 120), (200, 30), (40, 40), (3, 60), (10, 1)], ids=str)
@pytest.mark.parametrize("noise", [0.05, 0.7, 3.0])
def test_lazy_equals_plain_greedy(shape, noise, standardize):
    X = clusters(shape, noise=noise)
    order, shares = medoids(X, standardize)
    found = list(search(X, standardize))
    assert [feature for feature, _ in found] == order
    np.testing.assert_allclose([gain for _, gain in found], shares, rtol=1e-8, atol=1e-15)
    assert sum(gain for _, gain in found) == pytest.approx(1)


@pytest.mark.parametrize(
    "sizes",
    [
        {"_FEW": 1, "_MANY": 1},
        {"_FEW": 1000, "_MANY": 1000, "_EXACT": 1000},
        {"_BLOCK": 1, "_CACHED": 1},
        {"_SHORT": 1.0},
        {"_SHORT": 0.0},
        {"_STORED": 0},
        {"_EXACT": 1},
    ],
    ids=str,
)
def test_the_size_of_blocks_and_the_room_for_rows_change_nothing(monkeypatch, sizes):
    X = clusters((20, 90), seed=1)
    order, shares = medoids(X)
    for name, value in sizes.items():
        monkeypatch.setattr(facility_location, name, value)
    found = list(search(X))
    assert [feature for feature, _ in found] == order
    np.testing.assert_allclose([gain for _, gain in found], shares, rtol=1e-8, atol=1e-15)


def test_few_candidates_are_looked_at_again():
    X = clusters((50, 400), n_groups=20, noise=0.5)
    lazy = search(X)
    renewed = []
    bound_gains = lazy._rows.bound_gains
    lazy._rows.bound_gains = lambda candidates, cover: renewed.append(candidates.size) or bound_gains(candidates, cover)
    assert len(list(islice(lazy, 40))) == 40
    assert sum(renewed) < 0.25 * 40 * 400


def test_no_matrix_of_all_pairs_is_built(monkeypatch):
    X = clusters((20, 500))
    sizes = []
    monkeypatch.setattr(facility_location, "_BLOCK", 5000)
    monkeypatch.setattr(
        facility_location, "similarities", lambda *args: sizes.append(similarities(*args).size) or similarities(*args)
    )
    list(islice(search(X), 30))
    assert max(sizes) <= 16 * 500


def test_gains_only_ever_fall():
    gains = [gain for _, gain in search(clusters((30, 80)))]
    assert np.all(np.diff(gains) <= 1e-12)


def test_single_precision_finds_the_order_of_double_precision_while_gains_differ_clearly():
    X = clusters((40, 200), noise=1.0).astype(np.float32)
    found, expected = (list(islice(search(table), 25)) for table in (X, X.astype(float)))
    assert [feature for feature, _ in found] == [feature for feature, _ in expected]
    np.testing.assert_allclose([gain for _, gain in found], [gain for _, gain in expected], rtol=1e-4)


@pytest.mark.parametrize("block", [2**22, 1])
def test_every_column_is_assigned_to_the_chosen_one_that_explains_it_best(monkeypatch, block):
    monkeypatch.setattr(facility_location, "_BLOCK", block)
    X = clusters((30, 50))
    X[:, 7] = 1.5
    Z, norm2 = center_columns(X, scale=False)
    chosen = np.array([40, 3, 21])
    owner, share = assign_columns(Z, norm2, chosen)
    pairs = squared_correlations(X)[:, chosen]
    expected = chosen[pairs.argmax(axis=1)]
    expected[7] = -1
    np.testing.assert_array_equal(owner, expected)
    np.testing.assert_allclose(share, pairs.max(axis=1), atol=1e-12)
    assert share[7] == 0
    assert np.all(share[chosen] == 1)


def test_of_equally_good_chosen_columns_the_first_chosen_is_the_owner():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((30, 3))
    table = np.column_stack([X, X[:, 0] * 5, X[:, 0] + X[:, 1]])
    Z, norm2 = center_columns(table, scale=True)
    owner, _ = assign_columns(Z, norm2, np.array([3, 1, 0]))
    assert owner.tolist() == [0, 1, owner[2], 3, owner[4]]
    owner, _ = assign_columns(Z, norm2, np.array([3, 1]))
    assert owner[0] == 3
