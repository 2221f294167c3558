"""2-NN: the dimension from the two nearest neighbors of each sample."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.dimension._base import DimensionEstimator
from tamis.dimension._neighborhoods import Neighborhoods, find_neighborhoods
from tamis.kernels.neighbors.approximate import SEARCHES
from tamis.kernels.neighbors.two_nn import fit_two_nn, warn_of_copies


class TwoNN(DimensionEstimator):
    r"""Dimension from the ratio of the distances to the two nearest neighbors.

    .. math:: \mu_i = \frac{r_2(x_i)}{r_1(x_i)}, \qquad
              \hat d = \frac{\sum_i x_i y_i}{\sum_i x_i^2} \text{ with } x_i = \log \mu_{(i)},\;
              y_i = -\log\left(1 - \tfrac{i}{N}\right)

    over the smallest 90 % of the ratios (Doquet 2019, Sec. 2.2.3): these follow :math:`F(\mu) = 1 - \mu^{-d}` where the
    density is even around each sample, out to its second neighbor and no further.

    Parameters
    ----------
    discard : float, default=0.1
        Share of the largest ratios left out: samples with one close neighbor, likely outliers. The first
        ``floor((1 - discard) N) + 1`` are kept, but never the last one, for which :math:`F = 1`.
    standardize : bool, default=True
        Give every column zero mean and unit variance first, so that units do not matter.
    n_subsamples : int, default=20
        Random subsamples from which the standard error is estimated; 0 switches it off.
    subsample : float, default=0.8
        Share of the rows in each, drawn without replacement.
    max_samples : int or None, default=10000
        Rows to look at: of more, so many are drawn at random, and ``sample_indices_`` tells which. None takes all.
    neighbors : {"exact", "approximate"}, default="exact"
        How neighbors are searched: "approximate" takes about O(n log n) steps for O(n^2) and misses a few of a hundred;
        for a hundred thousand dense rows and more, with ``max_samples=None``; it needs the extra ``scale``.
    random_state : int, RandomState or None, default=None
        Of that draw, always the same with None, and of the subsamples.
    n_jobs : int, default=None
        Subsamples in parallel, through joblib.

    Attributes
    ----------
    dimension_ : float
        0 for identical points; infinite where the two neighbors of every sample are equally far.
    standard_error_ : float or None
        From the subsamples; None without them.
    subsample_dimensions_ : ndarray of shape (n_subsamples,)
    sample_indices_ : ndarray of shape (n_sampled,)
        Rows of the table that it was estimated on: all, or ``max_samples`` of them.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost: one search of neighbors, O(n^2 D) (a k-d tree for few columns) in blocks; the subsamples search no more. The
    scale at which the dimension is measured is that of neighbors among the rows looked at, so that more rows tell of
    a finer one: 10 000 rows of 50 columns take seconds, 100 000 a minute or more.
    Sparse tables stay sparse, and Array-API ones on their device. A sample that has a copy has an infinite ratio, which
    counts in N but is on no line: where more rows are repeated than are discarded, a warning says so.
    There is no local dimension: one ratio tells too little.
    These choices reproduce the 16 values of the thesis, table 6.2; ``subsample_dimensions_`` is its table 6.3. The
    standard error is the delete-d jackknife's, :math:`\sqrt{b / (n - b)}` times the standard deviation of these
    (b rows of n): twice it for 80 %, as subsamples share rows.

    References
    ----------
    Facco, d'Errico, Rodriguez and Laio, Scientific Reports 7, 2017. Doquet, "Agnostic feature selection", PhD thesis,
    2019. Shao and Wu, Annals of Statistics 17, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dimension import TwoNN
    >>> angle = np.random.default_rng(0).uniform(0, 6.28, size=500)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> round(TwoNN().fit(circle).dimension_, 1)
    1.0
    """

    provides: ClassVar[frozenset[str]] = frozenset({"sparse", "array_api"})

    _parameter_constraints: ClassVar[dict] = {
        **DimensionEstimator._parameter_constraints,
        "discard": [Interval(Real, 0, 1, closed="left")],
        "neighbors": [StrOptions(set(SEARCHES))],
    }

    def __init__(
        self,
        *,
        discard: float = 0.1,
        standardize: bool = True,
        n_subsamples: int = 20,
        subsample: float = 0.8,
        max_samples: int | None = 10_000,
        neighbors: str = "exact",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            standardize=standardize,
            n_subsamples=n_subsamples,
            subsample=subsample,
            max_samples=max_samples,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.discard = discard
        self.neighbors = neighbors

    def _prepare(self, X: Any) -> Neighborhoods:
        found = find_neighborhoods(X, 2, self.subsample if self.n_subsamples else 1.0, self.neighbors)
        warn_of_copies(found.distances, self.discard)
        return found

    def _estimate(self, state: Neighborhoods, rows: np.ndarray, rng: np.random.RandomState) -> float:
        return fit_two_nn(state.within(rows, 2), discard=self.discard)
