"""Tables too tall for the time: the search looks at some of the rows, and the choice is fitted to as many as it may."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.svm import SVC

from tamis import AutoSelector
from tamis.learn import _searched_rows
from tamis.learn._learning_table import LearningTable
from tamis.learn._portfolio import MODELS
from tamis.learn._race_file import RaceFile
from tamis.learn._searched_rows import draw_rows


def tall(n_samples=12_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 8))
    return X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n_samples) > 0).astype(int)


def quick(time_budget, **parameters):
    given = {"rankers": ["fisher"], "models": ["ridge"], "n_bootstraps": 20, **parameters}
    return AutoSelector(time_budget, **given)


def test_tables_that_there_is_time_for_are_searched_whole():
    X, y = tall()
    table = LearningTable(X, y, "classification")
    assert draw_rows(table, 60.0, None, 0) is None
    assert draw_rows(table.take_rows(np.arange(3000)), 1e-3, None, 0) is None  # too few rows to save any
    assert draw_rows(table, np.inf, None, 0) is None


def test_rows_are_drawn_at_random_as_many_as_there_is_time_for_and_the_same_every_time():
    X, y = tall()
    table = LearningTable(X, y, "classification")
    rows = draw_rows(table, 5.0, None, 0)
    assert rows.size == 2500  # 20 000 entries in rows of 8
    np.testing.assert_array_equal(rows, np.unique(rows))
    np.testing.assert_array_equal(rows, draw_rows(table, 5.0, None, 0))
    assert not np.array_equal(rows, draw_rows(table, 5.0, None, 1))
    assert abs(rows.mean() - 6000) < 4 * 12_000 / np.sqrt(12 * rows.size)
    assert draw_rows(table, 1e-3, None, 0).size == 2000


def test_a_rare_class_keeps_fifty_rows_or_all_of_them():
    X, y = tall()
    y = (np.arange(y.size) < 150).astype(int)
    rows = draw_rows(LearningTable(X, y, "classification"), 1e-3, None, 3)
    assert np.count_nonzero(y[rows]) >= 50
    y = (np.arange(y.size) < 20).astype(int)  # every row is needed, so that none is left out
    assert draw_rows(LearningTable(X, y, "classification"), 1e-3, None, 0) is None


def test_groups_of_rows_are_drawn_whole():
    X, y = tall()
    groups = np.repeat(np.arange(400), 30)[np.random.default_rng(0).permutation(y.size)]
    rows = draw_rows(LearningTable(X, y, "classification"), 5.0, groups, 0)
    drawn = np.unique(groups[rows])
    assert 2500 <= rows.size < 2500 + 30
    assert np.isin(groups, drawn).sum() == rows.size


def test_sparse_tables_are_measured_by_what_they_hold():
    X, y = tall()
    X[X < 1.0] = 0
    table = LearningTable(sparse.csr_array(X), y, "classification")
    rows = draw_rows(table, 1.0, None, 0)
    assert rows.size == int(4000 / (table.table.nnz / y.size))


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "mapping", "sparse"])
def test_any_table_is_searched_in_part_and_fitted_to_all_rows(kind):
    X, y = tall()
    names = [f"x{j}" for j in range(8)]
    table = {
        "array": lambda: X,
        "pandas": lambda: pd.DataFrame(X, columns=names),
        "polars": lambda: pl.DataFrame(dict(zip(names, X.T, strict=True))),
        "mapping": lambda: dict(zip(names, X.T, strict=True)),
        "sparse": lambda: sparse.csr_array(X),
    }[kind]()
    auto = quick(5.0).fit(table, y)
    assert auto.estimate_.n_rows == 2500
    assert "2500 of 12000 rows, drawn at random, were searched" in auto.reason_
    assert {0, 1} <= set(np.flatnonzero(auto.support_).tolist())
    assert auto.score(table, y) > 0.8


def test_the_choice_is_fitted_to_as_many_rows_as_there_is_time_for(monkeypatch):
    X, y = tall()
    seen = []
    monkeypatch.setattr(_searched_rows, "seconds_to_fit", lambda race, chosen, n_rows: seen.append(n_rows) or n_rows)
    auto = quick(5.0).fit(X, y)  # a second a row: no time for more than are searched
    assert seen == [12_000, 6000, 3000]
    assert "what was chosen is fitted to these" in auto.reason_
    monkeypatch.setattr(_searched_rows, "seconds_to_fit", lambda race, chosen, n_rows: 0.0 if n_rows < 7000 else np.inf)
    auto = quick(5.0).fit(X, y)
    assert "what was chosen is fitted to 6000" in auto.reason_
    assert auto.score(X, y) > 0.8
    monkeypatch.setattr(_searched_rows, "seconds_to_fit", lambda race, chosen, n_rows: 0.0)
    assert "what was chosen is fitted to all" in quick(5.0).fit(X, y).reason_


def test_folds_that_are_given_are_searched_whole():
    X, y = tall(6000)
    rows = np.arange(6000)
    auto = quick(0.5, cv=[(rows[::2], rows[1::2]), (rows[1::2], rows[::2])]).fit(X, y)
    assert auto.estimate_.n_rows == 6000
    assert "drawn at random" not in auto.reason_


def test_noise_on_some_rows_is_said_so():
    X, _ = tall()
    y = np.random.default_rng(5).normal(size=len(X))
    with pytest.warns(UserWarning, match="nothing is kept"):
        auto = quick(5.0, n_bootstraps=100).fit(X, y)
    assert auto.n_features_ == 0
    assert "2500 of 12000 rows, drawn at random, were searched" in auto.reason_


def test_a_machine_that_runs_out_of_steps_on_more_rows_is_fitted_to_those_searched(monkeypatch):
    X, y = tall()
    monkeypatch.setattr(_searched_rows, "seconds_to_fit", lambda race, chosen, n_rows: 0.0)
    auto = AutoSelector(
        2.0,
        scoring="accuracy",
        rankers=["all"],
        models={**dict.fromkeys([entry.name for entry in MODELS]), "machine": SVC(max_iter=3000)},
    ).fit(X, y)
    assert "2000 of 12000 rows" in auto.reason_
    assert "what was chosen is fitted to these" in auto.reason_
    assert auto.estimator_[-1].fit_status_ == 0
    assert auto.score(X, y) > 0.85


def test_a_run_that_goes_on_with_other_time_would_search_other_rows(tmp_path, monkeypatch):
    X, y = tall()
    monkeypatch.setattr(RaceFile, "discard", lambda self: None)
    path = tmp_path / "race.npz"
    first = quick(5.0, checkpoint=path).fit(X, y)
    again = quick(5.0, checkpoint=path).fit(X, y)
    np.testing.assert_array_equal(first.order_, again.order_)
    assert first.estimate_ == again.estimate_
    with pytest.raises(ValueError, match="time_budget differ"):
        quick(8.0, checkpoint=path).fit(X, y)
