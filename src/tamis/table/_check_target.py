"""Checks that look at the target: outliers, rare classes, counts, leaks, missing values that tell it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamis.kernels.arrays.targets import OUTLYING, encode_target, is_outlying, looks_like_counts
from tamis.table._findings import Finding
from tamis.table._source import Source

_MOST_NAMED = 5
_FEWEST_ROWS = 5  # of a class, and of rows with and without a value
_LEAK = 0.99  # share of the target that one column explains on other rows
_MOST_TREES = 100  # columns that are looked at closely
_RISK = 0.01  # that any column is said to miss values where the target differs, if none does


def check_target(y: np.ndarray, task: str, *, guessed: bool) -> Iterator[Finding]:
    """Findings of the target alone."""
    if task == "classification":
        classes, counts = np.unique(y, return_counts=True)
        if np.any(counts < _FEWEST_ROWS):
            yield Finding("rare-class", None, _rare_in_words(classes, counts))
        if guessed and looks_like_counts(y):
            yield Finding(
                "count-target", None, f"was taken as {classes.size} classes, but looks like counts or ratings"
            )
        return
    y = y.astype(float)
    far = np.flatnonzero(is_outlying(y))
    if far.size:
        largest = y[far[np.argmax(np.abs(y[far] - np.median(y)))]]
        rows = f"{far.size} row{'s' * (far.size != 1)}"
        sentence = (
            f"lies more than {OUTLYING:g} robust standard deviations from its median in {rows} (up to {largest:g})"
        )
        yield Finding("outlying-target", None, sentence)


def _rare_in_words(classes: np.ndarray, counts: np.ndarray) -> str:
    """Which classes have too few rows, and how many these are."""
    rare = [
        (label, count) for label, count in zip(classes.tolist(), counts.tolist(), strict=True) if count < _FEWEST_ROWS
    ]
    if len(rare) == 1:
        [(label, count)] = rare
        return f"has {count} row{'s' * (count != 1)} of class {label!r}"
    named = ", ".join(f"{label!r} ({count})" for label, count in rare[:_MOST_NAMED])
    more = f" and {len(rare) - _MOST_NAMED} more" if len(rare) > _MOST_NAMED else ""
    return f"has fewer than {_FEWEST_ROWS} rows of {len(rare)} classes: {named}{more}"


def check_missingness(source: Source, y: np.ndarray, task: str, n_missing: np.ndarray, told: str) -> Iterator[Finding]:
    """Columns whose missing values fall where the target differs, by a test on ranks, corrected for all columns."""
    n_rows = source.n_rows
    suspects = np.flatnonzero(np.minimum(n_missing, n_rows - n_missing) >= _FEWEST_ROWS)
    if not suspects.size:
        return
    is_missing = np.column_stack([_is_missing(source, j) for j in suspects.tolist()]).astype(float)
    targets = _scores(y, task)
    r = _correlations(is_missing, targets)
    p_values = 2 * norm.sf(np.abs(r).max(axis=1) * np.sqrt(n_rows - 1)) * r.size
    for k in np.flatnonzero(p_values < _RISK).tolist():
        means = _means(y, task, is_missing[:, k] > 0, int(np.abs(r[k]).argmax()))
        yield Finding("telling-missingness", source.names[suspects[k]], f"tells of the target: that is {means}{told}")


def _means(y: np.ndarray, task: str, where: np.ndarray, target: int) -> str:
    """The target where a value is missing and elsewhere, in words."""
    if task == "regression":
        return f"{y[where].mean():.3g} on average where it is missing, {y[~where].mean():.3g} elsewhere"
    labels, codes = np.unique(y, return_inverse=True)
    target = 1 if labels.size == 2 else target
    with_, without = (f"{np.mean(codes[rows] == target):.0%}" for rows in (where, ~where))
    return f"{labels.tolist()[target]!r} in {with_} of the rows where it is missing, {without} elsewhere"


def check_leaks(source: Source, y: np.ndarray, task: str, told: str) -> Iterator[Finding]:
    """Columns that explain nearly all of the target on rows that were not looked at."""
    if source.n_rows < 4 * _FEWEST_ROWS or (task == "classification" and np.bincount(_codes(y)).min() < _FEWEST_ROWS):
        return
    y = rankdata(y) if task == "regression" else y  # outliers of the target must not hide a column that tells it
    halves = np.array_split(np.random.RandomState(0).permutation(source.n_rows), 2)
    for i in _most_correlated(source, y, task):
        share = _explained_by_tree(source.numbers[:, [i]], y, task, halves)
        if share >= _LEAK:
            yield Finding("leak", source.names[source.places[i]], _leak_sentence(share, told))
    for j, moments in source.moments.items():
        values = np.where(np.isnat(moments), np.nan, moments.astype("datetime64[us]").astype(float))[:, None]
        if (share := _explained_by_tree(values, y, task, halves)) >= _LEAK:
            yield Finding("leak", source.names[j], _leak_sentence(share, told))
    for j, column in source.levels.items():
        if (share := _explained_by_levels(column.codes + 1, y, task)) >= _LEAK:
            yield Finding("leak", source.names[j], _leak_sentence(share, told))


def _leak_sentence(share: float, told: str) -> str:
    return f"alone tells the target: {share:.1%} of it on other rows{told}"


def _codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1]


def _scores(y: np.ndarray, task: str) -> np.ndarray:
    """The target as columns that do not depend on outliers: ranks, or indicators of the classes."""
    return rankdata(y)[:, None] if task == "regression" else encode_target(y, task).values


def _correlations(columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Of every column with every target; zero for constant ones."""
    centered = [values - values.mean(axis=0) for values in (columns, targets)]
    norms = [np.sqrt(np.einsum("ij,ij->j", values, values)) for values in centered]
    scale = np.outer(norms[0], norms[1])
    return np.divide(centered[0].T @ centered[1], scale, out=np.zeros(scale.shape), where=scale > 0)


