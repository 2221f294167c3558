"""``--encode``: the levels of a column are kept or dropped together."""

from __future__ import annotations

import numpy as np
import polars as pl


def test_a_kept_level_brings_all_levels_of_its_column_to_the_output(shops, tamis, tmp_path):
    kept = tmp_path / "kept.parquet"
    outcome = tamis("select", shops, "--target", "price", "--drop", "id", "--encode", "--out", kept)
    assert outcome.code == 0
    source, written = pl.read_csv(shops), pl.read_parquet(kept)
    assert written.columns == ["city=Lyon", "city=Nice", "city=Paris", "area", "price"]
    for city in ("Lyon", "Nice", "Paris"):
        assert (written[f"city={city}"].to_numpy() == (source["city"] == city).to_numpy()).all()


def test_people_see_the_column_once_with_its_levels(shops, tamis):
    outcome = tamis("select", shops, "--target", "price", "--drop", "id", "--encode")
    head, *rows = outcome.out.splitlines()
    assert head.endswith("levels")
    assert [row.split()[0] for row in rows] == ["1", "2"]
    assert {row.split()[1] for row in rows} == {"area", "city"}
    assert sum(row.endswith("Lyon, Nice, Paris") for row in rows) == 1
    assert outcome.err.startswith("kept 2 of 5 features: ")


def test_programs_see_the_levels_too(shops, tamis):
    report = tamis("select", shops, "--target", "price", "--drop", "id", "--encode", "--json").json
    levels = {feature["name"]: feature.get("levels") for feature in report["features"]}
    assert levels == {"area": None, "city": ["Lyon", "Nice", "Paris"]}


def test_ranks_count_features_and_not_levels(shops, tamis):
    report = tamis("rank", shops, "--target", "price", "--drop", "id", "--encode", "--top", 3, "--json").json
    assert [feature["rank"] for feature in report["features"]] == [1, 2, 3]
    assert len({feature["name"] for feature in report["features"]}) == 3


def test_booleans_are_numbers_unless_encoded(shops, tamis):
    options = ("rank", shops, "--target", "price", "--json")
    plain = tamis(*options, "--drop", "id,city,color").json["features"]
    encoded = tamis(*options, "--drop", "id", "--encode").json["features"]
    assert "levels" not in next(feature for feature in plain if feature["name"] == "open")
    assert next(feature for feature in encoded if feature["name"] == "open")["levels"] == ["false", "true"]


def test_a_column_that_tells_every_row_apart_is_not_encoded(shops, tamis):
    outcome = tamis("select", shops, "--target", "price", "--encode")
    assert outcome.code == 2
    assert "column 'id' holds a different text in every row" in outcome.err
    assert "--drop id" in outcome.err


def test_missing_text_is_not_a_level(tamis, tmp_path):
    (tmp_path / "t.csv").write_text("city,a,y\nNice,1,0\n,2,1\nNice,3,0\nLyon,5,1\n")
    outcome = tamis("select", tmp_path / "t.csv", "--target", "y", "--encode")
    assert outcome.code == 2
    assert "column 'city' holds 1 missing values" in outcome.err


def test_a_level_that_takes_the_name_of_a_column_is_refused(tamis, tmp_path):
    (tmp_path / "t.csv").write_text("city,city=Nice,y\nNice,1,0\nLyon,2,1\nNice,3,0\n")
    outcome = tamis("select", tmp_path / "t.csv", "--target", "y", "--encode")
    assert outcome.code == 2
    assert "two columns are named 'city=Nice'" in outcome.err


def test_nominal_attributes_of_arff_can_be_encoded(tamis, tmp_path):
    rng = np.random.default_rng(0)
    hue = rng.choice(["red", "blue"], 60)
    rows = [f"{value:.4f},{color},{int(color == 'red')}" for value, color in zip(rng.random(60), hue, strict=True)]
    head = ["@relation r", "@attribute a numeric", "@attribute hue {red,blue}", "@attribute class {0,1}", "@data"]
    (tmp_path / "t.arff").write_text("\n".join([*head, *rows]))
    assert "column 'hue' holds text" in tamis("select", tmp_path / "t.arff", "--target", "class").err
    assert tamis("select", tmp_path / "t.arff", "--target", "class", "--encode", "--json").names == ["hue"]
