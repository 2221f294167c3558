r"""A kernel matrix that features leave one after another.

The kernels below are functions of a sum over features, :math:`k(x, x') = \varphi(\sum_p u_p(x, x'))`, so that taking
feature p out costs no pass over the others: :math:`\varphi(s - u_p)`. With :math:`\sigma_p` a scale of feature p,
:math:`u_p` grows as :math:`\sigma_p^2` and the derivative at one is :math:`2 u_p \varphi'(s)`.

========  =====================  ======================================
kernel    :math:`u_p`            :math:`\varphi(s)`
========  =====================  ======================================
linear    :math:`x_p x_p'`       :math:`s`
poly      :math:`x_p x_p'`       :math:`(\gamma s + c_0)^d`
sigmoid   :math:`x_p x_p'`       :math:`\tanh(\gamma s + c_0)`
rbf       :math:`(x_p - x_p')^2` :math:`\exp(-\gamma s)`
========  =====================  ======================================

Any other kernel is evaluated again on the features left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from tamis.kernels.arrays.blocks import blocks

Table = Any  # a numpy array, or a sparse one
Kernel = str | Callable[[Table, Table], np.ndarray]

KERNELS = frozenset(set(PAIRWISE_KERNEL_FUNCTIONS) | {"sigmoid", "poly"})

_CLOSED = frozenset({"linear", "poly", "sigmoid", "rbf"})
_DRIFT = 1 / 16  # of the sums at the last computation: below, what is left has lost digits to what has gone
_NUMBERS = 2**20  # held at a time


class FeatureKernel:
    """The kernel matrix of a table, over those of its features that are still in.

    Parameters
    ----------
    Z : ndarray or sparse array of shape (n_rows, n_features)
        A sparse one is made dense a few columns at a time.
    kernel : str or callable, default="linear"
        "linear", "poly", "sigmoid" and "rbf" are down-dated; other names of
        :func:`sklearn.metrics.pairwise.pairwise_kernels` and functions ``k(A, B)`` of two tables are evaluated again.
    gamma : float, default=None
        None: one over the number of features at the start.
    degree : float, default=3
    coef0 : float, default=1.0

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_rows)
        The kernel over the features left; not to be written to.
    alive : ndarray of shape (n_left,)
        Their places in ``Z``, ascending.
    gamma : float

    Notes
    -----
    Float64 throughout, O(n^2) memory. Sums are computed afresh when half of the features have gone since they last
    were, or when they have shrunk to a small part: rounding does not pile up, and all passes together read ``Z`` about
    twice. A function is given a column of zeros where no feature is left.
    """

    matrix: np.ndarray
    _sums: np.ndarray
    _n_fresh: int
    _size_fresh: float

    def __init__(
        self,
        Z: Table,
        kernel: Kernel = "linear",
        *,
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
    ) -> None:
        if isinstance(kernel, str) and kernel not in KERNELS:
            raise ValueError(f"kernel={kernel!r} is unknown; use a function or one of {', '.join(sorted(KERNELS))}")
        self.kernel: Kernel = "poly" if kernel == "polynomial" else kernel
        self.gamma = 1.0 / max(Z.shape[1], 1) if gamma is None else float(gamma)
        self.degree, self.coef0 = degree, coef0
        self._Z = sparse.csc_array(Z, dtype=float) if sparse.issparse(Z) else np.asarray(Z, dtype=float, order="F")
        self._in = np.ones(Z.shape[1], dtype=bool)
        self._compute()

    @property
    def alive(self) -> np.ndarray:
        """Places of the features left, ascending."""
        return np.flatnonzero(self._in)

    @property
    def is_closed(self) -> bool:
        """Whether a feature leaves without a pass over the others."""
        return self.kernel in _CLOSED

    def rescale(self, gamma: float) -> None:
        """Take another ``gamma`` and compute afresh."""
        self.gamma = float(gamma)
        self._compute()

    def remove(self, features: np.ndarray) -> None:
        """Take features out for good, given their places in ``Z``."""
        self._check_in(features)
        features = np.asarray(features, dtype=int)
        self._in[features] = False
        if not self.is_closed or 2 * np.count_nonzero(self._in) <= self._n_fresh:
            self._compute()
            return
        self._sums -= self._pooled(self._Z[:, features])
        if np.abs(self._sums).max(initial=0.0) < _DRIFT * self._size_fresh:
            self._compute()
        else:
            self.matrix = self._value(self._sums)

    def without(self, features: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The matrix that is left when each feature goes alone.

        Parameters
        ----------
        features : ndarray of int
            Places in ``Z``; as many numbers as features times squared rows are held.
        rows : ndarray of int, default=None
            Those of the matrix; None for all.

        Returns
        -------
        ndarray of shape (len(features), n_rows, n_rows)
        """
        self._check_in(features)
        if self.is_closed:
            return self._value(self._part(rows) - self._shares(features, rows))
        return np.stack([self.without_group(np.array([feature]), rows) for feature in features])

    def without_group(self, features: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The matrix that is left when all of these features go, of shape (n_rows, n_rows)."""
        self._check_in(features)
        Z = self._Z if rows is None else self._Z[rows]
        if self.is_closed:
            return self._value(self._part(rows) - self._pooled(Z[:, features]))
        left = self._in.copy()
        left[features] = False
        return self._evaluate(Z[:, left])

    def derivative(self, features: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Derivative by the scale of each feature, at scales of one, of shape (len(features), n_rows, n_rows).

        Raises ``ValueError`` if the kernel is none of "linear", "poly", "sigmoid", "rbf".
        """
        self._check_in(features)
        return self._slope(self._part(rows)) * self._shares(features, rows)

    def columns(self, features: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values of features, of shape (n_rows, len(features)); not to be written to."""
        self._check_in(features)
        if isinstance(self._Z, np.ndarray):
            return self._Z.T[features].T if rows is None else self._Z.T[np.ix_(features, rows)].T
        columns = self._Z[:, features].toarray()
        return columns if rows is None else columns[rows]

    def changes_at(self, features: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """What each feature adds to the kernel of pairs of rows: with it less without it.

        Parameters
        ----------
        features : ndarray of int
        left, right : ndarray of shape (n_pairs,)
            The two rows of every pair.

        Returns
        -------
        ndarray of shape (len(features), n_pairs)
        """
        self._check_in(features)
        if not self.is_closed:
            return self.matrix[left, right] - self.without(features)[:, left, right]
        columns = self.columns(features).T
        share = self._combine(columns[:, left], columns[:, right])
        if self.kernel == "linear":
            return share
        sums = self._sums[left, right]
        if self.kernel == "rbf":  # without the digits that a difference would lose, nor an overflow
            return self._value(sums - share) * np.expm1(-self.gamma * share)
        return self._value(sums) - self._value(sums - share)

    def _check_in(self, features: np.ndarray) -> None:
        gone = np.asarray(features, dtype=int)[~self._in[features]]
        if gone.size:
            raise ValueError(f"features {gone.tolist()} have been taken out already")

    def _compute(self) -> None:
        """Sums and matrix from the table."""
        Z = self._Z[:, self._in]
        if self.is_closed:
            self._sums = self._pooled(Z)
            self._n_fresh, self._size_fresh = Z.shape[1], float(np.abs(self._sums).max(initial=0.0))
        with np.errstate(invalid="ignore", over="ignore"):
            self.matrix = self._value(self._sums) if self.is_closed else self._evaluate(Z)
        if not np.isfinite(self.matrix).all():
            raise ValueError(
                f"kernel={self.kernel!r} is not finite on these columns; with gamma={self.gamma:g}, "
                f"degree={self.degree:g}, coef0={self.coef0:g} values are too large, or negative under a root"
            )

    def _evaluate(self, Z: Table) -> np.ndarray:
        """A kernel that is not down-dated."""
        Z = Z if Z.shape[1] else np.zeros((Z.shape[0], 1))
        if callable(self.kernel):
            return np.asarray(self.kernel(Z, Z), dtype=float)
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(Z, metric=self.kernel, filter_params=True, **parameters)

    def _part(self, rows: np.ndarray | None) -> np.ndarray:
        """Sums among rows; a kernel that has none has no derivative here."""
        if not self.is_closed:
            raise ValueError(f"kernel={self.kernel!r} has no derivative here; use one of {', '.join(sorted(_CLOSED))}")
        return self._sums if rows is None else self._sums[np.ix_(rows, rows)]

    def _pooled(self, Z: Table) -> np.ndarray:
        """Sum of the shares of all columns of a table, exactly symmetric."""
        if self.kernel == "rbf" and isinstance(Z, np.ndarray):
            Z = Z - Z.mean(axis=0)  # distances do not mind, and their digits do
        inner = (Z @ Z.T).toarray() if sparse.issparse(Z) else Z @ Z.T
        if self.kernel != "rbf":
            return inner
        norm2 = np.diagonal(inner)
        return np.maximum(norm2[:, None] + norm2 - 2.0 * inner, 0.0)

    def _shares(self, features: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        """What each feature adds to the sums, of shape (len(features), n_rows, n_rows)."""
        columns = self.columns(features, rows).T
        return self._combine(columns[:, :, None], columns[:, None, :])

    def _combine(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a - b) ** 2 if self.kernel == "rbf" else a * b

    def _value(self, sums: np.ndarray) -> np.ndarray:
        if self.kernel == "linear":
            return sums.copy()
        if self.kernel == "poly":
            return (self.gamma * sums + self.coef0) ** self.degree
        if self.kernel == "sigmoid":
            return np.tanh(self.gamma * sums + self.coef0)
        return np.exp(-self.gamma * np.maximum(sums, 0.0))

    def _slope(self, sums: np.ndarray) -> np.ndarray:
        """Twice the derivative by the sums: that by a scale, per share."""
        if self.kernel == "linear":
            return np.full_like(sums, 2.0)
        if self.kernel == "poly":
            return 2.0 * self.gamma * self.degree * (self.gamma * sums + self.coef0) ** (self.degree - 1)
        if self.kernel == "sigmoid":
            return 2.0 * self.gamma / np.cosh(self.gamma * sums + self.coef0) ** 2
        return -2.0 * self.gamma * self._value(sums)


def criterion_changes(kernel: FeatureKernel, V: np.ndarray, features: np.ndarray) -> np.ndarray:
    r"""How much the margins of fixed machines change when each feature goes alone.

    .. math:: \sum_m |v_m^T K v_m - v_m^T K_{-p} v_m|

    (Lal et al. 2006, algorithm 2, summed over the machines of a problem with many classes).

    Parameters
    ----------
    kernel : FeatureKernel
    V : ndarray of shape (n_machines, n_rows)
        Dual weights times signs.
    features : ndarray of int
        Places of the features asked for.

    Returns
    -------
    ndarray of shape (len(features),)

    Notes
    -----
    Linear kernel: one product of ``V`` with the table. Others: O(D r^2 / 2) for the r rows with a weight in any
    machine, each pair once, in blocks.
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