def _is_missing(source: Source, j: int) -> np.ndarray:
    if j in source.levels:
        return source.levels[j].codes < 0
    if j in source.moments:
        return np.isnat(source.moments[j])
    return np.isnan(source.numbers[:, int(np.searchsorted(source.places, j))])


def _most_correlated(source: Source, y: np.ndarray, task: str) -> list[int]:
    """All columns of numbers; of wide tables those whose ranks correlate most with the target."""
    n_columns = source.places.size
    if n_columns <= _MOST_TREES:
        return list(range(n_columns))
    ranks = np.argsort(np.argsort(source.numbers, axis=0), axis=0).astype(np.float32)
    r = np.abs(_correlations(ranks, _scores(y, task).astype(np.float32))).max(axis=1)
    return np.sort(np.argsort(-r, kind="stable")[:_MOST_TREES]).tolist()


def _explained_by_tree(values: np.ndarray, y: np.ndarray, task: str, halves: list[np.ndarray]) -> float:
    """Share of the target that a tree on one column explains on the other half of the rows, the worse of both."""
    tree = DecisionTreeClassifier if task == "classification" else DecisionTreeRegressor
    shares, values = [], rankdata(values, axis=0, nan_policy="omit")  # which splits depend on alone, in any units
    for train, test in (halves, halves[::-1]):
        predicted = tree(min_samples_leaf=2, random_state=0).fit(values[train], y[train]).predict(values[test])
        shares.append(_share(predicted, y[test], task))
        if shares[-1] < _LEAK:
            break
    return min(shares)


def _explained_by_levels(codes: np.ndarray, y: np.ndarray, task: str) -> float:
    """The same of levels: every row is predicted by the others of its level."""
    targets = y.astype(float)[:, None] if task == "regression" else np.eye(_codes(y).max() + 1)[_codes(y)]
    sums = np.zeros((codes.max() + 1, targets.shape[1]))
    np.add.at(sums, codes, targets)
    counts = np.bincount(codes)[codes][:, None] - 1
    others = np.where(counts > 0, (sums[codes] - targets) / np.maximum(counts, 1), targets.mean(axis=0))
    if task == "regression":
        return _share(others[:, 0], y.astype(float), task)
    return _share(others.argmax(axis=1), _codes(y), task)


def _share(predicted: np.ndarray, y: np.ndarray, task: str) -> float:
    """R squared, or the share of the errors of the most frequent class that is avoided."""
    if task == "regression":
        total = np.sum((y - y.mean()) ** 2)
        return 1 - float(np.sum((y - predicted) ** 2) / total) if total > 0 else 0.0
    _, counts = np.unique(y, return_counts=True)
    base = y.size - counts.max()
    return 1 - float(np.count_nonzero(predicted != y) / base) if base else 0.0
