"""check_table: every finding is made where it is planted, and nothing on clean data."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tamis import GramSchmidt, TableSelector
from tamis.table import Finding, check_table
from tamis.table._findings import CODES

N = 400


def clean(seed=0):
    """A table without anything odd, and a target that depends on some of it."""
    rng = np.random.default_rng(seed)
    X = {
        "age": rng.normal(40, 10, N),
        "size": rng.normal(size=N),
        "skewed": rng.exponential(size=N),
        "rooms": rng.integers(1, 8, N),
        "city": rng.choice(["Lyon", "Nice", "Paris"], N),
        "owner": rng.random(N) < 0.5,
        "day": np.datetime64("2024-01-01") + rng.integers(0, 700, N).astype("timedelta64[D]"),
    }
    y = X["size"] + (X["city"] == "Nice") + rng.normal(size=N)
    return X, y, rng


def codes_of(X, y=None, column=None, **options):
    return check_table(X, y, **options).of(column).codes()


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_in_clean_data(seed):
    X, y, _ = clean(seed)
    for target in (None, y, y > 0, np.where(y > 1, "high", "low"), np.digitize(y, [-1, 1])):
        found = check_table(X, target)
        assert found == []
        assert found.notes == []
        assert str(found) == "nothing found"


@pytest.mark.parametrize("value", [3.0, "same", True, np.datetime64("2024-01-01")])
def test_a_constant_column_is_found(value):
    X, y, _ = clean()
    assert codes_of(X | {"c": np.full(N, value)}, y, "c") == ["constant"]


def test_a_copy_in_other_units_is_found_with_its_original():
    X, y, rng = clean()
    X["age"][rng.random(N) < 0.02] = np.nan
    found = check_table(X | {"months": 3 - 12 * X["age"]}, y)
    assert [(one.code, one.column) for one in found] == [("copy", "months")]
    assert "'age'" in found[0].sentence


def test_text_that_names_the_same_levels_is_a_copy():
    X, y, _ = clean()
    assert codes_of(X | {"town": np.char.upper(X["city"])}, y, "town") == ["copy"]


def test_a_near_copy_is_found_and_a_strong_correlation_is_not():
    X, y, rng = clean()
    near, strong = X["age"] + 0.2 * rng.normal(size=N), X["age"] + 2 * rng.normal(size=N)
    found = check_table(X | {"near": near, "strong": strong}, y)
    assert [(one.code, one.column) for one in found] == [("near-copy", "near")]


def test_copies_are_found_in_wide_tables_and_a_note_says_what_was_not_looked_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3000))
    X[:, 2999] = 5 * X[:, 7]
    found = check_table(X, X[:, 0] + rng.normal(size=50))
    assert [(one.code, one.column) for one in found] == [("copy", "x2999")]
    assert "near-copies" in found.notes[0]


def test_identifiers_are_found():
    X, y, _ = clean()
    ids = np.array([f"u{i}" for i in range(N)])
    assert codes_of(X | {"id": ids}, y, "id") == ["identifier"]
    assert codes_of(X | {"row": np.arange(N) + 5}, y, "row") == ["identifier"]


def test_values_that_cannot_be_read_are_found():
    X, y, _ = clean()
    lists = np.empty(N, dtype=object)
    lists[:] = [[i] for i in range(N)]
    assert codes_of(X | {"lists": lists}, y, "lists") == ["unreadable"]


@pytest.mark.parametrize(
    "leak",
    [
        lambda y, rng: np.exp(y / 3),
        lambda y, rng: np.round(y, 2) * 1e6,
        lambda y, rng: np.where(rng.random(N) < 0.001, np.nan, y),
    ],
)
def test_a_column_that_tells_a_quantity_is_found(leak):
    X, y, rng = clean()
    assert "leak" in codes_of(X | {"leak": leak(y, rng)}, y, "leak")
    assert "leak" not in codes_of(X | {"good": y + 0.3 * rng.normal(size=N)}, y, "good")


@pytest.mark.parametrize("values", [lambda y: np.where(y > 0, "won", "lost"), lambda y: np.abs(y > 0) - 0.5])
def test_a_column_that_tells_classes_is_found(values):
    X, y, rng = clean()
    assert codes_of(X | {"leak": values(y)}, y > 0, "leak") == ["leak"]
    weaker = np.where(rng.random(N) < 0.05, -y, y)
    assert codes_of(X | {"good": values(weaker)}, y > 0, "good") == []


def test_a_column_that_is_not_monotone_in_the_target_can_leak_it():
    rng = np.random.default_rng(0)
    distance = rng.uniform(-1, 1, 2000)
    assert codes_of({"d": distance, "noise": rng.normal(size=2000)}, np.abs(distance) > 0.5, "d") == ["leak"]


def test_two_outliers_of_the_target_are_found_and_cost_the_selection_its_features():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 10))
    y = X[:, :4].sum(axis=1) + rng.normal(size=200)
    assert GramSchmidt().fit(X, y).n_features_ == 4
    y[:2] = 1e4, -1e4
    with pytest.warns(UserWarning, match="keeps none"):
        selector = TableSelector().fit(X, y)
    assert selector.n_features_ == 0
    assert selector.findings_.of(None).codes() == ["outlying-target"]


def test_heavy_tails_are_found():
    X, y, rng = clean()
    assert codes_of(X | {"income": np.exp(3 * rng.normal(size=N))}, y, "income") == ["heavy-tail"]


def test_rare_classes_are_found_with_their_label():
    X, y, _ = clean()
    labels = np.where(y > 0, "yes", "no").astype(object)
    labels[:3] = "perhaps"
    found = check_table(X, labels)
    assert [(one.code, one.column) for one in found] == [("rare-class", None)]
    assert "3 rows of class 'perhaps'" in found[0].sentence


@pytest.mark.parametrize(("share", "codes"), [(0.02, []), (0.2, ["missing"]), (0.7, ["mostly-missing"])])
def test_missing_values_are_found_from_a_share_on(share, codes):
    X, y, rng = clean()
    gone = rng.permutation(N) < share * N
    assert codes_of(X | {"age": np.where(gone, np.nan, X["age"])}, y, "age") == codes
    assert codes_of(X | {"city": np.where(gone, None, X["city"])}, y, "city") == codes


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_missingness_that_tells_the_target_is_found(task):
    X, y, rng = clean()
    gone = (y > 0.5) & (rng.random(N) < 0.5)
    target = y if task == "regression" else np.digitize(y, [-1, 1])
    found = check_table(X | {"age": np.where(gone, np.nan, X["age"])}, target).of("age")
    assert found.codes() == ["missing", "telling-missingness"]
    assert "elsewhere" in found[1].sentence


def test_text_that_holds_numbers_is_found_and_what_does_not_parse_is_counted():
    X, y, rng = clean()
    prices = np.array([f"{value:.2f}".replace(".", ",") for value in rng.normal(size=N)])
    assert codes_of(X | {"price": prices}, y, "price") == ["text-number"]
    whole = rng.integers(10, 40, N).astype(str)
    whole[:5] = "unknown"
    found = check_table(X | {"size in m2": whole}, y)
    assert found.codes() == ["text-number"]
    assert "30 of 31" in found[0].sentence


def test_counts_that_were_taken_as_classes_are_found_unless_the_task_is_given():
    X, _y, rng = clean()
    counts = rng.poisson(np.exp(0.5 + 0.3 * X["size"]))
    assert "count-target" in codes_of(X, counts)
    assert "count-target" not in codes_of(X, counts, task="classification")
    assert "count-target" not in codes_of(X, counts, task="regression")


def test_sentences_say_on_how_many_rows_they_are_based():
    rng = np.random.default_rng(0)
    a = rng.normal(size=5000)
    found = check_table({"a": a, "b": a + 1e-3 * rng.normal(size=5000)})
    assert "(on 2000 of 5000 rows)" in found[0].sentence


def test_findings_print_one_to_a_line_and_give_advice():
    X, y, _ = clean()
    found = check_table(pl.DataFrame(X).with_columns(one=pl.lit(1), id=pl.Series([f"u{i}" for i in range(N)])), y)
    assert str(found) == repr(found)
    assert str(found).splitlines() == [
        "constant: 'one' is 1 in every row; it is not ranked",
        f"identifier: 'id' holds {N} different texts in {N} rows; it is not ranked",
    ]
    assert found[0] == Finding("constant", "one", found[0].sentence)
    assert found[0].advice


def test_a_selector_keeps_the_findings_of_its_table():
    X, y, _ = clean()
    assert TableSelector().fit(X | {"one": np.ones(N)}, y).findings_.codes() == ["constant"]


def test_unknown_tasks_and_missing_targets_are_refused():
    X, y, _ = clean()
    with pytest.raises(ValueError, match="task"):
        check_table(X, y, task="guess")
    y[3] = np.nan
    with pytest.raises(ValueError, match="NaN or no label in 1 of 400 rows"):
        check_table(X, y)


def test_the_docs_list_every_code_with_its_advice():
    page = (Path(__file__).parents[2] / "docs" / "tables.md").read_text()
    rows = [
        line.strip("|").split(" | ") for line in page.partition("| code |")[2].splitlines() if line.startswith("| `")
    ]
    assert {code.strip(" `"): advice.strip() for code, _, advice in rows} == CODES


@pytest.mark.parametrize("far", ["9999-12-31", "1900-01-01"])
def test_a_date_that_stands_for_none_is_told(far):
    rng = np.random.default_rng(0)
    when = np.datetime64("2021-01-01") + rng.integers(0, 900, 100)
    assert not [each for each in check_table({"when": when}) if each.code == "heavy-tail"]
    when[7] = np.datetime64(far)
    (found,) = [each for each in check_table({"when": when}) if each.code == "heavy-tail"]
    assert found.column == "when"
    assert far in found.sentence
    assert "missing date" in found.sentence
