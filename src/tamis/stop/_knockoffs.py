"""Knockoffs: copies of columns that keep all correlations with the other columns, and have no part in the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular

from tamis.kernels.arrays.shapes import shape_moments

_LEAST_EIGENVALUE = 0.1  # of a correlation matrix of more columns than rows, after thresholding
_FLOOR = 1e-4  # least eigenvalue of any: where columns depend on each other, knockoffs all but equal them
_MAX_NEWTON = 100
_MAX_HALVINGS = 60
_DECREASE = 1e-4  # share of the predicted decrease that a step has to reach (Armijo)
_SKEWNESS, _KURTOSIS = 0.5, 1.0  # in excess, of columns that are far from Gaussian
_ERRORS = 4.0  # standard errors by which these differ from zero
_TOL = 1e-10  # Newton decrement, relative to the objective


def ledoit_wolf_correlation(Z: np.ndarray) -> np.ndarray:
    r"""Correlation of standardized columns, shrunk to the identity by as much as its own sampling error suggests.

    .. math:: (1 - \delta) R + \delta I, \qquad
              \delta = \min\Bigl(1, \frac{\sum_i \|z_i z_i^\top - R\|_F^2 / n^2}{\|R - I\|_F^2}\Bigr)

    (Ledoit and Wolf 2004).

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        Columns of mean 0 and variance 1.
    """
    n, p = Z.shape
    R = Z.T @ Z / n
    distance = float(((R - np.eye(p)) ** 2).sum())
    error = (float((np.einsum("ij,ij->i", Z, Z) ** 2).sum()) / n - float((R**2).sum())) / n
    shrinkage = 1.0 if distance <= error else max(error, 0.0) / distance
    return (1.0 - shrinkage) * R + shrinkage * np.eye(p)


def thresholded_correlation(Z: np.ndarray) -> np.ndarray:
    r"""Correlation without entries that chance explains, :math:`|r_{jk}| < \sqrt{2 \log p / n}`, and well conditioned.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        Columns of mean 0 and variance 1.
    """
    n, p = Z.shape
    R = Z.T @ Z / n
    R[np.abs(R) < np.sqrt(2.0 * np.log(p) / n)] = 0.0
    np.fill_diagonal(R, 1.0)
    return raise_least_eigenvalue(R, _LEAST_EIGENVALUE)


def raise_least_eigenvalue(R: np.ndarray, least: float) -> np.ndarray:
    """A mixture of a correlation matrix and the identity whose eigenvalues are at least ``least``."""
    smallest = float(eigh(R, eigvals_only=True, subset_by_index=[0, 0])[0])
    if smallest >= least:
        return R
    shrinkage = (least - smallest) / (1.0 - smallest)
    return (1.0 - shrinkage) * R + shrinkage * np.eye(len(R))


def estimate_correlation(Z: np.ndarray) -> tuple[np.ndarray, str]:
    """Correlation matrix of standardized columns that can be inverted, and the name of the estimate."""
    n, p = Z.shape
    if n > p:
        return raise_least_eigenvalue(ledoit_wolf_correlation(Z), _FLOOR), "Ledoit-Wolf"
    return thresholded_correlation(Z), "thresholded"


def whiten_groups(R: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Block-diagonal factor W with ``W' R W`` the identity within every group of columns."""
    W = np.eye(len(R))
    for group in np.flatnonzero(np.bincount(codes) > 1).tolist():
        inside = np.ix_(*[np.flatnonzero(codes == group)] * 2)
        W[inside] = solve_triangular(cholesky(R[inside], lower=True), np.eye(len(R[inside])), lower=True).T
    return W


def minimize_reconstructability(R: np.ndarray, codes: np.ndarray | None = None) -> np.ndarray:
    r"""The diagonal by which knockoffs may differ from their columns and be least told from the others.

    .. math:: \min_s \operatorname{tr}\bigl((2R - \operatorname{diag} s)^{-1}\bigr) + \sum_j \frac{1}{s_j}
              \qquad\text{with } 0 \prec \operatorname{diag} s \prec 2R

    (minimum variance-based reconstructability, Spector and Janson 2022: the trace of the inverse of the joint
    correlation of columns and knockoffs, which an orthogonal change of basis splits in two). The objective is convex;
    Newton's method with a line search, whose Hessian is :math:`2 A \circ A^2 + 2 \operatorname{diag} s^{-3}` with
    :math:`A = (2R - \operatorname{diag} s)^{-1}`: O(p^3) per step.

    Parameters
    ----------
    R : ndarray of shape (n_columns, n_columns)
        Positive definite, with a unit diagonal.
    codes : ndarray of int of shape (n_columns,), default=None
        Group of every column: those of a group share their entry.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    codes = np.arange(len(R)) if codes is None else codes
    # feasible: 2R - diag s is positive definite where the whole spectrum of R lies above s / 2
    s = np.full(len(R), min(1.0, float(eigh(R, eigvals_only=True, subset_by_index=[0, 0])[0])))
    value, A = _reconstructability(R, s)
    for _ in range(_MAX_NEWTON):
        square = A @ A
        gradient = np.bincount(codes, np.diag(square) - s**-2)
        hessian = _sum_groups(2.0 * A * square + np.diag(2.0 * s**-3), codes)
        direction = -cho_solve(cho_factor(hessian), gradient)
        decrement = -float(gradient @ direction)
        if decrement <= _TOL * value:
            break
        step = 1.0
        for _ in range(_MAX_HALVINGS):
            trial = s + step * direction[codes]
            found = _reconstructability(R, trial)
            if found[0] <= value - _DECREASE * step * decrement:
                break
            step /= 2.0
        else:
            break  # rounding is all that is left
        s, (value, A) = trial, found
    return s


def _reconstructability(R: np.ndarray, s: np.ndarray) -> tuple[float, np.ndarray]:
    """The objective, infinite outside of the domain, and the inverse of ``2R - diag s``."""
    if s.min() <= 0.0:
        return np.inf, R
    try:
        factor = cho_factor(2.0 * R - np.diag(s))
    except LinAlgError:
        return np.inf, R
    inverse = cho_solve(factor, np.eye(len(R)))
    return float(np.trace(inverse) + (1.0 / s).sum()), inverse


def _sum_groups(matrix: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Sums over rows and columns of the same groups."""
    if codes.size == codes.max() + 1:
        return matrix[np.ix_(*[np.argsort(codes)] * 2)]
    member = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
    return member.T @ matrix @ member


