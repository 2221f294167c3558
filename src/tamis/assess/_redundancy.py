"""Which features could stand for the kept ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from tamis.assess._support import as_support, check_names, is_selector
from tamis.assess._tables import read_table
from tamis.base import Ranking
from tamis.base._validation import known_names
from tamis.kernels.arrays.columns import as_columns, to_numpy
from tamis.kernels.arrays.correlations import squared_correlations
from tamis.kernels.arrays.scaling import rescale_columns
from tamis.kernels.arrays.tolerances import ROUNDING


@dataclass(frozen=True)
class RedundancyGroup:
    """A kept feature and those that could stand for it.

    Attributes
    ----------
    kept : int
    kept_name : str
    alternatives : tuple of int
        Other features, kept or not, the most similar first.
    alternative_names : tuple of str
    similarity : tuple of float
        Squared correlation of each alternative with the kept feature.
    """

    kept: int
    kept_name: str
    alternatives: tuple[int, ...]
    alternative_names: tuple[str, ...]
    similarity: tuple[float, ...]


@dataclass(frozen=True)
class Redundancy(Sequence[RedundancyGroup]):
    """One group per kept feature, to be read as a list, and what the groups leave out.

    Attributes
    ----------
    groups : tuple of RedundancyGroup
        In the order of the kept features.
    uncovered : int
        Number of features, constant ones aside, that were not kept and that no kept one could stand for.
    threshold : float
        Squared correlation from which on features stand for one another.
    """

    groups: tuple[RedundancyGroup, ...]
    uncovered: int
    threshold: float

    @overload
    def __getitem__(self, place: int) -> RedundancyGroup: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[RedundancyGroup, ...]: ...
    def __getitem__(self, place: int | slice) -> RedundancyGroup | tuple[RedundancyGroup, ...]:
        return self.groups[place]

    def __len__(self) -> int:
        return len(self.groups)


def redundancy(
    X: Any, support: Any = None, *, threshold: float = 0.9, feature_names: Sequence[str] | None = None
) -> Redundancy:
    r"""Find, for each kept feature, the features that carry the same information, linearly.

    .. math:: G_s = \{ f \neq s : r^2(x_f, x_s) \ge \mathrm{threshold} \}, \qquad s \in S

    with :math:`r` the correlation over the samples: an expert may prefer a cheaper or better known feature of
    :math:`G_s` to :math:`s`.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Dense, sparse, an Array-API array or a data frame.
    support : mask, indices or fitted ranker, default=None
        The kept features :math:`S`; None for all of them.
    threshold : float, default=0.9
        Least SQUARED correlation, that is, the share of one feature's variance that the other explains; in (0, 1].
    feature_names : sequence of str, default=None
        One per column. By default those of the table, else those that the ranker knows, else x0, x1, ...

    Returns
    -------
    Redundancy
        A sequence of :class:`RedundancyGroup`, one per kept feature, in the order of ``support``; ``uncovered`` counts
        the features that no kept one could stand for.

    Notes
    -----
    Cost: one product of the kept columns with the table, in blocks of kept columns: never ``n_features`` x
    ``n_features``, and sparse tables stay sparse. A constant column belongs to no group, stands for nothing and does
    not count as uncovered. Similarities that differ by rounding alone are made equal; ties go to the lowest index.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.assess import redundancy
    >>> length = np.array([1.0, 2.0, 3.0, 5.0])
    >>> X = np.column_stack([length, 2.54 * length, [3.0, 1.0, 4.0, 1.0]])
    >>> found = redundancy(X, [0], feature_names=["inches", "centimeters", "noise"])
    >>> found[0].alternative_names, found.uncovered
    (('centimeters',), 1)
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold={threshold} is no squared correlation: give one above 0, up to 1")
    table, table_names = read_table(X)
    check_names(support, table_names)
    kept = as_support(support, table.shape[1])
    names = _settle_names(table.shape[1], feature_names, table_names, support)
    rounding = 10 * ROUNDING.of(table)  # squares, and means up to a hundred spreads, cost a digit
    columns = as_columns(rescale_columns(table))
    varies = to_numpy(columns.norm2) > 0
    covered = ~varies
    covered[kept] = True
    groups = []
    for s, r2 in zip(kept.tolist(), squared_correlations(columns, kept, varies), strict=True):
        near = np.flatnonzero(r2 >= threshold - rounding)
        covered[near] = True
        near = near[near != s]
        sorted_near = Ranking.from_scores(r2[near], rounding=rounding)
        found = near[sorted_near.order].tolist()
        similarity = sorted_near.scores[sorted_near.order].tolist()
        groups.append(RedundancyGroup(s, names[s], tuple(found), tuple(names[f] for f in found), tuple(similarity)))
    return Redundancy(tuple(groups), int(np.count_nonzero(~covered)), threshold)


def _settle_names(n_features: int, given: Sequence[str] | None, of_table: list[str] | None, support: Any) -> list[str]:
    """Names of all columns, from whoever knows them."""
    of_ranker = known_names(support) if is_selector(support) else None
    names = next((list(each) for each in (given, of_table, of_ranker) if each is not None), None)
    if names is None:
        return [f"x{j}" for j in range(n_features)]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names, but X has {n_features} columns: give one per column")
    return [str(name) for name in names]
