"""Orthogonal least squares by forward search over groups of columns, all of which enter together.

Criterion. ``Z_g`` holds the centered columns of group g, ``Y`` the centered targets, ``P`` the projector onto the
orthogonal complement of the groups selected so far and ``U`` an orthonormal basis of the columns of ``P Y``. What group
g explains beyond them is

    1 - Lambda_g,    Lambda_g = det(I - U' H_g U),    H_g the projector onto the columns of P Z_g,

Wilks' lambda; for one target the squared multiple correlation of ``P y`` with ``P Z_g``, and for groups of one column
the criterion of :mod:`tamis.kernels.solvers.orthogonal_search`. Groups of more columns explain more by chance. A step
therefore selects the group that a random group of as many columns would least likely beat: the smallest tail of the law
of ``1 - Lambda`` (:func:`tamis.kernels.probe.law.probe_survival`); of tails too small to be told apart, the largest
``1 - Lambda``. With groups of one size both orders are the same.

Recurrences. With ``Q`` orthonormal directions of the selected group and ``T = Z' Q``, one pass over the table,

    N_g = Z_g' P Y      N_g <- N_g - T_g (Q' Y)
    A_g = Z_g' P Z_g    A_g <- A_g - T_g T_g'

and ``U' H_g U = M_g' M_g`` with ``M_g = A_g^(-1/2) N_g W``, ``W`` such that ``U = P Y W``. Groups of one size are
stacked, so that a step is a few batched products. Cost of a step: one product of the table with the directions, and
O(sum of m_g^3) for groups of m_g columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tamis.kernels.arrays.columns import Columns, to_numpy
from tamis.kernels.arrays.tolerances import DEPENDENT, EXPLAINED, REDUNDANT, TIE, Tolerance
from tamis.kernels.probe.law import probe_survival, single_column_cos2

# Eigenvalue of the Gram matrix of a group's unit columns below which a direction is rounding. Columns are taken as long
# as 1e-10 of their squared norm remains (REDUNDANT); ten nearly dependent ones may have an eigenvalue far below that.
_MIN_EIGENVALUE = Tolerance(1e-13, 1e-5)


@dataclass(frozen=True)
class ColumnDirection:
    """One column of a selected group and the direction that it adds."""

    feature: int  # the column
    q: np.ndarray  # unit vector of shape (n_samples,)
    loading: np.ndarray  # z = sum_i loading_i q_i, this direction last
    projection: np.ndarray  # q' Y, one entry per target


@dataclass(frozen=True)
class GroupDirection:
    """One step: the group, the directions that its columns add, and what they explain."""

    feature: int  # the group
    cos2: float  # what it explains, 1 - Lambda
    n_candidates: int  # groups that remained before this step, the selected one included
    n_targets: int  # rank of P Y before this step
    dof: float  # dimension of the space in which the step was judged
    directions: tuple[ColumnDirection, ...]  # as many as the rank of P Z_g
    redundant: np.ndarray  # groups that lie in the span of the selected ones since this step
    orthogonality_loss: float  # largest |cosine| between its directions and the earlier ones


@dataclass
class _SameSize:
    """The recurrences of all groups of one size, stacked."""

    groups: np.ndarray  # of shape (G,)
    columns: np.ndarray  # of shape (G, m)
    num: np.ndarray  # N_g, of shape (G, m, n_targets), for columns of unit norm
    gram: np.ndarray  # A_g, of shape (G, m, m)

    def project_out(self, T: np.ndarray, projection: np.ndarray) -> None:
        """Both recurrences for the directions Q of a step, given T = Z' Q and Q' Y."""
        t = T[self.columns]
        self.num -= t @ projection
        self.gram -= t @ np.swapaxes(t, 1, 2)


class GroupSearch:
    """Iterate over the groups of columns that best explain ``Y``, one at a time.

    Parameters
    ----------
    columns : Columns
        Of all groups.
    members : sequence of ndarray
        Columns of every group.
    Y : ndarray of shape (n_samples, n_targets)
        Targets; centered and weighted here.
    project_candidates : bool
        True: Gram-Schmidt. False: groups are judged by their columns as they came (orthogonal matching pursuit).
    tol : float or None
        A column is redundant once its squared norm falls below this share of the original.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_targets)
        ``P Y``, the residual of the targets.
    basis : list of ndarray
        Directions of the selected groups, after that of the intercept.
    remaining : ndarray of bool
        Groups that are neither selected nor redundant.
    """

    def __init__(
        self,
        columns: Columns,
        members: Sequence[np.ndarray],
        Y: np.ndarray,
        *,
        project_candidates: bool = True,
        tol: float | None = None,
    ) -> None:
        self.columns = columns
        self.members = members
        self.project_candidates = project_candidates
        table = getattr(columns, "X", Y)  # whose precision is that of the products
        self.tol = REDUNDANT.of(table) if tol is None else tol
        self._tie, self._min_eigenvalue = TIE.of(table), _MIN_EIGENVALUE.of(table)
        self.Y = to_numpy(columns.center_rows(columns.as_array(Y)))
        self._explained = EXPLAINED.of(table) * max(float(np.sum(self.Y**2)), np.finfo(float).tiny)
        self.basis: list[np.ndarray] = []
        if columns.fit_intercept:
            self.basis.append(to_numpy(columns.sqrt_weight) / columns.total**0.5)
        self._n_fixed = len(self.basis)
        norm2 = to_numpy(columns.norm2)
        self._scale = np.where(norm2 > 0, 1.0 / np.sqrt(np.where(norm2 > 0, norm2, 1.0)), 0.0)
        self.remaining = np.array([bool((norm2[group] > 0).any()) for group in members])
        num = to_numpy(columns.dot(columns.as_array(self.Y))) * self._scale[:, None]
        self._stacks = [self._stack(size, num) for size in sorted({group.size for group in members})]
        self._initial = [stack.gram.copy() for stack in self._stacks]

    def _stack(self, size: int, num: np.ndarray) -> _SameSize:
        """The groups of one size at the start; columns are scaled to unit norm, constant ones stay zero."""
        groups = np.array([g for g, group in enumerate(self.members) if group.size == size])
        columns = np.array([self.members[g] for g in groups])
        gram = np.empty((groups.size, size, size))
        for place, group in enumerate(columns):
            Z = to_numpy(self.columns.columns(group)) * self._scale[group]
            gram[place] = Z.T @ Z
        return _SameSize(groups, columns, num[columns], gram)

    @property
    def dof(self) -> float:
        """Dimension of the orthogonal complement of what was selected."""
        return self.columns.total - len(self.basis) - self.columns.n_projected

    def __iter__(self) -> Iterator[GroupDirection]:
        while (whitener := self._whitener()) is not None and self.remaining.any():
            explained, survival, rank = self._judge(whitener)
            group = _first_best(np.where(self.remaining, survival, np.inf), explained, rank, self._tie)
            if (step := self._accept(group, whitener)) is not None:
                yield step

    def follow(self, order: Iterable[int]) -> Iterator[GroupDirection]:
        """Take the steps of a given order; ends early where a group adds nothing or Y is explained."""
        for group in order:
            whitener = self._whitener()
            if whitener is None or not self.remaining[group]:
                return
            if (step := self._accept(int(group), whitener)) is None:
                return
            yield step

    def judge(self) -> tuple[np.ndarray, np.ndarray]:
        """``1 - Lambda`` of every group now, and the chance that a random group of as many columns explains more."""
        whitener = self._whitener()
        if whitener is None:
            return np.zeros(len(self.members)), np.ones(len(self.members))
        return self._judge(whitener)[:2]

    def select(self, group: int) -> bool:
        """Project one group out of everything; False if it adds nothing or Y is explained."""
        return next(self.follow([group]), None) is not None

    def update_candidates(self) -> None:
        """Nothing waits to be projected: :meth:`select` does it at once."""

    def remaining_columns(self) -> np.ndarray:
        """Columns of the groups that are neither selected nor redundant."""
        remaining = [self.members[g] for g in np.flatnonzero(self.remaining).tolist()]
        return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *remaining]))

    def count_reaching(self, bases: Sequence[np.ndarray], explained: float, n_columns: int = 1) -> np.ndarray:
        """How many remaining groups do at least as well on other targets as one of ``n_columns`` on ``Y``.

        Groups of different sizes are compared by their survivals.
        """
        counts = np.empty(len(bases), dtype=int)
        for b, U in enumerate(bases):
            level = probe_survival(explained, self.dof, U.shape[1], n_columns)
            counts[b] = np.count_nonzero(self.survivals_against(U)[self.remaining] <= level * (1 + 1e-9))
        return counts

    def explained(self) -> np.ndarray:
        """What every group explains now, as the squared cosine of a single column that chance would beat as often."""
        whitener = self._whitener()
        if whitener is None:
            return np.zeros(len(self.members))
        explained, _, rank = self._judge(whitener)
        return single_column_cos2(explained, self.dof, whitener.shape[1], rank)

    def target_basis(self) -> np.ndarray:
        """Orthonormal basis of the columns of ``P Y``; without columns if Y is explained."""
        whitener = self._whitener()
        return self.Y[:, :0] if whitener is None else self.Y @ whitener

    def explained_of(self, bases: Sequence[np.ndarray]) -> np.ndarray:
        """The same for each of other targets, orthonormal and off the basis."""
        product = to_numpy(self.columns.dot(self.columns.as_array(np.concatenate(bases, axis=1))))
        product = (product * self._scale[:, None]).reshape(len(product), len(bases), -1)
        nums = ([product[stack.columns, b] for stack in self._stacks] for b in range(len(bases)))
        judged = [self._survival(num, product.shape[2]) for num in nums]
        explained, _, rank = (np.array(each) for each in zip(*judged, strict=True))
        return single_column_cos2(explained, self.dof, product.shape[2], rank)

    def survivals_against(self, U: np.ndarray) -> np.ndarray:
        """That chance of every remaining group, for other orthonormal targets in the same space; 1 for the others."""
        product = to_numpy(self.columns.dot(self.columns.as_array(U))) * self._scale[:, None]
        nums = [product[stack.columns] for stack in self._stacks]
        return self._survival(nums, U.shape[1])[1]

    def _judge(self, whitener: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._survival([stack.num @ whitener for stack in self._stacks], whitener.shape[1])

    def _survival(self, nums: Sequence[np.ndarray], n_targets: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What every group explains of some targets, the chance of a random one to explain more, and its rank."""
        explained, survival, ranks = (np.full(len(self.members), value) for value in (0.0, 1.0, 0.0))
        for stack, num, initial in zip(self._stacks, nums, self._initial, strict=True):
            gram = stack.gram if self.project_candidates else initial
            wilks, rank = _wilks(gram, num, self._min_eigenvalue)
            explained[stack.groups] = 1.0 - wilks
            survival[stack.groups] = probe_survival(1.0 - wilks, self.dof, n_targets, rank)
            ranks[stack.groups] = rank
        explained[~self.remaining], survival[~self.remaining] = 0.0, 1.0
        return explained, survival, ranks

    def _whitener(self) -> np.ndarray | None:
        """``(P Y) whitener`` is an orthonormal basis of the columns of P Y; None if Y is explained."""
        _, values, vectors = np.linalg.svd(np.linalg.qr(self.Y, mode="r"))
        unexplained = values**2 > max(self._explained, DEPENDENT**2 * values[0] ** 2)
        return vectors.T[:, unexplained] / values[unexplained] if unexplained.any() else None

    def _accept(self, group: int, whitener: np.ndarray) -> GroupDirection | None:
        """Project the columns of a group out of everything; None if they add no direction."""
        n_candidates, dof, start = int(self.remaining.sum()), self.dof, len(self.basis)
        U = self.Y @ whitener
        self.remaining[group] = False
        directions = tuple(self._add_columns(self.members[group]))
        if not directions:
            return None
        Q = np.stack(self.basis[start:], axis=1)
        T = to_numpy(self.columns.dot(self.columns.as_array(Q))) * self._scale[:, None]
        projection = np.array([direction.projection for direction in directions])
        for stack in self._stacks:
            stack.project_out(T, projection)
        redundant = self._find_redundant()
        shared = Q.T @ U
        wilks = np.linalg.det(np.eye(U.shape[1]) - shared.T @ shared)
        explained = float(np.clip(1.0 - wilks, 0.0, 1.0))
        earlier = np.array(self.basis[:start]).reshape(start, len(Q))
        loss = float(np.abs(earlier @ Q).max(initial=0.0))
        return GroupDirection(group, explained, n_candidates, U.shape[1], dof, directions, redundant, loss)

    def _add_columns(self, group: np.ndarray) -> Iterator[ColumnDirection]:
        """Directions of the columns that the basis and those before them do not span."""
        Z = to_numpy(self.columns.columns(group))
        for column, z in zip(group.tolist(), Z.T, strict=True):
            Q = np.array(self.basis).reshape(len(self.basis), z.size)
            loading, residual = np.zeros(len(Q)), z
            for _ in range(2):  # the second time takes out what rounding left
                coordinates = Q @ residual
                residual, loading = residual - coordinates @ Q, loading + coordinates
            norm2 = float(residual @ residual)
            if norm2 <= self.tol * float(z @ z):
                continue
            q = residual / norm2**0.5
            projection = q @ self.Y
            self.basis.append(q)
            self.Y = self.Y - np.outer(q, projection)
            yield ColumnDirection(column, q, np.append(loading[self._n_fixed :], norm2**0.5), projection)

    def _find_redundant(self) -> np.ndarray:
        """Groups of which nothing remains; they leave the search."""
        spent_groups = []
        for stack, initial in zip(self._stacks, self._initial, strict=True):
            share = np.diagonal(stack.gram, axis1=1, axis2=2)
            is_spent = (share <= self.tol * np.diagonal(initial, axis1=1, axis2=2)).all(axis=1)
            spent_groups.extend(stack.groups[is_spent].tolist())
        redundant = np.array(sorted(g for g in spent_groups if self.remaining[g]), dtype=np.int64)
        self.remaining[redundant] = False
        return redundant


