"""ALMA: large margins in the p-norm by corrections of one row at a time (Gentile 2001).

The weights live in the dual norm, 1/p + 1/q = 1, and are kept as ``theta = f(w)``, with f the gradient of half the
squared q-norm: corrections add to theta, the projection onto the unit ball divides it, and the way back is

    w_i = sign(theta_i) |theta_i|^(p-1) / ||theta||_p^(p-2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import daxpy, dnrm2, idamax

from tamis.kernels.arrays.blocks import limit_blas_threads

_LEAST_WHOLE = 10.0  # p from which on it is a whole number
_MIN_NUMBERS = 2**11  # of the rows whose margins are computed together, right after a correction
_LEAST_FACTOR = 1e-100  # of slacks: below, it is multiplied out
_MAX_NUMBERS = 2**20  # and where many rows in a row needed none


@dataclass(frozen=True)
class Hyperplane:
    """The result of a run of ALMA.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
        At most of unit length in the q-norm, together with the slacks.
    slacks : ndarray of shape (n_samples,)
        Weight of every row's own slack feature, times its label; zero where there is none.
    gamma : float
        The margin that the last pass required: all rows have more than ``(1 - alpha) gamma``. It is no smaller than the
        largest margin that any hyperplane has.
    n_corrections, n_passes : int
    converged : bool
        Whether the last pass made no correction.
    """

    weights: np.ndarray
    slacks: np.ndarray
    gamma: float
    n_corrections: int
    n_passes: int
    converged: bool


def adapt_norm(n_features: int) -> float:
    """p for D features: 2 ln D, for which a few of many features may have all of the weight, and at least 2.

    From 10 on, which is 150 features, it is rounded to a whole number, so that powers are products.
    """
    p = max(2.0, 2.0 * float(np.log(n_features)))
    return p if p < _LEAST_WHOLE else float(round(p))


def normalize_rows(X: Any, p: float) -> Any:
    """Rows of unit length in the p-norm; empty ones stay zero."""
    if sparse.issparse(X):
        size = np.abs(X).max(axis=1).toarray().reshape(-1)
        X = sparse.diags_array(_invert(size)) @ X.tocsr()
        powers = abs(X)
        powers.data **= p
        return sparse.csr_array(sparse.diags_array(_invert(powers.sum(axis=1) ** (1 / p))) @ X)
    X = X * _invert(np.abs(X).max(axis=1, initial=0.0))[:, None]
    return X * _invert(np.sum(np.abs(X) ** p, axis=1) ** (1 / p))[:, None]


def _invert(size: np.ndarray) -> np.ndarray:
    return np.divide(1.0, size, out=np.zeros_like(size, dtype=float), where=size > 0)


def dual_weights(theta: np.ndarray, p: float, out: np.ndarray) -> float:
    """``f^-1(theta)``, into the first row of ``out``, of shape (3, n_features); its q-norm, the p-norm of ``theta``."""
    weights, size, powers = out
    if p == 2.0:
        weights[:] = theta
        return float(dnrm2(theta))
    np.abs(theta, out=size)
    largest = float(size[idamax(size)]) if size.size else 0.0
    if largest == 0.0:
        weights[:] = 0.0
        return 0.0
    size /= largest
    _raise_to(p - 2.0, size, out=powers, work=weights)
    total = float(np.dot(np.multiply(size, size, out=size), powers))
    np.multiply(theta, powers, out=weights)
    weights *= total ** (2.0 / p - 1.0)
    return largest * total ** (1.0 / p)


def _raise_to(exponent: float, base: np.ndarray, out: np.ndarray, work: np.ndarray) -> None:
    """Powers, of whole exponents by squaring, which takes a fraction of the time."""
    if exponent != int(exponent):
        np.power(base, exponent, out=out)
        return
    rest = int(exponent)
    out[:] = base if rest % 2 else 1.0
    np.copyto(work, base)
    while rest := rest // 2:
        np.multiply(work, work, out=work)
        if rest % 2:
            np.multiply(out, work, out=out)


def find_hyperplane(
    X: Any, y: np.ndarray, *, p: float, alpha: float, slack: float = 0.0, passes: Iterable[int]
) -> Hyperplane:
    r"""Run ALMA over the rows, in their order, until a pass makes no correction.

    A row is corrected where :math:`y\, w \cdot x \le (1 - \alpha) \gamma_k`, with

    .. math:: \gamma_k = \frac{\sqrt 8}{\alpha} \sqrt{\frac{p - 1}{k}}, \qquad
              w \leftarrow f^{-1}\Bigl(f(w) + \sqrt{\frac{2}{(p - 1) k}}\, y\, x\Bigr)

    and a projection onto the unit ball, k - 1 being the number of corrections before.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
        Rows of at most unit length in the p-norm.
    y : ndarray of shape (n_samples,)
        -1 or 1.
    p : float
        2 or more.
    alpha : float
        Fraction of the margin to give up, in (0, 1].
    slack : float
        Size of a feature that each row has for itself, beside its unit length; with one, all rows can be separated.
    passes : iterable of int
        Numbers of the passes that may be made, from 1.

    Returns
    -------
    Hyperplane

    Notes
    -----
    The slack features are measured in the 2-norm whatever p is: a row has the length :math:`(\|x\|_p^2 +
    \lambda^2)^{1/2}` and is scaled to one, the weights have :math:`(\|w\|_q^2 + \|u\|_2^2)^{1/2}`, so that squared
    slacks are penalized, and some hyperplane always has the margin :math:`\lambda / \sqrt{n (1 + \lambda^2)}`. These
    norms are dual to each other, and half the square of the first is as smooth as that of the p-norm, which is all that
    Gentile's proof asks for.
    """
    run = _Run(X, y, p, alpha, slack)
    n_passes, converged = 0, False
    with limit_blas_threads(X.shape[1]):  # a few rows at a time are multiplied by the weights
        for n_pass in passes:
            n_passes, converged = n_pass, not run.make_pass()
            if converged:
                break
    return Hyperplane(run.weights, run.slacks, run.gamma, run.k - 1, n_passes, converged)


class _Run:
    """A run of ALMA: the rows, the hyperplane so far, and k - 1 corrections made.

    A run makes tens of thousands of corrections, each of a few operations on short arrays: these are made in place, and
    slacks are kept as a factor, which a projection changes, and values that only grow, with the sum of their squares.
    """

    X: Any

    def __init__(self, X: Any, y: np.ndarray, p: float, alpha: float, slack: float) -> None:
        self.scale = 1.0 / math.hypot(1.0, slack)
        self.slack_value = slack * self.scale  # of every row's slack feature
        self.X = sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=float)
        self.row_of: np.ndarray | None = None
        if sparse.issparse(X):
            self.row_of = np.repeat(np.arange(X.shape[0]), np.diff(self.X.indptr))
        self.scaled_y, self.p, self.alpha = self.scale * y, p, alpha
        self.k = 1
        self.theta, self._weights_and_work = np.zeros(X.shape[1]), np.zeros((3, X.shape[1]))
        self.weights = self._weights_and_work[0]
        self._slacks, self._slack_factor, self._slack_sum2 = np.zeros(X.shape[0]), 1.0, 0.0

    @property
    def gamma(self) -> float:
        return math.sqrt(8.0 * (self.p - 1.0) / self.k) / self.alpha

    @property
    def slacks(self) -> np.ndarray:
        return self._slack_factor * self._slacks

    def make_pass(self) -> bool:
        """One pass; whether it made a correction."""
        before = self.k
        n_rows, smallest = len(self.scaled_y), max(1, _MIN_NUMBERS // max(1, self.theta.size))
        largest = max(smallest, _MAX_NUMBERS // max(1, self.theta.size))
        start, size = 0, smallest
        threshold = (1.0 - self.alpha) * self.gamma
        while start < n_rows:  # the margins of a block of rows hold up to the first correction
            stop = min(start + size, n_rows)
            is_violated = self._margins(start, stop) <= threshold
            first = int(is_violated.argmax())
            if is_violated[first]:
                self._correct(start + first)
                threshold = (1.0 - self.alpha) * self.gamma
                start, size = start + first + 1, smallest
            else:
                start, size = stop, min(2 * size, largest)
        return self.k > before

    def _margins(self, start: int, stop: int) -> np.ndarray:
        if self.row_of is None:
            margins = self.X[start:stop] @ self.weights
        else:  # slicing a sparse array costs far more than the products of a few rows
            entries = slice(self.X.indptr[start], self.X.indptr[stop])
            products = self.X.data[entries] * self.weights[self.X.indices[entries]]
            margins = np.bincount(self.row_of[entries] - start, products, minlength=stop - start)
        margins *= self.scaled_y[start:stop]
        if self.slack_value:
            margins += (self.slack_value * self._slack_factor) * self._slacks[start:stop]
        return margins

    def _correct(self, i: int) -> None:
        """Add the row to theta, and project onto the unit ball."""
        rate = math.sqrt(2.0 / ((self.p - 1.0) * self.k))
        step = rate * float(self.scaled_y[i])
        if self.row_of is not None:
            entries = slice(self.X.indptr[i], self.X.indptr[i + 1])
            self.theta[self.X.indices[entries]] += step * self.X.data[entries]
        else:
            self.theta = daxpy(self.X[i], self.theta, a=step)
        length = dual_weights(self.theta, self.p, out=self._weights_and_work)
        if self.slack_value:
            length = math.hypot(length, self._extend_slack(i, rate * self.slack_value))
        if length > 1.0:
            self.theta /= length
            self.weights /= length
            self._shrink_slacks(length)
        self.k += 1

    def _extend_slack(self, i: int, change: float) -> float:
        """Let the slack of a row grow; the length of all slacks."""
        before = float(self._slacks[i])
        after = before + change / self._slack_factor
        self._slacks[i] = after
        self._slack_sum2 += after * after - before * before
        return self._slack_factor * math.sqrt(self._slack_sum2)

    def _shrink_slacks(self, length: float) -> None:
        self._slack_factor /= length
        if self._slack_factor < _LEAST_FACTOR:
            self._slacks *= self._slack_factor
            self._slack_factor, self._slack_sum2 = 1.0, float(np.dot(self._slacks, self._slacks))


def count_spare(powers: np.ndarray, budgets: np.ndarray) -> int:
    """How many features, from the first on, can be eliminated from all hyperplanes within their budgets.

    Parameters
    ----------
    powers : ndarray of shape (n_hyperplanes, n_features)
        :math:`|w_i|^q`, in the order in which features are eliminated.
    budgets : ndarray of shape (n_hyperplanes,)
        Largest sum over the eliminated features.

    Returns
    -------
    int
    """
    return int(np.all(np.cumsum(powers, axis=1) <= budgets[:, None], axis=0).sum())  # sums ascend


def bound_corrections(p: float, alpha: float, margin: float) -> float:
    """Largest number of corrections of a run, where some hyperplane has this margin (Gentile 2001)."""
    return 2.0 * (p - 1.0) / margin**2 * (2.0 / alpha - 1.0) ** 2 + 8.0 / alpha - 4.0
