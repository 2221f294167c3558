r"""Rows to learn from and rows to be judged on: the subsets :math:`T_1` and :math:`T_2` of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np


@dataclass(frozen=True)
class Split:
    """Rows to learn from and to be judged on, with one or more labelings of them.

    Attributes
    ----------
    train, test : ndarray
        Places of rows, each once.
    train_count : ndarray of shape (n_train,)
        How often each row to learn from was drawn.
    train_labels : ndarray of shape (n_labelings, n_train)
    test_labels : ndarray of shape (n_labelings, n_test)
    test_weight : ndarray of shape (n_labelings, n_test)
        What a wrong label counts; sums to one.
    n_classes : int
    """

    train: np.ndarray
    test: np.ndarray
    train_count: np.ndarray
    train_labels: np.ndarray
    test_labels: np.ndarray
    test_weight: np.ndarray
    n_classes: int

    def errors(self, predicted: np.ndarray) -> np.ndarray:
        """Mean error over the labelings, for each subset; ``predicted`` has shape (n_subsets, n_labelings, n_test)."""
        wrong = predicted != self.test_labels
        return np.einsum("blm,lm->b", wrong, self.test_weight) / len(self.test_labels)


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
        Judge on rows that were not drawn to learn from, no more than were, instead of on a second draw.
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
        train, train_count = np.unique(self._draw_all_classes(rng), return_counts=True)
        test, test_count = np.unique(self._judges(train, rng), return_counts=True)
        return self.split(train, test, train_count, test_count)

    def split(self, train: np.ndarray, test: np.ndarray, train_count: np.ndarray, test_count: np.ndarray) -> Split:
        """The split of these rows, each of which counts that often."""
        test_labels = self._labelings(test)
        weight = np.stack([_weigh(labels, test_count, self.balanced) for labels in test_labels])
        n_classes = 2 if self.one_vs_all else self.n_classes
        return Split(train, test, train_count, self._labelings(train), test_labels, weight, n_classes)

    def _judges(self, train: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        if self.out_of_bag:
            left = np.setdiff1d(np.arange(self.codes.size), train)
            if left.size:
                return rng.permutation(left)[: self.n_rows]
        return rng.randint(self.codes.size, size=self.n_rows)

    def _draw_all_classes(self, rng: np.random.RandomState) -> np.ndarray:
        """Rows drawn evenly; a row of each class that was missed takes the place of one whose class has others."""
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


def rows_per_draw(train_size: float, n_samples: int, n_classes: int) -> int:
    """Rows of a draw, given as their number or as a share of all; every class must find a place."""
    if not isinstance(train_size, Integral):
        return max(2, n_classes, round(train_size * n_samples))
    if train_size < n_classes:
        raise ValueError(f"train_size={train_size} rows cannot hold {n_classes} classes: raise it")
    return int(train_size)
