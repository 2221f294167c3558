r"""Scaling factors that minimize a criterion of support vector machines, and what is lost without each of them.

The kernel is :math:`k(\sigma * x, \sigma * x')` (Lal et al. 2006, Eq. 15), a function :math:`\varphi` of a sum over
features in which :math:`s_p = \sigma_p^2` multiplies that of feature p: with G the derivative of the criterion by K,

.. math:: \frac{\partial B}{\partial s_p} = \langle G * \varphi'(u),\ u_p \rangle, \qquad u = \sum_p s_p u_p.

A kernel that is homogeneous in s has a free scale, which only changes what C means: there the sum of s is fixed, and
the criterion is one of :math:`s / \sum_p s_p`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks, column_blocks
from tamis.kernels.solvers.feature_kernel import AdditiveKernel
from tamis.rank.scaling._svm_criteria import Form, RadiusMargin, SVMCriterion

_MEMORY = 10  # pairs of steps and changes of the gradient that L-BFGS keeps
_LINE_SEARCH = 20  # evaluations in one line search
_TIE = 1e-6  # of the largest saliency: smaller differences are decided by the gradient


@dataclass
class ScaledCriterion:
    """A criterion as a function of squared scaling factors, one for each group of columns.

    Attributes
    ----------
    A : ndarray or sparse array of shape (n_rows, n_columns)
        Sparse with a linear kernel only.
    owner : ndarray of shape (n_columns,)
        The factor of every column.
    function : AdditiveKernel
    criterion : SVMCriterion
    total : float or None
        Sum of squared factors over the columns to which they are normalized; None where their scale matters.
    unit : float
        The criterion is divided by it.
    value : float
        The last value, in this unit.
    """

    A: Any
    owner: np.ndarray
    function: AdditiveKernel
    criterion: SVMCriterion
    total: float | None
    unit: float = 1.0
    value: float = field(default=np.inf, init=False)

    def squares(self, t: np.ndarray) -> np.ndarray:
        """Squared factor of every column."""
        s = t[self.owner]
        return s if self.total is None else s * (self.total / s.sum())

    def evaluate(self, t: np.ndarray) -> tuple[float, np.ndarray]:
        """The criterion at squared factors t, and its gradient."""
        s = self.squares(t)
        sums = self._sums(s)
        value, form = self.criterion.evaluate(self.function.finite_value(sums))
        by_column = self._contract(form, sums)
        if self.total is not None:  # the normalization's own derivative
            by_column = (by_column - by_column @ s / self.total) * (self.total / t[self.owner].sum())
        self.value = value / self.unit
        return self.value, np.bincount(self.owner, weights=by_column, minlength=t.size) / self.unit

    def _sums(self, s: np.ndarray) -> np.ndarray:
        if sparse.issparse(self.A):
            return self.function.sum_terms(self.A @ sparse.diags_array(np.sqrt(s)))
        return self.function.sum_terms(self.A * np.sqrt(s))

    def _contract(self, form: Form, sums: np.ndarray) -> np.ndarray:
        """``<dK / ds_p, G>`` of every column."""
        if self.function.kernel != "linear":
            return self.function.contract_terms(form.matrix() * self.function.slope(sums), self.A)
        squared = self.A.multiply(self.A).tocsc() if sparse.issparse(self.A) else self.A**2
        out = squared.T @ form.diagonal
        for block in blocks(form.left.shape[1], CACHE_ENTRIES // max(out.size, 1)):
            out += np.sum((self.A.T @ form.left[:, block]) * (self.A.T @ form.right[:, block]), axis=1)
        return out

    # what is lost without a factor

    def increases(self, t: np.ndarray) -> np.ndarray:
        """By how much the criterion increases if each factor alone becomes zero and the SVMs are trained anew."""
        s = self.squares(t)
        sums = self._sums(s)
        before = self.criterion.value(self.function.finite_value(sums))
        return np.array([self._without(s, sums, factor) - before for factor in range(t.size)]) / self.unit

    def _without(self, s: np.ndarray, sums: np.ndarray, factor: int) -> float:
        columns = np.flatnonzero(self.owner == factor)
        part = self.A[:, columns].toarray() if sparse.issparse(self.A) else self.A[:, columns]
        left = sums - self.function.sum_terms(part * np.sqrt(s[columns]))
        return self.criterion.value(
            self.function.finite_value(np.maximum(left, 0.0) if self.function.kernel == "rbf" else left)
        )

    def second_order(self, t: np.ndarray) -> np.ndarray:
        r"""The increase to second order, :math:`-s_p B_p + \tfrac12 s_p^2 B_{pp}`, summed over the columns of a factor.

        As in optimal brain damage the Hessian counts as diagonal. At a minimum the first term is zero.
        """
        criterion = self.criterion
        assert isinstance(criterion, RadiusMargin)  # the only one with a curvature in closed form
        s = self.squares(t)
        sums = self._sums(s)
        _, form = criterion.evaluate(self.function.finite_value(sums))
        bend = np.empty_like(s)
        for block in column_blocks(*self.A.shape):
            columns = self.A[:, block].toarray() if sparse.issparse(self.A) else self.A[:, block]
            bend[block] = criterion.curvature(self.function, sums, columns)
        loss = -s * self._contract(form, sums) + 0.5 * s**2 * bend
        return np.bincount(self.owner, weights=loss, minlength=t.size) / self.unit


@dataclass(frozen=True)
class Minimum:
    """The end of a descent.

    Attributes
    ----------
    squares : ndarray
        Squared factors.
    gradient : ndarray
        Of the criterion over its first value, there, by squared factors over their mean at the start.
    start, value : float
        The criterion at the first and at the last point.
    history : list of float
        The criterion after every iteration.
    n_iter : int
    converged : bool
        Whether the largest entry of the projected gradient is below the tolerance, or the criterion at rest.
    """

    squares: np.ndarray
    gradient: np.ndarray
    start: float
    value: float
    history: list[float]
    n_iter: int
    converged: bool

    @property
    def projected_gradient(self) -> float:
        """Largest entry of the gradient, where a factor of zero cannot become smaller."""
        free = np.where(self.squares > 0, np.abs(self.gradient), np.maximum(-self.gradient, 0.0))
        return float(free.max(initial=0.0))


def minimize_criterion(scaled: ScaledCriterion, start: np.ndarray, max_iter: int, tol: float) -> Minimum:
    """L-BFGS-B over squared factors that are not negative, of the criterion over its value at the start.

    Undivided, the first steps would be as long as the criterion is large, and end on a plateau where every kernel entry
    is zero. Factors are in units of their mean at the start, for the first step has a length of one.
    """
    scaled.unit = 1.0
    scaled.unit = first = max(scaled.evaluate(start)[0], np.finfo(float).tiny)
    size = float(start.mean()) or 1.0
    history, best = [first], start

    def in_units(t: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = scaled.evaluate(size * t)
        return value, size * gradient

    def after_iteration(t: np.ndarray) -> None:
        nonlocal best
        if scaled.value * first <= min(history):
            best = size * t
        history.append(scaled.value * first)  # the line search ends at the point it accepts

    found = minimize(
        in_units,
        start / size,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size,
        callback=after_iteration,
        options={"maxiter": max_iter, "maxcor": _MEMORY, "maxls": _LINE_SEARCH, "gtol": tol, "ftol": 1e-12},
    )
    value, gradient = scaled.evaluate(best)
    return Minimum(best, size * gradient, first, value * first, history, int(found.nit), int(found.nit) < max_iter)


def strengths(saliency: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Saliencies between zero and one, none of them zero; equal ones by the gradient, the steepest descent first."""
    low, high = float(saliency.min(initial=0.0)), float(saliency.max(initial=0.0))
    shares = (saliency - low) / (high - low) if high > low else np.zeros_like(saliency)
    rank = np.empty(saliency.size)
    rank[np.argsort(-gradient, kind="stable")] = np.arange(1, saliency.size + 1) / saliency.size
    return (1.0 - _TIE) * shares + _TIE * rank
