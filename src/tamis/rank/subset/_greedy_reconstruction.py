"""Greedy reconstruction: forward selection of the columns from which all columns are best predicted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranker, SequentialRanker, Step
from tamis.kernels.subset.column_subset import ReconstructionSearch
from tamis.kernels.subset.group_subset import GroupReconstructionSearch
from tamis.rank.subset._centered_columns import centered_columns


class GreedyReconstruction(SequentialRanker):
    r"""Rank features by how much of all features they explain beyond the features before them.

    Step :math:`n` adds the feature that minimizes the residual of least squares of the table on the chosen ones,

    .. math:: \arg\min_j \|Z - P_{S \cup \{j\}} Z\|_F^2
              = \arg\max_j \frac{\|Z^\top r_j\|^2}{\|r_j\|^2}, \qquad r_j = z_j - P_S z_j,

    with :math:`Z` the standardized table, :math:`S` the features chosen before and :math:`P_S` the projector onto their
    span (the greedy selection problem of Farahat et al. 2011). No target is used.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    standardize : bool, default=True
        Every feature counts the same, whatever its unit. False weighs features by their variance.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group enter together. The next group is
        the one that explains most per dimension that it adds,
        :math:`\|Q_g^\top Z\|_F^2 / \mathrm{rank}\, Q_g`, with :math:`Q_g` an orthonormal basis of its residuals.

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. ``scores_`` is the share of the variance of all features that the step explains, NaN for
        constant features and for those that the others explain entirely, which are not ranked. Each step of ``path_``
        tells what is ``explained`` so far. With ``groups``, scores are shares per dimension added, and ``explained`` is
        the whole of it.

    Notes
    -----
    Cost: :math:`O(n D \min(n, D))` once, in matrix products, then one pass over a table of :math:`\min(n, D)` rows per
    kept feature; memory: two copies of the table. Nothing larger than the table is built. A table with more rows than
    columns is read once, in blocks of rows, or twice where its columns drift or depend on each other; its copies then
    have D rows.

    Groups are compared per dimension, the ratio of gain to cost of budgeted greedy search: a random group of m columns
    explains m times what a random column does, so that by the total a variable of fifty levels would come before any
    single column. A step with groups takes some passes over the table for each dimension added and a singular value
    decomposition per group, and memory for two more tables.

    Deviation from the paper: its recurrences lose digits as features are used up; here every feature that could be the
    best, given how much rounding may have hidden, is computed anew before one is chosen.

    References
    ----------
    Farahat, Ghodsi and Kamel, "An efficient greedy method for unsupervised feature selection", ICDM 2011.

    Examples
    --------
    >>> from tamis import GreedyReconstruction
    >>> X = [[0, 1, 1], [1, 0, 1], [2, 1, 3], [3, 1, 4]]
    >>> selector = GreedyReconstruction(stop=2).fit(X)  # column 2 is the sum of the others
    >>> selector.order_, round(selector.path_[-1].info["explained"], 6)
    (array([2, 0]), 1.0)
    """

    supervised: ClassVar[bool] = False
    units: ClassVar[str | None] = "table"
    provides: ClassVar[frozenset[str]] = Ranker.provides | {"dask", "groups", "row_blocks"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("fit-plateau", {})

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "standardize": ["boolean"],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        standardize: bool = True,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.standardize = standardize
        self.groups = groups

    def _steps(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Iterator[Step]:
        explained = 0.0
        Z, norm2 = centered_columns(candidates, scale=self.standardize, share=True)
        for candidate, gain, n_directions in _search(Z, norm2, candidates.members):
            explained += n_directions * gain
            yield Step(candidate, gain, {"explained": min(explained, 1.0)})


def _search(Z: np.ndarray, norm2: np.ndarray, members: Sequence[np.ndarray] | None) -> Iterable[tuple[int, float, int]]:
    """Candidates, each with its gain per direction and the number of directions that it adds."""
    if members is None:
        return ((column, gain, 1) for column, gain in ReconstructionSearch(Z, norm2))
    return GroupReconstructionSearch(Z, norm2, members)
