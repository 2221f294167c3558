"""What the values of a column are taken for."""

import datetime as dt
from decimal import Decimal

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamis.table._numbers_in_text import read_numbers
from tamis.table._source import read_source
from tamis.table._values import Levels, Moments, Numbers, Unreadable, read_array, read_objects, read_series


def series(values):
    return nw.from_native(values, series_only=True)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1.0, 2.0, np.nan]),
        pl.Series([1, 2, None]),
        pl.Series([1.0, 2.0, None], dtype=pl.Float32),
        pl.Series([Decimal("1"), Decimal("2"), None]),
        pa.chunked_array([[1, 2, None]]),
        pd.Series([1, 2.0, pd.NA], dtype=object),
    ],
    ids=str,
)
def test_numbers_with_missing_values(values):
    column = read_series(series(values))
    assert isinstance(column, Numbers)
    np.testing.assert_array_equal(column.values, [1, 2, np.nan])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([True, False, None], dtype="boolean"),
        pd.Series([True, False, None], dtype=object),
        pd.Series([True, False, np.nan], dtype=object),
        pl.Series([True, False, None]),
        pa.chunked_array([[True, False, None]]),
    ],
    ids=str,
)
def test_booleans_with_missing_values(values):
    column = read_series(series(values))
    assert column.read_as == "boolean"
    np.testing.assert_array_equal(column.values, [1, 0, np.nan])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["b", "a", None, "b"]),
        pd.Series(["b", "a", np.nan, "b"], dtype=object),
        pd.Series(["b", "a", None, "b"], dtype="category"),
        pl.Series(["b", "a", None, "b"]),
        pl.Series(["b", "a", None, "b"], dtype=pl.Categorical),
        pl.Series(["b", "a", None, "b"], dtype=pl.Enum(["a", "b", "c"])),
        pa.chunked_array([["b", "a", None, "b"]]),
        pa.chunked_array([["b", "a", None, "b"]]).dictionary_encode(),
    ],
    ids=str,
)
def test_levels_with_missing_values(values):
    column = read_series(series(values))
    assert isinstance(column, Levels)
    assert column.levels == ["b", "a"]
    np.testing.assert_array_equal(column.codes, [0, 1, -1, 0])
    np.testing.assert_array_equal(column.counts, [2, 1])


MOMENTS = [dt.datetime(2024, 5, 6, 7), None]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(pd.to_datetime(MOMENTS)),
        pd.Series(pd.to_datetime(MOMENTS)).dt.tz_localize("Asia/Tokyo"),
        pl.Series(MOMENTS),
        pl.Series(MOMENTS).dt.replace_time_zone("Asia/Tokyo"),
        pa.chunked_array([MOMENTS]),
        pd.Series(MOMENTS, dtype=object),
    ],
    ids=str,
)
def test_moments_as_clocks_showed_them(values):
    column = read_series(series(values))
    assert isinstance(column, Moments)
    assert column.values[0] == np.datetime64("2024-05-06T07:00")
    assert np.isnat(column.values[1])


def test_dates_durations_and_times_of_day():
    assert read_series(series(pl.Series([dt.date(2024, 5, 6), None]))).values[0] == np.datetime64("2024-05-06")
    for values in (pl.Series([dt.timedelta(minutes=2), None]), pd.Series(pd.to_timedelta([120, None], unit="s"))):
        column = read_series(series(values))
        assert column.read_as == "duration"
        np.testing.assert_array_equal(column.values, [120, np.nan])
    np.testing.assert_array_equal(read_series(series(pl.Series([dt.time(1, 0, 5), None]))).values, [3605, np.nan])
    np.testing.assert_array_equal(read_array(np.array([5, "NaT"], dtype="timedelta64[s]")).values, [5, np.nan])
    assert isinstance(read_array(np.array(["2024-01-01"], dtype="datetime64[D]")), Moments)


def test_what_is_neither_is_told_by_its_type():
    assert read_series(series(pl.Series([[1], [2, 3]]))) == Unreadable("list")
    assert read_objects([{"a": 1}, None], is_declared=False) == Unreadable("dict")
    assert read_objects([1j, 2j], is_declared=False) == Unreadable("complex")


def test_a_column_with_nothing_in_it_is_one_of_missing_numbers():
    assert np.isnan(read_objects([None, None], is_declared=False).values).all()


def test_categories_that_look_like_numbers_stay_categories():
    assert isinstance(read_series(series(pd.Series(["1", "2", "1"], dtype="category"))), Levels)
    assert read_series(series(pd.Series(["1", "2", "1"]))).read_as == "text"


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", "-2.5", " 3e2 "], [1, -2.5, 300]),
        (["12,5", "3,25", "7"], [12.5, 3.25, 7]),
        (["1 200", "3 400 000", "7"], [1200, 3400000, 7]),
        (["1,200", "3,400,000", "7"], [1200, 3400000, 7]),
        (["1.200,50", "7,5"], [1200.5, 7.5]),
        (["1,200.50", "7.5"], [1200.5, 7.5]),
        (["$3", "$1,200", "-$5"], [3, 1200, -5]),
        (["3 €", "-2,5 €", "40"], [3, -2.5, 40]),
        (["40 %", "7%", "3.5 %"], [40, 7, 3.5]),
        (["1\u00a0200", "30"], [1200, 30]),
    ],
)
def test_numbers_in_text_are_read_as_people_write_them(texts, numbers):
    np.testing.assert_allclose(read_numbers(texts), numbers)


@pytest.mark.parametrize(
    "texts", [["Paris", "Nice"], ["01234", "75001"], ["1-2", "3-4"], ["1.2.3", "4.5.6"], ["3 rooms", "4 rooms"], []]
)
def test_text_that_is_no_number_stays_text(texts):
    assert read_numbers(texts) is None


def test_a_few_texts_among_numbers_are_told_apart():
    found = read_numbers(["1", "2", "3", "4", "unknown"])
    np.testing.assert_array_equal(np.isnan(found), [False, False, False, False, True])


def test_numeric_columns_of_a_frame_come_as_one_block():
    X = np.random.default_rng(0).normal(size=(5, 3))
    for frame in (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))):
        source = read_source(frame)
        np.testing.assert_array_equal(source.numbers, X)
        np.testing.assert_array_equal(source.places, [0, 1, 2])
        assert not source.read_as


def test_missing_values_are_counted_by_column():
    X = pd.DataFrame(
        {"a": [1, None, 3], "b": ["u", None, None], "c": pd.to_datetime(["2024-01-01", None, None]), "d": 1}
    )
    np.testing.assert_array_equal(read_source(X).n_missing(), [1, 2, 2, 0])


def test_object_arrays_are_read_column_by_column():
    source = read_source(np.array([[1, "a", True], [None, "b", False]], dtype=object))
    np.testing.assert_array_equal(source.places, [0, 2])
    assert list(source.levels) == [1]
