"""What a race has found, and whether there is time for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.learn._configurations import Configuration, model_of
from tamis.learn._costs import Costs, Guard
from tamis.learn._fold_results import FoldResults, Folds, Ledger
from tamis.learn._learning_table import LearningTable
from tamis.learn._metrics import Metric
from tamis.learn._portfolio import ALL

LEAST_RESERVE = 0.05  # of the budget, for the choice and the final fit
_FINAL_SAFETY = 1.3


class TimedResults(FoldResults):
    """Results of folds, and the clock: what is left once the choice and the final fit have had their time.

    Parameters
    ----------
    data, partitions, metric, ledger
        As for results of folds.
    budget : float
        Seconds from ``started``.
    started : float
        Of the clock.
    clock : function
    n_final : int
        Configurations that are fitted to all rows in the end.
    least_reserve : float
        Share of the budget that is kept for the choice and the final fit.
    """

    def __init__(
        self,
        data: LearningTable,
        partitions: Sequence[Folds],
        metric: Metric,
        ledger: Ledger,
        budget: float,
        started: float,
        clock: Any,
        *,
        n_final: int,
        least_reserve: float,
    ) -> None:
        super().__init__(data, partitions, metric, ledger)
        self.budget, self.started, self.clock = budget, started, clock
        self.n_final, self.least_reserve = n_final, least_reserve
        self.costs = Costs()
        self._observe_earlier_fits()
        self.seconds_to_judge = 0.0
        self._seconds_to_permute = 0.0
        self._may_be_chosen: dict[str, Configuration] = {}

    def _observe_earlier_fits(self) -> None:
        """Costs of what an earlier run has found."""
        for (name, fold), ranked in self.ledger.orders.items():
            self.costs.observe(name, self.every_fold[fold][0].size, ranked.n_columns, ranked.seconds)
        for (key, fold), outcome in self.ledger.outputs.items():
            name = model_of(key)
            self.costs.observe(name, self.every_fold[fold][0].size, outcome.n_columns, outcome.seconds)

    def _guard(self, most: float = np.inf) -> Guard:
        to_judge = _FINAL_SAFETY * (self.seconds_to_judge + self._seconds_to_permute)
        return Guard(self.started + self.budget - self._reserve() - to_judge, self.clock, most)

    def _guard_of_verdict(self) -> Guard:
        return Guard(self.started + self.budget - self._reserve(), self.clock)

    def has_time_to_judge(self) -> bool:
        """Whether there is any time left besides that for the final fit."""
        return self._guard_of_verdict().allows(None)

    def is_over(self) -> bool:
        """Whether the time for the search is used up."""
        guard = self._guard()
        return guard.clock() >= guard.end

    def allows(self, seconds: float) -> bool:
        """Whether there is time for that much work besides the final fit."""
        return self._guard_of_verdict().allows(seconds)

    def _reserve(self) -> float:
        """Seconds that the final fit on all rows may take, whichever configuration is chosen."""
        n_folds = len(self.partitions[0])
        grown = (n_folds / max(1, n_folds - 1)) ** 2
        longest = []
        for each in self._may_be_chosen.values():
            model = max(self.ledger.outputs[each.key, fold].seconds for fold in range(len(self.folds)))
            ranking = [
                self.ledger.orders[each.ranker, fold].seconds for fold in range(len(self.folds)) if each.ranker != ALL
            ]
            longest.append(model + max(ranking, default=0.0))
        most = sum(sorted(longest)[-self.n_final :])
        return max(self.least_reserve * self.budget, _FINAL_SAFETY * grown * most)
