"""Encoders of others: any transformer that names its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis.table._encode_numbers import encode_numbers
from tamis.table._encoded import Encoded, Wishes, join
from tamis.table._source import Source, enumerate_names


def encode_by(encoder: Any, X: Any, source: Source, y: np.ndarray | None, wishes: Wishes) -> Encoded:
    """Encode a table by a copy of a transformer, and find the source column of everything it puts out.

    Parameters
    ----------
    encoder : transformer
        With ``get_feature_names_out``, such as skrub's ``TableVectorizer`` or scikit-learn's ``ColumnTransformer``.
    X : data frame or ndarray
    source : Source
        The columns of the same table.
    y : ndarray or None
    wishes : Wishes
        Missing values that the encoder leaves are imputed unless the ranker takes them.
    """
    name = type(encoder).__name__
    if isinstance(X, Mapping):
        raise ValueError(f"encoder={name} takes data frames, but X is a mapping: give a pandas or polars frame")
    encoder = clone(encoder)
    output = encoder.fit_transform(X) if y is None else encoder.fit_transform(X, y)
    names = [str(one) for one in encoder.get_feature_names_out()]
    table = _to_numbers(output, names, name)
    if table.shape != (source.n_rows, len(names)):
        raise ValueError(
            f"encoder={name} gives a table of shape {table.shape} for {source.n_rows} rows, but {len(names)} names"
        )
    places = _source_places(encoder, names, source.names)
    if guilty := [names[i] for i in np.flatnonzero(places < 0)]:
        raise ValueError(
            f"encoder={name} puts out {enumerate_names(guilty)}, whose source column cannot be told: let names begin "
            "with that of the source column, as in 'city_Paris', or use encoder='auto'"
        )
    output_columns = Source(names, source.n_rows, np.arange(len(names)), table)
    ranked = join([encode_numbers(output_columns, wishes)], source.n_rows)
    return _told_of_source(ranked, places, source, name)


def _told_of_source(ranked: Encoded, places: np.ndarray, source: Source, encoder: str) -> Encoded:
    """The columns of an encoder's output, in the order of the source columns that they come from."""
    owners = places[ranked.places]
    order = np.argsort(owners, kind="stable")
    by_source: dict[int, list[str]] = {}
    for i in order.tolist():
        by_source.setdefault(int(owners[i]), []).append(ranked.names[i])
    unused = [j for j in range(source.n_columns) if j not in by_source]
    return Encoded(
        ranked.table if np.array_equal(order, np.arange(order.size)) else ranked.table[:, order],
        [ranked.names[i] for i in order.tolist()],
        owners[order],
        {j: f"by {encoder}, as {enumerate_names(names)}" for j, names in by_source.items()},
        dict.fromkeys(unused, f"{encoder} makes no column of it that varies"),
        np.zeros(order.size, dtype=bool),
    )


def _to_numbers(output: Any, names: Sequence[str], encoder: str) -> np.ndarray:
    if sparse.issparse(output):
        return output.toarray()
    if nw.dependencies.is_into_dataframe(output):
        output = nw.from_native(output, eager_only=True).to_numpy()
    try:
        return np.asarray(output, dtype=float)
    except (TypeError, ValueError) as error:
        columns = np.asarray(output, dtype=object)
        guilty = [names[i] for i in range(columns.shape[1]) if isinstance(columns[0, i], str)]
        raise ValueError(f"encoder={encoder} leaves {enumerate_names(guilty)} as text; it must give numbers") from error


def _source_places(encoder: Any, names: Sequence[str], sources: Sequence[str]) -> np.ndarray:
    """Place of the source column of every output; -1 where it cannot be told."""
    told = _told_by(encoder)
    place = {name: j for j, name in enumerate(sources)}
    longest_first = sorted(sources, key=len, reverse=True)
    owner = {output: place[column] for column, outputs in told.items() if column in place for output in outputs}
    return np.array([owner.get(name, _by_prefix(name, longest_first, place)) for name in names], dtype=int)


def _told_by(encoder: Any) -> dict[str, Sequence[str]]:
    """What an encoder says itself of where its columns come from, as skrub's do."""
    told = getattr(encoder, "input_to_outputs_", None)
    return {str(column): list(outputs) for column, outputs in told.items()} if isinstance(told, Mapping) else {}


def _by_prefix(name: str, longest_first: Sequence[str], place: Mapping[str, int]) -> int:
    """The longest source name that an output begins with; a ColumnTransformer puts its own name and ``__`` before."""
    for candidate in (name, name.partition("__")[2]):
        for source in longest_first:
            if candidate == source or (candidate.startswith(source) and not candidate[len(source)].isalnum()):
                return place[source]
    return -1
