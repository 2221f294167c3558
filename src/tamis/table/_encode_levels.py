"""Text and categories: one-hot with rare levels as one, or by the mean of the target where there are many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.table._encoded import Block, Part, Wishes
from tamis.table._ordered_means import ordered_means
from tamis.table._source import Source
from tamis.table._values import Levels

MOST_LEVELS = 30  # that are one-hot encoded
_LEAST_ROWS, _LEAST_SHARE = 5, 0.01  # of a level that has a column of its own
_IDENTIFIER_SHARE = 0.9  # different texts among the rows filled in, from which on they name rows and not kinds of rows


@dataclass(frozen=True)
class _Coded:
    """Levels that occur, sorted by name, a missing value as one more; ``codes`` has no gaps."""

    place: int
    codes: np.ndarray
    labels: list[str]
    has_missing: bool

    @property
    def n_levels(self) -> int:
        return len(self.labels)


def is_identifier(column: Levels) -> bool:
    """Whether (nearly) every row that is filled in holds another text."""
    counts = column.counts
    return counts.sum() > 2 and np.count_nonzero(counts) > _IDENTIFIER_SHARE * counts.sum()


def encode_levels(source: Source, wishes: Wishes) -> Part:
    """Every column of text or categories that tells rows apart without naming each."""
    not_ranked = {j: cause for j, column in source.levels.items() if (cause := _cause(column, source.n_rows))}
    coded = [_code(j, column) for j, column in source.levels.items() if j not in not_ranked]
    parts = [_encode_one(source, one, wishes) for one in coded if not _is_one_hot(one, wishes)]
    parts.append(_one_hot(source, [one for one in coded if _is_one_hot(one, wishes)]))
    blocks = [block for part in parts for block in part.blocks]
    sentences = {j: sentence for part in parts for j, sentence in part.sentences.items()}
    return Part(blocks, sentences, not_ranked)


def _cause(column: Levels, n_rows: int) -> str | None:
    """Why a column is not ranked, if it is not."""
    counts = column.counts
    if counts.sum() == 0:
        return "every value is missing"
    if counts.max() == n_rows:
        return f"constant ({str(column.levels[int(counts.argmax())])!r} in every row)"
    if is_identifier(column):
        every = "every" if np.count_nonzero(counts) == counts.sum() else "nearly every"
        return f"a different text in {every} row, as an identifier has"
    return None


def _code(place: int, column: Levels) -> _Coded:
    present = np.flatnonzero(column.counts)
    labels = [str(column.levels[level]) for level in present]
    order = sorted(range(len(labels)), key=labels.__getitem__)
    code = np.full(len(column.levels) + 1, len(labels))  # the last is that of missing values
    code[present[order]] = np.arange(len(labels))
    codes = code[column.codes]
    has_missing = bool((column.codes < 0).any())
    return _Coded(place, codes, [labels[i] for i in order] + ["missing"] * has_missing, has_missing)


def _least_rows(n_rows: int) -> int:
    return max(_LEAST_ROWS, int(_LEAST_SHARE * n_rows))


def _is_one_hot(one: _Coded, wishes: Wishes) -> bool:
    """Few levels, in which most rows are that stand for themselves."""
    if wishes.layout != "groups" or not 2 < one.n_levels <= MOST_LEVELS + one.has_missing:
        return False
    counts = np.bincount(one.codes)
    frequent = counts[counts >= _least_rows(one.codes.size)]
    return 2 * int(frequent.sum()) > one.codes.size


def _one_hot(source: Source, columns: list[_Coded]) -> Part:
    if not columns:
        return Part()
    least = _least_rows(source.n_rows)
    places: list[int] = []
    names: list[str] = []
    indicators: list[np.ndarray] = []
    sentences: dict[int, str] = {}
    for one in columns:
        is_rare = np.bincount(one.codes) < least
        frequent = np.flatnonzero(~is_rare).tolist()
        n_rare = int(is_rare.sum())
        labels = [one.labels[code] for code in frequent] + ["(rare)"] * (n_rare > 0)
        indicators += [one.codes == code for code in frequent] + [is_rare[one.codes]] * (n_rare > 0)
        names += [f"{source.names[one.place]}={label}" for label in labels]
        places += [one.place] * len(labels)
        together = f", {n_rare} of them, in fewer than {least} rows each, as one" if n_rare > 1 else ""
        sentences[one.place] = f"{_counted(one)} one-hot{together}"
    return Part([Block(np.array(places), np.array(indicators).T, names)], sentences)


def _encode_one(source: Source, one: _Coded, wishes: Wishes) -> Part:
    name = source.names[one.place]
    if one.n_levels == 2:
        label = one.labels[1]
        return _part(
            one.place, one.codes.astype(float)[:, None], [f"{name}={label}"], f"{_counted(one)}, 1 is {label!r}"
        )
    if wishes.layout == "codes":
        codes, counted = one.codes.astype(float), _counted(one)
        if wishes.takes_missing and one.has_missing:
            codes[one.codes == one.n_levels - 1] = np.nan
            counted = f"{one.n_levels - 1} levels, missing ones left to the ranker,"
        return _part(one.place, codes[:, None], [name], f"{counted} as codes of a discrete column", True)
    if wishes.targets is None:
        ordered = _by_frequency(one)
        return _part(one.place, ordered[:, None], [name], f"{_counted(one)} by how frequent they are")
    means = ordered_means(one.codes, wishes.targets)
    suffix = [""] if means.shape[1] == 1 else [f", class {k}" for k in range(means.shape[1])]
    names = [f"{name} (mean target{which})" for which in suffix]
    sentence = f"{_counted(one)} by the mean target of the rows before, in a random order of the rows"
    return _part(one.place, means, names, sentence)


def _by_frequency(one: _Coded) -> np.ndarray:
    """Place of the level when these are sorted by their frequency, the rarest first; equal ones by name."""
    counts = np.bincount(one.codes, minlength=one.n_levels)
    place = np.empty(one.n_levels)
    place[np.lexsort((np.arange(one.n_levels), counts))] = np.arange(one.n_levels)
    return place[one.codes]


def _counted(one: _Coded) -> str:
    return f"{one.n_levels} levels, missing among them," if one.has_missing else f"{one.n_levels} levels"


def _part(place: int, values: Any, names: list[str], sentence: str, is_discrete: bool = False) -> Part:
    return Part([Block(np.full(len(names), place), values, names, is_discrete)], {place: sentence.replace(",,", ",")})
