"""Feature medoids: greedy facility location on squared correlation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranker, Ranking, SequentialRanker, Step, StopDecision
from tamis.rank.subset._centered_columns import centered_columns
from tamis.rank.subset._facility_location import FacilityLocationSearch, GroupFacilityLocationSearch, assign_columns


class FeatureMedoids(SequentialRanker):
    r"""Rank features so that every feature has a close stand-in among the first ones.

    .. math:: F(S) = \sum_j \max_{s \in S} r^2(x_j, x_s), \qquad
              \text{step } n: \; \arg\max_s F(S \cup \{s\}) - F(S),

    with :math:`r` the correlation (the greedy algorithm of Nemhauser et al. 1978 for the facility location problem).
    Each kept feature, a medoid, represents the group of features that are closest to it: ``assignment_`` tells which.
    No target is used.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    standardize : bool, default=True
        Every feature counts the same, whatever its unit. False weighs features by their variance:
        :math:`F(S) = \sum_j \mathrm{var}(x_j) \max_{s \in S} r^2(x_j, x_s)`.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together. A group
        stands for a feature as well as its best column does, and its gain is that in :math:`F` with all its columns
        added to S, which grows with their number.

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. ``scores_`` is the gain in :math:`F` when the feature was chosen, as a share of the largest
        :math:`F` possible (1 when all features are kept); NaN for constant features and for copies of a better ranked
        one, which are not ranked. Each step of ``path_`` tells the ``coverage`` so far, the sum of these gains.
    assignment_ : ndarray of shape (n_features,)
        For each feature, the index of the kept one that represents it; -1 for constant features.
    assignment_r2_ : ndarray of shape (n_features,)
        Squared correlation with that feature; 0 for constant ones.

    Notes
    -----
    :math:`F` is submodular, so the first :math:`k` features reach at least :math:`1 - 1/e` of the best coverage that
    :math:`k` features can have, and so do :math:`k` groups. It follows too that gains only fall, so that few need to be
    computed at each step (lazy evaluation, Minoux 1978); the order is that of plain greedy search. Two features closest
    to each other gain the same; such ties go to the one that explains more of all features on its own, then to the
    lowest index.

    Cost: matrix products between features, most of them in single precision, up to O(n D^2) where few are redundant, so
    that tens of thousands of features take minutes. Memory: two copies of the table and the pairs of features that
    still matter (up to 128 MB, or the size of the table). A table with more rows than columns is read once, in blocks
    of rows, or twice where its columns drift or depend on each other; its copies then have D rows.

    References
    ----------
    Nemhauser, Wolsey and Fisher, "An analysis of approximations for maximizing submodular set functions", Mathematical
    Programming 14, 1978. Minoux, "Accelerated greedy algorithms for maximizing submodular set functions", 1978.

    Examples
    --------
    >>> from tamis import FeatureMedoids
    >>> X = [[0, 1, 5, 0], [1, 0, 7, 1], [2, 1, 9, 2], [3, 0, 11, 4]]
    >>> selector = FeatureMedoids(stop=2).fit(X)  # columns 0, 2 and 3 are alike
    >>> selector.order_, selector.assignment_
    (array([3, 1]), array([3, 1, 3, 3]))
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
        coverage = 0.0
        Z, norm2 = centered_columns(candidates, scale=self.standardize, share=True)
        members = candidates.members
        search = FacilityLocationSearch(Z, norm2) if members is None else GroupFacilityLocationSearch(Z, norm2, members)
        for candidate, gain in search:
            coverage += gain
            yield Step(candidate, gain, {"coverage": min(coverage, 1.0)})

    def _store(self, candidates: Candidates, ranking: Ranking, decision: StopDecision) -> None:
        super()._store(candidates, ranking, decision)
        Z, norm2 = centered_columns(candidates, scale=self.standardize)
        kept = candidates.columns_of(ranking.order[: decision.n_features])
        medoids = kept[norm2[kept] > 0]  # a kept group may hold constant columns
        self.assignment_, self.assignment_r2_ = assign_columns(Z, norm2, medoids)
