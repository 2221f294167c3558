"""What candidates explain of a target, each by itself, and what their permuted copies do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.base import UNGROUPED, Candidates
from tamis.engine import permuted_products
from tamis.kernels.arrays.columns import Columns, as_columns
from tamis.kernels.arrays.missing import available_cos2, has_missing
from tamis.kernels.arrays.tolerances import DEPENDENT
from tamis.kernels.solvers.group_search import GroupSearch
from tamis.kernels.solvers.orthogonal_search import OrthogonalSearch


def explained_shares(candidates: Candidates, targets: np.ndarray, *, center: bool) -> Any:
    """Squared multiple correlation of every column, or group of columns, with the targets, on the table's device.

    That of a group, one minus Wilks' lambda where there are several targets, grows with the number of its columns. It
    is given as that of a single column that chance would beat as often, so that groups of different sizes compare.

    Where values are missing: on the rows in which the column, or all columns of the group, are available, times their
    share of all rows.
    """
    if not has_missing(candidates.table):
        return _search(candidates.as_columns(fit_intercept=center), candidates.members, targets).explained()
    weight = candidates.sample_weight
    weights = None if weight is None else weight[:, None]
    by_column = available_cos2(candidates.table, targets[:, None, :], weights, fit_intercept=center)[0]
    if candidates.members is None:
        return by_column
    return np.array(
        [
            by_column[members[0]] if members.size == 1 else _share_of_group(candidates, members, targets, center)
            for members in candidates.members
        ]
    )


def explained_by_copies(candidates: Candidates, targets: np.ndarray, permutations: np.ndarray, *, center: bool) -> Any:
    """The same of copies of the candidates whose rows are permuted, all in one product of the table.

    A table with permuted rows against a target is the table against the target with its rows permuted back, and so are
    the weights. None for what this does not serve: groups, and sparse tables, with weights or missing values.

    Parameters
    ----------
    candidates : Candidates
    targets : ndarray of shape (n_samples, n_targets)
    permutations : ndarray of shape (n_draws, n_samples)
        Row i of a copy is row ``permutations[b, i]`` of the table.
    center : bool

    Returns
    -------
    array of shape (n_draws, n_candidates), on the device of the table, or None
    """
    back = np.argsort(permutations, axis=1)
    weight, table = candidates.sample_weight, candidates.table
    if weight is None and not has_missing(table):
        search = _search(candidates.as_columns(fit_intercept=center), candidates.members, targets)
        basis = search.target_basis()
        return search.explained_of([basis[rows] for rows in back])
    if UNGROUPED not in candidates.provides or not isinstance(table, np.ndarray):
        return None
    weights = None if weight is None else weight[back.T]
    return available_cos2(table, targets[back.T], weights, fit_intercept=center)


def explained_by_copies_in_blocks(
    candidates: Candidates, targets: np.ndarray, seeds: Sequence[int], *, center: bool
) -> np.ndarray:
    """The same for a table read in blocks of rows, within which rows are permuted: one pass for all draws."""
    columns = candidates.as_columns(fit_intercept=center)
    basis = orthonormal_basis(columns.center_rows(targets))
    mean = columns.means(np.arange(columns.n_candidates))
    products = permuted_products(candidates.table, mean, basis, None, seeds)
    norm2 = np.asarray(columns.norm2)
    cos2 = np.sum(products**2, axis=2) / np.where(norm2 > 0, norm2, 1.0)
    return np.where(norm2 > 0, np.clip(cos2, 0.0, 1.0), 0.0)


def orthonormal_basis(targets: np.ndarray) -> np.ndarray:
    """Of the span of some columns; that of indicators of all classes, once centered, has one dimension less."""
    _, values, vectors = np.linalg.svd(np.linalg.qr(targets, mode="r"))
    spanned = values > DEPENDENT * values[0]
    return targets @ (vectors.T[:, spanned] / values[spanned])


def _search(columns: Columns, members: list[np.ndarray] | None, targets: np.ndarray) -> OrthogonalSearch | GroupSearch:
    return OrthogonalSearch(columns, targets) if members is None else GroupSearch(columns, members, targets)


def _share_of_group(candidates: Candidates, members: np.ndarray, targets: np.ndarray, center: bool) -> float:
    """What a group explains on the rows in which all of its columns are available, times their share."""
    columns = candidates.table[:, members]
    rows = np.flatnonzero(~np.isnan(columns).any(axis=1))
    weight = np.ones(len(columns)) if candidates.sample_weight is None else candidates.sample_weight
    if rows.size < 2 or np.all(targets[rows] == targets[rows[0]]):
        return 0.0
    operator = as_columns(columns[rows], weight[rows], fit_intercept=center)
    search = GroupSearch(operator, [np.arange(members.size)], targets[rows])
    return float(search.explained()[0] * weight[rows].sum() / weight.sum())
