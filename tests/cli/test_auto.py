"""``tamis auto``: what it keeps, what it says of that, and the model that it writes."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning

from tamis import AutoSelector, TableSelector
from tamis.cli._estimate import estimate_sentence, score_text
from tamis.cli._save_model import foreign_types, save_model
from tamis.learn import _race
from tamis.learn._bias_corrected import Estimate

FEW = ("--budget", 20, "--rankers", "fisher", "--models", "ridge", "--prefer", "small")  # a fraction of a second


def test_auto_says_what_to_keep_why_and_what_to_expect_of_new_rows(csv, tamis):
    outcome = tamis("auto", csv, "--target", "y", *FEW)
    assert outcome.code == 0, outcome.err
    head, *rows = outcome.out.splitlines()
    assert head.split() == ["feature", "in", "folds", "would", "do", "as", "well"]
    found = {row.split()[0]: row.split()[1:] for row in rows}
    assert found["x2"] == found["x5"] == ["100", "%", "-"]
    lines = outcome.err.splitlines()
    assert lines[0] == "regression on 'y'"
    assert any(re.match(r"keep [23] of 8 features: \w.* s were used", line) for line in lines)
    [expected] = [line for line in lines if line.startswith("expected R² on new rows: 0.9")]
    assert re.search(r"\(0\.9\d* to 0\.9\d* with 95 % confidence; by guessing", expected)
    assert "did not see" not in outcome.err  # the estimate is told once


def test_json_is_what_the_library_finds(csv, table, tamis):
    report = tamis("auto", csv, "--target", "y", *FEW, "--json").json
    features = {name: table[name].to_numpy() for name in table.columns if name != "y"}
    selector = AutoSelector(20.0, rankers=["fisher"], models=["ridge"], prefer="small").fit(
        features, table["y"].to_numpy()
    )
    assert [feature["name"] for feature in report["features"]] == selector.get_feature_names_out().tolist()
    assert report["estimate"]["value"] == pytest.approx(selector.estimate_.value)
    assert report["reason"].partition("configurations ran")[0] == selector.reason_.partition("configurations ran")[0]
    assert report["n_kept"] == selector.n_features_
    assert (report["task"], report["n_rows"], report["n_features"]) == ("regression", 120, 8)
    assert report["results"]["ranker"] == list(selector.results_["ranker"])


def test_the_kept_columns_are_written_as_they_were_read(shops, tamis, tmp_path):
    out = tmp_path / "kept.parquet"
    outcome = tamis("auto", shops, "--target", "price", *FEW, "--out", out)
    assert outcome.code == 0, outcome.err
    assert outcome.out == ""
    kept = pl.read_parquet(out)
    assert {"city", "area", "price"} <= set(kept.columns)
    assert kept["city"].to_list() == pl.read_csv(shops)["city"].to_list()
    assert re.search(rf"^wrote {re.escape(str(out))}: (.*, )?'city', ", outcome.err, re.MULTILINE)


@pytest.mark.parametrize("models", ["ridge", "rbf-svm", "knn", "boosting"])
@pytest.mark.parametrize("target", ["price", "color"])
def test_a_model_loads_without_trust_in_other_packages_and_predicts_rows_as_they_are(
    models, target, shops, tamis, tmp_path
):
    skops_io = pytest.importorskip("skops.io", reason="the extra cli brings skops")
    path = tmp_path / "model.skops"
    options = ("--budget", 20, "--rankers", "fisher", "--models", models, "--model", path)
    outcome = tamis("auto", shops, "--target", target, *options)
    assert outcome.code == 0, outcome.err
    types = skops_io.get_untrusted_types(file=path)
    assert all(name.startswith(("tamis.", "sklearn.")) for name in types)
    model = skops_io.load(path, trusted=types)
    raw = pd.read_csv(shops)
    features = raw.drop(columns=target)
    fitted = AutoSelector(20.0, rankers=["fisher"], models=[models]).fit(features, raw[target])
    np.testing.assert_array_equal(model.get_support(), fitted.get_support())
    predicted = model.predict(features)
    if target == "price":
        np.testing.assert_allclose(predicted, fitted.predict(features))
    else:
        np.testing.assert_array_equal(predicted, fitted.predict(features))
        np.testing.assert_allclose(model.predict_proba(features), fitted.predict_proba(features))


def test_what_voted_loads_and_predicts_too(csv, table, tamis, tmp_path):
    skops_io = pytest.importorskip("skops.io", reason="the extra cli brings skops")
    path = tmp_path / "model.skops"
    assert tamis("auto", csv, "--target", "y", *FEW, "--ensemble", "--model", path).code == 0
    model = skops_io.load(path, trusted=skops_io.get_untrusted_types(file=path))
    residuals = model.predict(table.drop("y").to_pandas()) - table["y"].to_numpy()
    assert residuals.std() < 0.5 * table["y"].std()


def test_without_a_target_columns_are_kept_and_nothing_is_promised(csv, tamis, tmp_path):
    path = tmp_path / "model.skops"
    outcome = tamis("auto", csv, "--drop", "y", "--budget", 20, "--model", path, "--json")
    assert outcome.code == 0, outcome.err
    report = outcome.json
    assert (report["task"], report["estimate"]["metric"], report["target"]) == ("unsupervised", "fit", None)
    assert 0 < report["n_kept"] <= 8
    assert path.exists()
    said = tamis("auto", csv, "--drop", "y", "--budget", 20).err
    assert "no target" in said
    assert "expected" not in said


def test_ctrl_c_gives_the_best_until_then_and_the_same_command_goes_on(csv, tamis, tmp_path, monkeypatch):
    predict_fold, n_calls = _race.predict_fold, []

    def interrupted(*given: object) -> object:
        n_calls.append(1)
        if len(n_calls) == 8:
            raise KeyboardInterrupt
        return predict_fold(*given)

    options = ("--target", "y", *FEW, "--checkpoint", tmp_path / "tried")
    monkeypatch.setattr(_race, "predict_fold", interrupted)
    with warnings.catch_warnings():
        warnings.simplefilter("default", ConvergenceWarning)
        outcome = tamis("auto", csv, *options)
    assert outcome.code == 130
    assert "unfinished: interrupted by Ctrl-C; this is the best of what was tried until then" in outcome.err
    assert "features: " in outcome.err
    assert (tmp_path / "tried").exists()
    monkeypatch.setattr(_race, "predict_fold", predict_fold)
    report = tamis("auto", csv, *options, "--json").json
    assert report["interrupted"] is False
    assert not (tmp_path / "tried").exists()
    whole = tamis("auto", csv, "--target", "y", *FEW, "--json").json
    assert (report["features"], report["estimate"]) == (whole["features"], whole["estimate"])


def test_ctrl_c_before_anything_is_known_ends_as_interrupted(csv, tamis, monkeypatch):
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_race, "predict_fold", interrupted)
    outcome = tamis("auto", csv, "--target", "y", *FEW)
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err.endswith("tamis: interrupted\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--budget", "0"], ["--budget", "seconds above 0", "'0'"]),
        (["--budget", "soon"], ["--budget", "such as 120", "'soon'"]),
        (["--prefer", "large"], ["--prefer", "balanced", "small"]),
        (["--confidence", "95"], ["--confidence", "95 percent is 0.95"]),
        (["--rankers", "fischer"], ["--rankers", "'fischer'", "did you mean 'fisher'"]),
        (["--models", "forest"], ["--models", "'forest'", "ridge"]),
        (["--models", ","], ["--models", "names with commas"]),
        (["--scoring", "accuracy"], ["--scoring", "accuracy", "regression", "r2"]),
        (["--scoring", "auc"], ["--scoring", "'auc'", "r2"]),
        (["--target", "z"], ["--target z", "no such column"]),
        (["--row-groups", "y"], ["--row-groups y", "--target"]),
        (["--out", "kept.docx"], ["--out kept.docx", ".parquet"]),
        (["--model", "model.pkl"], ["--model model.pkl", ".skops"]),
        (["--model", "nowhere/model.skops"], ["--model", "no folder nowhere"]),
        (["--checkpoint", "nowhere/race"], ["--checkpoint", "no folder nowhere"]),
        (["--keep", "x1"], ["unrecognized", "--keep"]),
    ],
)
def test_bad_input_is_told_in_options_before_any_work(options, words, csv, tamis):
    target = [] if "--target" in options else ["--target", "y"]
    outcome = tamis("auto", csv, *target, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("tamis: error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err, outcome.err


def test_without_skops_the_extra_is_named_before_any_work(csv, tamis, without, monkeypatch):
    monkeypatch.delitem(sys.modules, "skops.io", raising=False)
    without("skops")
    outcome = tamis("auto", csv, "--target", "y", "--model", "model.skops")
    assert outcome.code == 1
    assert outcome.err == "tamis: error: --model needs skops; install it with: pip install 'tamis[cli]'\n"
    assert tamis("auto", csv, "--target", "y", *FEW).code == 0


def test_an_interrupted_write_leaves_no_model_and_tells_what_was_kept(csv, tamis, tmp_path, monkeypatch):
    skops_io = pytest.importorskip("skops.io", reason="the extra cli brings skops")

    def dump(model: object, file: Path) -> None:
        Path(file).write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(skops_io, "dump", dump)
    (tmp_path / "old.skops").write_bytes(b"an older model")
    outcome = tamis("auto", csv, "--target", "y", *FEW, "--model", tmp_path / "old.skops")
    assert outcome.code == 130
    assert "kept 'x" in outcome.err
    assert [path.name for path in tmp_path.glob("*skops*")] == ["old.skops"]
    assert (tmp_path / "old.skops").read_bytes() == b"an older model"


class Elsewhere:
    """A type of a package that nobody named."""


def test_a_model_that_asks_to_trust_other_packages_is_not_written(tmp_path):
    pytest.importorskip("skops.io", reason="the extra cli brings skops")
    selector = TableSelector().fit({"a": np.arange(20.0), "b": np.arange(20.0) ** 2}, np.arange(20.0))
    path = tmp_path / "model.skops"
    save_model(path, selector)
    assert foreign_types(path) == []
    selector.extra_ = Elsewhere()
    with pytest.raises(ValueError, match="Elsewhere"):
        save_model(tmp_path / "other.skops", selector)
    assert [each.name for each in tmp_path.iterdir()] == ["model.skops"]


@pytest.mark.parametrize(
    ("metric", "scores", "sentence"),
    [
        (
            "accuracy",
            (0.959, 0.94, 0.974, 0.5),
            "expected error on new rows: 4.1 % (2.6 to 6.0 % with 95 % confidence; by guessing 50.0 %)",
        ),
        (
            "balanced_accuracy",
            (0.75, 0.5, 1.0, 0.25),
            "expected error on new rows, all classes counting alike: 25.0 % (0.0 to 50.0 % with 95 % confidence; by "
            "guessing 75.0 %)",
        ),
        (
            "neg_root_mean_squared_error",
            (-3.25, -4.0, -2.5, -8.0),
            "expected root mean squared error on new rows: 3.25 (2.5 to 4 with 95 % confidence; by guessing 8)",
        ),
        (
            "roc_auc",
            (0.975, 0.95, 0.99, 0.5),
            "expected area under the ROC curve on new rows: 0.975 (0.95 to 0.99 with 95 % confidence; by guessing 0.5)",
        ),
        ("r2", (np.nan, np.nan, np.nan, 0.0), "expected R² on new rows: too few rows to tell"),
    ],
)
def test_estimates_are_told_as_people_count(metric, scores, sentence):
    value, low, high, chance = scores
    assert estimate_sentence(Estimate(metric, value, low, high, value, chance, 100), 0.95) == sentence
    assert score_text("accuracy", 0.9) == "10.0 %"
