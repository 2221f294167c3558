"""The columns that a model is given: those that vary and differ, in an order that depends on their values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.base import Candidates
from tamis.kernels.arrays.copies import place_columns
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.scaling import varying_columns
from tamis.rank._missing import tells_rows_apart


@dataclass(frozen=True)
class DistinctInputs:
    """Columns of a table for a model on which neither their places nor copies among them have any influence.

    Attributes
    ----------
    table : table of shape (n_samples, n_inputs)
    ranked : ndarray of int
        Candidates with any column that varies.
    members : list of ndarray
        Inputs behind each of them.
    """

    table: Any
    ranked: np.ndarray
    members: list[np.ndarray]

    def share(self, values: np.ndarray, n_candidates: int) -> np.ndarray:
        """One value per ranked candidate as one per candidate; NaN for the others."""
        shared = np.full(n_candidates, np.nan)
        shared[self.ranked] = values
        return shared

    def sum_members(self, values: np.ndarray) -> np.ndarray:
        """One value per input summed over those of each ranked candidate."""
        return np.array([values[columns].sum() for columns in self.members])


def distinct_inputs(candidates: Candidates, *, in_place: bool) -> DistinctInputs:
    """The inputs of a model; all columns, as they stand, if they have to be ``in_place``."""
    table = candidates.table
    is_dense = not sparse.issparse(table)
    with_missing = is_dense and has_missing(table)
    varying = varying_columns(table) if not with_missing else np.flatnonzero(tells_rows_apart(table, None))
    input_of = np.full(table.shape[1], -1)
    if in_place:
        input_of[varying] = varying
    else:
        some = table[:, varying]
        order, input_of[varying] = place_columns(_marked(some) if with_missing else some)
        table = some[:, order]
    of_columns = [np.array([j]) for j in range(candidates.n_columns)]
    members = [np.unique(input_of[columns]) for columns in candidates.members or of_columns]
    members = [inputs[inputs >= 0] for inputs in members]
    ranked = [j for j, inputs in enumerate(members) if inputs.size]
    return DistinctInputs(table, np.array(ranked, dtype=int), [members[j] for j in ranked])


def _marked(X: np.ndarray) -> np.ndarray:
    """Missing values as a number that stands nowhere else."""
    return np.where(np.isnan(X), 2.0 * np.nanmax(np.abs(X)) + 1.0, X)
