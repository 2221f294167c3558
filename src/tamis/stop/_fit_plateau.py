"""Keep as many features as it takes to recover all of them, as well as can be."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tamis._sklearn import Interval, safe_indexing
from tamis.base import Ranker, Ranking, Step, StopDecision, StoppingRule
from tamis.kernels.arrays.columns import to_numpy
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents
from tamis.kernels.neighbors.faithfulness import fit_along, fit_of_all, standardized_gram

_FIRST_LOOK = 64  # features that a sequential ranker gives before the curve is looked at


class FITPlateau(StoppingRule, name="fit-plateau"):
    r"""Keep the fewest features from which all features are recovered about as well as from any number.

    .. math:: k^* = \min \{ k : \mathrm{FIT}(S_k) \ge \max_m \mathrm{FIT}(S_m) - \varepsilon \}

    with :math:`S_k` the first k features of the order and FIT the mean over all features of the leave-one-out
    :math:`R^2` of a nearest-neighbor regressor on :math:`S_k` (Doquet 2019, Algorithm 8, without a sample among its own
    neighbors). An answer to "how many" that needs no target; the thesis leaves the question open (Sec. 2.3).

    Parameters
    ----------
    tolerance : float, default=0.02
        :math:`\varepsilon`: share of variance, on average over the features, that may be lost against the plateau.
    n_neighbors : int, default=5
        Of the regressor.
    max_samples : int, default=1000
        The curve is computed on so many rows, drawn at random, where there are more.
    random_state : int, RandomState or None, default=None
        For that draw; None takes the ranker's own.

    Notes
    -----
    The plateau is the highest FIT of those along the order and that of all features. Every k is tried up to 32, then
    about one in ten. Cost: O(r^2 K) for r rows and K ranked features, plus a sort of r^2 distances per k tried; memory
    r^2. The FIT of a selection is not monotone: features that are noise blur the neighborhoods.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import LaplacianScore
    >>> from tamis.stop import FITPlateau
    >>> t = np.random.default_rng(0).uniform(size=(200, 1))
    >>> X = np.hstack([t, t**2, np.sqrt(t), np.exp(t)])
    >>> LaplacianScore(stop=FITPlateau()).fit(X).stop_.n_features
    1
    """

    _parameter_constraints: ClassVar[dict] = {
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 3, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, tolerance: float = 0.02, *, n_neighbors: int = 5, max_samples: int = 1000, random_state: Any = None
    ) -> None:
        self.tolerance = tolerance
        self.n_neighbors = n_neighbors
        self.max_samples = max_samples
        self.random_state = random_state

    def check(self, ranker: Ranker, n_candidates: int) -> None:
        """Refuse features that are no columns of the table."""
        super().check(ranker, n_candidates)
        if getattr(ranker, "groups", None) is not None:
            raise ValueError("FITPlateau judges single columns and takes no groups; use CrossValidation or a number")
        if getattr(ranker, "dictionary", None) is not None:
            raise ValueError(
                f"FITPlateau judges columns of a table, and {type(ranker).__name__} ranks those of a dictionary; use "
                "another rule, such as Probe or a number of features"
            )

    def enough(self, path: Sequence[Step]) -> bool:
        """A first look at some features; the ranker goes on if all of them are kept."""
        return len(path) >= _FIRST_LOOK

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        X: Any,
        y: np.ndarray | None,
        rng: np.random.RandomState,
        sample_weight: np.ndarray | None = None,
    ) -> StopDecision:
        """Cut where the curve first comes within the tolerance of its plateau."""
        if not ranking.order.size:
            return StopDecision(0, "no feature could be ranked", label="leave-one-out FIT")
        table = _draw_rows(X, self.max_samples, rng)
        table = table if sparse.issparse(table) else to_numpy(table)
        curve_at = tried_sizes(ranking.order.size)
        if table.shape[0] < 3:
            return StopDecision(ranking.order.size, f"all {ranking.order.size} features: too few rows to judge fewer")
        table = ldexp_columns(table, overflow_exponents(table))
        n_neighbors = min(self.n_neighbors, table.shape[0] - 1)
        gram = standardized_gram(table)
        curve = fit_along(table, ranking.order, curve_at.tolist(), gram, n_neighbors)
        plateau = max(*curve, fit_of_all(gram, n_neighbors))
        threshold = plateau - self.tolerance
        within = np.flatnonzero(np.array(curve) >= threshold)
        kept = int(curve_at[within[0]]) if within.size else ranking.order.size
        recovered = curve[within[0]] if within.size else curve[-1]
        reason = f"{_first(kept, ranking.order.size)} {recovered:.1%} of the variance of all, leave-one-out"
        if kept < table.shape[1]:
            reason += f"; more of them recover {plateau:.1%} at best"
        if plateau <= 0:
            reason += ", no better than the means of the features: neighbors tell nothing here"
        return StopDecision(kept, reason, np.array(curve), curve_at, threshold=threshold, label="leave-one-out FIT")


def tried_sizes(most: int) -> np.ndarray:
    """Every number up to 32, then about one in ten, and the last."""
    sizes = list(range(1, min(most, 32) + 1))
    while sizes[-1] < most:
        sizes.append(min(most, sizes[-1] + max(1, sizes[-1] // 10)))
    return np.array(sizes)


def _first(kept: int, ranked: int) -> str:
    if kept == ranked:
        return (
            f"all {kept} features that were ranked recover" if kept > 1 else "the only feature that was ranked recovers"
        )
    return f"the first {kept} features recover" if kept > 1 else "the first feature recovers"


def _draw_rows(X: Any, max_samples: int, rng: np.random.RandomState) -> Any:
    if X.shape[0] <= max_samples:
        return X
    return safe_indexing(X, np.sort(rng.choice(X.shape[0], max_samples, replace=False)))
