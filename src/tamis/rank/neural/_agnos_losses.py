r"""The mathematics of AGNOS as pure functions of tensors (Doquet 2019, chapter 4).

D features, n samples, a bottleneck of d units: an encoder :math:`\phi(x) = \tanh(W'(a \circ x) + b)` with slack
variables a (AGNOS-S alone), a decoder, and a penalty that lets few features matter.
"""

from __future__ import annotations

import torch
from torch import Tensor


def reconstruction_loss(decoded: Tensor, Z: Tensor) -> Tensor:
    r""":math:`\sum_i \|\hat f_i - f_i\|^2 / n`: a sum over features, a mean over samples."""
    return torch.sum((decoded - Z) ** 2) / Z.shape[0]


def slack_penalty(slack: Tensor) -> Tensor:
    r""":math:`\sum_i |a_i|`."""  # Eq. (4.12)
    return torch.sum(torch.abs(slack))


def weight_penalty(W: Tensor) -> Tensor:
    r""":math:`\sum_i \|W_{i,*}\|_2`; its subgradient at a row of zeros is zero."""  # Eq. (4.5)
    return torch.sum(torch.linalg.vector_norm(W, dim=1))


def gradient_penalty(W: Tensor, Phi: Tensor) -> Tensor:
    r""":math:`\sum_i \sqrt{\sum_k \sum_j (\partial\phi_j / \partial f_i)^2(x_k)}` of one layer of tanh."""  # Eq. (4.7)
    squared = W**2 @ squared_derivatives(Phi)
    moved = squared > 0  # where units are saturated at every sample, the root has no derivative
    return torch.sum(torch.sqrt(torch.where(moved, squared, 1.0)) * moved)


def squared_derivatives(Phi: Tensor) -> Tensor:
    r""":math:`\sum_k (1 - \phi_j(x_k)^2)^2`, one per unit."""  # as in Eq. (4.11)
    return torch.sum((1.0 - Phi**2) ** 2, dim=0)


def score_slack(slack: Tensor) -> Tensor:
    """Importance of a feature in AGNOS-S."""  # Eq. (4.13)
    return torch.abs(slack)


def score_weights(W: Tensor) -> Tensor:
    """Importance of a feature in AGNOS-W: its largest weight."""  # Eq. (4.6)
    return torch.amax(torch.abs(W), dim=1)


def score_gradients(W: Tensor, derivatives2: Tensor) -> Tensor:
    """Importance of a feature in AGNOS-G: its largest summed squared gradient."""  # Eq. (4.11)
    return torch.amax(W**2 * derivatives2, dim=1)


def unit_frobenius(W: Tensor) -> Tensor:
    """The matrix at Frobenius norm one: what keeps weights from making up for small slack variables."""
    return W / torch.linalg.matrix_norm(W)
