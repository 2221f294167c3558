"""Box counting: how many boxes of a grid hold samples."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval
from tamis.dimension._base import DimensionEstimator, rows_of
from tamis.dimension._pairs import hash_rows

_FINEST = 30  # halvings of the side at most


class BoxCounting(DimensionEstimator):
    r"""Growth of the number of occupied boxes as the grid becomes finer.

    .. math:: \hat d = \lim_{\varepsilon \to 0} \frac{\log N(\varepsilon)}{\log (1 / \varepsilon)}

    (Doquet 2019, Eq. 2.4), with :math:`N(\varepsilon)` the number of boxes of side :math:`\varepsilon` that hold
    samples. These are finitely many, so that the limit is the slope of :math:`\log N` over :math:`\log 1/\varepsilon`
    at the finest sides that they can fill; the side is halved from one to the next.

    Parameters
    ----------
    n_scales : int, default=3
        Sides on the line, the finest; coarse ones see the box that holds all and not the shape in it.
    samples_per_box : float, default=4.0
        Fewest samples per occupied box, on average: a finer grid counts samples and not boxes.
    max_samples : int or None, default=None
        As for :class:`TwoNN`, but all rows by default.
    standardize, n_subsamples, subsample, random_state, n_jobs : as for TwoNN
        Units, and the standard error by subsampling.

    Attributes
    ----------
    dimension_ : float
        0 for identical points.
    standard_error_, subsample_dimensions_, sample_indices_
        As for :class:`TwoNN`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost O(n D) for each scale and subsample; boxes are told apart by a hash of their integer coordinates: no grid is
    held. It starts at the lowest corner of the samples and follows the axes, so that a rotation changes the count. Two
    sides are used at least, though the finer one be too fine: beyond a few columns half the range is, for there are
    :math:`2^D` such boxes; the result is then about :math:`\log_2 n`, whatever the samples are.

    References
    ----------
    Mandelbrot, The fractal geometry of nature, 1983. Doquet, "Agnostic feature selection", PhD thesis, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dimension import BoxCounting
    >>> plane = np.random.default_rng(0).uniform(size=(500, 2))
    >>> round(BoxCounting().fit(plane).dimension_, 1)
    2.0
    """

    _parameter_constraints: ClassVar[dict] = {
        **DimensionEstimator._parameter_constraints,
        "n_scales": [Interval(Integral, 2, None, closed="left")],
        "samples_per_box": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_scales: int = 3,
        samples_per_box: float = 4.0,
        standardize: bool = True,
        n_subsamples: int = 20,
        subsample: float = 0.8,
        max_samples: int | None = None,
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
        self.n_scales = n_scales
        self.samples_per_box = samples_per_box

    def _estimate(self, state: np.ndarray, rows: np.ndarray, rng: np.random.RandomState) -> float:
        counts = count_boxes(rows_of(state, rows), most=rows.size / self.samples_per_box)[-self.n_scales :]
        if len(counts) < 2:
            return 0.0
        halvings = np.arange(len(counts)) - (len(counts) - 1) / 2
        return float(halvings @ np.log2(counts) / (halvings @ halvings))


def count_boxes(X: np.ndarray, *, most: float) -> list[int]:
    """Occupied boxes at sides 1, 1/2, 1/4 ... of the widest range, as long as they are at most ``most``; at least two.

    One count alone, of one box, where all rows are the same.
    """
    corner = X.min(axis=0)
    width = (X.max(axis=0) - corner).max()
    if width == 0:
        return [1]
    unit = (X - corner) / width
    counts: list[int] = []
    for halvings in range(_FINEST + 1):
        n_cells = 2**halvings
        cells = np.minimum((unit * n_cells).astype(np.int32), n_cells - 1)  # the upper faces belong to the last boxes
        count = np.unique(hash_rows(cells)).size
        if count > most and len(counts) >= 2:
            break
        counts.append(count)
    return counts
