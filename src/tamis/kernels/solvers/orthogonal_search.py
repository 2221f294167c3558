"""Orthogonal least squares by forward search: Gram-Schmidt ranking (Chen et al. 1989) and orthogonal matching pursuit.

Criterion. ``Z`` holds the centered candidates, ``Y`` the centered targets (one column for regression and two classes,
the class indicators otherwise), ``S`` the features selected so far and ``P`` the projector onto the orthogonal
complement of their span. A step selects the candidate that maximizes

    cos^2_j = || U' P z_j ||^2 / || P z_j ||^2,     U an orthonormal basis of the columns of P Y.

For one target that is ``cos^2(P z_j, P y)``, Eq. (1) of Stoppiglia et al. (2003) after projection. For several,
``1 - cos^2_j`` is the factor by which feature j lowers ``det(Y' P Y)``: stepwise discriminant analysis by Wilks'
lambda.

Recurrences. Candidates are never projected explicitly. With ``q = P z / || P z ||`` the unit direction of the selected
feature, ``t = Z' q`` is the one pass over the table that a step costs; the criterion of all candidates follows from it
by the recurrences of :mod:`tamis.kernels.solvers.projected_candidates`.

Blocks. One pass over the table for m steps, with exactly the same result:

1. working set: the few thousand candidates whose criterion is largest, the best of all candidates among them;
2. propose: m steps of the search in which only the working set competes;
3. update: one product ``Z' [q_1 .. q_m]`` holds the ``t`` of all m recurrences, for every candidate;
4. verify: step k is accepted if its feature is the best of *all* candidates, by their recurrences after the k - 1 steps
   accepted before; from the first step that is not, the block is rolled back. On an accelerator, where launching an
   operation takes longer than a short one itself, all steps of a block are verified together.

Every accepted step is therefore the one that the search over all candidates makes. The first step of a block always is
(its feature was the best of all when the working set was formed), so that each block makes progress.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tamis._sklearn import is_numpy_namespace
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import Array, Columns, to_numpy
from tamis.kernels.arrays.tolerances import DEPENDENT, EXPLAINED, PRODUCT_ERROR, REDUNDANT, Tolerance
from tamis.kernels.solvers.projected_candidates import (
    CandidatesAlongSteps,
    ProjectedCandidates,
    TieRounding,
    argmax_lowest_index,
)

# Relative difference of criteria below which candidates are tied before any projection: less than TIE, for the error of
# products is added in proportion to what projections have taken off a candidate, up to the largest tie.
_INITIAL_TIE = Tolerance(1e-11, 1e-6)
_WORKING_SET_ELEMENTS = 2**26  # entries of the columns of a working set
_BLOCK_ELEMENTS = 2**25  # entries of the product Z' [q_1 .. q_m]: 256 MB in double precision
_VERIFIED_ELEMENTS = 2**22  # entries of those t that are verified together, with a dozen arrays of their size


@dataclass(frozen=True)
class Direction:
    """One accepted step: the feature, its unit direction, and what it explains."""

    feature: int
    cos2: float
    n_candidates: int  # that remained before this step, the selected one included
    n_targets: int  # rank of P Y before this step
    q: Array  # unit vector of shape (n_samples,)
    loading: np.ndarray  # z = sum_i loading_i q_i, this direction last
    projection: np.ndarray  # q' Y, one entry per target
    redundant: np.ndarray  # candidates that lie in the span of the selected features since this step
    orthogonality_loss: float  # largest |cosine| between q and the earlier directions
    n_following: int = 0  # steps after this one that are accepted already


@dataclass(frozen=True)
class _Whitener:
    """``(P Y) matrix`` has orthonormal columns; ``smallest`` is the least singular value of P Y relative to ||Y||."""

    matrix: np.ndarray
    smallest: float

    @property
    def rank(self) -> int:
        """Of P Y."""
        return self.matrix.shape[1]


@dataclass(frozen=True)
class _Choice:
    """A feature to select, with its direction computed from its own column."""

    feature: int
    q: Array
    loading: np.ndarray
    projection: Array  # q' Y
    cos2: float
    n_targets: int


class OrthogonalSearch:
    """Iterate over the features that best explain ``Y``, one at a time.

    Parameters
    ----------
    columns : Columns
        The candidates.
    Y : ndarray of shape (n_samples, n_targets)
        Targets; centered and weighted here.
    project_candidates : bool
        True: Gram-Schmidt (orthogonal least squares). False: the criterion divides by the norm of the candidate as it
        came, ``|| z_j ||``, and not by that of its projection (orthogonal matching pursuit).
    orthogonalization : {"classical", "modified"}
        How the direction of a chosen feature is made orthogonal to the earlier ones; both are repeated once.
    tol : float or None
        A candidate is redundant once its squared norm falls below this share of the original.
    limit : int or None
        Most steps that will be asked for, if known: blocks are sized after it.
    working_set : int
        Candidates that compete for the steps of a block; at or above half of all, no blocks are used.

    Attributes
    ----------
    Y : array of shape (n_samples, n_targets)
        ``P Y``, the residual of the targets.
    basis : list of arrays of shape (n_samples,)
        Directions of the selected features, after that of the intercept.
    projected : ProjectedCandidates
        All candidates, after as many steps (see :meth:`update_candidates`).
    """

    def __init__(
        self,
        columns: Columns,
        Y: np.ndarray,
        *,
        project_candidates: bool = True,
        orthogonalization: str = "classical",
        tol: float | None = None,
        limit: int | None = None,
        working_set: int = 3072,
    ) -> None:
        self.columns = columns
        self.xp = columns.xp
        self.project_candidates = project_candidates
        self.orthogonalization = orthogonalization
        self._uses_blocks = columns.n_candidates > 2 * working_set
        self.working_set = min(working_set, max(16, _WORKING_SET_ELEMENTS // columns.n_samples))
        table = getattr(columns, "X", Y)  # whose precision is that of the products
        self._rounding = TieRounding(_INITIAL_TIE.of(table), PRODUCT_ERROR.of(table))
        self.tol = REDUNDANT.of(table) if tol is None else tol
        self.Y = columns.center_rows(columns.as_array(Y))
        self._target_size = max(float(self.xp.sum(self.Y**2)) ** 0.5, np.finfo(float).tiny)
        self._explained = EXPLAINED.of(table) * self._target_size**2
        self.limit = limit
        self._pending: list[_Choice] = []  # steps that the candidates have not been projected for
        self.basis: list[Array] = []
        if columns.fit_intercept:
            self.basis.append(columns.sqrt_weight / columns.total**0.5)
        self._n_fixed = len(self.basis)
        initial_norm2 = columns.norm2
        norm2 = self.xp.where(initial_norm2 > 0, initial_norm2, self.xp.full_like(initial_norm2, -np.inf))
        self.projected = ProjectedCandidates(columns.dot(self.Y), norm2, initial_norm2, self.tol * initial_norm2)

    def __iter__(self) -> Iterator[Direction]:
        yield from self._blocked_steps() if self._uses_blocks else self._plain_steps()

    def explained(self) -> Array:
        """The criterion cos^2 of every candidate now; zero for those that are excluded or redundant."""
        whitener = self._whitener()
        if whitener is None:
            return self.xp.zeros_like(self.columns.norm2)
        return self.xp.clip(self._criterion(self.projected, whitener), 0.0, 1.0)

    def _plain_steps(self) -> Iterator[Direction]:
        """One pass over the table per step."""
        everything = np.arange(self.columns.n_candidates)
        while (choice := self._choose(self.projected, everything, None)) is not None:
            yield self._accept(choice, self.columns.dot(choice.q[:, None])[:, 0])

    def _blocked_steps(self) -> Iterator[Direction]:
        """About one pass over the table per block of steps; blocks grow while nothing is rolled back."""
        size, n_done = 12, 0
        # on a device launching the operations of a proposal takes as long as the pass that it saves: few are made that
        # a rule may never ask for
        largest = 24 if is_numpy_namespace(self.xp) or self.limit is not None else 6
        # with a larger working set, proposing would cost as much as the pass that it saves
        max_working_set = min(self.columns.n_candidates // 4, _WORKING_SET_ELEMENTS // self.columns.n_samples)
        while True:
            n_wanted = size if self.limit is None else min(size, max(self.limit - n_done, 1))
            n_steps = max(1, min(n_wanted, _BLOCK_ELEMENTS // self.columns.n_candidates))
            n_accepted, n_proposed = yield from self._one_block(n_steps)
            n_done += n_accepted
            if n_proposed == 0:
                return
            if n_accepted < n_proposed:
                size = max(4, n_accepted)
                self.working_set = max(self.working_set, min(self.working_set * 3 // 2, max_working_set))
            else:
                size = min(largest, 2 * size)

    def _one_block(self, n_steps: int) -> Generator[Direction, None, tuple[int, int]]:
        """Yield the accepted steps of a block; return how many were accepted and how many proposed."""
        working_set = self._form_working_set()
        if working_set.size == 0:
            return 0, 0
        proposed = self._propose(working_set, n_steps)
        if not proposed:  # all of these are redundant, which the rounding of their norm2 had hidden
            for j in working_set.tolist():
                self.projected.exclude(j)
            return 0, 1  # as if one step had been rolled back: the search goes on with another working set
        t = self.columns.dot(self.xp.stack([choice.q for choice in proposed], axis=1))
        n_together = 1
        if not is_numpy_namespace(self.xp) and self.Y.shape[1] == 1:
            n_together = max(1, _VERIFIED_ELEMENTS // self.columns.n_candidates)
        for some in blocks(len(proposed), n_together):
            if some.start and self._best_of_all() != proposed[some.start].feature:
                return some.start, len(proposed)
            choices = proposed[some]
            if len(choices) == 1:
                yield self._accept(choices[0], t[:, some.start])
                continue
            accepted = self._accept_together(choices, t[:, some])
            yield from accepted
            if len(accepted) < len(choices):
                return some.start + len(accepted), len(proposed)
        return len(proposed), len(proposed)

    def _form_working_set(self) -> np.ndarray:
        """The candidates of the largest criterion, ascending; empty when the search has ended."""
        whitener = self._whitener()
        if whitener is None:
            return np.empty(0, dtype=np.int64)
        criterion = self._criterion(self.projected, whitener)
        first = self._best(self.projected, whitener, criterion)
        if first < 0:
            return np.empty(0, dtype=np.int64)
        values = to_numpy(criterion)
        n = min(self.working_set, values.size)
        largest = np.argpartition(values, values.size - n)[values.size - n :]
        return np.union1d(largest, first)  # of more tied candidates than n, the first must be among them

    def _propose(self, working_set: np.ndarray, n_steps: int) -> list[_Choice]:
        """Up to ``n_steps`` steps in which only the working set competes; the search stays where it is."""
        local = self.columns.columns(working_set)
        projected = self.projected.take(self.xp, self.columns.as_index(working_set))
        Y, n_basis = self.Y, len(self.basis)
        proposed: list[_Choice] = []
        while len(proposed) < n_steps and (choice := self._choose(projected, working_set, local)) is not None:
            place = int(np.searchsorted(working_set, choice.feature))
            projected = projected.project_out(choice.q @ local, choice.projection, place)
            self._extend_basis(choice.q, choice.projection)
            proposed.append(choice)
        del self.basis[n_basis:]
        self.Y = Y
        return proposed

    def _best_of_all(self) -> int:
        """The feature that the search over all candidates selects now, -1 if none."""
        whitener = self._whitener()
        if whitener is None:
            return -1
        return self._best(self.projected, whitener, self._criterion(self.projected, whitener))

    def _accept_together(self, choices: Sequence[_Choice], t: Array) -> list[Direction]:
        """Those of several steps that the search over all candidates makes, the first always; for one target."""
        xp = self.xp
        Q = xp.stack([choice.q for choice in choices], axis=1)
        projections = Q.T @ self.Y[:, 0]
        places = np.array([choice.feature for choice in choices])
        along = CandidatesAlongSteps.after(xp, self.projected, t, projections, places)
        explained = xp.cumulative_sum(Q * projections[None, :], axis=1)
        residuals = xp.concat([self.Y, self.Y - explained[:, :-1]], axis=1)
        smallest = xp.sqrt(xp.sum(residuals * residuals, axis=0)) / self._target_size
        best, counts = along.best_of_each(xp, smallest, self._rounding, project_candidates=self.project_candidates)
        cosines = Q.T @ xp.stack([*self.basis, *(choice.q for choice in choices)], axis=1)
        numbers = to_numpy(xp.concat([projections[:, None], smallest[:, None], xp.abs(cosines)], axis=1))
        is_made = (best == places) & ((numbers[:, 1] * self._target_size) ** 2 > self._explained)
        is_made[0] = True
        n_made = is_made.size if is_made.all() else int(is_made.argmin())
        made = [
            self._direction(choice, along, step, counts, numbers[step], n_made)
            for step, choice in enumerate(choices[:n_made])
        ]
        self.projected = along.at(n_made)
        self.basis += [choice.q for choice in choices[:n_made]]
        self.Y = self.Y - explained[:, n_made - 1 : n_made]
        return made

    def _direction(
        self,
        choice: _Choice,
        along: CandidatesAlongSteps,
        step: int,
        counts: np.ndarray,
        numbers: np.ndarray,
        n_made: int,
    ) -> Direction:
        """One of several steps, given how many candidates remain along them, q' Y and cosines with the basis."""
        redundant = np.empty(0, dtype=np.int64)
        if counts[step] - counts[step + 1] > 1:
            redundant = np.flatnonzero(to_numpy(along.remaining[step, :] & ~along.remaining[step + 1, :]))
        earlier = numbers[2 : 2 + len(self.basis) + step]
        return Direction(
            feature=choice.feature,
            cos2=choice.cos2,
            n_candidates=int(counts[step]),
            n_targets=choice.n_targets,
            q=choice.q,
            loading=choice.loading,
            projection=numbers[:1],
            redundant=redundant[redundant != choice.feature],
            orthogonality_loss=float(earlier.max(initial=0.0)),
            n_following=n_made - step - 1,
        )

    def _accept(self, choice: _Choice, t: Array) -> Direction:
        """Project the direction q of a step out of the candidates, given t = Z' q, and out of Y."""
        projection = choice.projection
        before, self.projected = self.projected, self.projected.project_out(t, projection, choice.feature)
        xp = self.xp
        leaving = before.remaining & ~self.projected.remaining
        counts = [xp.astype(xp.count_nonzero(each), projection.dtype) for each in (before.remaining, leaving)]
        numbers = xp.concat([projection, xp.stack([*counts, self._largest_cosine(choice.q)])])
        *shares, n_candidates, n_leaving, orthogonality_loss = to_numpy(numbers).tolist()  # waits for a device once
        redundant = np.flatnonzero(to_numpy(leaving)) if n_leaving > 1 else np.empty(0, dtype=np.int64)
        self._extend_basis(choice.q, projection)
        return Direction(
            feature=choice.feature,
            cos2=choice.cos2,
            n_candidates=int(n_candidates),
            n_targets=choice.n_targets,
            q=choice.q,
            loading=choice.loading,
            projection=np.array(shares),
            redundant=redundant[redundant != choice.feature],
            orthogonality_loss=orthogonality_loss,
        )

    def _extend_basis(self, q: Array, projection: Array) -> None:
        self.basis.append(q)
        self.Y = self.Y - q[:, None] * projection[None, :]

    def _whitener(self) -> _Whitener | None:
        """What turns the columns of ``P Y`` into an orthonormal basis of their span; None if Y is explained."""
        if self.Y.shape[1] == 1:
            return self._single_whitener()
        # singular values of Y and not eigenvalues of Y'Y, which would lose half the digits
        _, values, vectors = np.linalg.svd(np.linalg.qr(to_numpy(self.Y), mode="r"))
        unexplained = values**2 > max(self._explained, (DEPENDENT * values[0]) ** 2)
        if not unexplained.any():
            return None
        matrix = vectors.T[:, unexplained] / values[unexplained]
        return _Whitener(matrix, float(values[unexplained][-1]) / self._target_size)

    def _single_whitener(self) -> _Whitener | None:
        """The same for one target: a number."""
        norm = float(self.xp.sum(self.Y * self.Y)) ** 0.5
        if norm**2 <= self._explained:
            return None
        return _Whitener(np.array([[1.0 / norm]]), norm / self._target_size)

    def _whitened(self, values: Array, whitener: _Whitener) -> Array:
        """``values matrix``; for one target a product with a number, for which nothing is moved to a device."""
        if whitener.matrix.shape == (1, 1):
            return values * float(whitener.matrix[0, 0])
        return values @ self.columns.as_array(whitener.matrix)

    def _criterion(self, projected: ProjectedCandidates, whitener: _Whitener) -> Array:
        """cos^2 of every candidate with P Y; -1 for those that are excluded or redundant."""
        xp = self.xp
        whitened = self._whitened(projected.num, whitener)
        explained = whitened[:, 0] ** 2 if whitener.rank == 1 else xp.sum(whitened**2, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # a redundant candidate may have a norm2 of zero
            criterion = explained / (projected.norm2 if self.project_candidates else projected.initial_norm2)
        return xp.where(projected.remaining, criterion, xp.full_like(criterion, -1.0))

    def _best(self, projected: ProjectedCandidates, whitener: _Whitener, criterion: Array) -> int:
        """Place of the largest criterion, -1 if no candidate remains; ties go to the lowest index."""
        return argmax_lowest_index(self.xp, projected, criterion, self._rounding, whitener.smallest)

    def _choose(self, projected: ProjectedCandidates, features: np.ndarray, local: Array | None) -> _Choice | None:
        """The best of some candidates with its exact direction; None if none remains or Y is explained.

        The recurrences accumulate rounding, so the direction is computed anew from the column (of ``local``, which
        holds those of ``features``, or of the table). Where that shows the criterion to have been overestimated, it is
        corrected and the choice repeated.
        """
        whitener = self._whitener()
        if whitener is None:
            return None
        criterion = self._criterion(projected, whitener)
        while (place := self._best(projected, whitener, criterion)) >= 0:
            j = int(features[place])
            z = self.columns.columns(np.array([j]))[:, 0] if local is None else local[:, place]
            q, loading = self._orthogonalize(z)
            projection = q @ self.Y
            known = self.xp.stack([projected.initial_norm2[place], criterion[place]])
            *shares, initial_norm2, estimate = to_numpy(self.xp.concat([projection, known])).tolist()
            norm2, cos2 = loading[-1] ** 2, _squared_cosine(shares, whitener)
            if norm2 > self.tol * initial_norm2:
                exact = cos2 if self.project_candidates else cos2 * norm2 / initial_norm2
                if exact >= 0.999 * estimate:
                    return _Choice(j, q, loading, projection, cos2, whitener.rank)
                criterion[place] = exact
                projected.norm2[place] = norm2
                projected.num[place, :] = loading[-1] * projection
            else:
                criterion[place] = -1.0
                projected.exclude(place)
        return None

    def _orthogonalize(self, z: Array) -> tuple[Array, np.ndarray]:
        """``P z`` as a unit vector, and the coordinates of ``z`` on the basis and on it; twice is enough."""
        xp = self.xp
        coordinates = []
        if self.basis and self.orthogonalization == "classical":
            Q = xp.stack(self.basis, axis=1)
            for _ in range(2):
                coordinates.append(z @ Q)
                z = z - Q @ coordinates[-1]
        elif self.basis:
            for _ in range(2):
                found = []
                for q in self.basis:
                    found.append(xp.sum(q * z))
                    z = z - found[-1] * q
                coordinates.append(xp.stack(found))
        # all numbers at once: an accelerator is waited for once
        numbers = to_numpy(xp.concat([*coordinates, xp.reshape(xp.sum(z * z), (1,))]))
        loading, norm = numbers[:-1].reshape(len(coordinates), len(self.basis)).sum(axis=0), float(numbers[-1]) ** 0.5
        q = z / norm if norm > 0 else z
        return q, np.append(loading[self._n_fixed :], norm)

    def _largest_cosine(self, q: Array) -> Array:
        """Largest |cosine| of q with the basis."""
        cosines = q @ self.xp.stack(self.basis, axis=1) if self.basis else self.xp.zeros_like(q[:1])
        return self.xp.max(self.xp.abs(cosines))

    def follow(self, order: Iterable[int]) -> Iterator[Direction]:
        """Take the steps of a given order; ends early where a feature adds nothing or Y is explained."""
        for j in order:
            choice = self._given(int(j))
            if choice is None:
                return
            yield self._accept(choice, self.columns.dot(choice.q[:, None])[:, 0])

    def select(self, feature: int) -> bool:
        """Project one feature out of Y, and out of the candidates later; False if it adds nothing."""
        choice = self._given(feature)
        if choice is None:
            return False
        self._pending.append(choice)
        self._extend_basis(choice.q, choice.projection)
        return True

    def update_candidates(self) -> None:
        """Project the features of :meth:`select` out of the candidates, in one pass over the table."""
        if not self._pending:
            return
        t = self.columns.dot(self.xp.stack([choice.q for choice in self._pending], axis=1))
        for step, choice in enumerate(self._pending):
            self.projected = self.projected.project_out(t[:, step], choice.projection, choice.feature)
        self._pending = []

    def _given(self, j: int) -> _Choice | None:
        """The step that a given feature makes, or None if it adds nothing or Y is explained."""
        whitener = self._whitener()
        q, loading = self._orthogonalize(self.columns.columns(np.array([j]))[:, 0])
        if whitener is None or loading[-1] ** 2 <= self.tol * float(self.projected.initial_norm2[j]):
            return None
        projection = q @ self.Y
        cos2 = _squared_cosine(to_numpy(projection), whitener)
        return _Choice(j, q, loading, projection, cos2, whitener.rank)

    def remaining_columns(self) -> np.ndarray:
        """Candidates that are neither selected nor redundant."""
        return np.flatnonzero(to_numpy(self.projected.remaining))

    def target_basis(self) -> np.ndarray:
        """Orthonormal basis of the columns of ``P Y``; without columns if Y is explained."""
        whitener = self._whitener()
        return to_numpy(self.Y[:, :0] if whitener is None else self._whitened(self.Y, whitener))

    def explained_of(self, bases: Sequence[np.ndarray]) -> Array:
        """The criterion of every candidate for each of other targets, orthonormal and off the basis.

        One product of the table serves all of them; what it tells stays on the device.
        """
        xp = self.xp
        product = self.columns.dot(self.columns.as_array(np.concatenate(bases, axis=1)))
        product = xp.reshape(product, (self.columns.n_candidates, len(bases), bases[0].shape[1]))
        norm2, remaining = self.projected.norm2, self.projected.remaining
        cos2 = xp.sum(product**2, axis=2).T / xp.where(remaining, norm2, xp.ones_like(norm2))
        return xp.where(remaining, xp.clip(cos2, 0.0, 1.0), xp.zeros_like(cos2))

    def count_reaching(self, bases: Sequence[np.ndarray], cos2: float, n_columns: int = 1) -> np.ndarray:
        """How many remaining candidates reach ``cos2`` with each of other targets, orthonormal and off the basis.

        One product of the table serves all of them.
        """
        xp = self.xp
        product = self.columns.dot(self.columns.as_array(np.concatenate(bases, axis=1)))
        unreachable = xp.full_like(self.projected.norm2, xp.inf)
        needed = xp.where(self.projected.remaining, self.projected.norm2, unreachable)
        needed = needed * max(cos2, np.finfo(float).tiny)
        counts, start = np.empty(len(bases), dtype=int), 0
        for b, U in enumerate(bases):
            reached = xp.sum(product[:, start : start + U.shape[1]] ** 2, axis=1) >= needed
            counts[b] = int(xp.sum(xp.astype(reached, xp.int64)))
            start += U.shape[1]
        return counts


def _squared_cosine(projection: Sequence[float] | np.ndarray, whitener: _Whitener) -> float:
    """Of a unit vector q with P Y, given q' Y."""
    return min(float(np.sum((np.asarray(projection) @ whitener.matrix) ** 2)), 1.0)
