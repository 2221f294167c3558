"""A multilayer perceptron whose weights lie in one vector: losses, gradients, diagonal of the Hessian, training.

This module loads torch: import it where a network is needed, not before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, pairwise
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from tamis.base import interrupt
from tamis.kernels.arrays.blocks import blocks, limit_blas_threads

_BLOCK = 2**21  # numbers held at once while inputs are removed one by one, or second derivatives are summed
_BLOCK_WITHOUT = 2**18  # numbers that fit into a cache
_MAX_CELLS = 2**18  # random numbers per unit that weighted rows share in a start
_MEMORY = 10  # objectives that a proximal step may compare itself with
_SHRINK, _SUFFICIENT, _SHORTEST = 0.5, 1e-4, 1e-100  # of a proximal step that did not lower the objective enough


class Perceptron(torch.nn.Module):
    """Hidden layers of tanh units and a linear output layer.

    Gradients are written out: on the small tables that these networks are mostly trained on, automatic differentiation
    would take most of the time.

    Parameters
    ----------
    sizes : tuple of int
        Inputs, hidden units of every layer, outputs.
    theta : tensor
        All weights and biases, layer by layer; then, if it is longer, one factor per input (a one-to-one layer).

    Attributes
    ----------
    layers : list of (weights, bias)
        Views of ``theta``.
    factors : tensor or None
        Those of the one-to-one layer, also a view.
    """

    def __init__(self, sizes: tuple[int, ...], theta: Tensor) -> None:
        super().__init__()
        self.sizes = sizes
        self.theta = torch.nn.Parameter(theta, requires_grad=False)
        self.layers: list[tuple[Tensor, Tensor]] = []
        end = 0
        for m, q in pairwise(sizes):
            start, middle, end = end, end + m * q, end + (m + 1) * q
            self.layers.append((theta[start:middle].view(m, q), theta[middle:end]))
        self.factors = theta[end:] if theta.numel() > end else None

    @classmethod
    def initialize(
        cls,
        sizes: tuple[int, ...],
        Z: Tensor,
        rng: Any,
        *,
        one_to_one: bool = False,
        sample_weight: np.ndarray | None = None,
    ) -> Perceptron:
        """A network with random weights, for inputs ``Z``.

        The first weights of an input are random combinations of its own values: they do not depend on its place in the
        table, and copies get the same. They are scaled so that the first units receive unit variance. A row of weight m
        gets the sum of the random numbers that m rows in its place would.
        """
        share = row_shares(Z, sample_weight)
        first = Z.T @ _row_noise(len(Z), sizes[1], rng, sample_weight).to(Z)
        variance = share @ (Z @ first).square().mean(dim=1)
        first /= variance.sqrt().clamp(min=torch.finfo(Z.dtype).tiny)
        parts = [first.reshape(-1), Z.new_zeros(sizes[1])]
        for m, q in pairwise(sizes[1:]):
            weights = torch.randn(m * q, generator=rng, dtype=Z.dtype, device="cpu") / m**0.5
            parts += [weights.to(Z.device), Z.new_zeros(q)]
        if one_to_one:
            parts.append(Z.new_ones(sizes[0]))
        return cls(sizes, torch.cat(parts))

    def is_weight(self) -> Tensor:
        """1 where an entry of ``theta`` is a weight, 0 for biases and factors."""
        parts = [part for weights, bias in self.layers for part in (torch.ones_like(weights), torch.zeros_like(bias))]
        if self.factors is not None:
            parts.append(torch.zeros_like(self.factors))
        return torch.cat([part.reshape(-1) for part in parts])

    def forward(self, Z: Tensor) -> Tensor:
        """Outputs: logits of classes, or a quantity."""
        return self._outputs_from(self._first_preactivations(Z))

    def _first_preactivations(self, Z: Tensor) -> Tensor:
        """Those of the first layer: factors of inputs multiply its weights, which are fewer than the inputs' values."""
        weights, bias = self.layers[0]
        return torch.addmm(bias, Z, weights if self.factors is None else self.factors[:, None] * weights)

    def _outputs_from(self, preactivations: Tensor) -> Tensor:
        """Outputs, given the preactivations of the first layer."""
        for weights, bias in self.layers[1:]:
            preactivations = torch.tanh(preactivations) @ weights + bias
        return preactivations

    def activations(self, Z: Tensor) -> list[Tensor]:
        """The inputs, those of each later layer, and the outputs."""
        found, preactivations = [Z], self._first_preactivations(Z)
        for weights, bias in self.layers[1:]:
            found.append(preactivations.tanh_())
            preactivations = torch.addmm(bias, found[-1], weights)
        return [*found, preactivations]

    def loss_and_gradient(self, Z: Tensor, target: Target) -> tuple[Tensor, Tensor]:
        """Loss, and its gradient in ``theta``, by backpropagation; delta is the gradient in the preactivations."""
        inputs = self.activations(Z)
        loss, delta = target.loss_and_gradient(inputs.pop())
        parts: list[Tensor] = []
        for depth in range(len(self.layers) - 1, 0, -1):
            weights, u = self.layers[depth][0], inputs[depth]
            parts += [delta.sum(dim=0), (u.T @ delta).view(-1)]
            delta = delta @ weights.T * (1.0 - u * u)
        first = Z.T @ delta
        parts += [delta.sum(dim=0), (first if self.factors is None else first * self.factors[:, None]).view(-1)]
        if self.factors is not None:
            parts.insert(0, (first * self.layers[0][0]).sum(dim=1))
        return loss, torch.cat(parts[::-1])

    def outputs_without(self, Z: Tensor) -> Iterator[Tensor]:
        """Outputs once each input is held at zero, of shape (inputs, outputs, samples); a block of inputs at a time.

        A block may be overwritten by the next.
        """
        weights, bias = self.layers[0]
        preactivations = torch.addmm(bias, Z, weights).T.contiguous()
        width = max(1, _BLOCK_WITHOUT // (len(Z) * max(self.sizes[1:])))
        buffer = Z.new_empty((min(width, self.sizes[0]), *preactivations.shape))
        for start in range(0, self.sizes[0], width):
            first, values = weights[start : start + width].unsqueeze(2), Z.T[start : start + width].unsqueeze(1)
            without = torch.addcmul(preactivations, first, values, value=-1.0, out=buffer[: len(first)])
            for layer, layer_bias in self.layers[1:]:
                # tanh(a) = 2 / (1 + exp(-2a)) - 1, in a third of the time that tanh takes
                units = without.mul_(2.0).sigmoid_().mul_(2.0).sub_(1.0)
                without = torch.matmul(layer.T, units) + layer_bias.unsqueeze(1)
            yield without

    def keep_inputs(self, kept: np.ndarray) -> Perceptron:
        """The same network on some of its inputs."""
        weights = self.layers[0][0]
        rows = torch.from_numpy(kept).to(weights.device)
        rest = self.theta[weights.numel() :]
        return Perceptron((len(kept), *self.sizes[1:]), torch.cat([weights[rows].reshape(-1), rest]))


def row_shares(Z: Tensor, sample_weight: np.ndarray | None) -> Tensor:
    """Share of every row in means over the rows."""
    if sample_weight is None:
        return Z.new_full((len(Z),), 1.0 / len(Z))
    return torch.from_numpy(sample_weight / sample_weight.sum()).to(Z)


def _row_noise(n_rows: int, n_columns: int, rng: Any, sample_weight: np.ndarray | None) -> Tensor:
    """Normal random numbers of as many rows, whose variance is the weight of a row.

    Weights cut a line of their sum's length into pieces, and a row gets the white noise on its piece: what repeated
    rows would get together. Beyond ``_MAX_CELLS`` rows the noise has as many values and no more.
    """
    total = n_rows if sample_weight is None else float(sample_weight.sum())
    n_cells = n_rows if sample_weight is None else min(math.ceil(total), max(n_rows, _MAX_CELLS))
    noise = torch.randn(n_cells, n_columns, generator=rng, dtype=torch.float64, device="cpu")
    if sample_weight is None:
        return noise
    ends = np.minimum(np.cumsum(sample_weight) * (n_cells / total), n_cells)
    cells = np.arange(n_cells + 1)
    walks = np.vstack([np.zeros(n_columns), np.cumsum(noise.numpy(), axis=0)])
    at_ends = np.column_stack([np.interp(ends, cells, walk) for walk in walks.T])
    return torch.from_numpy(np.diff(at_ends, axis=0, prepend=0.0))


@dataclass(frozen=True)
class Target:
    """The target of the outputs, with the loss, its gradient and its Hessian in them.

    Attributes
    ----------
    values : tensor of shape (n_samples, n_outputs)
        Indicators of the classes, or a standardized quantity.
    is_class : bool
    share : tensor of shape (n_samples,)
        Of every sample in the mean loss; those of all samples sum to one.
    """

    values: Tensor
    is_class: bool
    share: Tensor

    @cached_property
    def _shared_values(self) -> Tensor:
        return self.values * self.share.unsqueeze(1)

    def mean(self, by_sample: Tensor) -> Tensor:
        """Mean over the samples, the last axis, as often as each counts."""
        return by_sample @ self.share

    def losses(self, outputs: Tensor) -> Tensor:
        """Cross-entropy or squared error of every sample."""
        return self.losses_by_sample(outputs.T)

    def losses_by_sample(self, outputs: Tensor) -> Tensor:
        """The same, where samples are the last axis and outputs the last but one."""
        if self.is_class:
            return -(outputs.log_softmax(dim=-2) * self.values.T).sum(dim=-2)
        return (outputs - self.values.T).square().sum(dim=-2)

    def loss(self, outputs: Tensor) -> Tensor:
        """Their mean over the samples."""
        return self.mean(self.losses(outputs))

    def constant_outputs(self) -> Tensor:
        """The outputs that are best where no input is known: logarithms of the frequencies of classes, or the mean."""
        mean = self.share @ self.values
        return torch.log(mean.clamp(min=0.5 * self.share.min())) if self.is_class else mean

    def loss_and_gradient(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Loss, and its gradient in the outputs."""
        share = self.share.unsqueeze(1)
        if self.is_class:
            logarithms = outputs.log_softmax(dim=1)
            loss = -torch.vdot(logarithms.view(-1), self._shared_values.view(-1))
            return loss, logarithms.exp_() * share - self._shared_values
        error = outputs - self.values
        weighted = error * share
        return torch.vdot(error.view(-1), weighted.view(-1)), 2.0 * weighted

    def hessian(self, outputs: Tensor) -> Tensor:
        """Second derivatives of the loss in the outputs of every sample: shape (n, q, q)."""
        share = self.share[:, None, None]
        if self.is_class:
            p = outputs.softmax(dim=1)
            return (torch.diag_embed(p) - p.unsqueeze(2) * p.unsqueeze(1)) * share
        return 2.0 * share * torch.ones_like(outputs).unsqueeze(2)

    def predictions(self, outputs: Tensor) -> Tensor:
        """Probabilities of the classes, or the quantity itself; samples are the last axis, outputs the last but one."""
        return outputs.softmax(dim=-2) if self.is_class else outputs

    def center(self, outputs: Tensor) -> Tensor:
        """Outputs without what no prediction depends on: the mean of the logits."""
        return outputs - outputs.mean(dim=-1, keepdim=True) if self.is_class else outputs

    def rows(self, rows: slice | Tensor) -> Target:
        """The target of some of the samples, with their shares in the loss over all."""
        return Target(self.values[rows], self.is_class, self.share[rows])


def losses_without(network: Perceptron, Z: Tensor, target: Target) -> np.ndarray:
    """Loss once each input is held at zero."""
    return means_without(network, Z, target, target.losses_by_sample)


def changes_without(network: Perceptron, Z: Tensor, target: Target) -> np.ndarray:
    """Mean squared change of the predictions once each input is held at zero."""
    usual = target.predictions(network(Z).T)

    def squared_change(outputs: Tensor) -> Tensor:
        return (target.predictions(outputs) - usual).square_().sum(dim=1)

    return means_without(network, Z, target, squared_change)


def means_without(network: Perceptron, Z: Tensor, target: Target, by_sample: Callable[[Tensor], Tensor]) -> np.ndarray:
    """Mean over the samples of what is computed from the outputs, once each input is held at zero."""
    means, start = Z.new_empty(network.sizes[0]), 0
    for outputs in network.outputs_without(Z):
        # in one array: small ones that are kept between blocks would keep malloc from using their memory again
        means[start : start + len(outputs)] = target.mean(by_sample(outputs))
        start += len(outputs)
    return means.cpu().numpy()


def curvature(network: Perceptron, Z: Tensor, target: Target) -> Tensor:
    r"""Exact diagonal of the Hessian of the loss, by weights and biases, of a network without factors of inputs.

    A weight w from a unit of output u enters the preactivation a as u w, so that its second derivative is
    :math:`\sum_i u_i^2\, \partial^2 \ell_i / \partial a_i^2`; the Hessians in the preactivations of a layer follow from
    those of the next by the chain rule, one matrix per sample.
    """
    diagonal = [torch.zeros_like(part) for layer in network.layers for part in layer]
    height = max(1, _BLOCK // max(network.sizes[1:]) ** 2)
    for top in range(0, len(Z), height):
        rows = slice(top, top + height)
        inputs = network.activations(Z[rows])
        outputs = inputs.pop()
        part = target.rows(rows)
        delta, hessian = part.loss_and_gradient(outputs)[1], part.hessian(outputs)
        for depth in range(len(network.layers) - 1, -1, -1):
            by_preactivation, u = hessian.diagonal(dim1=1, dim2=2), inputs[depth]
            for units in blocks(
                u.shape[1], _BLOCK_WITHOUT // len(u)
            ):  # squares of a wide table would be as large as it
                diagonal[2 * depth][units] += u.T[units].square() @ by_preactivation
            diagonal[2 * depth + 1] += by_preactivation.sum(dim=0)
            if depth:
                weights = network.layers[depth][0]
                derivative, by_unit = 1.0 - u * u, delta @ weights.T  # of tanh; of the loss by u
                hessian = (weights @ hessian @ weights.T) * derivative.unsqueeze(2) * derivative.unsqueeze(1)
                hessian += torch.diag_embed(-2.0 * u * derivative * by_unit)
                delta = by_unit * derivative
    return torch.cat([part.reshape(-1) for part in diagonal])


@dataclass(frozen=True)
class Training:
    """How a training went."""

    objective: float
    n_iter: int
    converged: bool


Ticks = Generator[Any, None, None]  # asked for its next item after every iteration; at its end training ends
Objective = Callable[[], tuple[Tensor, Tensor]]  # value and gradient at the network's current weights


def _endless() -> Ticks:
    yield from count()


def train(
    network: Perceptron,
    objective: Objective,
    *,
    max_iter: int,
    tol: float,
    ticks: Ticks | None = None,
    free: np.ndarray | None = None,
) -> Training:
    """Minimize a smooth objective by L-BFGS, from where the network is; entries that are not ``free`` stay."""
    ticks = _endless() if ticks is None else ticks
    theta, device = network.theta.data, network.theta.device
    place = slice(None) if free is None else torch.from_numpy(np.flatnonzero(free)).to(device)

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        theta[place] = torch.from_numpy(x).to(device)
        value, gradient = objective()
        return value.item(), gradient[place].cpu().numpy()

    accepted, n_accepted = theta[place].cpu().numpy().copy(), 0

    def report(x: np.ndarray) -> None:
        nonlocal accepted, n_accepted
        accepted, n_accepted = x.copy(), n_accepted + 1
        next(ticks)  # where it has ended, this raises what ends the minimization

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol, "gtol": 1e-3 * tol}
    try:
        with limit_blas_threads(theta.numel()):  # which L-BFGS uses, and whose threads would wait for those of torch
            found = minimize(
                value_and_gradient, accepted.copy(), jac=True, method="L-BFGS-B", callback=report, options=options
            )
    except KeyboardInterrupt:
        interrupt(ticks)
        return Training(value_and_gradient(accepted)[0], n_accepted, converged=False)
    theta[place] = torch.from_numpy(found.x).to(device)
    # status 2 is a line search that finds nothing lower: only rounding errors remain
    return Training(float(found.fun), int(found.nit), found.status in (0, 2))


def train_proximal(
    network: Perceptron,
    smooth: Objective,
    penalty: Callable[[Tensor], Tensor],
    step: Callable[[Tensor, float], Tensor],
    *,
    max_iter: int,
    tol: float,
    ticks: Ticks | None = None,
) -> Training:
    """Minimize a smooth objective plus a penalty by proximal gradient steps of Barzilai and Borwein's length.

    ``penalty`` and ``step`` take all weights as one vector. A step is halved until it lowers the objective below the
    largest of the last few (Wright, Nowak and Figueiredo 2009); the end is where these differ by less than ``tol``. A
    long step may make weights non-zero that are zero at the minimum, so that the best point is kept, not the last.
    """
    ticks = _endless() if ticks is None else ticks
    theta = network.theta.data
    value, gradient = smooth()
    objectives = [(value + penalty(theta)).item()]
    best, lowest = theta.clone(), objectives[0]
    length, converged = 1.0, False
    try:
        for n_iter in range(1, max_iter + 1):
            theta_before, gradient_before = theta.clone(), gradient
            reference = max(objectives[-_MEMORY:])
            while True:
                theta.copy_(step(theta_before - length * gradient_before, length))
                moved = theta - theta_before
                value, gradient = smooth()
                total, distance2 = (value + penalty(theta)).item(), torch.dot(moved, moved).item()
                if total <= reference - _SUFFICIENT * distance2 / length or distance2 == 0.0 or length < _SHORTEST:
                    break
                length *= _SHRINK
            objectives.append(total)
            if total < lowest:
                best, lowest = theta.clone(), total
            curvature2 = torch.dot(moved, gradient - gradient_before).item()  # along the step, times its squared length
            length = min(max(distance2 / curvature2, 1e-8), 1e8) if curvature2 > 0 else 2.0 * length
            recent = objectives[-_MEMORY - 1 :]
            is_flat = n_iter >= _MEMORY and max(recent) - min(recent) <= tol * max(1.0, abs(total))
            converged = is_flat or distance2 == 0.0
            if converged or not np.isfinite(total) or next(ticks, None) is None:
                break
    except KeyboardInterrupt:
        interrupt(ticks)
    theta.copy_(best)
    return Training(lowest, n_iter, converged)
