"""Keep as many features as the data have dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from tamis._sklearn import HasMethods, Interval
from tamis.base import UNGROUPED, Candidates, Ranker, Ranking, Step, StopDecision, StoppingRule
from tamis.kernels.arrays.columns import to_numpy
from tamis.kernels.arrays.tolerances import ceil_count
from tamis.kernels.neighbors.two_nn import measure_two_nn

_ROWS_IN_BLOCKS = 2000  # that are looked at of a table that is read in blocks
_FIRST_LOOK = 64  # features that a sequential ranker gives before they are counted


class IntrinsicDimension(StoppingRule, name="intrinsic-dimension"):
    r"""Keep as many features as the samples have dimensions.

    .. math:: \hat k = \lceil m \hat d \rceil

    with :math:`\hat d` the intrinsic dimension of the table, rounded up as in Doquet (2019, Sec. 6.1.2), and :math:`m`
    a multiple: no fewer than :math:`\hat d` features can hold the samples, and more are needed if each of them holds
    less than a dimension.

    Parameters
    ----------
    estimator : object, default=None
        With ``fit(X)`` and then ``dimension_``, such as those of :mod:`tamis.dimension`; None is 2-NN.
    multiple : float, default=1.0
        Features per dimension.
    standardize : bool, default=True
        Give every column zero mean and unit variance before 2-NN; another estimator has a say of its own.

    Notes
    -----
    Works with any ranker, without a target. At least one feature is kept, and at most all that were ranked; a dimension
    beyond what the rows span, one less than there are, counts as that. Cost: one
    search of two neighbors, O(n^2 D) in blocks; sparse tables stay sparse, Array-API ones on their device.
    ``sample_weight`` is not looked at: rows count once each, those of weight zero not.
    With a dictionary, the dimension is that of the variables and not of the features made of them.

    References
    ----------
    Facco, d'Errico, Rodriguez and Laio, Scientific Reports 7, 2017. Doquet, "Agnostic feature selection", PhD thesis,
    2019.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MaxVariance
    >>> from tamis.stop import IntrinsicDimension
    >>> X = np.random.default_rng(0).uniform(size=(500, 2)) @ [[1, 0, 2, 3, 1], [0, 1, 1, 2, 3]]
    >>> MaxVariance(stop=IntrinsicDimension(multiple=1.5)).fit(X).stop_.reason
    'the data have about 2.0 dimensions (2-NN), times 1.5: kept 3'
    """

    requires: ClassVar[frozenset[str]] = frozenset({UNGROUPED})

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods("fit"), None],
        "multiple": [Interval(Real, 0, None, closed="neither")],
        "standardize": ["boolean"],
    }

    def __init__(self, estimator: Any = None, *, multiple: float = 1.0, standardize: bool = True) -> None:
        self.estimator = estimator
        self.multiple = multiple
        self.standardize = standardize

    def max_rows_in_blocks(self) -> int | None:
        """A sample: the distances of all pairs of rows are compared."""
        return _ROWS_IN_BLOCKS

    def enough(self, path: Sequence[Step]) -> bool:
        """A first look at some features; the ranker goes on if the dimension asks for all of them."""
        return len(path) >= _FIRST_LOOK

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut at the dimension of the table."""
        X, ranked = candidates.table, ranking.order.size
        if ranked == 0:
            return StopDecision(0, "no feature could be ranked")
        if X.shape[0] < 3:
            return StopDecision(1, f"{X.shape[0]} samples are too few to tell their dimension: kept 1")
        name = "2-NN" if self.estimator is None else type(self.estimator).__name__
        dimension = self._measure(X, rng)
        if not np.isfinite(dimension):
            return StopDecision(ranked, f"the data have no finite dimension ({name}): kept all {ranked} ranked")
        spanned = X.shape[0] - 1
        asked = max(1, ceil_count(self.multiple * min(dimension, spanned)))
        kept = min(asked, ranked)
        reason = f"the data have about {dimension:.1f} dimensions ({name})"
        if dimension > spanned:
            reason += f", though {X.shape[0]} rows span {spanned} at most"
        if self.multiple != 1:
            reason += f", times {self.multiple:g}"
        reason += f": kept {kept}" if kept == asked else f": kept all {ranked} ranked, though {asked} were asked for"
        return StopDecision(kept, reason)

    def _measure(self, X: Any, rng: np.random.RandomState) -> float:
        """Dimension of a validated table, on its device if the estimator can."""
        if self.estimator is None:
            return measure_two_nn(X, standardize=self.standardize)
        estimator = clone(self.estimator, safe=isinstance(self.estimator, type))  # a class is refused by name
        if getattr(estimator, "random_state", 0) is None:
            estimator.random_state = rng.randint(np.iinfo(np.int32).max)
        stays = hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).array_api_support
        if not stays and not sparse.issparse(X):
            X = to_numpy(X)
        fitted = estimator.fit(X)
        if not hasattr(fitted, "dimension_"):
            raise ValueError(
                f"{type(estimator).__name__} has no dimension_ once fitted; give an estimator of tamis.dimension"
            )
        return float(fitted.dimension_)
