r"""Bounds on the leave-one-out error of support vector machines, and what each feature does to them.

A machine is :math:`f = K v + b` with :math:`v_k = \alpha_k y_k`; a soft margin is a ridge on the diagonal of
:math:`K` (Lal et al. 2006, footnote 12), so that all below holds as for a hard margin. Both bounds are summed over
machines, those of one class against the rest.

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

_NUMBERS = 2**20  # held at a time
_FLAT = 1e-12  # of the mean diagonal: what keeps the system of a hard margin one that can be solved


@dataclass(frozen=True)
class Machine:
    """A trained machine.

    Attributes
    ----------
    signs : ndarray of shape (n_rows,)
        1 or -1.
    dual : ndarray of shape (n_rows,)
        Weights of the rows times signs; they sum to zero.
    support : ndarray of int
        Rows whose weight is free.
    """

    signs: np.ndarray
    dual: np.ndarray
    support: np.ndarray


class Bound(ABC):
    """A bound on leave-one-out errors at given machines.

    Attributes
    ----------
    value : float
    """

    value: float

    @abstractmethod
    def changes(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """What is added to the bound when each feature goes alone and the weights of the rows stay as they are."""

    @abstractmethod
    def gradient(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """Derivative of the bound, machines trained anew, by the scale of each feature."""


class RadiusMarginBound(Bound):
    """``4 R^2 ||w||^2`` (Lal et al. 2006, Eq. 14), summed over machines.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
    machines : sequence of Machine
    weights : ndarray of shape (n_rows,)
        Of the points on the enclosing ball, or all equal for the variance; they sum to one.
    ridge : float

    Attributes
    ----------
    value : float
    radius2 : float
    norms2 : ndarray of shape (n_machines,)
        ``||w||^2`` of each.

    Notes
    -----
    With weights held, both factors are dual objectives at a feasible point: neither exceeds what training anew gives.
    """

    def __init__(self, K: np.ndarray, machines: Sequence[Machine], weights: np.ndarray, ridge: float) -> None:
        self.weights = weights
        self.duals = np.array([machine.dual for machine in machines])
        self.radius2 = measure_radius2(K, weights, ridge)
        self.norms2 = measure_norms2(K, machines, ridge)
        self.value = 4.0 * self.radius2 * float(self.norms2.sum())

    def changes(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """As for every bound; O(n D) for a linear kernel, O(r^2 D) for others, r rows with a weight."""
        spread, energy = self._losses(kernel, features)
        return 4.0 * ((self.radius2 - spread) * energy - self.norms2.sum() * spread)

    def gradient(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """As for every bound, at the same cost."""
        if kernel.kernel == "linear":
            spread, energy = 2.0 * self._losses(kernel, features)
        else:
            rows, forms = self._forms()
            spread, energy = contract_derivatives(kernel, forms, rows, features)
        return 4.0 * (self.norms2.sum() * spread - self.radius2 * energy)

    def _losses(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """What each feature adds to the squared radius and to ``v'Kv``, of shape (2, n_features)."""
        if kernel.kernel != "linear":
            rows, forms = self._forms()
            return contract_changes(kernel, forms, rows, features)
        touched = np.flatnonzero(self.weights)
        losses = np.empty((2, features.size))
        for block in blocks(features.size, _NUMBERS // self.weights.size):
            columns = kernel.columns(features[block])
            on_ball = columns if touched.size == len(columns) else columns[touched]
            losses[0, block] = self.weights[touched] @ on_ball**2 - (self.weights[touched] @ on_ball) ** 2
            losses[1, block] = ((self.duals @ columns) ** 2).sum(axis=0)
        return losses

    def _forms(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows that matter, and the two matrices whose products with K are the squared radius and ``v'Kv``."""
        rows = np.flatnonzero((self.weights != 0) | np.any(self.duals != 0, axis=0))
        weights, duals = self.weights[rows], self.duals[:, rows]
        return rows, np.array([np.diag(weights) - np.outer(weights, weights), duals.T @ duals])


class SpanBound(Bound):
    """``sum_k alpha_k S_k^2`` over the support vectors (Lal et al. 2006, Sec. 2.3), summed over machines.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
    machines : sequence of Machine
    ridge : float

    Attributes
    ----------
    value : float
    n_errors : int
        Support vectors with ``alpha_k S_k^2 >= 1``: errors of leave-one-out, were the support to stay the same.
    """

    def __init__(self, K: np.ndarray, machines: Sequence[Machine], ridge: float) -> None:
        self.ridge = ridge
        self.parts = [_SpanPart(K, machine, ridge) for machine in machines]
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
        """As for every bound, as long as the support stays the same; O(r^2 D)."""
        total = np.zeros(features.size)
        for part in self.parts:
            total += contract_derivatives(kernel, part.slope[None], part.rows, features)[0]
        return total


class _SpanPart:
    """The spans of one machine's support vectors."""

    def __init__(self, K: np.ndarray, machine: Machine, ridge: float) -> None:
        self.rows = machine.support
        self.dual, signs = machine.dual[self.rows], machine.signs[self.rows]
        self.alpha = self.dual * signs
        inverse = invert_bordered(K[np.ix_(self.rows, self.rows)], ridge)
        self.inverse = inverse[:-1, :-1]  # of the system, less the intercept's row: all that features touch
        self.span2 = 1.0 / np.diagonal(self.inverse)
        self.terms = self.alpha * self.span2
        through = self.inverse @ (signs * self.span2)
        turned = np.outer(through, self.dual)
        self.slope = (self.inverse * (self.alpha * self.span2**2)) @ self.inverse - 0.5 * (turned + turned.T)

    def changes_linear(self, kernel: FeatureKernel, features: np.ndarray) -> np.ndarray:
        """A rank-one down-date of the inverse for all features at once: ``A + (A x)(A x)' / (1 - x'A x)``."""
        changes = np.empty(features.size)
        diagonal = np.diagonal(self.inverse)[:, None]
        for block in blocks(features.size, _NUMBERS // max(self.rows.size, 1)):
            columns = kernel.columns(features[block], self.rows)
            moved = self.inverse @ columns
            left = np.maximum(1.0 - np.einsum("ij,ij->j", columns, moved), np.finfo(float).eps)
            grown = moved**2 / left
            changes[block] = -self.terms @ (grown / (diagonal + grown))
        return changes

    def changes(self, kernel: FeatureKernel, features: np.ndarray, ridge: float) -> np.ndarray:
        """The same by an inverse per feature."""
        changes = np.empty(features.size)
        for block in blocks(features.size, _NUMBERS // max(self.rows.size, 1) ** 2):
            inverse = invert_bordered(kernel.without(features[block], self.rows), ridge)
            span2 = 1.0 / np.diagonal(inverse, axis1=1, axis2=2)[:, :-1]
            changes[block] = (span2 - self.span2) @ self.alpha
        return changes


def measure_radius2(K: np.ndarray, weights: np.ndarray, ridge: float) -> float:
    """Squared radius of the ball that weights describe; their mean squared distance from the center (Eq. 17)."""
    return float(weights @ np.diagonal(K) - weights @ K @ weights + ridge * (weights.sum() - weights @ weights))


def measure_norms2(K: np.ndarray, machines: Sequence[Machine], ridge: float) -> np.ndarray:
    """``||w||^2`` of each machine as twice its dual objective: for an optimal one, the inverse squared margin."""
    duals, signs = (np.array([getattr(machine, name) for machine in machines]) for name in ("dual", "signs"))
    energy = np.einsum("mi,mi->m", duals @ K, duals) + ridge * np.einsum("mi,mi->m", duals, duals)
    return 2.0 * np.einsum("mi,mi->m", duals, signs) - energy


def invert_bordered(K: np.ndarray, ridge: float) -> np.ndarray:
    """Inverse of ``[[K + ridge, 1], [1', 0]]`` for one matrix or a stack; a zero ridge is replaced by rounding."""
    r = K.shape[-1]
    if not r:
        return np.zeros((*K.shape[:-2], 1, 1))
    system = np.zeros((*K.shape[:-2], r + 1, r + 1))
    system[..., :r, :r] = K
    system[..., :r, r] = system[..., r, :r] = 1.0
    diagonal = np.einsum("...ii->...i", system)[..., :r]
    diagonal += ridge if ridge > 0 else _FLAT * np.maximum(diagonal.mean(axis=-1, keepdims=True), np.finfo(float).tiny)
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
    out = np.empty((len(forms), features.size))
    if kernel.kernel == "linear":
        for block in blocks(features.size, _NUMBERS // max(rows.size, 1)):
            columns = kernel.columns(features[block], rows)
            out[:, block] = 2.0 * np.einsum("fij,ij->fj", forms @ columns, columns)
        return out
    for block in blocks(features.size, _NUMBERS // max(rows.size, 1) ** 2):
        derivative = kernel.derivative(features[block], rows)
        out[:, block] = forms.reshape(len(forms), -1) @ derivative.reshape(len(derivative), -1).T
    return out
