"""What the chosen configuration scores when the target is permuted: whether it found more than the sample's chance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from joblib import delayed

from tamis.base import open_parallel
from tamis.learn._configurations import Configuration
from tamis.learn._costs import Costs, Guard
from tamis.learn._fold_work import predict_fold, rank_fold
from tamis.learn._learning_table import LearningTable
from tamis.learn._metrics import Metric
from tamis.learn._portfolio import ALL, ModelEntry, Problem, RankerEntry
from tamis.learn._race import Race

N_PERMUTATIONS = 19  # the fewest that can tell a risk of 5 %


def permuted_scores(
    race: Race, configuration: Configuration, seed: int, row_groups: np.ndarray | None = None
) -> Iterator[float]:
    """Cross-validated scores of a configuration for permuted targets, ranking included, one by one.

    Cross-validation of noise varies more than independent rows would: all folds share what the sample holds by chance.
    """
    rng = np.random.RandomState(seed)
    group = np.arange(race.data.y.size) if row_groups is None else np.unique(row_groups, return_inverse=True)[1]
    orders = [permute_groups(group.ravel(), rng) for _ in range(N_PERMUTATIONS)]
    ranker = None if configuration.ranker == ALL else race.rankers[configuration.ranker]
    model = race.models[configuration.model]
    with open_parallel(race.n_jobs, shared=[race.data]) as parallel:
        yield from parallel(
            delayed(_score)(
                race.data, order, race.partitions[0], configuration, ranker, model, race.problem, race.metric
            )
            for order in orders
        )


def permute_groups(group: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Row whose target each row gets: targets group by group in random order, for rows group by group.

    Rows of a patient are alike, and so are their targets: permuted one by one, these would be spread over patients, and
    scores of noise would vary as little as those of so many independent rows. Where groups differ in size, a few rows
    at their borders get targets of two.
    """
    order = np.empty(group.size, dtype=np.int64)
    order[np.argsort(group, kind="stable")] = np.argsort(rng.permutation(group.max() + 1)[group], kind="stable")
    return order


def seconds_for_permutations(race: Race, configuration: Configuration) -> float:
    """What they take one after the other, told from the folds."""
    folds = range(len(race.partitions[0]))
    seconds = sum(race.ledger.outputs[configuration.key, fold].seconds for fold in folds)
    if configuration.ranker != ALL:
        seconds += sum(race.ledger.orders[configuration.ranker, fold].seconds for fold in folds)
    return N_PERMUTATIONS * seconds


def _score(
    data: LearningTable,
    order: np.ndarray,
    folds: list[tuple[np.ndarray, np.ndarray]],
    configuration: Configuration,
    ranker: RankerEntry | None,
    model: ModelEntry,
    problem: Problem,
    metric: Metric,
) -> float:
    permuted = LearningTable(data.table, data.y[order], data.task)
    costs, guard = Costs(), Guard(np.inf, float)
    losses, rows = [], np.concatenate([test for _, test in folds])
    for train, test in folds:
        ranked = None if ranker is None else rank_fold(permuted, ranker, problem, train, test, costs, guard).output
        outcome = predict_fold(
            permuted, [configuration], {model.label: model}, problem, metric.output, ranked, train, test, costs, guard
        )[0]
        if outcome.output is None:  # such as a ranker that finds nothing
            return float("-inf")
        losses.append(metric.losses(permuted.y[test], outcome.output))
    scales = metric.scales(permuted.y[rows], np.ones((1, rows.size)))
    return float(metric.score(scales @ np.concatenate(losses))[0])
