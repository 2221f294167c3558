"""What people have on disk: other encodings, separators and decimal marks, dates, pipes, several files."""

from __future__ import annotations

import gzip
import io

import numpy as np
import polars as pl
import pytest

from tamis.cli import Environment, main
from tamis.cli import _read_rows as read_rows_module
from tamis.cli._frame import kind
from tamis.cli._read import read


@pytest.fixture(params=["polars", "wide", "plain"])
def reader(request, without, monkeypatch):
    """All ways to read text; what they give must be the same."""
    if request.param == "plain":
        without("polars")
    if request.param == "wide":
        monkeypatch.setattr(read_rows_module, "_MANY_COLUMNS", 0)
        monkeypatch.setattr(read_rows_module, "_FEW_ROWS", np.inf)
    return request.param


def write(tmp_path, text: str, encoding: str = "utf-8", name: str = "t.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_common_encodings_are_found_out(encoding, reader, tmp_path):
    frame = read(write(tmp_path, "größe,ville\n1,Orléans\n2,Besançon\n", encoding))
    assert frame.names == ["größe", "ville"]
    assert frame.columns["ville"].tolist() == ["Orléans", "Besançon"]
    assert bool(frame.notes) is (encoding not in ("utf-8", "utf-8-sig"))


def test_a_compressed_text_may_be_of_any_encoding_too(reader, tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress("ville,y\nNîmes,1\nLyon,2\n".encode("latin-1")))
    assert read(path).columns["ville"].tolist() == ["Nîmes", "Lyon"]


def test_the_first_letter_that_is_not_utf8_may_come_late(reader, tmp_path):
    text = "a,b\n" + f"1,{'plain' * 1000}\n" * 250 + "2,déjà\n"  # beyond the first megabyte
    assert read(write(tmp_path, text, "latin-1")).columns["b"][-1] == "déjà"


def test_an_encoding_can_be_named(tamis, tmp_path):
    path = write(tmp_path, "κ,y\n1,2\n2,1\n3,5\n4,4\n", "iso8859-7")
    report = tamis("rank", path, "--target", "y", "--encoding", "iso8859-7", "--json").json
    assert report["features"][0]["name"] == "κ"


@pytest.mark.parametrize(
    ("text", "encoding", "options", "words"),
    [
        ("a,y\n1,2\n", "utf-16-le", [], ["--encoding utf-16-le"]),
        ("é,y\n1,2\n", "latin-1", ["--encoding", "utf-8"], ["it is not utf-8", "byte 0 is 0xe9", "--encoding"]),
        ("a,y\n1,2\n", "utf-8", ["--encoding", "martian"], ["--encoding martian", "latin-1"]),
        ("a,y\n1,2\n", "utf-8", ["--separator", "::"], ["--separator", "one character"]),
        ("a:b:y\n1:2:3\n", "utf-8", [], ["no such column", "--separator"]),
        ("a,y\n1,2\n3,4,5\n", "utf-8", [], ["--separator"]),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(text, encoding, options, words, tamis, tmp_path):
    outcome = tamis("select", write(tmp_path, text, encoding), "--target", "y", *options)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_out_whatever_names_hold(separator, reader, tmp_path):
    text = "\n".join(separator.join(cells) for cells in (['"size, in m; old|new"', "y"], ["1.5", "2"], ["2.5", "3"]))
    frame = read(write(tmp_path, text))
    assert frame.names == ["size, in m; old|new", "y"]
    assert frame.columns["y"].tolist() == [2, 3]


def test_cells_may_hold_line_breaks_and_be_long(reader, tmp_path):
    cell = "first\nsecond; third, " + "and so on " * 50
    rows = [f'"{cell}",{j}' for j in range(120)]
    frame = read(write(tmp_path, "\n".join(["words,y", *rows])))
    assert frame.names == ["words", "y"]
    assert set(frame.columns["words"]) == {cell}


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_line_may_be_longer_than_what_the_csv_module_takes_as_one_cell(separator, reader, tmp_path):
    header = separator.join(f"gene_{j}" for j in range(15_000))
    assert len(header) > 131_072
    rows = [separator.join(["1,5" if separator == ";" else "1.5"] * 15_000)] * 3
    frame = read(write(tmp_path, "\n".join([header, *rows])))
    assert len(frame.names) == 15_000
    assert frame.columns["gene_7"].tolist() == [1.5, 1.5, 1.5]


def test_decimal_commas_are_read_as_numbers_and_said(reader, tamis, tmp_path):
    path = write(tmp_path, "prix;nom;n\n1,5;a,b;1\n-2,25;c;2\n;d;3\n1e3;e;4\n")
    frame = read(path)
    np.testing.assert_array_equal(frame.columns["prix"], [1.5, -2.25, np.nan, 1000.0])
    assert frame.columns["nom"].tolist() == ["a,b", "c", "d", "e"]
    assert any("decimal commas" in note for note in frame.notes)
    assert "decimal commas" in tamis("rank", path, "--target", "n").err


def test_a_decimal_mark_can_be_named(tamis, tmp_path):
    path = write(tmp_path, 'a,y\n"1,5",2\n"2,5",3\n"0,5",1\n"4,0",4\n')
    told = tamis("rank", path, "--target", "y", "--json").json
    report = tamis("rank", path, "--target", "y", "--decimal", ",", "--json").json
    assert any("--decimal ," in note for note in told["notes"])  # 1,234 may be a thousand: not guessed
    assert report["encoding"] == {}
    assert report["notes"] == []


def test_dates_booleans_and_missing_values_have_their_kinds(reader, tmp_path):
    text = (
        "day,time,zoned,open,n,x,word,nothing\n"
        "2020-02-29,2020-01-01 10:30,2020-01-01T10:30:00Z,True,1, 2.5,a,\n"
        ",2020-01-02T00:00:01.5,2020-01-02T10:30:00Z,,NA,?,,\n"
        "1999-12-31,,,false,3,-1e2,b,\n"
    )
    columns = read(write(tmp_path, text)).columns
    assert [kind(values) for values in columns.values()] == ["date"] * 3 + [
        "boolean",
        *["number"] * 2,
        "text",
        "number",
    ]
    assert columns["day"].astype(str).tolist() == ["2020-02-29", "NaT", "1999-12-31"]
    assert columns["time"].astype("datetime64[ms]").astype(str).tolist()[:2] == [
        "2020-01-01T10:30:00.000",
        "2020-01-02T00:00:01.500",
    ]
    assert columns["open"].tolist() == [True, None, False]
    np.testing.assert_array_equal(columns["n"], [1, np.nan, 3])
    np.testing.assert_array_equal(columns["x"], [2.5, np.nan, -100])
    assert columns["word"].tolist() == ["a", None, "b"]
    assert np.isnan(columns["nothing"]).all()


@pytest.mark.parametrize(
    "cells", [["2020-02-30", "2020-01-01"], ["2020-01-01", "soon"], ["1_000", "2"], ["01/02/2020"]]
)
def test_what_only_looks_like_a_date_or_a_number_stays_text(cells, reader, tmp_path):
    frame = read(write(tmp_path, "\n".join(["a,b", *(f"{cell},1" for cell in cells)])))
    assert frame.columns["a"].tolist() == cells


def test_empty_lines_are_left_out_and_counted(reader, tmp_path):
    frame = read(write(tmp_path, "a,b\n1,x\n\n2,y\n,\n\n"))
    assert frame.columns["a"].tolist() == [1, 2]
    assert frame.notes == ("left out 3 empty lines",)


def test_columns_without_a_name_are_called_by_their_place(reader, tmp_path):
    assert read(write(tmp_path, ", b ,y\n0,1,2\n1,2,3\n")).names == ["column_1", "b", "y"]


def piped(data: bytes, *args: str) -> tuple[int, str, str]:
    env = Environment(stdout=io.StringIO(), stderr=io.StringIO(), stdin=io.BytesIO(data))
    code = main(list(args), env)
    return code, env.stdout.getvalue(), env.stderr.getvalue()


def test_a_table_can_be_piped_in(csv, tamis):
    expected = tamis("select", csv, "--target", "y")
    assert piped(csv.read_bytes(), "select", "-", "--target", "y") == (0, expected.out, expected.err)


def test_what_is_piped_in_can_be_of_any_format(table, tmp_path):
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    code, out, _ = piped(buffer.getvalue(), "select", "-", "--format", "parquet", "--target", "y")
    assert code == 0
    assert "x5" in out
    code, _, err = piped(b"no table", "select", "-", "--format", "parquet", "--target", "y")
    assert code == 2
    assert "cannot read standard input as .parquet" in err


def test_a_format_can_be_named_where_the_suffix_cannot_tell(csv, tamis, tmp_path):
    csv.rename(tmp_path / "table.txt")
    assert "--format" in tamis("select", tmp_path / "table.txt", "--target", "y").err
    assert tamis("select", tmp_path / "table.txt", "--format", "csv", "--target", "y").code == 0


def split(table: pl.DataFrame, folder) -> list:
    paths = [folder / f"part-{j}.csv" for j in range(3)]
    for j, path in enumerate(paths):
        table[40 * j : 40 * (j + 1)].write_csv(path)
    return paths


def test_files_of_a_pattern_are_read_one_below_the_other(csv, table, tamis, tmp_path):
    split(table.select(reversed(table.columns)), tmp_path)
    table[:40].write_csv(tmp_path / "part-0.csv")  # columns may come in any order
    outcome = tamis("select", "--glob", tmp_path / "part-*.csv", "--target", "y")
    assert outcome.out == tamis("select", csv, "--target", "y").out
    assert "read 120 rows of 3 files" in outcome.err


def test_several_files_are_not_read_unless_asked(table, tamis, tmp_path):
    paths = split(table, tmp_path)
    outcome = tamis("select", *paths, "--target", "y")
    assert outcome.code == 2
    assert f"say --glob {paths[0]}" in outcome.err
    assert tamis("select", *paths, "--glob", "--target", "y", "--json").json["n_rows"] == 120
    outcome = tamis("select", tmp_path / "part-*.csv", "--target", "y")
    assert f"say --glob '{tmp_path}/part-*.csv'" in outcome.err


def test_a_name_that_looks_like_a_pattern_is_a_file_where_there_is_one(csv, tamis, tmp_path):
    csv.rename(tmp_path / "t[1].csv")
    assert tamis("select", tmp_path / "t[1].csv", "--target", "y").code == 0


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("a,y\n1,2\n", ["two.csv", "no column 'b'", "one.csv"]),
        ("a,b,c,y\n1,2,3,4\n", ["two.csv", "a column 'c'", "one.csv"]),
        ("a,b,y\n1,word,2\n", ["'b' holds text in", "two.csv", "numbers in", "one.csv"]),
    ],
)
def test_a_file_that_does_not_fit_the_others_is_named(second, words, tamis, tmp_path):
    (tmp_path / "one.csv").write_text("a,b,y\n1,2,3\n2,1,4\n")
    (tmp_path / "two.csv").write_text(second)
    outcome = tamis("select", "--glob", tmp_path / "one.csv", tmp_path / "two.csv", "--target", "y")
    assert outcome.code == 2
    for word in words:
        assert word in outcome.err


def test_a_column_that_is_empty_in_one_file_takes_its_kind_from_the_others(reader, tmp_path, tamis):
    (tmp_path / "one.csv").write_text("a,word,day,y\n1,,,3\n2,,,4\n5,,,1\n")
    (tmp_path / "two.csv").write_text("a,word,day,y\n1,u,2020-01-01,2\n4,v,2021-01-01,3\n6,u,2020-06-01,9\n")
    options = ("--target", "y", "--keep", "word,day", "--out", tmp_path / "kept.csv")
    outcome = tamis("select", "--glob", tmp_path / "one.csv", tmp_path / "two.csv", *options)
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "kept.csv").read_text().splitlines()[1:] == [
        ",,3",
        ",,4",
        ",,1",
        "u,2020-01-01,2",
        "v,2021-01-01,3",
        "u,2020-06-01,9",
    ]


