r"""Linear and kernel machines on columns times scaling factors, and how much every column contributes to them.

With the dual variables V of all targets and the kernel matrix K of the scaled rows, :math:`W^2 = \sum_t v_t^\top K v_t`
is the squared norm of the weights. That of column j is

.. math:: \tilde w_j^2 = \sigma_j^2 \frac{\partial W^2}{\partial \sigma_j^2} \quad (V \text{ fixed}),

which is the squared weight itself for a linear kernel. The derivative of an rbf kernel may be negative, where a column
only adds noise to the distances: such a weight counts as zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.solvers.feature_kernel import AdditiveKernel
from tamis.kernels.solvers.gram import check_gram_fits
from tamis.kernels.solvers.losses import LOSSES
from tamis.kernels.solvers.penalized_path import PenalizedPath
from tamis.kernels.solvers.svm_dual import solve_dual
from tamis.kernels.solvers.svm_primal import PrimalLinearModel

KERNELS = ("linear", "rbf", "poly")
_LARGEST_PENALTY = 1e10  # of a weight in the primal form, against the sum of all costs


@dataclass(frozen=True)
class Trained:
    """Machines of all targets.

    Attributes
    ----------
    half_derivatives : ndarray of shape (n_columns,)
        Half the derivatives of :math:`W^2` by :math:`\\log \\sigma`, summed over the targets.
    coef : ndarray of shape (n_columns, n_targets) or None
        Weights of the columns as they are, for a linear kernel.
    dual : ndarray of shape (n_samples, n_targets) or None
        V, where the machines have a kernel or there are no more rows than columns.
    intercept : ndarray of shape (n_targets,)
    residual : float
        Largest violation of optimality.
    objective : float
        Half the squared norms plus the costs of errors, summed over the targets; NaN for "sparse_fisher", whose dual
        variables have a norm of their own.
    """

    half_derivatives: np.ndarray
    coef: np.ndarray | None
    dual: np.ndarray | None
    intercept: np.ndarray
    residual: float
    objective: float = np.nan

    @property
    def weights2(self) -> np.ndarray:
        """:math:`\\tilde w^2` of every column, summed over the targets: the same, but zero where it is negative."""
        return np.maximum(self.half_derivatives, 0.0)


@dataclass(frozen=True)
class ScaledMachines:
    """What is trained in every round.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_targets)
    cost : ndarray of shape (n_samples,)
        C times the weights of the rows.
    loss : {"hinge", "squared_hinge", "squared", "sparse_fisher"}
    kernel : {"linear", "rbf", "poly"}
    gamma, degree, coef0 : float
        Of the kernel; the linear one is gamma times the inner product.
    tol : float
    """

    Y: np.ndarray
    cost: np.ndarray
    loss: str
    kernel: str
    gamma: float
    degree: float
    coef0: float
    tol: float

    def train(self, A: Any, sigma: np.ndarray) -> Trained:
        """Machines on the columns of A times sigma: primal where rows are more than columns and the loss allows it."""
        is_primal = self.kernel == "linear" and self.loss in ("squared_hinge", "squared") and A.shape[0] > A.shape[1]
        # where all weights are penalized this heavily, the curvature of the intercept is lost beside the penalties
        is_primal = is_primal and self.gamma * np.max(sigma) ** 2 * self.cost.sum() > 1.0 / _LARGEST_PENALTY
        return self._train_primal(A, sigma) if is_primal else self._train_dual(A, sigma)

    @property
    def function(self) -> AdditiveKernel:
        """The kernel; the linear one without gamma."""
        return AdditiveKernel(self.kernel, self.gamma, self.degree, self.coef0)

    def kernel_matrix(self, Z: Any) -> np.ndarray:
        """Of scaled rows."""
        K = self.function.finite_value(self.function.sum_terms(Z))
        return self.gamma * K if self.kernel == "linear" else K

    def _train_primal(self, A: Any, sigma: np.ndarray) -> Trained:
        """The squared norm of w / (sqrt(gamma) sigma) in place of that of w, so that the columns stay as they are."""
        ones = np.ones((1, A.shape[0]))
        table = sparse.vstack([ones, A.T], format="csr") if sparse.issparse(A) else np.vstack([ones, A.T])
        penalty = np.concatenate([[0.0], 1.0 / (self.gamma * sigma**2)])
        loss = "ridge" if self.loss == "squared" else self.loss
        models = []
        for y in self.Y.T:
            model = PrimalLinearModel(table, penalty, np.ascontiguousarray(y), self.cost, loss=loss, tol=self.tol)
            model.solve()
            models.append(model)
        coef = np.stack([model.w[1:] for model in models], axis=1)
        intercept = np.array([model.w[0] for model in models])
        weights2 = np.sum(coef**2, axis=1) * penalty[1:]
        objective = float(sum(model.objective for model in models))
        return Trained(weights2, coef, None, intercept, max(model.residual for model in models), objective)

    def _train_dual(self, A: Any, sigma: np.ndarray) -> Trained:
        check_gram_fits(A.shape[0], "use kernel='linear' and loss='squared_hinge' or 'squared'")
        K = self.kernel_matrix(A @ sparse.diags_array(sigma) if sparse.issparse(A) else A * sigma)
        solutions = [self._solve(K, np.ascontiguousarray(y)) for y in self.Y.T]
        V = np.stack([dual for dual, _, _ in solutions], axis=1)
        intercept = np.array([b for _, b, _ in solutions])
        residual = max(violation for _, _, violation in solutions)
        if self.kernel == "linear":
            products, factor = np.asarray(A.T @ V), self.gamma * sigma**2
            weights2 = factor * np.sum(products**2, axis=1)
            coef = factor[:, None] * products
        else:
            weights2, coef = sigma**2 * self._derivatives(A, K, V, sigma), None
        return Trained(weights2, coef, V, intercept, residual, self._objective(K, V, intercept))

    def _objective(self, K: np.ndarray, V: np.ndarray, intercept: np.ndarray) -> float:
        """Half the squared norms plus the costs of errors."""
        if self.loss == "sparse_fisher":
            return np.nan
        KV = K @ V
        errors = self.Y - KV - intercept
        if self.loss != "squared":
            errors = np.maximum(self.Y * errors, 0.0)
        losses = errors if self.loss == "hinge" else errors**2
        return float(0.5 * np.sum(V * KV) + np.sum(self.cost @ losses))

    def _solve(self, K: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Dual variables, intercept and residual of one target."""
        if self.loss == "sparse_fisher":
            return self._solve_sparse_fisher(K, y)
        is_hinge = self.loss == "hinge"
        signs = None if self.loss == "squared" else y
        # With u times the kernel and costs divided by u, dual variables are divided by u: in units in which the
        # kernel's diagonal is about one, pivots are told from rounding. Powers of two round nothing.
        _, exponent = np.frexp(np.mean(K.diagonal()))
        found = solve_dual(
            np.ldexp(K, -exponent),
            y,
            signs=signs,
            upper=np.ldexp(self.cost, exponent) if is_hinge else np.inf,
            ridge=0.0 if is_hinge else np.ldexp(0.5 / self.cost, -exponent),
            total=0.0,
            tol=self.tol,
        )
        return np.ldexp(found.dual, -exponent), found.intercept, found.residual

    def _solve_sparse_fisher(self, K: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Fisher's discriminant as least squares on the kernel's columns, with the l1 norm of their weights.

        Mika et al. (2000) also fix the classes' mean outputs, which changes the size of the weights at some other
        cost, not their direction.
        """
        columns = as_columns(K, self.cost)
        scale = (columns.norm2 > 0).astype(float)
        path = PenalizedPath(columns, y, LOSSES["squared"], scale, tol=max(self.tol, 1e-9))
        if path.alpha_max == 0.0:
            return np.zeros(len(K)), float(self.cost @ y / self.cost.sum()), 0.0
        point = path.solve(min(1.0 / float(self.cost.sum()), 0.5 * path.alpha_max))
        dual = np.zeros(len(K))
        dual[point.active] = point.weights
        return dual, point.intercept - float(columns.means(point.active) @ point.weights), point.kkt / path.alpha_max

    def _derivatives(self, A: np.ndarray, K: np.ndarray, V: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """Of the squared norms by the squared scaling factors: sums over pairs of rows, for all columns at once."""
        function = self.function
        slope = -self.gamma * K if self.kernel == "rbf" else function.slope(function.sum_terms(A * sigma))
        return function.contract_terms((V @ V.T) * slope, A)
