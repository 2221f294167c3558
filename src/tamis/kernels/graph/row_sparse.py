r"""Least squares with the l2,1 norm, which makes whole rows of weights zero, by iteratively reweighted least squares.

The l2,1 norm of a matrix A with one row per feature, smoothed so that it has a derivative everywhere, is

.. math:: \|A\|_{2,1} = \sum_j \sqrt{\|a_j\|^2 + \epsilon^2},

and the root lies below each of its tangents: with :math:`d_j = 1 / (2 \sqrt{\|\tilde a_j\|^2 + \epsilon^2})`,

.. math:: \|A\|_{2,1} \le \|\tilde A\|_{2,1} + \sum_j d_j (\|a_j\|^2 - \|\tilde a_j\|^2),

with equality at :math:`A = \tilde A`. An objective with the right side majorizes that with the left one, so that what
lowers the former lowers the latter: iteratively reweighted least squares. Each step is a ridge regression with one
penalty per feature.

At a fixed point d no longer changes, and it nears one by a constant factor per step, slowly for features that are about
to drop out. Over-relaxation, a step twice as long in the logarithms of d, has the same fixed points and about halves
the number of steps; it is no majorization, so that whoever takes it compares the objectives.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks, sum_in_threads

SMOOTHING = 1e-8  # epsilon: far below any weight that matters, far above rounding errors
_MOST_RELAXED = 10.0  # factor that over-relaxation may add to a change of d, so that one step decides on no feature
_MOST_CHANGED = 0.8  # share of the features beyond which a new product takes no longer than an update of the old one


def row_norms(A: np.ndarray, smoothing: float = SMOOTHING) -> np.ndarray:
    """Smoothed Euclidean norm of every row."""
    return np.sqrt(np.einsum("ij,ij->i", A, A) + smoothing**2)


def row_sparse_norm(A: np.ndarray, smoothing: float = SMOOTHING) -> float:
    """Smoothed l2,1 norm."""
    return float(row_norms(A, smoothing).sum())


def irls_weights(A: np.ndarray, smoothing: float = SMOOTHING) -> np.ndarray:
    """Weights d of the next least-squares problem, one per row: the slopes of the tangents above."""
    return 0.5 / row_norms(A, smoothing)


def relaxed_irls_weights(A: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Weights d twice as far from the last ones, in logarithms, as :func:`irls_weights`."""
    weights = irls_weights(A)
    return np.asarray(weights * np.clip(weights / last, 1.0 / _MOST_RELAXED, _MOST_RELAXED))


class SampleGram:
    r"""``Z S Z'`` for weights S of the features that change from one problem to the next.

    The minimum of a ridge regression has the derivative :math:`-\|c_j\|^2` by :math:`s_j = 1 / p_j`, with
    :math:`c_j = p_j a_j` the correlations of feature j with the residuals. Features are left at the weights with which
    they last entered the product as long as that changes the minimum, for all of them together, by less than
    ``tolerance`` times the squared residuals.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
    tolerance : float
        0 follows every change.

    Notes
    -----
    Cost O(n^2 k) for the k features that are brought up to date: where the l2,1 norm makes most weights small, few.
    """

    def __init__(self, Z: np.ndarray, tolerance: float) -> None:
        self._Z, self._tolerance = Z, tolerance
        self._sensitivity, self._allowed = np.full(Z.shape[1], np.inf), 0.0
        self._weight = np.zeros(Z.shape[1])
        self._product = np.zeros((Z.shape[0], Z.shape[0]))

    def look_at(self, correlations: np.ndarray, residual: np.ndarray) -> None:
        """Take over from a regression what tells which changes of weight matter: c, one row per feature."""
        self._sensitivity = np.einsum("ij,ij->i", correlations, correlations)
        self._allowed = self._tolerance * float(np.vdot(residual, residual))

    def weighted(self, weight: np.ndarray) -> np.ndarray:
        """The product for these weights; not to be written to."""
        change = weight - self._weight
        changed = self._changed(change)
        if changed.size > _MOST_CHANGED * change.size:
            self._product = _weighted_product(self._Z, np.arange(weight.size), weight)
            self._weight = weight.copy()
        else:
            for sign in (1.0, -1.0):
                features = changed[sign * change[changed] > 0]
                self._product += sign * _weighted_product(self._Z, features, np.abs(change[features]))
            self._weight[changed] = weight[changed]
        return self._product

    def _changed(self, change: np.ndarray) -> np.ndarray:
        """Features to bring up to date: the others together change the minimum by less than is allowed."""
        effect = np.abs(change) * self._sensitivity
        order = np.argsort(effect, kind="stable")
        return np.sort(order[np.searchsorted(np.cumsum(effect[order]), self._allowed, side="right") :])


