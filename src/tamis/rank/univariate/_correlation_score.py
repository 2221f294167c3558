"""Squared correlation of every feature with the target."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import StrOptions
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranking, WeightedRanker
from tamis.kernels.arrays.targets import encode_target
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.kernels.solvers.group_search import GroupSearch
from tamis.kernels.solvers.orthogonal_search import OrthogonalSearch
from tamis.rank._subproblems import SubproblemMixin


class CorrelationScore(SubproblemMixin, WeightedRanker):
    r"""Rank features by their squared correlation with the target.

    .. math:: \cos^2(x_j, y) = \frac{(x_j^\top y)^2}{\|x_j\|^2 \|y\|^2}

    after centering both (Stoppiglia et al. 2003, Eq. 1): the first step of :class:`GramSchmidt`, taken for every
    feature. With more than two classes it is the squared multiple correlation with the class indicators, the R^2 of a
    one-way analysis of variance.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    task : {"auto", "regression", "classification"}, default="auto"
    multiclass : {"joint", "ovr", "ovo"}, default="joint"
    center : bool, default=True
        False gives the cosine of the vectors as they are.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together, by
        their squared multiple correlation with the target (one minus Wilks' lambda with more than two classes), which
        grows with the number of columns.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Squared correlations; 0 for constant columns.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: two passes over ``X``; sparse input stays sparse. Deviation from the paper: several classes at once.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 2.

    Examples
    --------
    >>> from tamis import CorrelationScore
    >>> CorrelationScore(stop=1).fit([[0, 3], [1, 1], [2, 2], [3, 2]], [0.1, 0.9, 2.2, 2.8]).support_
    array([ True, False])
    """

    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {"array_api", "groups", "sparse"}

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "task": [StrOptions({"auto", "regression", "classification"})],
        "multiclass": [StrOptions({"joint", "ovr", "ovo"})],
        "center": ["boolean"],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        task: str = "auto",
        multiclass: str = "joint",
        center: bool = True,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.task = task
        self.multiclass = multiclass
        self.center = center
        self.groups = groups

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        target = encode_target(np.asarray(y), self.task)
        columns = candidates.as_columns(fit_intercept=self.center)
        if candidates.members is None:
            cos2 = OrthogonalSearch(columns, target.values).cos2()
        else:
            cos2, _ = GroupSearch(columns, candidates.members, target.values).judge()
        return Ranking.from_scores(cos2, rounding=ROUNDING.of(candidates.table))
