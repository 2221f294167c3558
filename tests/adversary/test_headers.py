"""Headers and lines of text files as spreadsheets and accidents leave them, and options that contradict themselves."""

import csv
import gzip

import numpy as np
import polars as pl
import pytest

from tests.adversary.refusals import command, refuses

ENGINES = ["memory", "blocks"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def text():
    X = np.random.default_rng(0).normal(size=(40, 2)).round(3)
    table = pl.DataFrame(X, schema=["a", "b"]).with_columns(y=pl.Series((X[:, 0] + 0.1 * X[:, 1]).round(3)))
    return table.write_csv()


@pytest.mark.parametrize("blank", ["\n  \n\r\n", "\n\n", "   \n", "\r\n \r\n", "\ufeff\n \n", "\ufeff  \n"])
@pytest.mark.parametrize("engine", ENGINES)
def test_lines_of_blanks_before_the_header_are_passed_over(engine, blank):
    given = ["--target", "y", "--engine", engine, "--json"]
    for name, before in (("plain.csv", ""), ("blank.csv", blank)):
        with open(name, "w", newline="") as file:
            file.write(before + text())
    _, plain, _ = command("rank", "plain.csv", *given)
    code, answer, said = command("rank", "blank.csv", *given)
    assert code == 0, said
    assert answer == plain.replace("plain.csv", "blank.csv")


def test_lines_of_blanks_are_passed_over_without_polars_and_in_wide_tables(monkeypatch):
    from tamis.cli import _read_text

    with open("t.csv", "w") as file:
        file.write(" \n\n" + text())
    monkeypatch.setattr(_read_text, "is_wide", lambda *_: True)
    code, answer, said = command("rank", "t.csv", "--target", "y", "--json")
    assert code == 0, said
    assert '"n_rows": 40' in answer


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("row", [",,", '"","",', " , ,"])
def test_a_first_row_without_any_name_is_no_header(row, engine):
    with open("t.csv", "w") as file:
        file.write(f"{row}\n{text()}")
    words = ["cannot read t.csv as .csv: its first row, of 3 empty cells, names no column; if the header is below it"]
    refuses("rank", "t.csv", "--target", "y", "--engine", engine, words=words)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_beyond_the_limit_is_told_in_our_words(engine):
    with open("t.csv", "w") as file:
        file.write(text().replace("b", "b" * (csv.field_size_limit() + 1), 1))
    words = ["t.csv", "its header has a name of more than 131072 characters; give shorter ones"]
    refuses("rank", "t.csv", "--target", "y", "--engine", engine, words=words)


def test_a_cell_beyond_the_limit_is_told_with_its_line(monkeypatch):
    from tamis.cli import _read_text

    monkeypatch.setattr(_read_text, "is_wide", lambda *_: True)
    with open("t.csv", "w") as file:
        file.write("\n" + text() + "1,2," + "3" * (csv.field_size_limit() + 1) + "\n")
    refuses("rank", "t.csv", "--target", "y", words=["line 43 has a cell of more than 131072 characters"])


def test_a_header_longer_than_the_sample_is_read_in_blocks_too():
    names = [f"a column with a long name, number {j}" for j in range(4000)]
    X = np.random.default_rng(0).normal(size=(6, 4000)).round(2)
    pl.DataFrame(X, schema=names).write_csv("wide.csv")
    given = ["wide.csv", "--method", "max-variance", "--top", "2", "--json"]
    code, answer, said = command("rank", *given, "--engine", "blocks")
    assert code == 0, said
    assert '"n_features": 4000' in answer


@pytest.mark.parametrize("begin", ["a,b,y\n1,2,3\n", "a" * 40_000 + "," + "b" * 3_000_000])
def test_a_line_without_an_end_is_told_in_our_words_where_blocks_are_read(begin):
    with gzip.open("t.csv.gz", "wt", compresslevel=1) as file:
        file.write(begin + "1," * 3_000_000)
    words = ["cannot read t.csv.gz"]
    code, _, said = command("rank", "t.csv.gz", "--target", "y", "--engine", "blocks")
    assert code == 2
    assert "straddling" not in said
    assert "block size" not in said
    assert all(word in said for word in words)
    if begin.startswith("a,b"):
        assert "a line is longer than 1 MB, and blocks hold whole lines: see that the file has line ends" in said


@pytest.mark.parametrize("index", ["9" * 20, "6000000"])
def test_an_index_beyond_all_columns_is_too_many_columns(index):
    with open("t.svm", "w") as file:
        file.write(f"1 1:1 {index}:1\n0 1:2\n")
    refuses("rank", "t.svm", words=["cannot read t.svm as .svm", "more than the 5000000 that can be named one by one"])


def test_people_are_shown_the_first_features_of_many_and_programs_all():
    X = np.random.default_rng(0).normal(size=(30, 250))
    pl.DataFrame(X, schema=[f"x{j}" for j in range(250)]).with_columns(y=pl.Series(X[:, 0])).write_csv("t.csv")
    given = ["t.csv", "--target", "y", "--method", "correlation-score"]
    code, answer, said = command("rank", *given)
    assert code == 0, said
    assert len(answer.splitlines()) == 1 + 100
    assert said.splitlines()[-1] == "150 more of 250 features: --top N shows more of them, and --json all"
    _, answer, said = command("rank", *given, "--top", "120")
    assert len(answer.splitlines()) == 1 + 120
    assert "more of" not in said
    _, answer, _ = command("rank", *given, "--json")
    assert answer.count('"rank": ') == 250
    _, answer, said = command("select", *given, "--stop", "170")
    assert len(answer.splitlines()) == 1 + 100
    assert "70 more are kept: --json tells all, and --out FILE writes them" in said
    _, answer, _ = command("select", *given, "--stop", "170", "--json")
    assert answer.count('"rank": ') == 170


@pytest.mark.parametrize("option", ["--param", "--stop-param"])
def test_a_parameter_is_given_once(option):
    with open("t.csv", "w") as file:
        file.write(text())
    name, values = ("task", ("auto", "regression")) if option == "--param" else ("correction", ("none", "bonferroni"))
    given = [each for value in values for each in (option, f"{name}={value}")]
    rule = ["--stop", "probe"] if option == "--stop-param" else []
    words = [f"{option} {name}={values[1]}: '{name}' is given twice; give it once"]
    refuses("select", "t.csv", "--target", "y", *rule, *given, words=words)


@pytest.mark.parametrize("command_name", ["rank", "select", "auto", "dimension"])
@pytest.mark.parametrize("jobs", ["0", "two", "1.5"])
def test_no_processes_are_no_number_of_processes(jobs, command_name):
    with open("t.csv", "w") as file:
        file.write(text())
    words = [f"argument --jobs: must be a whole number, such as 2, or -1 for all cores, not '{jobs}'"]
    refuses(command_name, "t.csv", "--target", "y", "--jobs", jobs, words=words)
