"""Squared correlation of every feature with the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import StrOptions
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranking, WeightedRanker
from tamis.kernels.arrays.targets import encode_target
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.rank._subproblems import SubproblemMixin
from tamis.rank.univariate._explained import explained_by_copies, explained_by_copies_in_blocks, explained_shares


class CorrelationScore(SubproblemMixin, WeightedRanker):
    r"""Rank features by their squared correlation with the target.

    .. math:: \cos^2(x_j, y) = \frac{(x_j^\top y)^2}{\|x_j\|^2 \|y\|^2}

    after centering both (Stoppiglia et al. 2003, Eq. 1): the first step of :class:`GramSchmidt`, taken for every
    feature. With more than two classes it is the squared multiple correlation with the class indicators, the R^2 of a
    one-way analysis of variance; with several targets, a ``y`` of several columns of numbers, that with all of them:
    the sum of the squared correlations where the targets are uncorrelated; where they are not, none counts twice.

    Where values of a column are missing, the correlation is that on the rows in which it is available, times their
    share of all rows,

    .. math:: S_j = \frac{n_j}{n} \cos^2(x_j, y)_{\text{available rows}},

    the share of the variance of :math:`y` over all rows that the column explains if it tells nothing where it is
    missing. Without the factor, a column with five values left would come first by chance.

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
        A label per column, or label -> columns (names or places): columns of a group stay or go together. A group of
        r columns is scored by the squared correlation :math:`c` at which a single random column is as rare as r
        random columns are at the squared multiple correlation :math:`R^2` of the group,

        .. math:: P(\mathrm{Beta}(\tfrac12, \tfrac{v-1}2) > c) = P(\mathrm{Beta}(\tfrac r2, \tfrac{v-r}2) > R^2),

        on the rows in which all of them are available: :math:`R^2` itself grows with the number of columns. With more
        than two classes or several targets it is one minus Wilks' lambda, with its law.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Squared correlations; 0 for constant columns and those without any value.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: two passes over ``X``; sparse input stays sparse. Where values are missing, products of three tables of the
    size of ``X`` with the target; of such tables dense ones of numpy are taken. Permuted copies, for
    :class:`tamis.stop.MonteCarloProbe`, are scored in one product for ten draws. Dask collections and files are read
    in blocks of rows, within which rows are permuted. Deviations from the paper: several classes, or targets, at once;
    missing values.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 2.

    Examples
    --------
    >>> from tamis import CorrelationScore
    >>> CorrelationScore(stop=1).fit([[0, 3], [1, 1], [2, 2], [3, 2]], [0.1, 0.9, 2.2, 2.8]).support_
    array([ True, False])
    """

    units: ClassVar[str | None] = "columns"
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {
        "array_api",
        "dask",
        "groups",
        "missing",
        "row_blocks",
        "several_targets",
        "single_scores",
        "sparse",
    }

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
        target = encode_target(np.asarray(y), self.task).in_safe_units()
        scores = explained_shares(candidates, target.values, center=self.center)
        return Ranking.from_scores(scores, rounding=ROUNDING.of(candidates.table))

    def scores_of_permuted_copies(
        self, candidates: Candidates, y: np.ndarray | None, permutations: np.ndarray
    ) -> np.ndarray | None:
        """Squared correlations of copies of the candidates whose rows are permuted, a row for each permutation."""
        target = encode_target(np.asarray(y), self.task).in_safe_units()
        return explained_by_copies(candidates, target.values, permutations, center=self.center)

    def scores_of_copies_in_blocks(
        self, candidates: Candidates, y: np.ndarray | None, seeds: Sequence[int]
    ) -> np.ndarray:
        """The same of a table read in blocks, within which rows are permuted."""
        target = encode_target(np.asarray(y), self.task).in_safe_units()
        return explained_by_copies_in_blocks(candidates, target.values, seeds, center=self.center)
