"""AGNOS by elimination: features are removed while the encoder is trained, the least important first."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tamis.base import interrupt
from tamis.rank._checkpoint import Checkpoint
from tamis.rank.neural._batch_loader import BatchLoader
from tamis.rank.neural._components import leading_components, weight_components
from tamis.rank.neural._denoising import (
    influence_metric,
    influences,
    keep_largest,
    noise_covariance,
    shrink_rows,
    soft_threshold,
    solve_decoder,
)
from tamis.rank.neural._encoder import Encoder, Encoding

# Chosen on data sets other than those of the thesis; see docs/agnos.md.
_NOISE = 0.02  # variance of the noise on every input, per input in use
_SINGULAR_VALUE_POWER = 1.25  # components weigh as their singular value to this power
_PREACTIVATION_STD = 0.3  # standard deviation of the preactivations, where tanh is nearly linear
_WARM_UP = 1 / 7  # share of the steps before the first elimination
_ADAM_EPSILON = 1e-5  # gradients below this, over the norm of their parameter, are not scaled up by Adam


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
        self.optimizer = _optimizer(self.encoder)
        self.scores = torch.linalg.vector_norm(start, dim=1)

    def advance(self, step: int) -> None:
        """One step of Adam, one proximal step, and an elimination where it is time for one."""
        Z, rows = self.loader.at(step)
        encoding = self.encoder(Z)
        V = self.encoder.first_layer()
        noise = _NOISE * len(V) * noise_covariance(encoding.jacobian, V.T @ V)
        decoder, loss = solve_decoder(encoding.units, self.targets[rows], noise)
        self.optimizer.zero_grad()
        loss.backward()
        self._step()
        with torch.no_grad():
            self.scores = self._shrink(encoding, decoder.detach())
            self._rescale(encoding)
            self.result.losses.append(float(loss.detach()))
            self.result.n_in_use.append(len(V))
            n_kept = min(self.plan.n_in_use(self.n_inputs, step), len(V))
            if n_kept < len(V):
                self._eliminate(n_kept)

    def is_between_eliminations(self) -> bool:
        """Whether each feature is either eliminated or has a score, and not in the middle of it."""
        n_left = self.n_inputs - len(self.result.eliminated)
        return len(self.scores) == self.loader.columns.size == n_left == self.n_inputs - len(self.result.scores)

    def close(self) -> EliminationRecord:
        """Eliminate the features that remain, the least important first."""
        if len(self.result.eliminated) < self.n_inputs:
            self._eliminate(0)
        return self.result

    def _step(self) -> None:
        """Adam with steps relative to the size of each parameter: number and scale of the features do not matter."""
        for group in self.optimizer.param_groups:
            [parameter] = group["params"]
            size = float(parameter.detach().square().mean().sqrt()) + torch.finfo(parameter.dtype).tiny
            group["lr"] = self.plan.learning_rate * size
            group["eps"] = max(_ADAM_EPSILON / (size * parameter.numel() ** 0.5), torch.finfo(parameter.dtype).tiny)
        self.optimizer.step()

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
        self.result.eliminated += self.loader.columns[eliminated.cpu().numpy()].tolist()
        self.result.scores += self.scores[eliminated].tolist()
        self.scores = self.scores[kept]
        if n_kept:
            self.loader.keep_columns(kept)
            _drop_rows(self.encoder, self.optimizer, kept)

    def state(self) -> dict[str, Any]:
        """All that the rest of the run depends on."""
        return {
            "columns": torch.from_numpy(self.loader.columns),
            "encoder": self.encoder.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scores": self.scores,
            "result": vars(self.result),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume an interrupted run."""
        kept = torch.as_tensor(state["columns"], device=self.loader.device)
        self.loader.keep_columns(kept)
        _drop_rows(self.encoder, self.optimizer, kept)
        self.encoder.load_state_dict(state["encoder"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scores = state["scores"].to(self.scores)
        self.result = EliminationRecord(**state["result"])


def _optimizer(encoder: Encoder) -> torch.optim.Adam:
    return torch.optim.Adam([{"params": [parameter]} for parameter in encoder.parameters()], foreach=False)


def _drop_rows(encoder: Encoder, optimizer: torch.optim.Adam, kept: Tensor) -> None:
    """Remove inputs from the first layer, and from the moments that Adam keeps of it."""
    first: Sequence[Any] = [encoder.weights] if encoder.slack is None else [encoder.weights, encoder.slack]
    for parameter in first:
        parameter.data = parameter.data[kept]
        parameter.grad = None
        for name, value in optimizer.state.get(parameter, {}).items():
            if name != "step":
                optimizer.state[parameter][name] = value[kept]


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
