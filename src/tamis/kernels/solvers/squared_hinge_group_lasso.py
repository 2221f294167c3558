r"""Squared hinge with a group-lasso penalty, kept at its minimum while columns enter and leave.

.. math:: \min_{W, b} \tfrac12 \sum_{ik} \bigl(1 - y_{ik} (z_i^\top w_k + b_k)\bigr)_+^2 + \lambda \sum_g \|W_g\|_F

is Eq. (2) of Flamary et al. (2011) times :math:`n / C`, with :math:`\lambda = n / C`, an intercept that is free, and
several targets that may share their features. With the signed hinge :math:`h_{ik} = y_{ik} (1 - y_{ik} f_{ik})_+`, the
negative gradient of the loss is :math:`R = Z^\top H`, and (W, b) is a minimum where (KKT conditions)

.. math:: R_g = \lambda W_g / \|W_g\| \ \text{ if } W_g \ne 0, \qquad \|R_g\| \le \lambda \ \text{ if } W_g = 0,
          \qquad \sum_i h_{ik} = 0.

The solver is a proximal Newton method. Let the support vectors :math:`I_k` be the samples with a positive hinge. While
these stay, the loss is that of least squares, :math:`\tfrac12 \sum_{i \in I} (y_i - z_i^\top w - b)^2`; centering over
:math:`I` eliminates the intercept, and a group lasso in the Gram matrix of the columns over :math:`I` remains. Its
solution gives the direction of a step, a line search the length. The Gram matrix is updated and downdated by the rows
of the samples that enter or leave :math:`I`.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels.solvers.group_lasso import (
    GroupLasso,
    group_directions,
    group_dots,
    group_norms,
    kkt_violation,
    line_search,
)

_GROUP_LASSO_ITERATIONS = 20  # few suffice: once I has changed, the least-squares problem is another one
_MAX_DOWNDATES = 20  # rows subtracted per support vector, before rounding makes it better to compute a Gram matrix anew
_NEARLY_SOLVED = 1e-6  # KKT residual that may be as small as rounding allows
_PENALTY_RATIO = 4.0  # between neighbors of the decreasing sequence that leads to a small penalty
_PATIENCE = 6  # iterations without a smaller residual, after which the rest is rounding


class SquaredHingeGroupLasso:
    """The problem on a growing table: its columns, their weights for every target, and the intercepts.

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
    kkt_residual : float
        Largest violation of the KKT conditions, in units of the penalty, after :meth:`solve`.
    n_iter : int
        Proximal Newton steps so far.

    Notes
    -----
    Cost of a proximal Newton step: O(n k) for the outputs, O(m k^2) for the m samples that entered or left I, O(s^3)
    for s weights that are not zero. Memory: the columns, and one k x k matrix per target.
    """

    def __init__(self, Y: np.ndarray, width: int = 1) -> None:
        self.Y, self.width = np.asarray(Y, dtype=float), width
        n_samples, n_targets = self.Y.shape
        self._buffer = np.empty((8 * width, n_samples))
        self.weights = np.zeros((0, n_targets))
        self.intercept = np.zeros(n_targets)
        self._outputs = np.zeros((n_samples, n_targets))  # without the intercept
        self._in_support = np.zeros((n_samples, n_targets), dtype=bool)  # I of the Gram matrices
        self._grams = np.zeros((n_targets, 0, 0))
        self._sums = np.zeros((n_targets, 0))
        self._n_downdates = np.zeros(n_targets)
        self.kkt_residual, self.n_iter = np.inf, 0
        self._update_intercepts()

    @property
    def columns(self) -> np.ndarray:
        """The columns, one per row."""
        return self._buffer[: len(self.weights)]

    @property
    def group_norms(self) -> np.ndarray:
        """Norm of the weights of every group."""
        return group_norms(self.weights, self.width)

    def signed_hinge(self) -> np.ndarray:
        """``y (1 - y f)_+``, the negative gradient of the loss by the outputs: it sums to zero for every target."""
        return self.Y * np.maximum(0.0, 1.0 - self.Y * (self._outputs + self.intercept))

    def loss(self) -> float:
        """Half the sum of squared hinges."""
        return 0.5 * float(np.sum(self.signed_hinge() ** 2))

    def add_columns(self, columns: np.ndarray) -> None:
        """Append columns of shape (n_new, n_samples), whole groups, at weight zero."""
        old, new = len(self.weights), len(self.weights) + len(columns)
        if new > len(self._buffer):
            grown = np.empty((max(new, 2 * len(self._buffer)), len(self.Y)))
            grown[:old] = self._buffer[:old]
            self._buffer = grown
        self._buffer[old:new] = columns
        grams, sums = np.zeros((len(self._grams), new, new)), np.zeros((len(self._grams), new))
        for k, in_support in enumerate(self._in_support.T):
            cross = self._buffer[:new] @ (columns * in_support).T if in_support.any() else 0.0
            grams[k, :old, :old] = self._grams[k]
            grams[k, :, old:], grams[k, old:, :] = cross, np.transpose(cross)
            sums[k, :old], sums[k, old:] = self._sums[k], columns @ in_support
        self._grams, self._sums = grams, sums
        self.weights = np.concatenate([self.weights, np.zeros((len(columns), self.weights.shape[1]))])

    def keep_groups(self, groups: np.ndarray) -> None:
        """Drop all but the given groups, in ascending order; the others must have no weight."""
        rows = (groups[:, None] * self.width + np.arange(self.width)).ravel()
        self._buffer[: rows.size] = self._buffer[rows]
        self.weights = self.weights[rows]
        self._grams = self._grams[:, rows[:, None], rows]
        self._sums = self._sums[:, rows]

    def solve(self, penalty: float, tol: float = 1e-8, max_iter: int = 200) -> bool:
        """Minimize; whether no condition is violated by more than ``tol`` times the penalty."""
        return self._proximal_newton(penalty, tol, max_iter // 4) or self._continuation(penalty, tol, max_iter)

    def _continuation(self, penalty: float, tol: float, max_iter: int) -> bool:
        """Restart from zero and decrease the penalty step by step: needed where I shrinks to few samples."""
        if self.kkt_residual <= _NEARLY_SOLVED or not len(self.weights):
            return False
        self.weights, self._outputs = np.zeros_like(self.weights), np.zeros_like(self._outputs)
        self._update_intercepts()
        larger = float(group_norms(self.columns @ self.signed_hinge(), self.width).max())
        while larger > _PENALTY_RATIO * penalty:
            self._proximal_newton(larger, 1e-3, max_iter)
            larger /= _PENALTY_RATIO
        return self._proximal_newton(penalty, tol, max_iter)

    def _proximal_newton(self, penalty: float, tol: float, max_iter: int) -> bool:
        """Steps from the current weights until the KKT conditions hold; whether they do."""
        smallest, n_waited = np.inf, 0
        for _ in range(max_iter):
            signed_hinge = self.signed_hinge()
            negative_gradient = self.columns @ signed_hinge
            violation = np.max(kkt_violation(negative_gradient, self.weights, self.width, penalty), initial=0.0)
            self.kkt_residual = max(float(violation), float(np.abs(signed_hinge.sum(axis=0)).max())) / penalty
            if self.kkt_residual <= tol:
                break
            n_waited = 0 if self.kkt_residual < 0.5 * smallest else n_waited + 1
            smallest = min(smallest, self.kkt_residual)
            if n_waited > _PATIENCE and smallest < _NEARLY_SOLVED:
                break
            self.n_iter += 1
            self._update_grams(signed_hinge != 0)
            step_tol = 0.1 * max(tol, min(0.1, self.kkt_residual)) * penalty
            self._proximal_newton_step(negative_gradient, penalty, step_tol)
        return self.kkt_residual <= tol

    def _proximal_newton_step(self, negative_gradient: np.ndarray, penalty: float, tol: float) -> None:
        """Solve the group lasso of the support vectors, and go towards its solution."""
        n_support = np.maximum(self._in_support.sum(axis=0), 1.0)
        G = self._grams - self._sums[:, :, None] * (self._sums / n_support[:, None])[:, None, :]
        C = negative_gradient + np.einsum("kij,jk->ik", G, self.weights)
        solution = GroupLasso(G, C, penalty, self.width).minimize(self.weights, tol, _GROUP_LASSO_ITERATIONS)
        step = solution - self.weights
        rows = np.flatnonzero(step.any(axis=1))
        is_sparse = rows.size < len(step) // 4  # otherwise the copy of their columns costs more than it saves
        outputs = (step[rows].T @ self._buffer[rows] if is_sparse else step.T @ self.columns).T
        intercept = -np.einsum("ki,ik->k", self._sums, step) / n_support
        length = self._line_search(step, outputs, intercept, penalty)
        self.weights = self.weights + length * step
        self._outputs += length * outputs
        self.intercept = self.intercept + length * intercept
        self._update_intercepts()

    def _line_search(self, step: np.ndarray, outputs: np.ndarray, intercept: np.ndarray, penalty: float) -> float:
        """Length, at most one, near the minimum of the objective along a step of weights, outputs and intercepts."""
        margin = self.Y * (self._outputs + self.intercept)
        margin_step = self.Y * (outputs + intercept)

        def slope(t: float) -> float:
            moved = self.weights + t * step
            norms = group_norms(moved, self.width)
            slope_of_norms = np.where(
                norms > 0,
                group_dots(step, group_directions(moved, norms, self.width), self.width),
                group_norms(step, self.width) * (1.0 if t == 0 else -1.0),
            )
            hinge = np.maximum(0.0, 1.0 - margin - t * margin_step)
            return penalty * float(slope_of_norms.sum()) - float(np.vdot(margin_step, hinge))

        def value(t: float) -> float:
            norms = group_norms(self.weights + t * step, self.width)
            hinge = np.maximum(0.0, 1.0 - margin - t * margin_step)
            return penalty * float(norms.sum()) + 0.5 * float(np.sum(hinge**2))

        return line_search(slope, value)

    def _update_intercepts(self) -> None:
        """Set every intercept to its minimum, the mean of y - f over the support vectors."""
        for k in range(self.Y.shape[1]):
            self.intercept[k] = best_intercept(self.Y[:, k], self._outputs[:, k], float(self.intercept[k]))

    def _update_grams(self, in_support: np.ndarray) -> None:
        """Update and downdate the Gram matrices by the samples that entered or left I; or compute them anew."""
        for k in range(in_support.shape[1]):
            entered = np.flatnonzero(in_support[:, k] & ~self._in_support[:, k])
            removed = np.flatnonzero(self._in_support[:, k] & ~in_support[:, k])
            self._n_downdates[k] += removed.size
            n_support = np.count_nonzero(in_support[:, k])
            if entered.size + removed.size > n_support or self._n_downdates[k] > _MAX_DOWNDATES * n_support:
                self._n_downdates[k] = 0
                rows = self.columns if in_support[:, k].all() else self.columns[:, in_support[:, k]]
                self._grams[k], self._sums[k] = rows @ rows.T, rows.sum(axis=1)
                continue
            for samples, sign in ((entered, 1.0), (removed, -1.0)):
                if samples.size:
                    rows = self.columns[:, samples]
                    self._grams[k] += sign * (rows @ rows.T)
                    self._sums[k] += sign * rows.sum(axis=1)
        self._in_support = in_support


def best_intercept(y: np.ndarray, f: np.ndarray, start: float) -> float:
    """Minimize the sum of squared hinges of ``y (f + b)`` over b by Newton's method, safeguarded by bisection."""
    residual = y - f  # the hinge is y (residual - b), where that is positive
    if np.all(y == y[0]):
        return start
    low, high = float(residual.min()), float(residual.max())
    b = min(max(start, low), high)
    for number in range(200):
        in_support = y * (residual - b) > 0
        n_support = np.count_nonzero(in_support)
        if n_support == 0:
            break
        step = float(residual[in_support].sum()) / n_support - b
        if abs(step) <= 1e-15 * max(1.0, abs(b)):
            break
        low, high = (b, high) if step > 0 else (low, b)
        # every fourth step bisects, for Newton's steps may cycle
        is_newton = low < b + step < high and number % 4 < 3
        b = b + step if is_newton else 0.5 * (low + high)
    return b
