"""ReliefF: columns that differ between neighbors of different classes, and agree between those of the same."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranker, Ranking
from tamis.kernels.arrays.targets import encode_classes, encode_target, infer_task
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.rank.relief._relief_weights import NeighborSearch, compare_classes, compare_targets, scale_to_unit_range

_WORST = -1.0  # differences lie in [0, 1], and so no column can score less


class ReliefF(Ranker):
    r"""Rank features by how they differ between each sample and its nearest misses, less its nearest hits.

    .. math:: S_j = \frac{1}{m} \sum_i \Big( \sum_{c \ne c_i} \frac{P(c)}{1 - P(c_i)} \frac{1}{k} \sum_{n \in M_c(i)}
        d_j(i, n) - \frac{1}{k} \sum_{n \in H(i)} d_j(i, n) \Big)

    where :math:`H(i)` are the k nearest samples of the class of i, :math:`M_c(i)` those of class c, and
    :math:`d_j(i, n) = |x_{ij} - x_{nj}|` on columns scaled to [0, 1] (Kononenko 1994). With two classes,
    ``n_neighbors=1`` and ``difference="squared"`` this is Relief as in Doquet (2019, Eq. 3.9). For regression it is
    RReliefF (Robnik-Sikonja and Kononenko 2003),

    .. math:: S_j = \frac{N_{dC\&dA_j}}{N_{dC}} - \frac{N_{dA_j} - N_{dC\&dA_j}}{m - N_{dC}},

    the N being sums of differences in the target, in the column and of their product, over the k nearest samples, the
    r-th of which weighs :math:`\exp(-(r / \sigma)^2)` up to a factor that makes these weights sum to 1.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    n_neighbors : int, default=10
        Hits, and misses of every other class; for regression, neighbors in all. 1 gives Relief.
    task : {"auto", "regression", "classification"}, default="auto"
    metric : {"euclidean", "manhattan"}, default="euclidean"
        Who is near, on the scaled columns. Euclidean as in Doquet (2019), and much the faster of the two; Manhattan
        as in Kononenko (1994).
    difference : {"absolute", "squared"}, default="absolute"
        What is summed: as Kononenko (1994), or squared as in Doquet (2019, Eq. 3.9). For regression it also holds for
        the target.
    sigma : float or None, default=20
        How fast the weight of neighbors decays with their rank, for regression; None weighs all the same. The paper
        takes 20, with 70 neighbors.
    n_samples : int, default=None
        Compare this many samples, drawn at random without replacement, with their neighbors (m in the papers); all
        if None, or if there are fewer.
    random_state : int, RandomState or None, default=None
        Draws these samples.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together, by the
        sum of their weights: their difference is the sum of the columns'.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        From -1 to 1; noise scores around or below 0. Constant columns get -1, the least there is.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: O(m n D) multiplications in matrix products (with "manhattan", additions outside of them), then O(m k D) per
    class; memory for a scaled copy of ``X`` and blocks of distances, never all of them. Work is shared among as many
    threads as OpenMP may use, which changes nothing in the result. Interactions count: neighbors are found with all
    columns, so that the two columns of an XOR come first; but many irrelevant columns blur who is near.

    Deviations: columns are divided by their range also for Eq. (3.9), so that units do not matter. Of neighbors that
    are equally far, up to rounding, the first in the table count. Classes with fewer samples than asked for give
    those they have, and the mean is over these; a sample that is alone in its class has no hit, and its hits count as
    0. Columns are quantities: code nominal ones as indicators.

    References
    ----------
    Kira and Rendell, "A practical approach to feature selection", ICML 1992. Kononenko, "Estimating attributes:
    analysis and extensions of RELIEF", ECML 1994. Robnik-Sikonja and Kononenko, Machine Learning 53, 2003. Doquet,
    "Agnostic feature selection", PhD thesis, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import ReliefF
    >>> X = np.random.RandomState(0).uniform(-1, 1, size=(200, 5))
    >>> y = X[:, 1] * X[:, 3] > 0
    >>> ReliefF(stop=2).fit(X, y).get_feature_names_out()
    array(['x1', 'x3'], dtype=object)
    """

    provides: ClassVar[frozenset[str]] = Ranker.provides | {"groups"}

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "metric": [StrOptions({"euclidean", "manhattan"})],
        "difference": [StrOptions({"absolute", "squared"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "n_samples": [Interval(Integral, 1, None, closed="left"), None],
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
        n_neighbors: int = 10,
        task: str = "auto",
        metric: str = "euclidean",
        difference: str = "absolute",
        sigma: float | None = 20.0,
        n_samples: int | None = None,
        random_state: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_neighbors = n_neighbors
        self.task = task
        self.metric = metric
        self.difference = difference
        self.sigma = sigma
        self.n_samples = n_samples
        self.random_state = random_state
        self.groups = groups

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X = candidates.table
        y = np.asarray(y)
        task = infer_task(y) if self.task == "auto" else self.task
        target = encode_classes(y)[1] if task == "classification" else encode_target(y, task).values[:, 0]
        scaled, constant = scale_to_unit_range(X)
        rows, references = NeighborSearch(scaled, self.metric), self._draw_references(len(X), rng)
        power = 1 if self.difference == "absolute" else 2
        if task == "classification":
            scores = compare_classes(rows, target, references, self.n_neighbors, power)
        else:
            scores = compare_targets(rows, target, references, self.n_neighbors, self.sigma, power)
        scores[constant] = 0.0
        scores = candidates.sum_members(scores)
        scores[candidates.sum_members(np.asarray(~constant, dtype=float)) == 0] = _WORST
        return Ranking.from_scores(scores, rounding=ROUNDING.of(X))

    def _draw_references(self, n_rows: int, rng: np.random.RandomState) -> np.ndarray:
        """Rows that are compared with their neighbors, in increasing order."""
        if self.n_samples is None or self.n_samples >= n_rows:
            return np.arange(n_rows)
        return np.sort(rng.choice(n_rows, self.n_samples, replace=False))
