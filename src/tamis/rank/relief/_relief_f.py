"""ReliefF: columns that differ between neighbors of different classes, and agree between those of the same."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.base import GROUPS_CONSTRAINT, Candidates, Ranker, Ranking, run_in_background, track
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.targets import encode_classes, encode_target, infer_task
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.kernels.arrays.transfer import is_on_host
from tamis.kernels.neighbors.approximate import SEARCHES
from tamis.rank.relief._approximate_search import ApproximateSearch
from tamis.rank.relief._mixed_columns import prepare_rows, spread_of_differences
from tamis.rank.relief._relief_weights import NeighborSearch, compare_classes, compare_targets

_WORST = -1.0  # differences lie in [0, 1], and so no column can score less
_MOST_PAIRS = 10**8  # of rows whose distances are taken by default: all of 10 000 rows
_FEWEST_REFERENCES = 250


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
    n_samples : int, "auto" or None, default="auto"
        Compare this many samples, drawn at random without replacement, with their neighbors among all (m in the
        papers); all if None, or if there are fewer. "auto" compares all of up to 10 000 samples; of n > 10 000 it
        compares 10^8 / n, at least 250, so that the work grows no further, and says so in the reason.
    neighbors : {"exact", "approximate"}, default="exact"
        How neighbors are searched: "approximate" takes about O(n log n) steps for O(n^2) and misses a few of a hundred;
        for a hundred thousand rows of numpy and more, with ``n_samples=None``; it needs the extra ``scale``.
    discrete : array-like, str, int or None, default=None
        Columns whose values are labels: a mask, or their names or places. Two labels differ by 0 or 1.
    random_state : int, RandomState or None, default=None
        Draws the samples that are compared; None draws the same ones every time with ``n_samples="auto"``.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together, by the
        sum of their weights: their difference is the sum of the columns'.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        From -1 to 1; noise scores around or below 0. Constant columns get -1, the least there is. After a
        :class:`~tamis.stop.MonteCarloProbe`, as by default, those of labels, groups and incomplete columns are in units
        of what they vary by chance, the median feature's being 1: else a date or a yes/no hides a number.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: O(m n D) multiplications in matrix products (with "manhattan", additions outside of them), then O(m k D) per
    class; memory for a scaled copy of ``X`` and blocks of distances, never all of them. Work is shared among as many
    threads as OpenMP may use, which changes nothing in the result. Under scikit-learn's ``array_api_dispatch``
    neighbors are searched, and differences summed, where ``X`` lives; only the neighbors come back. Interactions count:
    neighbors are found with all columns, so that the two columns of an XOR come first; but many irrelevant columns blur
    who is near.

    Deviations: columns are divided by their range also for Eq. (3.9), so that units do not matter. Of neighbors that
    are equally far, up to rounding, the first in the table count. Classes with fewer samples than asked for give
    those they have, and the mean is over these; a sample that is alone in its class has no hit, and its hits count as
    0. Columns are quantities unless ``discrete`` names them.

    ``neighbors="approximate"`` links the rows of every class in a graph, which takes about O(n log n D) steps and
    another copy of the table, and then O(log n D) steps for each row and class, with either metric, labels and missing
    values. Of neighbors that are equally far, those that the graph leads to first count: where a table has few distinct
    rows these are much alike, and scores vary more than with the exact search.

    A missing value is taken as one of those that rows of its class have in that column (of all rows, for regression or
    where the class has none), and differences are what is expected of them: for labels, the probability that the two
    values differ given the classes (Kononenko 1994, Sec. 3); for quantities the mean difference, where the papers speak
    of labels only. Squared distances are expected ones, too, which is why ``metric="manhattan"`` takes no missing
    values. Memory then grows by a table, of the columns with missing values, for every class, and discrete columns take
    part in distances by an indicator for each label. Weights of rows are not taken: how many neighbors a weighted row
    counts for is not defined in the papers.

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

    provides: ClassVar[frozenset[str]] = Ranker.provides | {"array_api", "groups", "missing"}

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "metric": [StrOptions({"euclidean", "manhattan"})],
        "difference": [StrOptions({"absolute", "squared"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "n_samples": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "neighbors": [StrOptions(set(SEARCHES))],
        "discrete": ["array-like", str, Integral, None],
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
        n_samples: int | str | None = "auto",
        neighbors: str = "exact",
        discrete: Any = None,
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
        self.neighbors = neighbors
        self.discrete = discrete
        self.random_state = random_state
        self.groups = groups

    def _takes_missing(self) -> bool:
        return self.metric == "euclidean"

    def _make_candidates(self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None) -> Candidates:
        candidates = super()._make_candidates(X, y, sample_weight)
        candidates.is_discrete = candidates.find_columns("discrete", self.discrete)
        return candidates

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X = candidates.table
        y = np.asarray(y)
        task = infer_task(y) if self.task == "auto" else self.task
        target = encode_classes(y)[1] if task == "classification" else encode_target(y, task).values[:, 0]
        codes = target if task == "classification" else np.zeros(y.size, dtype=np.int64)
        power = 1 if self.difference == "absolute" else 2
        rows, constant = prepare_rows(X, candidates.is_discrete, codes, self.metric, power, self._search(X))
        references = self._draw_references(X.shape[0], rng)
        if task == "classification":
            scores, n_compared = compare_classes(rows, target, references, self.n_neighbors, power, self._watch)
        else:
            scores, n_compared = compare_targets(
                rows, target, references, self.n_neighbors, self.sigma, power, self._watch
            )
        scores[constant] = 0.0
        if has_missing(X):  # chances that differ by few values tell little: what a column tells where it is known
            scores = scores * np.mean(~np.isnan(X), axis=0)
        scores = candidates.sum_members(scores)
        scores[candidates.sum_members(np.asarray(~constant, dtype=float)) == 0] = _WORST
        ranking = Ranking.from_scores(scores, rounding=ROUNDING.of(X))
        note = f"{n_compared} of {X.shape[0]} rows were compared with their neighbors"
        return replace(
            ranking,
            certificate={"converged": n_compared == references.size, "n_compared": n_compared},
            notes=(note,) if n_compared < X.shape[0] else (),
        )

    def spread_by_chance(self, candidates: Candidates) -> np.ndarray | None:
        """Standard deviation of the difference of two rows, in the columns of each candidate.

        For a column that has no part in the target, the neighbors of a row are much as drawn at random: its score is a
        mean of such differences, over as many pairs for every column.
        """
        X = candidates.table
        if candidates.members is None and not candidates.is_discrete.any() and not has_missing(X):
            return None
        power = 1 if self.difference == "absolute" else 2
        return spread_of_differences(X, candidates.is_discrete, power, candidates.sum_members)

    def _search(self, X: Any) -> Callable[..., NeighborSearch]:
        """What searches the neighbors of rows of a table."""
        if self.neighbors == "exact":
            return NeighborSearch
        if not is_on_host(X):
            raise ValueError("neighbors='approximate' is for dense tables of numpy; take neighbors='exact'")
        return partial(ApproximateSearch, build=partial(run_in_background, self, task_name="graph"))

    def _watch(self, results: Iterator[Any], n_results: int) -> Generator[Any, None, None]:
        """Report progress over blocks of rows."""
        return track(self, results, task_name="compare rows", total=n_results)

    def _draw_references(self, n_rows: int, rng: np.random.RandomState) -> np.ndarray:
        """Rows that are compared with their neighbors, in increasing order."""
        n_samples = self.n_samples
        if isinstance(n_samples, str):  # "auto"
            n_samples = max(_FEWEST_REFERENCES, _MOST_PAIRS // n_rows)
            rng = np.random.RandomState(0) if self.random_state is None else rng
        if n_samples is None or n_samples >= n_rows:
            return np.arange(n_rows)
        return np.sort(rng.choice(n_rows, n_samples, replace=False))
