"""Leverage scores: how much of each feature lies in the space of the leading principal components."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import svds

from tamis._sklearn import Interval, RealNotInt
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranker, Ranking, run_in_background
from tamis.kernels.arrays.blocks import column_blocks
from tamis.kernels.arrays.tolerances import TIE
from tamis.kernels.subset.column_subset import gram_of_rows
from tamis.rank.subset._centered_columns import centered_columns, fewest_rows

_LARGE = 1000  # rows and columns beyond which a few components are cheaper by iteration
_FEW = 0.05  # share of all components that are a few


class PCALeverage(Ranker):
    r"""Rank features by their weight in the leading principal components.

    .. math:: S_j = \sum_{c=1}^{r} v_{jc}^2, \qquad Z = U \Sigma V^\top,

    with :math:`Z` the standardized table: the statistical leverage of Mahoney and Drineas (2009), who divide it by
    :math:`r`. The scores sum to :math:`r`. No target is used.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    n_components : int, float or None, default=0.9
        Number :math:`r` of components; a float is the share of the variance that they must explain; None is all. A
        number beyond the rank of the table is lowered to it.
    standardize : bool, default=True
        Divide every feature by its standard deviation. False centers only: components then follow the features that
        vary most.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together, by the sum of
        their leverages (the block leverage of Oswal et al. 2018), which grows with their number.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Leverages, from 0 (constant features, or those outside the space of the components) to 1, or to the number of
        columns of a group.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.
    n_components_ : int
        The number used.
    explained_variance_ratio_ : float
        The share of the variance that these components explain.

    Notes
    -----
    Scores do not see each other: copies of a feature share its leverage, and a group of alike features is kept or left
    out together. :class:`GreedyReconstruction` and :class:`PivotedQR` avoid that.

    The space of the components is well defined only if the singular value at the cut differs from the next one. Where
    both are equal up to rounding (an orthogonal design, groups of copies), the cut moves down to the next gap, so
    ``n_components_`` may be larger than asked for.

    Cost: :math:`O(n D \min(n, D))`, on the smaller of the two Gram matrices; where a few components of a table large in
    both directions are asked for by number, a Lanczos iteration takes a few dozen passes over the table instead. A
    table with more rows than columns is otherwise read once, in blocks of rows, or twice where its columns drift or
    depend on each other, without a centered copy.
    Deviation from the paper: it samples columns at random with probability :math:`S_j / r`; here the largest come
    first.

    Limits: 100 features recover the others much less well than 100 random ones on the eight sets of the thesis
    (mean FIT 0.547 against 0.727, ``python -m bench spectral``).

    References
    ----------
    Mahoney and Drineas, "CUR matrix decompositions for improved data analysis", PNAS 106, 2009. Oswal, Jain, Xu and
    Eriksson, "Block CUR: decomposing matrices using groups of columns", ECML PKDD 2018.

    Examples
    --------
    >>> from tamis import PCALeverage
    >>> PCALeverage(stop=1, n_components=1, standardize=False).fit([[0, 1, 5], [1, 0, 7], [2, 1, 9]]).order_
    array([2, 0, 1])
    """

    supervised: ClassVar[bool] = False
    units: ClassVar[str | None] = "table"
    provides: ClassVar[frozenset[str]] = Ranker.provides | {"dask", "groups", "row_blocks"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("fit-plateau", {})

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
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
        n_components: float | None = 0.9,
        standardize: bool = True,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_components = n_components
        self.standardize = standardize
        self.groups = groups

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        by_iteration = _pays_iteration(candidates.table.shape, self.n_components)
        Z, norm2 = centered_columns(candidates, scale=self.standardize, needs_products=not by_iteration)
        decompose = partial(leverage_scores, Z, self.n_components)
        scores, variances = run_in_background(self, decompose, task_name="decompose")
        self.n_components_ = variances.size
        total = float(norm2.sum())
        self.explained_variance_ratio_ = min(float(variances.sum()) / total, 1.0) if total else 0.0
        return Ranking.from_scores(candidates.sum_members(scores), rounding=TIE.of(Z))


def leverage_scores(Z: np.ndarray, n_components: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Squared norm of every column's part in the leading right singular vectors, and the variances along these.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Centered columns.
    n_components : int, float or None
        Number of singular vectors, share of the variance that they explain, or all.
    """
    if n_components is not None and _pays_iteration(Z.shape, n_components):
        found = _by_iteration(Z, int(n_components))
        if found is not None:
            return found
    Z = fewest_rows(Z)
    values, U = np.linalg.eigh(gram_of_rows(Z))
    values, U = values[::-1], U[:, ::-1]
    r = count_components(values, n_components, rounding=TIE.of(Z))
    onto = (U[:, :r] / np.sqrt(values[:r])).T.astype(Z.dtype)
    scores = np.empty(Z.shape[1])
    for cols in column_blocks(*Z.shape):
        part = onto @ Z[:, cols]
        scores[cols] = np.einsum("ij,ij->j", part, part, dtype=float)
    return scores, values[:r]


def _pays_iteration(shape: tuple[int, ...], n_components: float | None) -> bool:
    """Whether a few components are asked for, by number, of a table large in both directions."""
    return isinstance(n_components, Integral) and min(shape) > _LARGE and n_components <= _FEW * min(shape)


def count_components(values: np.ndarray, n_components: float | None, *, rounding: float) -> int:
    """How many of the variances, largest first, to take: as many as asked for, at most the rank, up to a gap."""
    rank = int(np.count_nonzero(values > rounding * values[0]))
    if n_components is None:
        return rank
    if isinstance(n_components, Integral):
        r = min(int(n_components), rank)
    else:
        share = np.cumsum(values[:rank]) / values[:rank].sum()
        r = min(int(np.searchsorted(share, n_components - rounding)) + 1, rank)
    while r < rank and values[r] >= (1 - rounding) * values[r - 1]:
        r += 1
    return r


def _by_iteration(Z: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The same by Lanczos iteration; None if the next singular value is no smaller, so that more are needed."""
    # a fixed start makes the result repeatable, a random one is orthogonal to no singular vector
    start = np.random.RandomState(0).standard_normal(min(Z.shape))
    _, values, V = svds(Z, k=r + 1, v0=start, solver="arpack")
    largest_first = np.argsort(-values)
    values, V = values[largest_first].astype(float) ** 2, V[largest_first]
    if count_components(values, r, rounding=TIE.of(Z)) != r:
        return None
    return np.einsum("ij,ij->j", V[:r], V[:r], dtype=float), values[:r]
