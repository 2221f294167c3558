r"""Weights of a smooth convex model that are improved by Newton's method, one evaluation at a time.

.. math:: w \leftarrow w - A \, \nabla(w), \qquad A = \text{the inverse of a Hessian at w, or at weights near it}.

Whoever evaluates gradients does so for many models together, and asks each estimate where next. A step is taken if it
leaves at most half of the gradient, measured by :math:`(\nabla^\top A \nabla)^{1/2}`. If it does not, a Hessian at w
itself is asked for; with that one, the objective is evaluated at several lengths of the step, and the least is taken,
so that the objective decreases. Where none is less, as at weights so large that the loss is flat, the search begins
once more, at zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.elimination_sequence import EliminationSequence
from tamis.kernels.solvers.look_ahead import MAX_RATE
from tamis.kernels.solvers.row_sample import RowSample
from tamis.kernels.solvers.svm_primal import invert_hessian

_LENGTHS = 0.5 ** np.array([0, 1, 2, 4, 6, 10, 16, 24])  # of a step, among which the objective decides
_MAX_SUBSTITUTIONS = 8
_ENOUGH = 1e-3  # change of a correction, relative to it, at which it is exact enough: a sample tells a digit or two
_ROUNDED = 1e-13  # gradient, in its unit, that rounding may leave: it is not searched for less


class Curvature:
    """The Hessian of a model on some entries at some weights, and steps by its inverse, also without some entries.

    Parameters
    ----------
    hessian : ndarray of shape (n_remaining, n_remaining)
        Without the penalty.
    remains : ndarray of bool of shape (n_entries,)
        Entries that it is of.
    penalty : ndarray of shape (n_entries,)
    sample : RowSample
        Rows of the model, by which steps account for what is not quadratic.
    outputs : ndarray
        Of these rows, at the weights where the Hessian was evaluated.

    Attributes
    ----------
    source : ndarray
        The Hessian as it was evaluated, perhaps of more entries.
    """

    def __init__(
        self, hessian: np.ndarray, remains: np.ndarray, penalty: np.ndarray, sample: RowSample, outputs: np.ndarray
    ) -> None:
        self.source = self._hessian = hessian
        self._penalty, self._sample, self._outputs = penalty, sample, outputs
        self._entries = np.flatnonzero(remains)
        self._inverse = invert_hessian(hessian.copy(), penalty[remains])
        self._sequence = EliminationSequence(np.zeros(self._entries.size), self._entries.size)

    @property
    def n_eliminated(self) -> int:
        """Entries that were eliminated since."""
        return len(self._sequence.places)

    def restricted(self, remains: np.ndarray) -> Curvature:
        """The same Hessian, inverted on fewer entries."""
        kept = remains[self._entries]
        fewer = Curvature(self._hessian[np.ix_(kept, kept)], remains, self._penalty, self._sample, self._outputs)
        fewer.source = self.source
        return fewer

    def eliminate(self, leaving: np.ndarray, w: np.ndarray) -> np.ndarray | None:
        """Go on without some more entries; the minimum without them if w is that with them.

        None where rounding would decide: then another Hessian is needed, or this one :meth:`restricted`.
        """
        self._sequence.w = w[self._entries]
        for place in np.searchsorted(self._entries, leaving):
            if not self._sequence.eliminate(int(place), self._inverse[place]):
                return None
        return self._in_full(self._sequence.w, w.size)

    def solve(self, gradient: np.ndarray, n_eliminated: int) -> np.ndarray:
        """The inverse Hessian after the first eliminations times a gradient, of which their entries do not count."""
        right = gradient[self._entries]
        right[self._sequence.places[:n_eliminated]] = 0.0
        return self._in_full(self._sequence.solve_after(n_eliminated, right, self._inverse), gradient.size)

    def refine(self, w: np.ndarray, u: np.ndarray, n_eliminated: int) -> np.ndarray:
        """A zero of the gradient near w, which is one to first order about u, with what the sample tells beyond that.

        It solves ``x = w - A remainder(x)`` by repeated substitution, as long as that converges.
        """
        remainder = self._sample.remainder(self._entries, u, self._outputs)
        if remainder is None:
            return w
        x, last = w, np.inf
        for _ in range(_MAX_SUBSTITUTIONS):
            new = w - self.solve(remainder(x), n_eliminated)
            change = float(np.abs(new - x).max())
            if change > MAX_RATE * last:
                return w if x is w else x
            x, last = new, change
            if change <= _ENOUGH * float(np.abs(x - w).max()):
                break
        return x

    def _in_full(self, values: np.ndarray, size: int) -> np.ndarray:
        full = np.zeros(size)
        full[self._entries] = values
        return full


class Estimate:
    """Weights of one model on some of its entries, and what is known of them.

    Parameters
    ----------
    w : ndarray of shape (n_entries,)
        A guess; zero for entries that it has not.
    remains : ndarray of bool of shape (n_entries,)
        Entries that it has.
    tol : float
        Largest entry of the gradient of weights that are final, in its unit.

    Attributes
    ----------
    w : ndarray of shape (n_entries,)
        The best weights that are known: those after a step from where they were last evaluated.
    residual : float
        Largest entry of the gradient, before that step.
    is_final : bool
        Whether they are optimal to the tolerance, or to what rounding leaves.
    hessian, hessian_at : ndarray or None
        Of these entries, and the weights where it was evaluated, near the present ones.
    """

    def __init__(self, w: np.ndarray, remains: np.ndarray, tol: float) -> None:
        self.w, self.remains, self.tol = w, remains, tol
        self.residual, self.is_final = np.inf, False
        self.hessian: np.ndarray | None = None
        self.hessian_at: np.ndarray | None = None
        self._at: tuple[np.ndarray, np.ndarray] | None = None  # evaluated weights, and the gradient there
        self._curvature: Curvature | None = None
        self._n_eliminated = 0
        self._step, self._size = w, np.inf  # from the evaluated weights, and the gradient there in the inverse Hessian
        self._refused_by: np.ndarray | None = None  # a Hessian whose step did not gain enough
        self._is_careful = False  # whether steps go to the least objective, since a whole one did not gain enough
        self._was_restarted = self._is_given = False

    @property
    def is_guess(self) -> bool:
        """Whether nothing is known that a better guess would not replace."""
        return self._at is None and not self._was_restarted

    @property
    def _has_own_hessian(self) -> bool:
        """Whether the Hessian is that at the evaluated weights."""
        return self._at is not None and self.hessian_at is self._at[0]

    @property
    def _is_stopped(self) -> bool:
        """Whether the step by the Hessian at hand is not to be taken as it is."""
        is_refused = self._curvature is not None and self._refused_by is self._curvature.source
        return (is_refused or self._is_careful) and not (self.is_final or self._is_given)

    @property
    def needs_hessian(self) -> bool:
        """Whether a Hessian at the evaluated weights is needed to go on."""
        return self._is_stopped and not self._has_own_hessian

    @property
    def searches_line(self) -> bool:
        """Whether the objective, and best a Hessian, are needed at :meth:`points`."""
        return self._is_stopped and self._has_own_hessian

    @property
    def wants_hessian(self) -> bool:
        """Whether a Hessian is worth more than elsewhere."""
        return self._is_stopped or (self._refused_by is not None and not self.is_final)

    def follow(self, curvature: Curvature | None) -> None:
        """Set the step from the evaluated weights, by an inverse Hessian as it now is."""
        self._curvature, self._n_eliminated = curvature, 0 if curvature is None else curvature.n_eliminated
        self._is_given = False
        if self._at is None or curvature is None or self.is_final:
            return
        w, gradient = self._at
        self._step = -self._solve(gradient)
        self._size = math.sqrt(max(-float(gradient @ self._step), 0.0))
        self.w = w if self._is_stopped else curvature.refine(w + self._step, w, self._n_eliminated)

    def propose(self, w: np.ndarray) -> None:
        """Set weights to evaluate next, in the place of those after a step, unless they were evaluated last."""
        if self._at is None or not np.array_equal(w, self._at[0]):
            self.w, self._is_given = w, True

    def points(self) -> np.ndarray:
        """Weights to evaluate next, in rows."""
        return self.w + np.append(0.0, _LENGTHS)[:, None] * self._step if self.searches_line else self.w[None]

    def update(
        self, gradients: np.ndarray, unit: float, objectives: np.ndarray, hessians: Sequence[np.ndarray] = ()
    ) -> None:
        """Take in what was evaluated at :meth:`points`.

        Parameters
        ----------
        gradients : ndarray of shape (n_points, n_entries)
        unit : float
            Of the gradients.
        objectives : ndarray of shape (n_points,)
            Where a line is searched; not used otherwise.
        hessians : sequence of ndarray
            One for every point, or none.
        """
        if self.searches_line:
            self._choose_length(gradients, unit, objectives, hessians)
            return
        [gradient], hessian = gradients, hessians[0] if hessians else None
        if self._at is None or self._is_given or self.needs_hessian or self._gains(gradient, unit):
            self._accept(self.w, gradient, unit, hessian)
        else:
            self._refuse()

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        assert self._curvature is not None  # of weights that were evaluated
        return self._curvature.solve(gradient, self._n_eliminated)

    def _gains(self, gradient: np.ndarray, unit: float) -> bool:
        """Whether a step leaves so little of the gradient that the next ones will find the minimum."""
        if np.abs(gradient).max() <= self.tol * unit:
            return True
        size = math.sqrt(max(float(gradient @ self._solve(gradient)), 0.0))
        return size <= MAX_RATE * self._size

    def _refuse(self) -> None:
        """Stay at the weights before the step, and note whose step it was."""
        assert self._curvature is not None
        assert self._at is not None  # else any weights are a gain
        self.w, self._refused_by = self._at[0], self._curvature.source
        self.is_final = self.residual <= _ROUNDED

    def _choose_length(
        self, gradients: np.ndarray, unit: float, objectives: np.ndarray, hessians: Sequence[np.ndarray]
    ) -> None:
        """Go to the least objective along the step; where none is less, begin once more, at zero."""
        points, place = self.points(), int(np.where(np.isnan(objectives), np.inf, objectives).argmin())
        if objectives[place] < objectives[0] - OBJECTIVE_ROUNDING * abs(objectives[0]):
            self._is_careful = place > 1  # no more once the whole step is the best
            self._accept(points[place], gradients[place], unit, hessians[place] if hessians else None)
        elif self._was_restarted or self.residual <= _ROUNDED:
            self.is_final = True
        else:
            self._was_restarted, self._is_careful, self._at, self._refused_by = True, False, None, None
            self.w = np.zeros_like(self.w)

    def _accept(self, w: np.ndarray, gradient: np.ndarray, unit: float, hessian: np.ndarray | None) -> None:
        self._at, self.residual = (w, gradient), float(np.abs(gradient).max()) / unit
        if hessian is not None:
            self.hessian, self.hessian_at = hessian, w
        self.is_final = self.residual <= self.tol
        self.w = w
        if self.is_final and self._curvature is not None:
            self.w = w - self._solve(gradient)  # a step that costs no evaluation