def test_rows_without_a_target_are_left_out_when_asked(tamis, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60).round(3)
    rows = [f"{value},{'' if j % 6 == 0 else value + 1}" for j, value in enumerate(x)]
    path = write(tmp_path, "\n".join(["a,y", *rows]))
    refused = tamis("select", path, "--target", "y")
    assert refused.code == 2
    assert "no value in 10 of 60 rows" in refused.err
    assert "--drop-rows-without-target" in refused.err
    kept = tmp_path / "kept.csv"
    outcome = tamis("select", path, "--target", "y", "--drop-rows-without-target", "--out", kept)
    assert "left out 10 of 60 rows" in outcome.err
    assert len(pl.read_csv(kept)) == 50


def test_codes_that_begin_with_a_zero_stay_as_they_are_written(reader, tmp_path):
    text = "zip,n,month,x\n" + "".join(
        f"{z},{n},{m:02d},0.5\n" for z, n, m in [("08458", 1, 1), ("75001", 0, 12), ("", 10, 3)]
    )
    frame = read(write(tmp_path, text))
    assert frame.columns["zip"].tolist() == ["08458", "75001", None]
    assert frame.columns["month"].tolist() == ["01", "12", "03"]
    assert frame.columns["n"].tolist() == [1, 0, 10]
    assert frame.columns["x"].tolist() == [0.5, 0.5, 0.5]


