r"""Criteria of support vector machines as functions of their kernel matrix, with derivatives.

The machines have squared slack: a ridge :math:`\rho_k = 1 / (C m_k)` on the diagonal of K, with :math:`m_k` the weight
of row k (Lal et al. 2006, footnote 12). Every criterion B is differentiated by the kernel,

.. math:: dB = \langle dK, G \rangle, \qquad G = \mathrm{diag}(d) + \tfrac12 (L R^\top + R L^\top),

so that one symmetric matrix of low rank serves all features, whatever the kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamis.kernels.solvers.feature_kernel import AdditiveKernel
from tamis.kernels.solvers.svm_bounds import invert_bordered
from tamis.kernels.solvers.warm_started_svms import WarmStartedSVMs

_MAX_ITER = 100_000  # of the solver, per SVM and kernel matrix


@dataclass(frozen=True)
class Form:
    r"""A symmetric matrix :math:`\mathrm{diag}(d) + (L R^\top + R L^\top) / 2`.

    Attributes
    ----------
    diagonal : ndarray of shape (n_rows,)
    left, right : ndarray of shape (n_rows, rank)
    """

    diagonal: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def matrix(self) -> np.ndarray:
        """All entries."""
        product = self.left @ self.right.T
        product += product.T.copy()
        product *= 0.5
        product[np.diag_indices(len(product))] += self.diagonal
        return product


class SVMCriterion(ABC):
    """A criterion of SVMs that are trained anew for every kernel matrix, from the solution for the last one.

    Parameters
    ----------
    signs : ndarray of shape (n_svms, n_rows)
        1 or -1.
    C : float
    weights : ndarray of shape (n_rows,)
        Of the rows; an integer stands for repetitions.
    tol : float
        Largest violation of the KKT conditions.

    Attributes
    ----------
    residual : float
        Largest violation so far.
    """

    def __init__(self, signs: np.ndarray, C: float, weights: np.ndarray, tol: float) -> None:
        self.signs, self.C, self.weights, self.tol = signs, C, weights, tol
        self.residual = 0.0

    @abstractmethod
    def evaluate(self, K: np.ndarray) -> tuple[float, Form]:
        """The criterion, and its derivative by the kernel matrix."""

    @abstractmethod
    def value(self, K: np.ndarray) -> float:
        """The criterion alone; the next training does not start from here."""


class _OnAllRows(SVMCriterion):
    """A criterion of SVMs that are trained on all rows."""

    needs_ball = False

    def __init__(self, signs: np.ndarray, C: float, weights: np.ndarray, tol: float) -> None:
        super().__init__(signs, C, weights, tol)
        self._svms: WarmStartedSVMs | None = None

    def evaluate(self, K: np.ndarray) -> tuple[float, Form]:
        if self._svms is None:
            ridge = 1.0 / (self.C * self.weights)
            self._svms = WarmStartedSVMs(
                K, self.signs, ridge=ridge, ball=self.needs_ball, tol=self.tol, max_iter=_MAX_ITER
            )
        else:
            self._svms.retrain(K)
        self.residual = max(self.residual, self._svms.residual)
        return self._measure(K, self._svms)

    def value(self, K: np.ndarray) -> float:
        return self.evaluate(K)[0] if self._svms is None else self._measure(K, self._svms.retrained_copy(K))[0]

    @abstractmethod
    def _measure(self, K: np.ndarray, svms: WarmStartedSVMs) -> tuple[float, Form]:
        """Of trained SVMs."""


class RadiusMargin(_OnAllRows):
    r"""``4 R^2 sum_t ||w_t||^2`` with the variance in place of the radius (Lal et al. 2006, Eq. 16 and 17).

    At an optimum of all dual variables only K matters to the derivative:

    .. math:: dR^2 = \langle dK, \mathrm{diag}(\beta) - \beta \beta^\top \rangle, \qquad
              d\|w\|^2 = -\langle dK, v v^\top \rangle.
    """

    def _measure(self, K: np.ndarray, svms: WarmStartedSVMs) -> tuple[float, Form]:
        beta, V = self._beta(svms), np.array([svm.dual for svm in svms.solutions])
        radius2, norm2 = self._factors(K, svms)
        left = np.vstack([-4.0 * norm2 * beta, -4.0 * radius2 * V]).T
        return 4.0 * radius2 * norm2, Form(4.0 * norm2 * beta, left, np.vstack([beta, V]).T)

    def _factors(self, K: np.ndarray, svms: WarmStartedSVMs) -> tuple[float, float]:
        """Squared radius, and squared norms: twice the dual objectives."""
        beta, V, ridge = self._beta(svms), np.array([svm.dual for svm in svms.solutions]), svms.ridge
        radius2 = float(beta @ np.diagonal(K) - beta @ K @ beta + 1.0 / self.C - ridge @ beta**2)
        norm2 = float(2.0 * np.sum(V * self.signs) - np.sum((V @ K) * V) - np.sum(V**2 @ ridge))
        return radius2, norm2

    def _beta(self, svms: WarmStartedSVMs) -> np.ndarray:
        """Weights of the rows in the squared radius; they sum to one."""
        return self.weights / self.weights.sum()

    def curvature(self, function: AdditiveKernel, sums: np.ndarray, A: np.ndarray) -> np.ndarray:
        r"""Second derivative by every squared factor, at the kernel matrix of the last :meth:`evaluate`.

        With :math:`K_p, K_{pp}` the derivatives of K by :math:`s_p` and A the inverse of the bordered matrix of the
        support vectors, over which :math:`dv = -A K_p v`,

        .. math:: \partial_{pp} \|w\|^2 = -v^\top K_{pp} v + 2 (K_p v)^\top A (K_p v),

        and for the product :math:`R^2_{pp} \|w\|^2 + 2 R^2_p \|w\|^2_p + R^2 \|w\|^2_{pp}`. O(n^2 D) for all columns.
        """
        assert self._svms is not None
        svms, beta, K = self._svms, self._beta(self._svms), function.value(sums)
        slope, bend = function.slope(sums), function.curvature(sums)
        pairs = np.zeros_like(K)
        norm2_pp = np.zeros(A.shape[1])
        for svm in svms.solutions:
            rows, v = svm.support, svm.dual
            pairs += np.outer(v, v)
            moved = function.apply_terms(slope, A, v)[rows]  # K_p v
            inverse = invert_bordered(K[np.ix_(rows, rows)], svms.ridge[rows])[:-1, :-1]
            norm2_pp += 2.0 * np.einsum("ij,ij->j", moved, inverse @ moved)
        norm2_pp -= function.contract_squared_terms(bend * pairs, A)
        spread = np.diag(beta) - np.outer(beta, beta)
        radius2_pp = function.contract_squared_terms(bend * spread, A) + self._ball_curvature(function, K, slope, A)
        radius2_p = function.contract_terms(slope * spread, A)
        norm2_p = -function.contract_terms(slope * pairs, A)
        radius2, norm2 = self._factors(K, svms)
        return 4.0 * (radius2_pp * norm2 + 2.0 * radius2_p * norm2_p + radius2 * norm2_pp)

    def _ball_curvature(
        self, function: AdditiveKernel, K: np.ndarray, slope: np.ndarray, A: np.ndarray
    ) -> np.ndarray | float:
        """What the weights of the rows in the radius add as they follow the kernel: nothing, they are fixed."""
        return 0.0


class BallMargin(RadiusMargin):
    """The same with the smallest enclosing ball."""

    needs_ball = True

    def _beta(self, svms: WarmStartedSVMs) -> np.ndarray:
        return svms.weights

    def _ball_curvature(
        self, function: AdditiveKernel, K: np.ndarray, slope: np.ndarray, A: np.ndarray
    ) -> np.ndarray | float:
        """``h' A h / 2`` with ``h = diag(K_p) - 2 K_p beta``, by which the weights on the ball change: ``A h / 2``."""
        assert self._svms is not None
        beta = self._beta(self._svms)
        rows = np.flatnonzero(beta)
        inverse = invert_bordered(K[np.ix_(rows, rows)], self._svms.ridge[rows])[:-1, :-1]
        own = np.diagonal(slope)[:, None] * function.term(A, A)
        moved = (own - 2.0 * function.apply_terms(slope, A, beta))[rows]
        return 0.5 * np.einsum("ij,ij->j", moved, inverse @ moved)


