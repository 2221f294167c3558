"""Options on the task, on columns that stay, weights, groups of rows; names that people know from elsewhere."""

from __future__ import annotations

import shlex

import numpy as np
import polars as pl
import pytest

from tamis import GramSchmidt
from tamis.cli._methods import method_class
from tamis.cli._names_elsewhere import _EQUIVALENTS, _SAME


def test_the_task_can_be_said_and_is_told(tamis, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3)).round(4)
    rating = np.clip(np.round(x[:, 0] * 1.2 + 3), 1, 5).astype(int)
    path = tmp_path / "t.csv"
    pl.DataFrame(x, schema=["a", "b", "c"]).with_columns(pl.Series("rating", rating)).write_csv(path)
    for task in ("classification", "regression"):
        report = tamis("select", path, "--target", "rating", "--task", task, "--json").json
        assert report["task"] == task
    assert tamis("rank", path, "--target", "rating", "--task", "regression").err.startswith("regression on 'rating'\n")
    assert "no target" in tamis("rank", path, "--method", "max-variance").err


@pytest.mark.filterwarnings("default")
def test_a_guess_at_the_task_that_may_be_wrong_is_told_with_the_option_that_mends_it(tamis, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300).round(4)
    pl.DataFrame({"a": x, "b": rng.standard_normal(300), "n": rng.poisson(np.exp(0.5 * x))}).write_csv(
        tmp_path / "t.csv"
    )
    outcome = tamis("select", tmp_path / "t.csv", "--target", "n")
    assert "--task regression" in outcome.err
    assert "task=" not in outcome.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "fisher-score", "--task", "regression"], ["--task regression", "fisher-score", "gram-schmidt"]),
        (["--method", "max-variance", "--task", "regression"], ["--task regression", "max-variance", "no target"]),
        (
            ["--method", "relief-f", "--weights", "x0"],
            ["--weights", "relief-f takes no weights", "gram-schmidt"],
        ),
        (["--missing", "pass"], ["--missing pass", "gram-schmidt takes no", "tree-selector", "--missing impute"]),
        (["--row-groups", "x0"], ["--row-groups", "gram-schmidt", "probe", "--stop cross-validation"]),
        (["--weights", "x9"], ["--weights x9", "no such column"]),
        (["--weights", "x0"], ["--weights x0", "negative"]),
        (["--weights", "y"], ["--weights y", "--target"]),
        (["--keep", "x0,x9"], ["--keep x9", "no such column"]),
        (["--keep", "x0", "--drop", "x0"], ["--keep x0", "--drop"]),
        (["--keep", "y"], ["--keep y", "target"]),
        (["--param", "keep=x0"], ["use --keep"]),
        (["--param", "min_features=2"], ["use --min-features"]),
        (["--min-features", "0"], ["--min-features", "at least 1"]),
        (["--task", "guess"], ["--task", "'guess'"]),
        (["--missing", "guess"], ["--missing", "'guess'"]),
    ],
)
def test_an_option_that_cannot_be_is_refused_with_what_can(options, words, csv, tamis):
    outcome = tamis("select", csv, "--target", "y", *options)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


def test_columns_to_keep_come_first_and_stay(csv, table, tamis):
    report = tamis("select", csv, "--target", "y", "--keep", "x1", "--json").json
    assert report["features"][0]["name"] == "x1"
    assert ["curve" in feature for feature in report["features"]] == [False, True, True]
    assert {feature["name"] for feature in report["features"]} == {"x1", "x2", "x5"}
    selector = GramSchmidt(keep=["x1"]).fit(table.drop("y"), table["y"])
    assert report["reason"] == selector.stop_.reason


def test_columns_to_keep_of_a_mixed_table_are_those_of_the_file(shops, tamis):
    assert tamis("select", shops, "--target", "price", "--keep", "color", "--json").names[0] == "color"


def test_at_least_so_many_are_kept(csv, tamis):
    assert len(tamis("select", csv, "--target", "y", "--min-features", 4, "--json").names) == 4


