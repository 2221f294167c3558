r"""Soft memberships of samples in clusters: non-negative, smooth along a graph, nearly orthogonal.

With S the normalized similarities of a graph, a cluster indicator F of shape (n_samples, n_clusters) minimizes

.. math:: J(F) = \nu \, \mathrm{Tr}\, F'(I - S) F + \alpha \, \ell(F - N) + \sum_i v_i \|t_i - f_i C\|^2
          + \frac{\gamma}{2} \|F'F - I\|^2, \qquad F \ge 0,

where :math:`\ell(Y) = \min_A \sum_i d_i \|y_i - z_i A\|^2 + \ldots` is what a ridge regression on the features leaves
of Y. No method here asks for more.

*The step.* At a positive :math:`\tilde F`, :math:`\ell` lies below its value with :math:`A` held at the best for
:math:`\tilde F`, so that its gradient there needs no derivative of A. Collect the attraction

.. math:: B = \alpha d (Z A + N) + v T C', \qquad G = C C',

split both in non-negative parts, :math:`B = B^+ - B^-`, and write :math:`u = F / \tilde F` entry by entry. By
:math:`2 xy \le x^2 + y^2` the terms of J with a plus sign are at most

.. math:: f_i G^+ f_i' \le \sum_k (\tilde F G^+)_{ik} \tilde F_{ik} u_{ik}^2, \quad
          2 B^- F \le B^- \tilde F (1 + u^2), \quad
          \|F'F\|^2 \le \sum_{ik} (\tilde F \tilde F' \tilde F)_{ik} \tilde F_{ik} u_{ik}^4,

and by :math:`z \ge 1 + \log z` those with a minus sign are at least sums of :math:`\log u_{ik}`. The bound touches J at
u = 1 and separates: with

.. math:: a = (\nu + \alpha d) \tilde F + v \tilde F G^+ + B^-, \quad b = \gamma \tilde F \tilde F' \tilde F, \quad
          c = \nu S \tilde F + v \tilde F G^- + B^+ + \gamma \tilde F,

each entry minimizes :math:`a u^2 + b u^4 / 2 - 2 c \log u` (times :math:`\tilde F`), so :math:`a u^2 + b u^4 = c`,

.. math:: u^2 = \frac{2 c}{a + \sqrt{a^2 + 4 b c}},

and J cannot rise. As each bound has a single valley, the same holds for the point above a floor that is nearest to it,
which keeps entries from sticking at zero. The usual rule :math:`u = (c / (a + b))^{1/4}` bounds squares by fourth
powers too, and so takes shorter steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamis.kernels.graph.affinity import Graph
from tamis.kernels.graph.row_sparse import RowRidge

FLOOR = 1e-10  # least membership: zero, but for products, which could not leave it
_LONGEST = 16.0  # stride
_LARGEST = 1e6  # factor in one step


class Reconstruction(NamedTuple):
    """Samples as mixtures of centers: v as a column, ``T C'`` and ``G = C C'``."""

    weight: np.ndarray
    projection: np.ndarray
    gram: np.ndarray


class View(NamedTuple):
    """What is known at a point: ``S F``, ``Z A`` and J up to a constant."""

    similar: np.ndarray
    fitted: np.ndarray
    value: float


@dataclass(frozen=True)
class IndicatorProblem:
    r"""The terms of J.

    Attributes
    ----------
    graph : Graph
        Its ``normalized_dot`` multiplies with S.
    regression : RowRidge
        :math:`\ell`.
    alpha : float
        Weight of :math:`\ell`.
    orthogonality : float
        :math:`\gamma`.
    smoothness : float, default=1
        :math:`\nu`.
    noise : ndarray of shape (n_samples, n_clusters), default=None
        N; None stands for zero.
    reconstruction : Reconstruction, default=None
        None leaves the term out.
    """

    graph: Graph
    regression: RowRidge
    alpha: float
    orthogonality: float
    smoothness: float = 1.0
    noise: np.ndarray | None = None
    reconstruction: Reconstruction | None = None

    def look(self, F: np.ndarray) -> View:
        """Evaluate J and what its step needs: one product with the graph, one regression."""
        similar = self.graph.normalized_dot(F)
        target = F if self.noise is None else F - self.noise
        fitted = self.regression.fitted(target)
        value = self.smoothness * np.vdot(F, F - similar) + self.alpha * self.regression.loss(target, fitted)
        if self.reconstruction is not None:
            weight, projection, gram = self.reconstruction
            value += np.vdot(F, weight * (F @ gram - 2.0 * projection))
        return View(similar, fitted, float(value) + orthogonality_penalty(F, self.orthogonality))

    def factors(self, F: np.ndarray, view: View) -> np.ndarray:
        """Factors u by which the bound says to multiply ``F``."""
        loss_weight = self.alpha * self.regression.row_weight
        attraction = loss_weight * (view.fitted if self.noise is None else view.fitted + self.noise)
        a = (self.smoothness + loss_weight) * F
        c = self.smoothness * view.similar + self.orthogonality * F
        if self.reconstruction is not None:
            weight, projection, gram = self.reconstruction
            attraction = attraction + weight * projection
            a += weight * (F @ np.maximum(gram, 0.0))
            c += weight * (F @ np.maximum(-gram, 0.0))
        a += np.maximum(-attraction, 0.0)
        c += np.maximum(attraction, 0.0)
        b = self.orthogonality * (F @ (F.T @ F))
        return np.sqrt(2.0 * c / (a + np.sqrt(a * a + 4.0 * b * c)))


def orthogonality_gap(F: np.ndarray) -> float:
    """``||F'F - I||``."""
    return float(np.linalg.norm(F.T @ F - np.eye(F.shape[1])))


def orthogonality_penalty(F: np.ndarray, weight: float) -> float:
    """``weight / 2 ||F'F - I||^2``."""
    return 0.5 * weight * orthogonality_gap(F) ** 2


def indicator_of(labels: np.ndarray, n_clusters: int, *, offset: float) -> np.ndarray:
    """Memberships of unit norm per cluster, plus an offset that leaves every entry free to move."""
    members = (labels[:, None] == np.arange(n_clusters)).astype(float)
    return members / np.sqrt(np.maximum(members.sum(axis=0), 1.0)) + offset


def descend(problem: IndicatorProblem, F: np.ndarray, n_steps: int, stride: float = 1.0) -> tuple[np.ndarray, float]:
    r"""Lower J by multiplicative steps, lengthened as long as that pays.

    A step multiplies by :math:`u^\omega`. The bound proves descent for :math:`\omega = 1`; longer strides are tried,
    kept where J goes down, and grown by half; else the plain step is taken and the stride starts over.

    Parameters
    ----------
    problem : IndicatorProblem
    F : ndarray of shape (n_samples, n_clusters)
        At least ``FLOOR`` everywhere.
    n_steps : int
    stride : float, default=1
        :math:`\omega` to begin with.

    Returns
    -------
    F : ndarray
    stride : float
        To go on with.
    """
    view = problem.look(F)
    for _ in range(n_steps):
        factors = problem.factors(F, view)
        if stride > 1.0:
            far = np.maximum(F * np.minimum(factors**stride, _LARGEST), FLOOR)
            seen = problem.look(far)
            if seen.value <= view.value:
                F, view, stride = far, seen, min(1.5 * stride, _LONGEST)
                continue
            stride = 1.0
        else:
            stride = 1.5
        F = np.maximum(F * factors, FLOOR)
        view = problem.look(F)
    return F, stride