class Span(_OnAllRows):
    r"""``sum_k m_k alpha_k S_k^2`` over the support vectors of all SVMs.

    With A the inverse of the bordered matrix of the support vectors, :math:`S_k^2 = 1 / A_{kk}`, and as long as they
    stay the same,

    .. math:: dS_k^2 = S_k^4 (A\, dK A)_{kk}, \qquad dv = -A\, dK v.
    """

    def _measure(self, K: np.ndarray, svms: WarmStartedSVMs) -> tuple[float, Form]:
        value, left, right = 0.0, [], []
        for svm in svms.solutions:
            rows = svm.support
            signs, dual, weights = svm.signs[rows], svm.dual[rows], self.weights[rows]
            inverse = invert_bordered(K[np.ix_(rows, rows)], svms.ridge[rows])[:-1, :-1]
            span2 = 1.0 / np.diagonal(inverse)
            terms = weights * signs * dual * span2
            value += float(terms.sum())
            by_dual = -(inverse @ (weights * signs * span2))
            left.append(_on_rows(np.column_stack([inverse * (terms * span2), by_dual]), rows, len(K)))
            right.append(_on_rows(np.column_stack([inverse, dual]), rows, len(K)))
        return value, Form(np.zeros(len(K)), np.hstack(left), np.hstack(right))


