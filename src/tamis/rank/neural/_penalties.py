"""Penalties on the weights of a network, and their proximal steps: pure functions of tensors.

The proximal step of a penalty p at w, with step t, is :math:`\\arg\\min_v \\frac{1}{2} \\|v - w\\|^2 + t\\, p(v)`: what
makes weights exactly zero.
"""

from __future__ import annotations

from typing import Any

Tensor = Any  # of torch, which this module has no need to load

_TINY = 1e-38  # what rows of zeros are divided by


def elastic_net(w: Tensor, strength: float, l1_ratio: float) -> Tensor:
    r""":math:`\lambda ((1 - \rho) \|w\|_2^2 / 2 + \rho \|w\|_1)`."""
    return strength * (0.5 * (1.0 - l1_ratio) * (w * w).sum() + l1_ratio * w.abs().sum())


def elastic_net_step(w: Tensor, step: float, strength: float, l1_ratio: float) -> Tensor:
    """Proximal step of the elastic net: shrink towards zero by a constant, then by a factor."""
    return soft_threshold(w, step * strength * l1_ratio) / (1.0 + step * strength * (1.0 - l1_ratio))


def sparse_group_lasso(W: Tensor, strength: float, l1_ratio: float) -> Tensor:
    r""":math:`\lambda \sum_j ((1 - \rho) \sqrt{q} \|w_j\|_2 + \rho \|w_j\|_1)` over rows of length q."""
    return strength * ((1.0 - l1_ratio) * W.shape[1] ** 0.5 * W.norm(dim=1).sum() + l1_ratio * W.abs().sum())


def sparse_group_lasso_step(W: Tensor, step: float, strength: float, l1_ratio: float) -> Tensor:
    """Proximal step of the sparse-group lasso: every entry is shrunk, then every row as a whole."""
    shrunk = soft_threshold(W, step * strength * l1_ratio)
    norm = shrunk.norm(dim=1, keepdim=True)
    threshold = step * strength * (1.0 - l1_ratio) * W.shape[1] ** 0.5
    return shrunk * ((norm - threshold).clamp(min=0.0) / norm.clamp(min=_TINY))


def soft_threshold(w: Tensor, threshold: float) -> Tensor:
    """Entries moved towards zero by ``threshold``; those within it become exactly zero."""
    return w.sign() * (w.abs() - threshold).clamp(min=0.0)


def saturating_decay(w: Tensor, eps1: float, eps2: float, beta: float) -> Tensor:
    r""":math:`\epsilon_1 \sum \beta w^2 / (1 + \beta w^2) + \epsilon_2 \sum w^2` (Setiono and Liu 1997).

    The first term drives small weights to zero and leaves large ones alone; the second keeps these from growing.
    """
    square = w * w
    scaled = beta * square
    return eps1 * (scaled / (1.0 + scaled)).sum() + eps2 * square.sum()


def saturating_decay_gradient(w: Tensor, eps1: float, eps2: float, beta: float) -> Tensor:
    """Gradient of :func:`saturating_decay`."""
    return 2.0 * w * (eps1 * beta / (1.0 + beta * w * w) ** 2 + eps2)
