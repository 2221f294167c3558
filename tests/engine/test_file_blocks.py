"""Files read in batches: what they hold, in blocks sized by the memory, and what is refused."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from tamis import GramSchmidt, TableSelector
from tamis.engine import FileTable, TextLayout
from tamis.engine import _file_blocks as file_blocks_module
from tamis.engine._file_blocks import read_ahead

N = 1000


def a_table():
    rng = np.random.RandomState(0)
    columns = {f"x{j}": rng.standard_normal(N) for j in range(6)}
    columns["whole"] = rng.randint(-5, 5, N)
    columns["yes"] = rng.uniform(size=N) < 0.3
    columns["y"] = columns["x0"] - columns["x3"] + rng.standard_normal(N)
    columns["word"] = rng.choice(["a", "b"], N)
    return pa.table(columns)


def write_parquet(table, folder):
    half = table.num_rows // 2
    parquet.write_table(table.slice(0, half), folder / "part-0.parquet", row_group_size=170)
    parquet.write_table(table.slice(half), folder / "part-1.parquet")
    return folder / "part-*.parquet"


def write_arrow(table, folder):
    feather.write_feather(table, folder / "table.arrow", compression="lz4", chunksize=130)
    return folder / "table.arrow"


def write_csv(table, folder):
    csv.write_csv(table, folder / "table.csv")
    return folder / "table.csv"


def write_gzip(table, folder):
    write_csv(table, folder)
    with gzip.open(folder / "table.csv.gz", "wb") as file:
        file.write((folder / "table.csv").read_bytes())
    return folder / "table.csv.gz"


WRITERS = [write_parquet, write_arrow, write_csv, write_gzip]
NUMBERS = ["x0", "x1", "x2", "x3", "x4", "x5", "whole", "yes"]


@pytest.mark.parametrize("write", WRITERS)
def test_files_give_what_their_rows_give_in_memory(write, tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks_module, "_FEWEST_ROWS", 64)
    monkeypatch.setattr(file_blocks_module, "_STREAM_BYTES", 2**14)
    table = a_table()
    files = FileTable(write(table, tmp_path), memory=64 * 8 * 8 * 16)
    assert files.n_rows == N
    assert files.column_names == tuple(table.column_names)
    blocks, y = files.blocks(NUMBERS), files.read_column("y")
    X = np.column_stack([table.column(name).to_numpy().astype(float) for name in NUMBERS])
    sizes = blocks.reduce(lambda block: [len(block)], lambda first, second: first + second)
    assert sum(sizes) == N
    assert max(sizes) <= 64
    np.testing.assert_allclose(blocks.take_rows(np.arange(N)), X, rtol=1e-12)
    np.testing.assert_allclose(blocks.take_rows(np.array([3, 999]), np.array([7, 2])), X[[3, 999]][:, [7, 2]])
    np.testing.assert_allclose(blocks.head(100), X[:100], rtol=1e-12)
    found, expected = GramSchmidt().fit(blocks, y), GramSchmidt().fit(X, y)
    np.testing.assert_array_equal(found.support_, expected.support_)
    assert found.get_feature_names_out().tolist() == ["x0", "x3"]


def test_single_precision_stays_single(tmp_path):
    parquet.write_table(pa.table({"a": pa.array([1.0, 2.0], pa.float32())}), tmp_path / "a.parquet")
    blocks = FileTable(tmp_path / "a.parquet").blocks()
    assert blocks.dtype == np.float32
    assert blocks.head(2).dtype == np.float32


def test_missing_numbers_are_nan_and_missing_words_none(tmp_path):
    table = pa.table({"a": [1, None, 3], "b": [True, None, False], "c": ["x", None, "y"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    files = FileTable(tmp_path / "a.parquet")
    np.testing.assert_array_equal(files.read_column("a"), [1, np.nan, 3])
    np.testing.assert_array_equal(files.read_column("b"), [1, np.nan, 0])
    assert files.read_column("c").tolist() == ["x", None, "y"]


def test_text_may_have_other_marks_and_numbers_that_become_decimals(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;b\n" + "1;2\n" * 3000 + "1,5;NA\n")
    files = FileTable(path, layout=TextLayout(";", ","))
    assert files.n_rows == 3001
    assert files.read_column("a")[-1] == 1.5
    assert np.isnan(files.read_column("b")[-1])


@pytest.mark.parametrize("write", WRITERS)
def test_whole_numbers_keep_their_digits(write, tmp_path):
    whole = 2**60 + np.arange(N)
    files = FileTable(write(pa.table({"id": whole, "x": np.linspace(0, 1, N)}), tmp_path))
    np.testing.assert_array_equal(files.read_column("id"), whole)
    assert files.n_rows == N
    assert files.take_rows(np.arange(N) < 5).read_column("id").tolist() == whole[:5].tolist()
    assert files.read_column("x").dtype == np.float64


def test_whole_numbers_of_text_are_decimals_where_a_later_cell_is_one_or_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks_module, "_STREAM_BYTES", 2**10)
    for last, value in (("1.5", 1.5), ("1e3", 1000.0), ("99999999999999999999", 1e20), ("NA", np.nan)):
        (tmp_path / "table.csv").write_text("a,b\n" + "1,2\n" * 3000 + f"{last},0\n")
        found = FileTable(tmp_path / "table.csv").read_column("a")
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found[[0, -1]], [1.0, value])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("int32", "int64", "int64"),
        ("uint32", "int32", "int64"),
        ("uint32", "uint64", "uint64"),
        ("int8", "uint64", "f8"),
    ],
)
def test_parts_with_whole_numbers_of_other_sizes_keep_their_digits(one, other, expected, tmp_path):
    large = np.array([2**31 - 1, np.iinfo(other).max - 1], dtype=other)
    parquet.write_table(pa.table({"a": pa.array([1, 2], pa.type_for_alias(one))}), tmp_path / "p0.parquet")
    parquet.write_table(pa.table({"a": large}), tmp_path / "p1.parquet")
    found = FileTable(tmp_path / "p*.parquet").read_column("a")
    assert found.dtype == np.dtype(expected)
    np.testing.assert_array_equal(found, np.array([1, 2, *large.tolist()], dtype=expected))


def test_a_word_among_numbers_is_refused_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks_module, "_STREAM_BYTES", 2**10)
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 3000 + "1,oops\n")
    files = FileTable(path)
    with pytest.raises(ValueError, match=r"cannot read .*table.csv: .*oops"):
        files.read_column("b")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["part-0.parquet", "other.parquet"], "other.parquet has no column 'b', unlike"),
        (["part-0.parquet", "words.parquet"], "column 'b' holds string in .*words.parquet and int64 in"),
        (["nothing-*.parquet"], "no such file"),
        (["table.xlsx"], "'.xlsx' is none of .parquet"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(names, message, tmp_path):
    parquet.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "part-0.parquet")
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    parquet.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "words.parquet")
    (tmp_path / "table.xlsx").write_bytes(b"")
    with pytest.raises(ValueError, match=message):
        FileTable([tmp_path / name for name in names])


def test_columns_that_are_no_numbers_are_refused_by_name(tmp_path):
    files = FileTable(write_parquet(a_table(), tmp_path))
    with pytest.raises(ValueError, match=r"column 'word' of .* is not numeric"):
        files.blocks()
    with pytest.raises(ValueError, match="has no column 'z'"):
        files.read_column("z")


def test_what_a_reader_raises_reaches_whoever_waits():
    def items():
        yield 1
        raise OSError("disk")

    reading = read_ahead(items())
    assert next(reading) == 1
    with pytest.raises(OSError, match="disk"):
        next(reading)


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    def missing():
        raise ImportError("pyarrow")

    monkeypatch.setattr(file_blocks_module, "arrow", missing)
    with pytest.raises(ImportError, match=r"tamis\[scale\]"):
        FileTable("anything.parquet")


def test_parts_with_other_types_of_one_kind_are_read_in_one_type(tmp_path):
    first = pa.table({"a": pa.array([1, 2], pa.int32()), "b": pa.nulls(2), "c": ["x", None]})
    second = pa.table({"a": [1.5, None], "b": ["u", "v"], "c": pa.array(["y", "z"], pa.large_string())})
    parquet.write_table(first, tmp_path / "p0.parquet")
    parquet.write_table(second, tmp_path / "p1.parquet")
    files = FileTable(tmp_path / "p*.parquet")
    np.testing.assert_array_equal(files.read_column("a"), [1, 2, 1.5, np.nan])
    assert files.read_column("b").tolist() == [None, None, "u", "v"]
    assert files.read_column("c").tolist() == ["x", None, "y", "z"]


def test_two_columns_of_one_name_and_no_column_are_refused(tmp_path):
    parquet.write_table(pa.table([[1, 2], [3, 4]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="two columns are named 'a'"):
        FileTable(tmp_path / "t.parquet")
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
    files = FileTable(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="no column is given"):
        files.select([])
    with pytest.raises(ValueError, match="has no column 'z'"):
        files.blocks(["z"])


def test_files_are_taken_without_asking_for_blocks(tmp_path):
    table = a_table().select(["x0", "x1", "x3"])
    parquet.write_table(table, tmp_path / "t.parquet")
    y = table.column("x3").to_numpy()
    assert GramSchmidt(stop=1).fit(FileTable(tmp_path / "t.parquet"), y).get_feature_names_out().tolist() == ["x3"]


@pytest.mark.parametrize("selector", [GramSchmidt(stop=1), TableSelector(GramSchmidt(stop=1))])
def test_the_kept_columns_of_files_are_files_again(selector, tmp_path):
    table = a_table().select(["x0", "x1", "x3"])
    parquet.write_table(table, tmp_path / "t.parquet")
    files = FileTable(tmp_path / "t.parquet")
    kept = selector.fit(files, table.column("x3").to_numpy()).transform(files)
    assert kept.column_names == ("x3",)
    with pytest.raises(ValueError, match="The feature names should match"):
        selector.transform(files.select(["x3", "x0", "x1"]))


def test_advice_on_missing_values_in_files_can_be_followed(tmp_path):
    values = np.random.RandomState(0).standard_normal((50, 2))
    y = values[:, 1].copy()
    values[3, 0] = np.nan
    parquet.write_table(pa.table(list(values.T), names=["a", "b"]), tmp_path / "t.parquet")
    files = FileTable(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"TableSelector\(GramSchmidt\(\)\)\.fit\(files\.select\(columns\), y\)"):
        GramSchmidt().fit(files.blocks(["a", "b"]), y)
    assert TableSelector(GramSchmidt()).fit(files.select(["a", "b"]), y).get_feature_names_out().tolist() == ["b"]


@pytest.mark.parametrize("memory", ["2GB", None, 0, -1, True, float("nan")])
def test_memory_that_is_no_number_of_bytes_is_refused_at_once(memory, tmp_path):
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="memory must be a number of bytes above 0"):
        FileTable(tmp_path / "t.parquet", memory=memory)


def test_a_column_that_is_given_twice_is_refused_by_name(tmp_path):
    parquet.write_table(pa.table({"a": [1, 2], "b": [3, 4]}), tmp_path / "t.parquet")
    files = FileTable(tmp_path / "t.parquet")
    for take in (files.select, files.blocks):
        with pytest.raises(ValueError, match="column 'a' is given twice"):
            take(["a", "b", "a"])


def test_rows_are_taken_by_a_mask_and_not_by_their_places(tmp_path):
    parquet.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "t.parquet")
    files = FileTable(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="the mask holds int64, not booleans"):
        files.take_rows(np.arange(3))
    assert files.take_rows([True, False, True]).read_column("a").tolist() == [1, 3]


@pytest.mark.parametrize("change", ["deleted", "grown", "shrunk", "other columns"])
@pytest.mark.parametrize("write", [parquet.write_table, csv.write_csv])
def test_a_file_that_changes_between_passes_is_named(write, change, tmp_path):
    suffix = "csv" if write is csv.write_csv else "parquet"
    table = a_table().select(["x0", "x1", "y"])
    for part in range(2):
        write(table, tmp_path / f"p{part}.{suffix}")
    files = FileTable([tmp_path / f"p{part}.{suffix}" for part in range(2)])
    blocks, y = files.blocks(["x0", "x1"]), files.read_column("y")
    changed = {
        "grown": pa.concat_tables([table, table]),
        "shrunk": table.slice(0, 10),
        "other columns": table.select(["y", "x1"]),
    }
    if change == "deleted":
        (tmp_path / f"p1.{suffix}").unlink()
    else:
        write(changed[change], tmp_path / f"p1.{suffix}")
    what = "is gone" if change == "deleted" else "changed"
    with pytest.raises(ValueError, match=rf"p1.{suffix} {what} while the table was read"):
        GramSchmidt().fit(blocks, y)


def test_a_folder_is_refused_with_what_to_give(tmp_path):
    (tmp_path / "d.parquet").mkdir()
    with pytest.raises(ValueError, match=r"d.parquet: it is a folder; give the files in it"):
        FileTable(tmp_path / "d.parquet")


def test_blocks_of_long_text_are_sized_by_what_the_text_takes(tmp_path):
    rng = np.random.RandomState(0)
    words = np.array([letter * 2000 for letter in "abcd"])
    rows = {"word": words[rng.randint(4, size=6000)], "a": np.arange(6000)}
    parquet.write_table(pa.table(rows), tmp_path / "t.parquet")
    feather.write_feather(pa.table(rows), tmp_path / "t.arrow", compression="lz4")
    for path in (tmp_path / "t.parquet", tmp_path / "t.arrow"):
        files = FileTable(path, memory=64 * 10**6)  # 12 MB of text, a block is 4 MB
        found = list(files.batches(["word", "a"], files.rows_per_block(2)))
        assert max(batch.nbytes for batch in found) <= 4 * 10**6
        assert max(batch.num_rows for batch in found) > 1024
        np.testing.assert_array_equal(np.concatenate([batch.column("a") for batch in found]), rows["a"])


def test_of_a_compressed_arrow_file_only_what_is_asked_for_is_decoded(tmp_path):
    rng = np.random.RandomState(0)
    n_rows, n_columns = 100_000, 20
    table = pa.table({f"x{j}": rng.standard_normal(n_rows).round(1) for j in range(n_columns)})
    feather.write_feather(table, tmp_path / "t.arrow", compression="lz4", chunksize=n_rows)
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    try:
        files = FileTable(tmp_path / "t.arrow")
        assert files.n_rows == n_rows
        assert pool.max_memory() < 8 * n_rows
        np.testing.assert_array_equal(files.read_column("x7"), table.column("x7").to_numpy())
        assert pool.max_memory() < 4 * 8 * n_rows
    finally:
        pa.set_memory_pool(before)
    np.testing.assert_array_equal(files.blocks(["x9", "x2"]).head(5)[:, 0], table.column("x9").to_numpy()[:5])
