"""Small files that stand for large tables: each is refused in a line, before the memory is taken."""

import gzip
import io
import resource
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

SECONDS = 60
ADDRESSES = 5 * 2**30  # bytes, so that a bomb that goes off hurts nobody else
BUDGET = "50MB"
BESIDE = 2**28  # bytes that a refusal may take beside the interpreter and its libraries: five times the budget
MB = 10**6
RUN = """
import atexit, sys
status = sys.argv.pop(1)
def note_peak():  # rusage would count the process that this one was forked from
    with open("/proc/self/status") as held, open(status, "w") as file:
        file.write(next(line.split()[1] for line in held if line.startswith("VmHWM")))
atexit.register(note_peak)
from tamis.cli import run
run()
"""


@dataclass(frozen=True)
class Ending:
    code: int
    stdout: str
    stderr: str
    peak: int


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))


def tamis(*arguments, cwd, stdin=subprocess.DEVNULL):
    """Run the command line in a process of its own, and see how much memory it takes."""
    with tempfile.NamedTemporaryFile("r") as peak:
        outcome = subprocess.run(
            [sys.executable, "-c", RUN, peak.name, *map(str, arguments)],
            cwd=cwd,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            preexec_fn=limit,
            check=False,
        )
        return Ending(outcome.returncode, outcome.stdout, outcome.stderr, 2**10 * int(peak.read() or 0))


def refuses(ending, *words):
    assert ending.code == 2, ending.stderr[-1000:]
    assert ending.stdout == ""
    lines = ending.stderr.strip().splitlines()
    assert len(lines) == 1, ending.stderr[-1000:]
    assert lines[0].startswith("tamis: error: ")
    for word in words:
        assert word in lines[0]


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """Memory that a command takes for a table of next to nothing."""
    folder = tmp_path_factory.mktemp("usual")
    pl.DataFrame({"a": range(50), "b": [0, 1, 2, 3, 4] * 10, "y": range(50)}).write_parquet(folder / "t.parquet")
    return tamis("rank", "t.parquet", "--target", "y", cwd=folder).peak


def bomb_text_gz(path):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b,y\n")
        for _ in range(100):
            file.write(b"1,2,3\n" * 250_000)


def bomb_line_gz(path):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b,y\n")
        for _ in range(200):
            file.write(b"1" * MB)


