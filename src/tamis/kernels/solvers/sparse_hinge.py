r"""Squared hinge with a norm per group of weights, kept at its minimum while features come and go.

.. math:: \min_{W, b} \tfrac12 \sum_{ik} \bigl(1 - y_{ik} (z_i^\top w_k + b_k)\bigr)_+^2 + \lambda \sum_g \|W_g\|_F

is Eq. (2) of Flamary et al. (2011) times :math:`n / C`, with :math:`\lambda = n / C`, an intercept that is free, and
several targets that may share their features. Let :math:`I_k` hold the samples with a positive hinge. While these stay,
the loss is that of least squares, :math:`\tfrac12 \sum_{i \in I} (y_i - z_i^\top w - b)^2`, the intercept comes out by
centering over :math:`I`, and what is left is a group lasso in the Gram matrix of the columns over :math:`I`. Its
solution gives the direction of a proximal Newton step, a line search the length. The Gram matrix follows the samples
that enter or leave :math:`I` by the products of their rows alone.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels.solvers.group_lasso import (
    GroupLasso,
    find_rise,
    group_directions,
    group_dots,
    group_norms,
    violation,
)

_INNER = 20  # steps on the least-squares problem, which is another one once samples have come or gone
_MOST_REMOVED = 20  # rows subtracted for each that is left, before rounding makes it better to start anew
_CLOSE = 1e-6  # a residual that may be as good as rounding allows
_EASIER = 4.0  # ratio of penalties, where the wanted one is approached step by step
_PATIENCE = 6  # iterations without a smaller residual, after which rounding is all that is left


class HingeMachine:
    """Columns, their weights for every target, and the intercepts.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_targets)
        1 and -1.
    width : int
        Neighboring columns per group.

    Attributes
    ----------
    weights : ndarray of shape (n_columns, n_targets)
    intercept : ndarray of shape (n_targets,)
    residual : float
        Largest violation of the conditions for a minimum, in units of the penalty, after :meth:`solve`.
    n_iter : int
        Newton steps so far.

    Notes
    -----
    Cost of a Newton step: O(n k) for the outputs, O(m k^2) for the m samples that entered or left I, O(s^3) for s
    weights that are not zero. Memory: the columns, and one k x k matrix per target.
    """

    def __init__(self, Y: np.ndarray, width: int = 1) -> None:
        self.Y, self.width = np.asarray(Y, dtype=float), width
        n_samples, n_targets = self.Y.shape
        self._buffer = np.empty((8 * width, n_samples))
        self.weights = np.zeros((0, n_targets))
        self.intercept = np.zeros(n_targets)
        self._outputs = np.zeros((n_samples, n_targets))  # without the intercept
        self._counts = np.zeros((n_samples, n_targets), dtype=bool)  # who is in I, as the Gram matrices have it
        self._grams = np.zeros((n_targets, 0, 0))
        self._sums = np.zeros((n_targets, 0))
        self._removed = np.zeros(n_targets)
        self.residual, self.n_iter = np.inf, 0
        self._center()

    @property
    def columns(self) -> np.ndarray:
        """The columns, one per row."""
        return self._buffer[: len(self.weights)]

    @property
    def group_norms(self) -> np.ndarray:
        """Norm of the weights of every group."""
        return group_norms(self.weights, self.width)

    def slack(self) -> np.ndarray:
        """y times the positive part of the hinge: the pull of every sample, which sums to zero for every target."""
        return self.Y * np.maximum(0.0, 1.0 - self.Y * (self._outputs + self.intercept))

    def loss(self) -> float:
        """Half the sum of squared hinges."""
        return 0.5 * float(np.sum(self.slack() ** 2))

    def add(self, columns: np.ndarray) -> None:
        """Take in columns of shape (n_new, n_samples), whole groups, at weight zero."""
        old, new = len(self.weights), len(self.weights) + len(columns)
        if new > len(self._buffer):
            grown = np.empty((max(new, 2 * len(self._buffer)), len(self.Y)))
            grown[:old] = self._buffer[:old]
            self._buffer = grown
        self._buffer[old:new] = columns
        grams, sums = np.zeros((len(self._grams), new, new)), np.zeros((len(self._grams), new))
        for k, counts in enumerate(self._counts.T):
            across = self._buffer[:new] @ (columns * counts).T if counts.any() else 0.0
            grams[k, :old, :old] = self._grams[k]
            grams[k, :, old:], grams[k, old:, :] = across, np.transpose(across)
            sums[k, :old], sums[k, old:] = self._sums[k], columns @ counts
        self._grams, self._sums = grams, sums
        self.weights = np.concatenate([self.weights, np.zeros((len(columns), self.weights.shape[1]))])

    def keep(self, groups: np.ndarray) -> None:
        """Go on with the given groups, in ascending order; those that leave must have no weight."""
        rows = (groups[:, None] * self.width + np.arange(self.width)).ravel()
        self._buffer[: rows.size] = self._buffer[rows]
        self.weights = self.weights[rows]
        self._grams = self._grams[:, rows[:, None], rows]
        self._sums = self._sums[:, rows]

    def solve(self, penalty: float, tol: float = 1e-8, max_iter: int = 200) -> bool:
        """Go to the minimum; whether no condition is violated by more than ``tol`` times the penalty."""
        return self._go(penalty, tol, max_iter // 4) or self._approach(penalty, tol, max_iter)

    def _approach(self, penalty: float, tol: float, max_iter: int) -> bool:
        """Start over from nothing and lower the penalty step by step: the way where few samples are left in I."""
        if self.residual <= _CLOSE or not len(self.weights):
            return False
        self.weights, self._outputs = np.zeros_like(self.weights), np.zeros_like(self._outputs)
        self._center()
        easier = float(group_norms(self.columns @ self.slack(), self.width).max())
        while easier > _EASIER * penalty:
            self._go(easier, 1e-3, max_iter)
            easier /= _EASIER
        return self._go(penalty, tol, max_iter)

    def _go(self, penalty: float, tol: float, max_iter: int) -> bool:
        """Newton steps from where the weights are."""
        best, waited = np.inf, 0
        for _ in range(max_iter):
            slack = self.slack()
            pull = self.columns @ slack
            inside = np.max(violation(pull, self.weights, self.width, penalty), initial=0.0)
            self.residual = max(float(inside), float(np.abs(slack.sum(axis=0)).max())) / penalty
            if self.residual <= tol:
                break
            waited = 0 if self.residual < 0.5 * best else waited + 1
            best = min(best, self.residual)
            if waited > _PATIENCE and best < _CLOSE:
                break
            self.n_iter += 1
            self._count(slack != 0)
            self._step(pull, penalty, 0.1 * max(tol, min(0.1, self.residual)) * penalty)
        return self.residual <= tol

    def _step(self, pull: np.ndarray, penalty: float, tol: float) -> None:
        """Solve the least-squares problem of the samples that count, and go towards its solution."""
        counts = np.maximum(self._counts.sum(axis=0), 1.0)
        G = self._grams - self._sums[:, :, None] * (self._sums / counts[:, None])[:, None, :]
        aim = pull + np.einsum("kij,jk->ik", G, self.weights)
        change = GroupLasso(G, aim, penalty, self.width).minimize(self.weights, tol, _INNER) - self.weights
        rows = np.flatnonzero(change.any(axis=1))
        few = rows.size < len(change) // 4  # beyond, the copy of their columns costs more than it saves
        along = (change[rows].T @ self._buffer[rows] if few else change.T @ self.columns).T
        shift = -np.einsum("ki,ik->k", self._sums, change) / counts
        length = self._search(change, along, shift, penalty)
        self.weights = self.weights + length * change
        self._outputs += length * along
        self.intercept = self.intercept + length * shift
        self._center()

    def _search(self, change: np.ndarray, along: np.ndarray, shift: np.ndarray, penalty: float) -> float:
        """Length of the step, at most one, at which the objective stops falling."""
        margin = self.Y * (self._outputs + self.intercept)
        gain = self.Y * (along + shift)

        def slope(t: float) -> float:
            moved = self.weights + t * change
            norms = group_norms(moved, self.width)
            turn = np.where(
                norms > 0,
                group_dots(change, group_directions(moved, norms, self.width), self.width),
                group_norms(change, self.width) * (1.0 if t == 0 else -1.0),
            )
            return penalty * float(turn.sum()) - float(np.vdot(gain, np.maximum(0.0, 1.0 - margin - t * gain)))

        def value(t: float) -> float:
            norms = group_norms(self.weights + t * change, self.width)
            return penalty * float(norms.sum()) + 0.5 * float(np.sum(np.maximum(0.0, 1.0 - margin - t * gain) ** 2))

        return find_rise(slope, value)

    def _center(self) -> None:
        """Set every intercept to where its objective is least: the mean of y - f over the samples that count."""
        for k in range(self.Y.shape[1]):
            self.intercept[k] = best_intercept(self.Y[:, k], self._outputs[:, k], float(self.intercept[k]))

    def _count(self, counts: np.ndarray) -> None:
        """Bring the Gram matrices up to date with the samples whose hinge is positive."""
        for k in range(counts.shape[1]):
            joined = np.flatnonzero(counts[:, k] & ~self._counts[:, k])
            left = np.flatnonzero(self._counts[:, k] & ~counts[:, k])
            self._removed[k] += left.size
            n_now = np.count_nonzero(counts[:, k])
            if joined.size + left.size > n_now or self._removed[k] > _MOST_REMOVED * n_now:
                self._removed[k] = 0
                rows = self.columns if counts[:, k].all() else self.columns[:, counts[:, k]]
                self._grams[k], self._sums[k] = rows @ rows.T, rows.sum(axis=1)
                continue
            for samples, sign in ((joined, 1.0), (left, -1.0)):
                if samples.size:
                    rows = self.columns[:, samples]
                    self._grams[k] += sign * (rows @ rows.T)
                    self._sums[k] += sign * rows.sum(axis=1)
        self._counts = counts


def best_intercept(y: np.ndarray, f: np.ndarray, start: float) -> float:
    """Minimize the sum of squared hinges of ``y (f + b)`` over b: Newton's method between two bounds that close in."""
    target = y - f  # the hinge is y (target - b), where that is positive
    if np.all(y == y[0]):
        return start
    low, high = float(target.min()), float(target.max())
    b = min(max(start, low), high)
    for number in range(200):
        counts = y * (target - b) > 0
        n = np.count_nonzero(counts)
        if n == 0:
            break
        change = float(target[counts].sum()) / n - b
        if abs(change) <= 1e-15 * max(1.0, abs(b)):
            break
        low, high = (b, high) if change > 0 else (low, b)
        is_inside = low < b + change < high and number % 4 < 3  # or else it could go to and fro
        b = b + change if is_inside else 0.5 * (low + high)
    return b
