"""Every format in and out gives the same answer."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import io, sparse
from sklearn.datasets import dump_svmlight_file

from tamis.datasets import data_folder


def _save_npz(table: pl.DataFrame, path: Path) -> None:
    features = table.drop("y")
    np.savez(path, X=features.to_numpy(), y=table["y"].to_numpy(), feature_names=np.array(features.columns))


def _save_sparse_npz(table: pl.DataFrame, path: Path) -> None:
    X = sparse.csr_array(table.drop("y").to_numpy())
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    np.savez(path, y=table["y"].to_numpy(), **parts)


def _save_mat(table: pl.DataFrame, path: Path) -> None:
    io.savemat(path, {"X": table.drop("y").to_numpy(), "Y": table["y"].to_numpy()[:, None]})


def _save_svmlight(table: pl.DataFrame, path: Path) -> None:
    dump_svmlight_file(table.drop("y").to_numpy(), table["y"].to_numpy(), str(path))


def _save_arff(table: pl.DataFrame, path: Path) -> None:
    head = ["@relation table", *(f"@attribute {name} numeric" for name in table.columns), "@data"]
    path.write_text("\n".join([*head, table.write_csv(include_header=False)]))


def _save_gz(table: pl.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(table.write_csv().encode()))


def _save_svmlight_gz(table: pl.DataFrame, path: Path) -> None:
    plain = path.with_suffix("")
    _save_svmlight(table, plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))


WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "t.tsv": lambda table, path: table.write_csv(path, separator="\t"),
    "T.CSV": lambda table, path: table.write_csv(path),
    "semicolons.csv": lambda table, path: table.write_csv(path, separator=";"),
    "t.csv.gz": _save_gz,
    "t.parquet": lambda table, path: table.write_parquet(path),
    "t.arrow": lambda table, path: table.write_ipc(path),
    "t.feather": lambda table, path: table.write_ipc(path),
    "t.ipc": lambda table, path: table.write_ipc(path),
    "t.npz": _save_npz,
    "sparse.npz": _save_sparse_npz,
    "t.mat": _save_mat,
    "t.svm": _save_svmlight,
    "t.libsvm": _save_svmlight,
    "t.svmlight.gz": _save_svmlight_gz,
    "t.arff": _save_arff,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_input_format_gives_the_selection_that_csv_gives(name, table, csv, tamis, tmp_path):
    path = tmp_path / name
    WRITERS[name](table, path)
    expected = tamis("select", csv, "--target", "y", "--json")
    outcome = tamis("select", path, "--target", "y", "--json")
    assert expected.names == ["x5", "x2"]
    assert outcome.names == expected.names, outcome.err
    assert outcome.json["reason"] == expected.json["reason"]
    scores = [[feature["score"] for feature in each.json["features"]] for each in (outcome, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-6)


@pytest.mark.parametrize("name", ["t.npz", "sparse.npz", "t.mat", "t.svm"])
def test_formats_with_a_target_of_their_own_need_no_target_option(name, table, tamis, tmp_path):
    WRITERS[name](table, tmp_path / name)
    assert tamis("select", tmp_path / name, "--json").json["target"] == "y"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".feather", ".ipc", ".npz"])
@pytest.mark.parametrize("source", ["table.csv", "sparse.npz"])
def test_every_output_format_holds_the_kept_columns_and_the_target(source, suffix, table, csv, tamis, tmp_path):
    _save_sparse_npz(table, tmp_path / "sparse.npz")
    kept = tmp_path / f"kept{suffix}"
    written = tamis("select", tmp_path / source, "--target", "y", "--out", kept)
    assert (written.code, written.out) == (0, "")
    assert f"wrote {kept}" in written.err
    again = tamis("rank", kept, "--target", "y", "--json")
    assert again.names == ["x5", "x2"]
    assert again.json["n_rows"] == len(table)


def test_kept_columns_come_in_the_order_of_the_file_with_their_values_and_types(shops, tamis, tmp_path):
    kept = tmp_path / "kept.parquet"
    tamis("select", shops, "--target", "price", "--drop", "id,city,color", "--stop", 3, "--out", kept)
    source = pl.read_csv(shops).select("open", "area", "noise", "price")
    assert pl.read_parquet(kept).equals(source)


def test_integers_of_a_csv_stay_integers(tamis, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,5,0\n2,3,1\n3,4,0\n4,1,1\n5,9,0\n")
    tamis("select", tmp_path / "t.csv", "--target", "y", "--stop", 2, "--out", tmp_path / "kept.csv")
    assert (tmp_path / "kept.csv").read_text() == (tmp_path / "t.csv").read_text()


def test_csv_in_and_out_work_without_polars_and_give_the_same(shops, tamis, tmp_path, without):
    arguments = ("select", shops, "--target", "price")
    fast, fast_json = tmp_path / "fast.csv", tamis(*arguments, "--json")
    tamis(*arguments, "--out", fast)
    without("polars")
    slow, slow_json = tmp_path / "slow.csv", tamis(*arguments, "--json")
    tamis(*arguments, "--out", slow)
    assert slow_json.json == fast_json.json
    assert slow.read_text() == fast.read_text()


def test_a_mat_file_may_hold_names_and_labels_in_cells(tamis, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    labels = np.where(X[:, 1] > 0, "ill", "well").astype(object)
    names = np.array(["age", "dose", "height"], dtype=object)
    io.savemat(tmp_path / "t.mat", {"X": X, "Y": labels, "feature_names": names})
    assert tamis("rank", tmp_path / "t.mat", "--top", 1, "--json").names == ["dose"]


def test_parquet_categories_decimals_and_empty_columns_are_understood(tamis, tmp_path, table):
    rich = table.with_columns(
        pl.col("x5").cast(pl.Decimal(20, 6)),
        pl.Series("kind", ["a", "b", "c"] * 40, dtype=pl.Categorical),
        pl.Series("when", pl.date_range(pl.date(2000, 1, 1), pl.date(2000, 4, 29), eager=True)),
        pl.lit(None).alias("nothing"),
    )
    path = tmp_path / "t.parquet"
    rich.write_parquet(path)
    outcome = tamis("select", path, "--target", "y", "--json")
    assert outcome.names[:2] == ["x5", "x2"]
    assert outcome.json["encoding"]["kind"].startswith("3 levels")
    assert outcome.json["encoding"]["when"].startswith("date")
    assert outcome.json["encoding"]["nothing"] == "not ranked: every value is missing"


def test_columns_of_lists_are_refused_by_name_unless_left_out(tamis, tmp_path, table):
    path = tmp_path / "t.parquet"
    table.with_columns(pl.Series("my list", [[1, 2]] * 120)).write_parquet(path)
    assert "--drop 'my list'" in tamis("select", path, "--target", "y").err
    assert tamis("select", path, "--target", "y", "--drop", "my list", "--json").names == ["x5", "x2"]


def test_spambase_gives_the_same_words_from_npz_and_from_csv(tamis, tmp_path):
    source = data_folder() / "spambase.npz"
    if not source.is_file():
        pytest.skip("the real data sets are not on this machine: set TAMIS_DATA to their folder")
    with np.load(source) as archive:
        columns = dict(zip(archive["feature_names"].tolist(), archive["X"].T, strict=True))
        pl.DataFrame({name: np.ascontiguousarray(values) for name, values in columns.items()}).with_columns(
            pl.Series("spam", archive["y"])
        ).write_csv(tmp_path / "spam.csv")
    from_npz = tamis("select", source)
    from_csv = tamis("select", tmp_path / "spam.csv", "--target", "spam")
    assert from_npz.out == from_csv.out
    assert from_npz.err == from_csv.err.replace("'spam'", "'y'")
    assert "word_freq_" in from_npz.out
    assert "'word_freq_" in from_npz.err
