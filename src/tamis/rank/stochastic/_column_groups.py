"""Groups of columns, and subsets of groups as subsets of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np


class ColumnGroups:
    """Columns of every group.

    Parameters
    ----------
    members : sequence of ndarray
        Columns of each group.

    Attributes
    ----------
    columns : ndarray
        Those of all groups, one group after another.
    sizes : ndarray of shape (n_groups,)
        How many each has.
    """

    def __init__(self, members: Sequence[np.ndarray]) -> None:
        self.columns = np.concatenate(members)
        self.sizes = np.array([each.size for each in members])
        self._starts = np.cumsum(self.sizes) - self.sizes

    @property
    def n_groups(self) -> int:
        """How many there are."""
        return self.sizes.size

    def expand(self, subsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Subsets of groups as subsets of columns, all of the same width at a time.

        Groups differ in size. One rectangle for all subsets would have to be filled up with repeated columns: these
        would cost time, and change how a learner solves its problem where that depends on the number of columns.

        Parameters
        ----------
        subsets : ndarray of shape (n_subsets, subset_size)
            Groups. One that is drawn again adds its first column only, which a learner takes as the repeat that it is.

        Yields
        ------
        places : ndarray
            Subsets of one width.
        columns : ndarray of shape (n_places, width)
            Their columns.
        """
        groups = np.sort(subsets, axis=1)
        is_repeat = np.zeros(groups.shape, dtype=bool)
        is_repeat[:, 1:] = groups[:, 1:] == groups[:, :-1]
        n_taken = np.where(is_repeat, 1, self.sizes[groups])
        ends = np.cumsum(n_taken).reshape(n_taken.shape)  # in the columns of all subsets, one after another
        offset = np.repeat((self._starts[groups] - ends + n_taken).ravel(), n_taken.ravel())
        columns = self.columns[offset + np.arange(offset.size)]
        widths = n_taken.sum(axis=1)
        for width in np.unique(widths).tolist():
            places = np.flatnonzero(widths == width)
            yield places, columns[ends[places, -1:] - width + np.arange(width)]
