"""The random probe for hidden units: does a network need the last of them?"""

from __future__ import annotations

import numpy as np

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.probe.law import best_of, probe_survival
from tamis.kernels.solvers.orthogonal_search import Direction, OrthogonalSearch
from tamis.rank.neural._sigmoid_network import SigmoidNetwork, orthonormal_basis


def rank_units(network: SigmoidNetwork, X: np.ndarray, y: np.ndarray) -> list[Direction]:
    """Gram-Schmidt on the outputs of the hidden units; those in the span of the ones before are redundant."""
    return list(OrthogonalSearch(as_columns(network.hidden(X)), y[:, None]))


def chance_on_held_out_rows(larger: SigmoidNetwork, smaller: SigmoidNetwork, X: np.ndarray, y: np.ndarray) -> float:
    """Chance that a random vector explains more of the residual of the smaller network than the larger one does."""
    basis = orthonormal_basis(smaller.tangent(X))
    known = smaller.predict(X)
    residual, gain = (v - basis @ (basis.T @ v) for v in (y - known, larger.predict(X) - known))
    product, size2 = float(residual @ gain), float(residual @ residual) * float(gain @ gain)
    if product <= 0 or size2 == 0:  # it points away from the target
        return 1.0
    return probe_survival(product**2 / size2, len(y) - basis.shape[1])


def chance_on_training_rows(network: SigmoidNetwork, X: np.ndarray, y: np.ndarray, correction: str) -> float:
    """What the probe compares with the risk for the worst unit, on the rows that trained it."""
    steps = rank_units(network, X, y)
    if len(steps) < network.n_hidden:
        return 1.0  # a unit that adds nothing
    chances = np.array([probe_survival(step.cos2, len(y) - n) for n, step in enumerate(steps, start=1)])  # Eq. (3)
    if correction == "none":
        return float(1 - np.prod(1 - chances))  # Eq. (4) in closed form
    return max(best_of(chance, step.n_candidates) for chance, step in zip(chances, steps, strict=True))
