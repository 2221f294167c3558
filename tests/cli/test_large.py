"""Tables larger than the memory that a command may take."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tamis.cli import _dask_frames as dask_frames_module
from tamis.cli import _large as large_module
from tamis.cli import _memory as memory_module
from tamis.engine import _file_blocks as file_blocks_module

N = 4000


@pytest.fixture
def table():
    rng = np.random.RandomState(0)
    columns = {f"x{j}": rng.standard_normal(N) for j in range(8)}
    columns["city"] = rng.choice(["Lyon", "Nice", "Paris"], N)
    columns["y"] = columns["x0"] - columns["x3"] + (columns["city"] == "Nice") + rng.standard_normal(N)
    columns["x5"] = pa.array(columns["x5"], mask=rng.uniform(size=N) < 0.1)
    columns["w"] = rng.randint(1, 3, N)
    return pa.table(columns)


@pytest.fixture
def parts(table, tmp_path):
    parquet.write_table(table.slice(0, 1500), tmp_path / "part-0.parquet")
    parquet.write_table(table.slice(1500), tmp_path / "part-1.parquet")
    return str(tmp_path / "part-*.parquet")


def kept(tamis, *arguments):
    outcome = tamis("select", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json


@pytest.mark.parametrize("option", ["--drop", "--weights"])
def test_blocks_keep_what_memory_keeps(tamis, parts, option):
    options = ["--glob", parts, "--target", "y", option, "w"]
    in_blocks = kept(tamis, *options, "--memory", "200kB")
    in_memory = kept(tamis, *options, "--memory", "1GB")
    names = [feature["name"] for feature in in_blocks["features"]]
    assert names == [feature["name"] for feature in in_memory["features"]]
    assert sorted(names) == ["city", "x0", "x3"]
    for one, other in zip(in_blocks["features"], in_memory["features"], strict=True):
        assert one["score"] == pytest.approx(other["score"], rel=1e-8)
    assert "read in blocks" in in_blocks["notes"][0]
    assert "missing values at the mean" in in_blocks["encoding"]["x5"]
    assert in_blocks["n_rows"] == N


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_text_is_read_in_blocks_as_it_is_written(tamis, table, tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    separator = "\t" if suffix == ".tsv" else ";"
    with pa.CompressedOutputStream(str(path), "gzip") if suffix.endswith(".gz") else pa.OSFile(str(path), "wb") as file:
        csv.write_csv(table, file, csv.WriteOptions(delimiter=separator))
    found = kept(tamis, str(path), "--target", "y", "--drop", "w", "--engine", "blocks")
    assert sorted(feature["name"] for feature in found["features"]) == ["city", "x0", "x3"]


def test_decimal_commas_are_found_in_the_first_lines(tamis, tmp_path):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((500, 3))
    y = X[:, 1] + 0.1 * rng.standard_normal(500)
    lines = [";".join(f"{value:.4f}".replace(".", ",") for value in row) for row in np.column_stack([X, y])]
    (tmp_path / "t.csv").write_text(" a ;b;;y\n" + "\n".join(lines) + "\n")
    found = kept(tamis, str(tmp_path / "t.csv"), "--target", "y", "--engine", "blocks")
    assert [feature["name"] for feature in found["features"]] == ["b"]
    ranked = tamis("rank", tmp_path / "t.csv", "--target", "y", "--engine", "blocks", "--json")
    assert set(ranked.names) == {"a", "b", "column_3"}


@pytest.mark.parametrize("name", ["kept.parquet", "kept.csv", "kept.arrow"])
def test_kept_columns_are_written_in_batches(tamis, parts, table, tmp_path, name):
    found = kept(
        tamis, "--glob", parts, "--target", "y", "--drop", "w", "--memory", "200kB", "--out", str(tmp_path / name)
    )
    path = tmp_path / name
    written = {
        ".parquet": parquet.read_table,
        ".csv": csv.read_csv,
        ".arrow": lambda path: pa.ipc.open_file(str(path)).read_all(),
    }[path.suffix](path)
    assert set(written.column_names) == {"y", *(feature["name"] for feature in found["features"])}
    np.testing.assert_allclose(written.column("y").to_numpy(), table.column("y").to_numpy())
    assert not list(tmp_path.glob(".kept*"))


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")  # of dask
def test_dask_reads_the_same_rows(tamis, parts):
    found = kept(tamis, "--glob", parts, "--target", "y", "--drop", "w,city,x5", "--engine", "dask")
    assert sorted(feature["name"] for feature in found["features"]) == ["x0", "x3"]


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")
def test_a_cluster_is_found_by_its_address(tamis, parts):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        options = ["--drop", "w,city,x5", "--engine", "dask", "--scheduler", address]
        found = kept(tamis, "--glob", parts, "--target", "y", *options)
    assert sorted(feature["name"] for feature in found["features"]) == ["x0", "x3"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "much"], "must be a size such as 2GB"),
        (["--memory", "0"], "must be a size such as 2GB"),
        (["--memory", "200kB", "--method", "relief-f"], "relief-f needs all rows in memory.*gram-schmidt"),
        (["--memory", "200kB", "--stop", "cross-validation"], "CrossValidation needs the rows in memory"),
        (["--memory", "200kB", "--row-groups", "w"], "neither gram-schmidt nor its stopping rule probe splits rows"),
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler is for --engine dask"),
        (["--engine", "dask"], "ranks numbers, and column 'city' holds others: leave them out with --drop city"),
        (["--engine", "blocks", "--out", "kept.npz"], "larger than memory is written as .parquet"),
        (["--engine", "blocks", "--missing", "error"], r"missing values in 'x5' \(\d+\)"),
        (["--engine", "blocks", "--target", "z"], "no such column"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(tamis, parts, options, message):
    target = [] if "--target" in options else ["--target", "y"]
    outcome = tamis("select", "--glob", parts, *target, *options)
    assert outcome.code == 2
    assert re.search(message, outcome.err), outcome.err


@pytest.fixture
def holes(table, tmp_path):
    """Files in which one target of eight is missing; returns their pattern, and the rows that have one."""
    has_target = np.random.RandomState(1).uniform(size=N) < 7 / 8
    y = pa.array(table.column("y").to_numpy(), mask=~has_target)
    table = table.set_column(table.column_names.index("y"), "y", y)
    (tmp_path / "holes").mkdir()
    return write_parts(tmp_path / "holes", {"a": table.slice(0, 1500), "b": table.slice(1500)}), has_target


@pytest.mark.parametrize("option", ["--drop", "--weights"])
def test_rows_without_a_target_are_left_out_of_blocks(tamis, holes, option):
    pattern, has_target = holes
    options = ["--glob", pattern, "--target", "y", option, "w", "--drop-rows-without-target"]
    in_blocks, in_memory = kept(tamis, *options, "--memory", "200kB"), kept(tamis, *options, "--memory", "1GB")
    assert in_blocks["n_rows"] == in_memory["n_rows"] == has_target.sum()
    assert in_blocks["n_rows_without_target"] == (~has_target).sum()
    assert f"left out {(~has_target).sum()} of {N} rows" in in_blocks["notes"][1]
    assert [each["name"] for each in in_blocks["features"]] == [each["name"] for each in in_memory["features"]]
    for one, other in zip(in_blocks["features"], in_memory["features"], strict=True):
        assert one["score"] == pytest.approx(other["score"], rel=1e-8)


def test_rows_without_a_target_are_not_written(tamis, holes, tmp_path):
    pattern, has_target = holes
    options = ["--glob", pattern, "--target", "y", "--drop", "w", "--drop-rows-without-target", "--engine", "blocks"]
    kept(tamis, *options, "--out", str(tmp_path / "kept.parquet"))
    assert parquet.read_table(tmp_path / "kept.parquet").column("y").null_count == 0
    assert parquet.read_metadata(tmp_path / "kept.parquet").num_rows == has_target.sum()


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")
def test_rows_without_a_target_are_left_out_of_partitions(tamis, holes):
    options = ["--glob", holes[0], "--target", "y", "--drop", "w,city,x5", "--drop-rows-without-target"]
    on_dask, in_memory = kept(tamis, *options, "--engine", "dask"), kept(tamis, *options, "--engine", "memory")
    for one, other in zip(on_dask["features"], in_memory["features"], strict=True):
        assert (one["name"], one["score"]) == (other["name"], pytest.approx(other["score"], rel=1e-8))


def test_without_that_option_missing_targets_are_refused(tamis, holes):
    outcome = tamis("select", "--glob", holes[0], "--target", "y", "--engine", "blocks")
    assert outcome.code == 2
    assert "--drop-rows-without-target" in outcome.err


def test_folds_of_a_lasso_keep_groups_of_rows_together(tamis, table, tmp_path):
    groups = np.repeat(np.arange(40), N // 40)
    numbers = table.select(["x0", "x1", "x2", "x3", "y"]).append_column("patient", pa.array(groups))
    options = ["--glob", write_parts(tmp_path, {"t": numbers}), "--target", "y", "--method", "lasso"]
    options += ["--row-groups", "patient"]
    in_blocks, in_memory = kept(tamis, *options, "--engine", "blocks"), kept(tamis, *options, "--engine", "memory")
    assert sorted(each["name"] for each in in_blocks["features"]) == sorted(
        each["name"] for each in in_memory["features"]
    )
    for one, other in zip(in_blocks["features"], in_memory["features"], strict=True):
        assert one["score"] == pytest.approx(other["score"], rel=1e-4)


def test_ridge_elimination_reads_blocks(tamis, parts):
    options = ["--glob", parts, "--target", "y", "--drop", "w", "--method", "rfe", "--param", "estimator=ridge"]
    in_blocks = kept(tamis, *options, "--stop", "3", "--engine", "blocks")
    assert sorted(each["name"] for each in in_blocks["features"]) == ["city", "x0", "x3"]


@pytest.mark.parametrize("estimator", ["auto", "squared_hinge", "logistic"])
def test_eliminations_of_classes_read_blocks(tamis, table, tmp_path, estimator):
    label = np.where(np.asarray(table["y"]) > 0, "yes", "no")
    numbers = table.select(["x0", "x1", "x3", "x4", "city"]).append_column("label", pa.array(label))
    options = [write_parts(tmp_path, {"t": numbers}), "--glob", "--target", "label", "--method", "rfe"]
    options += ["--param", f"estimator={estimator}"]
    in_blocks = kept(tamis, *options, "--stop", "3", "--memory", "100kB")
    assert "read in blocks" in in_blocks["notes"][0]
    assert sorted(each["name"] for each in in_blocks["features"]) == ["city", "x0", "x3"]
    outcome = tamis("select", *options, "--memory", "100kB")
    assert outcome.code == 2
    assert "use a number of features, such as --stop 5" in outcome.err


def large_labels(holes=False):
    """Labels that differ in digits beyond those of double precision, and a column that tells them apart."""
    rng = np.random.RandomState(0)
    labels = 2**60 + rng.randint(3, size=900)
    y = pa.array(labels, mask=rng.uniform(size=900) < 0.1 if holes else None)
    return pa.table({"a": rng.standard_normal(900), "b": (labels - 2**60) + rng.standard_normal(900), "y": y})


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_labels_that_are_large_whole_numbers_are_told_apart(tamis, tmp_path, suffix):
    pattern = write_parts(tmp_path, {"t": large_labels()}, suffix)
    found = kept(tamis, pattern, "--glob", "--target", "y", "--engine", "blocks")
    assert [each["name"] for each in found["features"]] == ["b"]
    assert "y taken as 3 classes" in found["reason"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_such_labels_are_told_apart_once_rows_without_one_are_left_out(tamis, tmp_path, suffix):
    pattern = write_parts(tmp_path, {"t": large_labels(holes=True)}, suffix)
    found = kept(tamis, pattern, "--glob", "--target", "y", "--engine", "blocks", "--drop-rows-without-target")
    assert "y taken as 3 classes" in found["reason"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_groups_of_rows_that_are_large_whole_numbers_are_told_apart(tamis, tmp_path, suffix):
    """One group would leave nothing to split."""
    table = large_labels().append_column("z", pa.array(np.random.RandomState(1).standard_normal(900)))
    pattern = write_parts(tmp_path, {"t": table}, suffix)
    options = ["--target", "z", "--method", "lasso", "--row-groups", "y", "--engine", "blocks"]
    assert tamis("select", "--glob", pattern, *options, "--json").code == 0


@pytest.mark.parametrize("engine", ["memory", "blocks"])
@pytest.mark.parametrize("option", ["--target", "--row-groups"])
@pytest.mark.parametrize("last", [None, "1e3"])
def test_labels_that_only_rounding_can_read_are_refused_by_name(tamis, tmp_path, engine, option, last):
    """Beyond 64 bits, or where another cell is no whole number as text writes one."""
    start = 2**65 if last is None else 2**60
    cells = [str(start + label) for label in np.random.RandomState(0).randint(3, size=300).tolist()]
    cells[-1:] = [] if last is None else [last]
    x = np.random.RandomState(1).standard_normal(300)
    lines = [f"{value:.4f},{value + 1:.4f},{cell}" for value, cell in zip(x, cells, strict=False)]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    options = ["--target", "y"] if option == "--target" else ["--target", "b", "--row-groups", "y", "--method", "lasso"]
    outcome = tamis("select", tmp_path / "t.csv", *options, "--engine", engine)
    assert outcome.code == 2
    assert f"{option} y: the column holds whole numbers of which only the first 15 digits are told apart" in outcome.err


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_quantities_may_be_as_large(tamis, tmp_path, engine):
    rng = np.random.RandomState(0)
    x = rng.standard_normal((300, 2))
    y = [str(int(10**22 * (10 + value))) for value in x[:, 1] + 0.01 * rng.standard_normal(300)]
    lines = [f"{a:.4f},{b:.4f},{cell}" for (a, b), cell in zip(x, y, strict=True)]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    found = kept(tamis, str(tmp_path / "t.csv"), "--target", "y", "--engine", engine)
    assert [each["name"] for each in found["features"]] == ["b"]


def test_formats_without_rows_of_their_own_stay_in_memory(tamis, tmp_path):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((100, 3))
    np.savez(tmp_path / "t.npz", X=X, y=X[:, 0])
    found = kept(tamis, str(tmp_path / "t.npz"), "--memory", "100kB")
    assert found["features"][0]["name"] == "x0"
    refused = tamis("select", tmp_path / "t.npz", "--memory", "1kB")
    assert refused.code == 2
    assert "the memory to keep to is 1 kB, and 'X' would take about 7 kB; --memory SIZE allows more" in refused.err
    outcome = tamis("select", tmp_path / "t.npz", "--engine", "blocks")
    assert outcome.code == 2
    assert "are read in blocks, not '.npz'" in outcome.err


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "tree-selector"],
        ["--stop", "cross-validation"],
        ["--method", "rfe"],
        ["--method", "rfe", "--stop", "2", "--param", "estimator=epsilon_insensitive"],
    ],
)
def test_without_a_word_on_memory_what_needs_rows_is_read_as_before(tamis, parts, monkeypatch, options):
    monkeypatch.setattr(memory_module, "free_memory", lambda: 2e6)  # more than is read, less than is computed
    outcome = tamis("select", "--glob", parts, "--target", "y", *options, "--json")
    assert outcome.code == 0
    assert outcome.json["notes"] == ["read 4000 rows of 2 files"]


def test_without_pyarrow_files_are_read_as_before(tamis, parts, monkeypatch):
    monkeypatch.setattr(memory_module, "free_memory", lambda: 2e6)  # more than is read, less than is computed
    monkeypatch.setattr(large_module.importlib.util, "find_spec", lambda name: None)
    assert kept(tamis, "--glob", parts, "--target", "y")["notes"] == ["read 4000 rows of 2 files"]


def test_files_that_are_cut_short_are_refused(tamis, parts, tmp_path):
    path = tmp_path / "part-1.parquet"
    path.write_bytes(path.read_bytes()[:2000])
    outcome = tamis("select", "--glob", parts, "--target", "y", "--engine", "blocks")
    assert outcome.code == 2
    assert "part-1.parquet" in outcome.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """big.parquet, 60 MB of numbers, and small.parquet with the same columns."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.RandomState(0)
    names = [f"x{j}" for j in range(50)]
    with parquet.ParquetWriter(folder / "big.parquet", pa.schema([(name, pa.float64()) for name in names])) as file:
        for _ in range(15):
            X = rng.standard_normal((10_000, 50)).round(2)
            X[:, 7] += 2 * X[:, 3]
            file.write_table(pa.table(list(X.T), names=names))
    parquet.write_table(pa.table([rng.standard_normal(1000) for _ in names], names=names), folder / "small.parquet")
    return folder


