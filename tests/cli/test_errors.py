"""Bad input ends in one line that names what is wrong, and an exit code."""

from __future__ import annotations

import gzip
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tamis.stop import Probe


def assert_refused(outcome, *words: str) -> None:
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("tamis: error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--target", "yy"], ["--target yy", "did you mean 'y'"]),
        ([], ["gram-schmidt needs a target", "--target"]),
        (["--target", "y", "--drop", "x22"], ["--drop x22", "did you mean 'x2'"]),
        (["--target", "y", "--drop", "x1,y"], ["--drop y", "the target"]),
        (["--target", "y", "--drop", "x0,x1,x2,x3,x4,x5,x6,x7"], ["no column is left"]),
        (["--target", "y", "--method", "gram-schmit"], ["--method gram-schmit", "did you mean 'gram-schmidt'"]),
        (["--target", "y", "--method", "step"], ["--method step"]),
        (["--target", "y", "--stop", "probes"], ["--stop probes", "did you mean 'probe'", "top-k"]),
        (["--target", "y", "--stop", "cv"], ["--stop cv", "did you mean '--stop cross-validation'"]),
        (["--target", "y", "--stop", "1.5"], ["--stop 1.5", "between 0 and 1"]),
        (["--target", "y", "--stop", "-2"], ["--stop -2", "at least 1"]),
        (["--target", "y", "--stop", "3", "--risk", "0.1"], ["--risk", "top-k (--stop 3)", "probe"]),
        (["--target", "y", "--method", "random-selection", "--risk", "0.1"], ["--risk", "top-k", "random-selection"]),
        (["--target", "y", "--stop", "probe", "--fdr", "0.1"], ["--fdr", "rule probe", "monte-carlo-probe"]),
        (["--target", "y", "--stop", "fisher-test", "--draws", "9"], ["--draws", "rule fisher-test"]),
        (["--target", "y", "--risk", "0.1", "--fdr", "0.1"], ["--fdr", "not allowed with argument --risk"]),
        (["--target", "y", "--risk", "much"], ["--risk", "'much'"]),
        (["--target", "y", "--risk", "1e3"], ["--risk", "between 0 and 1, not '1e3'"]),
        (["--target", "y", "--risk", "5"], ["--risk", "5 percent is 0.05"]),
        (["--target", "y", "--methd", "rfe"], ["--methd rfe", "did you mean '--method'"]),
        (["--target", "y", "--param", "tusk=1"], ["--param tusk=1", "max_features", "tol"]),
        (["--target", "y", "--param", "tol"], ["--param tol", "NAME=VALUE"]),
        (["--target", "y", "--param", "stop=3"], ["--param stop=3", "use --stop"]),
        (["--target", "y", "--param", "task=guess"], ["'task' parameter of GramSchmidt", "'guess'"]),
        (["--target", "y", "--stop-param", "x=1"], ["--stop-param x=1", "probe takes", "correction"]),
        (["--target", "y", "--out", "kept.xlsx"], ["--out kept.xlsx", ".parquet"]),
        (["--target", "y", "--out", "no/where/kept.csv"], ["--out no/where/kept.csv", "no folder"]),
        (["--target", "y", "--surprise"], ["--surprise"]),
        (["--target"], ["--target"]),
    ],
)
def test_a_bad_option_is_named(options, words, csv, tamis):
    assert_refused(tamis("select", csv, *options), *words)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], ["choose a command", "select", "demo"]),
        (["sift"], ["COMMAND", "'sift'"]),
        (["select"], ["FILE"]),
        (["rank", "t.csv", "--top", "0"], ["--top", "at least 1"]),
        (["rank", "t.csv", "--top", "few"], ["--top", "'few'"]),
    ],
)
def test_a_bad_command_line_is_explained(args, words, tamis):
    assert_refused(tamis(*args), *words)


