"""The energy of a probability: mean error of the learners on subsets drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.rank.stochastic._feature_weighting import (
    Draws,
    count_draws,
    count_errors,
    draw_subsets,
    enumerate_draws,
    exact_energy,
    subtract_baseline,
)
from tamis.rank.stochastic._learners import SubsetLearner
from tamis.rank.stochastic._split import Split, Splitter, rows_per_draw
from tamis.rank.stochastic._table import SubsetTable, scale_table

_MOST_DRAWS = 200_000
_EXACT_SPLITS = 10  # over which the error of a set is averaged, where all sets are looked at
_SETS = 10_000  # sets that are looked at together


@dataclass(frozen=True)
class Problem:
    """What subsets are drawn from, and how they are judged."""

    table: SubsetTable
    splitter: Splitter
    learner: SubsetLearner
    subset_size: int
    n_subsets: int

    def measure(self, probability: np.ndarray, rng: np.random.RandomState) -> tuple[float, np.ndarray]:
        """Energy and ``E[g C]`` less a baseline, estimated on one batch of subsets and one split of the rows.

        All subsets of a batch are judged on the same split: their differences, which are all that counts, are steadier.
        """
        subsets = draw_subsets(probability, self.n_subsets, self.subset_size, rng)
        errors = self.errors(subsets, self.splitter.draw(rng), rng)
        return float(errors.mean()), count_errors(subsets, subtract_baseline(errors), probability.size)

    def errors(self, subsets: np.ndarray, split: Split, rng: np.random.RandomState) -> np.ndarray:
        """Error of each subset on one split."""
        seed = int(rng.randint(np.iinfo(np.int32).max - len(subsets)))
        return split.errors(self.learner.predict_split(self.table, subsets, split, seed))


def pose_problem(ofw: Any, learner: SubsetLearner, X: Any, codes: np.ndarray, columns: np.ndarray) -> Problem:
    """The table in the learner's precision, and how its rows are drawn, as an OFW asks for."""
    n_classes = int(codes.max()) + 1
    splitter = Splitter(
        codes,
        n_classes,
        rows_per_draw(ofw.train_size, codes.size, n_classes),
        one_vs_all=n_classes > 2 and (ofw.multiclass == "ovr" or (ofw.multiclass == "auto" and learner.binary)),
        out_of_bag=ofw.evaluation == "out-of-bag",
        balanced=ofw.balanced,
    )
    table = scale_table(X, columns, standardize=ofw.standardize, single=learner.single)
    return Problem(SubsetTable(table), splitter, learner, ofw.subset_size_, ofw.n_subsets)


class ExactProblem:
    """The same, by looking at every possible draw; the errors are measured once, over a few splits."""

    def __init__(self, problem: Problem, rng: np.random.RandomState) -> None:
        n_features, size = problem.table.n_columns, problem.subset_size
        n_draws = count_draws(n_features, size)
        if n_draws > _MOST_DRAWS:
            raise ValueError(
                f"method='exact' would look at {n_draws:.2g} draws of {size} out of {n_features} features, more than "
                f"{_MOST_DRAWS}: lower subset_size, preselect features, or use another method"
            )
        self.draws: Draws = enumerate_draws(n_features, size)
        padded = np.array([(members + members[:1] * size)[:size] for members in self.draws.sets])
        splits = [problem.splitter.draw(rng) for _ in range(_EXACT_SPLITS)]
        self.errors = np.zeros(len(padded))
        for part in blocks(len(padded), _SETS):
            self.errors[part] = np.mean([problem.errors(padded[part], split, rng) for split in splits], axis=0)

    def measure(self, probability: np.ndarray, rng: np.random.RandomState) -> tuple[float, np.ndarray]:
        """Energy and ``E[g C]``, summed over every draw."""
        return exact_energy(self.draws, self.errors, probability)