def peak(path, *options):
    """The report of a process of its own, and the megabytes that it has taken at most."""
    arguments = ["select", str(path), "--memory", "8MB", "--engine", "blocks", "--json", *options]
    code = (
        f"import resource; from tamis.cli import main; code = main({arguments!r}); "
        "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    report, numbers = done.stdout.strip().rsplit("\n", 1)
    exit_code, megabytes = map(int, numbers.split())
    assert exit_code == 0
    return json.loads(report), megabytes


def test_a_table_of_many_times_the_memory_is_ranked_within_it(folder):
    """Half of its size is more than the process takes beside what it takes for a small table."""
    options = ["--target", "x7", "--stop", "3"]
    report, megabytes = peak(folder / "big.parquet", *options)
    _, baseline = peak(folder / "small.parquet", *options)
    assert report["features"][0]["name"] == "x3"
    assert report["n_rows"] == 150_000
    assert megabytes - baseline < 30


def test_an_autoencoder_is_trained_on_rows_of_a_table_of_many_times_the_memory(folder):
    pytest.importorskip("torch", reason="the extra neural brings torch")
    options = ["--method", "agnos-s", "--stop", "1", "--seed", "0"]
    report, megabytes = peak(folder / "big.parquet", *options)
    _, baseline = peak(folder / "small.parquet", *options)
    assert report["features"][0]["name"] in ("x3", "x7")  # which tell of each other
    assert re.search(r"ranked on \d+ of 150000 rows, drawn at random", report["reason"])
    assert megabytes - baseline < 30


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_an_autoencoder_needs_no_target(tamis, parts, engine):
    pytest.importorskip("torch", reason="the extra neural brings torch")
    options = ["--method", "agnos-s", "--stop", "3", "--param", "max_iter=40", "--seed", "0", "--drop", "city,w,x5"]
    found = kept(tamis, "--glob", parts, *options, "--engine", engine)
    assert len(found["features"]) == 3
    assert found["target"] is None
    assert "drawn at random" not in found["reason"]  # all rows fit


def write_parts(folder, tables, suffix=".parquet"):
    for name, table in tables.items():
        if suffix == ".parquet":
            parquet.write_table(table, folder / f"{name}.parquet")
        else:
            csv.write_csv(table, folder / f"{name}.csv")
    return str(folder / f"*{suffix}")


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")
def test_rows_and_targets_of_many_files_stay_together_on_dask(tamis, table, tmp_path):
    numbers = table.select(["x0", "x1", "x3", "y"])
    tables = {f"part-{part}": numbers.slice(300 * part, 300) for part in range(12)}  # sorted, part-10 is before part-2
    options = ["--glob", write_parts(tmp_path, tables), "--target", "y"]
    found, expected = kept(tamis, *options, "--engine", "dask"), kept(tamis, *options, "--engine", "memory")
    assert [feature["name"] for feature in found["features"]] == [feature["name"] for feature in expected["features"]]
    assert found["features"][0]["score"] == pytest.approx(expected["features"][0]["score"], rel=1e-8)


def test_text_files_whose_columns_stand_in_another_order_are_refused(tamis, table, tmp_path):
    tables = {"a": table.select(["x0", "x3", "y"]), "b": table.select(["y", "x3", "x0"])}
    outcome = tamis("select", "--glob", write_parts(tmp_path, tables, ".csv"), "--target", "y", "--engine", "blocks")
    assert outcome.code == 2
    assert "b.csv has another header than" in outcome.err


def test_parquet_files_whose_columns_stand_in_another_order_are_read_by_name(tamis, table, tmp_path):
    tables = {"a": table.select(["x0", "x3", "y"]).slice(0, 900), "b": table.select(["y", "x3", "x0"]).slice(900)}
    options = ["--glob", write_parts(tmp_path, tables), "--target", "y"]
    found, expected = kept(tamis, *options, "--engine", "blocks"), kept(tamis, *options, "--engine", "memory")
    for one, other in zip(found["features"], expected["features"], strict=True):
        assert (one["name"], one["score"]) == (other["name"], pytest.approx(other["score"], rel=1e-8))


@pytest.mark.parametrize("head", ["\n\n", "", "\ufeff"])
def test_lines_before_the_header_are_passed_over(tamis, tmp_path, head):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((400, 3))
    y = X[:, 1] + 0.1 * rng.standard_normal(400)
    rows = "\n".join(",".join(f"{value:.5f}" for value in row) for row in np.column_stack([X, y]))
    (tmp_path / "t.csv").write_text(f"{head}a,b,c,y\n{rows}\n")
    found = kept(tamis, str(tmp_path / "t.csv"), "--target", "y", "--engine", "blocks")
    assert found["n_rows"] == 400
    assert found["task"] == "regression"
    assert [feature["name"] for feature in found["features"]] == ["b"]


def test_codes_with_leading_zeros_stay_text(tamis, tmp_path):
    rng = np.random.RandomState(0)
    codes = rng.choice(["007", "01", "1000"], 400)
    y = (codes == "01") + 0.1 * rng.standard_normal(400)
    (tmp_path / "t.csv").write_text("code,y\n" + "\n".join(f"{c},{v:.5f}" for c, v in zip(codes, y, strict=True)))
    found = kept(tamis, str(tmp_path / "t.csv"), "--target", "y", "--engine", "blocks")
    assert found["encoding"]["code"] == "3 levels one-hot"


def test_other_encodings_are_read_where_they_are_named(tamis, tmp_path):
    rng = np.random.RandomState(0)
    city = rng.choice(["Orléans", "Nîmes"], 4000)
    y = (city == "Nîmes") + 0.1 * rng.standard_normal(4000)
    text = "city,y\n" + "\n".join(f"{c},{v:.5f}" for c, v in zip(city, y, strict=True))
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    refused = tamis("select", tmp_path / "t.csv", "--target", "y", "--engine", "blocks")
    assert refused.code == 2
    assert "encoding" in refused.err
    found = kept(tamis, str(tmp_path / "t.csv"), "--target", "y", "--engine", "blocks", "--encoding", "latin-1")
    assert [feature["name"] for feature in found["features"]] == ["city"]


def test_values_that_are_neither_numbers_nor_text_are_refused_as_in_memory(tamis, table, tmp_path):
    odd = table.append_column("odd", pa.array([{"a": 1}] * N))
    path = write_parts(tmp_path, {"t": odd})
    for engine in ("memory", "blocks"):
        outcome = tamis("select", "--glob", path, "--target", "y", "--engine", engine)
        assert outcome.code == 2
        assert "column 'odd' holds neither numbers nor text nor dates" in outcome.err


@pytest.mark.parametrize("method", ["gram-schmidt", "max-variance"])
def test_lines_without_any_value_are_no_rows(tamis, tmp_path, method):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((400, 3))
    lines = [",".join(f"{value:.5f}" for value in (*row, row[1] + 0.1 * rng.standard_normal())) for row in X]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,y", *lines[:200], ",,,", ",,,", *lines[200:]]) + "\n")
    options = [str(tmp_path / "t.csv"), "--method", method, "--stop", "2"]
    options += ["--target", "y"] if method == "gram-schmidt" else []
    in_memory = kept(tamis, *options, "--engine", "memory")
    for engine in ("blocks", "dask"):
        found = kept(tamis, *options, "--engine", engine)
        assert found["n_rows"] == in_memory["n_rows"] == 400
        assert "left out 2 empty lines" in found["notes"]
        for one, other in zip(found["features"], in_memory["features"], strict=True):
            assert (one["name"], one["score"]) == (other["name"], pytest.approx(other["score"], rel=1e-8))


def kept_alike(tamis, options, engines=("blocks", "dask")):
    """What every engine keeps, which must be what memory keeps."""
    in_memory = kept(tamis, *options, "--engine", "memory")
    for engine in engines:
        found = kept(tamis, *options, "--engine", engine)
        assert found["n_rows"] == in_memory["n_rows"]
        for one, other in zip(found["features"], in_memory["features"], strict=True):
            assert (one["name"], one["score"]) == (other["name"], pytest.approx(other["score"], rel=1e-8))
    return in_memory


def numbers_frame(n_rows=600):
    """Three columns of pandas, the last of which depends on the second."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.standard_normal((n_rows, 3)), columns=["a", "b", "y"])
    frame["y"] += frame["b"]
    return frame


def test_an_index_that_pandas_saved_is_a_column_to_every_engine(tamis, tmp_path):
    frame = numbers_frame().sample(frac=1, random_state=0)
    frame.iloc[:250].to_parquet(tmp_path / "p0.parquet", row_group_size=100)
    frame.iloc[250:].to_parquet(tmp_path / "p1.parquet")
    options = ["--glob", str(tmp_path / "p*.parquet"), "--target", "y", "--stop", "3"]
    found = kept_alike(tamis, options)
    assert {feature["name"] for feature in found["features"]} == {"a", "b", "__index_level_0__"}


@pytest.mark.parametrize("case", ["latin-1", "unnamed", "decimals", "gzip", "booleans"])
def test_text_is_the_same_to_every_engine(tamis, tmp_path, monkeypatch, case):
    monkeypatch.setattr(dask_frames_module, "_PARTITION_BYTES", 10_000)  # several partitions a file
    frame = numbers_frame(12_000 if case == "decimals" else 600).round(5)  # more than is looked at for types
    options = ["--glob", str(tmp_path / "p*.csv*"), "--target", "y", "--stop", "2"]
    if case == "latin-1":
        frame = frame.rename(columns={"b": "größe"})
        options += ["--encoding", "latin-1"]
    if case == "decimals":
        frame["a"] = np.array([*map(str, range(11_999)), "0.5"], dtype=object)
    if case == "booleans":
        frame["a"] = frame["a"] > 0
    for part, rows in enumerate((frame.iloc[:200], frame.iloc[200:])):
        name = f"p{part}.csv" + ".gz" * (case == "gzip")
        rows.to_csv(tmp_path / name, index=case == "unnamed", encoding="latin-1" if case == "latin-1" else "utf-8")
    found = kept_alike(tamis, options)
    assert ("größe" if case == "latin-1" else "b") in {feature["name"] for feature in found["features"]}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("engine", ["memory", "blocks", "dask"])
def test_files_without_rows_are_refused_as_such(tamis, tmp_path, suffix, engine):
    write_frame(numbers_frame(0), tmp_path / f"p0.{suffix}")
    outcome = tamis("select", tmp_path / f"p0.{suffix}", "--target", "y", "--engine", engine)
    assert outcome.code == 2
    assert f"p0.{suffix} as .{suffix}: it holds no rows" in outcome.err
    write_frame(numbers_frame(0), tmp_path / f"p1.{suffix}")
    outcome = tamis("select", "--glob", tmp_path / f"p*.{suffix}", "--target", "y", "--engine", engine)
    assert outcome.code == 2
    assert "none of the files holds any rows" in outcome.err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_part_without_rows_is_passed_over_by_every_engine(tamis, tmp_path, suffix):
    frame = numbers_frame()
    frame["city"] = np.where(frame["b"] > 0, "Lyon", "Nice")
    for part, rows in enumerate((frame.iloc[:300], frame.iloc[:0], frame.iloc[300:])):
        write_frame(rows, tmp_path / f"p{part}.{suffix}")
    options = ["--glob", str(tmp_path / f"p*.{suffix}"), "--target", "y", "--stop", "2"]
    assert kept_alike(tamis, options, engines=["blocks"])["n_rows"] == 600
    kept_alike(tamis, [*options, "--drop", "city"])


def write_frame(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path, index=False)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "cp1252"])
def test_encodings_that_the_first_bytes_tell_are_found_by_every_engine(tamis, tmp_path, encoding):
    text = numbers_frame().round(5).rename(columns={"b": "größe"}).to_csv(index=False)
    (tmp_path / "t.csv").write_bytes(
        ("\ufeff" if encoding == "utf-16-be" else "").encode(encoding) + text.encode(encoding)
    )
    options = [str(tmp_path / "t.csv"), "--target", "y", "--stop", "2"]
    found = kept_alike(tamis, options)
    assert found["features"][0]["name"] == "größe"
    assert encoding[:6].upper() in kept(tamis, *options, "--engine", "blocks")["notes"][1]


def test_text_files_of_two_encodings_are_refused_by_name(tamis, tmp_path):
    for part, encoding in enumerate(("utf-8", "utf-16")):
        numbers_frame().to_csv(tmp_path / f"p{part}.csv", index=False, encoding=encoding)
    outcome = tamis("select", "--glob", tmp_path / "p*.csv", "--target", "y", "--engine", "blocks")
    assert outcome.code == 2
    assert re.search(r"p1.csv is written in utf-16 and .*p0.csv in utf-8", outcome.err), outcome.err


def test_utf_16_that_does_not_say_so_is_refused_with_what_to_say(tamis, tmp_path):
    numbers_frame().to_csv(tmp_path / "t.csv", index=False, encoding="utf-16-le")
    outcome = tamis("select", tmp_path / "t.csv", "--target", "y", "--engine", "blocks")
    assert outcome.code == 2
    assert "t.csv as .csv" in outcome.err
    assert "--encoding utf-16-le" in outcome.err
    options = [str(tmp_path / "t.csv"), "--target", "y", "--stop", "2", "--encoding", "utf-16-le"]
    kept_alike(tamis, options)


@pytest.mark.parametrize("engine", ["memory", "blocks"])
def test_for_a_folder_of_files_the_pattern_is_said(tamis, tmp_path, engine):
    folder = tmp_path / "d.parquet"
    folder.mkdir()
    write_frame(numbers_frame(), folder / "part.0.parquet")
    outcome = tamis("select", folder, "--target", "y", "--engine", engine)
    assert outcome.code == 2
    assert f"it is a folder; for the files in it say --glob '{folder}/*.parquet'" in outcome.err


def test_memory_bounds_what_is_read_at_once_too(tamis, parts):
    options = ["select", "--glob", parts, "--target", "y", "--engine", "memory", "--memory"]
    refused = tamis(*options, "300KB")
    assert refused.code == 2
    assert "the memory to keep to is 300 kB, and its " in refused.err
    assert "--memory SIZE allows more, and --engine blocks reads it in blocks of rows" in refused.err
    assert tamis(*options, "10MB").code == 0


def test_the_help_says_that_partitions_of_dask_are_not_bounded_by_memory(tamis):
    said = " ".join(tamis("select", "--help").out.split())
    assert "partitions of dask, of which every thread or worker holds one at a time whatever --memory says" in said


def test_a_rule_that_needs_the_rows_is_refused_in_options(tamis, parts):
    options = ["--glob", parts, "--target", "y", "--drop", "w", "--engine", "blocks", "--stop", "monte-carlo-probe"]
    outcome = tamis("select", *options, "--method", "rfe", "--param", "estimator=ridge")
    assert outcome.code == 2
    assert "--stop monte-carlo-probe: rfe ranks permuted copies" in outcome.err
    assert "--stop 5, or --method gram-schmidt --stop probe" in outcome.err


def test_a_word_among_numbers_is_refused_with_the_file_on_dask(tamis, tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks_module, "_STREAM_BYTES", 2**12)  # types are those of the first lines
    frame = numbers_frame().round(5).astype({"a": object})
    frame.loc[599, "a"] = "oops"
    frame.to_csv(tmp_path / "t.csv", index=False)
    outcome = tamis("select", tmp_path / "t.csv", "--target", "y", "--engine", "dask")
    assert outcome.code == 2
    assert re.search(r"cannot read .*t.csv: .*oops", outcome.err), outcome.err
