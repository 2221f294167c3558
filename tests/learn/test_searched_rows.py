"""Tables too tall for the time: the search looks at some of the rows, and the choice is fitted to as many as it may."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from tamis import AutoSelector
from tamis.learn import _searched_rows
from tamis.learn._learning_table import LearningTable
from tamis.learn._portfolio import MODELS
from tamis.learn._race import Race
from tamis.learn._race_file import RaceFile
from tamis.learn._searched_rows import add_rows, draw_rows
from tamis.table._source_columns import take_rows


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


@pytest.mark.parametrize(("n_rare", "wanted"), [(20, 20), (60, 50), (3000, 500)])
def test_a_rare_class_has_fifty_rows_or_all_that_there_are(n_rare, wanted):
    X, _ = tall()
    y = (np.arange(len(X)) < n_rare).astype(int)
    rows = draw_rows(LearningTable(X, y, "classification"), 1e-3, None, 3)
    assert np.count_nonzero(y[rows]) == pytest.approx(wanted, abs=80 if wanted == 500 else 0)
    assert 2000 <= rows.size <= 2050


def test_more_rows_are_added_without_changing_the_shares_that_were_searched():
    X, _ = tall()
    y = (np.arange(len(X)) < 150).astype(int)
    whole = LearningTable(X, y, "classification")
    rows = draw_rows(whole, 1e-3, None, 0)
    n_rare, n_more = np.count_nonzero(y[rows]), add_rows(rows, whole, 12_000, 0)
    assert n_rare == 50
    np.testing.assert_allclose(y[n_more].mean(), y[rows].mean(), rtol=0.01)
    assert np.isin(rows, n_more).all()
    assert n_more.size == pytest.approx(3 * rows.size, rel=0.01)  # three times as many of the rare class are all
    y = (np.arange(len(X)) < 4000).astype(int)  # drawn as often as it occurs, so that all rows may be added
    whole = LearningTable(X, y, "classification")
    assert add_rows(draw_rows(whole, 1e-3, None, 0), whole, 12_000, 0).size == 12_000


def test_groups_of_rows_are_drawn_whole():
    X, y = tall()
    groups = np.repeat(np.arange(400), 30)[np.random.default_rng(0).permutation(y.size)]
    rows = draw_rows(LearningTable(X, y, "classification"), 5.0, groups, 0)
    drawn = np.unique(groups[rows])
    assert 2500 <= rows.size < 2500 + 30
    assert np.isin(groups, drawn).sum() == rows.size
    few = np.repeat(np.arange(60), 200)  # twenty of them are more rows than there is time for
    rows = draw_rows(LearningTable(X, y, "classification"), 1e-3, few, 0)
    assert np.unique(few[rows]).size == 20
    assert rows.size == 4000
    assert draw_rows(LearningTable(X, y, "classification"), 1e-3, few // 6, 0) is None  # ten groups


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


def test_costs_of_an_earlier_run_tell_how_many_rows_there_is_time_for(tmp_path, monkeypatch):
    X, y = tall()
    monkeypatch.setattr(RaceFile, "discard", lambda self: None)
    path = tmp_path / "race.npz"
    quick(5.0, checkpoint=path).fit(X, y)
    told = []
    of = _searched_rows.seconds_to_fit
    monkeypatch.setattr(_searched_rows, "seconds_to_fit", lambda *given: told.append(of(*given)) or told[-1])
    quick(5.0, checkpoint=path).fit(X, y)
    assert len(told) == 1
    assert 0 < told[0] < 5


def test_a_choice_that_fails_on_other_rows_is_fitted_to_those_searched():
    rng = np.random.default_rng(0)
    X = np.exp(2 * rng.normal(size=(12_000, 8)))
    y = np.log(X[:, 0]) + np.log(X[:, 1]) + 0.3 * rng.normal(size=12_000)
    names = [f"x{j}" for j in range(8)]
    seen = draw_rows(LearningTable(X, y, "regression"), 5.0, None, 0)
    X[np.setdiff1d(np.arange(12_000), seen)[0], 0] = -5.0
    auto = AutoSelector(5.0, rankers=[], models=["ridge"], n_bootstraps=20).fit(pd.DataFrame(X, columns=names), y)
    assert "log columns" in auto.reason_
    assert "what was chosen is fitted to these" in auto.reason_


def test_rows_of_masked_columns_keep_their_masks():
    taken = take_rows({"a": np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])}, np.array([1, 2]))
    np.testing.assert_array_equal(np.ma.getmaskarray(taken["a"]), [True, False])


def test_an_interrupted_search_ends_without_a_fit_to_more_rows(monkeypatch):
    X, y = tall()
    wave = Race._run_rankers

    def interrupted(self, *given):
        yield from wave(self, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Race, "_run_rankers", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        auto = quick(5.0).fit(X, y)
    assert "what was chosen is fitted to these" in auto.reason_
