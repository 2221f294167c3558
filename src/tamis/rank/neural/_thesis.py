"""AGNOS as the thesis trains it: one autoencoder on all features, scores when training ends."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tamis.base import interrupt
from tamis.rank._checkpoint import Checkpoint
from tamis.rank.neural._agnos_losses import (
    gradient_penalty,
    reconstruction_loss,
    score_gradients,
    score_slack,
    score_weights,
    slack_penalty,
    squared_derivatives,
    unit_frobenius,
    weight_penalty,
)
from tamis.rank.neural._batch_loader import BatchLoader
from tamis.rank.neural._encoder import AutoEncoder


@dataclass(frozen=True)
class ThesisPlan:
    """Variant ("slack", "weights" or "gradients"), bottleneck, penalty lambda, and the training."""

    score: str
    n_units: int
    alpha: float
    learning_rate: float
    n_steps: int


def thesis_loss(network: AutoEncoder, Z: Tensor, plan: ThesisPlan, n_samples: int) -> Tensor:
    """Reconstruction and penalty; lambda is normalized as at the end of Sec. 4.4: 1 / d for W, 1 / (d n) for G."""
    Phi = network.encode(Z)
    loss = reconstruction_loss(network.decode(Phi), Z)
    if plan.score == "slack":
        assert network.slack is not None
        return loss + plan.alpha * slack_penalty(network.slack)  # Eq. (4.12)
    if plan.score == "weights":
        return loss + plan.alpha / plan.n_units * weight_penalty(network.weights)  # Eq. (4.5)
    scale = (n_samples / len(Z)) ** 0.5  # from the root of a sum over a batch to that over all samples
    return loss + plan.alpha / (plan.n_units * n_samples) * scale * gradient_penalty(network.weights, Phi)  # Eq. (4.8)


def train_as_thesis(
    loader: BatchLoader,
    plan: ThesisPlan,
    generator: torch.Generator,
    checkpoint: Checkpoint,
    saved: dict[str, Any] | None,
    watch: Callable[[Iterable[int]], Generator[int, None, None]],
) -> tuple[Tensor, list[float]]:
    """Scores of the columns and the loss of every step."""
    n_samples, n_inputs = loader.rows.shape
    network = AutoEncoder(n_inputs, plan.n_units, plan.score == "slack", generator).to(loader.device)
    network.weights.data = unit_frobenius(network.weights.data)
    optimizer = torch.optim.Adam(network.parameters(), lr=plan.learning_rate)
    losses: list[float] = []
    if saved is not None:
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        losses = saved["losses"]
    watched = watch(range(len(losses), plan.n_steps))
    try:
        for step in watched:
            loss = thesis_loss(network, loader.at(step)[0], plan, n_samples)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            network.weights.data = unit_frobenius(network.weights.data)
            losses.append(float(loss.detach()))
            if checkpoint.is_due():
                state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses}
                checkpoint.save(state)
    except KeyboardInterrupt:
        interrupt(watched)
    return _scores(network, loader, plan), losses


@torch.no_grad()
def _scores(network: AutoEncoder, loader: BatchLoader, plan: ThesisPlan) -> Tensor:
    if network.slack is not None:
        return score_slack(network.slack)
    if plan.score == "weights":
        return score_weights(network.weights)
    derivatives2 = torch.stack([squared_derivatives(network.encode(Z)) for Z in loader.in_order()]).sum(dim=0)
    return score_gradients(network.weights, derivatives2)