def test_the_output_must_not_be_the_input(csv, tamis):
    before = csv.read_bytes()
    assert_refused(tamis("select", csv, "--target", "y", "--out", csv), "--out", "the file to read")
    assert csv.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.csv", None, ["no such file"]),
        ("t.xlsx", b"x", ["'.xlsx'", ".parquet"]),
        ("noname", b"x", ["is none of .csv"]),
        ("t.parquet", b"a,y\n1,2\n", [".parquet"]),
        ("t.arrow", b"a,y\n1,2\n" * 20, [".arrow"]),
        ("t.npz", b"a,y\n1,2\n", ["no zip archive"]),
        ("t.mat", b"a,y\n1,2\n" * 20, [".mat"]),
        ("t.svm", b"a,y\n1,2\n", [".svm"]),
        ("t.arff", b"a,y\n1,2\n", ["no @data section"]),
        ("t.csv", b"\x93\x00\xff\xfe" * 20, [".csv"]),
        ("t.csv", b"", ["it is empty"]),
        ("t.csv", b"a,b,y\n", ["no rows"]),
        ("t.csv", b"a,a,y\n1,2,3\n", ["two columns are named 'a'"]),
        ("t.csv", b"a,y\n1,2\n3,4,5\n", [".csv"]),
        ("t.csv.gz", b"a,y\n1,2\n", ["gzip"]),
        ("t.csv.gz", gzip.compress(b"a,y\n" + bytes(range(48, 58)) * 999, mtime=0)[:-9], [".csv"]),
    ],
)
def test_a_file_that_is_not_what_its_suffix_says_is_refused(name, content, words, tamis, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert_refused(tamis("select", path, "--target", "y"), f"cannot read {path}", *words)


def test_a_folder_is_no_file(tamis, tmp_path):
    assert_refused(tamis("select", tmp_path, "--target", "y"), "it is a folder")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npz"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_file_that_was_cut_short_is_refused(suffix, share, csv, tamis, tmp_path):
    path = tmp_path / f"kept{suffix}"
    tamis("select", csv, "--target", "y", "--stop", 5, "--out", path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert_refused(tamis("select", path, "--target", "y"), f"cannot read {path}")


def test_a_zip_that_holds_no_table_is_refused(tamis, tmp_path):
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("letter.txt", "dear all")
    assert_refused(tamis("select", tmp_path / "t.npz"), "no table X", "letter.txt")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.ones((4, 2, 2)), "y": np.arange(4)}, ["(4, 2, 2)"]),
        ({"X": np.ones((4, 2)), "y": np.arange(5)}, ["y has shape (5,)", "4 rows"]),
        ({"X": np.ones((4, 2)), "feature_names": np.array(["a"])}, ["1 names for 2 columns"]),
        ({"X": np.ones((4, 2)), "feature_names": np.array(["a", "a"])}, ["two columns are named 'a'"]),
        (
            {"X": np.ones((4, 1), dtype=complex), "y": np.arange(4)},
            ["'x0' holds neither numbers nor text", "--drop x0"],
        ),
    ],
)
def test_an_archive_whose_arrays_do_not_fit_is_refused(arrays, words, tamis, tmp_path):
    np.savez(tmp_path / "t.npz", **arrays)
    assert_refused(tamis("select", tmp_path / "t.npz"), *words)


def test_sparse_parts_that_point_outside_the_table_are_refused(tamis, tmp_path):
    X = sparse.csr_array(np.eye(4))
    indices = np.array([0, 1, 2, 10**6])
    np.savez(tmp_path / "t.npz", data=X.data, indices=indices, indptr=X.indptr, shape=np.array([4, 4]), y=np.arange(4))
    assert_refused(tamis("select", tmp_path / "t.npz"), "cannot read")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,y\n1,5,0\n2,3,\n3,4,NA\n4,1,1\n", ["--target y", "2 of 4 rows"]),
        ("a,b,y\n1,5,no\n2,3,\n3,4,yes\n4,1,no\n", ["--target y", "1 of 4 rows"]),
        ("a,b,y\n1,5,1\n2,3,1\n3,4,1\n4,1,1\n", ["--target y", "one class only"]),
        ("a,b,y\n1,5,2020-01-01\n2,3,2020-01-02\n", ["--target y", "dates"]),
        ("a,b,my y\n1,5,\n2,3,1\n", ["--target 'my y'", "1 of 2 rows", "--drop-rows-without-target"]),
        ("a,b,y\n2,5,0\n2,5,1\n2,5,0\n", ["every column of X is constant"]),
    ],
)
@pytest.mark.parametrize("polars", [True, False])
def test_bad_data_are_refused_by_column_with_or_without_polars(text, words, polars, tamis, tmp_path, without):
    (tmp_path / "t.csv").write_text(text)
    if not polars:
        without("polars")
    target = "my y" if "my y" in text else "y"
    assert_refused(tamis("select", tmp_path / "t.csv", "--target", target), *words)


