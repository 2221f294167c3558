r"""Evidence of a linear model with a Gaussian prior on every weight, and the posterior by which it is raised.

With weights :math:`w_i \sim N(0, b_i)`, variances :math:`b_i = 1 / \beta_i`, outputs f = X w + intercept of centered
columns, log likelihood :math:`\ell(f)` and its curvature :math:`R = -\nabla^2 \ell` at the maximum a posteriori,

.. math:: \log P(y | b) \approx \ell(f) - \tfrac12 \sum_i w_i^2 / b_i - \tfrac12 \log |I + R^{1/2} X B X^\top R^{1/2}|,

which is exact for a Gaussian likelihood and Laplace's approximation for the logistic one. The intercept maximizes the
posterior together with the weights; it is not integrated over: with a flat prior on it the evidence of classes that can
be separated grows without bound as all variances do. By :math:`\log \beta_i` the derivative is

.. math:: \tfrac12 (\gamma_i - \beta_i w_i^2) - \beta_i w_i q_i, \qquad \gamma_i = 1 - \beta_i (H^{-1})_{ii},

where q, zero for a Gaussian, is how the curvature follows the maximum. Matrices are n x n where columns outnumber rows
(:math:`\gamma_i = b_i |L^{-1} R^{1/2} x_i|^2` with the Cholesky factor L of the matrix above), and k x k otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit

from tamis.kernels.solvers.gram import DenseGram, check_gram_fits
from tamis.kernels.solvers.logistic import KernelLogisticRegression
from tamis.kernels.solvers.svm_primal import PrimalLinearModel

MAP_TOL = 1e-10  # of the maximum a posteriori
_MIN_CURVATURE = 1e-14  # of the logistic loss of a row, relative to its cost: far from the margin it underflows
_BLOCK = 2**21  # entries of a block of a table: 16 MB


class CenteredTable:
    """Columns less their means; a sparse table is never written out: its means enter by corrections of rank one.

    Parameters
    ----------
    table : ndarray or CSC array of shape (n_samples, k)
    means : ndarray of shape (k,)
    """

    def __init__(self, table: Any, means: np.ndarray) -> None:
        self.table, self.means = table, means
        self.is_sparse = sparse.issparse(table)
        self.shape = table.shape
        self._cross: np.ndarray | None = None

    def take(self, places: np.ndarray) -> CenteredTable:
        """Some of the columns."""
        part = CenteredTable(self.table[:, places], self.means[places])
        if self._cross is not None:
            part._cross = self._cross[np.ix_(places, places)]
        return part

    def outputs(self, W: np.ndarray) -> np.ndarray:
        """``X W``."""
        return np.asarray(self.table @ W) - self.means @ W

    def products(self, V: np.ndarray) -> np.ndarray:
        """``X' V``."""
        return np.asarray(self.table.T @ V) - np.multiply.outer(self.means, V.sum(axis=0))

    def kernel(self, variances: np.ndarray) -> np.ndarray:
        """``X B X'``, n x n."""
        check_gram_fits(self.shape[0], "select columns first, so that they are fewer than rows")
        if not self.is_sparse:
            return _sum_of_squares((self.table[:, cols].T, variances[cols]) for cols in _blocks(*self.shape[::-1]))
        Z = self.table @ sparse.diags_array(np.sqrt(variances))
        K = (Z @ Z.T).toarray()
        shift = self.table @ (variances * self.means)
        K -= shift[:, None] + shift
        return K + float(variances @ self.means**2)

    def cross(self, weight: np.ndarray) -> np.ndarray:
        """``X' diag(weight) X``, k x k."""
        if not self.is_sparse:
            return _sum_of_squares((self.table[rows], weight[rows]) for rows in _blocks(*self.shape))
        Z = sparse.diags_array(np.sqrt(weight)) @ self.table
        product = (Z.T @ Z).toarray()
        shift = np.multiply.outer(np.asarray(self.table.T @ weight), self.means)
        product -= shift + shift.T
        return product + weight.sum() * np.multiply.outer(self.means, self.means)

    def fixed_cross(self, weight: np.ndarray) -> np.ndarray:
        """The same for weights that never change: computed once for all parts of the table."""
        if self._cross is None:
            self._cross = self.cross(weight)
        return self._cross

    def column_norms2(self, M: np.ndarray) -> np.ndarray:
        """Squared norms of the columns of ``M X``."""
        norms2, of_ones = np.empty(self.shape[1]), M.sum(axis=1)
        for cols in _blocks(*self.shape[::-1]):
            if self.is_sparse:
                product = np.asarray((self.table[:, cols].T @ M.T).T) - np.multiply.outer(of_ones, self.means[cols])
            else:
                product = M @ self.table[:, cols]
            norms2[cols] = np.einsum("ij,ij->j", product, product)
        return norms2

    def row_norms2(self, F: np.ndarray) -> np.ndarray:
        """Squared norms of the rows of ``X F``."""
        norms2, of_means = np.empty(self.shape[0]), self.means @ F
        table = self.table.tocsr() if self.is_sparse else self.table
        for rows in _blocks(*self.shape):
            product = np.asarray(table[rows] @ F) - of_means
            norms2[rows] = np.einsum("ij,ij->i", product, product)
        return norms2


