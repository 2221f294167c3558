"""Keep as many features as it takes to recover all of them, as well as can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, safe_indexing
from tamis.base import COLUMNS, Candidates, Ranker, Ranking, Step, StopDecision, StoppingRule, track
from tamis.kernels.arrays.scaling import rescale_columns
from tamis.kernels.neighbors.fit_criterion import fit_along, fit_of_all, standardized_gram

_EACH = 32  # every number of features up to here is tried, then about one in ten
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
    about one in ten; none below the number of features that stay as asked. Where the sets of a method are not nested,
    its own set of each size is judged: at 1, 2, 4, ... features until FIT is within the tolerance, then by bisection,
    to a tenth of the size where that is above 32. Cost: O(r^2 K) for r rows and K ranked features, plus a sort of r^2
    distances per k tried; memory r^2. An array on a device is judged there: the r x r products of all features and the
    neighbors come from it. The FIT of a selection is not monotone: features that are noise blur the neighborhoods.

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

    requires: ClassVar[frozenset[str]] = frozenset({COLUMNS})

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

    def max_rows_in_blocks(self) -> int | None:
        """As many as of a table in memory."""
        return self.max_samples

    def enough(self, path: Sequence[Step]) -> bool:
        """A first look at some features; the ranker goes on if all of them are kept."""
        return len(path) >= _FIRST_LOOK

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut where the curve first comes within the tolerance of its plateau."""
        if not ranking.order.size:
            return StopDecision(0, "no feature could be ranked", label="leave-one-out FIT")
        table = _draw_rows(candidates.table, self.max_samples, rng)
        if table.shape[0] < 3:
            return StopDecision(ranking.order.size, f"all {ranking.order.size} features: too few rows to judge fewer")
        table = rescale_columns(table)
        curve = _Curve(table, candidates, min(self.n_neighbors, table.shape[0] - 1))
        if "nested" in ranker.provides:
            sizes = tried_sizes(ranking.order.size, ranking.n_forced)
            curve.measure_prefixes(ranking.order, sizes, ranker)
            return self._cut(curve, ranking.order.size)
        rankings = self._search_sizes(curve, ranker, y)
        decision = self._cut(curve, rankings[max(rankings)].order.size)
        return replace(decision, ranking=rankings[decision.n_features])

    def _search_sizes(self, curve: _Curve, ranker: Ranker, y: np.ndarray | None) -> dict[int, Ranking]:
        """Rankings at sizes 1, 2, 4, ... until FIT is within the tolerance, and then by bisection; by their own size.

        FIT need not grow with the size, but nearly does: a size between two that fail is not looked at. A method may
        select fewer than it is asked for.
        """
        found: dict[int, Ranking] = {}

        def is_enough(size: int) -> bool:
            ranking = ranker.rank_top(curve.candidates, y, size)
            selected = ranking.order[:size]
            found[selected.size] = ranking
            curve.measure_set(selected)
            return curve.at[selected.size] >= curve.plateau - self.tolerance

        enough, most = max(1, curve.candidates.keep.size), curve.candidates.n_rankable
        too_few = enough - 1
        while not is_enough(enough) and enough in found and enough < most:
            too_few, enough = enough, min(2 * enough, most)
        while enough - too_few > (enough // 10 if enough > _EACH else 1):
            middle = (too_few + enough) // 2
            too_few, enough = (too_few, middle) if is_enough(middle) else (middle, enough)
        return found

    def _cut(self, curve: _Curve, n_ranked: int) -> StopDecision:
        """The smallest size whose FIT is within the tolerance of the plateau."""
        sizes = np.array(sorted(curve.at))
        values, threshold = np.array([curve.at[k] for k in sizes.tolist()]), curve.plateau - self.tolerance
        place = next(iter(np.flatnonzero(values >= threshold)), -1)
        kept = int(sizes[place])
        reason = (
            f"{_first(kept, n_ranked, curve.candidates.noun)} {values[place]:.1%} of the variance of all, leave-one-out"
        )
        if kept < curve.candidates.n_candidates:
            reason += f"; more of them recover {curve.plateau:.1%} at best"
        if curve.plateau <= 0:
            reason += ", no better than the means of the features: neighbors tell nothing here"
        return StopDecision(kept, reason, values, sizes, threshold=threshold, label="leave-one-out FIT")


class _Curve:
    """Leave-one-out FIT of the sets that were looked at.

    Attributes
    ----------
    at : dict of int to float
        By number of candidates.
    plateau : float
        The highest of them and of all features.
    """

    def __init__(self, table: Any, candidates: Candidates, n_neighbors: int) -> None:
        self.table = table
        self.candidates = candidates
        self.n_neighbors = n_neighbors
        self.gram = standardized_gram(table)
        self.plateau = fit_of_all(self.gram, n_neighbors)
        self.at: dict[int, float] = {}

    def measure_prefixes(self, order: np.ndarray, sizes: np.ndarray, ranker: Ranker) -> None:
        """FIT of the first candidates of one order, for ascending sizes; callbacks of the ranker may end it."""
        columns, members = self.candidates.columns_of(order), self.candidates.members
        widths = np.ones(order.size, dtype=int) if members is None else [members[j].size for j in order]
        ends = np.cumsum(widths)[sizes - 1]
        found = fit_along(self.table, columns, ends.tolist(), self.gram, self.n_neighbors)
        measured = list(track(ranker, found, task_name="plateau", total=sizes.size, interruptible=False))
        self.at |= dict(zip(sizes.tolist(), measured, strict=False))
        self.plateau = max(self.plateau, *self.at.values())

    def measure_set(self, members: np.ndarray) -> None:
        """FIT of a set that a method selects."""
        columns = self.candidates.columns_of(members)
        [fit] = fit_along(self.table, columns, [columns.size], self.gram, self.n_neighbors)
        self.at[members.size] = fit
        self.plateau = max(self.plateau, fit)


def tried_sizes(most: int, least: int = 1) -> np.ndarray:
    """Every number up to 32, then about one in ten, and the last; none below the least, which is one of them."""
    sizes = list(range(max(least, 1), min(most, _EACH) + 1)) or [least]
    while sizes[-1] < most:
        sizes.append(min(most, sizes[-1] + max(1, sizes[-1] // 10)))
    return np.array(sizes)


def _first(kept: int, ranked: int, noun: str) -> str:
    if kept == ranked:
        plural, singular = f"all {kept} {noun}s that were ranked recover", f"the only {noun} that was ranked recovers"
    else:
        plural, singular = f"the first {kept} {noun}s recover", f"the first {noun} recovers"
    return plural if kept > 1 else singular


def _draw_rows(X: Any, max_samples: int, rng: np.random.RandomState) -> Any:
    if X.shape[0] <= max_samples:
        return X
    return safe_indexing(X, np.sort(rng.choice(X.shape[0], max_samples, replace=False)))
