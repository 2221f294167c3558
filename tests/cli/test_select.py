"""``tamis select`` and ``tamis rank``: what they print, and for whom."""

from __future__ import annotations

import io
import signal
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning

from tamis import GramSchmidt
from tamis.cli import Environment, main
from tamis.stop import MonteCarloProbe


def test_select_prints_the_kept_features_and_says_why_no_more(csv, tamis):
    outcome = tamis("select", csv, "--target", "y")
    assert outcome.code == 0
    head, *rows = outcome.out.splitlines()
    assert head.split()[:3] == ["rank", "feature", "score"]
    assert head.endswith("risk that a random feature does better")
    assert [row.split()[:2] for row in rows] == [["1", "x5"], ["2", "x2"]]
    task, kept = outcome.err.splitlines()
    assert task == "regression on 'y'"
    assert kept.startswith("kept 2 of 8 features: feature 3, 'x")


def test_select_agrees_with_the_library(csv, table, tamis):
    selector = GramSchmidt(stop=MonteCarloProbe(risk=0.1, n_draws=39, random_state=3)).fit(table.drop("y"), table["y"])
    options = ("--stop", "monte-carlo-probe", "--risk", 0.1, "--draws", 39, "--seed", 3)
    report = tamis("select", csv, "--target", "y", *options, "--json").json
    order = selector.order_[: selector.stop_.n_features]
    assert [feature["name"] for feature in report["features"]] == [f"x{j}" for j in order]
    assert [feature["curve"] for feature in report["features"]] == selector.stop_.curve[: order.size].tolist()
    assert report["reason"] == selector.stop_.reason
    assert report["threshold"] == 0.1


def test_a_seed_does_not_silence_a_method_that_says_itself_why_it_stops(csv, tamis):
    pytest.importorskip("torch", reason="the extra neural brings torch")
    call = ("select", csv, "--target", "y", "--method", "deep-feature-selection", "--seed", 3, "--json")
    assert "asked for" not in tamis(*call).json["reason"]


def test_json_is_one_object_with_names_scores_and_reason(csv, tamis):
    outcome = tamis("--json", "select", csv, "--target", "y")
    assert outcome.err == ""
    assert outcome.out.count("\n") == 1
    report = outcome.json
    assert report["n_kept"] == 2
    assert (report["n_rows"], report["n_features"]) == (120, 8)
    assert [feature["rank"] for feature in report["features"]] == [1, 2]
    assert all(0 < feature["score"] < 1 for feature in report["features"])
    assert report["reason"].startswith("feature 3, 'x")


def test_names_of_the_file_appear_in_the_reason(table, tamis, tmp_path):
    path = tmp_path / "t.csv"
    table.rename({f"x{j}": f"x{7 - j}" for j in range(8)} | {"y": "price"}).write_csv(path)
    plain = tamis("select", path, "--target", "price", "--json").json
    assert [feature["name"] for feature in plain["features"]] == ["x2", "x5"]
    refused = GramSchmidt().fit(table.drop("y"), table["y"]).order_[2]
    assert f"'x{7 - refused}'" in plain["reason"]


@pytest.mark.parametrize(("stop", "kept"), [("3", 3), ("0.5", 4), ("leave-one-out", None), ("cross-validation", None)])
def test_any_rule_number_or_fraction_can_stop(stop, kept, csv, tamis):
    outcome = tamis("select", csv, "--target", "y", "--stop", stop, "--json")
    assert outcome.code == 0
    assert {"x5", "x2"} <= set(outcome.names)
    assert kept is None or len(outcome.names) == kept


def test_parameters_of_method_and_rule_can_be_set(csv, tamis):
    loose = tamis("select", csv, "--target", "y", "--risk", 0.9, "--stop-param", "correction=none", "--json")
    assert loose.json["n_kept"] > 2
    short = tamis("rank", csv, "--target", "y", "--param", "max_features=2", "--json")
    assert short.names == ["x5", "x2"]


