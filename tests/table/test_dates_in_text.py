"""Dates that stand in a table as text."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tamis import TableSelector
from tamis.table import check_table
from tamis.table._dates_in_text import read_dates
from tamis.table._source import read_source
from tamis.table._values import Levels, Moments, read_objects

N = 120


@pytest.mark.parametrize(
    ("texts", "moments"),
    [
        (["2023-06-03", " 2024-2-29 "], ["2023-06-03", "2024-02-29"]),
        (["2023-06-03 14:05", "1999-12-31 00:00"], ["2023-06-03T14:05", "1999-12-31"]),
        (["2023-06-03T14:05:06", "2023-06-03T14:05:06.25"], ["2023-06-03T14:05:06", "2023-06-03T14:05:06.250"]),
        (["2023-06-03T14:05:06.123456789Z"], ["2023-06-03T14:05:06.123456"]),
        (["2023-06-03 14:05:00+02:00", "2023-12-03 14:05:00+01:00"], ["2023-06-03T14:05", "2023-12-03T14:05"]),
        (["2023/06/03", "2023/01/02"], ["2023-06-03", "2023-01-02"]),
        (["20230603"], None),
        (["03/06/2023", "25/06/2023"], ["2023-06-03", "2023-06-25"]),
        (["03/06/2023", "06/25/2023"], ["2023-03-06", "2023-06-25"]),
        (["3/6/2023 9:05", "25/6/2023 14:05"], ["2023-06-03T09:05", "2023-06-25T14:05"]),
        (["03-06-2023", "25-06-2023"], ["2023-06-03", "2023-06-25"]),
        (["03.06.2023", "04.07.2023"], ["2023-06-03", "2023-07-04"]),
        (["03.06.2023", "04.17.2023"], ["2023-03-06", "2023-04-17"]),
    ],
)
def test_dates_in_text_are_read_as_people_write_them(texts, moments):
    found = read_dates(texts)
    if moments is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found.values, np.array(moments, dtype="datetime64[us]"))


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["03/06/2023", "04/07/2023"], "both day/month/year and month/day/year"),
        (["03-06-2023", "04-07-2023"], "both day-month-year and month-day-year"),
        (["13/06/2023", "06/13/2023"], "neither day/month/year nor month/day/year"),
        (["2023-02-30", "2023-01-01"], "'2023-02-30'"),
        (["2023-06-03 24:10", "2023-06-03 14:10"], "'2023-06-03 24:10'"),
        (["2023-06-03", "2023/06/04"], "more than one way"),
        (["2023-06-03", "2023-06-04 14:05"], "more than one way"),
        (["2023-06-03T10:00Z", "2023-06-04T14:05"], "more than one way"),
        ([f"2023-06-{day:02d}" for day in range(1, 10)] + ["soon"], "9 of 10"),
    ],
)
def test_dates_that_cannot_be_told_stay_text_with_the_cause(texts, why):
    found = read_dates(texts)
    assert found.values is None
    assert why in found.sentence
    assert "it stays text: " in found.sentence


@pytest.mark.parametrize(
    "texts", [["Paris", "Nice"], ["1.2.3", "4.5.6"], ["0612-34-56", "555-12-1234"], ["12", "3"], []]
)
def test_text_that_holds_no_dates_is_none(texts):
    assert read_dates(texts) is None


def test_only_the_first_levels_of_other_text_are_looked_at():
    class Level(str):
        __slots__ = ()
        n_stripped = 0

        def strip(self):
            Level.n_stripped += 1
            return super().strip()

    assert read_dates([Level(f"F{i}") for i in range(1000)]) is None
    assert Level.n_stripped <= 20


def test_missing_values_stay_missing_among_dates():
    column = read_objects(["03.06.2023", None, "13.06.2023", float("nan"), "03.06.2023"], is_declared=False)
    assert isinstance(column, Moments)
    np.testing.assert_array_equal(np.isnat(column.values), [False, True, False, True, False])
    assert column.values[4] == np.datetime64("2023-06-03")


def test_dates_that_were_declared_as_categories_stay_categories():
    assert isinstance(read_objects(["2023-06-03", "2023-06-04"], is_declared=True), Levels)


def written(days, how):
    return [f"{day.astype(object):{how}}" for day in days]


def a_table(how, n_days=700):
    """A target that depends on a date, written as text, and noise."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2022-01-01") + rng.integers(0, n_days, N).astype("timedelta64[D]")
    y = (days - days[0]).astype(float) / 100 + rng.normal(size=N)
    return {"when": written(days, how), "noise": rng.normal(size=N)}, y, days


@pytest.mark.parametrize("how", ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict])
def test_a_date_as_text_is_encoded_as_the_date_itself(how, frame):
    X, y, days = a_table(how)
    selector = TableSelector().fit(frame(X), y)
    as_date = TableSelector().fit(frame({**X, "when": days}), y)
    np.testing.assert_allclose(selector.scores_, as_date.scores_)
    assert selector.get_feature_names_out().tolist() == ["when"]
    assert selector.encoding_["when"].startswith("text that holds dates, ")
    assert selector.encoding_["when"].endswith(as_date.encoding_["when"])
    assert selector.findings_.of("when").codes() == ["text-date"]
    assert selector.transform(frame(X))["when"][0] == X["when"][0]


def test_a_finding_says_how_dates_were_read():
    X, _, _ = a_table("%d/%m/%Y")
    [found] = check_table(X)
    assert (found.code, found.column) == ("text-date", "when")
    assert "day/month/year" in found.sentence
    assert "2023-06-03" in found.advice


def test_dots_that_fit_both_orders_are_read_day_first_and_the_finding_says_so():
    [found] = check_table(
        {"when": ["03.06.2023", "04.07.2023"] * 20, "noise": np.random.default_rng(0).normal(size=40)}
    )
    assert "month.day.year fits as well" in found.sentence


def test_slashes_that_fit_both_orders_stay_levels_with_a_finding():
    X = {"when": ["03/06/2023", "04/07/2023", "05/06/2023", "03/07/2023"] * 20}
    [found] = check_table(X)
    assert found.code == "text-date"
    assert "it stays text: " in found.sentence
    assert list(read_source(X).levels) == [0]
