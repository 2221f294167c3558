"""Loading real data sets from a folder outside the package."""

import numpy as np
import pytest
from scipy import sparse

from tamis.datasets import data_folder, load, names


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.RandomState(0)
    dense = {
        "X": rng.randint(256, size=(6, 4), dtype=np.uint8),
        "y": np.arange(6) % 2,
        "feature_names": np.array(list("abcd")),
    }
    np.savez(tmp_path / "dense.npz", **dense)
    parts = {}
    for prefix, n in (("", 7), ("valid_", 3), ("test_", 2)):
        table = sparse.random_array((n, 9), density=0.4, rng=rng, format="csr")
        table.data = np.ceil(9 * table.data).astype(np.int16)
        parts |= {
            f"{prefix}data": table.data,
            f"{prefix}indices": table.indices,
            f"{prefix}indptr": table.indptr,
            f"{prefix}shape": np.array(table.shape),
        }
    np.savez(tmp_path / "thin.npz", **parts, y=np.arange(7) % 2, y_valid=np.arange(3) % 2)
    monkeypatch.setenv("TAMIS_DATA", str(tmp_path))
    return tmp_path


def test_the_folder_is_the_one_that_the_variable_names(folder):
    assert data_folder() == folder
    assert names() == ["dense", "thin"]


def test_integer_tables_come_as_floats_and_the_rest_as_it_is(folder):
    data = load("dense")
    with np.load(folder / "dense.npz") as stored:
        np.testing.assert_array_equal(data.X, stored["X"].astype(float))
        assert data.X.dtype == float
        np.testing.assert_array_equal(data.y, stored["y"])
    assert data.feature_names.tolist() == list("abcd")


def test_sparse_parts_are_put_together_for_every_split(folder):
    data = load("thin")
    with np.load(folder / "thin.npz") as stored:
        for key, prefix in (("X", ""), ("X_valid", "valid_"), ("X_test", "test_")):
            table = data[key]
            assert sparse.issparse(table)
            assert table.format == "csr"
            assert table.shape == tuple(stored[f"{prefix}shape"])
            assert table.dtype == float
            np.testing.assert_array_equal(table.data, stored[f"{prefix}data"])
            np.testing.assert_array_equal(table.indptr, stored[f"{prefix}indptr"])
    assert data.y_valid.tolist() == [0, 1, 0]
    assert not any(key.endswith(("indptr", "indices", "shape")) for key in data)


def test_an_unknown_name_says_what_there_is_and_how_to_point_elsewhere(folder):
    with pytest.raises(FileNotFoundError, match=r"nothing\.npz.*dense, thin.*TAMIS_DATA"):
        load("nothing")


def test_a_folder_that_does_not_exist_holds_no_data_set(tmp_path, monkeypatch):
    monkeypatch.setenv("TAMIS_DATA", str(tmp_path / "nowhere"))
    assert names() == []
    with pytest.raises(FileNotFoundError, match="no data set"):
        load("dense")


@pytest.mark.parametrize("name", ["spambase", "madelon", "leukemia", "nips_dexter"])
def test_a_real_data_set_has_one_label_per_row(name):
    if name not in names():
        pytest.skip(f"the data set {name} is not in the data folder")
    data = load(name)
    assert data.X.shape[0] == len(data.y)
    assert data.X.dtype.kind == "f"
    assert np.unique(data.y).size >= 2
