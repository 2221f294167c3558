"""AGNOS by elimination: features are removed while the encoder is trained, the least important first."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tamis.base import interrupt
from tamis.rank._checkpoint import Checkpoint
from tamis.rank.neural._batch_loader import BatchLoader
from tamis.rank.neural._components import leading_components, weight_components
from tamis.rank.neural._denoising import (
    decode_layer,
    influence_metric,
    influences,
    keep_largest,
    noise_covariance,
    shrink_rows,
    soft_threshold,
    solve_decoder,
)
from tamis.rank.neural._encoder import Encoder, Encoding
from tamis.rank.neural._relative_adam import RelativeAdam

# Chosen on data sets other than those of the thesis; see docs/agnos.md.
_NOISE = 0.02  # variance of the noise on every input, per input in use
_SINGULAR_VALUE_POWER = 1.25  # components weigh as their singular value to this power
_PREACTIVATION_STD = 0.3  # standard deviation of the preactivations, where tanh is nearly linear
_WARM_UP = 1 / 7  # share of the steps before the first elimination


@dataclass(frozen=True)
class Plan:
    """How an encoder is trained.

    Attributes
    ----------
    score : str
        What tells a feature's importance: "slack", "weights" or "gradients".
    n_units : int
        Width of the bottleneck.
    hidden_units : tuple of int
        Layers before it.
    alpha : float
        Strength of the penalty, relative to the mean importance.
    learning_rate : float
    n_steps : int
    """

    score: str
    n_units: int
    hidden_units: tuple[int, ...]
    alpha: float
    learning_rate: float
    n_steps: int

    def n_in_use(self, n_inputs: int, step: int) -> int:
        """Features that remain after a step: their logarithm decreases linearly after the warm-up."""
        first = round(_WARM_UP * self.n_steps)
        last = self.n_steps - 1
        if step < first:
            return n_inputs
        return max(1, round(n_inputs ** ((last - step) / max(1, last - first))))


@dataclass
class EliminationRecord:
    """Columns in the order of their elimination, each with its score then, and the loss at every step."""

    eliminated: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    n_in_use: list[int] = field(default_factory=list)


class Trainer:
    """An encoder in training; :meth:`advance` makes one step, :meth:`state` is all that a later one depends on."""

    def __init__(self, loader: BatchLoader, plan: Plan, generator: torch.Generator) -> None:
        n_samples, n_inputs = loader.rows.shape
        width, *deeper = [*plan.hidden_units, plan.n_units]
        n_components = min(n_samples, n_inputs, max(64, 3 * max(width, plan.n_units)))
        loadings, scores = leading_components(loader.in_order, n_inputs, n_components, generator)
        self.loader, self.plan = loader, plan
        self.targets = weight_components(scores, _SINGULAR_VALUE_POWER)
        self.n_inputs = n_inputs
        self.result = EliminationRecord()
        sums = scores[:, :width].std(unbiased=False) + torch.finfo(scores.dtype).tiny
        start = loadings.new_zeros(n_inputs, width)
        start[:, : loadings.shape[1]] = loadings[:, :width] * (_PREACTIVATION_STD / sums)
        self.encoder = Encoder(start, plan.score == "slack", deeper, generator)
        self.optimizer = RelativeAdam(self.encoder.parameters())
        # what is found at each step, for nobody waits for the device between two of them
        self._unread_losses: list[Tensor] = []
        self._unread_eliminations: list[tuple[Tensor, Tensor]] = []
        self.scores = torch.linalg.vector_norm(start, dim=1)

    def advance(self, step: int) -> None:
        """One step of Adam, one proximal step, and an elimination where it is time for one."""
        Z, rows = self.loader.at(step)
        train = self._train_layers if len(self.encoder.deeper) else self._train_layer
        encoding, decoder, loss = train(Z, self.targets[rows])
        with torch.no_grad():
            n_inputs = len(self.encoder.weights)
            self.scores = self._shrink(encoding, decoder)
            self._rescale(encoding)
            self._unread_losses.append(loss)
            self.result.n_in_use.append(n_inputs)
            n_kept = min(self.plan.n_in_use(self.n_inputs, step), n_inputs)
            if n_kept < n_inputs:
                self._eliminate(n_kept)

    @torch.no_grad()
    def _train_layer(self, Z: Tensor, Y: Tensor) -> tuple[Encoding, Tensor, Tensor]:
        """One step of Adam for a single layer, whose gradient is known."""
        weights, slack = self.encoder.weights, self.encoder.slack
        found = decode_layer(Z, self.encoder.first_layer(), Y, _NOISE * len(weights))
        gradients = {weights: found.gradient}
        if slack is not None:
            gradients = {weights: slack[:, None] * found.gradient, slack: torch.sum(weights * found.gradient, dim=1)}
        self.optimizer.step([gradients[each] for each in self.encoder.parameters()], self.plan.learning_rate)
        return Encoding(found.units, found.jacobian, found.preactivation_std), found.decoder, found.loss

    def _train_layers(self, Z: Tensor, Y: Tensor) -> tuple[Encoding, Tensor, Tensor]:
        """One step of Adam for several layers."""
        encoding = self.encoder(Z)
        V = self.encoder.first_layer()
        noise = _NOISE * len(V) * noise_covariance(encoding.jacobian, V.T @ V)
        decoder, loss = solve_decoder(encoding.units, Y, noise)
        gradients = torch.autograd.grad(loss, list(self.encoder.parameters()))
        self.optimizer.step(gradients, self.plan.learning_rate)
        return encoding, decoder.detach(), loss.detach()

    def is_between_eliminations(self) -> bool:
        """Whether each feature is either eliminated or has a score, and not in the middle of it."""
        self._read()
        n_left = self.n_inputs - len(self.result.eliminated)
        return len(self.scores) == len(self.loader.columns) == n_left == self.n_inputs - len(self.result.scores)

    def close(self) -> EliminationRecord:
        """Eliminate the features that remain, the least important first."""
        self._read()
        if len(self.result.eliminated) < self.n_inputs:
            self._eliminate(0)
            self._read()
        return self.result

    def _read(self) -> None:
        """Move what was found since the last time into the record."""
        if self._unread_losses:
            self.result.losses += torch.stack(self._unread_losses).tolist()
        for columns, scores in self._unread_eliminations:
            self.result.eliminated += columns.tolist()
            self.result.scores += scores.tolist()
        self._unread_losses, self._unread_eliminations = [], []

    def _shrink(self, encoding: Encoding, decoder: Tensor) -> Tensor:
        """Proximal step of the penalty; returns how important each feature is."""
        jacobian = self.encoder.linear_jacobian() if self.plan.score == "weights" else encoding.jacobian.detach()
        lengths = influences(self.encoder.weights, influence_metric(jacobian, decoder))
        step = self.plan.alpha * self.plan.learning_rate
        slack = self.encoder.slack
        if slack is None:
            self.encoder.weights.copy_(shrink_rows(self.encoder.weights, lengths, step * lengths.mean()))
            return soft_threshold(lengths, step * lengths.mean())
        # rows of unit influence: all that a feature does to the reconstruction is in its slack variable
        unit = torch.where(lengths > 0, lengths, 1.0)
        self.encoder.weights.div_(unit[:, None])
        slack.copy_(torch.clamp(slack, min=0.0) * unit)
        slack.copy_(soft_threshold(slack, step * slack.mean()))
        return slack.detach().clone()

    def _rescale(self, encoding: Encoding) -> None:
        scaled = self.encoder.weights if self.encoder.slack is None else self.encoder.slack
        std = torch.where(encoding.preactivation_std > 0, encoding.preactivation_std, 1.0)
        scaled.mul_(_PREACTIVATION_STD / std)

    def _eliminate(self, n_kept: int) -> None:
        kept, eliminated = keep_largest(self.scores, n_kept)
        self._unread_eliminations.append((self.loader.columns[eliminated], self.scores[eliminated]))
        self.scores = self.scores[kept]
        if n_kept:
            self.loader.keep_columns(kept)
            self._drop_rows(kept)

    def _drop_rows(self, kept: Tensor) -> None:
        """Remove inputs from the first layer, and from the moments that Adam keeps of it."""
        first = [self.encoder.weights] if self.encoder.slack is None else [self.encoder.weights, self.encoder.slack]
        for parameter in first:
            parameter.data = torch.index_select(parameter.data, 0, kept)
        is_first = [any(each is parameter for parameter in first) for each in self.encoder.parameters()]
        self.optimizer.keep_rows([place for place, is_one in enumerate(is_first) if is_one], kept)

    def state(self) -> dict[str, Any]:
        """All that the rest of the run depends on."""
        self._read()
        return {
            "columns": self.loader.columns,
            "encoder": self.encoder.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scores": self.scores,
            "result": vars(self.result),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume an interrupted run."""
        kept = torch.as_tensor(state["columns"], device=self.loader.device)
        self.loader.keep_columns(kept)
        self._drop_rows(kept)
        self.encoder.load_state_dict(state["encoder"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scores = state["scores"].to(self.scores)
        self.result = EliminationRecord(**state["result"])


def eliminate_features(
    loader: BatchLoader,
    plan: Plan,
    generator: torch.Generator,
    checkpoint: Checkpoint,
    saved: dict[str, Any] | None,
    watch: Callable[[Iterable[int]], Generator[int, None, None]],
) -> EliminationRecord:
    """Train until one feature remains, or a callback stops the steps."""
    trainer = Trainer(loader, plan, generator)
    if saved is not None:
        trainer.restore(saved)
    watched = watch(range(len(trainer.result.losses), plan.n_steps))
    try:
        for step in watched:
            trainer.advance(step)
            if checkpoint.is_due():
                checkpoint.save(trainer.state())
    except KeyboardInterrupt:
        if not trainer.is_between_eliminations():
            raise
        interrupt(watched)
    return trainer.close()