def test_postal_codes_come_out_of_a_selection_with_their_zeros(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        (f"{z:05d}", x, x + e)
        for z, x, e in zip(rng.integers(1, 99999, 60), rng.normal(size=60), rng.normal(size=60), strict=True)
    ]
    path = write(tmp_path, "zip,x,y\n" + "".join(f"{z},{x},{y}\n" for z, x, y in rows))
    out = tmp_path / "out.csv"
    assert (
        main(
            ["select", str(path), "--target", "y", "--keep", "zip", "--out", str(out)],
            Environment(io.StringIO(), io.StringIO()),
        )
        == 0
    )
    assert [line.split(",")[0] for line in out.read_text().splitlines()[1:]] == [z for z, _, _ in rows]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["+5", "-3", ""], [5.0, -3.0, np.nan]),
        (["1", "2", "3"], [1, 2, 3]),
        (["1e5", ".5", "-inf"], [1e5, 0.5, -np.inf]),
        (["True", "false", "TRUE"], [True, False, True]),
        (["1", "x", "3"], ["1", "x", "3"]),
        (["1_000", "2", "3"], ["1_000", "2", "3"]),
        ([" 1", "2 ", "3.5"], [1.0, 2.0, 3.5]),
        (["", "NA", "?"], [np.nan, np.nan, np.nan]),
    ],
)
def test_cells_are_read_alike_in_both_ways(cells, expected, reader, tmp_path):
    frame = read(write(tmp_path, "a,b\n" + "".join(f"{cell},1\n" for cell in cells)))
    values = frame.columns["a"]
    assert values.dtype == np.asarray(expected, dtype=object if isinstance(expected[0], str) else None).dtype
    np.testing.assert_array_equal(values, expected)


def test_whole_numbers_beyond_64_bits_are_written_as_they_were(tmp_path):
    rng = np.random.default_rng(0)
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    ids = [str(3 * 10**19 + 7 * i) for i in range(60)]
    x = rng.normal(size=60)
    path.write_text(
        "id,x,y\n" + "".join(f"{i},{a},{a + b}\n" for i, a, b in zip(ids, x, rng.normal(size=60), strict=True))
    )
    arguments = ["select", str(path), "--target", "y", "--keep", "id", "--out", str(out)]
    assert main(arguments, Environment(io.StringIO(), io.StringIO())) == 0
    assert [line.split(",")[0] for line in out.read_text().splitlines()[1:]] == ids


def test_an_encoding_of_two_bytes_a_letter_may_be_named_without_its_order(tmp_path, tamis):
    path = write(tmp_path, "à,y\n1,2\n2,1\n3,5\n4,4\n", "utf-16-le")
    report = tamis("rank", path, "--target", "y", "--encoding", "utf-16", "--json").json
    assert report["features"][0]["name"] == "à"