class ValidationLoss(SVMCriterion):
    r"""Mean squared hinge of the outputs on rows that are held out, over folds and SVMs.

    .. math:: \sum_{k\ \text{held out}} m_k \max(0, 1 - y_k f(x_k))^2, \qquad f = K v + b,

    with the SVMs trained on the other rows. With A the inverse of the bordered matrix of their support vectors, g the
    derivatives of the loss by the outputs, and u the first part of :math:`A (K g, 1^\top g)`, the dual variables
    follow the kernel by :math:`dv = -A\, dK v`: the derivative is :math:`g^\top dK v - u^\top dK v`.

    Parameters
    ----------
    signs, C, weights, tol
        As for every criterion.
    folds : sequence of (ndarray, ndarray)
        Rows for training, and held out.
    """

    def __init__(
        self,
        signs: np.ndarray,
        C: float,
        weights: np.ndarray,
        tol: float,
        folds: Sequence[tuple[np.ndarray, np.ndarray]],
    ) -> None:
        super().__init__(signs, C, weights, tol)
        self.folds = folds
        self._svms: list[WarmStartedSVMs | None] = [None] * len(folds)
        self._total = float(sum(weights[test].sum() for _, test in folds))

    def evaluate(self, K: np.ndarray) -> tuple[float, Form]:
        value, left, right = 0.0, [], []
        for place, (train, test) in enumerate(self.folds):
            svms = self._trained(place, K[np.ix_(train, train)], is_trial=False)
            for signs, svm in zip(self.signs, svms.solutions, strict=True):
                loss, z, v = self._held_out(K, signs, train[svm.support], test)
                value += loss
                left.append(z)
                right.append(v)
        return value, Form(np.zeros(len(K)), np.array(left).T, np.array(right).T)

    def value(self, K: np.ndarray) -> float:
        total = 0.0
        for place, (train, test) in enumerate(self.folds):
            svms = self._trained(place, K[np.ix_(train, train)], is_trial=True)
            for signs, svm in zip(self.signs, svms.solutions, strict=True):
                total += self._held_out(K, signs, train[svm.support], test)[0]
        return total

    def _trained(self, place: int, K: np.ndarray, *, is_trial: bool) -> WarmStartedSVMs:
        """The SVMs of a fold."""
        svms, train = self._svms[place], self.folds[place][0]
        if svms is None:
            ridge = 1.0 / (self.C * self.weights[train])
            svms = self._svms[place] = WarmStartedSVMs(
                K, self.signs[:, train], ridge=ridge, ball=False, tol=self.tol, max_iter=_MAX_ITER
            )
        elif is_trial:
            svms = svms.retrained_copy(K)
        else:
            svms.retrain(K)
        self.residual = max(self.residual, svms.residual)
        return svms

    def _held_out(
        self, K: np.ndarray, signs: np.ndarray, support: np.ndarray, test: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """The loss of one SVM with given support vectors, and z and v of all rows with ``d loss = z' dK v``."""
        inverse = invert_bordered(K[np.ix_(support, support)], 1.0 / (self.C * self.weights[support]))
        solution = inverse[:, :-1] @ signs[support]  # dual variables and intercept
        across = K[np.ix_(test, support)]
        slack = np.maximum(0.0, 1.0 - signs[test] * (across @ solution[:-1] + solution[-1]))
        shares = self.weights[test] / self._total
        slope = -2.0 * shares * signs[test] * slack
        adjoint = inverse[:-1] @ np.append(slope @ across, slope.sum())
        z, v = np.zeros(len(K)), np.zeros(len(K))
        v[support] = solution[:-1]
        z[test] += slope
        z[support] -= adjoint
        return float(shares @ slack**2), z, v


def _on_rows(part: np.ndarray, rows: np.ndarray, n_rows: int) -> np.ndarray:
    """The same on all rows, zero on those that are not named."""
    out = np.zeros((n_rows, part.shape[1]))
    out[rows] = part
    return out
