"""Leading principal components of a table, which a narrow bottleneck can hold, in a few passes over the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

_N_POWERS = 2  # power iterations on a random subspace


def leading_components(
    batches: Callable[[], Iterable[Tensor]], n_columns: int, n_components: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Loadings (n_columns, n_components) of the leading components, largest first, and their scores, row by row.

    Parameters
    ----------
    batches : callable
        Gives all rows anew at each call, standardized, in batches on the device.
    n_columns, n_components : int
    generator : torch.Generator
        Draws the first subspace: what is found does not depend on it where the components hold all of the table.

    Notes
    -----
    Subspace iteration (Halko, Martinsson and Tropp 2011): four passes, O(n_rows n_columns n_components).
    """
    start = torch.randn(n_columns, n_components, generator=generator, dtype=torch.float32, device="cpu")
    basis: Tensor | None = None
    for _ in range(_N_POWERS + 1):
        product: Tensor | None = None
        for Z in batches():
            if basis is None:
                basis = start.to(Z)
            part = Z.T @ (Z @ basis)
            product = part if product is None else product + part
        basis = torch.linalg.qr(product).Q
    assert basis is not None
    scores = torch.cat([Z @ basis for Z in batches()])
    _, rotation = torch.linalg.eigh(scores.T @ scores)
    rotation = torch.flip(rotation, dims=[1])
    return basis @ rotation, scores @ rotation


def weight_components(scores: Tensor, power: float) -> Tensor:
    r"""Scores with component j weighted by :math:`s_j^{\text{power} - 1}`, at a mean squared norm of one.

    A power of one keeps every feature's share in the reconstruction; above one, what many features share counts more.
    """
    size = torch.linalg.vector_norm(scores, dim=0)
    weighted = scores * (size / size.max()) ** (power - 1.0)
    return weighted * (len(scores) ** 0.5 / torch.linalg.matrix_norm(weighted))
