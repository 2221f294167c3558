r"""A kernel matrix from which features are eliminated one after another.

The kernels below are functions of a sum over features, :math:`k(x, x') = \varphi(\sum_p u_p(x, x'))`, so that
eliminating feature p costs no pass over the others: :math:`\varphi(s - u_p)`. With :math:`\sigma_p` a scale of feature
p, :math:`u_p` grows as :math:`\sigma_p^2` and the derivative at one is :math:`2 u_p \varphi'(s)`.

========  =====================  ======================================
kernel    :math:`u_p`            :math:`\varphi(s)`
========  =====================  ======================================
linear    :math:`x_p x_p'`       :math:`s`
poly      :math:`x_p x_p'`       :math:`(\gamma s + c_0)^d`
sigmoid   :math:`x_p x_p'`       :math:`\tanh(\gamma s + c_0)`
rbf       :math:`(x_p - x_p')^2` :math:`\exp(-\gamma s)`
========  =====================  ======================================

Any other kernel is evaluated anew on the remaining features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, euclidean_distances, pairwise_kernels

from tamis.kernels.arrays.blocks import blocks

Table = Any  # a numpy array, or a sparse one
Kernel = str | Callable[[Table, Table], np.ndarray]

KERNELS = frozenset(set(PAIRWISE_KERNEL_FUNCTIONS) | {"sigmoid", "poly"})

_ADDITIVE = frozenset({"linear", "poly", "sigmoid", "rbf"})  # functions of a sum over features
_MIN_SUM = 1 / 16  # relative to the sums at the last computation: below, differences have lost too many digits
_NUMBERS = 2**20  # of a block that is computed at a time


@dataclass(frozen=True)
class AdditiveKernel:
    r"""A kernel :math:`\varphi(\sum_p u_p)` of a sum over features.

    Attributes
    ----------
    kernel : {"linear", "poly", "sigmoid", "rbf"}
    gamma, degree, coef0 : float
    """

    kernel: str
    gamma: float
    degree: float
    coef0: float

    def sum_terms(self, Z: Table) -> np.ndarray:
        """``sum_p u_p`` over all columns of a table, exactly symmetric."""
        if self.kernel == "rbf" and isinstance(Z, np.ndarray):
            Z = Z - Z.mean(axis=0)  # the distances are the same, and lose fewer digits
        inner = (Z @ Z.T).toarray() if sparse.issparse(Z) else Z @ Z.T
        if self.kernel != "rbf":
            return inner
        norm2 = np.diagonal(inner)
        return np.maximum(norm2[:, None] + norm2 - 2.0 * inner, 0.0)

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``u_p`` of values of a feature in two rows."""
        return (a - b) ** 2 if self.kernel == "rbf" else a * b

    def value(self, sums: np.ndarray) -> np.ndarray:
        r"""The kernel :math:`\varphi(s)`."""
        if self.kernel == "linear":
            return sums.copy()
        if self.kernel == "poly":
            return (self.gamma * sums + self.coef0) ** self.degree
        if self.kernel == "sigmoid":
            return np.tanh(self.gamma * sums + self.coef0)
        return np.exp(-self.gamma * np.maximum(sums, 0.0))

    def finite_value(self, sums: np.ndarray) -> np.ndarray:
        """The same; refuses sums of which it is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            K = self.value(sums)
        check_kernel_is_finite(K, self.kernel, self.gamma, self.degree, self.coef0)
        return K

    def between(self, Z: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The kernel of every row of one table with every row of another."""
        if self.kernel != "rbf":
            return self.value(Z @ other.T)
        return self.value(euclidean_distances(Z, other, squared=True))

    def slope(self, sums: np.ndarray) -> np.ndarray:
        r"""The derivative :math:`\varphi'(s)`."""
        if self.kernel == "linear":
            return np.ones_like(sums)
        if self.kernel == "poly":
            return self.gamma * self.degree * (self.gamma * sums + self.coef0) ** (self.degree - 1)
        if self.kernel == "sigmoid":
            return self.gamma / np.cosh(self.gamma * sums + self.coef0) ** 2
        return -self.gamma * self.value(sums)

    def curvature(self, sums: np.ndarray) -> np.ndarray:
        r"""The second derivative :math:`\varphi''(s)`."""
        if self.kernel == "linear":
            return np.zeros_like(sums)
        if self.kernel == "poly":
            if self.degree == 1:
                return np.zeros_like(sums)
            inner = self.gamma * sums + self.coef0
            return self.gamma**2 * self.degree * (self.degree - 1) * inner ** (self.degree - 2)
        if self.kernel == "sigmoid":
            return -2.0 * self.gamma * self.value(sums) * self.slope(sums)
        return self.gamma**2 * self.value(sums)

    def contract_terms(self, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """``sum_ik weights_ik u_p(x_i, x_k)`` of every column p: O(n^2 D), as one product of matrices.

        Parameters
        ----------
        weights : ndarray of shape (n_rows, n_rows)
            Symmetric.
        columns : ndarray of shape (n_rows, n_columns)
        """
        products = np.einsum("ij,ij->j", columns, weights @ columns)
        if self.kernel != "rbf":
            return products
        return 2.0 * (weights.sum(axis=1) @ columns**2 - products)

    def contract_squared_terms(self, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """``sum_ik weights_ik u_p(x_i, x_k)^2`` of every column p, as for :meth:`contract_terms`."""
        squares = columns**2
        products = np.einsum("ij,ij->j", squares, weights @ squares)
        if self.kernel != "rbf":
            return products
        odd = np.einsum("ij,ij->j", squares * columns, weights @ columns)
        return 2.0 * (weights.sum(axis=1) @ squares**2) - 8.0 * odd + 6.0 * products

    def apply_terms(self, weights: np.ndarray, columns: np.ndarray, v: np.ndarray) -> np.ndarray:
        """``sum_k weights_ik u_p(x_i, x_k) v_k`` of every row i and column p, as for :meth:`contract_terms`."""
        first = columns * (weights @ (columns * v[:, None]))
        if self.kernel != "rbf":
            return first
        return columns**2 * (weights @ v)[:, None] - 2.0 * first + weights @ (columns**2 * v[:, None])


class FeatureKernel:
    """The kernel matrix of a table over its remaining features.

    Parameters
    ----------
    Z : ndarray or sparse array of shape (n_rows, n_features)
        A sparse one is made dense a few columns at a time.
    kernel : str or callable, default="linear"
        "linear", "poly", "sigmoid" and "rbf" are downdated; other names of
        :func:`sklearn.metrics.pairwise.pairwise_kernels` and functions ``k(A, B)`` of two tables are evaluated anew.
    gamma : float, "scale" or "auto", default="scale"
        As for :func:`resolve_gamma`, on the features at the start.
    degree : float, default=3
    coef0 : float, default=0.0

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_rows)
        The kernel over the remaining features; not to be written to.
    remaining : ndarray of shape (n_remaining,)
        Indices of these features in ``Z``, ascending.
    gamma : float

    Notes
    -----
    Float64 throughout, O(n^2) memory. Sums are computed anew when half of the features have been eliminated since they
    last were, or when they have shrunk to a small part: rounding does not accumulate, and all passes together read
    ``Z`` about twice. A function is given a column of zeros where no feature remains.
    """

    matrix: np.ndarray
    _sums: np.ndarray
    _n_at_computation: int
    _size_at_computation: float

    def __init__(
        self,
        Z: Table,
        kernel: Kernel = "linear",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
    ) -> None:
        if isinstance(kernel, str) and kernel not in KERNELS:
            raise ValueError(f"kernel={kernel!r} is unknown; use a function or one of {', '.join(sorted(KERNELS))}")
        self.kernel: Kernel = "poly" if kernel == "polynomial" else kernel
        self.gamma, self.degree, self.coef0 = resolve_gamma(gamma, Z), degree, coef0
        self._function = AdditiveKernel(str(self.kernel), self.gamma, degree, coef0)
        self._Z = sparse.csc_array(Z, dtype=float) if sparse.issparse(Z) else np.asarray(Z, dtype=float, order="F")
        self._is_remaining = np.ones(Z.shape[1], dtype=bool)
        self._compute()

    @property
    def remaining(self) -> np.ndarray:
        """Indices of the remaining features, ascending."""
        return np.flatnonzero(self._is_remaining)

    @property
    def is_additive(self) -> bool:
        """Whether the kernel is a function of a sum over features: eliminating one needs no pass over the others."""
        return self.kernel in _ADDITIVE

    def remove(self, features: np.ndarray) -> None:
        """Eliminate features, given their indices in ``Z``."""
        self._check_remaining(features)
        features = np.asarray(features, dtype=int)
        self._is_remaining[features] = False
        if not self.is_additive or 2 * np.count_nonzero(self._is_remaining) <= self._n_at_computation:
            self._compute()
            return
        self._sums -= self._function.sum_terms(self._Z[:, features])
        if np.abs(self._sums).max(initial=0.0) < _MIN_SUM * self._size_at_computation:
            self._compute()
        else:
            self.matrix = self._function.value(self._sums)

    def without(self, features: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The matrix without each feature alone.

        Parameters
        ----------
        features : ndarray of int
            Indices in ``Z``; as many numbers as features times squared rows are held.
        rows : ndarray of int, default=None
            Those of the matrix; None for all.

        Returns
        -------
        ndarray of shape (len(features), n_rows, n_rows)
        """
        self._check_remaining(features)
        if self.is_additive:
            return self._function.value(self._sums_of(rows) - self._terms(features, rows))
        return np.stack([self.without_group(np.array([feature]), rows) for feature in features])

    def without_group(self, features: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The matrix without all of these features, of shape (n_rows, n_rows)."""
        self._check_remaining(features)
        Z = self._Z if rows is None else self._Z[rows]
        if self.is_additive:
            return self._function.value(self._sums_of(rows) - self._function.sum_terms(Z[:, features]))
        kept = self._is_remaining.copy()
        kept[features] = False
        return self._evaluate(Z[:, kept])

    def derivative(self, features: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Derivative by the scale of each feature, at scales of one, of shape (len(features), n_rows, n_rows).

        Raises ``ValueError`` if the kernel is none of "linear", "poly", "sigmoid", "rbf".
        """
        self._check_remaining(features)
        return 2.0 * self._function.slope(self._sums_of(rows)) * self._terms(features, rows)

    def contract_derivative(self, form: np.ndarray, features: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """``<derivative by the scale of each feature, form>`` for a symmetric form over some rows, in O(r^2 D)."""
        weights = 2.0 * self._function.slope(self._sums_of(rows)) * form
        out = np.empty(features.size)
        for block in blocks(features.size, _NUMBERS // max(rows.size, 1)):
            out[block] = self._function.contract_terms(weights, self.columns(features[block], rows))
        return out

    def columns(self, features: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values of features, of shape (n_rows, len(features)); not to be written to."""
        self._check_remaining(features)
        if isinstance(self._Z, np.ndarray):
            return self._Z.T[features].T if rows is None else self._Z.T[np.ix_(features, rows)].T
        columns = self._Z[:, features].toarray()
        return columns if rows is None else columns[rows]

    def changes_at(self, features: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """What each feature adds to the kernel of pairs of rows: the kernel with it, minus that without it.

        Parameters
        ----------
        features : ndarray of int
        first, second : ndarray of shape (n_pairs,)
            The two rows of every pair.

        Returns
        -------
        ndarray of shape (len(features), n_pairs)
        """
        self._check_remaining(features)
        if not self.is_additive:
            return self.matrix[first, second] - self.without(features)[:, first, second]
        columns = self.columns(features).T
        term = self._function.term(columns[:, first], columns[:, second])
        if self.kernel == "linear":
            return term
        sums = self._sums[first, second]
        if self.kernel == "rbf":  # not the difference of two exponentials, which loses digits and may overflow
            return self._function.value(sums - term) * np.expm1(-self.gamma * term)
        return self._function.value(sums) - self._function.value(sums - term)

    def _check_remaining(self, features: np.ndarray) -> None:
        eliminated = np.asarray(features, dtype=int)[~self._is_remaining[features]]
        if eliminated.size:
            raise ValueError(f"features {eliminated.tolist()} have been taken out already")

    def _compute(self) -> None:
        """Sums and matrix from the table."""
        Z = self._Z[:, self._is_remaining]
        if self.is_additive:
            self._sums = self._function.sum_terms(Z)
            self._n_at_computation, self._size_at_computation = Z.shape[1], float(np.abs(self._sums).max(initial=0.0))
        with np.errstate(invalid="ignore", over="ignore"):
            self.matrix = self._function.value(self._sums) if self.is_additive else self._evaluate(Z)
        check_kernel_is_finite(self.matrix, self.kernel, self.gamma, self.degree, self.coef0)

    def _evaluate(self, Z: Table) -> np.ndarray:
        """A kernel that is not downdated."""
        Z = Z if Z.shape[1] else np.zeros((Z.shape[0], 1))
        if callable(self.kernel):
            return np.asarray(self.kernel(Z, Z), dtype=float)
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(Z, metric=self.kernel, filter_params=True, **parameters)

    def _sums_of(self, rows: np.ndarray | None) -> np.ndarray:
        """Sums of some rows; a kernel that is not a function of sums has no derivative here."""
        if not self.is_additive:
            raise ValueError(
                f"kernel={self.kernel!r} has no derivative here; use one of {', '.join(sorted(_ADDITIVE))}"
            )
        return self._sums if rows is None else self._sums[np.ix_(rows, rows)]

    def _terms(self, features: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        """``u_p`` of each feature, of shape (len(features), n_rows, n_rows)."""
        columns = self.columns(features, rows).T
        return self._function.term(columns[:, :, None], columns[:, None, :])


def check_kernel_is_finite(K: np.ndarray, kernel: Any, gamma: float, degree: float, coef0: float) -> None:
    """Refuse a kernel matrix with other entries."""
    if not np.isfinite(K).all():
        raise ValueError(
            f"kernel={kernel!r} is not finite on these columns; with gamma={gamma:g}, degree={degree:g}, "
            f"coef0={coef0:g} values are too large, or negative under a root"
        )


def kernel_between(
    Z: np.ndarray, other: np.ndarray, kernel: Kernel, *, gamma: float, degree: float, coef0: float
) -> np.ndarray:
    """Any kernel of every row of one table with every row of another."""
    kernel = "poly" if kernel == "polynomial" else kernel
    if callable(kernel):
        return np.asarray(kernel(Z, other), dtype=float)
    if kernel in _ADDITIVE:
        return AdditiveKernel(kernel, gamma, degree, coef0).between(Z, other)
    parameters = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return pairwise_kernels(Z, other, metric=kernel, filter_params=True, **parameters)


def resolve_gamma(gamma: float | str, Z: Table, weight: np.ndarray | None = None) -> float:
    """The number behind "scale", ``1 / (n_features * Z.var())``, and "auto", ``1 / n_features``, as in scikit-learn.

    A table that does not vary counts as one of unit variance. With weights, a row of weight m counts m times.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = max(Z.shape[1], 1)
    if gamma == "auto":
        return 1.0 / n_features
    return 1.0 / (n_features * (_variance(Z, weight) or 1.0))


def _variance(Z: Table, weight: np.ndarray | None) -> float:
    """Of all entries of a table; a sparse one's zeros are counted, not formed."""
    n_rows, n_columns = Z.shape
    weight = np.ones(n_rows) if weight is None else weight
    size = float(weight.sum()) * n_columns
    if not sparse.issparse(Z):
        mean = float(weight @ Z.sum(axis=1)) / size
        return float(weight @ ((Z - mean) ** 2).sum(axis=1)) / size
    entries = Z.tocoo()
    weights = weight[entries.row]
    mean = float(weights @ entries.data) / size
    return (float(weights @ (entries.data - mean) ** 2) + (size - float(weights.sum())) * mean**2) / size


def criterion_changes(kernel: FeatureKernel, V: np.ndarray, features: np.ndarray) -> np.ndarray:
    r"""Change of the squared norms of models with fixed dual variables, without each feature alone.

    .. math:: \sum_m |v_m^T K v_m - v_m^T K_{-p} v_m|

    (Lal et al. 2006, algorithm 2, summed over the models of a problem with many classes).

    Parameters
    ----------
    kernel : FeatureKernel
    V : ndarray of shape (n_models, n_rows)
        Dual variables times signs.
    features : ndarray of int

    Returns
    -------
    ndarray of shape (len(features),)

    Notes
    -----
    Linear kernel: one product of ``V`` with the table. Others: O(D r^2 / 2) for the r rows with a dual variable
    other than zero, each pair once, in blocks.
    """
    features = np.asarray(features, dtype=int)
    changes = np.empty(features.size)
    if kernel.kernel == "linear":
        for block in blocks(features.size, _NUMBERS // V.shape[1]):
            changes[block] = ((V @ kernel.columns(features[block])) ** 2).sum(axis=0)
        return changes
    rows = np.flatnonzero(np.any(V != 0, axis=0))
    upper, lower = np.triu_indices(rows.size)
    products = V[:, rows[upper]] * V[:, rows[lower]] * np.where(upper == lower, 1.0, 2.0)
    for block in blocks(features.size, _NUMBERS // max(upper.size, 1)):
        change = kernel.changes_at(features[block], rows[upper], rows[lower])
        changes[block] = np.abs(change @ products.T).sum(axis=1)
    return changes
