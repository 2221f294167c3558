"""Bad files: every reader is given tables that were damaged, or were never what they claim to be.

A small table is written in one of the formats and spoiled: bytes are cut, flipped, moved or taken for other numbers,
headers lie, cells hold what no cell should. Then a command reads it, within a limit of memory. It may answer, or
refuse in one line; it may not crash, leave files behind, run what is in the file, or pass on control characters. Where
only the writing differs (line ends, encodings, quotes, compression), the answer must be that on the plain table.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from tests.adversary.commands import Ending, contents, run_command, what_is_left, what_is_wrong_with_ending
from tests.adversary.isolation import Attack

NAMES = ("a", "b", "c", "d")
TEXTS = ("red", "green", "blue")


def make_table(rng: np.random.Generator) -> pl.DataFrame:
    """Four numbers, now and then a text and a date, and a target that the first column explains."""
    n = int(rng.integers(20, 60))
    X = np.round(rng.normal(size=(n, 4)), 3)
    signal = X[:, 0] + 0.3 * rng.normal(size=n)
    columns: dict[str, Any] = {name: X[:, j] for j, name in enumerate(NAMES)}
    if rng.random() < 0.3:
        columns["colour"] = rng.choice(TEXTS, size=n)
    if rng.random() < 0.2:
        columns["day"] = np.datetime64("2020-01-01") + rng.integers(1000, size=n)
    is_class = rng.random() < 0.5
    columns["y"] = np.where(signal > 0, "yes", "no") if is_class else np.round(signal, 3)
    return pl.DataFrame(columns)


# writers: a table as bytes


def _numbers(table: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    y = table["y"].to_numpy()
    return table.select(NAMES).to_numpy(), (y == "yes").astype(float) if y.dtype == object else y


def to_csv(table: pl.DataFrame, separator: str = ",") -> bytes:
    buffer = io.BytesIO()
    table.write_csv(buffer, separator=separator)
    return buffer.getvalue()


def to_tsv(table: pl.DataFrame) -> bytes:
    return to_csv(table, "\t")


def to_parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="snappy")
    return buffer.getvalue()


def to_arrow(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_ipc(buffer)
    return buffer.getvalue()


def to_npz(table: pl.DataFrame) -> bytes:
    X, y = _numbers(table)
    buffer = io.BytesIO()
    np.savez(buffer, X=X, y=y, feature_names=np.array(NAMES))
    return buffer.getvalue()


def to_sparse_npz(table: pl.DataFrame) -> bytes:
    X, y = _numbers(table)
    rows, buffer = sparse.csr_array(np.where(abs(X) < 0.5, 0, X)), io.BytesIO()
    np.savez_compressed(buffer, data=rows.data, indices=rows.indices, indptr=rows.indptr, shape=rows.shape, y=y)
    return buffer.getvalue()


def to_mat(table: pl.DataFrame) -> bytes:
    X, y = _numbers(table)
    buffer = io.BytesIO()
    scipy_io.savemat(buffer, {"X": X, "Y": y.reshape(-1, 1)}, do_compression=True)
    return buffer.getvalue()


def to_svmlight(table: pl.DataFrame) -> bytes:
    X, y = _numbers(table)
    buffer = io.BytesIO()
    dump_svmlight_file(sparse.csr_matrix(np.where(abs(X) < 0.5, 0, X)), y, buffer, zero_based=False)
    return buffer.getvalue()


def to_arff(table: pl.DataFrame) -> bytes:
    X, y = _numbers(table)
    head = ["@relation t", *(f"@attribute {name} numeric" for name in NAMES), "@attribute y numeric", "@data"]
    rows = [",".join(map(str, [*row, value])) for row, value in zip(X.tolist(), y.tolist(), strict=True)]
    return "\n".join([*head, *rows, ""]).encode()


WRITERS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    ".csv": to_csv,
    ".tsv": to_tsv,
    ".parquet": to_parquet,
    ".arrow": to_arrow,
    ".npz": to_npz,
    ".sparse.npz": to_sparse_npz,
    ".mat": to_mat,
    ".svm": to_svmlight,
    ".arff": to_arff,
}
TEXT = (".csv", ".tsv", ".svm", ".arff")
SAME_TEXT = "text written in another way"
BOMB = "a small file of a large table"
TURNS = (*WRITERS, ".csv", SAME_TEXT, BOMB)


# mutations of bytes


def truncate(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def flip_bits(rng: np.random.Generator, data: bytes) -> bytes:
    damaged = bytearray(data)
    for place in rng.integers(8 * len(data), size=int(rng.choice([1, 1, 2, 5, 20]))).tolist():
        damaged[place // 8] ^= 1 << place % 8
    return bytes(damaged)


def flip_bits_of_ends(rng: np.random.Generator, data: bytes) -> bytes:
    """Where headers and footers are."""
    size = min(len(data), 300)
    if rng.random() < 0.5:
        return flip_bits(rng, data[:size]) + data[size:]
    return data[:-size] + flip_bits(rng, data[-size:])


def drop_range(rng: np.random.Generator, data: bytes) -> bytes:
    start, end = np.sort(rng.integers(len(data) + 1, size=2)).tolist()
    return data[:start] + data[end:]


def repeat_range(rng: np.random.Generator, data: bytes) -> bytes:
    start, end = np.sort(rng.integers(len(data) + 1, size=2)).tolist()
    return data[:end] + data[start:end] * int(rng.integers(1, 4)) + data[end:]


def overwrite_range(rng: np.random.Generator, data: bytes) -> bytes:
    start, size = int(rng.integers(len(data))), int(rng.integers(1, 64))
    filling = [bytes(size), b"\xff" * size, rng.bytes(size)][rng.integers(3)]
    return (data[:start] + filling + data[start + size :])[: len(data)]


def lie_about_a_number(rng: np.random.Generator, data: bytes) -> bytes:
    """Take four or eight bytes for a length, and make it another."""
    size = int(rng.choice([4, 8]))
    value = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**20, 10**9])) if size == 4 else 2**62
    place = int(rng.integers(max(1, len(data) - size)))
    return data[:place] + value.to_bytes(size, "little") + data[place + size :]


def nothing(rng: np.random.Generator, data: bytes) -> bytes:
    return b""


def noise(rng: np.random.Generator, data: bytes) -> bytes:
    return rng.bytes(int(rng.integers(1, 2000)))


def after_noise(rng: np.random.Generator, data: bytes) -> bytes:
    return [b"\xef\xbb\xbf", b"\xff\xfe", bytes(4), b"PK\x03\x04", rng.bytes(20), b"\n", b" "][rng.integers(7)] + data


def before_noise(rng: np.random.Generator, data: bytes) -> bytes:
    return data + [bytes(100), rng.bytes(100), data, b"\x1a"][rng.integers(4)]


BYTES = (
    truncate,
    flip_bits,
    flip_bits_of_ends,
    drop_range,
    repeat_range,
    overwrite_range,
    lie_about_a_number,
    nothing,
    noise,
    after_noise,
    before_noise,
)

# mutations of text: cells, names and rows

CELLS = (
    "",
    "NA",
    "nan",
    "inf",
    "-Infinity",
    "1e999",
    "1e-999",
    "9" * 400,
    "0x1F",
    "1_000",
    "1,5",
    '"1,5"',
    '"',
    '""""',
    "'",
    "=1+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "\x1b[2J\x1b]0;title\x07",
    "\x00",
    "\u202etxt",
    "\uff11\uff12",
    "\u2212" + "1",
    "x" * 20_000,
    "</script>",
    "[bold red]x[/]",
    "{0}",
    "%s%n",
    "../../etc/passwd",
    "2020-02-30",
    "True",
    "\u00e9",
    '"two\nlines"',
    "\r",
    "1 000",
    "12%",
    "$5",
    "1;2",
    "#",
    "?",
    "-",
    "+",
    "9223372036854775808",
    "1.7976931348623157e309",
    "4.9e-324",
)