def test_a_name_with_a_line_break_does_not_break_the_line(tamis, tmp_path):
    (tmp_path / "t.csv").write_text('"a\nb\x1b[31m",y\n1,0\n,1\n2,0\n')
    outcome = tamis("select", tmp_path / "t.csv", "--target", "y", "--missing", "error")
    assert_refused(outcome, "a b\\x1b[31m'")


def test_a_missing_extra_is_named_with_the_way_to_install_it(csv, tamis, tmp_path, without):
    (tmp_path / "t.parquet").write_bytes(b"")
    without("polars")
    install = "needs polars; install it with: pip install 'tamis[cli]'"
    for outcome, purpose in (
        (tamis("select", tmp_path / "t.parquet", "--target", "y"), "reading .parquet"),
        (tamis("select", csv, "--target", "y", "--out", tmp_path / "kept.feather"), "writing .feather"),
    ):
        assert outcome.code == 1
        assert outcome.err == f"tamis: error: {purpose} {install}\n"


def _fail(*_: object) -> None:
    raise RuntimeError("the moon\nwas in the way")


def test_an_unexpected_failure_is_one_line_with_its_type(csv, tamis, monkeypatch):
    monkeypatch.setattr(Probe, "decide", _fail)
    outcome = tamis("select", csv, "--target", "y")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "tamis: error: RuntimeError: the moon was in the way\n"


def test_debug_lets_the_failure_through(csv, tamis, monkeypatch):
    monkeypatch.setattr(Probe, "decide", _fail)
    with pytest.raises(RuntimeError, match="the moon"):
        tamis("select", csv, "--target", "y", "--debug")


def _interrupted_write(file, **_: object) -> None:
    file.write(b"half of")
    raise KeyboardInterrupt


@pytest.mark.parametrize("existing", [None, b"what was there before"])
def test_an_interrupted_write_leaves_no_partial_file(existing, csv, tamis, tmp_path, monkeypatch):
    kept = tmp_path / "kept.npz"
    if existing is not None:
        kept.write_bytes(existing)
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setattr(np, "savez_compressed", _interrupted_write)
    outcome = tamis("select", csv, "--target", "y", "--out", kept)
    assert (outcome.code, outcome.out) == (130, "")
    assert re.fullmatch(rf"kept .+; {re.escape(str(kept))} was not written\ntamis: interrupted\n", outcome.err)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert existing is None or kept.read_bytes() == existing


def test_a_failed_write_is_reported_and_leaves_nothing(csv, tamis, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    outcome = tamis("select", csv, "--target", "y", "--out", tmp_path / "kept.npz")
    assert outcome.code == 1
    assert "No space left on device" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == [csv.name]


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(tamis, tmp_path):
    outcome = tamis("select", Path("missing.csv"), "--target", "y", "--out", tmp_path / "kept.doc")
    assert_refused(outcome, "--out")


@pytest.mark.parametrize(("typed", "meant"), [("PRICE", "Price"), ("pric", "Price"), ("AREA", "area")])
def test_a_column_is_suggested_in_its_own_spelling(typed, meant, tamis, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Price,area\n1,2\n2,3\n3,5\n")
    outcome = tamis("select", path, "--target", typed)
    assert outcome.code == 2
    assert f"(did you mean '{meant}'?)" in outcome.err


def test_a_method_is_suggested_whatever_its_case(csv, tamis):
    assert "(did you mean 'ard'?)" in tamis("rank", csv, "--target", "y", "--method", "ARD").err
