"""Encodings: what they hold, and that they favor no column of noise."""

import numpy as np
import pandas as pd
import pytest

from tamis import CorrelationScore, GramSchmidt
from tamis.stop import MonteCarloProbe
from tamis.table._encode import encode
from tamis.table._encoded import Wishes
from tamis.table._ordered_means import ordered_means
from tamis.table._source import read_source


def encoded(columns, **wishes):
    return encode(read_source(pd.DataFrame(columns)), Wishes(**wishes))


def test_ordered_means_are_those_of_the_rows_before():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 6, 50), rng.normal(size=(50, 2))
    place = np.random.RandomState(0).permutation(50)
    expected = np.zeros((50, 2))
    for i in range(50):
        before = (codes == codes[i]) & (place < place[i])
        expected[i] = (y[before] - y.mean(axis=0)).sum(axis=0) / (1 + before.sum())
    np.testing.assert_allclose(ordered_means(codes, y), expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore::tamis.base.NothingKeptWarning")
@pytest.mark.parametrize("ranker", [GramSchmidt(), CorrelationScore(stop=MonteCarloProbe(n_draws=19))])
@pytest.mark.parametrize("kind", ["quantity", "rare class"])
def test_a_noise_column_of_200_levels_is_kept_no_more_often_than_the_risk(ranker, kind):
    """Cross-fitting by folds fails this: the correlation has twice the variance there."""
    kept, n_tables = 0, 60
    for seed in range(n_tables):
        rng = np.random.RandomState(seed)
        codes, y = rng.randint(200, size=300), rng.standard_normal(300)
        y = y if kind == "quantity" else (y > 0.8).astype(int)
        kept += ranker.fit(ordered_means(codes, y[:, None].astype(float)), y).n_features_
    assert kept <= 9  # P(more than 9 of 60 | 5 %) is below 1e-3


def test_rare_levels_share_a_column_and_a_missing_value_is_a_level():
    values = ["a"] * 40 + ["b"] * 40 + ["c"] * 3 + ["d"] * 2 + [None] * 15
    found = encoded({"x": values})
    assert found.names == ["x=a", "x=b", "x=missing", "x=(rare)"]
    np.testing.assert_array_equal(found.table.sum(axis=0), [40, 40, 15, 5])
    np.testing.assert_array_equal(found.table.sum(axis=1), np.ones(100))
    assert found.sentences[0] == "5 levels, missing among them, one-hot, 2 of them, in fewer than 5 rows each, as one"


def test_two_levels_are_one_column():
    found = encoded({"x": ["a", "b"] * 10})
    assert found.names == ["x=b"]
    np.testing.assert_array_equal(found.table[:, 0], np.arange(20) % 2)


def test_levels_of_a_few_rows_each_are_not_all_pooled():
    found = encoded({"x": [f"k{i % 25}" for i in range(75)]}, targets=np.arange(75.0)[:, None])
    assert found.names == ["x (mean target)"]


def test_codes_are_sorted_by_name_and_marked_discrete():
    found = encoded({"x": ["b", "c", "a", "b"] * 5, "n": np.arange(20.0)}, layout="codes")
    np.testing.assert_array_equal(found.table[:4, 0], [1, 2, 0, 1])
    np.testing.assert_array_equal(found.is_discrete, [True, False])
    missing = encoded({"x": ["b", "c", "a", None] * 5}, layout="codes", takes_missing=True)
    assert np.isnan(missing.table[3, 0])


def test_without_a_target_many_levels_are_numbered_by_frequency():
    found = encoded({"x": ["a"] * 3 + ["b"] * 5 + ["c"] * 2}, layout="few")
    np.testing.assert_array_equal(found.table[:, 0], [1] * 3 + [2] * 5 + [0] * 2)


def test_dates_become_days_and_parts_of_the_cycles_that_vary():
    days = pd.to_datetime(["2024-01-01", "2024-01-08", "2024-07-01", None] * 3)
    found = encoded({"when": days}, takes_missing=True)
    assert found.names == ["when days", "when month (sine)", "when month (cosine)"]  # all are Mondays, at midnight
    np.testing.assert_allclose(found.table[:4, 0], [0, 7, 182, np.nan])
    np.testing.assert_allclose(found.table[:3, 2], [1, 1, -1])
    filled = encoded({"when": days})
    assert filled.names[-1] == "when days" or not np.isnan(filled.table).any()
    hours = encoded({"when": pd.to_datetime(["2024-01-01 00:00", "2024-01-01 06:00", "2024-01-01 12:00"])})
    np.testing.assert_allclose(hours.table[:, 1], [0, 1, 0], atol=1e-12)


def test_missing_numbers_are_at_the_median_with_an_indicator_where_there_are_enough():
    few, many = np.arange(20.0), np.arange(20.0)
    few[:2], many[:6] = np.nan, np.nan
    found = encoded({"few": few, "many": many})
    assert found.names == ["few", "many", "many is missing"]
    np.testing.assert_array_equal(found.places, [0, 1, 1])
    assert found.table[0, 0] == np.median(np.arange(2, 20))
    assert found.table[0, 1] == np.median(np.arange(6, 20))
    np.testing.assert_array_equal(found.table[:, 2], np.arange(20) < 6)


def test_missing_numbers_stay_for_rankers_that_take_them():
    found = encoded({"x": [1.0, np.nan, 3.0], "y": [1.0, 2.0, 4.0]}, takes_missing=True)
    np.testing.assert_array_equal(found.table[:, 0], [1, np.nan, 3])
    assert found.sentences == {0: "number, as it is; 1 missing value left to the ranker", 1: "number, as it is"}


def test_a_complete_table_of_numbers_is_handed_on_without_a_copy():
    X = np.random.default_rng(0).normal(size=(10, 4))
    assert encode(read_source(X), Wishes()).table is X


def test_columns_that_tell_nothing_are_named_with_the_cause():
    found = encoded(
        {
            "one": 1.0,
            "text": "a",
            "id": [f"u{i}" for i in range(9)],
            "gone": [None] * 9,
            "x": np.arange(9.0),
            "day": pd.Timestamp(0),
        }
    )
    assert found.names == ["x"]
    assert found.not_ranked == {
        0: "constant (1 in every row)",
        1: "constant ('a' in every row)",
        2: "a different text in every row, as an identifier has",
        3: "every value is missing",
        5: "constant (1970-01-01T00:00:00.000000 in every row)",
    }