def _lines(data: bytes) -> list[list[str]]:
    text = data.decode()
    return [line.split(_separator(text)) for line in text.splitlines()]


def _separator(text: str) -> str:
    return "\t" if "\t" in text.partition("\n")[0] else ","


def _joined(lines: list[list[str]], separator: str) -> bytes:
    return "\n".join([*(separator.join(line) for line in lines), ""]).encode()


def odd_cells(rng: np.random.Generator, data: bytes) -> bytes:
    lines, separator = _lines(data), _separator(data.decode())
    for _ in range(int(rng.choice([1, 1, 3, 30]))):
        row = lines[rng.integers(0 if rng.random() < 0.1 else 1, len(lines))]
        row[rng.integers(len(row))] = CELLS[rng.integers(len(CELLS))]
    return _joined(lines, separator)


def odd_names(rng: np.random.Generator, data: bytes) -> bytes:
    lines, separator = _lines(data), _separator(data.decode())
    row = lines[0]
    for _ in range(int(rng.integers(1, 4))):
        row[rng.integers(len(row) - (rng.random() < 0.8))] = str(rng.choice([*CELLS, "a", "y", " a", "y=1", "a,b"]))
    return _joined(lines, separator)


def odd_column(rng: np.random.Generator, data: bytes) -> bytes:
    lines, separator = _lines(data), _separator(data.decode())
    place, pool = int(rng.integers(len(lines[0]))), rng.choice(CELLS, size=int(rng.integers(1, 4)))
    for row in lines[1:]:
        row[place] = str(rng.choice(pool))
    return _joined(lines, separator)


