"""Variance of every feature: a baseline that looks at nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import move_to
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranker, Ranking
from tamis.kernels.arrays.tolerances import ROUNDING


class MaxVariance(Ranker):
    r"""Rank features by their variance.

    .. math:: S_j = \frac{1}{n} \sum_i (x_{ij} - \bar x_j)^2

    A baseline for the unsupervised methods of Doquet (2019, Sec. 3.2.3). It depends on the units of each column, so it
    tells something only where these are the same (pixels, counts).

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where features recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together, by the
        sum of their variances.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Variances; where their numbers would be lost, of the table divided by a power of two.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: one pass over ``X``; sparse input stays sparse, and dask collections and files are read in blocks of rows.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019.

    Examples
    --------
    >>> from tamis import MaxVariance
    >>> MaxVariance(stop=1).fit([[0, 10], [1, -10], [2, 30]]).order_
    array([1, 0])
    """

    supervised: ClassVar[bool] = False
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("fit-plateau", {})
    units: ClassVar[str | None] = "table"
    provides: ClassVar[frozenset[str]] = Ranker.provides | {
        "array_api",
        "dask",
        "groups",
        "row_blocks",
        "sparse",
    }

    _parameter_constraints: ClassVar[dict] = {**Ranker._parameter_constraints, "groups": GROUPS_CONSTRAINT}

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.groups = groups

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X = candidates.table
        norm2 = move_to(candidates.as_columns(fit_intercept=True).norm2, xp=np, device="cpu")
        variances = np.clip(norm2, 0, None) / X.shape[0]
        return Ranking.from_scores(candidates.sum_members(variances), rounding=ROUNDING.of(X))
