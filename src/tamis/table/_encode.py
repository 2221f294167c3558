"""A table of mixed columns as a table of numbers, each column with the source column it comes from."""

from __future__ import annotations

from tamis.table._encode_levels import encode_levels
from tamis.table._encode_moments import encode_moments
from tamis.table._encode_numbers import encode_numbers
from tamis.table._encoded import Encoded, Part, Wishes, join
from tamis.table._source import Source


def encode(source: Source, wishes: Wishes) -> Encoded:
    """Encode every column by what it holds; those that cannot tell rows apart are left out, with the cause.

    Notes
    -----
    Cost: a few passes over the numbers; for every other column one look-up per row.
    """
    unreadable = {j: f"holds {holds}, neither numbers, text nor dates" for j, holds in source.unreadable.items()}
    parts = [
        encode_numbers(source, wishes),
        encode_levels(source, wishes),
        encode_moments(source, wishes),
        Part(not_ranked=unreadable),
    ]
    return join(parts, source.n_rows)
