"""Mixed columns of files, encoded and ranked block by block."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tamis import CorrelationScore, GramSchmidt, ReliefF, TableSelector
from tamis.engine import FileTable
from tamis.engine import _file_blocks as file_blocks_module
from tamis.table._encode_files import encode_files

N = 2000


@pytest.fixture
def table():
    rng = np.random.RandomState(0)
    size, day, city = rng.standard_normal(N), rng.randint(0, 1000, N), rng.choice(["Lyon", "Nice", "Paris"], N)
    noise, flag = rng.standard_normal(N), rng.uniform(size=N) < 0.5
    y = size + 2.0 * (city == "Nice") + day / 400 + flag + rng.standard_normal(N)
    holes = rng.uniform(size=N) < 0.2
    return pa.table(
        {
            "size": pa.array(size, mask=holes),
            "city": pa.array(city.astype(object), mask=rng.uniform(size=N) < 0.1).dictionary_encode(),
            "day": [date(2020, 1, 1) + timedelta(days=int(each)) for each in day],
            "flag": pa.array(flag, mask=rng.uniform(size=N) < 0.05),
            "noise": noise,
            "code": [f"c{i}" for i in range(N)],
            "same": ["x"] * N,
            "one": np.ones(N),
            "empty": pa.nulls(N, pa.float64()),
            "list": [[1]] * N,
            "y": y,
        }
    )


@pytest.fixture
def files(table, tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks_module, "_FEWEST_ROWS", 100)
    parquet.write_table(table, tmp_path / "table.parquet", row_group_size=370)
    found = FileTable(tmp_path / "table.parquet", memory=2**17)
    return found.select([name for name in found.column_names if name != "y"]), found.read_column("y")


def test_relevant_columns_of_all_kinds_are_found(files):
    found = TableSelector().fit(*files)
    assert sorted(found.get_feature_names_out().tolist()) == ["city", "day", "flag", "size"]
    assert found.stop_.n_features == 4
    assert "noise" in found.stop_.reason
    assert found.encoding_["city"] == "4 levels, missing among them, one-hot"
    assert "missing values at the mean" in found.encoding_["size"]
    assert found.encoding_["day"] == "days since 1970"
    assert found.encoding_["noise"] == "as it is"
    assert sorted(found.not_ranked_) == ["code", "empty", "list", "one", "same"]
    assert found.encoding_["code"].startswith("not ranked: text of more than 30 levels")
    assert found.summary() is not None


def test_what_is_ranked_is_what_a_table_in_memory_encodes_to(files, table):
    X, y = files
    columns = ["size", "city", "flag", "noise"]
    in_blocks = TableSelector(GramSchmidt(stop=None)).fit(X.select(columns), y)
    _, encoded = encode_files(X.select(columns), refuse_missing=False)
    in_memory = GramSchmidt(stop=None, groups=[columns[j] for j in encoded.places]).fit(
        encoded.table.take_rows(np.arange(N)), y
    )
    assert in_blocks.get_feature_names_out()[in_blocks.order_].tolist() == in_memory.group_order_.tolist()
    size = table.column("size").to_numpy(zero_copy_only=False)
    block = encoded.table.take_rows(np.arange(N))
    np.testing.assert_allclose(block[:, 0], np.where(np.isnan(size), np.nanmean(size), size))
    np.testing.assert_array_equal(block[:, 1], np.isnan(size))
    city = np.array(table.column("city").to_pylist(), dtype=object)
    assert set(encoded.names[2:6]) == {"city=Paris", "city=Nice", "city=Lyon", "city=missing"}
    for place in range(2, 6):
        level = encoded.names[place].removeprefix("city=")
        expected = np.equal(city, None) if level == "missing" else city == level
        np.testing.assert_array_equal(block[:, place], expected)


def test_text_files_are_encoded_alike(files, table, tmp_path):
    csv.write_csv(table.drop_columns(["list", "y"]), tmp_path / "table.csv")
    text = FileTable(tmp_path / "table.csv")
    found, expected = (
        TableSelector(GramSchmidt(stop=4)).fit(text, files[1]),
        TableSelector(GramSchmidt(stop=4)).fit(*files),
    )
    assert found.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    assert text.n_rows == N


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (TableSelector(ReliefF()), "ReliefF needs all rows in memory"),
        (TableSelector(missing="error"), r"missing values in 'size' \(\d+\), 'city'"),
        (TableSelector(CorrelationScore(), missing="pass"), "missing='pass' needs all rows"),
        (TableSelector(CorrelationScore()), "copies of groups of columns need the rows"),
    ],
)
def test_what_blocks_cannot_do_is_refused(selector, message, files):
    with pytest.raises(ValueError, match=message):
        selector.fit(*files)


def test_a_table_of_nothing_that_can_be_ranked_says_why(files):
    X, y = files
    with pytest.raises(ValueError, match="no column of X can be ranked: 'code': text of more than 30 levels"):
        TableSelector().fit(X.select(["code", "one"]), y)


def test_infinite_values_are_refused_by_name(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, np.inf, 2.0, 3.0], "b": [1.0, 2.0, 4.0, 3.0]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="column 'a' holds infinite values"):
        TableSelector(GramSchmidt(stop=1)).fit(FileTable(tmp_path / "t.parquet"), [1.0, 2.0, 4.0, 3.1])