def ragged(rng: np.random.Generator, data: bytes) -> bytes:
    lines, separator = _lines(data), _separator(data.decode())
    for place in rng.integers(len(lines), size=int(rng.integers(1, 4))).tolist():
        lines[place] = lines[place][:-1] if rng.random() < 0.5 else [*lines[place], "1", "2"]
    return _joined(lines, separator)


def odd_lines(rng: np.random.Generator, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    extra = [b"\n", b"# comment\n", b",,,,\n", lines[0], b"\x00\n", b'"\n', b"\xff\xfe\n", b"\x1a\n", b"   \n"]
    for _ in range(int(rng.integers(1, 4))):
        lines.insert(int(rng.integers(len(lines) + 1)), extra[rng.integers(len(extra))])
    return b"".join(lines)


def header_only(rng: np.random.Generator, data: bytes) -> bytes:
    return data.splitlines(keepends=True)[0][: int(rng.integers(1, 20)) if rng.random() < 0.3 else None]


def without_header(rng: np.random.Generator, data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[1:])


def other_encoding(rng: np.random.Generator, data: bytes) -> bytes:
    name = str(rng.choice(["utf-16-le", "utf-32", "cp037", "utf-7", "utf-16-be"]))
    return data.replace(b"a", "\u00e9".encode()).decode().encode(name)


CELLS_AND_ROWS = (odd_cells, odd_names, odd_column, ragged, odd_lines, header_only, without_header, other_encoding)


# the same table, written in another way


def _quote_all(rng: np.random.Generator, data: bytes) -> bytes:
    quoted = [[f'"{cell}"' for cell in line] for line in _lines(data)[:1]]
    return _joined([*quoted, *_lines(data)[1:]], _separator(data.decode()))


SAME: dict[str, Callable[[np.random.Generator, bytes], bytes]] = {
    "line ends of Windows": lambda rng, data: data.replace(b"\n", b"\r\n"),
    "byte order mark": lambda rng, data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda rng, data: data.decode().encode("utf-16"),
    "no last line end": lambda rng, data: data.rstrip(b"\n"),
    "quoted names": _quote_all,
    "empty lines at the end": lambda rng, data: data + b"\n\n",
    "semicolons": lambda rng, data: data.replace(_separator(data.decode()).encode(), b";"),
    "compressed": lambda rng, data: gzip.compress(data),
    "compressed in two parts": lambda rng, data: gzip.compress(data[:100]) + gzip.compress(data[100:]),
}


# archives that are no tables, and claims that do not hold


class _Payload:
    """Creates a file when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, ("pickle-ran", "w")


def _npy(array: np.ndarray, *, pickled: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=pickled)
    return buffer.getvalue()


def _claiming(header: str) -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


def odd_npz(rng: np.random.Generator, table: pl.DataFrame) -> bytes:
    X, y = _numbers(table)
    n = len(y)
    parts: dict[str, bytes] = {"X": _npy(X), "y": _npy(y), "feature_names": _npy(np.array(NAMES))}
    shape = str(rng.choice(["(60, 1000000000)", "(0, 1000000000000)", "(-1, 4)", "(4611686018427387904, 4)", "()"]))
    dtype = str(rng.choice(["<f8", "|O", "<f16", "|V8", "<U99999999", "[('a', '<f8')]", ">i4", "bogus"]))
    odd: list[dict[str, bytes]] = [
        {"X": _npy(np.array([_Payload()] * n, dtype=object).reshape(-1, 1), pickled=True)},
        {"y": _npy(np.array([_Payload()] * n, dtype=object), pickled=True)},
        {"feature_names": _npy(np.array([_Payload()] * 4, dtype=object), pickled=True)},
        {"X": _claiming(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}")},
        {"y": _claiming(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}")},
        {"X": _claiming("__import__('os').system('touch pickle-ran')")},
        {"X": pickle.dumps(_Payload())},
        {"y": _npy(y[:-1])},
        {"y": _npy(np.column_stack([y, y]))},
        {"X": _npy(X[:, :, None])},
        {"X": _npy(X.astype("S8"))},
        {"X": _npy(X.astype(complex))},
        {"feature_names": _npy(np.array(["a", "a", "", "\x1b[31m"]))},
        {"feature_names": _npy(np.array(["a"]))},
        {"feature_names": _npy(np.arange(4))},
        {"../../escape": _npy(X)},
        {"data": _npy(np.ones(3)), "indices": _npy(np.array([0, -5, 2**31])), "indptr": _npy(np.arange(n + 1))},
    ]
    parts |= odd[rng.integers(len(odd))]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def odd_mat(rng: np.random.Generator, table: pl.DataFrame) -> bytes:
    X, y = _numbers(table)
    odd: list[dict[str, Any]] = [
        {"X": np.array([X, "cell"], dtype=object)},
        {"X": {"field": X}},
        {"X": "text"},
        {"X": sparse.csc_matrix(X)},
        {"X": X > 0},
        {"X": X + 1j},
        {"X": np.zeros((0, 0))},
        {"X": X.astype(np.int8)},
        {"Y": np.array([["a"]] * len(y), dtype=object)},
        {"Y": y[:-1]},
        {"feature_names": np.array(["a", "a", "\x1b[2J", "d"], dtype=object)},
        {"feature_names": np.array([], dtype=object)},
    ]
    buffer = io.BytesIO()
    scipy_io.savemat(buffer, {"X": X, "Y": y} | odd[rng.integers(len(odd))], do_compression=bool(rng.integers(2)))
    return buffer.getvalue()


def odd_svmlight(rng: np.random.Generator, table: pl.DataFrame) -> bytes:
    lines = to_svmlight(table).splitlines()
    odd = [
        b"1 0:1",
        b"1 -1:1",
        b"1 3:1 2:1",
        b"1 2:1 2:1",
        b"1 300000000:1",
        b"1 99999999999999999999:1",
        b"1 1:nan 2:inf",
        b"1 1:1e999",
        b"1,2 1:1",
        b"a 1:1",
        b"1 qid:1 1:1",
        b"1 1:1 # \x1b[2J",
        b"1 a:1",
        b"1 1:",
        b"1 1",
        b"1:1",
        b"\x00",
        b"1 1:1\r",
        b"1 " + b" ".join(b"%d:1" % j for j in range(1, 3000)),
    ]
    lines.insert(int(rng.integers(len(lines) + 1)), odd[rng.integers(len(odd))])
    return b"\n".join(lines) + b"\n"


def odd_arff(rng: np.random.Generator, table: pl.DataFrame) -> bytes:
    text = to_arff(table).decode()
    last = text.splitlines()[-1]
    odd = [
        (last, "{0 1, 2 3}"),
        (last, "a,b,c,d,e"),
        (last, ",,,,"),
        (last, "?,?,?,?,?"),
        ("@attribute a numeric", "@attribute a {x,y}"),
        ("@attribute a numeric", "@attribute a string"),
        ("@attribute a numeric", "@attribute a date 'yyyy-MM-dd'"),
        ("@attribute a numeric", "@attribute a relational"),
        ("@attribute a numeric", "@attribute 'a"),
        ("@attribute a numeric", "@attribute b numeric"),
        ("@attribute a numeric", "@attribute"),
        ("@attribute a numeric", "% comment\n@attribute \x1b[2J numeric"),
        ("@data", ""),
        ("@data", "@data\n@data"),
        ("@relation t", ""),
        ("@attribute a numeric", "@attribute a {" + "x," * 5000 + "x}"),
    ]
    return text.replace(*odd[rng.integers(len(odd))]).encode()


def odd_columns(rng: np.random.Generator, table: pl.DataFrame) -> pl.DataFrame:
    n = table.height
    odd = [
        pl.Series("a", [[1.0, 2.0]] * n),
        pl.Series("a", [{"u": 1}] * n),
        pl.Series("a", [b"\xff"] * n),
        pl.Series("a", [None] * n),
        pl.Series("a", ["1"] * n, dtype=pl.Categorical),
        pl.Series("a", [1] * n, dtype=pl.Decimal(38, 10)),
        pl.Series("a", [0] * n, dtype=pl.Time),
        pl.Series("a", [0] * n, dtype=pl.Duration),
        pl.Series("a", np.arange(n)).cast(pl.Datetime(time_zone="UTC")),
        pl.Series("a", [2**63 + i for i in range(n)], dtype=pl.UInt64),
        pl.Series("a", [float("inf")] * n),
        pl.Series("\x1b[31m\n", np.arange(n)),
        pl.Series("", np.arange(n)),
        pl.Series("x" * 3000, np.arange(n)),
        pl.Series("=1+1", np.arange(n)),
        pl.Series("y", [None] * n),
        pl.Series("y", [[1]] * n),
        pl.Series("y", np.arange(n)).cast(pl.Datetime),
    ]
    return table.with_columns(odd[rng.integers(len(odd))])


# commands

FAST = ("gram-schmidt", "fisher-score", "correlation-score", "max-variance", "relief-f", "tree-selector", "lasso")
OPTIONS: tuple[tuple[str, ...], ...] = (
    (),
    (),
    (),
    ("--target", "nothing"),
    ("--target", ""),
    ("--drop", "a"),
    ("--drop", "a,b,c,d"),
    ("--keep", "b"),
    ("--task", "regression"),
    ("--task", "classification"),
    ("--missing", "error"),
    ("--missing", "pass"),
    ("--weights", "b"),
    ("--drop-rows-without-target",),
    ("--encoding", "latin-1"),
    ("--encoding", "nonsense"),
    ("--separator", ";"),
    ("--separator", "ab"),
    ("--decimal", ","),
    ("--format", "csv"),
    ("--format", "parquet"),
    ("--format", "npz"),
    ("--engine", "blocks"),
    ("--engine", "blocks", "--memory", "200MB"),
    ("--memory", "10kB"),
    ("--memory", "-1"),
    ("--seed", "x"),
    ("--param", "nothing=1"),
    ("--param", "stop=" + "[" * 2000),
    ("--row-groups", "b"),
)


def make_command(rng: np.random.Generator, name: str) -> list[str]:
    """A command that reads the file; "kept.*" is where it writes to, if it does."""
    command = str(rng.choice(["select", "rank", "dimension"], p=[0.6, 0.3, 0.1]))
    arguments = [command, name, *OPTIONS[rng.integers(len(OPTIONS))]]
    if command != "dimension":
        if "--target" not in arguments:
            arguments += ["--target", "y"]
        if rng.random() < 0.5:
            arguments += ["--method", str(rng.choice(FAST))]
    if command == "select" and rng.random() < 0.4:
        suffix = rng.choice([".csv", ".tsv", ".parquet", ".arrow", ".npz"])
        arguments += ["--out", f"kept{suffix}"]
    return arguments + (["--json"] if rng.random() < 0.3 else [])


def spoil(rng: np.random.Generator, suffix: str, table: pl.DataFrame) -> tuple[str, bytes]:
    """What was done, and the file."""
    odd = {".npz": odd_npz, ".sparse.npz": odd_npz, ".mat": odd_mat, ".svm": odd_svmlight, ".arff": odd_arff}
    kind = rng.random()
    if suffix in odd and kind < 0.4:
        return odd[suffix].__name__, odd[suffix](rng, table)
    if suffix in (".parquet", ".arrow") and kind < 0.25:
        return "odd columns", WRITERS[suffix](odd_columns(rng, table))
    data = WRITERS[suffix](table)
    if suffix in (".csv", ".tsv") and kind < 0.6:
        change: Any = CELLS_AND_ROWS[rng.integers(len(CELLS_AND_ROWS))]
    else:
        change = BYTES[rng.integers(len(BYTES))]
    return change.__name__, change(rng, data)


def _give(rng: np.random.Generator, folder: Path, suffix: str, data: bytes) -> tuple[list[str], Path | None]:
    """Write the file under some name; the command that reads it, and what is its standard input."""
    shown = suffix.replace(".sparse", "")
    name = str(rng.choice([f"table{shown}"] * 12 + ["table.CSV", "table.npz", "-x.csv", "t[a]b.csv", "table"]))
    if suffix in TEXT and rng.random() < 0.1:
        name, data = f"table{shown}.gz", gzip.compress(data) if rng.random() < 0.7 else bz2.compress(data)
    (folder / name).write_bytes(data)
    if rng.random() < 0.1:
        return [*make_command(rng, "-"), "--format", shown[1:]], folder / name
    given = f"./{name}" if name.startswith("-") else name
    return [*make_command(rng, given), *(["--glob"] if rng.random() < 0.05 else [])], None


def attack_reader(rng: np.random.Generator, suffix: str, folder: Path) -> str:
    """Give a bad file to a command."""
    done, data = spoil(rng, suffix, make_table(rng))
    arguments, stdin = _give(rng, folder, suffix, data)
    out = next((arguments[i + 1] for i, each in enumerate(arguments) if each == "--out"), "")
    if out and rng.random() < 0.5:
        (folder / out).write_bytes(b"what was there before")
    before = contents(folder)
    ending = run_command(arguments, folder.parent, stdin)
    wrong = what_is_wrong_with_ending(ending) or what_is_left(folder, before, [out] if ending.code == 0 else [])
    if not wrong and ending.code == 0:
        wrong = _what_is_wrong_with_answer(ending, arguments, folder, out)
    return wrong and f"{suffix}, {done}, tamis {' '.join(arguments)[:300]}: {wrong}"


def _what_is_wrong_with_answer(ending: Ending, arguments: list[str], folder: Path, out: str) -> str:
    if "--json" in arguments:
        try:
            answer = json.loads(ending.stdout, parse_constant=lambda word: 1 / 0)
        except (ValueError, ZeroDivisionError):
            return f"no JSON: {ending.stdout[:200]}"
        if "n_kept" in answer and answer["n_kept"] != len(answer["features"]):
            return f"{answer['n_kept']} kept, {len(answer['features'])} named"
    if out and not (folder / out).is_file():
        return f"{out} was not written"
    return ""


def attack_writing(rng: np.random.Generator, folder: Path) -> str:
    """The same table written in two ways gives the same answer."""
    table = make_table(rng)
    name = str(rng.choice(list(SAME)))
    suffix = ".csv" if rng.random() < 0.7 or name == "semicolons" else ".tsv"
    data = WRITERS[suffix](table)
    other = f"other{suffix}" + (".gz" if name.startswith("compressed") else "")
    (folder / f"plain{suffix}").write_bytes(data)
    (folder / other).write_bytes(SAME[name](rng, data))
    options = ["--target", "y", "--method", str(rng.choice(FAST)), "--json", "--quiet"]
    plain, found = (run_command(["select", path, *options], folder.parent) for path in (f"plain{suffix}", other))
    for ending in (plain, found):
        if wrong := what_is_wrong_with_ending(ending):
            return f"{suffix}, {name}: {wrong}"
    if found.code or plain.code:
        return "" if found.code == plain.code else f"{suffix}, {name}: {found.stderr}, plain text: {plain.stderr}"
    ours, theirs = ([each["name"] for each in ending.answer["features"]] for ending in (found, plain))
    return "" if ours == theirs else f"{suffix}, {name}: keeps {ours}, as plain text {theirs}"


BOMB_BYTES = 200 * 2**20  # of the table; the budget that a command is given is a tenth


def _text_bomb(rng: np.random.Generator, table: pl.DataFrame) -> tuple[str, bytes]:
    """Compressed text: rows again and again, or one endless cell."""
    suffix = str(rng.choice([".csv", ".tsv", ".svm"]))
    data = WRITERS[suffix](table)
    row = data.splitlines(keepends=True)[-1] if rng.random() < 0.7 else b"7"
    return f"{suffix}.gz", gzip.compress(data + row * (BOMB_BYTES // len(row)), compresslevel=1)


def _array_bomb(rng: np.random.Generator, table: pl.DataFrame) -> tuple[str, bytes]:
    """Compressed arrays of zeros."""
    _, y = _numbers(table)
    zeros = np.zeros((len(y), BOMB_BYTES // 8 // len(y)))
    buffer = io.BytesIO()
    if rng.random() < 0.5:
        np.savez_compressed(buffer, X=zeros, y=y)
        return ".npz", buffer.getvalue()
    scipy_io.savemat(buffer, {"X": zeros, "y": y}, do_compression=True)
    return ".mat", buffer.getvalue()


def _column_bomb(rng: np.random.Generator, table: pl.DataFrame) -> tuple[str, bytes]:
    """Columns of one value each, which take next to nothing in a file."""
    n_rows = BOMB_BYTES // 8 // (table.width + 1)
    columns = {name: np.zeros(n_rows) for name in table.columns if name != "y"}
    frame = pl.DataFrame(columns | {"y": np.arange(n_rows) % 2.0})
    buffer = io.BytesIO()
    if rng.random() < 0.5:
        frame.write_parquet(buffer)
        return ".parquet", buffer.getvalue()
    frame.write_ipc(buffer, compression="zstd")
    return ".arrow", buffer.getvalue()


def attack_with_bomb(rng: np.random.Generator, folder: Path) -> str:
    """A table beyond the budget is refused in a line that names the option, or read in blocks of rows."""
    make = (_text_bomb, _array_bomb, _column_bomb)[rng.integers(3)]
    suffix, data = make(rng, make_table(rng))
    (folder / f"table{suffix}").write_bytes(data)
    command = str(rng.choice(["select", "rank", "dimension"], p=[0.5, 0.3, 0.2]))
    arguments = [command, f"table{suffix}", "--memory", f"{BOMB_BYTES // 10}", "--quiet"]
    arguments += [] if command == "dimension" else ["--target", "y", "--method", "max-variance", "--stop", "1"]
    before = contents(folder)
    ending = run_command(arguments, folder.parent)
    wrong = what_is_wrong_with_ending(ending) or what_is_left(folder, before, [])
    if not wrong and ending.code == 0 and suffix in (".npz", ".mat"):
        wrong = "read beyond the budget"
    return wrong and f"tamis {' '.join(arguments)}: {wrong}"


def make_attack(rng: np.random.Generator, index: int) -> Attack:
    """A reader, each in its turn, and a file that is not fit for it; or text that is only written in another way."""
    suffix = TURNS[index % len(TURNS)]
    state = rng.bit_generator.state

    def act(folder: Path) -> str:
        own = np.random.default_rng()
        own.bit_generator.state = state
        special = {SAME_TEXT: attack_writing, BOMB: attack_with_bomb}
        return special[suffix](own, folder) if suffix in special else attack_reader(own, suffix, folder)

    return Attack("files", suffix, suffix, act)
