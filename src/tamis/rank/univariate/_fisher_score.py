"""Fisher score: between-class over within-class scatter, one feature at a time."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tamis._sklearn import Interval, StrOptions, get_namespace_and_device, max_precision_float_dtype, move_to
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranker, Ranking
from tamis.kernels.arrays.columns import tiles
from tamis.kernels.arrays.targets import encode_classes
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.kernels.solvers.group_search import GroupSearch


class FisherScore(Ranker):
    r"""Rank features by how far apart the class means are, against the spread inside the classes.

    .. math:: S_j = \frac{\sum_c n_c (\mu_{cj} - \mu_j)^2}{\sum_c n_c \sigma_{cj}^2}

    (Doquet 2019, Eq. 3.10). ``form="unbiased"`` is the two-class form of Gadat and Younes (2007, Sec. 5.2.5),

    .. math:: F_j = \frac{(\mu_{1j} - \mu_j)^2 + (\mu_{2j} - \mu_j)^2}{s_{1j}^2 + s_{2j}^2},

    with :math:`s^2` the unbiased variances.

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
        A label per column, or label -> columns (names or places): columns of a group stay or go together. Their
        score is :math:`1 / \Lambda - 1` with Wilks' lambda :math:`\Lambda = \det W / \det T`, the scatter matrices
        within classes and in total: the Fisher score for one column, and growing with their number.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Fisher scores: 0 for constant columns, infinite where the classes differ and none varies inside.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: two passes over ``X``; sparse input stays sparse. The first form equals (c - 1) / (n - c) times the F
    statistic of a one-way analysis of variance. Deviation from the thesis: it calls :math:`\sigma` the variance and
    squares it.

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
    provides: ClassVar[frozenset[str]] = Ranker.provides | {"array_api", "groups", "sparse"}

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
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
            scores = self._score_columns(candidates.table, codes)
        else:
            scores = self._score_groups(candidates, codes)
        ranking = Ranking.from_scores(scores, rounding=ROUNDING.of(candidates.table))
        if self.threshold is None:
            return ranking
        return Ranking(ranking.order[ranking.scores[ranking.order] > self.threshold], ranking.scores)

    def _score_columns(self, X: Any, codes: np.ndarray) -> np.ndarray:
        counts = np.bincount(codes).astype(float)
        means, within = class_moments(X, codes, counts)
        overall = counts @ means / counts.sum()
        if self.form == "scatter":
            between, spread = counts @ (means - overall) ** 2, within.sum(axis=0)  # Eq. (3.10)
        else:
            between = ((means - overall) ** 2).sum(axis=0)
            spread = (within / np.maximum(counts - 1, 1)[:, None]).sum(axis=0)
        return _ratio(between, spread, scale=np.abs(means).max(axis=0) ** 2)

    def _score_groups(self, candidates: Candidates, codes: np.ndarray) -> np.ndarray:
        if self.form == "unbiased":
            raise ValueError("form='unbiased' is for single columns; use form='scatter' with groups")
        indicators = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
        assert candidates.members is not None
        search = GroupSearch(candidates.as_columns(fit_intercept=True), candidates.members, indicators)
        explained, _ = search.judge()  # 1 - Lambda
        with np.errstate(divide="ignore"):
            return explained / (1.0 - explained)


def class_moments(X: Any, codes: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sum of squared deviations of every column in every class, each of shape (n_classes, n_features)."""
    indicator = (np.arange(counts.size)[:, None] == codes).astype(float)
    if sparse.issparse(X):
        means = (X.T @ indicator.T).T / counts[:, None]
        entries = X.tocoo()
        deviation2 = (entries.data - means[codes[entries.row], entries.col]) ** 2
        flat = codes[entries.row] * X.shape[1] + entries.col
        within = np.bincount(flat, deviation2, minlength=means.size).reshape(means.shape)
        stored = np.bincount(flat, minlength=means.size).reshape(means.shape)
        return means, within + (counts[:, None] - stored) * means**2
    xp, _, device = get_namespace_and_device(X)
    accumulator = max_precision_float_dtype(xp, device)
    member, size, place = move_to(indicator, counts, codes.astype(np.int64), xp=xp, device=device)
    member, size = xp.astype(member, accumulator), xp.astype(size, accumulator)
    means = xp.zeros((counts.size, X.shape[1]), dtype=accumulator, device=device)
    within = xp.zeros_like(means)
    for rows, cols in tiles(X):
        means[:, cols] += (member[:, rows] @ xp.astype(X[rows, cols], accumulator)) / size[:, None]
    for rows, cols in tiles(X):
        deviation = xp.astype(X[rows, cols], accumulator) - xp.take(means[:, cols], place[rows], axis=0)
        within[:, cols] += member[:, rows] @ (deviation * deviation)
    return move_to(means, within, xp=np, device="cpu")


def _ratio(between: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Between over within; 0 where rounding is all there is to both, infinite where only the classes differ."""
    rounding = ROUNDING.float64**2 * scale  # means are summed in double precision, whatever the type of the table
    nothing = between <= rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = between / np.where(spread <= rounding, 0.0, spread)
    return np.where(nothing, 0.0, scores)
