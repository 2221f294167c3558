r"""Support vector machines in the dual along eliminations that change the working set: block principal pivoting.

With :math:`z = (b, v)`, :math:`r = (\tau, t)` and the KKT matrix M of all variables,

.. math:: M = \begin{pmatrix} 0 & 1^\top \\ 1 & K + \mathrm{diag}(\rho) \end{pmatrix}, \quad \rho > 0, \quad u = \infty,

the conditions of :mod:`~tamis.kernels.solvers.svm_dual` are a linear complementarity problem: for the intercept and the
free variables P, :math:`z_P = M_{PP}^{-1} r_P` with :math:`s_i v_i \ge 0`, and for the others N the negative gradient
:math:`g_N = r_N - M_{NP} z_P` with :math:`s_i g_i \le 0`. Both stand in one vector :math:`q = (z_P, g_N)`, which the
matrix swept by P transforms r to:

.. math:: T = \begin{pmatrix} -M_{PP}^{-1} & M_{PP}^{-1} M_{PN} \\
                              M_{NP} M_{PP}^{-1} & M_{NN} - M_{NP} M_{PP}^{-1} M_{PN} \end{pmatrix}.

All variables that violate their condition are exchanged between P and N at once, until none does (Judice and Pires,
1994). Sweeping by a further set S takes :math:`T_{SS}` only,

.. math:: q \leftarrow q - T_{\cdot S} \, \alpha, \quad q_S \leftarrow \pm \alpha, \qquad T_{SS} \, \alpha = q_S,

so that exchanges are held back, and T follows many of them in one product of matrices. So are eliminations:
:math:`K - x x^\top` is what a sweep by the last index of :math:`\begin{pmatrix} K & x \\ x^\top & 1 \end{pmatrix}`
leaves, one more member of S. With m members of S and n variables a round takes O(mn + m^3), an elimination O(n^2)
besides.

Exchanges of whole blocks may cycle. Each is the Newton step of the squared hinge in the primal from the point whose
rows inside the margin are P, outputs being :math:`f_P = t_P - \rho_P v_P` and :math:`f_N = t_N - g_N`: where violations
do not become fewer, an exact line search along the step decides which rows are exchanged, which ends after finitely
many rounds (Keerthi and DeCoste, 2005).

References
----------
Judice & Pires, "A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
problems", Computers & Operations Research 21(5), 1994.

Keerthi & DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs", Journal of Machine
Learning Research 6, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm

from tamis.kernels.solvers.svm_dual import DualSVM

_MAX_PENDING = 64  # members of S, or a quarter of the variables: with more, solving with T_SS costs as much as the rest
_MIN_PENDING = 8
_MAX_ROUNDS = 60  # of exchanges in one elimination
_MAX_IN_VAIN = 3  # rounds that leave as many violations as before, after which steps are searched along
_MAX_UPDATES = 16  # of T, after which it is computed anew, so that rounding does not accumulate
_REFINE, _REFRESH = 0.1, 10.0  # violations, in units of the tolerance, that are refined, or tell that T is due anew


def can_pivot(svm: DualSVM) -> bool:
    """Whether a problem is of this form: strictly convex, and bounded from one side."""
    box = svm.working_set
    return bool(box.is_bounded and np.isinf(box.upper).all() and svm.ridge.min() > 0)


class _PrimalPoint(NamedTuple):
    """Dual variables, which the weights are linear in, outputs, and the intercept."""

    v: np.ndarray
    f: np.ndarray
    b: float


class BlockPivoting:
    """One problem, solved again after each of several eliminations.

    Parameters
    ----------
    svm : DualSVM
        Solved; its point follows every elimination, its inverse only in :meth:`release`. Its kernel matrix is for the
        caller to downdate, before :meth:`update`.

    Attributes
    ----------
    n_exchanged : int
        Variables that have entered or left the working set at the last elimination.
    """

    n_exchanged: int

    def __init__(self, svm: DualSVM) -> None:
        self._svm, self._border = svm, svm.inverse.border
        n = svm.v.size + self._border
        self._right = svm.inverse.bordered(svm.total or 0.0, svm.target)
        self._n_most = min(_MAX_PENDING, max(_MIN_PENDING, n // 4))
        self._features = np.zeros((self._n_most + 1, n))  # values of eliminated features that T has not followed yet
        self._columns = np.zeros_like(self._features)  # the same, transformed by T
        self._products = np.zeros((self._n_most + 1, self._n_most + 1))  # the part of T_SS that belongs to them
        self._feature_q = np.zeros(self._n_most + 1)  # the part of q
        self._sweep()

    @property
    def is_due(self) -> bool:
        """Whether so much is held back that T should follow."""
        return len(self._exchanged) + self._n_features >= self._n_most

    def eliminate(self, column: np.ndarray) -> bool:
        """Solve without one more feature; False, and the machine is left as it was, where that did not succeed."""
        self._append(column)
        q = self._exchange_blocks()
        return q is not None and self._accept(q)

    def update(self) -> None:
        """Let T follow what was held back; the kernel matrix has followed the eliminations."""
        self._n_updates += 1
        if self._is_inaccurate or self._n_updates >= _MAX_UPDATES or not self._sweep_pending():
            self._svm.refactorize()
            self._sweep()

    def release(self) -> None:
        """Give the machine its inverse back; the kernel matrix has followed the eliminations."""
        if self._n_features:
            self.update()
        free = self._border + self._svm.working_set.free
        swept = np.concatenate([np.arange(self._border), free])
        self._svm.inverse.matrix = -self._matrix[np.ix_(swept, swept)]

    # The swept matrix.

    def _sweep(self) -> None:
        """Sweep M by the working set, given the inverse of its part, which the machine is relieved of."""
        svm, border = self._svm, self._border
        inverse, n = svm.inverse.matrix, svm.v.size + border
        matrix = np.ones((n, n))
        matrix[:border, :border] = 0.0
        matrix[border:, border:] = svm.gram.block(np.arange(svm.v.size))
        diagonal = np.arange(border, n)
        matrix[diagonal, diagonal] += svm.ridge
        swept = np.concatenate([np.arange(border), border + svm.working_set.free])
        others = border + np.flatnonzero(svm.working_set.is_at_bound)
        across = inverse @ matrix[np.ix_(swept, others)]
        matrix[np.ix_(others, others)] -= matrix[np.ix_(others, swept)] @ across
        matrix[np.ix_(swept, others)], matrix[np.ix_(others, swept)] = across, across.T
        matrix[np.ix_(swept, swept)] = -inverse
        svm.inverse.matrix = np.empty((0, 0))
        self._matrix, self._is_swept = matrix, np.zeros(n, dtype=bool)
        self._is_swept[swept] = True
        self._q = self._transform(self._right)
        self._n_updates, self._is_inaccurate = 0, False
        self._drop_pending()

    def _drop_pending(self) -> None:
        self._exchanged: list[int] = []  # variables that were exchanged, but for T
        self._n_features = 0
        self._is_free = self._is_swept.copy()

    def _transform(self, right: np.ndarray) -> np.ndarray:
        """``M_PP^-1 r_P`` and ``r_N - M_NP M_PP^-1 r_P``, for the P of T."""
        return np.where(self._is_swept, 0.0, right) - self._matrix @ np.where(self._is_swept, right, 0.0)

    def _append(self, column: np.ndarray) -> None:
        """Border T with a feature."""
        e = self._n_features
        feature = self._features[e]
        feature[self._border :] = column
        self._columns[e] = self._transform(feature)
        of_swept = np.where(self._is_swept, feature, 0.0)
        product = -(self._columns[: e + 1] @ of_swept)
        self._products[e, : e + 1] = self._products[: e + 1, e] = product
        self._products[e, e] += 1.0
        self._feature_q[e] = -float(of_swept @ self._q)
        self._n_features += 1

    def _pending(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows S of T, and T_SS: exchanged variables first, eliminated features then."""
        exchanged, e, m = self._exchanged, self._n_features, len(self._exchanged)
        rows = np.concatenate([self._matrix[exchanged], self._columns[:e]])
        system = np.empty((m + e, m + e))
        system[:, :m] = rows[:, exchanged]
        system[:m, m:] = system[m:, :m].T
        system[m:, m:] = self._products[:e, :e]
        return rows, system

    def _solve(self, q: np.ndarray, of_features: np.ndarray) -> np.ndarray:
        """A vector that T has transformed, after the sweeps that are held back."""
        rows, system = self._pending()
        exchanged, m = self._exchanged, len(self._exchanged)
        alpha = np.linalg.solve(system, np.concatenate([q[exchanged], of_features]))
        q = q - alpha @ rows
        q[exchanged] = np.where(self._is_swept[exchanged], -alpha[:m], alpha[:m])
        return q

    def _sweep_pending(self) -> bool:
        """T by what is held back, in one product; False where that is inaccurate."""
        rows, system = self._pending()
        exchanged, m = self._exchanged, len(self._exchanged)
        try:
            inverse = np.linalg.inv(system)
        except np.linalg.LinAlgError:
            return False
        solved = inverse @ rows
        # in the order of BLAS the symmetric matrix is its own transpose
        dgemm(-1.0, solved.T, rows.T, beta=1.0, c=self._matrix.T, trans_b=True, overwrite_c=True)
        signs = np.where(self._is_swept[exchanged], -1.0, 1.0)
        self._matrix[exchanged] = signs[:, None] * solved[:m]
        self._matrix[:, exchanged] = self._matrix[exchanged].T
        self._matrix[np.ix_(exchanged, exchanged)] = -(signs[:, None] * inverse[:m, :m] * signs)
        self._is_swept = self._is_free
        self._q = self._transform(self._right)
        self._drop_pending()
        return True

    # The search for a complementary solution.

    def _exchange_blocks(self) -> np.ndarray | None:
        """Exchange what violates its condition until nothing does; None where that does not come to an end."""
        before = self._is_free.copy()
        n_least, n_in_vain = self._right.size + 1, 0
        point: _PrimalPoint | None = None
        for _ in range(_MAX_ROUNDS):
            self._svm.n_iter += 1
            try:
                q = self._solve(self._q, self._feature_q[: self._n_features])
            except np.linalg.LinAlgError:
                return None
            violating = self._violating(q)
            if not violating.size:
                self.n_exchanged = int(np.count_nonzero(self._is_free != before))
                return q
            n_in_vain = 0 if violating.size < n_least else n_in_vain + 1
            n_least = min(n_least, violating.size)
            if point is not None or n_in_vain > _MAX_IN_VAIN:
                point = self._search_along(point, q)
                violating = self._crossed(point)
            self._exchange(violating)
        return None

    def _search_along(self, start: _PrimalPoint | None, q: np.ndarray) -> _PrimalPoint:
        """The least of the primal objective on the way to the minimum of the quadratic model, or that itself."""
        svm, border = self._svm, self._border
        is_free, values = self._is_free[border:], q[border:]
        v = np.where(is_free, values, 0.0)
        end = _PrimalPoint(
            v, svm.target - np.where(is_free, svm.ridge * values, values), float(q[0]) if border else 0.0
        )
        if start is None:
            return end
        length = _exact_step(start, end, svm)
        v, f = start.v + length * (end.v - start.v), start.f + length * (end.f - start.f)
        return _PrimalPoint(v, f, start.b + length * (end.b - start.b))

    def _crossed(self, point: _PrimalPoint) -> np.ndarray:
        """Places of variables that are free though their row is outside the margin, or the other way round."""
        is_inside = self._svm.working_set.signs * (self._svm.target - point.f) > 0.0
        return self._border + np.flatnonzero(is_inside != self._is_free[self._border :])

    def _violating(self, q: np.ndarray) -> np.ndarray:
        """Places of free variables outside the box and of others that would enter it."""
        svm, border = self._svm, self._border
        inward = svm.working_set.signs * q[border:]
        return border + np.flatnonzero(np.where(self._is_free[border:], inward < 0.0, inward > svm.tol))

    def _exchange(self, places: np.ndarray) -> None:
        self._is_free[places] ^= True
        self._exchanged = np.flatnonzero(self._is_free != self._is_swept).tolist()

    def _accept(self, q: np.ndarray) -> bool:
        """Put the machine at a solution, refined if need be; False if it violates the KKT conditions still."""
        svm, border = self._svm, self._border
        is_free = self._is_free[border:]
        if not is_free.any():
            return False
        z = np.where(self._is_free, q, 0.0)
        g, products = self._residual(z)
        violation = self._violation(g, z)
        self._is_inaccurate |= violation > _REFRESH * svm.tol
        if not violation <= _REFINE * svm.tol:
            transformed = self._transform(g)
            of_features = -(self._features[: self._n_features] @ np.where(self._is_swept, transformed, 0.0))
            z += np.where(self._is_free, self._solve(transformed, of_features), 0.0)
            g, products = self._residual(z)
            violation = self._violation(g, z)
            inside = svm.working_set.signs * z[border:]
            if not svm.is_negligible(violation) or inside.min() < 0:
                return False
        svm.v, svm.kv, svm.b = z[border:], products, float(z[0]) if border else 0.0
        svm.kkt_violation = violation
        svm.working_set.set_free(is_free)
        return True

    def _residual(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``r - M z``, M without the eliminated features, and ``K v``."""
        svm, border = self._svm, self._border
        v, features = z[border:], self._features[: self._n_features, border:]
        products = svm.gram.times(v) - (features @ v) @ features
        g = np.empty(z.size)
        g[border:] = svm.target - products - svm.ridge * v
        if border:
            g[border:] -= z[0]
            g[0] = self._right[0] - v.sum()
        return g, products

    def _violation(self, g: np.ndarray, z: np.ndarray) -> float:
        """Largest entry of the residual that should vanish, or of the gradient that leads into the box.

        The error of the equality counts relative to the largest variable, as in the active-set method.
        """
        border = self._border
        inward = self._svm.working_set.signs * g[border:]
        largest = float(np.where(self._is_free[border:], np.abs(inward), inward).max())
        return max(largest, abs(float(g[0])) / max(1.0, float(np.abs(z[border:]).max()))) if border else largest


def _exact_step(start: _PrimalPoint, end: _PrimalPoint, svm: DualSVM) -> float:
    """Where the objective of the squared hinge is least between two points: the root of its slope, at most 1.

    With the errors h = s (t - f) it is ``v'Kv / 2 + sum max(h, 0)^2 / (2 ridge)``, and its slope piecewise linear.
    """
    signs = svm.working_set.signs
    dv, df, error = end.v - start.v, end.f - start.f, signs * (svm.target - start.f)
    growth = -signs * df  # of the errors
    along = df - (end.b - start.b)  # K dv
    constant, linear = float(start.v @ along), float(dv @ along)

    def slope(length: float) -> float:
        inside = np.maximum(error + length * growth, 0.0)
        return constant + length * linear + float(inside @ (growth / svm.ridge))

    if slope(1.0) <= 0.0:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = -error / growth
    knots = np.concatenate([[0.0], np.sort(crossing[(crossing > 0.0) & (crossing < 1.0)]), [1.0]])
    low, high = 0, knots.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if slope(knots[middle]) > 0.0 else (middle, high)
    before, after = slope(knots[low]), slope(knots[high])
    share = -before / (after - before) if after > before else 1.0
    return float(knots[low] + min(max(share, 0.0), 1.0) * (knots[high] - knots[low]))
