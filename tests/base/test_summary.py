"""Fitted rankers as tables and in notebooks."""

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tamis import RFE, CorrelationScore, GramSchmidt, MaxVariance, TableSelector


def make_table():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((200, 7))
    X[:, 5] = 2 * X[:, 0] + 1
    X[:, 6] = 3.0
    return pd.DataFrame(X, columns=[f"<b>{letter}" for letter in "abcdefg"]), X[:, 0] + X[:, 1]


@pytest.mark.parametrize(("convert", "kind"), [(lambda x: x, pd.DataFrame), (pl.from_pandas, pl.DataFrame)])
def test_it_is_a_frame_of_the_callers_library(convert, kind):
    frame, y = make_table()
    assert isinstance(GramSchmidt().fit(convert(frame), y).summary(), kind)
    assert isinstance(MaxVariance(stop=2).fit(convert(frame)).summary(), kind)


def test_arrow_tables_get_an_arrow_table_and_arrays_a_data_frame():
    frame, y = make_table()
    assert isinstance(GramSchmidt().fit(pa.table(frame), y).summary(), pa.Table)
    assert isinstance(GramSchmidt().fit(frame.to_numpy(), y).summary(), pd.DataFrame)


def test_it_says_of_every_feature_why_it_is_not_kept():
    frame, y = make_table()
    found = GramSchmidt(exclude=["<b>c"], keep=["<b>d"]).fit(frame, y)
    rows = found.summary().set_index("feature")
    assert list(rows.index[:3]) == [frame.columns[j] for j in found.order_[:3]]
    assert rows.loc["<b>c", "why_not"] == "excluded, as asked"
    assert rows.loc["<b>f", "redundant_with"] == "<b>a"
    assert rows.loc["<b>g", "why_not"].startswith("not ranked")
    assert np.isnan(rows.loc["<b>d", "risk"])
    assert rows.loc["<b>a", "risk"] < 0.05
    assert rows["kept"].sum() == found.n_features_


@pytest.mark.parametrize("ranker", [GramSchmidt(), CorrelationScore(), RFE("ridge", step=0.5), GramSchmidt(stop=2)])
def test_one_row_a_feature_has_name_rank_score_and_what_was_decided(ranker):
    frame, y = make_table()
    found = clone(ranker).fit(frame, y)
    rows = found.summary()
    assert list(rows) == ["feature", "rank", "score", "kept", "why_not", "risk", "redundant_with"]
    assert sorted(rows["feature"]) == sorted(frame.columns)
    place = [frame.columns.get_loc(name) for name in rows["feature"]]
    np.testing.assert_array_equal(rows["rank"].dropna(), np.arange(1, found.order_.size + 1))
    np.testing.assert_array_equal(place[: found.order_.size], found.order_)
    np.testing.assert_array_equal(rows["score"], found.scores_[place])
    np.testing.assert_array_equal(rows["kept"], found.support_[place])
    np.testing.assert_array_equal(rows["why_not"].isna(), rows["kept"])


def test_groups_have_one_risk():
    frame, y = make_table()
    found = RFE(groups=[0, 0, 1, 1, 2, 2, 2]).fit(frame.to_numpy(), y)
    rows = found.summary()
    groups = dict(zip([f"x{j}" for j in range(7)], [0, 0, 1, 1, 2, 2, 2], strict=True))
    assert rows.groupby(rows["feature"].map(groups))["risk"].nunique().max() == 1


def test_notebooks_show_the_kept_features_and_the_reason_with_names_escaped():
    frame, y = make_table()
    found = GramSchmidt().fit(frame, y)
    shown = found._repr_html_()
    assert "GramSchmidt keeps" in shown
    assert "&lt;b&gt;a" in shown
    assert "<b>a<" not in shown
    assert "keeps" not in GramSchmidt()._repr_html_()


def test_it_needs_a_fit():
    with pytest.raises(NotFittedError):
        GramSchmidt().summary()


@pytest.mark.parametrize("convert", [lambda x: x, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("stop", [None, 1, "auto"])
@pytest.mark.parametrize("wrap", [lambda ranker: ranker, TableSelector])
def test_columns_have_the_same_types_whether_or_not_there_are_values(convert, stop, wrap):
    frame, y = make_table()
    rows = nw.from_native(wrap(GramSchmidt(stop=stop, exclude=["<b>f"])).fit(convert(frame), y).summary())
    assert {name: rows.schema[name] for name in ("score", "risk")} == {"score": nw.Float64, "risk": nw.Float64}
    assert all(rows[name].is_null().all() or stop == "auto" for name in ("risk", "redundant_with"))
    assert {rows.schema[name] for name in ("feature", "why_not", "redundant_with")} == {nw.String}
