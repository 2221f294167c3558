"""``tamis dimension``."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import tamis.dimension
from tamis.cli._dimension import METHODS
from tamis.cli._methods import kebab
from tamis.dimension import MLE, TwoNN


@pytest.fixture
def plane(tmp_path):
    """Two dimensions in five columns, with a target beside them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 2)) @ rng.uniform(size=(2, 5))
    path = tmp_path / "plane.npz"
    np.savez(path, X=X, y=rng.uniform(size=200))
    return path, X


def test_the_names_are_those_of_the_classes():
    assert set(METHODS) == {kebab(name) for name in tamis.dimension.__all__} - {"dimension-estimator"}


def test_a_table_and_a_sentence_say_how_many_dimensions_there_are(plane, tamis):
    path, X = plane
    outcome = tamis("dimension", path)
    found = TwoNN(random_state=0).fit(X)
    assert outcome.code == 0
    assert outcome.out.split()[:3] == ["method", "dimension", "+-"]
    assert f"two-nn      {found.dimension_:.4g}" in outcome.out
    assert f"{found.standard_error_:.2g}" in outcome.out
    assert outcome.err.splitlines()[0] == "the target 'y' is left out"
    assert f"200 rows in 5 columns have about {found.dimension_:.1f} dimensions" in outcome.err
    assert "keep at least" in outcome.err


def test_programs_get_one_json_object(plane, tamis):
    path, X = plane
    outcome = tamis("dimension", path, "--method", "mle", "--param", "n_neighbors=10", "--json", "--seed", 3)
    found = MLE(n_neighbors=10, random_state=3).fit(X)
    assert outcome.err == ""
    assert outcome.json == {
        "file": str(path),
        "target": "y",
        "n_rows": 200,
        "n_columns": 5,
        "standardized": True,
        "estimates": [
            {"method": "mle", "dimension": found.dimension_, "standard_error": found.standard_error_},
        ],
    }


def test_all_methods_are_run_at_once_and_a_parameter_goes_to_those_that_have_it(plane, tamis):
    path, _ = plane
    outcome = tamis(
        "dimension", path, "--method", "all", "--param", "n_subsamples=0", "--param", "discard=0.3", "--json"
    )
    assert [each["method"] for each in outcome.json["estimates"]] == list(METHODS)
    assert all(each["standard_error"] is None for each in outcome.json["estimates"])
    assert all(0.5 < each["dimension"] < 4 for each in outcome.json["estimates"])


def test_raw_columns_keep_their_units(tamis, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) * [1, 1, 1e-9]
    pl.DataFrame(X, schema=["a", "b", "c"]).write_csv(tmp_path / "t.csv")
    raw, scaled = (tamis("dimension", tmp_path / "t.csv", "--json", *flag).json for flag in (["--raw"], []))
    assert raw["estimates"][0]["dimension"] == pytest.approx(2, abs=0.3)
    assert scaled["estimates"][0]["dimension"] == pytest.approx(3, abs=0.4)
    assert (raw["standardized"], scaled["standardized"]) == (False, True)


def test_columns_may_be_dropped_encoded_and_set_apart(shops, tamis):
    outcome = tamis("dimension", shops, "--target", "price", "--drop", "id", "--encode", "--json")
    assert outcome.code == 0
    assert (outcome.json["n_columns"], outcome.json["target"]) == (9, "price")


def test_a_sparse_table_is_read_by_every_method(tamis, tmp_path):
    X = sparse.random_array((60, 8), density=0.4, rng=np.random.default_rng(0), format="csr")
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    np.savez(tmp_path / "t.npz", **parts, y=np.arange(60))
    dense = tmp_path / "dense.npz"
    np.savez(dense, X=X.toarray())
    arguments = ("--method", "all", "--param", "n_subsamples=0", "--json")
    found, expected = (tamis("dimension", path, *arguments).json for path in (tmp_path / "t.npz", dense))
    for one, other in zip(found["estimates"], expected["estimates"], strict=True):
        assert one["dimension"] == pytest.approx(other["dimension"], rel=1e-6)
    assert expected["target"] is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.full((10, 2), 3.0), ["dimension 0", "copies"]),
        (np.eye(5), ["no finite dimension"]),
        (np.arange(10.0)[:, None] ** 3, ["1 column ", "keep at least"]),
    ],
)
def test_degenerate_tables_are_put_in_words(rows, words, tamis, tmp_path):
    np.savez(tmp_path / "t.npz", X=rows)
    outcome = tamis("dimension", tmp_path / "t.npz", "--raw")
    assert outcome.code == 0
    for word in words:
        assert word in outcome.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "twonn"], ["--method twonn", "did you mean 'two-nn'", "gmst", "all"]),
        (["--param", "k=3"], ["--param k=3", "two-nn has no parameter 'k'", "discard"]),
        (["--param", "discard"], ["NAME=VALUE"]),
        (["--param", "discard=2"], ["'discard' parameter of TwoNN"]),
        (["--param", "standardize=false"], ["use --raw"]),
        (["--param", "random_state=1"], ["use --seed"]),
        (["--method", "all", "--param", "k=3"], ["--param k=3", "no parameter 'k'"]),
        (["--drop", "x9"], ["--drop x9"]),
        (["--seed", "few"], ["--seed"]),
    ],
)
def test_a_bad_option_is_named(options, words, plane, tamis):
    outcome = tamis("dimension", plane[0], *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("tamis: error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,b\n1,5\n,3\n3,4\n", ["column 'age' holds 1 missing value"]),
        ("a,city\n1,Nice\n2,Lyon\n3,Nice\n", ["column 'city' holds text", "--drop city", "--encode"]),
        ("a,b\n1,5\n2,3\n", ["at least 3 samples, and X has 2"]),
        ("a,b\n", ["no rows"]),
    ],
)
def test_bad_data_are_refused_by_column(text, words, tamis, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    outcome = tamis("dimension", tmp_path / "t.csv")
    assert (outcome.code, outcome.out) == (2, "")
    for word in words:
        assert word in outcome.err