@dataclass(frozen=True)
class KnockoffLaw:
    r"""The Gaussian law of knockoffs given standardized columns, :math:`\tilde z \mid z \sim N(P^\top z, L L^\top)`.

    With the correlation R of the columns and a block-diagonal S,
    :math:`P = I - R^{-1} S` and :math:`L L^\top = 2 S - S R^{-1} S` make the joint correlation of both

    .. math:: \begin{pmatrix} R & R - S \\ R - S & R \end{pmatrix},

    which swapping columns with their knockoffs does not change (Candes et al. 2018, Eq. 3.2).

    Attributes
    ----------
    R : ndarray of shape (n_columns, n_columns)
    S : ndarray of shape (n_columns, n_columns)
        Diagonal, or block-diagonal for groups of columns.
    prediction : ndarray of shape (n_columns, n_columns)
        P.
    factor : ndarray of shape (n_columns, n_columns)
        L.
    """

    R: np.ndarray
    S: np.ndarray
    prediction: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, R: np.ndarray, codes: np.ndarray | None = None) -> KnockoffLaw:
        """The law of least reconstructability for columns of this correlation, or for groups of them.

        Columns of a group are whitened first, so that the law does not depend on their basis.
        """
        if codes is None or codes.size == codes.max() + 1:
            S = np.diag(minimize_reconstructability(R))
        else:
            W = whiten_groups(R, codes)
            back = np.linalg.inv(W)
            S = back.T @ np.diag(minimize_reconstructability(W.T @ R @ W, codes)) @ back
        prediction = -cho_solve(cho_factor(R), S)
        covariance = 2.0 * S + S @ prediction
        prediction[np.diag_indices(len(R))] += 1.0
        values, vectors = eigh((covariance + covariance.T) / 2.0)
        # the symmetric root: rounding does not decide on its signs
        return cls(R, S, prediction, vectors * np.sqrt(np.clip(values, 0.0, None)) @ vectors.T)

    def draw(self, expected: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Knockoffs of rows whose conditional means are ``expected``, that is ``Z @ prediction``."""
        return expected + rng.standard_normal(expected.shape) @ self.factor.T


def far_from_gaussian(Z: np.ndarray) -> np.ndarray:
    """Standardized columns whose skewness or excess kurtosis is large, and more than chance makes of Gaussian columns.

    Balanced binary columns, whose tails are short, are not among them.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)

    Returns
    -------
    ndarray of bool of shape (n_columns,)
    """
    n = len(Z)
    skewness, kurtosis = shape_moments(Z, np.ones(n))
    is_skewed = np.abs(skewness) > max(_SKEWNESS, _ERRORS * np.sqrt(6.0 / n))
    return is_skewed | (kurtosis > max(_KURTOSIS, _ERRORS * np.sqrt(24.0 / n)))


def match_margins(knockoffs: np.ndarray, sorted_columns: np.ndarray) -> np.ndarray:
    """In every column the given values, in the order of its knockoffs: their ranks, with the margins of features.

    Parameters
    ----------
    knockoffs : ndarray of shape (n_samples, n_columns)
    sorted_columns : ndarray of shape (n_samples, n_columns)
        Values of the features, ascending in every column.
    """
    matched = np.empty_like(knockoffs)
    np.put_along_axis(matched, np.argsort(knockoffs, axis=0), sorted_columns, axis=0)
    return matched


def moment_mismatch(Z: np.ndarray, knockoffs: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """How far second moments of drawn knockoffs are from those that columns and knockoffs should share.

    The root of the mean square of ``corr(z~_j, z~_k) - corr(z_j, z_k)`` and ``corr(z_j, z~_k) - corr(z_j, z_k)`` over
    columns j, k of different groups, and what it would be by chance alone, for knockoffs drawn from a law that fits.

    Parameters
    ----------
    Z, knockoffs : ndarray of shape (n_samples, n_columns)
        Standardized columns and their knockoffs.
    codes : ndarray of int of shape (n_columns,)
        Group of every column.
    """
    n = len(Z)
    outside = codes[:, None] != codes
    if not outside.any():
        return 0.0, 0.0
    own, both, copies = Z.T @ Z / n, Z.T @ knockoffs / n, knockoffs.T @ knockoffs / n
    mismatch = float(np.sqrt(np.mean((both - own)[outside] ** 2 + (copies - own)[outside] ** 2) / 2.0))
    # mean squares, over the rows, of what the two differences are means of
    squares = Z**2, knockoffs**2
    of_both = squares[0].T @ (knockoffs - Z) ** 2
    product = Z * knockoffs
    of_copies = squares[1].T @ squares[1] + squares[0].T @ squares[0] - 2.0 * product.T @ product
    chance = np.mean((of_both + of_copies)[outside]) / (2.0 * n**2)
    return mismatch, float(np.sqrt(max(chance, 0.0)))