def _sum_of_squares(parts: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Sum of ``A' diag(weight) A`` over parts: the table times roots of the weights would be as large as the table."""
    return sum(scaled.T @ scaled for scaled in (part * np.sqrt(weight)[:, None] for part, weight in parts))


def _blocks(length: int, width: int) -> list[slice]:
    step = max(_BLOCK // max(width, 1), 1)
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]


@dataclass(frozen=True)
class Posterior:
    r"""Weights at the maximum a posteriori of all targets, which share their variances, and the evidence.

    Attributes
    ----------
    evidence : float
        Log evidence, summed over the targets.
    coef : ndarray of shape (k, n_targets)
    intercept : ndarray of shape (n_targets,)
        Of centered columns.
    dual : ndarray of shape (n_samples, n_targets)
        Derivatives of the log likelihood: ``coef`` is ``B X' dual``.
    gamma : ndarray of shape (k,)
        :math:`\gamma_i = 1 - \beta_i (H^{-1})_{ii}`, how far the rows determine a weight, summed over the targets.
    weights2 : ndarray of shape (k,)
        :math:`w_i^2`, summed over the targets.
    moment : ndarray of shape (k,)
        :math:`w_i^2 + 2 w_i q_i`, summed over the targets: the evidence has the derivative
        :math:`\tfrac12 (\gamma_i - \beta_i m_i)` by :math:`\log \beta_i`.
    squared_error : float
        Of a Gaussian likelihood, weighted by the rows.
    residual : float
        Violation of optimality of the maximum a posteriori.
    """

    evidence: float
    coef: np.ndarray
    intercept: np.ndarray
    dual: np.ndarray
    gamma: np.ndarray
    weights2: np.ndarray
    moment: np.ndarray
    squared_error: float
    residual: float

    def without_rows(self) -> Posterior:
        """The same without what every row has, for those who keep one posterior after another."""
        return replace(self, dual=self.dual[:0].copy())


# Gaussian likelihood


def gaussian_posterior(
    X: CenteredTable, variances: np.ndarray, Y: np.ndarray, cost: np.ndarray, noise_precision: float
) -> Posterior:
    """Of targets ``Y = X W + intercept + N(0, 1 / (noise_precision cost))``."""
    n_targets = Y.shape[1]
    curvature = noise_precision * cost
    intercept = cost @ Y / cost.sum()
    Y = Y - intercept
    if X.shape[1] > X.shape[0]:
        root = np.sqrt(curvature)
        K = X.kernel(variances)
        L, logdet = _unit_factor(K * (root[:, None] * root))
        M = solve_triangular(L, np.diag(root), lower=True, check_finite=False)
        dual = M.T @ (M @ Y)
        coef = variances[:, None] * X.products(dual)
        gamma = variances * X.column_norms2(M)
        penalty = float(np.sum(dual * (K @ dual)))
    else:
        sigma = np.sqrt(variances)
        G = noise_precision * X.fixed_cross(cost) * (sigma[:, None] * sigma)
        L, logdet = _unit_factor(G)
        scaled = _solve(L, sigma[:, None] * X.products(curvature[:, None] * Y))
        coef = sigma[:, None] * scaled
        gamma = _well_determined(L, G)
        dual = curvature[:, None] * (Y - X.outputs(coef))
        penalty = float(np.sum(scaled**2))
    squared_error = float(np.sum(dual**2 / curvature[:, None])) / noise_precision
    evidence = 0.5 * cost.sum() * n_targets * np.log(noise_precision / (2.0 * np.pi)) - 0.5 * (
        noise_precision * squared_error + penalty + n_targets * logdet
    )
    weights2 = np.sum(coef**2, axis=1)
    gamma = n_targets * gamma
    return Posterior(float(evidence), coef, intercept, dual, gamma, weights2, weights2, squared_error, 0.0)


# logistic likelihood


def logistic_posterior(
    X: CenteredTable, variances: np.ndarray, Y: np.ndarray, cost: np.ndarray, start: Posterior | None = None
) -> Posterior:
    """Laplace's approximation, for signs Y; ``start`` are weights near the maximum, of the same columns."""
    if X.shape[1] > X.shape[0]:
        parts = _logistic_by_rows(X, variances, Y, cost, start)
    else:
        parts = _logistic_by_columns(X, variances, Y, cost, start)
    coef, dual = (np.stack([getattr(part, name) for part in parts], axis=1) for name in ("coef", "dual"))
    weights2 = np.sum(coef**2, axis=1)
    return Posterior(
        sum(part.evidence for part in parts),
        coef,
        np.array([part.intercept for part in parts]),
        dual,
        np.sum([part.gamma for part in parts], axis=0),
        weights2,
        weights2 + 2.0 * np.sum([part.coef * part.drift for part in parts], axis=0),
        0.0,
        max(part.residual for part in parts),
    )


@dataclass(frozen=True)
class _OneTarget:
    evidence: float
    coef: np.ndarray
    intercept: float
    dual: np.ndarray
    gamma: np.ndarray
    drift: np.ndarray  # q
    residual: float


def _logistic_by_rows(
    X: CenteredTable, variances: np.ndarray, Y: np.ndarray, cost: np.ndarray, start: Posterior | None
) -> list[_OneTarget]:
    K = X.kernel(variances)
    gram, found = DenseGram(K), []
    for t, y in enumerate(np.ascontiguousarray(Y.T)):
        model = KernelLogisticRegression(gram, y, cost, free_intercept=True, tol=MAP_TOL)
        if start is not None:
            model.v, model.b = start.dual[:, t].copy(), float(start.intercept[t])
            model.refactorize()
        model.solve()
        f = model.kv + model.b
        curvature = _curvature(f, cost)
        root = np.sqrt(curvature)
        L, logdet = _unit_factor(K * (root[:, None] * root))
        inverse = solve_triangular(L, np.eye(root.size), lower=True, check_finite=False)
        leverage = 1.0 - np.einsum("ij,ij->j", inverse, inverse)
        # derivative of log|I + R^1/2 K R^1/2| / 2 by f, taken back through f = K dual + b
        slope = 0.5 * np.tanh(0.5 * f) * leverage
        back = root[:, None] * (inverse.T @ (inverse @ np.column_stack([slope / root, root])))
        back = back[:, 0] - back[:, 1] * (back[:, 0].sum() / back[:, 1].sum())
        both = variances[:, None] * X.products(np.column_stack([model.v, back]))
        gamma = variances * X.column_norms2(inverse * root)
        evidence = -cost @ np.logaddexp(0.0, -y * f) - 0.5 * (model.squared_norm + logdet)
        found.append(_OneTarget(float(evidence), both[:, 0], model.b, model.v, gamma, both[:, 1], model.residual))
    return found


def _logistic_by_columns(
    X: CenteredTable, variances: np.ndarray, Y: np.ndarray, cost: np.ndarray, start: Posterior | None
) -> list[_OneTarget]:
    sigma, found = np.sqrt(variances), []
    if X.is_sparse:
        scaled = sparse.vstack([np.ones((1, X.shape[0])), sparse.diags_array(sigma) @ X.table.T], format="csr")
    else:
        scaled = np.empty((sigma.size + 1, X.shape[0]))
        scaled[0] = 1.0
        np.multiply(X.table.T, sigma[:, None], out=scaled[1:])
    penalty = np.concatenate([[0.0], np.ones(sigma.size)])
    shift = X.means * sigma  # columns of a sparse table are not centered in `scaled`
    for t, y in enumerate(np.ascontiguousarray(Y.T)):
        model = PrimalLinearModel(scaled, penalty, y, cost, loss="logistic", tol=MAP_TOL)
        if start is not None:
            weights = start.coef[:, t] / sigma
            model.w = np.concatenate([[float(start.intercept[t]) - shift @ weights], weights])
            model.f = np.asarray(model.w @ scaled)
        model.solve()
        f, weights = model.f, model.w[1:]
        curvature = _curvature(f, cost)
        G = X.cross(curvature) * (sigma[:, None] * sigma)
        L, logdet = _unit_factor(G)
        F = sigma[:, None] * solve_triangular(L, np.eye(sigma.size), lower=True, check_finite=False).T
        slope = 0.5 * np.tanh(0.5 * f) * curvature * X.row_norms2(F)
        # [H, h; h', sum R] [q; db] = [X' slope; sum slope] with h = X' R 1: how f follows the variances
        both = F @ (F.T @ X.products(np.column_stack([slope, curvature])))
        h = X.products(curvature[:, None])[:, 0]
        change = (slope.sum() - h @ both[:, 0]) / (curvature.sum() - h @ both[:, 1])
        dual = cost * y * expit(-y * f)
        evidence = -cost @ np.logaddexp(0.0, -y * f) - 0.5 * (weights @ weights + logdet)
        found.append(
            _OneTarget(
                float(evidence),
                sigma * weights,
                float(model.w[0] + shift @ weights),
                dual,
                _well_determined(L, G),
                both[:, 0] - change * both[:, 1],
                model.residual,
            )
        )
    return found


def _curvature(f: np.ndarray, cost: np.ndarray) -> np.ndarray:
    probability = expit(f)
    return cost * np.maximum(probability * (1.0 - probability), _MIN_CURVATURE)


# factors


def _unit_factor(G: np.ndarray) -> tuple[np.ndarray, float]:
    """Cholesky factor of ``I + G``, and its log determinant."""
    A = G.copy()
    A[np.diag_indices_from(A)] += 1.0
    L = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    return L, 2.0 * float(np.log(np.diag(L)).sum())


def _solve(L: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``(L L')^-1 right``."""
    half = solve_triangular(L, right, lower=True, check_finite=False)
    return solve_triangular(L, half, lower=True, trans="T", check_finite=False)


def _well_determined(L: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Diagonal of ``I - (I + G)^-1 = G - G (I + G)^-1 G``, in the form that cancels fewer digits."""
    inverse = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False)
    half = solve_triangular(L, G, lower=True, check_finite=False)
    diagonal = np.diag(G)
    small = diagonal - np.einsum("ij,ij->j", half, half)
    return np.maximum(np.where(diagonal < 1.0, small, 1.0 - np.einsum("ij,ij->j", inverse, inverse)), 0.0)
