"""Predictions of configurations for rows that they have not seen, and what these are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tamis.learn._choice import paired
from tamis.learn._configurations import Configuration
from tamis.learn._fold_work import Outcome
from tamis.learn._learning_table import LearningTable
from tamis.learn._metrics import Metric, guess_losses
from tamis.learn._portfolio import ALL
from tamis.learn._thresholds import find_thresholds

N_PERMUTATIONS = 19  # of the target, the fewest that can tell a risk of 5 %
_FAR_FROM_GUESSING = 5.0  # standard errors beyond which no target is permuted

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass
class Ledger:
    """What was found so far, by ranker and fold, and by configuration and fold."""

    orders: dict[tuple[str, int], Outcome] = field(default_factory=dict)
    outputs: dict[tuple[str, int], Outcome] = field(default_factory=dict)

    def error(self, key: str) -> str:
        """What went wrong with a configuration in some fold."""
        return next((each.error for (other, _), each in self.outputs.items() if other == key and each.error), "")

    def seconds(self, key: str) -> float:
        """Spent on a configuration, without its rankings."""
        return sum(each.seconds for (other, _), each in self.outputs.items() if other == key)

    def n_folds(self, key: str, n_folds: int) -> int:
        """In how many folds a configuration has predicted."""
        return sum(self.predicted(key, fold) for fold in range(n_folds))

    def predicted(self, key: str, fold: int) -> bool:
        """Whether there are predictions of a configuration for a fold."""
        outcome = self.outputs.get((key, fold))
        return outcome is not None and outcome.output is not None


class FoldResults:
    """What a race has found, fold by fold.

    Parameters
    ----------
    data : LearningTable
    partitions : list of lists of (train, test)
        Partitions of the rows into as many folds each; those of the first count from the start, the others once
        :attr:`folds` holds them.
    metric : Metric
    ledger : Ledger

    Attributes
    ----------
    folds : list of (train, test)
        Those that count.
    configurations : list of Configuration
        That there were to run.
    """

    def __init__(self, data: LearningTable, partitions: Sequence[Folds], metric: Metric, ledger: Ledger) -> None:
        self.data, self.metric, self.ledger = data, metric, ledger
        self.partitions = [list(partition) for partition in partitions]
        self.every_fold = [fold for partition in self.partitions for fold in partition]
        self.folds = self.partitions[0]
        self.configurations: list[Configuration] = []
        self._known_thresholds: dict[tuple[str, tuple[int, ...]], float] = {}

    def complete(self) -> list[Configuration]:
        """Configurations with predictions of all folds, those with the fewest features first, then the simplest."""
        done = [
            each for each in self.configurations if self.ledger.n_folds(each.key, len(self.folds)) == len(self.folds)
        ]
        return sorted(done, key=lambda each: (each.n_features, each.simplicity))

    def folds_of_whole_partitions(self, configuration: Configuration) -> list[int]:
        """Folds of the partitions on all of which a configuration ran, from the first on."""
        found: list[int] = []
        for partition in self.partitions:
            folds = range(len(found), len(found) + len(partition))
            if folds.stop > len(self.folds) or not all(
                self.ledger.predicted(configuration.key, fold) for fold in folds
            ):
                break
            found += folds
        return found

    def outputs(self, configurations: Sequence[Configuration], folds: Sequence[int] | None = None) -> np.ndarray:
        """Predictions of the test rows of the folds one after the other, one column per configuration."""
        folds = range(len(self.folds)) if folds is None else folds
        found = np.concatenate([self._raw_outputs(configurations, fold) for fold in folds])
        if not self.metric.finds_threshold:
            return found
        lengths = [self.every_fold[fold][1].size for fold in folds]
        return (found > np.repeat(self._thresholds(configurations, folds), lengths, axis=0)).astype(np.int32)

    def _raw_outputs(self, configurations: Sequence[Configuration], fold: int) -> np.ndarray:
        return np.column_stack([np.asarray(self.ledger.outputs[each.key, fold].output) for each in configurations])

    def _thresholds(self, configurations: Sequence[Configuration], folds: Sequence[int]) -> np.ndarray:
        """Where classes part in each fold: as the other folds of its partition say, or where it is alone, itself."""
        found = np.empty((len(folds), len(configurations)))
        for i, fold in enumerate(folds):
            start = self._first_of_partition(fold)
            others = tuple(other for other in folds if other != fold and self._first_of_partition(other) == start)
            others = others or (fold,)
            missing = [each for each in configurations if (each.key, others) not in self._known_thresholds]
            if missing:
                thresholds = self._find_thresholds(missing, others)
                self._known_thresholds |= {
                    (each.key, others): theta for each, theta in zip(missing, thresholds.tolist(), strict=True)
                }
            found[i] = [self._known_thresholds[each.key, others] for each in configurations]
        return found

    def _first_of_partition(self, fold: int) -> int:
        n_folds = len(self.partitions[0])
        return fold - fold % n_folds

    def _find_thresholds(self, configurations: Sequence[Configuration], folds: Sequence[int]) -> np.ndarray:
        rows = self.tested(folds)
        weights = self.scales(rows)[0]
        decisions = np.concatenate([self._raw_outputs(configurations, fold) for fold in folds])
        return find_thresholds(self.data.y[rows], decisions, weights)

    def threshold(self, configuration: Configuration) -> float | None:
        """Where a model fitted to all rows is to part two classes; None: where it does by itself."""
        if not self.metric.finds_threshold:
            return None
        return float(self._find_thresholds([configuration], range(len(self.folds)))[0])

    def rows(self, folds: Sequence[int] | None = None) -> np.ndarray:
        """Rows that folds test, ascending, each once."""
        return np.unique(self.tested(folds))

    def losses(self, outputs: np.ndarray, folds: Sequence[int] | None = None) -> np.ndarray:
        """Losses of :meth:`rows`, of those that several partitions test the mean.

        Decision values are compared within folds only.
        """
        folds = range(len(self.folds)) if folds is None else folds
        parts, start = [], 0
        for fold in folds:
            y = self.data.y[self.every_fold[fold][1]]
            part = outputs[start : start + y.size]
            parts.append(np.column_stack([self.metric.losses(y, column) for column in part.T]))
            start += y.size
        tested = self.tested(folds)
        order = np.argsort(tested, kind="stable")
        _, first, counts = np.unique(tested[order], return_index=True, return_counts=True)
        return np.add.reduceat(np.vstack(parts)[order], first, axis=0) / counts[:, None]

    def tested(self, folds: Sequence[int] | None = None) -> np.ndarray:
        """Rows of :meth:`outputs`."""
        folds = range(len(self.folds)) if folds is None else folds
        return np.concatenate([self.every_fold[fold][1] for fold in folds])

    def losses_of(self, configurations: Sequence[Configuration]) -> tuple[np.ndarray, np.ndarray]:
        """Rows and losses on the folds that all of them have."""
        folds = [
            fold
            for fold in range(len(self.folds))
            if all(self.ledger.predicted(each.key, fold) for each in configurations)
        ]
        if not folds:
            return np.empty(0, dtype=int), np.empty((0, len(configurations)))
        return self.rows(folds), self.losses(self.outputs(configurations, folds), folds)

    def mean(self, rows: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Scaled sums of the losses of some rows."""
        return (self.scales(rows) @ losses)[0]

    def scales(self, rows: np.ndarray) -> np.ndarray:
        """What each of some rows counts in a score."""
        return self.metric.scales(self.data.y[rows], np.ones((1, rows.size)))

    def seconds_for_permutations(self, configuration: Configuration) -> float:
        """What its scores for permuted targets take one after the other, told from the folds."""
        folds = range(len(self.partitions[0]))
        seconds = sum(self.ledger.outputs[configuration.key, fold].seconds for fold in folds)
        if configuration.ranker != ALL:
            seconds += sum(self.ledger.orders[configuration.ranker, fold].seconds for fold in folds)
        return N_PERMUTATIONS * seconds

    def seconds_to_permute_best(self, most: float) -> float:
        """The same of the best, where it is so near to guessing that targets will be permuted.

        0 where it would be more than ``most``.
        """
        complete = self.complete()
        if not complete:
            return 0.0
        rows, losses = self.losses_of(complete)
        best, guess = int(self.mean(rows, losses).argmin()), guess_losses(self.metric, self.data.y[rows])
        difference, error = paired(np.column_stack([losses[:, best], guess]), self.scales(rows), 0, 1)
        if difference < -_FAR_FROM_GUESSING * error:
            return 0.0
        seconds = self.seconds_for_permutations(complete[best])
        return seconds if seconds <= most else 0.0

    def seconds_to_repeat(self, configurations: Sequence[Configuration]) -> float:
        """What another partition takes: a share of what the folds so far have taken, one after the other."""
        folds = range(len(self.folds))
        rankers = {each.ranker for each in configurations} - {ALL}
        seconds = sum(self.ledger.outputs[each.key, fold].seconds for each in configurations for fold in folds)
        seconds += sum(self.ledger.orders[name, fold].seconds for name in rankers for fold in folds)
        return seconds * len(self.partitions[0]) / len(self.folds)
