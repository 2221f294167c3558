"""Forward search by orthogonal projection: the engine behind Gram-Schmidt ranking and orthogonal matching pursuit.

Notation: ``Z`` holds the centered candidates, ``Y`` the centered targets (one column for regression and two classes,
the class indicators otherwise), ``S`` the features chosen so far, ``P`` the projector off their span. One step
maximizes

    cos^2_j = || U' P z_j ||^2 / || P z_j ||^2,     U an orthonormal basis of the columns of P Y,

which for one target is Eq. (1) of Stoppiglia et al. in the projected space, and in general is one minus the ratio by
which feature j shrinks ``det(Y' P Y)``. Candidates are never projected explicitly. With ``q`` the unit direction of the
feature just chosen and ``t = Z' q`` (one pass over the table), all of them follow at once:

    num <- num - t (q' Y),        num = Z' P Y
    norm2 <- norm2 - t^2,         norm2_j = || P z_j ||^2

The blocked search lowers the passes over the table below one per feature, exactly: m steps are made on the few thousand
best candidates, one product ``Z' [q_1 .. q_m]`` brings every other candidate up to date, the criterion of all is
replayed for these m steps, and steps from the first one at which an outsider would have won are taken back.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tamis.kernels.arrays.columns import Array, Columns, to_numpy

_EXPLAINED = {"float64": 1e-20, "float32": 1e-12}  # squared share of Y below which rounding is all that is left of it
_DEPENDENT = 1e-24  # the same for one target against the others: class indicators sum to a constant
# Relative rounding of a criterion: candidates closer than this are tied. It grows as a candidate is used up.
_TIE = {"float64": 1e-11, "float32": 1e-6}
_ROUNDING = {"float64": 1e-14, "float32": 1e-6}
_WIDEST_TIE = 1e-3
_REDUNDANT = {"float64": 1e-10, "float32": 1e-5}
_INSIDE_ELEMENTS = 2**26  # entries of the columns that a block keeps up to date
_BLOCK_ELEMENTS = 2**25  # entries of the product Z' [q_1 .. q_m]: 256 MB in double precision


@dataclass(frozen=True)
class Direction:
    """One accepted step: the feature, its unit direction, and what it explains."""

    feature: int
    cos2: float
    n_candidates: int  # that were still in play, this one included
    n_targets: int  # dimension of what was left of Y
    q: Array  # unit vector of shape (n_samples,)
    loading: np.ndarray  # z = sum_i loading_i q_i, this direction last
    projection: np.ndarray  # q' Y, one entry per target
    redundant: np.ndarray  # candidates that this step explains entirely
    drift: float  # largest |cosine| between q and the earlier directions


@dataclass(frozen=True)
class _Whitener:
    """``(P Y) matrix`` has orthonormal columns; ``smallest`` is how much is left of Y in its weakest direction."""

    matrix: Array
    smallest: float


@dataclass(frozen=True)
class _Choice:
    """The best candidate of a step, recomputed from its own column."""

    feature: int
    q: Array
    loading: np.ndarray
    cos2: float
    n_targets: int


@dataclass
class _Front:
    """What is known of a set of candidates at one step of the search; those out of play have a norm2 of -inf."""

    num: Array
    norm2: Array
    size: Array  # squared norm before any projection
    floor: Array  # squared norm at which a candidate is used up
    alive: Array = field(init=False)

    def __post_init__(self) -> None:
        self.alive = self.norm2 > self.floor

    def advanced(self, t: Array, projection: Array) -> _Front:
        """Project one direction out of every candidate (Eq. 1 in the projected space)."""
        return _Front(self.num - t[:, None] * projection[None, :], self.norm2 - t * t, self.size, self.floor)

    def retire(self, place: int) -> None:
        """Take a candidate out of play for good."""
        self.norm2[place] = -np.inf
        self.alive[place] = False

    def subset(self, xp: Any, at: Array) -> _Front:
        """The same of some candidates."""
        take = partial(xp.take, axis=0)
        return _Front(take(self.num, at), take(self.norm2, at), take(self.size, at), take(self.floor, at))


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
        came, ``|| z_j ||``, and not by what is left of it (orthogonal matching pursuit).
    orthogonalization : {"classical", "modified"}
        How the direction of a chosen feature is made orthogonal to the earlier ones; both are repeated once.
    tol : float or None
        A candidate is redundant once its squared norm falls below this share of the original.
    limit : int or None
        Most steps that will be asked for, if known: blocks are sized after it.
    working_set : int
        Candidates that a block keeps up to date; at or above half the candidates, no blocks are used.
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
        self._blocked = columns.n_candidates > 2 * working_set
        self.working_set = min(working_set, max(16, _INSIDE_ELEMENTS // columns.n_samples))
        precision = "float32" if getattr(columns, "X", Y).dtype == self.xp.float32 else "float64"
        self._tie = _TIE[precision]
        self._rounding = _ROUNDING[precision]
        self.tol = _REDUNDANT[precision] if tol is None else tol
        self.Y = columns.center_rows(columns.as_array(Y))
        self._target_size = max(float(self.xp.sum(self.Y**2)) ** 0.5, np.finfo(float).tiny)
        self._explained = _EXPLAINED[precision] * self._target_size**2
        self.limit = limit
        self._behind: list[tuple[_Choice, Array]] = []
        self.basis: list[Array] = []
        if columns.fit_intercept:
            self.basis.append(columns.sqrt_weight / columns.total**0.5)
        self._n_fixed = len(self.basis)
        size = columns.norm2
        norm2 = self.xp.where(size > 0, size, self.xp.full_like(size, -np.inf))
        self.front = _Front(columns.dot(self.Y), norm2, size, self.tol * size)

    def __iter__(self) -> Iterator[Direction]:
        yield from self._blocked_steps() if self._blocked else self._plain_steps()

    def cos2(self) -> np.ndarray:
        """The criterion of every candidate now; zero for those out of play."""
        whitener = self._whitener()
        if whitener is None:
            return np.zeros(self.columns.n_candidates)
        criterion = self._criterion(self.front, whitener)
        return np.clip(to_numpy(criterion), 0.0, 1.0)

    def _plain_steps(self) -> Iterator[Direction]:
        """One pass over the table per feature."""
        everything = np.arange(self.columns.n_candidates)
        while (choice := self._choose(self.front, everything, None)) is not None:
            projection = choice.q @ self.Y
            t = self.columns.dot(choice.q[:, None])[:, 0]
            before, self.front = self.front, self.front.advanced(t, projection)
            self.front.retire(choice.feature)
            yield self._accept(choice, projection, before, self.front)

    def _blocked_steps(self) -> Iterator[Direction]:
        """Exact, with about one pass over the table per block of steps."""
        size, done = 12, 0
        # more would cost as much as the pass that they save
        most_inside = min(self.columns.n_candidates // 4, _INSIDE_ELEMENTS // self.columns.n_samples)
        while True:
            left = size if self.limit is None else min(size, max(self.limit - done, 1))
            most = max(1, min(left, _BLOCK_ELEMENTS // self.columns.n_candidates))
            kept, tried = yield from self._one_block(most)
            done += kept
            if tried == 0:
                return
            if kept < tried:
                size = max(4, kept)
                self.working_set = max(self.working_set, min(self.working_set * 3 // 2, most_inside))
            else:
                size = min(24, 2 * size)

    def _one_block(self, most: int) -> Generator[Direction, None, tuple[int, int]]:
        """Try up to ``most`` steps on the best candidates, then keep those that hold against all."""
        whitener = self._whitener()
        if whitener is None:
            return 0, 0
        criterion = self._criterion(self.front, whitener)
        first = self._first_best(self.front, whitener, criterion)
        if first < 0:
            return 0, 0
        # of tied candidates the first must be inside, wherever the cut falls among them
        inside = np.union1d(self._best(criterion, self.working_set), first)
        local = self.columns.columns(inside)
        at = self.columns.as_index(inside)
        front = self.front.subset(self.xp, at)
        Y, n_basis = self.Y, len(self.basis)
        tried: list[_Choice] = []
        while len(tried) < most and (choice := self._choose(front, inside, local)) is not None:
            projection = choice.q @ self.Y
            front = front.advanced(choice.q @ local, projection)
            front.retire(int(np.searchsorted(inside, choice.feature)))
            self.basis.append(choice.q)
            self.Y = self.Y - choice.q[:, None] * projection[None, :]
            tried.append(choice)
        del self.basis[n_basis:]
        self.Y = Y
        if not tried:  # rounding had hidden that nothing is left of these candidates
            for j in inside.tolist():
                self.front.retire(j)
            return 0, 1
        product = self.columns.dot(self.xp.stack([choice.q for choice in tried], axis=1))
        kept = 0
        for choice in tried:
            if kept and self._winner() != choice.feature:
                break
            projection = choice.q @ self.Y
            before, self.front = self.front, self.front.advanced(product[:, kept], projection)
            self.front.retire(choice.feature)
            kept += 1
            yield self._accept(choice, projection, before, self.front)
        return kept, len(tried)

    def _whitener(self) -> _Whitener | None:
        """What turns the columns of ``P Y`` into an orthonormal basis of their span; None if nothing is left."""
        Y = to_numpy(self.Y)
        # singular values of Y and not eigenvalues of Y'Y, which would lose half the digits
        triangle = np.linalg.qr(Y, mode="r") if Y.shape[1] > 1 else np.array([[np.linalg.norm(Y)]])
        _, values, vectors = np.linalg.svd(triangle)
        left = values**2 > max(self._explained, _DEPENDENT * values[0] ** 2)
        if not left.any():
            return None
        matrix = self.columns.as_array(vectors.T[:, left] / values[left])
        return _Whitener(matrix, float(values[left][-1]) / self._target_size)

    def _criterion(self, front: _Front, whitener: _Whitener) -> Array:
        """cos^2 of every candidate with what is left of Y; -1 for those out of play."""
        xp = self.xp
        if whitener.matrix.shape == (1, 1):
            explained = (front.num[:, 0] * whitener.matrix[0, 0]) ** 2
        else:
            explained = xp.sum((front.num @ whitener.matrix) ** 2, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # those out of play may have nothing left
            criterion = explained / (front.norm2 if self.project_candidates else front.size)
        return xp.where(front.alive, criterion, -xp.ones_like(criterion))

    def _first_best(self, front: _Front, whitener: _Whitener, criterion: Array) -> int:
        """Position of the best candidate, -1 if none is left; ties, up to rounding, go to the lowest index.

        Rounding grows as a candidate is used up (its squared norm is a difference) and as Y is (so are the products).
        """
        xp = self.xp
        best = xp.max(criterion)
        if best < 0:
            return -1
        near = xp.nonzero(criterion >= best * (1 - _WIDEST_TIE))[0]
        if near.shape[0] == 1:
            return int(near[0])
        used_up = xp.take(front.size, near) / xp.take(front.norm2, near)
        blur = self._tie + self._rounding * (used_up + used_up**0.5 / whitener.smallest)
        tied = xp.take(criterion, near) * (1 + blur) >= best
        return int(near[int(xp.argmax(xp.astype(tied, xp.int8)))])

    def _winner(self) -> int:
        """The candidate that the whole table would choose now."""
        whitener = self._whitener()
        if whitener is None:
            return -1
        return self._first_best(self.front, whitener, self._criterion(self.front, whitener))

    def _best(self, criterion: Array, n: int) -> np.ndarray:
        """Indices of the n largest, in increasing order."""
        values = to_numpy(criterion)
        n = min(n, values.size)
        return np.sort(np.argpartition(values, values.size - n)[values.size - n :])

    def _choose(self, front: _Front, candidates: np.ndarray, local: Array | None) -> _Choice | None:
        """Best candidate with its exact direction, or None when nothing is left to choose or to explain.

        The table of norms drifts by rounding, so the winner is recomputed from its column; where the table promised
        too much, it is corrected and the choice made again.
        """
        whitener = self._whitener()
        if whitener is None:
            return None
        criterion = self._criterion(front, whitener)
        while (place := self._first_best(front, whitener, criterion)) >= 0:
            j = int(candidates[place])
            z = self.columns.columns(np.array([j]))[:, 0] if local is None else local[:, place]
            q, loading = self._orthogonalize(z)
            norm2 = loading[-1] ** 2
            if norm2 > self.tol * float(front.size[place]):
                cos2 = min(float(self.xp.sum(((q @ self.Y) @ whitener.matrix) ** 2)), 1.0)
                exact = cos2 if self.project_candidates else cos2 * norm2 / float(front.size[place])
                if exact >= 0.999 * float(criterion[place]):
                    return _Choice(j, q, loading, cos2, int(whitener.matrix.shape[1]))
                criterion[place] = exact
                front.norm2[place] = norm2
                front.num[place, :] = loading[-1] * (q @ self.Y)
            else:
                criterion[place] = -1.0
                front.retire(place)
        return None

    def _orthogonalize(self, z: Array) -> tuple[Array, np.ndarray]:
        """Unit direction of ``z`` off the basis, and the coordinates of ``z`` on both; twice is enough."""
        xp = self.xp
        loading = np.zeros(len(self.basis))
        if self.basis and self.orthogonalization == "classical":
            Q = xp.stack(self.basis, axis=1)
            for _ in range(2):
                shares = z @ Q
                z = z - Q @ shares
                loading += to_numpy(shares)
        elif self.basis:
            for _ in range(2):
                for i, q in enumerate(self.basis):
                    share = xp.sum(q * z)
                    z = z - share * q
                    loading[i] += float(share)
        norm = float(xp.sum(z * z)) ** 0.5
        q = z / norm if norm > 0 else z
        return q, np.append(loading[self._n_fixed :], norm)

    def _drift(self, q: Array) -> float:
        """Largest |cosine| with the basis."""
        return float(self.xp.max(self.xp.abs(q @ self.xp.stack(self.basis, axis=1)))) if self.basis else 0.0

    def _accept(self, choice: _Choice, projection: Array, before: _Front, after: _Front) -> Direction:
        """Record a step and move Y and the basis past it."""
        gone = to_numpy(before.alive & ~after.alive)
        gone[choice.feature] = False
        drift = self._drift(choice.q)
        self.basis.append(choice.q)
        self.Y = self.Y - choice.q[:, None] * projection[None, :]
        return Direction(
            feature=choice.feature,
            cos2=choice.cos2,
            n_candidates=int(self.xp.count_nonzero(before.alive)),
            n_targets=choice.n_targets,
            q=choice.q,
            loading=choice.loading,
            projection=to_numpy(projection),
            redundant=np.flatnonzero(gone),
            drift=drift,
        )

    def follow(self, order: Iterable[int]) -> Iterator[Direction]:
        """Walk a given order instead of searching one; ends early where a feature adds nothing or Y is explained."""
        for j in order:
            choice = self._given(int(j))
            if choice is None:
                return
            projection = choice.q @ self.Y
            t = self.columns.dot(choice.q[:, None])[:, 0]
            before, self.front = self.front, self.front.advanced(t, projection)
            self.front.retire(choice.feature)
            yield self._accept(choice, projection, before, self.front)

    def walk(self, feature: int) -> bool:
        """Move Y and the basis past one feature, leaving the candidates behind; False if it adds nothing."""
        choice = self._given(feature)
        if choice is None:
            return False
        projection = choice.q @ self.Y
        self._behind.append((choice, projection))
        self.basis.append(choice.q)
        self.Y = self.Y - choice.q[:, None] * projection[None, :]
        return True

    def catch_up(self) -> None:
        """Bring the candidates up to where :meth:`walk` went, in one pass over the table."""
        if not self._behind:
            return
        product = self.columns.dot(self.xp.stack([choice.q for choice, _ in self._behind], axis=1))
        for step, (choice, projection) in enumerate(self._behind):
            self.front = self.front.advanced(product[:, step], projection)
            self.front.retire(choice.feature)
        self._behind = []

    def _given(self, j: int) -> _Choice | None:
        """The step that a given feature makes, or None if there is nothing to it."""
        whitener = self._whitener()
        q, loading = self._orthogonalize(self.columns.columns(np.array([j]))[:, 0])
        if whitener is None or loading[-1] ** 2 <= self.tol * float(self.front.size[j]):
            return None
        cos2 = min(float(self.xp.sum(((q @ self.Y) @ whitener.matrix) ** 2)), 1.0)
        return _Choice(j, q, loading, cos2, int(whitener.matrix.shape[1]))
