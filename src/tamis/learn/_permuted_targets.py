"""What the chosen configuration scores when the target is permuted: whether it found more than the sample's chance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from joblib import delayed

from tamis.base import open_parallel
from tamis.learn._configurations import Configuration
from tamis.learn._fold_results import N_PERMUTATIONS, Ledger
from tamis.learn._learning_table import LearningTable
from tamis.learn._metrics import Metric
from tamis.learn._portfolio import ALL, ModelEntry, Problem, RankerEntry
from tamis.learn._race import Race

_ANY_TIME = 1e18  # seconds


def permuted_scores(
    race: Race, configuration: Configuration, seed: int, row_groups: np.ndarray | None = None
) -> Iterator[float]:
    """Cross-validated scores of a configuration for permuted targets, ranking included, one by one.

    Cross-validation of noise varies more than independent rows would: all folds share what the sample holds by chance.
    """
    rng = np.random.RandomState(seed)
    group = np.arange(race.data.y.size) if row_groups is None else np.unique(row_groups, return_inverse=True)[1]
    orders = [permute_groups(group.ravel(), rng) for _ in range(N_PERMUTATIONS)]
    rankers = [] if configuration.ranker == ALL else [race.rankers[configuration.ranker]]
    model = race.models[configuration.model]
    with open_parallel(race.n_jobs, shared=[race.data]) as parallel:
        yield from parallel(
            delayed(_score)(
                race.data, order, race.partitions[0], configuration, rankers, model, race.problem, race.metric
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


def _score(
    data: LearningTable,
    order: np.ndarray,
    folds: list[tuple[np.ndarray, np.ndarray]],
    configuration: Configuration,
    rankers: list[RankerEntry],
    model: ModelEntry,
    problem: Problem,
    metric: Metric,
) -> float:
    permuted = LearningTable(data.table, data.y[order], data.task)
    race = Race(
        permuted,
        folds,
        rankers=rankers,
        models=[model],
        scalings=[configuration.scaling],
        problem=problem,
        metric=metric,
        budget=_ANY_TIME,
        started=0.0,
        n_jobs=None,
        ledger=Ledger(),
        clock=float,
    )
    return race.score_of(configuration)
