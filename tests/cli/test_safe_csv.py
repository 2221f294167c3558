"""Cells of text that a spreadsheet would take for formulas, in the files that the command line writes."""

from __future__ import annotations

import csv

import numpy as np
import polars as pl
import pytest

FORMULAS = ("=cmd|' /C calc'!A0", "@SUM(1,2)", "+1+2", "-1+3", "\tx", "\rx", "\nx", "=\"a\"&'b', c")
HARMLESS = ("plain", "-1.5", "+3", "-1,5e3", 'say "hi", you', "a\rb", "line\nbreak", "a-b", "x=1")
FULL_WIDTH = tuple(f"{chr(ord(mark) + 0xFEE0)}x" for mark in "=+-@")  # which spreadsheets take for the marks themselves
HIDDEN = (" =x", "  @x", "\u00a0+x", "\u3000-x", " \t=x", "\t =x", "\ufeff=x", *FULL_WIDTH, f" {FULL_WIDTH[0]}")
INDENTED = (" x", " -1.5 ", "  1e3")
NAMES = ("=1+1", "@a", "+b", "-c", 'q"uo,te', "f\ng")
ONE_OF_EACH = (*FORMULAS, *HARMLESS)


@pytest.fixture
def formulas(tmp_path, monkeypatch):
    """A table whose names and cells of text begin as formulas do, in Parquet, where they stay as they are."""
    rng = np.random.default_rng(0)
    n = 3 * len(ONE_OF_EACH)
    columns = {name: rng.normal(size=n) for name in NAMES}
    columns["text"] = np.array(ONE_OF_EACH * 3, dtype=object)
    columns["hidden"] = np.resize(np.array([*HIDDEN, *INDENTED], dtype=object), n)
    columns["levels"] = pl.Series(["=a", "-2", None] * (n // 3), dtype=pl.Categorical)
    columns["=y"] = rng.normal(size=n).round(3)
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    quoted = {name: pl.Series(values) for name, values in columns.items()}
    with open(tmp_path / "t.csv", "w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(quoted)
        writer.writerows(zip(*quoted.values(), strict=True))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cells(path):
    with open(path, newline="") as file:
        names, *rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


def is_formula(text):
    return (
        text[:1] in tuple("=+-@\t\r\n")
        and not text.lstrip("+-").replace(",", ".").replace("e", "").replace(".", "").isdigit()
    )


WAYS = [("t.parquet", "memory", "o.csv"), ("t.parquet", "memory", "o.tsv"), ("t.parquet", "blocks", "o.csv")]


@pytest.mark.parametrize(
    ("source", "engine", "out"), [*WAYS, ("t.csv", "memory", "o.csv"), ("t.csv", "blocks", "o.csv")]
)
def test_text_that_a_spreadsheet_would_compute_is_marked(source, engine, out, formulas, tamis):
    given = ["select", source, "--target", "=y", "--stop", "9", "--engine", engine, "--out", out]
    assert tamis(*given).code == 0
    plain = cells(formulas / out)
    assert tamis(*given, "--safe-csv").code == 0
    safe = cells(formulas / out)
    assert {name.removeprefix("'") for name in safe} == set(plain) == {*NAMES, "text", "hidden", "levels", "=y"}
    assert not any(is_formula(text) for text in (*safe, *safe["text"], *safe["levels"]))
    assert safe["text"] == [f"'{text}" if is_formula(text) else text for text in plain["text"]]
    assert set(safe["hidden"]) == {*(f"'{text}" for text in HIDDEN), *INDENTED}
    assert set(safe["levels"]) == {"'=a", "-2", ""}
    for name in NAMES:  # numbers as they are, negative ones too
        assert safe.get(f"'{name}", safe.get(name)) == plain[name]
    if source == "t.parquet":
        assert set(plain["text"]) == set(ONE_OF_EACH)


def test_text_is_marked_and_quoted_in_the_same_way_without_polars(formulas, tamis, without):
    given = ["select", "t.csv", "--target", "=y", "--stop", "9", "--out"]
    assert tamis(*given, "with.csv").code == tamis(*given, "safe-with.csv", "--safe-csv").code == 0
    without("polars")
    assert tamis(*given, "o.csv").code == tamis(*given, "safe-o.csv", "--safe-csv").code == 0
    for prefix in ("", "safe-"):
        assert cells(formulas / f"{prefix}o.csv") == cells(formulas / f"{prefix}with.csv")


def test_names_and_cells_that_need_quotes_survive_reading_back(formulas, tamis):
    given = ["--target", "=y", "--stop", "9", "--out"]
    assert tamis("select", "t.parquet", *given, "once.csv").code == 0
    for engine in ("memory", "blocks"):
        assert tamis("select", "once.csv", *given, "twice.csv", "--engine", engine).code == 0
        assert cells(formulas / "twice.csv") == cells(formulas / "once.csv")


def test_labels_of_the_target_are_marked_too(formulas, tamis):
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    pl.DataFrame({"a": a, "y": np.where(a > 0, "=yes", "no")}).write_csv(formulas / "c.csv")
    given = ["c.csv", "--target", "y", "--out", "o.csv", "--safe-csv"]
    for command in (
        ["select", *given],
        ["auto", *given, "--budget", "20", "--rankers", "fisher", "--models", "ridge"],
    ):
        assert tamis(*command).code == 0
        assert set(cells(formulas / "o.csv")["y"]) == {"'=yes", "no"}


@pytest.mark.parametrize("command", ["select", "auto"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["--safe-csv", "--out FILE"]),
        (["--out", "o.parquet"], ["--safe-csv is for .csv and .tsv", "o.parquet"]),
        (["--out", "o.npz"], ["--safe-csv is for .csv and .tsv", "o.npz"]),
    ],
)
def test_where_no_text_is_written_there_is_nothing_to_mark(command, options, words, formulas, tamis):
    outcome = tamis(command, "missing.csv", "--target", "y", "--safe-csv", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert all(word in outcome.err for word in words)


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_names_that_would_become_one_are_refused(engine, formulas, tamis):
    X = np.random.default_rng(0).normal(size=(30, 3))
    pl.DataFrame(X, schema=["=a", "'=a", "y"]).write_parquet(formulas / "two.parquet")
    given = ["two.parquet", "--target", "y", "--engine", engine, "--out", "o.csv", "--safe-csv"]
    outcome = tamis("select", *given)
    assert outcome.code == 2
    assert "columns '=a' and \"'=a\" would both be written as \"'=a\": rename one" in outcome.err
    assert not (formulas / "o.csv").exists()
