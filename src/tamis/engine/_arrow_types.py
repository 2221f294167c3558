"""Types of Arrow: what columns hold, which types two files have in common, and numbers as numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def arrow() -> Any:
    """The library, loaded when it is needed."""
    import pyarrow

    return pyarrow


def common_schema(schema: Any, path: Path, other: Any, other_path: Path) -> Any:
    """Types that hold the columns of both files, which must have the same names and kinds of values."""
    odd = [f"has no column '{name}'" for name in schema.names if name not in other.names]
    odd += [f"has a column '{name}'" for name in other.names if name not in schema.names]
    if odd:
        raise ValueError(f"{other_path} {odd[0]}, unlike {path}; all files need the same columns")
    fields = []
    for name in schema.names:
        one, another = schema.field(name).type, other.field(name).type
        if "null" not in (str(one), str(another)) and kind_of(one) != kind_of(another):
            raise ValueError(
                f"column '{name}' holds {another} in {other_path} and {one} in {path}; a column holds one kind of "
                "values in all files"
            )
        fields.append((name, _common_type(one, another)))
    return arrow().schema(fields)


def with_types(schema: Any) -> Any:
    """Columns that hold nothing as far as is known, in no file, are numbers that are missing."""
    pa = arrow()
    return pa.schema(
        [
            (name, pa.float64() if str(kind) == "null" else kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
    )


def _common_type(one: Any, another: Any) -> Any:
    """A type that holds values of both, which are of one kind, or nothing."""
    if one == another or str(another) == "null":
        return one
    if str(one) == "null":
        return another
    pa = arrow()
    if pa.types.is_integer(one) and pa.types.is_integer(another):  # decimals would not tell large ones apart
        are_unsigned = pa.types.is_unsigned_integer(one), pa.types.is_unsigned_integer(another)
        if all(are_unsigned) or pa.uint64() not in (one, another):
            return pa.uint64() if all(are_unsigned) else pa.int64()
    return {"number": pa.float64(), "text": pa.large_string(), "date": pa.timestamp("us")}.get(kind_of(one), one)


def as_schema(batch: Any, schema: Any, columns: Sequence[str]) -> Any:
    """A batch with the types that all files have in common."""
    pa = arrow()
    wanted = pa.schema([schema.field(name) for name in columns])
    if batch.schema.types == wanted.types:
        return batch
    arrays = [
        column if column.type == field.type else column.cast(field.type, safe=False)
        for column, field in zip(batch.columns, wanted, strict=True)
    ]
    return pa.record_batch(arrays, schema=wanted)


def decoded_parts(batch: Any, schema: Any, n_bytes: float) -> Iterator[Any]:
    """A batch in parts, in which text that is no dictionary in the schema, too, takes at most so many bytes decoded."""
    types = arrow().types
    coded = [
        column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
        if types.is_dictionary(column.type) and not types.is_dictionary(schema.field(name).type)
    ]
    if not coded:
        yield batch
        return
    sizes = np.cumsum(np.sum([_bytes_in_rows(column) for column in coded], axis=0))
    start = 0
    while start < batch.num_rows:
        before = sizes[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(sizes, before + n_bytes, side="right")))
        yield as_schema(batch.slice(start, stop - start), schema, batch.schema.names)
        start = stop


def _bytes_in_rows(column: Any) -> np.ndarray:
    """Bytes of the text in every row of a dictionary column."""
    lengths = _bytes_of(column.dictionary)
    return np.append(lengths, 0)[column.indices.fill_null(lengths.size).to_numpy(zero_copy_only=False)]


def longest_listed(column: Any) -> int:
    """Bytes of the longest text that a dictionary column lists."""
    return int(_bytes_of(column.dictionary).max(initial=0)) if arrow().types.is_dictionary(column.type) else 0


def _bytes_of(texts: Any) -> np.ndarray:
    from pyarrow import compute

    return compute.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def join_batches(batches: Iterator[Any], n_rows: int, n_bytes: float) -> Iterator[Any]:
    """Batches below each other, as long as they have at most so many rows and bytes together."""
    pa = arrow()
    held: list[Any] = []
    rows, size = 0, 0
    for batch in batches:
        if held and (rows + batch.num_rows > n_rows or size + batch.nbytes > n_bytes):
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if held:
        yield pa.concat_batches(held)


def has_fixed_width(kind: Any) -> bool:
    return arrow().types.is_dictionary(kind) or kind_of(kind) not in ("text", "other")


def kind_of(kind: Any) -> str:
    """What a type of Arrow holds: "number", "boolean", "date", "text" or "other"."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_boolean(kind):
        return "boolean"
    if _is_number(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return "text" if is_text else "other"


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def is_whole(column: Any) -> bool:
    """Whether a column holds whole numbers, one in every row."""
    return arrow().types.is_integer(column.type) and column.null_count == 0


def as_decimal(kind: Any) -> Any:
    """The type of a column of text: numbers of any kind are decimals; one without values may be of any type."""
    pa = arrow()
    return pa.float64() if _is_number(kind) and kind not in (pa.bool_(), pa.null()) else kind


def to_numpy(column: Any) -> np.ndarray:
    """An Arrow column as numpy: numbers in double or single precision, NaN where one is missing; else objects."""
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        if not _is_number(column.type.value_type):
            return _spelled_out(column)
        column = column.dictionary_decode()
    kind = column.type
    if not _is_number(kind):
        return np.array(column.to_pylist(), dtype=object)
    if not types.is_float32(kind) and not types.is_float64(kind):
        column = compute.cast(column, arrow().float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


def _spelled_out(column: Any) -> np.ndarray:
    """Objects of a dictionary column; rows that hold the same share one, for decoded they could take any memory."""
    words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
    codes = column.indices.fill_null(len(words) - 1)
    return words[codes.to_numpy(zero_copy_only=False)]
