"""The networks of AGNOS: an encoder that can lose inputs while it is trained, and the autoencoder of the thesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Encoding(NamedTuple):
    """Units at every sample, their Jacobian by the preactivations of the first layer, and the spread of the latter."""

    units: Tensor
    jacobian: Tensor
    preactivation_std: Tensor


class Encoder(nn.Module):
    """Layers of tanh; the first reads the features, each through a slack variable if there are any.

    Parameters
    ----------
    weights : Tensor of shape (n_inputs, n_hidden)
        Of the first layer.
    has_slack : bool
    sizes : sequence of int
        Units of the layers behind the first.
    generator : torch.Generator
        Draws the weights of these layers.
    """

    def __init__(self, weights: Tensor, has_slack: bool, sizes: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.weights = nn.Parameter(weights.clone())
        self.slack = nn.Parameter(weights.new_ones(len(weights))) if has_slack else None
        ends = [weights.shape[1], *sizes]
        self.deeper = nn.ParameterList(
            glorot(ends[i], ends[i + 1], generator).to(weights) for i in range(len(ends) - 1)
        )

    def first_layer(self) -> Tensor:
        """Weights as the features see them."""
        return self.weights if self.slack is None else self.slack[:, None] * self.weights

    def forward(self, X: Tensor) -> Encoding:
        """Encode a batch of rows."""
        preactivations = X @ self.first_layer()
        units = torch.tanh(preactivations)
        jacobian = 1.0 - units**2
        for layer, W in enumerate(self.deeper):
            units = torch.tanh(units @ W)
            product = W.T * jacobian[:, None, :] if layer == 0 else W.T @ jacobian
            jacobian = (1.0 - units**2)[:, :, None] * product
        return Encoding(units, jacobian, torch.std(preactivations.detach()))

    def linear_jacobian(self) -> Tensor:
        """The Jacobian if tanh were the identity: the product of the weights."""
        jacobian = self.weights.new_ones(1, self.weights.shape[1])
        for layer, W in enumerate(self.deeper):
            jacobian = (W.T * jacobian[:, None, :]) if layer == 0 else W.T @ jacobian
        return jacobian.detach()


class AutoEncoder(nn.Module):
    """One hidden layer, tanh on both sides, untied weights: the network of the thesis."""

    def __init__(self, n_inputs: int, n_hidden: int, has_slack: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.weights = nn.Parameter(glorot(n_inputs, n_hidden, generator))
        self.slack = nn.Parameter(self.weights.new_ones(n_inputs)) if has_slack else None
        self.bias = nn.Parameter(self.weights.new_zeros(n_hidden))
        self.decoder = nn.Parameter(glorot(n_hidden, n_inputs, generator))
        self.decoder_bias = nn.Parameter(self.weights.new_zeros(n_inputs))

    def encode(self, Z: Tensor) -> Tensor:
        """Units at every sample."""
        weights = self.weights if self.slack is None else self.slack[:, None] * self.weights
        return torch.tanh(Z @ weights + self.bias)

    def decode(self, Phi: Tensor) -> Tensor:
        """Features from units."""
        return torch.tanh(Phi @ self.decoder + self.decoder_bias)


def glorot(n_in: int, n_out: int, generator: torch.Generator) -> Tensor:
    """Uniform weights of the width of Glorot and Bengio (2010); torch's default type and device do not matter."""
    width = (6.0 / (n_in + n_out)) ** 0.5
    drawn = torch.rand(n_in, n_out, generator=generator, dtype=torch.float32, device="cpu")
    return (2.0 * drawn - 1.0) * width
