"""Input that must not pass in silence, or be refused in words that help nobody: as a user meets it."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tamis
from tamis import (
    OFW,
    AutoSelector,
    CorrelationScore,
    FisherScore,
    GramSchmidt,
    InfiniteSVM,
    MaxVariance,
    OFWClassifier,
    PCALeverage,
    TableSelector,
)
from tamis.assess import compare, fit_score
from tamis.base import NothingKeptWarning
from tamis.dictionary import RBF
from tamis.dimension import TwoNN
from tamis.stop import IntrinsicDimension
from tamis.table import check_table
from tamis.testing.instances import ARGUMENTS
from tests.adversary.refusals import command, refuses

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
        lambda X: InfiniteSVM(RBF(), max_rounds=3).fit(X, y),
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


LATER = {
    "GramSchmidt": (lambda: GramSchmidt(stop=2), "transform"),
    "a dictionary": (lambda: GramSchmidt(stop=2, dictionary=tamis.dictionary.Monomials(2)), "transform"),
    "TableSelector": (lambda: TableSelector(GramSchmidt(stop=2)), "transform"),
    "AutoSelector": (lambda: AutoSelector(20, rankers=["fisher"], models=["ridge"], n_bootstraps=10), "predict"),
    "InfiniteSVM": (lambda: InfiniteSVM(RBF(), max_rounds=3, n_candidates=10, random_state=0), "predict"),
    "OFWClassifier": (lambda: OFWClassifier(OFW("ridge", max_iter=5), n_classifiers=3, random_state=0), "predict"),
}


def named_frame(X, names="abcde"):
    return pd.DataFrame(X, columns=list(names))


@pytest.fixture(scope="module")
def fitted():
    """Each of them, fitted to a data frame, and what it is asked for then."""
    X, y = data()
    with warnings.catch_warnings(action="ignore"):  # of short training
        return {name: getattr(make().fit(named_frame(X), y), act) for name, (make, act) in LATER.items()}


def refused_in_a_line(call, X, words):
    with pytest.raises(ValueError, match=words) as caught:
        call(X)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", LATER)
def test_rows_that_cannot_be_read_are_refused_after_fit_as_in_fit(name, fitted):
    torch = pytest.importorskip("torch")
    X, _ = data()
    for given, words in (
        (named_frame(X, "aacde"), "^X has 2 columns 'a': give each column a name of its own"),
        (X + 1j, "^Complex data not supported: X holds complex numbers"),
        (pl.DataFrame(X, schema=list("abcde")).lazy(), r"^X is a LazyFrame, .*give X\.collect\(\)"),
        (torch.tensor(X, requires_grad=True), r"^X is a tensor that tracks gradients, .*give X\.detach\(\)"),
        (X[:, 0], "^Expected 2D array, got 1D array instead: X has shape"),
        (X[:, :, None], "^Expected 2D array, got 3D array instead: X has shape"),
        (named_frame(X)[:0], r"^Found array with 0 sample\(s\) .*a minimum of 1 is required by "),
        (np.where(X.max(axis=0) == X, np.inf, X), "^Input X contains infinity: .*'"),
        (named_frame(np.where(X.max(axis=0) == X, np.inf, X)), "^Input X contains infinity: .*'"),
    ):
        refused_in_a_line(fitted[name], given, words)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", [name for name in LATER if name not in ("TableSelector", "AutoSelector")])
def test_missing_values_are_named_after_fit_by_what_takes_none(name, fitted):
    X, _ = data()
    for hole in (np.where(X.max() - 1e-9 < X, np.nan, X), np.ma.array(X, mask=X.max() - 1e-9 < X)):
        refused_in_a_line(fitted[name], hole, "^Input X contains NaN: column '[a-e]' holds 1 missing value; impute or")


def test_a_model_that_was_fitted_without_missing_values_says_so():
    X, y = data()
    auto = LATER["AutoSelector"][0]().fit(X, y)
    refused_in_a_line(
        auto.predict, X * np.nan, "^Input X contains NaN: .* hold.* missing values.*: fit was given none$"
    )


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", LATER)
def test_columns_that_are_not_those_of_fit_are_named(name, fitted):
    X, _ = data()
    table, begin = named_frame(X), "^The feature names should match those that were passed during fit: "
    for given, words in (
        (table.drop(columns="b"), "X lacks 'b'; give all columns of fit"),
        (table.assign(z=1.0), "X holds 'z', which fit has not seen; give the columns of fit"),
        (table[list("edcba")], "column 0 is 'e', where fit was given 'a'; give the columns of fit"),
        (pl.DataFrame(X, schema=list("abcdq")), "X lacks 'e' and holds 'q', which fit has not seen"),
    ):
        refused_in_a_line(fitted[name], given, begin + words)
    refused_in_a_line(fitted[name], X[:, :4], "^X has 4 features, but .* is expecting 5 features as input")


@pytest.mark.parametrize("name", ["TableSelector", "AutoSelector", "GramSchmidt"])
@pytest.mark.parametrize("make", [named_frame, np.asarray], ids=["frame", "array"])
def test_text_where_fit_has_seen_numbers_is_refused_by_selectors_too(make, name):
    X, y = data()
    fitted = LATER[name][0]().fit(make(X), y)
    cells = X.astype(object)
    cells[3] = "text"
    refused_in_a_line(fitted.transform, make(cells), "held numbers in fit, and holds something else|not numeric")


def test_text_where_fit_has_seen_text_may_be_any():
    X, y = data()
    city = np.where(y == 1, "Lyon", "Nice")
    selector = TableSelector(GramSchmidt(stop=2)).fit({"a": X[:, 0], "city": city}, y)
    assert selector.transform({"a": X[:2, 0], "city": ["12", "Paris"]})["city"] == ["12", "Paris"]


@pytest.mark.parametrize("fit", [GramSchmidt(stop=2).fit, TableSelector(GramSchmidt(stop=2)).fit])
def test_an_inverse_is_refused_in_a_line(fit):
    found = fit(*data())
    for given, words in (
        (named_frame(np.ones((3, 5)), "aacde"), "X has 2 columns 'a'"),
        (np.ones((3, 2)) + 1j, "Complex data not supported"),
        (np.ones(3), "Expected 2D array, got 1D array"),
        ([[1.0, 2.0, 3.0]], "X has 3 columns, but 2 are kept: give a table as transform gives it"),
    ):
        refused_in_a_line(found.inverse_transform, given, words)


def test_a_comparison_refuses_names_that_stand_twice():
    X, y = data()
    words = "data set 'data': X has 2 columns 'a'"
    refused_in_a_line(lambda X: compare([GramSchmidt()], X, y, ks=[2]), named_frame(X, "aacde"), words)


@pytest.mark.parametrize("method", [InfiniteSVM(RBF(), max_rounds=3), OFWClassifier()])
def test_classifiers_refuse_targets_in_the_words_of_all_methods_for_classes(method):
    X, _ = data()
    words = rf"^Unknown label type: continuous\. {type(method).__name__} explains classes, but y holds quantities"
    with pytest.raises(ValueError, match=words):
        method.fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"^y holds values of type object; give numbers or labels"):
        method.fit(X, np.array([object() for _ in X]))


@pytest.mark.parametrize("X_of", [lambda a: a[:, None], lambda a: pd.DataFrame({"a": a, "b": np.arange(len(a))})])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_that_rounding_makes_one_are_not_called_constant(dtype, X_of):
    _, y = data()
    X = X_of(np.array(y, dtype=dtype) + np.array(2**53 if dtype == "int64" else 2**63, dtype=dtype))
    words = (
        r"^column '(a|x0)' holds different whole numbers, so large that double .* to a single one: subtract an offset"
    )
    for fit in (lambda X: GramSchmidt(stop=1).fit(X, y), lambda X: AutoSelector(20).fit(X, y), TwoNN().fit):
        refused_in_a_line(fit, X, words)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_a_table_tells_of_whole_numbers_that_rounding_makes_one(make):
    X, y = data()
    table = make({"a": 2**53 + y, "b": X[:, 2]})
    (found,) = [finding for finding in check_table(table, y) if finding.column == "a"]
    assert found.code == "rounded"
    assert "different whole numbers, so large that double precision rounds them to 9.0072e+15" in found.sentence
    assert "subtract an offset" in TableSelector(GramSchmidt()).fit(table, y).not_ranked_["a"]
    pl.DataFrame({"a": 2**53 + y, "b": X[:, 2], "y": y}).write_csv("t.csv")
    code, _, said = command("rank", "t.csv", "--target", "y")
    assert code == 0, said
    assert "rounded: 'a' holds different whole numbers" in said
    code, _, said = command("rank", "t.csv", "--target", "y", "--engine", "blocks")
    assert code == 0, said
    assert "subtract an offset" in said
    assert "constant" not in said


def test_a_target_that_rounding_makes_one_value_is_not_called_constant():
    X, _ = data()
    y = 2**60 + np.arange(N_ROWS)
    words = r"^y holds different whole numbers, so large that .*: subtract an offset, y - y\.min\(\)"
    for method in (GramSchmidt(), CorrelationScore(), TableSelector(), AutoSelector(20)):
        with pytest.raises(ValueError, match=words):
            method.fit(X, y)


@pytest.mark.parametrize("fit", [GramSchmidt().fit, TableSelector().fit, OFWClassifier().fit, AutoSelector(20).fit])
def test_whole_numbers_beyond_double_precision_are_refused(fit):
    X = np.array([[10**400, 1, 2]] * N_ROWS, dtype=object)
    with pytest.raises(ValueError, match=r"X holds whole numbers beyond 1\.8e\+308|X contains infinity"):
        fit(X, data()[1])


def test_sparse_frames_that_leave_out_other_than_zeros_are_refused_by_name():
    X, y = data()
    holed = {name: pd.arrays.SparseArray(np.where(X[:, j] > 0, X[:, j], np.nan)) for j, name in enumerate("abcde")}
    words = r"^columns 'a', .* are sparse in X, and what is left out is not zero: give X\.sparse\.to_dense\(\)"
    refused_in_a_line(lambda X: GramSchmidt().fit(X, y), pd.DataFrame(holed), words)


def test_errors_about_missing_values_show_code_that_can_be_pasted():
    X, y = data()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"make_pipeline\(SimpleImputer\(\), OFWClassifier\(random_state=0\)\)$"):
        OFWClassifier(random_state=0).fit(X, y)
    for judge in (lambda X: fit_score(X, [0]), lambda X: compare([GramSchmidt()], X, y, ks=[2])):
        with pytest.raises(ValueError, match=r"or drop them first: SimpleImputer\(\)\.fit_transform\(X\)$"):
            judge(X)


def test_rows_have_no_more_dimensions_than_they_span():
    X = np.random.default_rng(0).normal(size=(4, 3000))
    assert TwoNN().fit(X).dimension_ > 3
    np.savez("t.npz", X=X)
    _, _, said = command("dimension", "t.npz")
    assert "dimensions (two-nn" in said
    assert "though 4 rows span 3 at most: keep at least 3 features" in said
    found = MaxVariance(stop=IntrinsicDimension()).fit(X)
    assert found.n_features_ == 3
    assert "though 4 rows span 3 at most" in found.stop_.reason


def test_rows_that_stand_twice_are_counted_and_the_cure_is_named():
    X, _ = data()
    with pytest.warns(UserWarning, match=r"120 of 120 samples are copies of others.*np\.unique\(X, axis=0\)"):
        TwoNN().fit(np.repeat(X, 2, axis=0))


def test_labels_to_be_scored_are_read_as_those_of_fit():
    X, y = data(0)
    labels = np.where(y > 0, "a", "b").astype(object)
    spoiled = labels.copy()
    spoiled[3] = None
    for model in (OFWClassifier(OFW("ridge", random_state=0), n_classifiers=3, random_state=0), InfiniteSVM(RBF())):
        fitted = model.fit(X, labels)
        assert fitted.score(X, labels) > 0.5
        with pytest.raises(ValueError, match="no label in 1 of"):
            fitted.score(X, spoiled)
        with pytest.raises(ValueError, match="give y"):
            fitted.score(X, None)
        weight = np.arange(N_ROWS) / N_ROWS
        right = fitted.predict(X) == labels
        assert fitted.score(X, labels, weight) == pytest.approx(np.average(right, weights=weight))
        for bad in (np.zeros(N_ROWS), -weight, weight[1:], weight * np.nan):
            with pytest.raises(ValueError, match="eight"):
                fitted.score(X, labels, bad)


def test_a_frame_of_which_nothing_is_kept_has_its_rows():
    X = np.random.default_rng(0).normal(size=(60, 4))
    with pytest.warns(NothingKeptWarning):
        auto = AutoSelector(5, rankers=["fisher"], models=["ridge"]).fit(X, np.random.default_rng(1).normal(size=60))
    assert auto.n_features_ == 0
    assert auto.transform(pd.DataFrame(X)).shape == (60, 0)


def test_damaged_text_of_an_arrow_file_is_refused_in_blocks(tmp_path):
    table = pl.DataFrame({"a": np.arange(50.0), "s": [f"text {i}" for i in range(50)], "y": np.arange(50.0) ** 2})
    path = tmp_path / "table.arrow"
    table.write_ipc(path, compat_level=pl.CompatLevel.oldest())
    content = bytearray(path.read_bytes())
    offsets = content.find(np.arange(0, 3 * len("text 0"), len("text 0"), dtype=np.int64).tobytes())
    if offsets < 0:
        offsets = content.find(np.arange(0, 3 * len("text 0"), len("text 0"), dtype=np.int32).tobytes())
    content[offsets + 16 : offsets + 24] = b"\xff" * 8
    path.write_bytes(content)
    code, answer, said = command("rank", path, "--target", "y", "--engine", "blocks", "--method", "gram-schmidt")
    assert (code, answer) == (2, "")
    assert said.splitlines()[-1].startswith(f"tamis: error: cannot read {path}: In column 1")
