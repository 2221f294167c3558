"""Mixed tables: text, booleans, dates and missing values go in as they are, and the same columns come out."""

from __future__ import annotations

import datetime
import io
import warnings

import numpy as np
import polars as pl
import pytest

from tamis import GramSchmidt, TableSelector
from tamis.cli import Environment, main


@pytest.fixture
def visits(tmp_path):
    """A cost that depends on the clinic, the age and the date, an identifier, a constant and noise beside them."""
    rng = np.random.default_rng(3)
    n = 150
    clinic = rng.choice(["north, old", "north, new", "south"], n)
    age = rng.integers(20, 90, n)
    day = rng.integers(0, 900, n)
    holes = {name: rng.random(n) < 0.1 for name in ("clinic", "age", "insured", "day")}
    cost = age + 60 * (clinic == "south") + 0.1 * day + rng.standard_normal(n)
    table = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "clinic": clinic,
            "age": age,
            "insured": rng.choice([True, False], n),
            "day": [datetime.date(2020, 1, 1) + datetime.timedelta(int(d)) for d in day],
            "site": ["A"] * n,
            "the noise": rng.standard_normal(n).round(3),
            "cost": cost.round(2),
        }
    ).with_columns(pl.when(~pl.Series(where)).then(pl.col(name)).alias(name) for name, where in holes.items())
    path = tmp_path / "visits.csv"
    table.write_csv(path)
    return path, table


def test_a_mixed_table_goes_in_as_it_is_and_the_answer_says_what_was_done(visits, tamis):
    outcome = tamis("select", visits[0], "--target", "cost")
    assert outcome.code == 0
    assert {row.split()[1] for row in outcome.out.splitlines()[1:]} == {"age", "clinic", "day"}
    first, done, left_out = outcome.err.splitlines()[:3]
    assert first == "regression on 'cost'"
    assert "one-hot: 'clinic'" in done
    assert "missing values imputed: 'age', 'insured', 'day'" in done
    assert "'the noise'" not in done
    assert left_out.startswith("not ranked: 'id' (")
    assert "'site' (constant)" in left_out
    assert "kept 3 of 7 features: " in outcome.err


@pytest.mark.parametrize("polars", [True, False])
def test_the_answer_is_that_of_the_library_with_and_without_polars(polars, visits, tamis, without):
    path, table = visits
    library = TableSelector().fit(table.drop("cost"), table["cost"].to_numpy())
    if not polars:
        without("polars")
    report = tamis("select", path, "--target", "cost", "--json").json
    assert [feature["name"] for feature in report["features"]] == [
        library.feature_names_in_[j] for j in library.order_[: library.n_features_]
    ]
    assert report["encoding"] == library.encoding_
    assert report["task"] == "regression"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_kept_columns_are_written_as_they_were_read(suffix, visits, tamis, tmp_path):
    path, table = visits
    kept = tmp_path / f"kept{suffix}"
    assert tamis("select", path, "--target", "cost", "--out", kept).code == 0
    wanted = table.select("clinic", "age", "day", "cost")
    if suffix == ".csv":
        assert kept.read_text() == wanted.write_csv()
    else:
        read = pl.read_parquet if suffix == ".parquet" else pl.read_ipc
        assert read(kept).equals(wanted)


def test_columns_are_written_as_they_were_read_without_polars_too(visits, tamis, tmp_path, without):
    path, table = visits
    without("polars")
    assert tamis("select", path, "--target", "cost", "--out", tmp_path / "kept.csv").code == 0
    assert (tmp_path / "kept.csv").read_text() == table.select("clinic", "age", "day", "cost").write_csv()


def test_types_of_parquet_survive(tamis, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(80)
    rich = pl.DataFrame(
        {
            "kind": pl.Series(np.where(x > 0, "up", "down"), dtype=pl.Categorical),
            "count": pl.Series([None, *range(79)], dtype=pl.Int16),
            "paid": pl.Series((10 * x).round(2)).cast(pl.Decimal(10, 2)),
            "when": pl.Series([datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)] * 40 + [None] * 40),
            "y": x,
        }
    )
    rich.write_parquet(tmp_path / "t.parquet")
    options = ("--target", "y", "--keep", "kind,count,paid,when", "--out", tmp_path / "kept.parquet")
    assert tamis("select", tmp_path / "t.parquet", *options).code == 0
    assert pl.read_parquet(tmp_path / "kept.parquet").equals(rich)


def test_a_table_of_numbers_is_ranked_as_before(csv, table, tamis):
    ranker = GramSchmidt().fit(table.drop("y"), table["y"])
    report = tamis("select", csv, "--target", "y", "--json").json
    assert report["encoding"] == {}
    assert report["reason"] == ranker.stop_.reason
    scores = [feature["score"] for feature in report["features"]]
    np.testing.assert_allclose(scores, ranker.scores_[ranker.order_[:2]], rtol=1e-12)


