r"""Penalties that make weights zero, one by one or in groups: their proximal operators, conditions and dual norms.

.. math:: \Omega(u) = \sum_g \Bigl( (1 - \tau) \omega_g \|u_g\|_2 + \tau \|u_g\|_1 \Bigr)

is the sparse group lasso of Simon et al. (2013); :math:`\tau = 1` is the lasso, :math:`\tau = 0` the group lasso. With
:math:`\alpha\Omega(u) + \tfrac{l_2}{2} \|u\|^2` and a smooth f whose negative gradient is r, u minimizes the sum where
(KKT conditions, S the soft threshold)

.. math:: r_j - l_2 u_j = \alpha \tau \operatorname{sign}(u_j) + \alpha (1 - \tau) \omega_g u_j / \|u_g\|
          \ \text{ if } u_j \ne 0, \qquad |r_j| \le \alpha \tau \ \text{ if only } u_j = 0, \qquad
          \|S(r_g, \alpha\tau)\| \le \alpha (1 - \tau) \omega_g \ \text{ if } u_g = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

_BISECTIONS = 60  # of the dual norm: to the last bit of an interval whose ends differ by a factor of at most 1e3


@dataclass(frozen=True)
class SparsityPenalty:
    """:math:`\\alpha\\Omega + l_2/2 \\|u\\|^2`, within a box, over columns whose groups are neighbors.

    Attributes
    ----------
    alpha : float
    starts : ndarray of shape (n_groups,)
        First column of every group.
    n_columns : int
    l1_ratio : float
        :math:`\\tau`.
    group_weights : ndarray of shape (n_groups,)
        :math:`\\omega`.
    l2 : float
    bound : float
        Largest absolute weight.
    """

    alpha: float
    starts: np.ndarray
    n_columns: int
    l1_ratio: float = 1.0
    group_weights: np.ndarray | None = None
    l2: float = 0.0
    bound: float = np.inf

    @property
    def is_lasso(self) -> bool:
        """Whether only absolute values are penalized, and nothing is bounded."""
        return self.l1_ratio == 1.0 and np.isinf(self.bound)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Columns per group."""
        return np.diff(self.starts, append=self.n_columns)

    def at(self, alpha: float, l2: float) -> SparsityPenalty:
        """The same groups with other weights of the penalty."""
        return replace(self, alpha=alpha, l2=l2)

    def restrict_to(self, groups: np.ndarray) -> SparsityPenalty:
        """The penalty of some groups only, in the order given."""
        weights = None if self.group_weights is None else self.group_weights[groups]
        if self.n_columns == self.starts.size:
            return replace(self, starts=np.arange(groups.size), n_columns=groups.size, group_weights=weights)
        sizes = self.sizes[groups]
        starts = np.cumsum(sizes) - sizes
        return replace(self, starts=starts, n_columns=int(sizes.sum()), group_weights=weights)

    def columns_of(self, groups: np.ndarray) -> np.ndarray:
        """Columns of some groups, in the order given."""
        if self.n_columns == self.starts.size:
            return groups
        sizes = self.sizes[groups]
        offsets = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.repeat(self.starts[groups], sizes) + offsets

    def spread(self, of_groups: np.ndarray) -> np.ndarray:
        """A figure of every group, for each of its columns."""
        return np.repeat(of_groups, self.sizes)

    def group_norms(self, u: np.ndarray) -> np.ndarray:
        """Euclidean norm of every group."""
        return np.sqrt(np.add.reduceat(u * u, self.starts)) if u.size else np.zeros(0)

    def value(self, u: np.ndarray) -> float:
        """The penalty at u."""
        total = self.alpha * self.l1_ratio * float(np.abs(u).sum()) + 0.5 * self.l2 * float(u @ u)
        if self.l1_ratio < 1.0:
            total += self.alpha * (1.0 - self.l1_ratio) * float(self._weights() @ self.group_norms(u))
        return total

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        """:math:`\\arg\\min_u \\tfrac12 \\|u - v\\|^2 + \\text{step} \\cdot \\text{penalty}(u)`.

        A bound asks for ``l1_ratio=1``.
        """
        u = soft_threshold(v, step * self.alpha * self.l1_ratio)
        if self.l1_ratio < 1.0:
            norms = self.group_norms(u)
            threshold = step * self.alpha * (1.0 - self.l1_ratio) * self._weights()
            shrink = np.maximum(
                0.0, 1.0 - np.divide(threshold, norms, out=np.ones_like(norms), where=norms > threshold)
            )
            u = u * self.spread(shrink)
        if self.l2:
            u = u / (1.0 + step * self.l2)
        return u if np.isinf(self.bound) else np.clip(u, -self.bound, self.bound)

    def kkt_violation(self, r: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Violation of every group's conditions, given the negative gradient r of the smooth part; never negative."""
        if not u.size:
            return np.zeros(0)
        slope = r - self.l2 * u
        by_column = np.abs(slope - self.gradient_of_norms(u))
        at_zero = np.maximum(0.0, np.abs(slope) - self.alpha * self.l1_ratio)
        by_column = np.where(u != 0, by_column, at_zero)
        if np.isfinite(self.bound):  # at the bound the slope may only point outwards
            outwards = np.maximum(0.0, -np.sign(u) * (slope - self.gradient_of_norms(u)))
            by_column = np.where(np.abs(u) >= self.bound, outwards, by_column)
        if self.l1_ratio == 1.0 and self.starts.size == self.n_columns:
            return by_column
        violation = np.maximum.reduceat(by_column, self.starts)
        if self.l1_ratio < 1.0:
            of_zero = self.group_norms(at_zero) - self.alpha * (1.0 - self.l1_ratio) * self._weights()
            violation = np.where(self.group_norms(u) > 0, violation, np.maximum(0.0, of_zero))
        return violation

    def gradient_of_norms(self, u: np.ndarray) -> np.ndarray:
        """Gradient of :math:`\\alpha\\Omega` where it has one; zero for the part of a norm that is zero."""
        gradient = self.alpha * self.l1_ratio * np.sign(u)
        if self.l1_ratio < 1.0:
            gradient += self.spread(self._curvature(u)) * u
        return gradient

    def add_curvature(self, hessian: np.ndarray, u: np.ndarray, free: np.ndarray) -> None:
        """Add the penalty's Hessian at u over the free columns, in place: that of a norm is ``(I - vv') / ||u_g||``."""
        diagonal = np.arange(free.size)
        hessian[diagonal, diagonal] += self.l2
        if self.l1_ratio == 1.0:
            return
        curvature, norms = self._curvature(u), self.group_norms(u)
        group_of = self.spread(np.arange(self.starts.size))[free]
        hessian[diagonal, diagonal] += curvature[group_of]
        direction = u[free] / norms[group_of]
        same = group_of[:, None] == group_of[None, :]
        hessian -= np.where(same, curvature[group_of][:, None] * direction[:, None] * direction[None, :], 0.0)

    def dual_norms(self, q: np.ndarray) -> np.ndarray:
        """Smallest :math:`t_g` with :math:`\\|S(q_g, t_g \\tau)\\| \\le t_g (1 - \\tau) \\omega_g`, for every group.

        Their maximum is the dual norm of :math:`\\Omega`: the smallest alpha at which u = 0 is a minimum.
        """
        largest = np.maximum.reduceat(np.abs(q), self.starts) if q.size else np.zeros(0)
        if self.l1_ratio == 1.0:
            return largest
        norms, weights = self.group_norms(q), (1.0 - self.l1_ratio) * self._weights()
        if self.l1_ratio == 0.0:
            return norms / weights
        # S(q, t tau) is zero from max |q| / tau on; the norm of q bounds that of S(q, .)
        low, high = np.zeros_like(norms), np.minimum(largest / self.l1_ratio, norms / weights)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            rest = self.group_norms(soft_threshold(q, self.spread(middle * self.l1_ratio)))
            above = rest > middle * weights
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return high

    def conjugate(self, q: np.ndarray) -> float:
        """:math:`\\sup_u q^\\top u - \\text{penalty}(u)`, with an ``l2`` term or a bound; infinite without."""
        if np.isfinite(self.bound):
            return self.bound * float(np.maximum(0.0, np.abs(q) - self.alpha).sum())
        u = self.at(self.alpha, 0.0).prox(q, 1.0)
        return float(u @ u) / (2.0 * self.l2)

    def _weights(self) -> np.ndarray:
        return np.ones(self.starts.size) if self.group_weights is None else self.group_weights

    def _curvature(self, u: np.ndarray) -> np.ndarray:
        """``alpha (1 - tau) omega_g / ||u_g||``, zero for groups that are zero."""
        norms = self.group_norms(u)
        factor = self.alpha * (1.0 - self.l1_ratio) * self._weights()
        return np.divide(factor, norms, out=np.zeros_like(norms), where=norms > 0)


def soft_threshold(v: np.ndarray, threshold: np.ndarray | float) -> np.ndarray:
    """S(v, t): absolute values lowered by t, zero below."""
    return np.sign(v) * np.maximum(0.0, np.abs(v) - threshold)
