r"""Training on a table with more columns than rows, in the space that its rows span.

With :math:`Z = U S V'`, first-layer weights that are combinations of the rows are :math:`W = V C`, and

.. math:: Z W = (U S) C, \qquad \|W\| = \|C\|, \qquad \partial L / \partial W = V\, \partial L / \partial C:

a network on the r columns of :math:`U S` that starts at :math:`C = V' W` takes the steps of that on the D columns of Z,
up to rounding, with any training that does not depend on the basis (gradient descent, L-BFGS) and any penalty on
:math:`\|W\|`. The cost of a pass falls from O(n D) to O(n r), r < n.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from tamis.rank.neural._network import Perceptron

_RANK_TOL = 1e-14  # of the largest squared singular value: what is below is rounding


@dataclass(frozen=True)
class RowSpace:
    """An orthonormal basis V of the rows of a table Z.

    Attributes
    ----------
    table : Tensor of shape (n_samples, n_inputs)
        Z.
    coordinates : Tensor of shape (n_samples, rank)
        ``U S``: the rows in that basis.
    combinations : Tensor of shape (n_samples, rank)
        ``U / S``: the basis as combinations of the rows, ``V = Z' U / S``. V itself would be as large as the table.
    """

    table: Tensor
    coordinates: Tensor
    combinations: Tensor

    @classmethod
    def of(cls, Z: Tensor) -> RowSpace:
        """By the eigenvectors of the products of rows: O(n^2 D + n^3)."""
        values, vectors = torch.linalg.eigh(Z @ Z.T)
        spanned = values > _RANK_TOL * values[-1]
        size, U = values[spanned].sqrt(), vectors[:, spanned]
        return cls(Z, U * size, U / size)

    def reduce(self, network: Perceptron) -> Perceptron:
        """The network on the coordinates of the rows; its first weights have to be combinations of these."""
        weights = network.layers[0][0]
        first = self.combinations.T @ (self.table @ weights)
        sizes = (first.shape[0], *network.sizes[1:])
        return Perceptron(sizes, torch.cat([first.reshape(-1), network.theta[weights.numel() : _n_weights(network)]]))

    def restore(self, network: Perceptron, reduced: Perceptron) -> None:
        """Give a network the weights that a reduced one has in the coordinates of the rows."""
        weights, first = network.layers[0][0], reduced.layers[0][0]
        weights.copy_(self.table.T @ (self.combinations @ first))
        network.theta[weights.numel() : _n_weights(network)] = reduced.theta[first.numel() :]


def _n_weights(network: Perceptron) -> int:
    """Weights and biases, without factors of inputs."""
    return sum((m + 1) * q for m, q in pairwise(network.sizes))
