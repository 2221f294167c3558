"""Look at a table before anything is selected, and say what is odd about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils import check_array

from tamis._sklearn import StrOptions, validate_params
from tamis.base._raw_input import check_container, check_two_dimensional
from tamis.base._validation import errors_in_one_line
from tamis.kernels.arrays.targets import infer_task
from tamis.table._check_columns import check_columns, skipped_columns
from tamis.table._check_target import check_leaks, check_missingness, check_target
from tamis.table._findings import Findings
from tamis.table._source import Source, read_source, sample_rows
from tamis.table._target import read_target

_ROWS = 2000  # on which single columns are compared with each other and with the target
_ROWS_OF_MISSING = 20_000


@validate_params(
    {"X": "no_validation", "y": "no_validation", "task": [StrOptions({"auto", "regression", "classification"})]},
    prefer_skip_nested_validation=True,
)
def check_table(X: Any, y: Any = None, *, task: str = "auto") -> Findings:
    """Findings in a table of mixed columns, and in its target.

    Parameters
    ----------
    X : data frame, mapping from names to arrays, or array, of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None
        Numbers or labels.
    task : {"auto", "regression", "classification"}, default="auto"
        What the target is; "auto" guesses.

    Returns
    -------
    Findings
        A list of :class:`Finding`, with a code, the column and a sentence; it prints one to a line.

    Notes
    -----
    Constant columns, identifiers, copies, missing values and text that holds numbers or dates are found on all rows;
    near-copies and leaks on at most 2000 of them, drawn at random, and the sentence says so. Near-copies are
    looked for among at most 1000 columns; leaks, where there are more than 100 columns of numbers, among the 100 whose
    ranks correlate most with the target. Cost: a few passes over the table, and two small trees per column that is
    looked at closely.

    Examples
    --------
    >>> from tamis.table import check_table
    >>> check_table({"a": [1.0, 2.0, 4.0], "b": [5, 5, 5]}, [0.1, 0.2, 0.4])
    constant: 'b' is 5 in every row; it is not ranked
    """
    source = _read(X)
    if source.n_rows == 0:
        raise ValueError("the table has no rows: there is nothing to check")
    target = read_target(y, source.n_rows)
    is_single = target is not None and target.size == source.n_rows
    return find(source, target.ravel() if target is not None and is_single else None, task)


def find(source: Source, y: np.ndarray | None, task: str = "auto") -> Findings:
    """The same of a table that was read; ``task`` may be "unsupervised"."""
    n_missing = source.n_missing()
    rows, told = _sample(source.n_rows, _ROWS)
    sample = source if not told else source.take_rows(rows)
    found = Findings(check_columns(source, sample, n_missing, told), skipped_columns(source))
    if y is None or task == "unsupervised":
        return found
    guessed = task == "auto"
    task = infer_task(y) if guessed else task
    found.extend(check_target(y, task, guessed=guessed))
    if task == "regression":
        y = y.astype(float)
    if np.unique(y).size > 1:
        found.extend(check_leaks(sample, y[rows], task, told))
        rows, told = _sample(source.n_rows, _ROWS_OF_MISSING)
        part = source if not told else source.take_rows(rows)
        if n_missing.any():
            found.extend(check_missingness(part, y[rows], task, part.n_missing(), told))
    return found


def _sample(n_rows: int, most: int) -> tuple[np.ndarray, str]:
    """Rows drawn at random, in order, and how many for sentences; all, and nothing, where they are few."""
    return sample_rows(n_rows, most), "" if n_rows <= most else f" (on {most} of {n_rows} rows)"


def _read(X: Any) -> Source:
    X = check_container(X)
    if isinstance(X, Mapping) or nw.dependencies.is_into_dataframe(X):
        return read_source(X)
    check_two_dimensional(X)
    with errors_in_one_line():
        return read_source(check_array(X, dtype=None, ensure_all_finite=False))