def _weighted_product(Z: np.ndarray, features: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``Z S Z'`` for some of the features; threads share out blocks of these."""
    n_samples, root = len(Z), np.sqrt(weight)

    def of_block(block: slice) -> np.ndarray:
        scaled = Z[:, features[block]] * root[block]
        return np.asarray(scaled @ scaled.T)

    # as many features as samples at least, so that the sum of the products costs little against these
    parts = list(blocks(features.size, max(n_samples, CACHE_ENTRIES // n_samples)))
    return sum_in_threads(of_block, parts, n_samples**2 * features.size) if parts else np.zeros((n_samples, n_samples))


class RowRidge:
    r"""One ridge regression, factorized once, for any targets.

    .. math:: A(Y) = \arg\min_A \sum_i d_i \|y_i - z_i A\|^2 + \sum_j p_j \|a_j\|^2 - 2 \langle T, A \rangle

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
    penalty : ndarray of shape (n_features,)
        p, all positive.
    linear_term : ndarray of shape (n_features, n_targets), default=None
        T; None stands for zero.
    row_weight : ndarray of shape (n_samples,), default=None
        d, all positive; None stands for ones.
    gram : ndarray of shape (n_features, n_features), default=None
        ``Z' Z``, where the caller has it; looked at only without row weights and if there are no more features than
        samples.
    sample_gram : SampleGram, default=None
        Products of the rows of ``Z``, kept by the caller from one problem to the next; looked at only if there are more
        features than samples.

    Attributes
    ----------
    row_weight : float or ndarray of shape (n_samples, 1)
        d as a column, or 1.

    Notes
    -----
    The system ``(Z'Z + P) A = Z'Y + T`` (rows scaled by the roots of d) is solved in the smaller of two spaces. With
    more features than samples,

    .. math:: A = P^{-1} (T + Z' V), \qquad (I + Z P^{-1} Z') V = Y - Z P^{-1} T, \qquad Z A = Y - V,

    so that no matrix has the number of features on both sides. Either way the matrix that is factorized has no
    eigenvalue below one, however far the penalties are apart. Cost O(n D min(n, D)) to set up, O(D^3) with ``gram``;
    then O(n D) per target for the weights and, with more features than samples, O(n^2) for the fitted values.
    """

    def __init__(
        self,
        Z: np.ndarray,
        penalty: np.ndarray,
        *,
        linear_term: np.ndarray | None = None,
        row_weight: np.ndarray | None = None,
        gram: np.ndarray | None = None,
        sample_gram: SampleGram | None = None,
    ) -> None:
        self.row_weight: float | np.ndarray = 1.0 if row_weight is None else row_weight[:, None]
        self._row_root: float | np.ndarray = np.sqrt(self.row_weight)
        self._Z = Z
        self._penalty = penalty[:, None]
        self._linear_term = linear_term
        self._is_wide = Z.shape[1] > Z.shape[0]
        self._root = 1.0 / np.sqrt(self._penalty)
        self._sample_gram = sample_gram
        if self._is_wide:
            sample_gram = SampleGram(Z, 0.0) if sample_gram is None else sample_gram
            product = sample_gram.weighted(1.0 / penalty)
            matrix = self._row_root * product * np.transpose(self._row_root)
            linear_fit = None if linear_term is None else self._row_root * (Z @ (linear_term / self._penalty))
            self._linear_fit = linear_fit
        else:
            known = gram if gram is not None and row_weight is None else Z.T @ (self.row_weight * Z)
            matrix = self._root * known * self._root.T
        matrix[np.diag_indices_from(matrix)] += 1.0
        self._factor = linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
        # Z A(0): zero unless there is a linear term
        zero = None if linear_term is None else np.zeros((Z.shape[0], linear_term.shape[1]))
        self._fitted_to_zero = None if zero is None else self.fitted(zero)

    def coefficients(self, Y: np.ndarray) -> np.ndarray:
        """A(Y), of shape (n_features, n_targets); copies of a feature get the same row, to the last bits."""
        residual = self._residual(Y)
        right = self._Z.T @ (self._row_root * residual)
        if self._linear_term is not None:
            right += self._linear_term
        if self._sample_gram is not None:
            self._sample_gram.look_at(right, residual)
        return np.asarray(right / self._penalty)

    def fitted(self, Y: np.ndarray) -> np.ndarray:
        """``Z A(Y)``."""
        return np.asarray(Y - self._residual(Y) / self._row_root)

    def loss(self, Y: np.ndarray, fitted: np.ndarray) -> float:
        """The minimum, up to a constant that does not depend on ``Y``, given ``fitted = Z A(Y)``."""
        residual = Y - fitted if self._fitted_to_zero is None else Y - fitted - self._fitted_to_zero
        return float(np.vdot(Y, self.row_weight * residual))

    def _residual(self, Y: np.ndarray) -> np.ndarray:
        """``Y - Z A(Y)`` in scaled rows."""
        target = self._row_root * Y
        if self._is_wide:
            return self._solve(target if self._linear_fit is None else target - self._linear_fit)
        right = self._Z.T @ (self._row_root * target)
        if self._linear_term is not None:
            right += self._linear_term
        return np.asarray(target - self._row_root * (self._Z @ (self._root * self._solve(self._root * right))))

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return linalg.cho_solve(self._factor, right, check_finite=False)
