"""Input that must not pass in silence, or be refused in words that help nobody: as a user meets it."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tamis
from tamis import AutoSelector, CorrelationScore, FisherScore, GramSchmidt, OFWClassifier, PCALeverage, TableSelector
from tamis.cli import Environment, main
from tamis.dimension import TwoNN
from tamis.testing.instances import ARGUMENTS

N_ROWS = 60
FOR_CLASSES = [
    name
    for name in sorted(ARGUMENTS)
    if (method := getattr(tamis, name)).supervised and set(method.tasks) == {"classification"}
]


def data(seed=0):
    X = np.random.default_rng(seed).normal(size=(N_ROWS, 5))
    return X, (X[:, 2] > 0).astype(int)


def frame(seed=0):
    X, _ = data(seed)
    return pl.DataFrame(X[:, :3], schema=list("abc")).with_columns(y=pl.Series((X[:, 0] + 0.1 * X[:, 1]).round(3)))


def command(*arguments):
    env = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    code = main([str(argument) for argument in arguments], env)
    return code, env.stdout.getvalue(), env.stderr.getvalue()


def refuses(*arguments, words):
    code, answer, said = command(*arguments)
    assert (code, answer) == (2, ""), said
    (line,) = said.splitlines()
    assert line.startswith("tamis: error: ")
    assert len(line) < 700
    for word in words:
        assert word in line


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


WRITERS = {
    "csv": "write_csv",
    "tsv": "write_csv",
    "parquet": "write_parquet",
    "arrow": "write_ipc",
    "feather": "write_ipc",
}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize(
    ("name", "sibling"), [("t[ab]", "ta"), ("t*", "t1"), ("t?", "t2"), ("{a,b}", "a"), ("[!x]", "y")]
)
@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_a_file_whose_name_reads_as_a_pattern_is_the_one_that_is_read(engine, name, sibling, suffix, tmp_path):
    given = {"separator": "\t"} if suffix == "tsv" else {}
    for stem, table in ((name, frame()), (sibling, frame(1).rename({"a": "another"}))):
        with open(tmp_path / f"{stem}.{suffix}", "wb") as file:
            getattr(table, WRITERS[suffix])(file, **given)
    code, answer, said = command("rank", f"{name}.{suffix}", "--target", "y", "--engine", engine)
    assert code == 0, said
    assert " a " in answer
    assert "another" not in answer


@pytest.mark.parametrize("command_name", ["select", "auto"])
@pytest.mark.parametrize("cells", [[0, 1], [1.5, 2.5, 7.25], [1, 2, 3]])
def test_a_cell_of_text_among_numbers_that_could_be_labels_is_named(cells, command_name):
    y = [str(cells[i % len(cells)]) for i in range(N_ROWS)]
    y[6] = "unit"
    frame().with_columns(y=pl.Series(y)).write_csv("t.csv")
    words = ["--target y", "row 7 holds 'unit'", "59 of 60 rows hold numbers", "--task classification"]
    given = [command_name, "t.csv", "--target", "y"]
    refuses(*given, words=words)
    if command_name == "select":
        refuses(*given, "--engine", "blocks", words=words)
        code, _, said = command("rank", "t.csv", "--target", "y", "--task", "classification")
        assert code == 0, said


def test_labels_of_numbers_and_letters_are_labels():
    y = [["1", "2", "3a", "4b"][i % 4] for i in range(N_ROWS)]
    frame().with_columns(y=pl.Series(y)).write_csv("t.csv")
    code, _, said = command("rank", "t.csv", "--target", "y")
    assert code == 0, said
    assert "4 classes" in said


def test_a_label_in_an_array_is_shown_as_it_is():
    X, _ = data()
    np.savez("t.npz", X=X, y=np.array([*map(str, X[:-1, 0].round(3)), "x"]))
    refuses("rank", "t.npz", "--target", "y", words=["row 60 holds 'x'"])


@pytest.mark.parametrize("container", [list, np.array, pd.Series, pl.Series, lambda y: np.array(y, dtype=object)])
@pytest.mark.parametrize("selector", [GramSchmidt(), FisherScore(), TableSelector(GramSchmidt()), AutoSelector(20)])
def test_a_target_of_a_label_a_row_is_no_target_in_python(selector, container):
    X, _ = data()
    numbers = [str(value) for value in X[:, 0].round(3)]
    one_bad = [*numbers[:4], "x", *numbers[5:]]
    names = [f"name {number}" for number in numbers]
    with pytest.raises(ValueError, match=r"y holds 'x' in row 4, and numbers as text in 59 of 60 rows: mend it"):
        selector.fit(X, container(one_bad))
    with pytest.raises(ValueError, match=r"y holds 60 different texts in 60 rows, such as 'name .*a class takes rows"):
        selector.fit(X, container(names))
    with pytest.raises(ValueError, match=r"y holds numbers as text: give numbers, y.astype\(float\)"):
        selector.fit(X, container(numbers))


def test_a_level_that_reads_as_another_column_overwrites_none():
    rng = np.random.default_rng(0)
    t, a = rng.choice(["u", "v", "w"], N_ROWS), rng.normal(size=N_ROWS)
    table = pl.DataFrame({"a": a, "t": t, "t=u": (2 * (t == "u") + a).round(3)})
    table.write_csv("t.csv")
    code, _, said = command("select", "t.csv", "--encode", "--target", "t=u", "--stop", "2", "--out", "kept.csv")
    assert code == 0, said
    assert pl.read_csv("kept.csv").equals(pl.read_csv("t.csv"))
    refuses("dimension", "t.csv", "--encode", words=["two columns", "'t=u'", "rename"])


@pytest.mark.parametrize("name", FOR_CLASSES)
def test_methods_for_classes_refuse_a_quantity_in_the_same_words(name):
    X, _ = data()
    words = (
        rf"^Unknown label type: continuous\. {name} explains classes, but y holds quantities; use a method for these"
    )
    with pytest.raises(ValueError, match=words):
        getattr(tamis, name)(**ARGUMENTS[name][0]).fit(X, X[:, 0])


def test_what_is_under_a_mask_is_not_predicted_from():
    X, y = data()
    masked = np.ma.array(X, mask=X > 1.5)
    for fitted, act in (
        (GramSchmidt(stop=5).fit(X, y), "transform"),
        (OFWClassifier(random_state=0).fit(X, y), "predict"),
    ):
        with pytest.raises(ValueError, match="contains NaN"):
            getattr(fitted, act)(masked)
    kept = CorrelationScore(stop=5).fit(X, y).transform(masked)
    assert np.array_equal(np.isnan(kept), masked.mask)
    whole = np.ma.array((100 * X).astype(int), mask=X > 1.5)
    assert np.array_equal(np.isnan(CorrelationScore(stop=5).fit(X, y).transform(whole)), whole.mask)


@pytest.mark.parametrize("method", [GramSchmidt(stop=2), FisherScore(stop=2), TableSelector(CorrelationScore(stop=2))])
def test_a_weight_beyond_counting_is_refused_and_empties_no_order(method):
    X, y = data()
    with pytest.raises(ValueError, match=r"sample_weight sums to 1e\+200, more rows than can be counted"):
        method.fit(X, y, sample_weight=[1e200, *[1.0] * (N_ROWS - 1)])


def test_an_error_about_weights_speaks_of_weights():
    torch = pytest.importorskip("torch")
    X, y = data()
    with pytest.raises(ValueError, match=r"sample_weight is a tensor that tracks gradients.*sample_weight\.detach\(\)"):
        GramSchmidt(stop=2).fit(X, y, sample_weight=torch.ones(N_ROWS, requires_grad=True))


@pytest.mark.parametrize("size", [1e-310, 5e-324])
def test_subnormal_columns_have_leverages(size):
    scores = PCALeverage(stop=2).fit(data()[0] * size).scores_
    assert np.isfinite(scores).all()


def test_columns_that_rounding_has_taken_are_refused_by_all():
    X, y = data()
    for fit in (
        lambda X: GramSchmidt(stop=2).fit(X, y),
        lambda X: AutoSelector(20, rankers=["fisher"], models=["ridge"]).fit(X, y),
        lambda X: TwoNN().fit(X),
    ):
        with pytest.raises(ValueError, match=r"every column of X is constant, up to rounding: .*1e\+15.*subtract"):
            fit(X + 1e15)
    assert TwoNN().fit(np.zeros((N_ROWS, 2))).dimension_ == 0  # rows that are copies, which is no rounding


@pytest.mark.parametrize("lines", ["\n\n", "\r\n"])
@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_a_table_may_begin_with_empty_lines(engine, lines, tmp_path):
    with open("t.csv", "wb") as file:
        file.write(lines.encode() + frame().write_csv().encode())
    code, answer, said = command("rank", "t.csv", "--target", "y", "--engine", engine)
    assert code == 0, said
    assert " a " in answer


@pytest.mark.parametrize(
    "setting",
    ["tol=" + 30_000 * "[" + 30_000 * "]", "tol=" + 30_000 * "[", "tol=" + 9_000 * '{"a":', "tol=" + 9_000 * "-"],
)
@pytest.mark.parametrize("arguments", [["rank"], ["select"]])
def test_a_value_nested_beyond_reading_is_bad_input(arguments, setting):
    frame().write_csv("t.csv")
    words = ["tol", "give a flatter one"] if not setting.endswith("-") else ["tol"]
    refuses(*arguments, "t.csv", "--target", "y", "--param", setting, words=words)


def test_thousands_of_names_in_one_option_are_read():
    frame().write_csv("t.csv")
    refuses("rank", "t.csv", "--target", "y", "--drop", ",".join(["z"] * 5000), words=["--drop z: no such column"])
    X = np.random.default_rng(0).normal(size=(20, 1500))
    names = [f"x{j}" for j in range(1500)]
    pl.DataFrame(X, schema=names).write_csv("wide.csv")
    code, answer, said = command("rank", "wide.csv", "--target", "x0", "--drop", ",".join(names[3:]))
    assert code == 0, said
    assert "x1 " in answer
    assert "x3 " not in answer


@pytest.mark.parametrize("known", [["a,b", "c", "y"], ["a", "b,c", "y"], ["a,b,c", "a", "y"]])
def test_names_with_commas_are_found_in_a_list(known):
    X, _ = data()
    pl.DataFrame(X[:, :3], schema=known).with_columns(rest=pl.Series(X[:, 3])).write_csv("t.csv")
    code, answer, said = command("rank", "t.csv", "--target", "y", "--drop", ",".join(known[:2]))
    assert code == 0, said
    assert "rest" in answer
