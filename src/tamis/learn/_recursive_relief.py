"""ReliefF on ever fewer columns, so that those without use no longer blur who is near."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import StrOptions
from tamis.base import Candidates, Ranker, Ranking, fresh
from tamis.rank.relief._relief_f import ReliefF

_FEWEST = 4


class RecursiveReliefF(Ranker):
    r"""Rank by ReliefF, drop the worse half, and again on what is left.

    .. math:: S_{t+1} = \{ j \in S_t : W_j(S_t) \ge \mathrm{median}_{i \in S_t} W_i(S_t) \}

    with :math:`W(S)` the weights of ReliefF on the columns :math:`S`; columns are ordered by the round in which they
    leave, then by their weight in it. Among many irrelevant columns neighbors are found by chance; on half of them
    less so.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
    keep, exclude, min_features : columns, columns, int, default=None
    n_neighbors : int, default=10
    task : {"auto", "regression", "classification"}, default="auto"

    Notes
    -----
    Cost: at most twice that of :class:`~tamis.ReliefF`.
    """

    one_shot: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "n_neighbors": ReliefF._parameter_constraints["n_neighbors"],
        "task": [StrOptions({"auto", "regression", "classification"})],
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
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_neighbors = n_neighbors
        self.task = task

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        relief = fresh(ReliefF(n_neighbors=self.n_neighbors, task=self._find_task(y)), stop=None)
        table = candidates.table
        left, order = np.arange(table.shape[1]), np.empty(0, dtype=int)
        while left.size > _FEWEST:
            by_weight = left[relief.fit(table[:, left], y).order_]
            n_left = (left.size + 1) // 2
            order = np.concatenate([by_weight[n_left:], order])
            left = np.sort(by_weight[:n_left])
        varies = np.ptp(table[:, left], axis=0).any()
        best = left[relief.fit(table[:, left], y).order_] if varies else left
        order = np.concatenate([best, order])
        scores = np.empty(order.size)
        scores[order] = np.arange(order.size, 0, -1)
        return Ranking(order, scores)
