r"""The energy of a probability over features: mean error of classifiers on subsets drawn from it.

The error :math:`g(\omega)` of a subset is that of a classifier which learns on one draw of rows, :math:`T_1`, and is
tested on another, :math:`T_2` (Gadat & Younes 2007, Sec. 2.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from tamis._sklearn import Interval, RealNotInt, StrOptions
from tamis.kernels.arrays.blocks import blocks
from tamis.rank.stochastic._column_groups import ColumnGroups
from tamis.rank.stochastic._gradient_descent import (
    Draws,
    count_draws,
    count_errors,
    draw_subsets,
    enumerate_draws,
    exact_energy,
    natural_direction,
    subtract_baseline,
)
from tamis.rank.stochastic._subset_learner import Split, SubsetLearner, SubsetTable

TEST_ROWS = ("resample", "out-of-bag")
AUTO_SHARE, AUTO_ROWS = 0.5, 1000  # rows of a draw by default: half of all, and no more than so many
_MAX_DRAWS = 200_000  # that "exact" enumerates
_EXACT_SPLITS = 10  # over which "exact" averages the error of a set
_BLOCK_SETS = 10_000  # sets evaluated at a time by "exact"
_FIRST_NOISE = 0.1  # standard deviation of the first step of log P, due to the draw of subsets, with "auto" rate
_FIRST_EXACT_CHANGE = 0.5  # largest change of log P in the first step of "exact", with "auto" rate


class SubsetEvaluation(BaseEstimator):
    r"""How :class:`~tamis.OFW` measures the error of a subset of features: training rows, test rows, and what counts.

    .. math:: g(\omega) = \frac{1}{|T_2|} \sum_{i \in T_2} [A_\omega^{T_1}(x_i) \ne y_i]

    with :math:`A_\omega^{T_1}` the classifier that learned from :math:`T_1` (Gadat & Younes 2007, Sec. 2.3).

    Parameters
    ----------
    train_size : "auto", int or float, default="auto"
        Rows per draw, T in the paper; a fraction of all, or their number. "auto" is half of them, and 1000 at most.
    test : {"resample", "out-of-bag"}, default="resample"
        Test rows: a second draw of all rows as in the paper, or rows that were not learned from.
    multiclass : {"auto", "native", "ovr"}, default="auto"
        Error with more than two classes: of the classifier itself, or the mean over one-vs-all problems (Sec. 2.3),
        which is "auto" for support vector machines.
    balanced : bool, default=False
        Count every class the same in the error, whatever its size.

    Notes
    -----
    Draws are with replacement; one that misses a class is given a row of it. All subsets of a step share one pair of
    draws: only differences between their errors matter, and these have a smaller variance on the same rows. Every step
    draws anew, so that a search of some hundred steps sees most of a long table, though each step sees little of it.

    Examples
    --------
    >>> from tamis import OFW
    >>> from tamis.rank.stochastic import SubsetEvaluation
    >>> OFW(evaluation=SubsetEvaluation(400, test="out-of-bag"))
    OFW(evaluation=SubsetEvaluation(test='out-of-bag', train_size=400))
    """

    _parameter_constraints: ClassVar[dict] = {
        "train_size": [
            StrOptions({"auto"}),
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "test": [StrOptions(set(TEST_ROWS))],
        "multiclass": [StrOptions({"auto", "native", "ovr"})],
        "balanced": ["boolean"],
    }

    def __init__(
        self,
        train_size: float | str = "auto",
        *,
        test: str = "resample",
        multiclass: str = "auto",
        balanced: bool = False,
    ) -> None:
        self.train_size = train_size
        self.test = test
        self.multiclass = multiclass
        self.balanced = balanced

    def splitter(self, codes: np.ndarray, learner: SubsetLearner) -> Splitter:
        """What draws the rows of a table with these classes."""
        n_classes = int(codes.max()) + 1
        by_class = self.multiclass == "ovr" or (self.multiclass == "auto" and learner.binary)
        return Splitter(
            codes,
            n_classes,
            self.n_rows(codes.size, n_classes),
            one_vs_all=n_classes > 2 and by_class,
            out_of_bag=self.test == "out-of-bag",
            balanced=self.balanced,
        )

    def n_rows(self, n_samples: int, n_classes: int) -> int:
        """Rows of a draw, given as their number or as a share of all; there must be one for every class."""
        if isinstance(self.train_size, str):
            return max(2, n_classes, min(AUTO_ROWS, round(AUTO_SHARE * n_samples)))
        if not isinstance(self.train_size, Integral):
            return max(2, n_classes, round(self.train_size * n_samples))
        if self.train_size < n_classes:
            raise ValueError(f"train_size={self.train_size} rows cannot hold {n_classes} classes: raise it")
        return int(self.train_size)

    def note(self, n_samples: int) -> tuple[str, ...]:
        """What the reason says where draws are of fewer rows than half, which nobody asked for."""
        if not isinstance(self.train_size, str) or n_samples * AUTO_SHARE <= AUTO_ROWS:
            return ()
        return (f"each step learned from {AUTO_ROWS} of {n_samples} rows, drawn at random (train_size)",)


@dataclass(frozen=True)
class Splitter:
    """Draws splits of labeled rows.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Classes, as 0, 1, ...
    n_classes : int
    n_rows : int
        Size of the draws, T in the paper.
    one_vs_all : bool
        One labeling per class, instead of a single one.
    out_of_bag : bool
        Test on rows that were not drawn to learn from, no more than were, instead of on a second draw.
    balanced : bool
        Classes count the same in the error, whatever their size.
    """

    codes: np.ndarray
    n_classes: int
    n_rows: int
    one_vs_all: bool
    out_of_bag: bool
    balanced: bool

    def draw(self, rng: np.random.RandomState) -> Split:
        """Two draws with replacement, independent of each other."""
        train, train_count = np.unique(self._draw_rows_covering_classes(rng), return_counts=True)
        test, test_count = np.unique(self._draw_test(train, rng), return_counts=True)
        return self.split(train, test, train_count, test_count)

    def split(self, train: np.ndarray, test: np.ndarray, train_count: np.ndarray, test_count: np.ndarray) -> Split:
        """The split of these rows, each of which counts that often."""
        test_labels = self._labelings(test)
        weight = np.stack([_weigh(labels, test_count, self.balanced) for labels in test_labels])
        n_classes = 2 if self.one_vs_all else self.n_classes
        return Split(train, test, train_count, self._labelings(train), test_labels, weight, n_classes)

    def _draw_test(self, train: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        if self.out_of_bag:
            remaining = np.setdiff1d(np.arange(self.codes.size), train)
            if remaining.size:
                return rng.permutation(remaining)[: self.n_rows]
        return rng.randint(self.codes.size, size=self.n_rows)

    def _draw_rows_covering_classes(self, rng: np.random.RandomState) -> np.ndarray:
        """Uniform draw of rows; a row of each class that was missed replaces one whose class has others."""
        drawn = rng.randint(self.codes.size, size=self.n_rows)
        count = np.bincount(self.codes[drawn], minlength=self.n_classes)
        for code in np.flatnonzero(count == 0).tolist():
            place = rng.choice(np.flatnonzero(count[self.codes[drawn]] > 1))
            count[self.codes[drawn[place]]] -= 1
            drawn[place] = rng.choice(np.flatnonzero(self.codes == code))
            count[code] = 1
        return drawn

    def _labelings(self, rows: np.ndarray) -> np.ndarray:
        codes = self.codes[rows]
        if self.one_vs_all:
            return (codes == np.arange(self.n_classes)[:, None]).astype(int)
        return codes[None]


def _weigh(labels: np.ndarray, count: np.ndarray, balanced: bool) -> np.ndarray:
    if balanced:
        present, place = np.unique(labels, return_inverse=True)
        return count / np.bincount(place, count)[place] / present.size
    return count / count.sum()


@dataclass(frozen=True)
class Energy:
    """The energy and ``E[g C]``, estimated on batches of subsets: of columns, or of groups of them."""

    table: SubsetTable
    splitter: Splitter
    learner: SubsetLearner
    subset_size: int
    n_subsets: int
    groups: ColumnGroups | None = None

    @property
    def n_candidates(self) -> int:
        """How many columns, or groups, subsets are drawn from."""
        return self.table.n_columns if self.groups is None else self.groups.n_groups

    def evaluate(self, probability: np.ndarray, rng: np.random.RandomState) -> tuple[float, np.ndarray]:
        """Energy and ``E[(g - b) C]`` with a baseline b, estimated on one batch of subsets and one split of rows."""
        subsets = draw_subsets(probability, self.n_subsets, self.subset_size, rng)
        errors = self.errors(subsets, self.splitter.draw(rng), rng)
        return float(errors.mean()), count_errors(subsets, subtract_baseline(errors), probability.size)

    def errors(self, subsets: np.ndarray, split: Split, rng: np.random.RandomState) -> np.ndarray:
        """Error of each subset on one split."""
        seed = int(rng.randint(np.iinfo(np.int32).max - len(subsets)))
        if self.groups is None:
            return split.errors(self.learner.predict_split(self.table, subsets, split, seed))
        errors = np.empty(len(subsets))
        for places, columns in self.groups.expand(subsets):
            errors[places] = split.errors(self.learner.predict_split(self.table, columns, split, seed))
        return errors

    def initial_learning_rate(self, seed: int) -> float:
        """A first step whose random part changes log P by a standard deviation of ``_FIRST_NOISE``.

        At the uniform probability, the mean of error times counts over B subsets of k out of D features has a standard
        deviation of s sqrt(k / (D B)) from the draw alone, with s that of the errors.
        """
        n_features, rng = self.n_candidates, np.random.RandomState(seed)
        subsets = draw_subsets(np.full(n_features, 1.0 / n_features), self.n_subsets, self.subset_size, rng)
        split = self.splitter.draw(rng)
        deviation = max(self.errors(subsets, split, rng).std(), 0.5 / split.test.size)
        return float(_FIRST_NOISE * np.sqrt(n_features * self.n_subsets / self.subset_size) / deviation)

    def with_permuted_labels(self, seed: int) -> Energy:
        """The same on labels that no feature can predict."""
        codes = np.random.RandomState(seed).permutation(self.splitter.codes)
        return replace(self, splitter=replace(self.splitter, codes=codes))


class ExactEnergy:
    """The energy and ``E[g C]`` summed over every possible draw; the errors are measured once, over a few splits."""

    def __init__(self, energy: Energy, rng: np.random.RandomState) -> None:
        n_features, size = energy.n_candidates, energy.subset_size
        n_draws = count_draws(n_features, size)
        if n_draws > _MAX_DRAWS:
            noun = "features" if energy.groups is None else "groups"
            raise ValueError(
                f"method='exact' would look at {n_draws:.2g} draws of {size} out of {n_features} {noun}, more than "
                f"{_MAX_DRAWS}: lower subset_size, preselect features, or use another method"
            )
        self.draws: Draws = enumerate_draws(n_features, size)
        padded = np.array([(members + members[:1] * size)[:size] for members in self.draws.sets])
        splits = [energy.splitter.draw(rng) for _ in range(_EXACT_SPLITS)]
        self.errors = np.zeros(len(padded))
        for part in blocks(len(padded), _BLOCK_SETS):
            self.errors[part] = np.mean([energy.errors(padded[part], split, rng) for split in splits], axis=0)
        self.n_features = n_features

    def evaluate(self, probability: np.ndarray, rng: np.random.RandomState) -> tuple[float, np.ndarray]:
        """Energy and ``E[g C]``."""
        return exact_energy(self.draws, self.errors, probability)

    def initial_learning_rate(self, seed: int) -> float:
        """A first step that changes log P by ``_FIRST_EXACT_CHANGE`` at most."""
        uniform = np.full(self.n_features, 1.0 / self.n_features)
        _, counted = exact_energy(self.draws, self.errors, uniform)
        largest = np.abs(natural_direction(counted, uniform)).max() / self.n_features
        return _FIRST_EXACT_CHANGE / max(largest, 1e-12)
