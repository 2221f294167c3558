"""Targets and weights of kinds that cannot be ranked by are refused by name, by rankers and by TableSelector alike."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from tamis import RFE, FisherScore, GramSchmidt, Lasso, TableSelector, TreeSelector
from tamis.table import check_table

DAYS = np.datetime64("2023-01-01") + np.arange(20).astype("timedelta64[D]")
RANKERS = [GramSchmidt(), FisherScore(), TreeSelector(), RFE(), Lasso()]
every = pytest.mark.parametrize(
    "ranker", [*RANKERS, *map(TableSelector, RANKERS)], ids=lambda ranker: repr(ranker).replace("\n", "")
)


def some_X():
    return np.random.RandomState(0).standard_normal((20, 3))


def message(ranker, y, **fit):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 -- the message is looked at by the caller
        clone(ranker).fit(some_X(), y, **fit)
    return str(caught.value)


@every
@pytest.mark.parametrize(
    "y",
    [
        DAYS,
        pd.Series(DAYS),
        pd.Series(DAYS).dt.tz_localize("Asia/Tokyo"),
        pl.Series(DAYS),
        [dt.date(2023, 1, 1 + i) for i in range(20)],
        pd.Series(DAYS).dt.date,
        pd.DataFrame({"y": DAYS}),
    ],
    ids=["numpy", "pandas", "zone", "polars", "list", "objects", "frame"],
)
def test_dates_are_no_target_and_the_error_says_what_to_give(ranker, y):
    told = message(ranker, y)
    assert told.startswith("y holds dates")
    assert "np.timedelta64(1, 'D')" in told


def test_what_the_error_says_of_dates_can_be_done():
    y = np.datetime64("2023-01-01T00") + 7 * np.arange(20).astype("timedelta64[h]")
    told = message(GramSchmidt(), y)
    quantity = eval(re.search(r"\(y .*?'D'\)", told)[0], {"y": y, "np": np})
    assert GramSchmidt(stop=1).fit(some_X(), quantity).task_ == "regression"


@every
@pytest.mark.parametrize(
    "y", [DAYS - DAYS[0], pd.Series(DAYS - DAYS[0]), pl.Series([dt.timedelta(i) for i in range(20)])]
)
def test_durations_are_no_target_either(ranker, y):
    assert message(ranker, y).startswith("y holds durations")


@every
@pytest.mark.parametrize("of", [np.array, pd.Series])
def test_numbers_and_text_in_one_target_are_refused_with_an_example_of_each(ranker, of):
    told = message(ranker, of([1, "a"] * 10, dtype=object))
    assert told.startswith("y holds both numbers and text")
    assert "1 and 'a'" in told
    assert "astype(str)" in told


@every
def test_lists_are_no_target(ranker):
    assert message(ranker, np.array([[1], [2, 3]] * 10, dtype=object)).startswith("y holds values of type list")


@every
def test_complex_targets_are_refused_without_listing_them(ranker):
    told = message(ranker, np.arange(20) * 1j)
    assert "y holds complex numbers" in told
    assert len(told) < 200


@every
@pytest.mark.parametrize("y", [3.0, "label", {"a": 1}])
def test_a_single_value_is_no_target(ranker, y):
    assert message(ranker, y).startswith("X has 20 rows, but y is a single value")


@every
def test_a_target_has_at_most_two_dimensions(ranker):
    assert message(ranker, np.zeros((20, 2, 2))).startswith("y has 3 dimensions")


@every
@pytest.mark.parametrize("of", [np.asarray, pd.DataFrame])
def test_two_columns_of_text_are_refused(ranker, of):
    told = message(ranker, of(np.array([["a", "b"], ["b", "c"]] * 10)))
    assert told.startswith("y has 2 columns, ")


@pytest.mark.parametrize("ranker", RANKERS[:3:2], ids=repr)
@pytest.mark.parametrize("wrap", [lambda ranker: ranker, TableSelector])
def test_quantities_held_as_objects_are_quantities(ranker, wrap):
    y = np.random.RandomState(1).standard_normal(20)
    assert wrap(ranker).fit(some_X(), y.astype(object)).task_ == "regression"
    assert wrap(ranker).fit(some_X(), np.array([True, False] * 10, dtype=object)).task_ == "classification"


def test_a_table_is_checked_with_the_same_words():
    with pytest.raises(ValueError, match="y holds dates"):
        check_table(some_X(), DAYS)


weighted = pytest.mark.parametrize("ranker", [GramSchmidt(), RFE(), TableSelector()], ids=repr)


@weighted
@pytest.mark.parametrize("weight", [2.0, 1, np.float64(1), True, "a", {"a": 1}])
def test_a_single_weight_is_refused(ranker, weight):
    told = message(ranker, np.arange(20) % 2, sample_weight=weight)
    assert told.startswith("sample_weight is a single value")
    assert "one weight per row" in told


@weighted
@pytest.mark.parametrize("weight", [["a"] * 20, DAYS, np.array([1, "a"] * 10, dtype=object)])
def test_weights_are_numbers(ranker, weight):
    assert message(ranker, np.arange(20) % 2, sample_weight=weight).startswith("sample_weight holds")


@weighted
@pytest.mark.parametrize("weight", [np.ones(19), np.ones((20, 2)), [[1.0]] * 20])
def test_weights_are_one_per_row(ranker, weight):
    told = message(ranker, np.arange(20) % 2, sample_weight=weight)
    assert "sample_weight" in told
    assert "one weight per row" in told
