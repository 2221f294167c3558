r"""Bounds on the leave-one-out error of support vector machines, and their change with each feature.

An SVM is :math:`f = K v + b` with :math:`v_k = \alpha_k y_k`; a soft margin is a ridge on the diagonal of
:math:`K` (Lal et al. 2006, footnote 12), so that all below holds as for a hard margin. Both bounds are summed over
the SVMs of one class against the rest.

With :math:`\beta` the weights of the points on the smallest enclosing ball, or 1/n each for the variance (Eq. 17),

.. math:: 4 R^2 \|w\|^2, \quad R^2 = \sum_k \beta_k K_{kk} - \beta^T K \beta, \quad
          \|w\|^2 = 2 \sum_k \alpha_k - v^T K v;

and, over the support vectors,

.. math:: \sum_k \alpha_k S_k^2, \quad S_k^2 = 1 / A_{kk}, \quad
          A = \begin{pmatrix} K_{SV} & 1 \\ 1^T & 0 \end{pmatrix}^{-1}.

The derivative of either is :math:`\langle \partial K, G \rangle` with one symmetric matrix G for all features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.solvers.feature_kernel import FeatureKernel

_NUMBERS = 2**20  # of a block that is computed at a time
_MIN_RIDGE = 1e-12  # relative to the mean diagonal: makes the system of a hard margin regular


@dataclass(frozen=True)
class TrainedSVM:
    """The solution of an SVM.

    Attributes
    ----------
    signs : ndarray of shape (n_rows,)
        1 or -1.
    dual : ndarray of shape (n_rows,)
        ``alpha_k y_k``; they sum to zero.
    support : ndarray of int
        Rows whose dual variable is between its bounds.
    """

    signs: np.ndarray
    dual: np.ndarray
    support: np.ndarray


class Bound(ABC):
    """A bound on the leave-one-out errors of given SVMs.

    Attributes
    ----------
    value : float
    """

    value: float

    @abstractmethod
    def changes(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """Change of the bound without each feature alone, at fixed dual variables."""

    @abstractmethod
    def gradient(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """Derivative of the bound by the scale of each feature, the SVMs being optimal at every scale."""


class RadiusMarginBound(Bound):
    """``4 R^2 ||w||^2`` (Lal et al. 2006, Eq. 14), summed over the SVMs.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
    svms : sequence of TrainedSVM
    weights : ndarray of shape (n_rows,)
        Of the points on the enclosing ball, or all equal for the variance; they sum to one.
    ridge : float
    counts : ndarray of shape (n_rows,) or float, default=1.0
        How often each row counts: dual variables and weights are sums over so many copies of a row, each of which has
        the ridge of its own.

    Attributes
    ----------
    value : float
    radius2 : float
    norms2 : ndarray of shape (n_svms,)
        ``||w||^2`` of each.

    Notes
    -----
    At fixed dual variables both factors are dual objectives at a feasible point: neither exceeds that of retraining.
    """

    def __init__(
        self,
        K: np.ndarray,
        svms: Sequence[TrainedSVM],
        weights: np.ndarray,
        ridge: float,
        counts: np.ndarray | float = 1.0,
    ) -> None:
        self.weights = weights
        self.duals = np.array([svm.dual for svm in svms])
        self.radius2 = measure_radius2(K, weights, ridge, counts)
        self.norms2 = measure_norms2(K, svms, ridge, counts)
        self.value = 4.0 * self.radius2 * float(self.norms2.sum())

    def changes(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """As for every bound; O(n D) for a linear kernel, O(r^2 D) for others, r rows that are not zero."""
        spread, energy = self._terms(kernel, features)
        return 4.0 * ((self.radius2 - spread) * energy - self.norms2.sum() * spread)

    def gradient(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """As for every bound, at the same cost."""
        if kernel.kernel == "linear":
            spread, energy = 2.0 * self._terms(kernel, features)
        else:
            rows, forms = self._forms()
            spread, energy = contract_derivatives(kernel, forms, rows, features)
        return 4.0 * (self.norms2.sum() * spread - self.radius2 * energy)

    def _terms(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """What each feature adds to the squared radius and to ``v'Kv``, of shape (2, n_features)."""
        if kernel.kernel != "linear":
            rows, forms = self._forms()
            return contract_changes(kernel, forms, rows, features)
        on_sphere = np.flatnonzero(self.weights)
        terms = np.empty((2, features.size))
        for block in blocks(features.size, _NUMBERS // self.weights.size):
            columns = kernel.columns(features[block])
            sphere_columns = columns if on_sphere.size == len(columns) else columns[on_sphere]
            terms[0, block] = (
                self.weights[on_sphere] @ sphere_columns**2 - (self.weights[on_sphere] @ sphere_columns) ** 2
            )
            terms[1, block] = ((self.duals @ columns) ** 2).sum(axis=0)
        return terms

    def _forms(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows that are not zero, and the two matrices whose products with K are the squared radius and ``v'Kv``."""
        rows = np.flatnonzero((self.weights != 0) | np.any(self.duals != 0, axis=0))
        weights, duals = self.weights[rows], self.duals[:, rows]
        return rows, np.array([np.diag(weights) - np.outer(weights, weights), duals.T @ duals])


class SpanBound(Bound):
    """``sum_k alpha_k S_k^2`` over the support vectors (Lal et al. 2006, Sec. 2.3), summed over the SVMs.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
    svms : sequence of TrainedSVM
    ridge : float

    Attributes
    ----------
    value : float
    n_errors : int
        Support vectors with ``alpha_k S_k^2 >= 1``: leave-one-out errors, if the support vectors stay the same.

    Notes
    -----
    ``alpha_k S_k^2 = 1 - y_k f_(-k)(x_k)``, f_(-k) being the SVM trained without row k, if its support vectors are the
    others that there were (Vapnik and Chapelle 2000); then the count is exact. Where they change, the spans
    are an approximation, and sum and count may be on either side of the leave-one-out errors.
    """

    def __init__(self, K: np.ndarray, svms: Sequence[TrainedSVM], ridge: float) -> None:
        self.ridge = ridge
        self.parts = [_Spans(K, svm, ridge) for svm in svms]
        self.value = float(sum(part.terms.sum() for part in self.parts))
        self.n_errors = int(sum(np.count_nonzero(part.terms >= 1.0) for part in self.parts))

    def changes(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """As for every bound; O(r^2 D) for a linear kernel, O(r^3 D) for others, r support vectors."""
        total = np.zeros(features.size)
        for part in self.parts:
            if kernel.kernel == "linear":
                total += part.changes_linear(kernel, features)
            else:
                total += part.changes(kernel, features, self.ridge)
        return total

    def gradient(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """As for every bound, as long as the support vectors stay the same; O(r^2 D)."""
        total = np.zeros(features.size)
        for part in self.parts:
            total += contract_derivatives(kernel, part.gradient[None], part.rows, features)[0]
        return total


class _Spans:
    """The spans of one SVM's support vectors."""

    def __init__(self, K: np.ndarray, svm: TrainedSVM, ridge: float) -> None:
        self.rows = svm.support
        self.dual, signs = svm.dual[self.rows], svm.signs[self.rows]
        self.alpha = self.dual * signs
        inverse = invert_bordered(K[np.ix_(self.rows, self.rows)], ridge)
        self.inverse = inverse[:-1, :-1]  # without the row of the intercept, which features do not change
        self.span2 = 1.0 / np.diagonal(self.inverse)
        self.terms = self.alpha * self.span2
        # d span2_k = span2_k^2 (A dK A)_kk and d dual = -A dK dual: the gradient is their sum, made symmetric
        outer = np.outer(self.inverse @ (signs * self.span2), self.dual)
        self.gradient = (self.inverse * (self.alpha * self.span2**2)) @ self.inverse - 0.5 * (outer + outer.T)

    def changes_linear(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """A rank-one downdate of the inverse for all features at once: ``A + (A x)(A x)' / (1 - x'A x)``."""
        changes = np.empty(features.size)
        diagonal = np.diagonal(self.inverse)[:, None]
        for block in blocks(features.size, _NUMBERS // max(self.rows.size, 1)):
            columns = kernel.columns(features[block], self.rows)
            solved = self.inverse @ columns
            pivot = np.maximum(1.0 - np.einsum("ij,ij->j", columns, solved), np.finfo(float).eps)
            growth = solved**2 / pivot  # of the diagonal of the inverse
            changes[block] = -self.terms @ (growth / (diagonal + growth))
        return changes

    def changes(self, kernel: FeatureKernel, features: np.ndarray, ridge: float) -> np.ndarray:
        """The same by an inverse per feature."""
        changes = np.empty(features.size)
        for block in blocks(features.size, _NUMBERS // max(self.rows.size, 1) ** 2):
            inverse = invert_bordered(kernel.without(features[block], self.rows), ridge)
            span2 = 1.0 / np.diagonal(inverse, axis1=1, axis2=2)[:, :-1]
            changes[block] = (span2 - self.span2) @ self.alpha
        return changes


def measure_radius2(K: np.ndarray, weights: np.ndarray, ridge: float, counts: np.ndarray | float = 1.0) -> float:
    """Squared radius of the ball that weights describe; their mean squared distance from the center (Eq. 17)."""
    own = ridge * (weights.sum() - weights @ (weights / counts))
    return float(weights @ np.diagonal(K) - weights @ K @ weights + own)


def measure_norms2(
    K: np.ndarray, svms: Sequence[TrainedSVM], ridge: float, counts: np.ndarray | float = 1.0
) -> np.ndarray:
    """``||w||^2`` of each SVM as twice its dual objective: at the optimum, the inverse squared margin."""
    duals, signs = np.array([svm.dual for svm in svms]), np.array([svm.signs for svm in svms])
    energy = np.einsum("mi,mi->m", duals @ K, duals) + ridge * np.einsum("mi,mi->m", duals, duals / counts)
    return 2.0 * np.einsum("mi,mi->m", duals, signs) - energy


def invert_bordered(K: np.ndarray, ridge: float | np.ndarray) -> np.ndarray:
    """Inverse of ``[[K + ridge, 1], [1', 0]]`` for one matrix or a stack; a ridge of zero is replaced by a tiny one."""
    r = K.shape[-1]
    if not r:
        return np.zeros((*K.shape[:-2], 1, 1))
    system = np.zeros((*K.shape[:-2], r + 1, r + 1))
    system[..., :r, :r] = K
    system[..., :r, r] = system[..., r, :r] = 1.0
    diagonal = np.einsum("...ii->...i", system)[..., :r]
    diagonal += (
        ridge if np.all(ridge) else _MIN_RIDGE * np.maximum(diagonal.mean(axis=-1, keepdims=True), np.finfo(float).tiny)
    )
    return np.linalg.inv(system)


def contract_changes(kernel: FeatureKernel, forms: np.ndarray, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
    """``<K - K_-p, F>`` for every form and feature: what each feature adds to quadratic forms of the kernel.

    Parameters
    ----------
    kernel : FeatureKernel
    forms : ndarray of shape (n_forms, r, r)
        Symmetric.
    rows : ndarray of shape (r,)
    features : ndarray of int

    Returns
    -------
    ndarray of shape (n_forms, len(features))
    """
    upper, lower = np.triu_indices(rows.size)
    weights = forms[:, upper, lower] * np.where(upper == lower, 1.0, 2.0)
    out = np.empty((len(forms), features.size))
    for block in blocks(features.size, _NUMBERS // max(upper.size, 1)):
        out[:, block] = weights @ kernel.changes_at(features[block], rows[upper], rows[lower]).T
    return out


def contract_derivatives(
    kernel: FeatureKernel, forms: np.ndarray, rows: np.ndarray, features: np.ndarray
) -> np.ndarray:
    """``<dK / d sigma_p, F>`` for every form and feature; arguments as for :func:`contract_changes`."""
    return np.array([kernel.contract_derivative(form, features, rows) for form in forms])
