"""A random order: the line that every method has to beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranker, Ranking


class RandomSelection(Ranker):
    r"""Rank features at random.

    .. math:: S_j \sim U(0, 1), \text{ independent of the data}

    The baseline that belongs beside every figure; Doquet (2019) reports none.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps half.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    random_state : int, RandomState or None, default=None
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The random numbers that were drawn.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: O(n_features). The numbers are drawn per position, so permuting columns permutes nothing: the one ranker whose
    result depends on the order of the columns.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019.

    Examples
    --------
    >>> from tamis import RandomSelection
    >>> int(RandomSelection(stop=2, random_state=0).fit([[0, 1, 2], [3, 4, 6]]).support_.sum())
    2
    """

    supervised: ClassVar[bool] = False
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("top-k", {"n_features": 0.5})
    provides: ClassVar[frozenset[str]] = Ranker.provides | {"array_api", "groups", "sparse"}

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "random_state": ["random_state"],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        random_state: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.random_state = random_state
        self.groups = groups

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        return Ranking.from_scores(rng.uniform(size=candidates.n_candidates))
