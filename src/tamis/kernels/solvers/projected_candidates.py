"""What a forward search knows of its candidates after some steps: two recurrences, and the choice of the best.

With ``t = Z' q`` of the unit direction q of a selected feature,

    num_j   = z_j' P Y        num_j   <- num_j - t_j (q' Y)
    norm2_j = || P z_j ||^2   norm2_j <- norm2_j - t_j^2

tell the criterion ``|| num_j' W ||^2 / norm2_j`` of all candidates without a look at the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.kernels.arrays.transfer import Array, from_numpy, to_numpy

_LARGEST_TIE = 1e-3  # relative difference of criteria beyond which no rounding makes candidates tie


@dataclass
class ProjectedCandidates:
    """What the recurrences know of a set of candidates after some steps; excluded ones have a norm2 of -inf."""

    num: Array  # Z' P Y, one row per candidate
    norm2: Array  # || P z_j ||^2
    initial_norm2: Array  # || z_j ||^2
    redundant_norm2: Array  # a candidate with this norm2 or less is redundant
    remaining: Array = field(init=False)  # neither excluded nor redundant

    def __post_init__(self) -> None:
        self.remaining = self.norm2 > self.redundant_norm2

    def project_out(self, t: Array, projection: Array, place: int) -> ProjectedCandidates:
        """Both recurrences for one direction q, given t = Z' q and its projection q' Y; its candidate is excluded."""
        num, norm2 = self.num - t[:, None] * projection[None, :], self.norm2 - t * t
        norm2[place] = -np.inf
        return ProjectedCandidates(num, norm2, self.initial_norm2, self.redundant_norm2)

    def exclude(self, place: int) -> None:
        """Take a candidate out of the search for good."""
        self.norm2[place] = -np.inf
        self.remaining[place] = False

    def take(self, xp: Any, places: Array) -> ProjectedCandidates:
        """The same of some candidates."""
        every = (self.num, self.norm2, self.initial_norm2, self.redundant_norm2)
        return ProjectedCandidates(*(xp.take(values, places, axis=0) for values in every))


@dataclass(frozen=True)
class TieRounding:
    """Relative rounding of a criterion, within which candidates are tied.

    It grows with ``|| z_j ||^2 / || P z_j ||^2`` (norm2 is a difference) and with ``|| Y || / || P Y ||`` (so is num).
    """

    tie: float  # before any projection
    product_error: float  # of the entries of t and num

    def of(self, cancellation: Array, smallest: Any) -> Array:
        """Given the first ratio of every candidate, and the inverse of the second."""
        return self.tie + self.product_error * (cancellation + cancellation**0.5 / smallest)


def argmax_lowest_index(
    xp: Any, projected: ProjectedCandidates, criterion: Array, rounding: TieRounding, smallest: float
) -> int:
    """Place of the largest criterion, -1 if no candidate remains; ties, up to rounding, go to the lowest index."""
    best = xp.max(criterion)
    least = xp.maximum(best * (1 - _LARGEST_TIE), xp.zeros_like(best))  # a negative criterion stands for none
    near = xp.nonzero(criterion >= least)[0]
    if near.shape[0] <= 1:
        return int(near[0]) if near.shape[0] else -1
    cancellation = xp.take(projected.initial_norm2, near) / xp.take(projected.norm2, near)
    tied = xp.take(criterion, near) * (1 + rounding.of(cancellation, smallest)) >= best
    return int(near[int(xp.argmax(xp.astype(tied, xp.int8)))])


@dataclass(frozen=True)
class CandidatesAlongSteps:
    """All candidates before several steps for one target and after each of them.

    A row of an array is a step, so that an accelerator is launched as often for all of them as for one.
    """

    num: Array  # of shape (n_steps + 1, n_candidates), as all of them
    norm2: Array
    remaining: Array
    start: ProjectedCandidates

    @classmethod
    def after(
        cls, xp: Any, start: ProjectedCandidates, t: Array, projections: Array, places: np.ndarray
    ) -> CandidatesAlongSteps:
        """Both recurrences for all steps, given Z' [q_1 .. q_m], the q_k' Y and which candidates are selected."""
        t = t.T
        index = from_numpy(places, xp, t.device)
        is_selected = xp.arange(t.shape[1], device=t.device)[None, :] == index[:, None]
        lost = xp.where(is_selected, xp.full_like(t, xp.inf), t * t)
        num = xp.cumulative_sum(xp.concat([start.num.T, -t * projections[:, None]]), axis=0)
        norm2 = xp.cumulative_sum(xp.concat([start.norm2[None, :], -lost]), axis=0)
        return cls(num, norm2, norm2 > start.redundant_norm2[None, :], start)

    def at(self, n_steps: int) -> ProjectedCandidates:
        """All candidates after so many steps."""
        initial, redundant = self.start.initial_norm2, self.start.redundant_norm2
        return ProjectedCandidates(self.num[n_steps, :][:, None], self.norm2[n_steps, :], initial, redundant)

    def best_of_each(
        self, xp: Any, smallest: Array, rounding: TieRounding, *, project_candidates: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Candidate that each step but the last row has as its best, as one number a row, and how many remain.

        What :func:`argmax_lowest_index` finds one step at a time. The criterion lacks the factor ``1 / || P y ||^2``,
        which all candidates of a step have in common. -1 where none remains.
        """
        remaining, initial = self.remaining[:-1, :], self.start.initial_norm2[None, :]
        norm2 = xp.where(remaining, self.norm2[:-1, :], xp.ones_like(initial))
        explained = self.num[:-1, :] ** 2 / (norm2 if project_candidates else xp.where(remaining, initial, norm2))
        criterion = xp.where(remaining, explained, -xp.ones_like(explained))
        best = xp.max(criterion, axis=1, keepdims=True)
        tie = rounding.of(initial / norm2, smallest[:, None])
        is_tied = remaining & (criterion >= best * (1 - _LARGEST_TIE)) & (criterion * (1 + tie) >= best)
        place = xp.argmax(xp.astype(is_tied, xp.int8), axis=1)
        place = xp.where(best[:, 0] >= 0, place, -xp.ones_like(place))
        counts = xp.count_nonzero(self.remaining, axis=1)
        found = to_numpy(xp.concat([place, xp.astype(counts, place.dtype)]))  # waits for a device once
        return found[: place.shape[0]], found[place.shape[0] :]
