"""Files that a command writes: none that it reads, no two to one place, and nothing lost where writing fails."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from tamis import AutoSelector
from tamis.rank._checkpoint import Checkpoint
from tests.adversary.refusals import command, refuses

FEW = ("--budget", "30", "--rankers", "fisher", "--models", "ridge", "--quiet")


def frame(seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    return pl.DataFrame(X, schema=list("abc")).with_columns(y=pl.Series((2 * X[:, 0] + X[:, 1]).round(3)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for k in (1, 2):
        frame(k).write_csv(tmp_path / f"p{k}.csv")
        frame(k).write_parquet(tmp_path / f"p{k}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("through", ["itself", "link", "hard link", "other spelling"])
@pytest.mark.parametrize("given", [["select"], ["select", "--engine", "blocks"], ["auto", *FEW]])
def test_a_file_that_a_pattern_finds_is_not_written_over(given, through, folder):
    before = (folder / "p2.csv").read_bytes()
    out = "p2.csv" if through == "itself" else f"../{folder.name}/p2.csv"
    if through == "link":
        out = "out.csv"
        os.symlink("p2.csv", out)
    elif through == "hard link":
        out = "out.csv"
        os.link("p2.csv", out)
    words = [f"--out {out}: it is a file to read, p2.csv, which --glob finds; name another file"]
    refuses(*given, "--glob", "p*.csv", "--target", "y", "--out", out, words=words)
    assert (folder / "p2.csv").read_bytes() == before


@pytest.mark.parametrize("given", [["p1.csv"], ["--glob", "p*.csv"]])
@pytest.mark.parametrize("option", ["--out", "--checkpoint", "--model"])
def test_no_option_writes_over_what_is_read(option, given, folder):
    name = "p1.csv"
    if option == "--model":
        name = "m.skops"
        os.symlink("p1.csv", name)
    refuses("auto", *given, "--target", "y", *FEW, option, name, words=[f"{option} {name}: it is", "name another file"])


@pytest.mark.parametrize("command_name", ["rank", "select"])
def test_a_checkpoint_of_a_method_is_no_file_to_read_either(command_name, folder):
    given = ["p1.csv", "--target", "y", "--method", "ofw", "--param", "checkpoint=p1.csv"]
    refuses(command_name, *given, words=["--param checkpoint p1.csv: it is the file to read"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("--out", "c9.npz"), ("--checkpoint", "c9.npz")),
        (("--model", "m.skops"), ("--checkpoint", "m.skops")),
        (("--out", "c9.npz"), ("--checkpoint", "there/../c9.npz")),
        (("--out", "c9.npz"), ("--checkpoint", "link")),
    ],
)
def test_two_options_do_not_write_to_one_file(one, other, folder):
    (folder / "there").mkdir()
    os.symlink("c9.npz", "link")
    words = [f"{other[0]} {other[1]}: it is the file that {one[0]} writes, too"]
    refuses("auto", "p1.csv", "--target", "y", *FEW, *one, *other, words=words)


@pytest.mark.parametrize("arguments", [["select"], ["auto", *FEW]])
def test_what_stands_on_standard_input_is_not_written_over(arguments, folder):
    before = (folder / "p1.csv").read_bytes()
    line = [sys.executable, "-m", "tamis", *arguments, "-", "--target", "y", "--out", "p1.csv"]
    with open("p1.csv", "rb") as file:
        outcome = subprocess.run(line, stdin=file, capture_output=True, text=True, check=False)
    assert outcome.returncode == 2
    assert "--out p1.csv: it is the file to read, on standard input; name another file" in outcome.stderr
    assert (folder / "p1.csv").read_bytes() == before


@pytest.mark.parametrize("option", ["--out", "--checkpoint"])
def test_links_in_a_circle_are_refused_and_stay(option, folder):
    os.symlink("b.csv", "a.csv")
    os.symlink("a.csv", "b.csv")
    refuses(
        "auto", "p1.csv", "--target", "y", *FEW, option, "a.csv", words=[f"{option} a.csv: it is a link that leads"]
    )
    assert (folder / "a.csv").is_symlink()


def test_a_model_with_a_checkpoint_is_written_without_it(folder):
    skops_io = pytest.importorskip("skops.io", reason="the extra cli brings skops")
    code, _, said = command("auto", "p1.csv", "--target", "y", *FEW, "--model", "m.skops", "--checkpoint", "tried")
    assert code == 0, said
    model = skops_io.load("m.skops", trusted=skops_io.get_untrusted_types(file="m.skops"))
    assert model.checkpoint is None
    assert not (folder / "tried").exists()


@pytest.mark.parametrize("error", [ValueError("of a type that nobody knows"), TypeError("no"), AttributeError("no")])
def test_a_model_that_cannot_be_written_costs_neither_the_answer_nor_the_checkpoint(error, folder, monkeypatch):
    skops_io = pytest.importorskip("skops.io", reason="the extra cli brings skops")

    def dump(model, file):
        raise error

    given = ("auto", "p1.csv", "--target", "y", *FEW, "--model", "m.skops", "--checkpoint", "tried", "--json")
    with monkeypatch.context() as patch:
        patch.setattr(skops_io, "dump", dump)
        code, answer, said = command(*given)
    assert code == (2 if isinstance(error, ValueError) else 1)
    assert '"features": [' in answer
    assert str(error) in said
    assert (folder / "tried").exists()
    again, _, said = command(*given)
    assert again == 0, said
    assert (folder / "m.skops").exists()
    assert not (folder / "tried").exists()


@pytest.mark.parametrize("arguments", [["select"], ["auto", *FEW]])
def test_columns_that_cannot_be_written_cost_no_answer_whatever_the_error(arguments, folder, monkeypatch):
    def write_parquet(*_):
        raise ValueError("no such thing in this format")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", write_parquet)
    code, answer, said = command(*arguments, "p1.csv", "--target", "y", "--out", "o.parquet")
    assert code == 2
    assert " a " in answer or "\na " in answer
    assert "no such thing in this format" in said


@pytest.mark.parametrize("kind", ["search", "training"])
def test_a_link_to_a_checkpoint_stays_and_its_file_goes(kind, folder):
    os.symlink("elsewhere", "link")
    if kind == "search":
        table = frame(1)
        AutoSelector(30, rankers=["fisher"], models=["ridge"], checkpoint="link").fit(table.drop("y"), table["y"])
    else:
        checkpoint = Checkpoint("link", {})
        checkpoint.resume(0, is_free=True)
        checkpoint.write({"x": np.zeros(3)})
        assert (folder / "elsewhere").exists()
        checkpoint.discard()
    assert (folder / "link").is_symlink()
    assert not (folder / "elsewhere").exists()