def test_text_cannot_be_written_as_npz(visits, tamis, tmp_path):
    outcome = tamis("select", visits[0], "--target", "cost", "--out", tmp_path / "kept.npz")
    assert outcome.code == 2
    assert "'clinic'" in outcome.err
    assert ".parquet" in outcome.err


def test_the_option_that_mixed_tables_needed_once_is_accepted_and_said_to_do_nothing(visits, tamis):
    plain = tamis("select", visits[0], "--target", "cost", "--json").json
    encoded = tamis("select", visits[0], "--target", "cost", "--encode", "--json").json
    assert plain["features"] == encoded["features"]
    assert "--encode is not needed" in tamis("select", visits[0], "--target", "cost", "--encode").err


def test_missing_values_can_be_refused_or_passed_on_by_choice(visits, tamis):
    assert "'age'" in tamis("select", visits[0], "--target", "cost", "--missing", "error").err
    outcome = tamis("select", visits[0], "--target", "cost", "--missing", "pass")
    assert outcome.code == 2
    assert "--missing impute" in outcome.err


def test_rank_orders_columns_and_not_their_encoded_parts(visits, tamis):
    report = tamis("rank", visits[0], "--target", "cost", "--top", 3, "--json").json
    assert [feature["rank"] for feature in report["features"]] == [1, 2, 3]
    assert {feature["name"] for feature in report["features"]} == {"age", "clinic", "day"}


def test_nominal_attributes_of_arff_are_encoded(tamis, tmp_path):
    rng = np.random.default_rng(0)
    hue = rng.choice(["red", "blue"], 60)
    rows = [f"{value:.4f},{color},{int(color == 'red')}" for value, color in zip(rng.random(60), hue, strict=True)]
    head = ["@relation r", "@attribute a numeric", "@attribute hue {red,blue}", "@attribute class {0,1}", "@data"]
    (tmp_path / "t.arff").write_text("\n".join([*head, *rows]))
    assert tamis("select", tmp_path / "t.arff", "--target", "class", "--json").names == ["hue"]


def test_a_progress_bar_moves_for_mixed_tables_too(visits, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    env = Environment(stdout=io.StringIO(), stderr=Terminal())
    assert main(["select", str(visits[0]), "--target", "cost"], env) == 0
    assert "GramSchmidt - fit" in env.stderr.getvalue()


def test_a_curve_over_encoded_columns_is_not_told_as_one_over_features(visits, tamis):
    options = ("--target", "cost", "--method", "floating-selection", "--stop", "cross-validation", "--json")
    report = tamis("select", visits[0], *options).json
    assert report["curve"] is None
    assert all("curve" not in feature for feature in report["features"])


@pytest.mark.parametrize("n_days", [700, 8])  # days up to the eighth could be months
@pytest.mark.parametrize("how", ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"])
def test_dates_are_read_as_python_reads_them_from_text(how, n_days, tamis, tmp_path):
    rng = np.random.default_rng(0)
    day = rng.integers(0, n_days, 100)
    when = [f"{datetime.date(2022, 1, 1) + datetime.timedelta(int(d)):{how}}" for d in day]
    X, y = {"when": when, "noise": rng.normal(size=100)}, day / 100 + rng.normal(size=100)
    pl.DataFrame({**X, "y": y}).write_csv(tmp_path / "table.csv")
    report = tamis("rank", tmp_path / "table.csv", "--target", "y", "--json").json
    selector = TableSelector().fit(X, y)
    assert report["encoding"]["when"].rpartition("; ")[2] == selector.encoding_["when"].rpartition("; ")[2]
    score = next(feature["score"] for feature in report["features"] if feature["name"] == "when")
    assert score == pytest.approx(selector.scores_[0])


def test_the_order_in_which_dates_were_read_is_told(tamis, tmp_path):
    when = [f"{datetime.date(2022, 1, 1) + datetime.timedelta(d):%d/%m/%Y}" for d in range(60)]
    pl.DataFrame({"when": when, "y": np.random.default_rng(0).normal(size=60)}).write_csv(tmp_path / "table.csv")
    assert (
        "text-date: 'when' holds dates as text, written day/month/year"
        in tamis("rank", tmp_path / "table.csv", "--target", "y").err
    )


def test_warnings_of_a_mixed_table_name_options(tamis, tmp_path):
    rng = np.random.default_rng(0)
    city, a, b = rng.choice(["Lyon", "Nice", "Paris"], 200), rng.normal(size=200), rng.normal(size=200)
    y = np.abs(a) + np.abs(b)
    counts = np.minimum(rng.poisson(np.exp(1 + 0.3 * a)), 15)
    path = tmp_path / "table.csv"
    pl.DataFrame({"city": city, "a": a, "b": b, "y": y, "n": counts}).write_csv(path)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        nothing = tamis("select", path, "--target", "y", "--drop", "n").err
        as_classes = tamis("select", path, "--target", "n", "--drop", "y").err
    assert "--method tree-selector --param n_trees=100, --method relief-f or --method polynomial-selection" in nothing
    assert "give --task regression to explain a quantity, or --task classification if" in as_classes
    assert "TableSelector" not in nothing + as_classes
