r"""Groups of columns that stand for all columns, one group at a time: column-subset selection by groups.

Notation as in :mod:`tamis.kernels.subset.column_subset`: ``Z`` holds the centered columns, ``P`` projects off the
groups chosen so far and ``r_j = P z_j`` is the residual of column j. ``Q_g`` is an orthonormal basis of the residuals
of group g; it has fewer columns than the group where some are constant, copies of others or combinations of chosen
ones.

*Greedy reconstruction* adds the group that explains the most variance of all columns per direction,

    gain_g = || Q_g' Z ||_F^2 / rank(Q_g) = trace(Q_g' K Q_g) / rank(Q_g),    K = P Z Z' P.

A random group of m columns explains m times what a random column does, so that the sum over directions would favor
large groups whatever they hold; the ratio of gain to cost is the rule of budgeted greedy search.

*Pivoted QR* adds the group with the largest mean square residual over the columns that vary,

    || P Z_g ||_F^2 / m_g,

the squared Frobenius norm of the residual block per column, so that copies within a group neither help nor harm it.

Residuals are deflated explicitly, ``r_j <- r_j - Q (Q' r_j)``: their error stays of the order of the rounding of the
column itself, where a recurrence of squared norms would lose twice as many digits. Deflated along with them are
``K r_j``, from which the gains of all groups follow: with ``U diag(s) V'`` the singular value decomposition of the
residuals of a group, columns divided by their original norms, ``Q_g = U`` and

    K Q_g = (K r_j / ||z_j||)_{j in g} V diag(1 / s).

The error of these gains grows as ``1 / s``; all groups that could be the best within it are computed from the table
before one is chosen. A direction counts while ``s^2`` exceeds the share of a column that is rounding error.

Cost of a step that adds r directions: some products of the table with r vectors, and for greedy reconstruction a
singular value decomposition per group, O(n sum_g m_g^2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks
from tamis.kernels.arrays.tolerances import PRODUCT_ERROR
from tamis.kernels.subset.column_subset import Basis, first_largest, gram_of_rows, precision_of


def group_of_each(members: Sequence[np.ndarray]) -> np.ndarray:
    """The group of every column, given the columns of every group."""
    codes = np.empty(sum(group.size for group in members), dtype=np.int64)
    for group, columns in enumerate(members):
        codes[columns] = group
    return codes


class GroupStep(NamedTuple):
    """A chosen group."""

    group: int
    criterion: float
    n_directions: int  # dimensions that its columns add to the span of the groups chosen before


class GroupColumnSearch(ABC):
    """Forward search by a criterion of the residuals of groups of columns; iterate for :class:`GroupStep`.

    It ends when every group that varies is chosen or lies in the span of the chosen ones.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Centered columns, or others with the same products and fewer rows.
    norm2 : ndarray of shape (n_columns,)
        Their squared norms; zero for constant columns.
    members : sequence of ndarray
        Columns of every group.
    """

    def __init__(self, Z: np.ndarray, norm2: np.ndarray, members: Sequence[np.ndarray]) -> None:
        self.members = members
        self.norm2 = norm2
        self.precision = precision_of(Z)
        self.residuals = np.array(Z.T, dtype=float, order="C")  # rows r_j
        self.basis = Basis(Z.shape[0])
        self.remaining = np.array([bool(norm2[group].any()) for group in members])
        self._scale = np.divide(1.0, np.sqrt(norm2), out=np.zeros(norm2.size), where=norm2 > 0)  # 1 / ||z_j||

    @abstractmethod
    def _choose(self) -> tuple[int, float] | None:
        """The best remaining group and its criterion; None if there is none."""

    def __iter__(self) -> Iterator[GroupStep]:
        while (choice := self._choose()) is not None:
            group, criterion = choice
            Q = self._directions(group)
            self.remaining[group] = False
            for q in Q.T:
                self.basis.append(q)
            self._deflate(Q)
            yield GroupStep(group, criterion, Q.shape[1])

    def _directions(self, group: int) -> np.ndarray:
        """``Q_g``, of shape (n_rows, rank), for a group of which something remains."""
        columns = self.members[group]
        _, values, directions = np.linalg.svd(self.residuals[columns] * self._scale[columns, None], full_matrices=False)
        rank = max(1, np.count_nonzero(values**2 > self.precision.redundant))
        return self.basis.residual(directions[:rank].T)  # rounding errors were divided by small singular values

    def _deflate(self, Q: np.ndarray) -> None:
        """Project directions out of all residuals."""
        self.residuals -= (self.residuals @ Q) @ Q.T


class GroupReconstructionSearch(GroupColumnSearch):
    """Greedy reconstruction: the criterion is the variance of all columns that a group explains per direction added."""

    def __init__(self, Z: np.ndarray, norm2: np.ndarray, members: Sequence[np.ndarray]) -> None:
        super().__init__(Z, norm2, members)
        gram = gram_of_rows(self.residuals.T)
        self._images = self.residuals @ gram  # rows K r_j
        self._image_error = PRODUCT_ERROR.of(self.residuals) * float(np.linalg.norm(gram))  # of K r_j / ||z_j||
        sizes = np.array([group.size for group in members])
        self._same_size = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]

    def best_group(self) -> int | None:
        """The group that the next step would choose."""
        choice = self._choose()
        return None if choice is None else choice[0]

    def _choose(self) -> tuple[int, float] | None:
        gains, errors = self._estimate_gains()
        if not self.remaining.any():
            return None
        near = np.flatnonzero(gains + errors >= (1 - self.precision.tie) * (gains - errors).max())
        exact = np.array([self._gain(group) for group in near.tolist()])
        place = first_largest(exact, self.precision.tie)
        return int(near[place]), float(exact[place])

    def _gain(self, group: int) -> float:
        """Gain of one group, from the residuals of all columns."""
        Q = self._directions(group)
        return float(np.sum((self.residuals @ Q) ** 2)) / Q.shape[1]

    def _estimate_gains(self) -> tuple[np.ndarray, np.ndarray]:
        """Gains of all groups and bounds on their errors; groups of which nothing remains leave the search."""
        gains, errors = np.full(len(self.members), -np.inf), np.zeros(len(self.members))
        for same_size in self._same_size:
            groups = same_size[self.remaining[same_size]]
            entries = self.members[same_size[0]].size * self.residuals.shape[1]
            for part in blocks(groups.size, CACHE_ENTRIES // entries):
                some = groups[part]
                gains[some], errors[some] = self._estimate_some(np.array([self.members[g] for g in some]))
        self.remaining &= gains > -np.inf
        return gains, errors

    def _estimate_some(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for groups of one size, whose columns are the rows of ``columns``; -inf if nothing remains."""
        scale = self._scale[columns][:, :, None]
        V, values, directions = _singular_vectors(self.residuals[columns] * scale)
        spans = values**2 > self.precision.redundant
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=spans)
        # q_i' K q_i = sum_j V_ji q_i' (K r_j / ||z_j||) / s_i
        forms = np.sum(V * ((self._images[columns] * scale) @ np.swapaxes(directions, 1, 2)), axis=1) * inverse
        rank = spans.sum(axis=1)
        gains = np.divide(forms.sum(axis=1), rank, out=np.full(len(columns), -np.inf), where=rank > 0)
        return gains, self._image_error * inverse.sum(axis=1) / np.maximum(rank, 1)

    def _deflate(self, Q: np.ndarray) -> None:
        products = self.residuals @ Q
        KQ = self.residuals.T @ products  # K is the sum of all r_j r_j'
        self._images -= products @ KQ.T
        self._images -= (self._images @ Q) @ Q.T
        self.residuals -= products @ Q.T