def test_a_name_may_hold_commas(table, tamis, tmp_path):
    path = tmp_path / "t.csv"
    table.rename({"x0": "a,b", "x1": "c", "x3": "a"}).write_csv(path)
    for given in ("a,b", "c,a,b", "a,b,c"):
        left = tamis("rank", path, "--target", "y", "--drop", given, "--json").names
        assert "a,b" not in left
        assert "a" in left
        assert ("c" in left) is (given == "a,b")


@pytest.mark.parametrize("option", ["--drop", "--exclude"])
def test_columns_can_be_left_out_under_either_name(option, csv, tamis):
    assert "x5" not in tamis("rank", csv, "--target", "y", option, "x5", "--json").names


def test_weights_are_a_column_and_no_feature(table, tamis, tmp_path):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(table))
    path = tmp_path / "t.csv"
    table.with_columns(pl.Series("w", weight)).write_csv(path)
    report = tamis("select", path, "--target", "y", "--weights", "w", "--json").json
    expected = GramSchmidt().fit(table.drop("y"), table["y"], sample_weight=weight)
    assert report["n_features"] == 8
    assert report["reason"] == expected.stop_.reason


def test_rows_of_a_group_stay_together_in_cross_validation(table, tamis, tmp_path, monkeypatch):
    from sklearn.model_selection import GroupKFold

    seen = []
    original = GroupKFold.split

    def split(self, X, y=None, groups=None):
        seen.append(groups)
        return original(self, X, y, groups)

    monkeypatch.setattr(GroupKFold, "split", split)
    path = tmp_path / "t.csv"
    patient = [f"p{j // 6}" for j in range(len(table))]
    table.with_columns(pl.Series("patient", patient)).write_csv(path)
    options = ("--row-groups", "patient", "--stop", "cross-validation")
    report = tamis("select", path, "--target", "y", *options, "--json").json
    assert report["n_features"] == 8
    assert seen
    assert list(seen[0]) == np.unique(patient, return_inverse=True)[1].tolist()


@pytest.mark.parametrize("name", [*_EQUIVALENTS, *_SAME, "RandomForest_Classifier", "mutual_info_classif", "LassoCV"])
def test_names_known_from_elsewhere_lead_to_a_command_that_can_be_pasted(name, csv, tamis):
    args = ("select", str(csv), "--target", "y", "--method", name)
    outcome = tamis(*args)
    assert outcome.code == 2
    if name == "LassoCV":
        assert "did you mean 'lasso'" in outcome.err
        return
    assert "did you mean" in outcome.err
    command = shlex.split(outcome.err[outcome.err.rindex("tamis select") :])
    assert command[:3] == ["tamis", "select", str(csv)]
    assert name not in command
    method = command[command.index("--method") + 1] if "--method" in command else "gram-schmidt"
    assert method_class(method)


@pytest.mark.filterwarnings("default:10 features are asked for")
def test_a_pasted_command_runs(csv, tamis, tmp_path):
    path = csv.rename(tmp_path / "my table.csv")
    outcome = tamis("select", path, "--target=y", "--method=select-k-best")
    command = shlex.split(outcome.err[outcome.err.rindex("tamis select") :])
    outcome = tamis(*command[1:], "--json")
    assert (outcome.code, len(outcome.names)) == (0, 8)  # ten are asked for


@pytest.mark.filterwarnings("default")
def test_advice_where_nothing_is_kept_is_given_in_options_and_the_reason_only_once(tamis, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 4)).round(4)
    pl.DataFrame(x, schema=["a", "b", "c", "d"]).with_columns(pl.Series("y", np.sign(x[:, 0] * x[:, 1]))).write_csv(
        tmp_path / "t.csv"
    )
    outcome = tamis("select", tmp_path / "t.csv", "--target", "y")
    assert "--method tree-selector --param n_trees=" in outcome.err
    assert "--method relief-f" in outcome.err
    assert "(" + "dictionary=" not in outcome.err
    assert outcome.err.count("would beat the best of") == 1
