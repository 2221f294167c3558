r"""Multinomial logistic regression by Newton's method, warm-started, on a table or on a kernel matrix.

.. math:: \min_W \tfrac12 \sum_{kj} p_j w_{kj}^2 - \sum_i c_i \log P_{y_i i}, \qquad
          P_{ki} = \frac{e^{f_{ki}}}{\sum_l e^{f_{li}}}, \qquad f_{ki} = \langle w_k, z_i \rangle,

with weights for every class; the first entry of z may be an intercept (p = 0: not penalized). The gradient is
:math:`p W - V Z`, :math:`V_{ki} = c_i ([y_i = k] - P_{ki})`. Newton's equations are solved by conjugate gradients: with
K classes a product of the Hessian and a direction costs O(nKd).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf
from scipy.special import log_softmax, softmax

from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.gram import Gram

_MAX_HALVINGS = 30
_MIN_FORCING, _MAX_FORCING = 1e-3, 0.1  # error that conjugate gradients leave of a Newton step, relative to the step
_MIN_CURVATURE = 1e-14  # of the loss of a row, relative to its cost


class MultinomialModel:
    """One model of all classes, kept optimal while features are eliminated; the interface is ``PrimalLinearModel``'s.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n_entries, n_samples)
        One feature per row, the intercept first; never written to.
    penalty : ndarray of shape (n_entries,)
        1 for features; 0 or 1 for the intercept.
    codes : ndarray of int of shape (n_samples,)
        The class of every row, from 0 on.
    cost : ndarray of shape (n_samples,)
    tol : float
        Largest entry of the gradient, relative to the cost of all rows times their largest entries.
    max_iter : int
        Newton steps of one :meth:`solve`.

    Attributes
    ----------
    weights : ndarray of shape (n_classes, n_entries)
    f : ndarray of shape (n_classes, n_samples)
        The outputs.
    v : ndarray of shape (n_classes, n_samples)
        The dual variables.
    residual : float
        Largest entry of the gradient, in the units of ``tol``, after the last :meth:`solve`.
    n_iter : int
        Newton steps so far.
    """

    weight_error = 0.0  # what is told of weights that are compared

    def __init__(
        self,
        table: Any,
        penalty: np.ndarray,
        codes: np.ndarray,
        cost: np.ndarray,
        *,
        tol: float = 1e-10,
        max_iter: int = 200,
    ) -> None:
        n_classes = int(codes.max()) + 1
        self.penalty, self.cost, self.codes = penalty, cost, codes
        self.tol, self.max_iter = tol, max_iter
        self.is_class = codes == np.arange(n_classes)[:, None]
        self.weights, self.f = np.zeros((n_classes, penalty.size)), np.zeros((n_classes, codes.size))
        self.v = np.zeros((n_classes, codes.size))
        self.n_iter, self.residual = 0, np.inf
        self._take_table(table)

    def _take_table(self, table: Any) -> None:
        self.table = table
        self._gradient_unit = abs(table) @ self.cost
        self._norm2 = (table.multiply(table) if sparse.issparse(table) else table * table).sum(axis=1)

    @property
    def converged(self) -> bool:
        """Whether the last :meth:`solve` met the tolerance."""
        return self.residual <= self.tol

    def eliminate(self, eliminated: np.ndarray, columns: Any, kept: np.ndarray, table: Any) -> None:
        """Remove the entries ``eliminated``, with these ``columns``; ``table`` holds those ``kept``, in their order."""
        self.f = self.f - self.weights[:, eliminated] @ columns
        self.weights, self.penalty, self.table = self.weights[:, kept], self.penalty[kept], table
        self._gradient_unit, self._norm2 = self._gradient_unit[kept], self._norm2[kept]

    def replace(self, table: Any, penalty: np.ndarray, weights: np.ndarray) -> None:
        """Go on with another table, from these weights."""
        self.weights, self.penalty, self.f = weights, penalty, weights @ table
        self._take_table(table)

    def solve(self) -> None:
        """Newton steps with a line search, until the gradient is zero."""
        unit = float(self._gradient_unit.max()) + np.finfo(float).tiny
        for _ in range(self.max_iter):
            probability = softmax(self.f, axis=0)
            self.v = self.cost * (self.is_class - probability)
            gradient = self.penalty * self.weights - self.v @ self.table.T
            self.residual = float(np.abs(gradient).max() / unit)
            if self.residual <= self.tol:
                return
            self.n_iter += 1
            self._line_search(self._conjugate_gradients(gradient, probability))

    def _conjugate_gradients(self, gradient: np.ndarray, probability: np.ndarray) -> np.ndarray:
        """A Newton step, as exact as the present gradient deserves; preconditioned by the diagonal of the Hessian."""
        curvature = np.maximum(probability * (1.0 - probability), _MIN_CURVATURE) @ self.cost / self.cost.size
        diagonal = self.penalty + curvature[:, None] * np.maximum(self._norm2, np.finfo(float).tiny)
        diagonal = np.maximum(diagonal, np.finfo(float).eps * diagonal.max())
        forcing = min(_MAX_FORCING, max(_MIN_FORCING, self.residual**0.5, 0.1 * self.tol / self.residual))
        step, left = np.zeros(gradient.shape), -gradient
        direction = left / diagonal
        size = float((left * direction).sum())
        enough = forcing**2 * size
        for _ in range(gradient.size):
            outputs = direction @ self.table
            outputs -= (probability * outputs).sum(axis=0)
            product = self.penalty * direction + (self.cost * probability * outputs) @ self.table.T
            curved = float((direction * product).sum())
            if not curved > 0.0:  # lost to rounding
                break
            step, left = step + size / curved * direction, left - size / curved * product
            preconditioned = left / diagonal
            last, size = size, float((left * preconditioned).sum())
            if size <= enough:
                break
            direction = preconditioned + (size / last) * direction
        return step

    def _line_search(self, step: np.ndarray) -> None:
        """Take the step, halved until the objective does not increase."""
        along = step @ self.table
        start = self._objective(self.weights, self.f)
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            moved = self.weights + length * step, self.f + length * along
            if self._objective(*moved) <= start + OBJECTIVE_ROUNDING * abs(start):
                break
            length /= 2.0
        self.weights, self.f = moved

    def _objective(self, weights: np.ndarray, f: np.ndarray) -> float:
        log_likelihood = log_softmax(f, axis=0)[self.codes, np.arange(self.codes.size)]
        return 0.5 * float((self.penalty * weights**2).sum()) - float(self.cost @ log_likelihood)


class KernelMultinomialModel:
    """The same on a kernel matrix, by its factors; the interface is that of ``DualSVM``, with a row of v per class.

    Parameters
    ----------
    gram : Gram
    codes : ndarray of int of shape (n_samples,)
    cost : ndarray of shape (n_samples,)
    free_intercept : bool
    tol : float
    """

    def __init__(
        self, gram: Gram, codes: np.ndarray, cost: np.ndarray, *, free_intercept: bool, tol: float = 1e-10
    ) -> None:
        self.gram, self.n_intercepts = gram, int(free_intercept)
        self.model = MultinomialModel(*self._factor(), codes, cost, tol=tol)
        self._is_current = True

    @property
    def v(self) -> np.ndarray:
        """One row per class; the weights of linear models are ``v X``."""
        return self.model.v

    @property
    def b(self) -> np.ndarray:
        """The intercept of every class."""
        return self.model.weights[:, : self.n_intercepts].sum(axis=1)

    @property
    def squared_norm(self) -> float:
        """Of the weights of all classes."""
        return float((self.model.weights[:, self.n_intercepts :] ** 2).sum())

    @property
    def residual(self) -> float:
        """Largest entry of the gradient."""
        return self.model.residual

    @property
    def converged(self) -> bool:
        """Whether the last :meth:`solve` met the tolerance."""
        return self.model.converged

    @property
    def n_iter(self) -> int:
        """Newton steps so far."""
        return self.model.n_iter

    def downdate(self, column: np.ndarray) -> None:
        """Follow a kernel matrix that has just lost ``column column'``."""
        self._is_current = False

    def downdate_many(self, columns: np.ndarray) -> None:
        """Follow a kernel matrix that has just lost ``columns' columns``."""
        self._is_current = False

    def refactorize(self) -> None:
        """Follow any change of the kernel matrix."""
        self._is_current = False

    def solve(self) -> None:
        """Factor the kernel matrix if it has changed, and go on from the present dual variables."""
        if not self._is_current:
            table, penalty = self._factor()
            weights = self.model.v @ table.T
            weights[:, : self.n_intercepts] = self.model.weights[:, : self.n_intercepts]
            self.model.replace(table, penalty, weights)
            self._is_current = True
        self.model.solve()

    def _factor(self) -> tuple[np.ndarray, np.ndarray]:
        """``L'`` with ``K = L L'``, below a row of ones for a free intercept, and the penalty of its rows."""
        n = self.gram.diagonal.size
        factor, pivots, rank, _ = dpstrf(self.gram.block(np.arange(n)), lower=1)
        coordinates = np.zeros((n, max(int(rank), 1)))
        coordinates[pivots - 1] = np.tril(factor)[:, : coordinates.shape[1]]
        table = np.vstack([np.ones((self.n_intercepts, n)), coordinates.T])
        return table, np.repeat([0.0, 1.0], [self.n_intercepts, coordinates.shape[1]])
