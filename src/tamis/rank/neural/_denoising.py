r"""The objective of AGNOS's own mode as pure functions: a decoder in closed form, behind noise on the inputs.

An encoder :math:`\phi` reads the features in use, each with noise of variance :math:`\sigma^2` added; the best linear
decoder B of the targets Y is known, and with it the share of their variance that is lost,

.. math:: L = 1 - \operatorname{tr}(C' B) / \operatorname{tr}(Y'Y/n), \qquad B = (S + N)^{-1} C,

with :math:`S = \operatorname{cov}(\phi)`, :math:`C = \operatorname{cov}(\phi, Y)`, and N what the noise adds to S. It
is propagated through the encoder to first order by the Jacobian J at every sample, of the d units by the h
preactivations of the first layer: shape (n, d) where it is diagonal (one layer), else (n, d, h).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_RIDGE = 1e-3  # of the mean variance of the units: keeps the decoder defined where units are collinear


def noise_covariance(jacobian: Tensor, gram: Tensor) -> Tensor:
    r""":math:`E[J_k G J_k']`, for unit noise on the inputs of a first layer V with :math:`G = V'V`."""
    if jacobian.ndim == 2:
        return gram * (jacobian.T @ jacobian / len(jacobian))
    return torch.einsum("ndh,hk,nek->de", jacobian, gram, jacobian) / len(jacobian)


def influence_metric(jacobian: Tensor, decoder: Tensor) -> Tensor:
    r"""M such that :math:`v'Mv = E\|\partial \hat y / \partial x\|^2` for an input with first-layer weights v."""
    across = decoder @ decoder.T
    if jacobian.ndim == 2:
        return across * (jacobian.T @ jacobian / len(jacobian))
    return torch.einsum("ndh,de,nek->hk", jacobian, across, jacobian) / len(jacobian)


def solve_decoder(Phi: Tensor, Y: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Best linear decoder of ``Y`` from units with noise of the given covariance, and the share of ``Y`` it loses."""
    centered = Phi - torch.mean(Phi, dim=0)
    S = centered.T @ centered / len(Phi)
    C = centered.T @ Y / len(Phi)
    B = _ridge_solution(S, noise, C)
    return B, 1.0 - torch.sum(C * B) / (torch.sum(Y**2) / len(Y))


def _ridge_solution(S: Tensor, noise: Tensor, C: Tensor) -> Tensor:
    ridge = _RIDGE * torch.trace(S.detach()) / len(S) + torch.finfo(S.dtype).tiny
    system = S + noise + ridge * torch.eye(len(S), dtype=S.dtype, device=S.device)
    # positive definite: to check the factor for zeros would mean to wait for the device
    return torch.linalg.solve_ex(system, C).result


class DecodedLayer(NamedTuple):
    """One layer of tanh behind noise, its best decoder, what it loses, and the gradient of that by the weights."""

    units: Tensor
    jacobian: Tensor
    preactivation_std: Tensor
    decoder: Tensor
    loss: Tensor
    gradient: Tensor


def decode_layer(X: Tensor, V: Tensor, Y: Tensor, variance: float) -> DecodedLayer:
    r"""The loss L of an encoder of one layer, :math:`\phi(x) = \tanh(V'x)`, with its gradient in closed form.

    With :math:`T = \operatorname{tr}(Y'Y/n)`, :math:`\partial L / \partial(S + N) = BB'/T` and
    :math:`\partial L / \partial C = -2B/T`, from which the chain rule leads to :math:`\phi`, J and V. A third of the
    operations that are recorded and run backwards otherwise: on a device it is their number that takes time.

    Parameters
    ----------
    X : Tensor of shape (n_samples, n_inputs)
    V : Tensor of shape (n_inputs, n_units)
    Y : Tensor of shape (n_samples, n_targets)
    variance : float
        Of the noise on every input.
    """
    n = len(X)
    preactivations = X @ V
    units = torch.tanh(preactivations)
    jacobian = 1.0 - units**2
    centered = units - torch.mean(units, dim=0)
    gram, spread = V.T @ V, jacobian.T @ jacobian / n
    C = centered.T @ Y / n
    B = _ridge_solution(centered.T @ centered / n, variance * gram * spread, C)
    total = torch.sum(Y**2) / n
    across = B @ B.T / total  # by S + N
    by_units = (centered @ across - Y @ (B.T / total)) * (2.0 / n)
    by_units -= torch.mean(by_units, dim=0)
    by_units -= units * (jacobian @ (across * gram)) * (4.0 * variance / n)
    gradient = X.T @ by_units.mul_(jacobian)
    gradient += V @ (across * spread) * (2.0 * variance)
    return DecodedLayer(units, jacobian, torch.std(preactivations), B, 1.0 - torch.sum(C * B) / total, gradient)


def influences(V: Tensor, metric: Tensor) -> Tensor:
    """Norm of every row in a metric: how much the decoded targets depend on each feature."""
    return torch.sqrt(torch.clamp(torch.sum((V @ metric) * V, dim=1), min=0.0))


def soft_threshold(a: Tensor, threshold: Tensor | float) -> Tensor:
    r"""Proximal step of :math:`t\|a\|_1` over :math:`a \ge 0`: zeros are exact."""
    return torch.clamp(a - threshold, min=0.0)


def shrink_rows(V: Tensor, lengths: Tensor, threshold: Tensor | float) -> Tensor:
    r"""Proximal step of :math:`t\sum_i \|V_i\|` in the metric that gave the lengths: short rows become exactly zero."""
    kept = torch.where(lengths > threshold, 1.0 - threshold / torch.where(lengths > 0, lengths, 1.0), 0.0)
    return V * kept[:, None]


def keep_largest(scores: Tensor, n_kept: int) -> tuple[Tensor, Tensor]:
    """Projection on at most ``n_kept`` non-zeros: places that are kept, ascending, and eliminated, the least first."""
    order = torch.argsort(scores, descending=True, stable=True)
    return torch.sort(order[:n_kept]).values, torch.flip(order[n_kept:], dims=[0])
