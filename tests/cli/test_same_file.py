"""Tables in memory and in blocks: the file that is written is the same, whichever read the rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

N_ROWS = 300
KEPT = ("whole", "b c,d", "decimal", "holes", "text", "code", "flag", "day", "time", "tiny", "late")


@pytest.fixture
def mixed(tmp_path, monkeypatch):
    """A target that comes first, beside columns of all kinds, of which one turns decimal in its last row."""
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 50, N_ROWS)
    columns = {
        "y": (whole * 2.0 + rng.normal(size=N_ROWS)).round(3),
        "whole": whole,
        "b c,d": rng.normal(size=N_ROWS).round(4),
        "decimal": whole * 1.0,
        "holes": [str(value) if value % 3 else "" for value in rng.integers(0, 9, N_ROWS)],
        "text": rng.choice(["x,1", 'q"z', "plain", "two\nlines"], N_ROWS).tolist(),
        "code": [f"{value % 9:04d}" for value in whole],
        "flag": whole > 20,
        "day": [str(np.datetime64("2020-01-01") + k) for k in range(N_ROWS)],
        "time": [f"2023-06-03 {k % 24:02d}:05" for k in range(N_ROWS)],
        "tiny": rng.normal(size=N_ROWS) * 1e-7,
        "late": [*map(str, range(N_ROWS - 1)), "0.5"],
    }
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    typed = pl.read_csv(tmp_path / "t.csv", try_parse_dates=True, infer_schema_length=None)
    typed = typed.with_columns(code=pl.Series(columns["code"]).cast(pl.Categorical))
    typed.write_parquet(tmp_path / "t.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def select(tamis, source, out, engine, *options):
    given = ["--target", "y", "--stop", str(len(KEPT)), "--keep", ",".join(KEPT), "--engine", engine]
    outcome = tamis("select", source, *given, "--out", out, *options)
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("options", [[], ["--safe-csv"]])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("source", ["t.csv", "t.parquet"])
def test_text_is_the_same_byte_for_byte(source, suffix, options, mixed, tamis):
    for engine in ("memory", "blocks"):
        select(tamis, source, f"{engine}{suffix}", engine, *options)
    assert (mixed / f"blocks{suffix}").read_bytes() == (mixed / f"memory{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("source", ["t.csv", "t.parquet"])
def test_typed_columns_have_the_same_order_and_values(source, suffix, mixed, tamis):
    found = []
    for engine in ("memory", "blocks"):
        select(tamis, source, f"{engine}.{suffix}", engine)
        found.append((pl.read_parquet if suffix == "parquet" else pl.read_ipc)(mixed / f"{engine}.{suffix}"))
    in_memory, in_blocks = found
    assert in_blocks.columns == in_memory.columns == [*KEPT, "y"]
    assert [dtype.base_type() for dtype in in_blocks.dtypes] == [dtype.base_type() for dtype in in_memory.dtypes]
    assert in_blocks.rows() == in_memory.rows()


def test_text_of_blocks_is_written_without_polars_too(mixed, tamis, without):
    select(tamis, "t.csv", "with.csv", "blocks")
    without("polars")
    select(tamis, "t.csv", "without.csv", "blocks")
    one, other = (pl.read_csv(mixed / name, infer_schema_length=None) for name in ("with.csv", "without.csv"))
    assert one.equals(other)
