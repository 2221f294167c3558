r"""One linear model of two classes along the path of its eliminations, whose rows are read in passes.

Weights on fewer and fewer entries are guessed from what is known: by the quadratic function of a Hessian that was
evaluated for one of these sets or for an earlier one, and by a sample of the rows. Where fewer rows are inside the
margin of the squared hinge than some per weight, as with classes that can be separated, the quadratic function tells
little, for each row that crosses the margin changes it; but then memory holds all rows inside the margin, and others
near it, and the model of these rows is the guess. Whoever evaluates gradients over all rows gathers further rows, those
of least margin, until none is missing.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels.solvers.look_ahead import START_TOL
from tamis.kernels.solvers.loss_sums import NearRows
from tamis.kernels.solvers.newton_estimate import Curvature, Estimate
from tamis.kernels.solvers.row_sample import RowSample

FEW_ROWS_PER_ENTRY = 4  # inside the margin: with more, a Hessian hardly changes where some cross it
NEAR_ROWS_PER_ENTRY = 8  # that are gathered by a pass
_MOST_NEAR_ROWS_PER_ENTRY = 16  # that are kept
_TOL_OF_NEAR = 0.1  # of the model of these rows, relative to that of all rows


class PathModel:
    """What is known of one model on all sets of entries.

    Parameters
    ----------
    sample : RowSample
    penalty : ndarray of shape (n_entries,)
    tol : float
        Of the gradient, in its unit.

    Attributes
    ----------
    needs_near_rows : bool
        Whether rows of least margin are to be gathered by the next pass.
    """

    def __init__(self, sample: RowSample, penalty: np.ndarray, tol: float) -> None:
        self._sample, self._penalty, self._tol = sample, penalty, tol
        self.needs_near_rows = False
        self._near: NearRows | None = None
        self._curvature: Curvature | None = None  # at a set of entries that the path has come to, or before it
        self._followed: Curvature | None = None  # the same, as far as guesses have come

    def start(self, remains: np.ndarray) -> Estimate:
        """Weights on some entries by the sample alone."""
        zero = np.zeros(remains.size)
        return Estimate(self._sample.minimum(remains, self._penalty, zero, START_TOL), remains, self._tol)

    def reach(self, estimate: Estimate) -> None:
        """Take note that the path has come to the entries of an estimate."""
        self._curvature = self._curvature_of(estimate) or self._curvature

    def begin(self, remains: np.ndarray) -> None:
        """Guesses begin at some entries, from which others are eliminated."""
        self._followed = None if self._curvature is None else self._curvature.restricted(remains)

    @property
    def can_guess(self) -> bool:
        """Whether a Hessian is known."""
        return self._followed is not None

    def go_on(self, before: Estimate, estimate: Estimate) -> None:
        """Guess weights on entries of which there are fewer than before, or set a step from where they are."""
        leaving = np.flatnonzero(before.remains & ~estimate.remains)
        curvature = self._followed
        if curvature is not None and leaving.size:
            guess = curvature.eliminate(leaving, before.w)
            if guess is None:
                self._followed = curvature.restricted(estimate.remains)
            elif estimate.is_guess:
                estimate.w = curvature.refine(guess, before.w, curvature.n_eliminated)
        self._followed = self._curvature_of(estimate) or self._followed
        estimate.follow(self._followed)
        if self.needs_near_rows and self._near is not None and not estimate.is_final:
            estimate.propose(self._minimum_of_near(estimate.remains, before.w * estimate.remains))

    def count_curved(self, n_rows: int, n_entries: int) -> None:
        """Take note of how many rows have a share in the Hessian of a model on so many entries."""
        self.needs_near_rows = n_rows < FEW_ROWS_PER_ENTRY * n_entries

    def take_near(self, near: NearRows, remains: np.ndarray, w: np.ndarray) -> None:
        """Add rows of least margin at weights w, with columns for the entries that remain, to those that are known."""
        entries = np.zeros((near.places.size, remains.size))
        entries[:, remains] = near.entries
        near = near._replace(entries=entries)
        if self._near is not None:
            known = self._near
            near = near.joined(known._replace(margin=known.signs * (known.entries @ w)))
        self._near = near.least(_MOST_NEAR_ROWS_PER_ENTRY * int(remains.sum()))

    def _minimum_of_near(self, remains: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Weights of the model of the rows that were gathered."""
        assert self._near is not None
        near = self._near
        rows = RowSample(self._sample.loss, near.entries.T, near.signs, near.cost, near.signs.size)
        return rows.minimum(remains, self._penalty, start, _TOL_OF_NEAR * self._tol)

    def _curvature_of(self, estimate: Estimate) -> Curvature | None:
        """At an estimate, if a Hessian was evaluated there."""
        if estimate.hessian is None or estimate.hessian_at is None:
            return None
        outputs = self._sample.outputs(estimate.hessian_at)
        return Curvature(estimate.hessian, estimate.remains, self._penalty, self._sample, outputs)