def bomb_header_gz(path):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b",".join(b"%x" % j for j in range(3 * MB // 2)) + b"\n1\n")


def bomb_latin_gz(path):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write("à,y\n".encode("latin-1"))
        for _ in range(20):
            file.write("é,1\n".encode("latin-1") * MB)


def bomb_svmlight_gz(path):
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(150):
            file.write(b"1 1:1 2:1 3:1\n" * 70_000)


def bomb_svmlight_line(path):
    path.write_bytes(b"1" + b" 1:1" * 700_000)


def _write_members(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, (shape, n_bytes) in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                header = io.BytesIO()
                np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
                member.write(header.getvalue())
                for _ in range(n_bytes // MB):
                    member.write(bytes(MB))


def bomb_npz(path):
    _write_members(path, X=((10 * MB, 5), 400 * MB), y=((10 * MB,), 80 * MB))


def bomb_sparse_npz(path):
    _write_members(path, data=((40 * MB,), 320 * MB), indices=((40 * MB,), 320 * MB), indptr=((2,), 0))


def bomb_mat(path):
    scipy_io.savemat(path, {"X": np.zeros((5 * MB, 10)), "Y": np.zeros((5 * MB, 1))}, do_compression=True)


def bomb_parquet(path):
    pl.DataFrame({name: np.zeros(15 * MB) for name in "aby"}).write_parquet(path)


def bomb_parquet_text(path):
    pl.DataFrame({"a": [f"{k}" + "x" * MB for k in range(300)]}).write_parquet(path, compression="zstd")


def bomb_arrow(path):
    pl.DataFrame({name: np.zeros(15 * MB) for name in "aby"}).write_ipc(path, compression="zstd")


def bomb_arrow_text(path):
    pl.DataFrame({"a": [f"{k}" + "x" * MB for k in range(300)]}).write_ipc(path, compression="zstd")


def bomb_arff(path):
    rows = "".join(f"x,{k}\n" for k in range(1000))
    level = "z" * MB
    path.write_text(f"@relation t\n@attribute a {{x,{level}}}\n@attribute y numeric\n@data\n{rows}")


BOMBS = {
    "text.csv.gz": bomb_text_gz,
    "text.tsv.gz": bomb_text_gz,
    "line.csv.gz": bomb_line_gz,
    "header.csv.gz": bomb_header_gz,
    "latin.csv.gz": bomb_latin_gz,
    "text.svm.gz": bomb_svmlight_gz,
    "line.svm": bomb_svmlight_line,
    "dense.npz": bomb_npz,
    "sparse.npz": bomb_sparse_npz,
    "dense.mat": bomb_mat,
    "numbers.parquet": bomb_parquet,
    "text.parquet": bomb_parquet_text,
    "numbers.arrow": bomb_arrow,
    "text.arrow": bomb_arrow_text,
    "level.arff": bomb_arff,
}


QUICK = (
    "text.csv.gz",
    "header.csv.gz",
    "text.svm.gz",
    "dense.npz",
    "dense.mat",
    "text.parquet",
    "text.arrow",
    "level.arff",
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in BOMBS]
)
def test_a_small_file_of_a_large_table_is_refused_before_its_memory_is_taken(tmp_path, usual, name):
    BOMBS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size < 4 * MB
    ending = tamis("dimension", name, "--memory", BUDGET, cwd=tmp_path)
    refuses(ending, name, "the memory to keep to is 50.0 MB", "would take", "--memory SIZE allows more")
    assert ending.peak < usual + BESIDE


@pytest.mark.parametrize("command", ["rank", pytest.param("select", marks=pytest.mark.slow), "auto"])
def test_every_command_that_reads_a_table_keeps_to_the_memory(tmp_path, usual, command):
    bomb_text_gz(tmp_path / "text.csv.gz")
    ending = tamis(command, "text.csv.gz", "--target", "y", "--memory", BUDGET, cwd=tmp_path)
    refuses(ending, "the memory to keep to is 50.0 MB", "--memory SIZE allows more")
    assert ("--engine blocks reads it in blocks of rows" in ending.stderr) is (command != "auto")
    assert ending.peak < usual + BESIDE


def test_without_a_word_on_memory_a_command_keeps_to_half_of_what_its_process_may_take(tmp_path, usual):
    bomb_text_gz(tmp_path / "text.csv.gz")
    ending = tamis("rank", "text.csv.gz", "--target", "y", cwd=tmp_path)
    refuses(ending, "the memory to keep to is", "--memory SIZE allows more, and --engine blocks")
    assert ending.peak < usual + 2 * BESIDE  # of a text of 150 MB


def test_a_header_that_claims_more_than_its_file_holds_is_refused(tmp_path, usual):
    _write_members(tmp_path / "lie.npz", X=((10**8, 10**3), 0), y=((10**8,), 0))
    ending = tamis("rank", "lie.npz", cwd=tmp_path)
    refuses(ending, "the header of 'X' claims 745.1 GB, and the file holds 0 kB")
    assert ending.peak < usual + BESIDE


def test_standard_input_without_an_end_is_refused(tmp_path, usual):
    with subprocess.Popen(["yes", "1,2,3"], stdout=subprocess.PIPE) as endless:
        ending = tamis("rank", "-", "--memory", BUDGET, cwd=tmp_path, stdin=endless.stdout)
        endless.kill()
    refuses(ending, "standard input would take more than that")
    assert ending.peak < usual + BESIDE


def test_files_one_below_the_other_share_the_memory(tmp_path, usual):
    for k in range(8):
        pl.DataFrame({name: np.arange(200_000.0) for name in "aby"}).write_parquet(tmp_path / f"part-{k}.parquet")
    ending = tamis("dimension", "--glob", "part-*.parquet", "--memory", BUDGET, cwd=tmp_path)
    refuses(ending, "the memory to keep to is 50.0 MB", "--memory SIZE allows more")
    assert ending.peak < usual + BESIDE


def test_a_sparse_table_is_not_filled_with_zeros_beyond_the_memory(tmp_path, usual):
    rng = np.random.default_rng(0)
    X = sparse.random_array((2000, 50_000), density=1e-5, rng=rng, format="csr")
    dump_svmlight_file(X, np.arange(2000) % 2, str(tmp_path / "wide.svm"))
    why = "with all zeros, which relief-f needs, would take about 1.5 GB"
    ending = tamis("rank", "wide.svm", "--method", "relief-f", "--memory", BUDGET, cwd=tmp_path)
    refuses(ending, why, "--memory SIZE allows more")
    assert ending.peak < usual + BESIDE
    assert tamis("rank", "wide.svm", "--method", "fisher-score", "--memory", BUDGET, cwd=tmp_path).code == 0


def test_levels_are_not_encoded_beyond_the_memory(tmp_path, usual):
    levels = pl.DataFrame({"a": [f"level {k % 5000}" for k in range(20_000)], "b": range(20_000)})
    levels.write_csv(tmp_path / "levels.csv")
    ending = tamis("dimension", "levels.csv", "--encode", "--memory", BUDGET, cwd=tmp_path)
    refuses(ending, "column 'a' with one column for each of 5000 levels would take about 1.5 GB")
    assert ending.peak < usual + BESIDE


def test_labels_are_not_held_as_wide_as_the_longest_beyond_the_memory(tmp_path, usual):
    labels = ["yes", "no"] * 20_000
    labels[5] = "y" * 9_000
    pl.DataFrame({"a": range(40_000), "y": labels}).write_csv(tmp_path / "labels.csv")
    ending = tamis("rank", "labels.csv", "--target", "y", "--memory", BUDGET, cwd=tmp_path)
    refuses(ending, "--target y: labels of up to 9000 characters would take about 1.3 GB")
    assert ending.peak < usual + BESIDE


def test_text_that_a_file_lists_once_is_held_once(tmp_path, usual):
    texts = ["x" * MB, "y" * MB] * 1000
    pl.DataFrame({"a": texts, "y": [0.5, 1.5] * 1000}).write_parquet(tmp_path / "texts.parquet")
    ending = tamis("rank", "texts.parquet", "--target", "y", "--quiet", "--json", cwd=tmp_path)
    assert ending.code == 0, ending.stderr
    assert ending.peak < usual + BESIDE


def _write_listed(path, n_rows=3000):
    """A text that the file lists once, for all rows or for half of them, and that takes gigabytes row by row."""
    rng = np.random.default_rng(0)
    codes = {"same": np.zeros(n_rows, np.int32), "level": rng.integers(0, 2, n_rows, dtype=np.int32)}
    texts = pa.array(["z" * MB, "a" * MB])
    columns = {name: pa.DictionaryArray.from_arrays(values, texts) for name, values in codes.items()}
    table = pa.table(columns | {"a": rng.normal(size=n_rows), "y": rng.normal(size=n_rows)})
    if path.suffix == ".parquet":
        parquet.write_table(table, path, compression="zstd")
    else:
        feather.write_feather(table, path, compression="zstd")


@pytest.mark.parametrize("options", [[], ["--drop", "level"], ["--engine", "blocks"]])
@pytest.mark.parametrize("name", ["listed.parquet", "listed.arrow"])
def test_categories_are_not_spelled_out_row_by_row(tmp_path, usual, name, options):
    _write_listed(tmp_path / name)
    assert (tmp_path / name).stat().st_size < MB
    given = [name, "--target", "y", "--memory", BUDGET, *options]
    ending = tamis("rank", *given, "--quiet", "--json", cwd=tmp_path)
    assert ending.code == 0, ending.stderr
    assert ending.peak < usual + BESIDE


def test_rows_grouped_by_a_long_text_are_no_array_of_it(tmp_path, usual):
    _write_listed(tmp_path / "listed.arrow")
    given = ["listed.arrow", "--target", "y", "--row-groups", "level", "--stop", "cross-validation"]
    ending = tamis("select", *given, "--drop", "same", "--memory", BUDGET, "--quiet", cwd=tmp_path)
    assert "cannot read" not in ending.stderr
    assert "memory" not in ending.stderr
    assert ending.peak < usual + BESIDE


def test_pages_that_list_a_text_once_are_decoded_in_blocks_that_memory_holds(tmp_path, usual):
    n_rows, length = 3000, 10**5
    ends = pa.py_buffer(np.arange(n_rows + 1) * length)
    texts = pa.LargeStringArray.from_buffers(n_rows, ends, pa.py_buffer(b"z" * (n_rows * length)))
    y = np.random.default_rng(0).normal(size=n_rows)
    table = pa.table({"text": texts, "a": y + np.arange(n_rows), "y": y})
    parquet.write_table(table, tmp_path / "pages.parquet", compression="zstd")
    given = ["pages.parquet", "--target", "y", "--engine", "blocks", "--memory", BUDGET]
    ending = tamis("rank", *given, "--quiet", cwd=tmp_path)
    assert ending.code == 0, ending.stderr
    assert ending.peak < usual + BESIDE / 2


def test_lists_are_not_read(tmp_path, usual):
    rows = pl.DataFrame({"a": range(100), "y": range(100), "few": [[0.0]] * 100})
    many = rows.with_columns(few=pl.lit([0.0] * 500_000))
    many.write_parquet(tmp_path / "lists.parquet")
    ending = tamis("rank", "lists.parquet", "--target", "y", cwd=tmp_path)
    refuses(ending, "column 'few' holds neither numbers nor text nor dates", "--drop few")
    assert ending.peak < usual + BESIDE
    assert tamis("rank", "lists.parquet", "--target", "y", "--drop", "few", cwd=tmp_path).code == 0


def test_a_giant_cell_among_others_is_no_harm(tmp_path, usual):
    cells = [f"{k % 3}" for k in range(60)]
    cells[7] = "z" * (2 * MB)
    lines = "".join(f"{cell},{k}\n" for k, cell in enumerate(cells))
    (tmp_path / "cell.csv").write_text(f"a,y\n{lines}")
    ending = tamis("rank", "cell.csv", "--target", "y", "--memory", BUDGET, cwd=tmp_path)
    assert ending.code == 0, ending.stderr
    assert len(ending.stderr) < 10_000
    assert ending.peak < usual + BESIDE
