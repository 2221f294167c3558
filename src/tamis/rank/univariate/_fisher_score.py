"""Fisher score: between-class over within-class scatter, one feature at a time."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tamis._sklearn import Interval, StrOptions, get_namespace_and_device, max_precision_float_dtype
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranking, WeightedRanker
from tamis.engine import RowBlocks, class_moments_of_blocks
from tamis.kernels.arrays.columns import tiles
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.moments import MEAN_ERROR, column_moments
from tamis.kernels.arrays.targets import encode_classes
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.kernels.arrays.transfer import from_numpy
from tamis.rank.univariate._explained import explained_by_copies, explained_by_copies_in_blocks, explained_shares


class FisherScore(WeightedRanker):
    r"""Rank features by how far apart the class means are, against the spread inside the classes.

    .. math:: S_j = \frac{\sum_c n_c (\mu_{cj} - \mu_j)^2}{\sum_c n_c \sigma_{cj}^2}

    (Doquet 2019, Eq. 3.10). ``form="unbiased"`` is the two-class form of Gadat and Younes (2007, Sec. 5.2.5),

    .. math:: F_j = \frac{(\mu_{1j} - \mu_j)^2 + (\mu_{2j} - \mu_j)^2}{s_{1j}^2 + s_{2j}^2},

    with :math:`s^2` the unbiased variances.

    Where values of a column are missing, sums are over the rows in which it is available. These hold a share
    :math:`a_j` of all rows, and the between-class scatter :math:`B_j` and the within-class scatter :math:`W_j` give

    .. math:: S_j = \frac{a_j B_j}{W_j + (1 - a_j) B_j},

    so that the share of the scatter that the classes explain, :math:`S_j / (1 + S_j)`, is that of the available rows
    times their share of all rows; columns can be compared, however many of their values are missing. The "unbiased"
    form is multiplied by :math:`a_j`.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    form : {"scatter", "unbiased"}, default="scatter"
    threshold : float, default=None
        Features at or below it are not ranked (Gadat and Younes preselect above 0.01 with ``form="unbiased"``).
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together. With Wilks'
        lambda :math:`\Lambda = \det W / \det T`, the scatter matrices within classes and in total, their Fisher score
        would be :math:`1 / \Lambda - 1`, which grows with the number of columns; the score is that of a single column
        that a random one is as unlikely to reach as random columns are to reach :math:`\Lambda`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Fisher scores: 0 for constant columns, infinite where the classes differ and none varies inside.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: two passes over ``X``; sparse input stays sparse; of tables with missing values dense ones of numpy are taken.
    Dask collections and files are read in blocks of rows, within which a probe permutes rows.
    Permuted copies, for :class:`tamis.stop.MonteCarloProbe`, are scored in one product for ten draws, but for
    ``form="unbiased"``. Weights of rows count as repetitions, also in unbiased variances. The first form equals
    (c - 1) / (n - c) times the F statistic of a one-way analysis of variance. Deviations from the thesis: it calls
    :math:`\sigma` the variance and squares it; missing values.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019. Gadat and Younes, JMLR 8, 2007.

    Examples
    --------
    >>> from tamis import FisherScore
    >>> FisherScore(stop=1).fit([[0, 3], [1, 1], [5, 2], [6, 2]], ["a", "a", "b", "b"]).get_feature_names_out()
    array(['x0'], dtype=object)
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    units: ClassVar[str | None] = "columns"
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {
        "array_api",
        "dask",
        "groups",
        "missing",
        "row_blocks",
        "single_scores",
        "sparse",
    }

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "form": [StrOptions({"scatter", "unbiased"})],
        "threshold": [Interval(Real, 0, None, closed="left"), None],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        form: str = "scatter",
        threshold: float | None = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.form = form
        self.threshold = threshold
        self.groups = groups

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        classes, codes = encode_classes(np.asarray(y))
        if self.form == "unbiased" and classes.size != 2:
            raise ValueError(f"form='unbiased' is for two classes and y holds {classes.size}; use form='scatter'")
        if candidates.members is None:
            scores = self._score_columns(candidates, codes)
        else:
            scores = self._score_groups(candidates, codes)
        ranking = Ranking.from_scores(scores, rounding=ROUNDING.of(candidates.table))
        if self.threshold is None:
            return ranking
        return Ranking(ranking.order[ranking.scores[ranking.order] > self.threshold], ranking.scores)

    def _score_columns(self, candidates: Candidates, codes: np.ndarray) -> Any:
        """On the device of the table."""
        X, weight = candidates.table, candidates.sample_weight
        counts, means, within, rounding = class_moments(X, codes, np.ones(codes.size) if weight is None else weight)
        xp, _, _ = get_namespace_and_device(means)
        zero = xp.zeros_like(means)
        n_available = xp.sum(counts, axis=0)
        available = n_available / (codes.size if weight is None else float(weight.sum()))
        overall = xp.sum(counts * means, axis=0) / xp.where(n_available > 0, n_available, xp.ones_like(n_available))
        deviation2 = xp.where(counts > 0, (means - overall) ** 2, zero)
        size2 = xp.max(xp.abs(means), axis=0) ** 2
        lost = ROUNDING.float64**2 * size2
        if rounding > ROUNDING.float64:  # columns far from zero beside their deviation are summed in double precision
            near = (100 * rounding) ** 2 * xp.sum(within, axis=0) / n_available
            lost = xp.maximum(lost, xp.minimum(rounding**2 * size2, near))
        if self.form == "unbiased":
            spread = xp.sum(within / xp.where(counts > 2, counts - 1, xp.ones_like(counts)), axis=0)
            return available * _ratio(xp, xp.sum(deviation2, axis=0), spread, lost)
        between, spread = xp.sum(counts * deviation2, axis=0), xp.sum(within, axis=0)  # Eq. (3.10)
        return _ratio(xp, available * between, spread + (1 - available) * between, n_available * lost)

    def _score_groups(self, candidates: Candidates, codes: np.ndarray) -> np.ndarray:
        if self.form == "unbiased":
            raise ValueError("form='unbiased' is for single columns; use form='scatter' with groups")
        return _explained_over_rest(explained_shares(candidates, _indicators(codes), center=True))

    def scores_of_permuted_copies(
        self, candidates: Candidates, y: np.ndarray | None, permutations: np.ndarray
    ) -> np.ndarray | None:
        """Fisher scores of copies of the candidates whose rows are permuted, a row for each permutation."""
        if self.form == "unbiased":
            return None
        _, codes = encode_classes(np.asarray(y))
        explained = explained_by_copies(candidates, _indicators(codes), permutations, center=True)
        return None if explained is None else _explained_over_rest(explained)

    def scores_of_copies_in_blocks(
        self, candidates: Candidates, y: np.ndarray | None, seeds: Sequence[int]
    ) -> np.ndarray:
        """The same of a table read in blocks, within which rows are permuted."""
        if self.form == "unbiased":
            raise ValueError("form='unbiased' has no probe where X is read in blocks; use form='scatter', or stop=k")
        _, codes = encode_classes(np.asarray(y))
        return _explained_over_rest(explained_by_copies_in_blocks(candidates, _indicators(codes), seeds, center=True))


