"""Neighbor-faithful selection: the features whose nearest neighbors recover all features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval
from tamis.base import (
    Candidates,
    Ranker,
    Ranking,
    SequentialRanker,
    Step,
    StopDecision,
    StoppingRule,
    interrupt,
    interruption,
    track,
)
from tamis.base._row_sample import MAX_SAMPLES_CONSTRAINT, draw_rows
from tamis.kernels.arrays.scaling import (
    rescale_columns,
    scale_columns,
    standard_deviations,
)
from tamis.kernels.neighbors.fit_criterion import own_neighbors, r2_from_neighbors
from tamis.rank._row_sample import note_sample
from tamis.rank.subset._faithful_set import MAX_GREEDY, FaithfulSet, Start

_PASSES = 2  # over the kept features
_TRIES = 200  # features tried to swap, over all passes; half as many beyond so many rows:
_FEW = 500
_MIN_INCREASE = 1e-4  # of FIT, for a further pass
_MAX_SCORED = 20_000  # rows of which FIT is reported: neighbors of all rows take the square of their number


class NeighborFaithful(SequentialRanker):
    r"""Keep the features whose nearest neighbors recover all features.

    .. math:: \max_{|S| = k} \mathrm{FIT}(S) = 1 - \frac{1}{nD} \sum_{i,j}
              \Big(z_{ij} - \frac{1}{p} \sum_{l \in N_S(i)} z_{lj}\Big)^2
              = 1 - \frac{1}{n} \sum_i \Big\| \phi_i - \frac{1}{p} \sum_{l \in N_S(i)} \phi_l \Big\|^2,

    with :math:`Z` the standardized table, :math:`N_S(i)` the p nearest neighbors of sample i, itself left out, on the
    features S alone, and :math:`(\phi_i^\top \phi_l) = Z Z^\top / D`. The principle is that of agnostic feature
    selection (Doquet and Sebag 2019): keep features from which all others can be recovered. Here the figure by which
    such selections are judged is raised directly, without an autoencoder. No target is used.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep. Every set that is
        looked at holds the columns that stay.
    n_neighbors : int, default=5
        p; where there are fewer other samples, all of these.
    polish : bool, default=True
        Exchange features of the best start while FIT rises. False takes the start as it is, which is cheaper.
    max_samples : int or None, default=2000
        The search looks at so many samples, drawn at random, where there are more; None takes all.
    random_state : int, RandomState or None, default=None
        For that draw, and for the samples on which candidates are compared first where there are more than 500. None
        stands for a fixed seed; with fewer samples nothing is random.

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. The kept features only are ranked, in the order in which forward selection takes them from
        the set; ``scores_`` is the share of the variance of all features that ridge regression on the features so far
        explains more thanks to the feature, NaN for features that are not kept. ``certificate_`` tells the
        ``fit_of_starts``, the number ``n_swaps`` of exchanges and the ``history`` of FIT over the rounds of the polish,
        which never falls, on the samples looked at.
    fit_ : float
        Leave-one-out FIT of the kept features on all samples, as :func:`tamis.assess.fit_score` tells it, or on 20 000
        of them, drawn at random, where there are more; 0 if there are none.

    Notes
    -----
    Five starts: sets that maximize the alignment
    :math:`\langle K_S, T_r \rangle / \|K_S\|_F` of :math:`K_S = \sum_{j \in S} z_j z_j^\top` with
    :math:`T_r = U_r \mathrm{diag}(v^{0.7}) U_r^\top`, the leading r = 10, 20 or 50 components of all features, forward
    and then by exchanges; and forward selection of the features from which ridge regression best predicts all, with a
    light and a heavy penalty. The best in FIT is polished: each kept feature, those least missed in the alignment
    first, gives way to one of 64 that the alignment proposes if that raises FIT; two passes, 200 features at most
    (100 beyond 500 samples).

    Sets of different sizes are searched apart and are not nested: rules that look at several sizes (such as "auto")
    have a set searched for at each. With ``stop=None`` there is nothing to search for: all features are put in a nested
    order, that of forward selection with ridge regression. Constant features and copies of others, whatever their
    unit and sign, are not ranked, nor are features that do not vary among the samples looked at. Beyond 512 features,
    the starts by ridge regression alone are used and nothing is polished.

    There are no groups of columns: the starts and the exchanges judge single columns, and an exchange of groups of
    unequal size would compare sets of different numbers of columns.

    Limits: the polish fits the sample more than the population, so that little of its gain is found again on other
    samples, and where samples are many and features hardly redundant the method is no better than
    :class:`GreedyReconstruction`. As with any search by exchanges, a better set may exist.

    Cost for n samples looked at: :math:`O(n^2 D)` for the Gram matrix, some hundred passes over a table of
    :math:`\min(n, D, 1000)` rows, and :math:`O(n^2)` per polished feature. Memory: a few copies of the table and a
    dozen times :math:`n^2` numbers, up to half a gigabyte for 2000 samples, the default; nothing of size :math:`D^2`.
    The default rule searches a set at each of a dozen sizes: 500 samples of 20 000 features that share nothing take
    more than a minute of a processor; ``polish=False`` or a number as ``stop`` takes less.

    References
    ----------
    Doquet and Sebag, "Agnostic feature selection", ECML PKDD 2019. Doquet, "Agnostic feature selection", PhD thesis,
    2019, Sec. 5.3 (FIT). Cristianini, Shawe-Taylor, Elisseeff and Kandola, "On kernel-target alignment", NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import NeighborFaithful
    >>> t = np.linspace(0, 1, 40)
    >>> u = np.tile([0.0, 1.0], 20)
    >>> X = np.column_stack([t, t**2, np.exp(t), u, u + 0.1 * t])
    >>> selector = NeighborFaithful(stop=2).fit(X)  # one feature of each kind
    >>> selector.support_[:3].sum(), selector.support_[3:].sum()
    (np.int64(1), np.int64(1))
    """

    supervised: ClassVar[bool] = False
    provides: ClassVar[frozenset[str]] = Ranker.provides - {"nested"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("fit-plateau", {})

    _searches: list[tuple[Candidates, FaithfulSet]] | None = None  # the last one, while a fit goes on

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "polish": ["boolean"],
        "max_samples": MAX_SAMPLES_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        n_neighbors: int = 5,
        polish: bool = True,
        max_samples: int | None = 2000,
        random_state: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_neighbors = n_neighbors
        self.polish = polish
        self.max_samples = max_samples
        self.random_state = random_state

    def _rng(self) -> np.random.RandomState:
        return super()._rng() if self.random_state is not None else np.random.RandomState(0)

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        """As for every ranker; sets of different sizes are searched with one table of products."""
        self._searches = []
        try:
            return super()._select(candidates, y, rule)
        finally:
            del self._searches

    def _search(self, candidates: Candidates, rng: np.random.RandomState) -> FaithfulSet:
        """What is searched; within a fit the one that was made for the same candidates, if there is one."""
        for made_for, search in self._searches or []:
            if made_for is candidates:
                return search
        search = self._start_search(candidates, rng)
        if self._searches is not None:
            self._searches[:] = [(candidates, search)]
        return search

    def _start_search(self, candidates: Candidates, rng: np.random.RandomState) -> FaithfulSet:
        X = candidates.table
        rows = draw_rows(len(X), self.max_samples, rng)
        X = X if rows is None else X[rows]
        return FaithfulSet(rescale_columns(X), min(self.n_neighbors, len(X) - 1), rng, candidates.keep.tolist())

    def _ranking(self, candidates: Candidates, path: Sequence[Step]) -> Ranking:
        n_rows = len(candidates.table)
        n_seen = n_rows if self.max_samples is None else min(n_rows, self.max_samples)
        return replace(super()._ranking(candidates, path), notes=note_sample(n_seen, n_rows))

    def _steps(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Iterator[Step]:
        return self._in_order(self._search(candidates, rng))

    def _in_order(self, search: FaithfulSet, kept: list[int] | None = None) -> Iterator[Step]:
        for column, gain in search.order(kept):
            yield Step(int(search.columns[column]), gain)

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        """The best set of the given size before all others; without one, the nested order."""
        if n_top is None:
            return super()._rank_top(candidates, y, rng, None)
        search = self._search(candidates, rng)
        kept, certificate = self._find(search, max(n_top, len(search.forced)))
        path = list(track(self, self._in_order(search, kept), task_name="order", total=search.columns.size))
        return replace(self._ranking(candidates, path), certificate={"converged": True, **certificate})

    def _find(self, search: FaithfulSet, size: int) -> tuple[list[int], dict[str, Any]]:
        """The best set of one size, and how it was found."""
        if size >= search.columns.size:
            return list(range(search.columns.size)), {"fit_of_starts": {}, "n_swaps": 0, "history": ()}
        starts = list(track(self, search.starts(size), task_name="start"))
        best = max(starts, key=_fit_of)
        certificate = {
            "fit_of_starts": {start.name: start.fit for start in starts},
            "n_swaps": 0,
            "history": (best.fit,),
        }
        if interruption(self) or not self.polish or size > MAX_GREEDY or search.n_neighbors >= len(search.Z) - 1:
            return best.kept, certificate
        swaps = search.improvement(best)
        watched = track(self, split_tries(size, len(search.Z)), task_name="polish")
        try:
            for tries in watched:
                if swaps.run_pass(tries) < _MIN_INCREASE:
                    break
        except KeyboardInterrupt:
            interrupt(watched)
        return swaps.kept, certificate | {"n_swaps": swaps.n_swaps, "history": tuple(swaps.history)}

    def _store(self, candidates: Candidates, ranking: Ranking, decision: StopDecision) -> None:
        super()._store(candidates, ranking, decision)
        rows = draw_rows(len(candidates.table), _MAX_SCORED, self.random_state)
        table = candidates.table if rows is None else candidates.table[rows]
        self.fit_ = leave_one_out_fit(table, np.flatnonzero(self.support_), self.n_neighbors)


def _fit_of(start: Start) -> float:
    return start.fit


def split_tries(size: int, n_samples: int) -> Iterator[int]:
    """Features to try to swap in each of two passes; fewer in all where each costs more."""
    remaining = _TRIES if n_samples <= _FEW else _TRIES // 2
    for _ in range(_PASSES):
        if remaining:
            yield min(remaining, size)
        remaining -= min(remaining, size)


def leave_one_out_fit(X: np.ndarray, kept: np.ndarray, n_neighbors: int) -> float:
    r"""Mean :math:`R^2` of the features that vary, each predicted from the nearest neighbors on the kept ones."""
    if not kept.size:
        return 0.0
    X = rescale_columns(X)
    some = X[:, kept]
    deviations = standard_deviations(some)
    some = some - some[:1]  # distances do not change, and keep their digits where the mean is much larger than they are
    neighbors = own_neighbors(scale_columns(some, deviations), min(n_neighbors, len(X) - 1), itself=False)
    return float(np.nanmean(r2_from_neighbors(X, neighbors)))
