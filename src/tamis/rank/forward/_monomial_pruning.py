"""Backward elimination of columns from a least-squares model, by downdating: nothing is fitted again.

With ``P`` the centered columns of the model and ``B = P (P'P)^-1`` their dual basis, ``u_i = b_i / ||b_i||`` is the
direction of column i that the other columns do not explain, and ``||b_i||^2 = (P'P)^-1_ii``. Without column i

    residual_i = residual + u_i (u_i' Y),      so that  RSS_i = RSS + w_i^2 / (P'P)^-1_ii,   w = B' Y,
    leverage_i = leverage - u_i^2,             and      B_i = B - u_i (u_i' B).

The last is an orthogonal projection: downdating does not lose digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.special import fdtrc

from tamis.kernels.arrays.tolerances import DEPENDENT, EXPLAINED, FULL_LEVERAGE, TIE


@dataclass(frozen=True)
class Removal:
    """A column that was removed from the model, or the one at which pruning ended.

    Attributes
    ----------
    column : int
        Its place among the columns of the complete model.
    criterion : float
        P-value of the model without it against the complete one, or its mean squared leave-one-out error.
    before : float
        What the criterion was held against: the risk, or the leave-one-out error with it.
    accepted : bool
        False for the last, which stays.
    """

    column: int
    criterion: float
    before: float
    accepted: bool


class DowndatedModel:
    """Least squares with an intercept, from which columns are removed one at a time.

    Parameters
    ----------
    Q : ndarray of shape (n_samples, n_columns)
        Orthonormal basis of the centered columns.
    R : ndarray of shape (n_columns, n_columns)
        Upper triangular, the columns being ``Q R``.
    Y : ndarray of shape (n_samples, n_targets)
        Centered targets.
    weight : ndarray of shape (n_samples,) or None
        How often each row counts; rows of ``Q`` and ``Y`` are then times its root.

    Attributes
    ----------
    remaining : ndarray
        Places of the columns that have not been removed, ascending.
    residual : ndarray of shape (n_samples, n_targets)
    leverage : ndarray of shape (n_samples,)
    total : float
        Number of rows, each as often as it counts.

    Notes
    -----
    Cost: O(n k (m + 1)) for all deletions of k columns with m targets, and as much to carry one out.
    """

    def __init__(self, Q: np.ndarray, R: np.ndarray, Y: np.ndarray, weight: np.ndarray | None = None) -> None:
        self.Y = Y
        weight = np.ones(len(Y)) if weight is None else weight
        self.total = float(weight.sum())
        self._left_out = np.minimum(1.0, 1.0 / weight)  # share of a row that goes when it is left out once
        self.remaining = np.arange(Q.shape[1])
        self.dual = solve_triangular(R / np.linalg.norm(R, axis=0), Q.T).T if Q.shape[1] else Q
        self.residual = Y - Q @ (Q.T @ Y)
        self.leverage = weight / self.total + np.square(Q).sum(axis=1)
        _, size, axes = np.linalg.svd(Y, full_matrices=False)
        independent = size > DEPENDENT * size[0]
        self._whitener = axes[independent].T / size[independent]
        self._complete_log_det = self._log_det_scatter()
        self._n_complete = self.remaining.size

    @property
    def n_targets(self) -> int:
        """Dimension of the targets."""
        return self._whitener.shape[1]

    def squared_error(self) -> float:
        """Sum of squared residuals over rows and targets."""
        return float(np.square(self.residual).sum())

    def _scatter_root(self) -> np.ndarray:
        """Cholesky factor of the scatter of the residuals, of whitened targets, a little away from singular.

        By an orthogonal factorization: the scatter of residuals that are rounding may be indefinite by rounding.
        """
        residual, m = self.residual @ self._whitener, self.n_targets
        root = qr(np.vstack([residual, np.sqrt(EXPLAINED.float64) * np.eye(m)]), mode="r")[0][:m]
        return root * np.where(np.diag(root) < 0, -1.0, 1.0)[:, None]

    def _log_det_scatter(self) -> float:
        return float(2.0 * np.log(np.diag(self._scatter_root())).sum())

    def _directions(self) -> np.ndarray:
        """``u_i`` of every column."""
        return self.dual / np.linalg.norm(self.dual, axis=0)

    def growth_without(self) -> np.ndarray:
        """By how much, relatively, the determinant of the residuals' scatter grows as each column is removed.

        For one target that is the sum of squared residuals.
        """
        projections = self._directions().T @ self.Y @ self._whitener
        return np.square(solve_triangular(self._scatter_root(), projections.T, trans="T")).sum(axis=0)

    def p_value_without(self, growth: float) -> float:
        """Fisher's test of the model without one more column, given what that costs, against the complete one.

        One target: exact. Several: Rao's approximation to the law of Wilks' lambda, exact up to two targets or two
        columns.
        """
        n_removed = self._n_complete - self.remaining.size + 1
        log_ratio = self._log_det_scatter() - self._complete_log_det + np.log1p(growth)
        return wilks_survival(max(log_ratio, 0.0), self.n_targets, n_removed, self.total - 1 - self._n_complete)

    def press(self) -> float:
        """Mean squared leave-one-out error, summed over the targets; infinite where a row predicts itself alone.

        Of a row that counts m times one copy is left out, and all of a row that counts less than once.
        """
        one_minus_leverage = 1.0 - self._left_out * self.leverage
        if one_minus_leverage.min() <= FULL_LEVERAGE:
            return np.inf
        return float(np.sum(np.square(self.residual).sum(axis=1) / one_minus_leverage**2)) / self.total

    def press_without(self) -> np.ndarray:
        """The same as each column is removed."""
        u = self._directions()
        projections = u.T @ self.Y
        residual2 = np.square(self.residual).sum(axis=1)[:, None] + 2.0 * u * (self.residual @ projections.T)
        residual2 += np.square(u) * np.square(projections).sum(axis=1)
        one_minus_leverage = (1.0 - self._left_out * self.leverage)[:, None] + self._left_out[:, None] * np.square(u)
        is_full = one_minus_leverage <= FULL_LEVERAGE
        press = np.sum(residual2 / np.where(is_full, 1.0, one_minus_leverage) ** 2, axis=0) / self.total
        return np.where(is_full.any(axis=0), np.inf, press)

    def rss_increase_without(self, places: np.ndarray) -> float:
        """By how much the residual sum of squares grows as several columns of ``remaining`` are removed together."""
        basis = qr(self.dual[:, places], mode="economic")[0]
        return float(np.square(basis.T @ self.Y).sum())

    def remove(self, place: int) -> None:
        """Remove one column of ``remaining``."""
        u = self.dual[:, place] / np.linalg.norm(self.dual[:, place])
        others = np.delete(self.dual, place, axis=1)
        self.dual = others - np.outer(u, u @ others)
        self.residual = self.residual + np.outer(u, u @ self.Y)
        self.leverage = self.leverage - u**2
        self.remaining = np.delete(self.remaining, place)


def wilks_survival(log_ratio: float, n_targets: int, n_removed: int, dof: float) -> float:
    """Chance that irrelevant columns shrink ``det(residual scatter)`` by more than ``exp(log_ratio)``.

    Parameters
    ----------
    log_ratio : float
        Logarithm of the determinant without the columns, over that with them.
    n_targets, n_removed : int
        Dimension of the targets, number of columns in question.
    dof : float
        Residual degrees of freedom of the complete model; where there are too few, nothing can be shown and the chance
        is one.

    Notes
    -----
    Rao's F, which for one target is Fisher's: F(n_removed, dof).
    """
    m, r = n_targets, n_removed
    root = np.sqrt((m**2 * r**2 - 4) / (m**2 + r**2 - 5)) if m**2 + r**2 > 5 else 1.0
    dof_within = (dof - (m - r + 1) / 2) * root - (m * r - 2) / 2
    if r == 0 or dof < m or dof_within <= 0:
        return 1.0
    return float(fdtrc(m * r, dof_within, np.expm1(log_ratio / root) * dof_within / (m * r)))


def prune_by_fisher(model: DowndatedModel, risk: float) -> Iterator[Removal]:
    """Remove the column that lowers the fit least, while Fisher's test does not reject the rest against the whole."""
    while model.remaining.size:
        growth = model.growth_without()
        place = _last_smallest(growth)
        p_value = model.p_value_without(float(growth[place]))
        column, accepted = int(model.remaining[place]), p_value > risk
        if accepted:
            model.remove(place)
        yield Removal(column, p_value, risk, accepted)
        if not accepted:
            return


def prune_by_press(model: DowndatedModel) -> Iterator[Removal]:
    """Remove the column without which the leave-one-out error is smallest, while that error does not grow."""
    rounding = EXPLAINED.float64 * float(np.square(model.Y).sum()) / (model.total * model.Y.shape[1])
    while model.remaining.size:
        before, without = model.press(), model.press_without()
        place = _last_smallest(without)
        column, press = int(model.remaining[place]), float(without[place])
        accepted = press <= before * (1 + TIE.float64) + rounding
        if accepted:
            model.remove(place)
        yield Removal(column, press, before, accepted)
        if not accepted:
            return


def _last_smallest(costs: np.ndarray) -> int:
    """Place of the smallest cost; of equals the last, which was ranked lowest."""
    return int(np.flatnonzero(costs <= costs.min() * (1 + TIE.float64))[-1])