def _singular_vectors(stack: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thin singular value decompositions of stacked matrices; of single rows, which most groups may be, at once."""
    if stack.shape[1] > 1:
        return np.linalg.svd(stack, full_matrices=False)
    values = np.linalg.norm(stack, axis=2)
    directions = np.divide(stack, values[:, :, None], out=np.zeros_like(stack), where=values[:, :, None] > 0)
    return np.ones((len(stack), 1, 1)), values, directions


class GroupPivotedSearch(GroupColumnSearch):
    """Pivoted QR: the criterion is the mean square of the residuals of the columns of a group that vary.

    Parameters
    ----------
    Z, norm2, members : as for every search
    first : int or None
        First group, where columns have the same norm.
    """

    def __init__(
        self, Z: np.ndarray, norm2: np.ndarray, members: Sequence[np.ndarray], *, first: int | None = None
    ) -> None:
        super().__init__(Z, norm2, members)
        self._first = first
        self._codes = group_of_each(members)
        self._n_varying = np.maximum(self._sum_members(norm2 > 0), 1)

    def _sum_members(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self._codes, weights=values, minlength=len(self.members))

    def mean_squares(self) -> np.ndarray:
        """The criterion of every group, chosen ones included."""
        norm2 = np.einsum("ij,ij->i", self.residuals, self.residuals)
        norm2[norm2 <= self.precision.redundant * self.norm2] = 0.0
        return self._sum_members(norm2) / self._n_varying

    def _choose(self) -> tuple[int, float] | None:
        criteria = self.mean_squares()
        self.remaining &= criteria > 0
        if not self.remaining.any():
            return None
        if self._first is not None and not self.basis.size:
            return self._first, float(criteria[self._first])
        group = first_largest(np.where(self.remaining, criteria, -np.inf), self.precision.tie)
        return group, float(criteria[group])