def _wilks(gram: np.ndarray, num: np.ndarray, min_eigenvalue: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilks' lambda of stacked groups, ``det(I - N' A^- N)``, and the rank of each."""
    values, vectors = np.linalg.eigh(gram)
    spans = values > min_eigenvalue
    inverse_root = np.where(spans, 1.0 / np.sqrt(np.where(spans, values, 1.0)), 0.0)
    M = inverse_root[:, :, None] * (np.swapaxes(vectors, 1, 2) @ num)
    n_targets = num.shape[2]
    if n_targets == 1:
        wilks = 1.0 - np.sum(M[:, :, 0] ** 2, axis=1)
    else:
        wilks = np.linalg.det(np.eye(n_targets) - np.swapaxes(M, 1, 2) @ M)
    return np.clip(wilks, 0.0, 1.0), spans.sum(axis=1)


def _first_best(survival: np.ndarray, explained: np.ndarray, rank: np.ndarray, tie: float) -> int:
    """The smallest survival; where several round to zero, the most explained; of tied groups the first.

    Small survivals magnify the rounding of what is explained: groups of one rank are tied by the latter.
    """
    near = np.flatnonzero(survival == survival.min())
    best = near[np.argmax(explained[near])]
    is_tied = (rank == rank[best]) & (explained >= explained[best] * (1 - tie)) & np.isfinite(survival)
    return int(np.flatnonzero(is_tied)[0])