def _indicators(codes: np.ndarray) -> np.ndarray:
    """One column per class."""
    return (codes[:, None] == np.arange(codes.max() + 1)).astype(float)


def _explained_over_rest(explained: np.ndarray) -> np.ndarray:
    """``1 / Lambda - 1`` from ``1 - Lambda``."""
    with np.errstate(divide="ignore"):
        return explained / (1.0 - explained)


def class_moments(X: Any, codes: np.ndarray, weight: np.ndarray) -> tuple[Any, Any, Any, float]:
    """Number of rows, mean and sum of squared deviations of every column in every class, and the rounding of the means.

    Each of shape (n_classes, n_features), the first (n_classes, 1) where no value is missing; on the device of the
    table. Rows count as often as their weight says.
    """
    if isinstance(X, RowBlocks):
        return *class_moments_of_blocks(X, codes, weight), ROUNDING.float64
    member = np.where(codes == np.arange(codes.max() + 1)[:, None], weight, 0.0)
    counts = member.sum(axis=1, keepdims=True)
    if sparse.issparse(X):
        return counts, *_sparse_moments(X, codes, member, counts), ROUNDING.float64
    if has_missing(X):
        return *_available_moments(X, codes, member), ROUNDING.float64
    if isinstance(X, np.ndarray):
        return *class_moments_of_blocks(X, codes, weight), ROUNDING.float64
    xp, _, device = get_namespace_and_device(X)
    accumulator = max_precision_float_dtype(xp, device)
    if np.all(weight == 1.0):
        found = [column_moments(X, np.flatnonzero(codes == code)) for code in range(len(counts))]
        means, within = (xp.stack(each) for each in zip(*found, strict=True))
        return from_numpy(counts, xp, device, accumulator), means, within, MEAN_ERROR.of(X)
    rows_of_class, size = (from_numpy(each, xp, device, accumulator) for each in (member, counts))
    place = from_numpy(codes.astype(np.int64), xp, device)
    means = xp.zeros((len(counts), X.shape[1]), dtype=accumulator, device=device)
    within = xp.zeros_like(means)
    for rows, cols in tiles(X):
        means[:, cols] += (rows_of_class[:, rows] @ xp.astype(X[rows, cols], accumulator)) / size
    for rows, cols in tiles(X):
        deviation = xp.astype(X[rows, cols], accumulator) - xp.take(means[:, cols], place[rows], axis=0)
        within[:, cols] += rows_of_class[:, rows] @ (deviation * deviation)
    return size, means, within, ROUNDING.float64  # sums are in double precision, whatever the type of the table


def _sparse_moments(X: Any, codes: np.ndarray, member: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and sums of squared deviations; what is not stored deviates by the mean."""
    means = (X.T @ member.T).T / counts
    entries = X.tocoo()
    weight = member.sum(axis=0)[entries.row]
    deviation2 = weight * (entries.data - means[codes[entries.row], entries.col]) ** 2
    flat = codes[entries.row] * X.shape[1] + entries.col
    within = np.bincount(flat, deviation2, minlength=means.size).reshape(means.shape)
    stored = np.bincount(flat, weight, minlength=means.size).reshape(means.shape)
    return means, within + (counts - stored) * means**2


def _available_moments(
    X: np.ndarray, codes: np.ndarray, member: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same on the rows in which a column is available; 0 where a class has no value."""
    counts, means, within = np.zeros((3, len(member), X.shape[1]))
    for rows, cols in tiles(X):
        tile = X[rows, cols].astype(float)
        missing = np.isnan(tile)
        counts[:, cols] += member[:, rows] @ ~missing
        means[:, cols] += member[:, rows] @ np.where(missing, 0.0, tile)
    means /= np.where(counts > 0, counts, 1.0)
    for rows, cols in tiles(X):
        deviation = X[rows, cols] - means[:, cols][codes[rows]]
        within[:, cols] += member[:, rows] @ np.where(np.isnan(deviation), 0.0, deviation**2)
    return counts, means, within


def _ratio(xp: Any, between: Any, spread: Any, lost: Any) -> Any:
    """Between over within; 0 where rounding is all there is to both, infinite where only the classes differ."""
    zero = xp.zeros_like(between)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = between / xp.where(spread <= lost, zero, spread)
    return xp.where(between <= lost, zero, scores)