def test_keeping_nothing_is_an_answer(tamis, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.csv"
    pl.DataFrame(rng.standard_normal((50, 4)), schema=["a", "b", "c", "y"]).write_csv(path)
    outcome = tamis("select", path, "--target", "y", "--out", tmp_path / "kept.csv")
    assert outcome.code == 0
    assert "kept 0 of 3 features: feature 1, '" in outcome.err
    assert pl.read_csv(tmp_path / "kept.csv").columns == ["y"]
    assert tamis("select", path, "--target", "y").out.split()[:3] == ["rank", "feature", "score"]
    assert tamis("select", path, "--target", "y", "--json").json["features"] == []


def test_a_text_target_makes_a_classification(tamis, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    label = np.array(["low", "mid", "high"])[np.digitize(X[:, 1], [-0.5, 0.5])]
    path = tmp_path / "t.csv"
    pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(pl.Series("class", label)).write_csv(path)
    outcome = tamis("select", path, "--target", "class", "--out", tmp_path / "kept.npz")
    assert outcome.code == 0
    assert outcome.err.startswith("classification of 3 classes: 'class'\n")
    with np.load(tmp_path / "kept.npz") as archive:
        assert archive["feature_names"].tolist() == ["b"]
        assert archive["y"].tolist() == label.tolist()


def test_an_unsupervised_method_needs_no_target(csv, tamis):
    assert tamis("rank", csv, "--method", "max-variance", "--json").json["n_features"] == 9
    assert tamis("rank", csv, "--method", "max-variance", "--target", "y", "--json").json["n_features"] == 8


def test_rank_gives_the_whole_order_and_top_its_beginning(csv, table, tamis):
    whole = tamis("rank", csv, "--target", "y", "--json")
    assert whole.names == [f"x{j}" for j in GramSchmidt(stop=None).fit(table.drop("y"), table["y"]).order_]
    assert tamis("rank", csv, "--target", "y", "--top", 3, "--json").names == whole.names[:3]
    assert tamis("rank", csv, "--target", "y", "--top", 99, "--json").names == whole.names
    assert len(tamis("rank", csv, "--target", "y", "--top", 3).out.splitlines()) == 4


def test_rank_says_which_features_have_no_rank(table, tamis, tmp_path):
    table.with_columns(pl.col("x5").alias("twin")).write_csv(tmp_path / "t.csv")
    outcome = tamis("rank", tmp_path / "t.csv", "--target", "y")
    assert "twin" not in outcome.out
    assert "1 of 9 features are not ranked" in outcome.err


def test_infinite_scores_are_null_in_json(tamis, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n0,1,p\n0,2,p\n1,1,q\n1,2,q\n")
    features = tamis("rank", tmp_path / "t.csv", "--target", "y", "--method", "fisher-score", "--json").json["features"]
    assert features[0] == {"rank": 1, "name": "a", "score": None}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("options", [[], ["--quiet"], ["--json"]])
def test_progress_is_drawn_on_a_terminal_on_stderr_only_unless_asked_not_to(options, csv, monkeypatch):
    rich = pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    console_file = rich.get_console().file
    env = Environment(stdout=io.StringIO(), stderr=Terminal())
    assert main(["select", str(csv), "--target", "y", *options], env) == 0
    assert ("GramSchmidt - fit" in env.stderr.getvalue()) is (options == [])
    assert "GramSchmidt" not in env.stdout.getvalue()
    assert rich.get_console().file is console_file


def test_without_rich_there_is_no_progress_and_no_error(csv, without):
    without("rich")
    env = Environment(stdout=io.StringIO(), stderr=Terminal())
    assert main(["select", str(csv), "--target", "y"], env) == 0
    assert "kept 2 of 8" in env.stderr.getvalue()


@pytest.mark.filterwarnings("default")
def test_library_warnings_become_messages(csv, tamis, monkeypatch):
    original = MonteCarloProbe.decide

    def decide(self, *args):
        warnings.warn("this may take\na while", UserWarning, stacklevel=1)
        return original(self, *args)

    monkeypatch.setattr(MonteCarloProbe, "decide", decide)
    outcome = tamis("select", csv, "--target", "y", "--stop", "monte-carlo-probe", "--draws", 19)
    assert outcome.code == 0
    assert outcome.err.startswith("tamis: warning: this may take a while\n")


def test_output_follows_the_umask_and_replaces_an_older_file(csv, tamis, tmp_path: Path):
    kept = tmp_path / "kept.csv"
    kept.write_text("old")
    tamis("select", csv, "--target", "y", "--out", kept)
    fresh = tmp_path / "fresh"
    fresh.touch()
    assert kept.read_text() != "old"
    assert kept.stat().st_mode == fresh.stat().st_mode


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_answer_that_was_interrupted_is_marked_unfinished_and_ends_as_interrupted(options, csv, tamis, monkeypatch):
    original = GramSchmidt._store

    def store(self, *args):
        original(self, *args)
        self.certificate_["interrupted"] = True

    monkeypatch.setattr(GramSchmidt, "_store", store)
    outcome = tamis("select", csv, "--target", "y", *options)
    assert outcome.code == 130
    assert "x5" in outcome.out
    if options:
        assert outcome.json["interrupted"] is True
    else:
        assert "unfinished: interrupted" in outcome.err


@pytest.mark.parametrize("command", ["select", "rank"])
def test_ctrl_c_prints_what_was_ranked_until_then(command, csv, tamis, monkeypatch):
    original = GramSchmidt._steps

    def steps(self, *args):
        for number, step in enumerate(original(self, *args)):
            if number == 2:
                signal.raise_signal(signal.SIGINT)
            yield step

    monkeypatch.setattr(GramSchmidt, "_steps", steps)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", ConvergenceWarning)
            outcome = tamis(command, csv, "--target", "y", *(["--stop", "8"] if command == "select" else []))
    finally:
        signal.signal(signal.SIGINT, before)
    assert outcome.code == 130
    assert [row.split()[1] for row in outcome.out.splitlines()[1:]] == ["x5", "x2"]
    assert "interrupted after 2 of 8 steps" in outcome.err
    assert "unfinished" in outcome.err


def test_findings_are_told_to_people_and_to_programs(table, tamis, tmp_path):
    path = tmp_path / "t.csv"
    table.with_columns(pl.col("y").alias("copy of y"), pl.lit(1.5).alias("flat")).write_csv(path)
    outcome = tamis("select", path, "--target", "y")
    assert "leak: 'copy of y'" in outcome.err
    assert "constant: 'flat'" in outcome.err
    report = tamis("select", path, "--target", "y", "--json").json
    assert {"code": "leak", "column": "copy of y"}.items() <= report["findings"][-1].items()
    assert all(finding["sentence"] for finding in report["findings"])


@pytest.mark.filterwarnings("default:99 features are asked for")
def test_more_features_than_there_are_keep_all_with_a_warning(csv, tamis):
    outcome = tamis("select", csv, "--target", "y", "--method", "correlation-score", "--stop", "99")
    assert outcome.code == 0
    assert "99 features are asked for, but there are 8: all are kept" in outcome.err
