"""Run configurations fold by fold, and drop early what falls behind."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import delayed

from tamis.base import open_parallel
from tamis.learn._choice import paired
from tamis.learn._configurations import Configuration, beside, grid, with_all, with_ranker
from tamis.learn._fold_results import Ledger
from tamis.learn._fold_work import NOT_RUN, Outcome, predict_fold, rank_fold
from tamis.learn._learning_table import LearningTable
from tamis.learn._metrics import Metric
from tamis.learn._portfolio import ALL, ModelEntry, Problem, RankerEntry
from tamis.learn._timed_results import LEAST_RESERVE, TimedResults

_CHUNK = 6  # configurations of a task
_FEWEST_TESTED = 15  # rows on which configurations are compared; on fewer they may differ on none, or on one alone
_HALVED_FROM = 300  # rows from which on the first fold is enough to drop configurations that merely rank low
_FEWEST_LEFT, _SHARE_LEFT = 12, 1 / 3
_DOMINATED = 2.0  # standard errors by which a configuration must be worse than the best to be dropped
_MOST_TO_PERMUTE = 0.4  # of the budget
_FIRST_LOOK = 0.02  # of the budget, for one fit; what takes longer comes after all that does not
_FIRST_LOOK_OF_COSTLY = 0.04  # the same for models that are known to be costly, on all features only
_USES_OF_RANKING = 5  # such shares for a ranking, which many configurations use
_N_REFINED = 6  # pairs of ranker and model beside whose best configurations others are tried
_REFINEMENTS = 6


class Race(TimedResults):
    r"""Configurations in waves: all features with every model, then one ranker after the other.

    Models that are costly come last, but on all features where one fit takes 4 % of the budget at most.

    Each wave runs on the first fold; there, and after the second, configurations are dropped that are worse than the
    best of all so far by more than two standard errors of the paired difference over rows. On tables of 300 rows and
    more all but the better third of a wave, and at least twelve, are dropped on the first fold too: rows of that fold
    do not enter the estimate then, for what remains was chosen by them.

    With the time left, configurations that differ by one step from the best ones, in number of features, scaling or
    setting, are tried, and what is not worse than the best by two standard errors is repeated on other partitions of
    the rows: the score on one depends on the partition. What runs next depends on results only; time ends it wherever
    it is.

    Parameters
    ----------
    data : LearningTable
    folds : list of (train, test)
        Of the first partition of the rows.
    partitions : list of lists of (train, test)
        Others, each of as many folds, for the best.
    rankers, models : lists of entries
    scalings : list of str
        Those that suit the table, the usual one first.
    problem : Problem
    metric : Metric
    budget : float
        Seconds from ``started``.
    started : float
        Of the clock.
    n_jobs : int or None
    ledger : Ledger
        Holds what an earlier run has found.
    n_final : int, default=1
        Configurations that are fitted to all rows in the end.
    least_reserve : float, default=0.05
        Share of the budget that is kept for the choice and the final fit.
    clock : function, default=time.time
    """

    def __init__(
        self,
        data: LearningTable,
        folds: Sequence[tuple[np.ndarray, np.ndarray]],
        *,
        partitions: Sequence[Sequence[tuple[np.ndarray, np.ndarray]]] = (),
        rankers: Sequence[RankerEntry],
        models: Sequence[ModelEntry],
        scalings: Sequence[str],
        problem: Problem,
        metric: Metric,
        budget: float,
        started: float,
        n_jobs: int | None,
        ledger: Ledger,
        n_final: int = 1,
        least_reserve: float = LEAST_RESERVE,
        clock: Any = time.time,
    ) -> None:
        super().__init__(
            data,
            [folds, *partitions],
            metric,
            ledger,
            budget,
            started,
            clock,
            n_final=n_final,
            least_reserve=least_reserve,
        )
        self.problem = problem
        self.rankers = {entry.name: entry for entry in rankers if entry.fits(problem)}
        self.models = {entry.label: entry for entry in models if entry.fits(problem)}
        if not self.models:
            raise ValueError(
                f"none of the models {', '.join(sorted({entry.name for entry in models}))} suits this table"
            )
        self.scalings = scalings
        self.n_jobs = n_jobs
        self.was_halved = False
        self._most_seconds = _FIRST_LOOK * budget
        self.dropped: set[str] = set()

    # the plan

    def run(self) -> Iterator[str]:
        """Everything there is to do, one step after the other; each tells what was done."""
        entries = [entry for entry in self.models.values() if not entry.is_further]
        cheap = [entry for entry in entries if not entry.is_costly] or entries
        costly = [entry for entry in entries if entry not in cheap]
        first = with_all(self.data.n_columns, cheap, self.scalings)
        yield from self._run_wave(first, frozenset(each.key for each in first[:1]))
        if not self.complete():  # with too little time, or where the first model fails: whatever works
            for configuration in first:
                yield from self._run_wave([configuration], frozenset({configuration.key}))
                if self.complete():
                    break
        if costly:
            self._most_seconds = _FIRST_LOOK_OF_COSTLY * self.budget
            yield from self._run_wave(with_all(self.data.n_columns, costly, self.scalings), frozenset())
            self._most_seconds = _FIRST_LOOK * self.budget
        yield from self._run_rankers(cheap, first)
        self._most_seconds = np.inf
        yield from self._run_wave(self._not_begun(cheap), frozenset())
        if costly:
            last = with_all(self.data.n_columns, costly, self.scalings)
            yield from self._run_wave(last, frozenset())
            yield from self._run_rankers(costly, last)
        for _ in range(_REFINEMENTS):
            if not (wave := self._beside_the_best()):
                break
            yield from self._run_wave(wave, frozenset())
        for partition in self.partitions[1:]:
            left = self._not_worse()
            if len(left) < 2 or not self.allows(self.seconds_to_repeat(left)):
                return
            has_run = yield from self._repeat(left, len(partition))
            if not has_run:
                return

    def score_of(self, configuration: Configuration) -> float:
        """Run one configuration on all folds; minus infinity where it fails, such as by a ranker that finds nothing."""
        for _ in self._run_stage([configuration], range(len(self.folds)), frozenset()):
            pass
        if self.ledger.n_folds(configuration.key, len(self.folds)) < len(self.folds):
            return float("-inf")
        mean = self.mean(self.rows(), self.losses(self.outputs([configuration])))
        return float(self.metric.score(mean)[0])

    def _run_rankers(self, models: list[ModelEntry], with_all_features: list[Configuration]) -> Iterator[str]:
        scaling_of, sizes = self._best_scalings(with_all_features), grid(self.data.n_columns)
        for ranker in self.rankers:
            yield from self._run_wave(with_ranker(ranker, sizes, models, scaling_of), frozenset())

    def _not_begun(self, models: list[ModelEntry]) -> list[Configuration]:
        """What would have taken too large a share of the time for a first look."""
        begun, labels = {key for key, _ in self.ledger.outputs}, {entry.label for entry in models}
        return [each for each in self.configurations if each.key not in begun and each.model in labels]

    def _beside_the_best(self) -> list[Configuration]:
        """What was not tried yet and differs by one step from the best of the pairs of ranker and model."""
        complete = self.complete()
        if not complete:
            return []
        rows, losses = self.losses_of(complete)
        best: dict[tuple[str, str], Configuration] = {}
        for j in np.argsort(self.mean(rows, losses), kind="stable").tolist():
            best.setdefault((complete[j].ranker, self.models[complete[j].model].name), complete[j])
        known = {each.key for each in self.configurations}
        wave: dict[str, Configuration] = {}
        for each in list(best.values())[:_N_REFINED]:
            sizes = sorted({other.n_features for other in self.configurations if other.ranker in (each.ranker, ALL)})
            found = beside(each, sizes, list(self.models.values()), self.scalings)
            wave |= {other.key: other for other in found if other.key not in known}
        return list(wave.values())

    def _not_worse(self) -> list[Configuration]:
        """Complete configurations that are not worse than the best by two standard errors, and the best with all."""
        complete = self.complete()
        if not complete:
            return []
        rows, losses = self.losses_of(complete)
        scales = self.scales(rows)
        mean = (scales @ losses)[0]
        stays = {j for j in range(len(complete)) if _is_near(losses, scales, j, int(mean.argmin()))}
        every = [j for j, each in enumerate(complete) if each.ranker == ALL]
        stays |= {min(every, key=lambda j: mean[j])} if every else set()
        return [complete[j] for j in sorted(stays)]

    def _repeat(self, configurations: list[Configuration], n_folds: int) -> Generator[str, None, bool]:
        """Run configurations on the folds of another partition, which counts if there was time for all of it."""
        folds = range(len(self.folds), len(self.folds) + n_folds)
        yield from self._run_stage(configurations, folds, frozenset())
        ran = [each for each in configurations if all(self.ledger.predicted(each.key, fold) for fold in folds)]
        has_time = all((each.key, fold) in self.ledger.outputs for each in configurations for fold in folds)
        if not (has_time and ran):
            return False
        self.dropped |= {each.key for each in self.complete()} - {each.key for each in ran}
        self.folds = self.every_fold[: folds.stop]
        self._may_be_chosen = {each.key: each for each in ran}
        return True

    def _best_scalings(self, wave: Sequence[Configuration]) -> dict[str, str]:
        """For each model the scaling with the least loss on the most folds."""
        found: dict[str, tuple[int, float, str]] = {}
        for configuration in wave:
            rows, losses = self.losses_of([configuration])
            n_folds = self.ledger.n_folds(configuration.key, len(self.folds))
            mean = self.mean(rows, losses)[0] if n_folds else np.inf
            entry = (-n_folds, float(mean), configuration.scaling)
            usual = found.get(configuration.model)
            if usual is None or entry[:2] < usual[:2]:
                found[configuration.model] = entry
        return {model: scaling for model, (_, _, scaling) in found.items()}

    def _run_wave(self, wave: list[Configuration], exempt: frozenset[str]) -> Iterator[str]:
        known = {each.key for each in self.configurations}
        self.configurations += [each for each in wave if each.key not in known]
        left = wave
        for stage, folds in enumerate(self._stages()):
            yield from self._run_stage(left, folds, exempt)
            ran = [each for each in left if all(self.ledger.predicted(each.key, fold) for fold in folds)]
            left = self._survivors(ran, folds, halve=stage == 0) if stage < 2 else ran
            self.dropped |= {each.key for each in ran} - {each.key for each in left} - exempt
            left = [each for each in ran if each.key not in self.dropped]
            if not left:
                break
        self._seconds_to_permute = self.seconds_to_permute_best(_MOST_TO_PERMUTE * self.budget)

    def _stages(self) -> list[list[int]]:
        """Folds that run before the next look at who falls behind: as many as it takes to test some rows."""
        looks, n_folds = [], len(self.folds)
        start = 0
        for _ in range(2):
            stop, n_rows = start, 0
            while stop < n_folds and n_rows < _FEWEST_TESTED:
                n_rows += self.folds[stop][1].size
                stop += 1
            looks.append(list(range(start, stop)))
            start = stop
        return [look for look in (*looks, list(range(start, n_folds))) if look]

    def first_look(self) -> np.ndarray:
        """Rows by which configurations are dropped first."""
        return self.rows(self._stages()[0])

    # running

    def _run_stage(self, wave: Sequence[Configuration], folds: Sequence[int], exempt: frozenset[str]) -> Iterator[str]:
        rankers = list(dict.fromkeys(each.ranker for each in wave if each.ranker != ALL))
        wanted = [(name, fold) for name in rankers for fold in folds if (name, fold) not in self.ledger.orders]
        yield from self._rank(wanted)
        tasks = []
        for fold in folds:
            for ranker in dict.fromkeys(each.ranker for each in wave):
                tasks += self._tasks_of(wave, ranker, fold)
        yield from self._predict(tasks, exempt)

    def _tasks_of(
        self, wave: Sequence[Configuration], ranker: str, fold: int
    ) -> list[tuple[int, list[Configuration], np.ndarray | None]]:
        """Chunks of what is missing of a wave in a fold, with the ranking; failures are noted."""
        missing = [each for each in wave if each.ranker == ranker and (each.key, fold) not in self.ledger.outputs]
        order = None
        if ranker != ALL:
            ranked = self.ledger.orders.get((ranker, fold), NOT_RUN)
            if ranked.output is None or ranked.output.size == 0:
                if ranked.was_run:
                    error = ranked.error or "the ranker ranks no feature"
                    self.ledger.outputs |= {(each.key, fold): Outcome(None, error=error) for each in missing}
                return []
            order = ranked.output
        return [(fold, missing[i : i + _CHUNK], order) for i in range(0, len(missing), _CHUNK)]

    def _rank(self, wanted: Sequence[tuple[str, int]]) -> Iterator[str]:
        if not wanted or self.is_over():
            return
        with open_parallel(self.n_jobs, shared=[self.data]) as parallel:
            tasks = (
                delayed(rank_fold)(
                    self.data,
                    self.rankers[name],
                    self.problem,
                    *self.every_fold[fold],
                    self.costs,
                    self._guard(_USES_OF_RANKING * self._most_seconds),
                )
                for name, fold in wanted
            )
            for (name, fold), outcome in zip(wanted, parallel(tasks), strict=True):
                if outcome.was_run:
                    self.ledger.orders[name, fold] = outcome
                    self.costs.observe(name, self.every_fold[fold][0].size, outcome.n_columns, outcome.seconds)
                yield f"{name} ranked"

    def _predict(
        self, tasks: Sequence[tuple[int, list[Configuration], np.ndarray | None]], exempt: frozenset[str]
    ) -> Iterator[str]:
        if not tasks:
            return
        with open_parallel(self.n_jobs, shared=[self.data]) as parallel:
            calls = (
                delayed(predict_fold)(
                    self.data,
                    chunk,
                    {each.model: self.models[each.model] for each in chunk},
                    self.problem,
                    self.metric.asked,
                    order,
                    *self.every_fold[fold],
                    self.costs,
                    self._guard(self._most_seconds),
                    exempt,
                )
                for fold, chunk, order in tasks
            )
            for (fold, chunk, _), outcomes in zip(tasks, parallel(calls), strict=True):
                self._note(chunk, fold, outcomes)
                yield f"{len(chunk)} configurations"

    def _note(self, chunk: Sequence[Configuration], fold: int, outcomes: Sequence[Outcome]) -> None:
        n_rows = self.every_fold[fold][0].size
        for configuration, outcome in zip(chunk, outcomes, strict=True):
            if outcome.was_run:
                self.ledger.outputs[configuration.key, fold] = outcome
                self.costs.observe(configuration.model, n_rows, outcome.n_columns, outcome.seconds)
            if self.ledger.n_folds(configuration.key, len(self.folds)) == len(self.folds):
                self._may_be_chosen[configuration.key] = configuration

    # who falls behind

    def _survivors(self, ran: list[Configuration], folds: Sequence[int], *, halve: bool) -> list[Configuration]:
        """Those that do not fall behind the best of all that ran on the folds up to these."""
        if len(ran) < 2:
            return ran
        up_to = range(folds[-1] + 1)
        everyone = ran + [each for each in self.complete() if each not in ran]
        rows, losses = self.rows(list(up_to)), self.losses(self.outputs(everyone, list(up_to)), list(up_to))
        mean, scales = self.mean(rows, losses), self.scales(rows)
        best = int(mean.argmin())
        n_left = len(ran)
        if halve and self.data.y.size >= _HALVED_FROM and len(self.folds) > 2:
            n_left = max(_FEWEST_LEFT, int(np.ceil(_SHARE_LEFT * len(ran))))
            self.was_halved |= n_left < len(ran)
        order = np.argsort(mean[: len(ran)], kind="stable")[:n_left]
        stays = {j for j in order.tolist() if _is_near(losses, scales, j, best)}
        return [each for j, each in enumerate(ran) if j in stays]


def _is_near(losses: np.ndarray, scales: np.ndarray, j: int, best: int) -> bool:
    """Whether a configuration is not worse than the best by two standard errors of the paired difference."""
    difference, error = paired(losses, scales, j, best)
    return difference <= _DOMINATED * error + 1e-12
