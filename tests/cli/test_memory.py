"""The memory that a command may take: how much is free, and what ends where it is gone."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tamis.cli import _fit as fit_module
from tamis.cli import _memory as memory_module
from tamis.cli import _read as read_module
from tamis.cli._arrow_sizes import decompressed_size
from tamis.cli._memory import Budget, TooLargeError, free_memory
from tamis.cli._text_encoding import measure_text


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Files in which Linux tells of memory: 8 GB are available, and no group has a limit."""
    monkeypatch.setattr(memory_module, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory_module, "_GROUPS", tmp_path / "cgroup")
    write(tmp_path / "proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n")
    write(tmp_path / "proc/self/statm", "1000 1 1\n")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_what_the_machine_has_available_is_free(system):
    assert free_memory() == 8 * 2**30


def test_a_control_group_bounds_what_is_free(system):
    write(system / "proc/self/cgroup", "0::/jobs/one\n")
    write(system / "cgroup/jobs/memory.max", f"{3 * 2**30}\n")
    write(system / "cgroup/jobs/memory.current", f"{2 * 2**30}\n")
    write(system / "cgroup/jobs/memory.stat", f"anon 5\ninactive_file {2**29}\n")
    write(system / "cgroup/jobs/one/memory.max", "max\n")
    write(system / "cgroup/jobs/one/memory.current", f"{2**30}\n")
    assert free_memory() == 1.5 * 2**30


def test_a_control_group_of_the_first_version_does_too(system):
    write(system / "proc/self/cgroup", "5:cpu:/other\n4:memory:/box\n")
    write(system / "cgroup/memory/box/memory.limit_in_bytes", f"{2 * 2**30}\n")
    write(system / "cgroup/memory/box/memory.usage_in_bytes", f"{2**30}\n")
    assert free_memory() == 2**30


def test_a_container_sees_the_files_of_its_group_at_the_root(system):
    write(system / "proc/self/cgroup", "0::/\n")
    write(system / "cgroup/memory.max", f"{2**30}\n")
    write(system / "cgroup/memory.current", f"{2**29}\n")
    assert free_memory() == 2**29


def test_the_limit_of_a_process_bounds_what_is_free(system, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2**30, 2**31))
    assert free_memory() == 2**30 - 1000 * resource.getpagesize()


def test_what_is_taken_already_counts():
    budget = Budget(2**20, ", and so on").after(2**19)
    budget.check(2**19, "it")
    with pytest.raises(TooLargeError, match=r"keep to is 1.0 MB, and it would take about 1.0 MB; .* more, and so on$"):
        budget.check(2**19 + 1, "it")


def test_memory_that_ends_while_a_file_is_read_is_said_in_a_line(tamis, csv, monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate 1 TiB")

    monkeypatch.setitem(read_module._TEXT_READERS, ".csv", fail)
    outcome = tamis("rank", csv, "--target", "y")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert "it takes more memory than there is, and --engine blocks reads it in blocks of rows" in outcome.err


def test_memory_that_ends_later_is_said_in_a_line_too(tamis, csv, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("Unable to allocate 1 TiB")

    monkeypatch.setattr(fit_module, "fit", fail)
    outcome = tamis("rank", csv, "--target", "y")
    assert outcome.code == 1
    assert outcome.err == (
        "tamis: error: there is not enough memory (Unable to allocate 1 TiB): leave columns out with --drop, or rank "
        "fewer rows\n"
    )


def test_a_panic_of_polars_is_an_error_of_one_line(tamis, csv, monkeypatch):
    def panic(*_, **__):
        raise pl.exceptions.PanicException("capacity overflow")

    monkeypatch.setattr(pl, "read_csv", panic)
    outcome = tamis("rank", csv, "--target", "y")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert "the file is damaged" in outcome.err


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_arrow_files_say_how_large_they_are_without_compression(tmp_path, compression):
    table = pl.DataFrame({"a": np.zeros(10_000), "b": ["x" * 100] * 10_000})
    table.write_ipc(tmp_path / "t.arrow", compression=compression)
    assert 10_000 * 108 <= decompressed_size(tmp_path / "t.arrow") <= 10_000 * 150


def test_arrow_files_of_other_writers_say_so_too(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": np.zeros(10_000), "b": pa.array(["x" * 100] * 10_000).dictionary_encode()})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema, options=options) as writer:
        writer.write_table(table)
    assert 10_000 * 12 <= decompressed_size(tmp_path / "t.arrow") <= 10_000 * 20
    (tmp_path / "t.txt").write_text("no table at all")
    assert decompressed_size(tmp_path / "t.txt") == 0


@pytest.mark.parametrize("cut", [1, 3, 100])
def test_a_text_is_measured_alike_however_it_is_cut(cut):
    text = b"a,b\n1,2\n\nlong,line,with,marks\n3,4"
    size = measure_text([text[k : k + cut] for k in range(0, len(text), cut)], ",")
    assert (size.n_bytes, size.n_lines, size.longest_line, size.n_marks) == (len(text), 5, 20, 6)
