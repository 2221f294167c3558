"""Constructor arguments under which each method is checked: one line per method, at least two instances each.

``stop=1`` and ``stop=None`` (k = D) are among them for every method: boundaries break first.
"""

from __future__ import annotations

from typing import Any

import tamis
from tamis.base import Ranker

ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "CGSSL": [{"random_state": 0}, {"stop": 1}, {"stop": None, "n_clusters": 2, "random_state": 0}],
    "CorrelationScore": [{}, {"stop": 1}, {"stop": None, "multiclass": "ovo"}],
    "FeatureMedoids": [{}, {"stop": 1}, {"stop": None, "standardize": False}],
    "FisherScore": [{}, {"stop": 1}, {"stop": None, "threshold": 0.01}],
    "ForwardLeastSquares": [{}, {"stop": 1}, {"stop": None}, {"algorithm": "lars", "multiclass": "ovr", "stop": 1}],
    "GramSchmidt": [{}, {"stop": 1}, {"stop": None, "orthogonalization": "modified"}, {"multiclass": "ovo"}],
    "GreedyReconstruction": [{}, {"stop": 1}, {"stop": None, "standardize": False}],
    "LaplacianScore": [{}, {"stop": 1, "weight": "binary"}, {"stop": None, "weight": "rbf"}, {"weight": "cosine"}],
    "MCFS": [{}, {"stop": 1, "n_clusters": 2}, {"stop": None, "n_nonzero": 3}],
    "MaxVariance": [{}, {"stop": 1}, {"stop": None}],
    "NDFS": [{"random_state": 0}, {"stop": 1, "init": "spectral"}, {"stop": None, "gamma": 1e9, "random_state": 0}],
    "PCALeverage": [{}, {"stop": 1}, {"stop": None, "n_components": 2, "standardize": False}],
    "PivotedQR": [{}, {"stop": 1}, {"stop": None, "standardize": False}],
    "RandomSelection": [{}, {"stop": 1}, {"stop": None, "random_state": 0}],
    "RSFS": [{"random_state": 0}, {"stop": 1}, {"stop": None, "n_clusters": 2, "random_state": 0}],
    "RUFS": [{"random_state": 0}, {"stop": 1}, {"stop": None, "n_clusters": 2, "random_state": 0}],
    "ReliefF": [
        {},
        {"stop": 1},
        {"stop": None, "metric": "manhattan", "difference": "squared"},
        {"n_samples": 20, "random_state": 0},
        {"n_neighbors": 1, "difference": "squared", "stop": 1},
    ],
    "SOGFS": [{}, {"stop": 1}, {"stop": None, "n_clusters": 2}],
    "SPEC": [{}, {"stop": 1, "phi": 1}, {"stop": None, "phi": 3}, {"prefer": "rough", "weight": "rbf"}],
}


def instances(name: str | None = None) -> list[Ranker]:
    """Fresh instances of one method, or of all."""
    chosen = ARGUMENTS if name is None else {name: ARGUMENTS[name]}
    return [getattr(tamis, method)(**arguments) for method, each in chosen.items() for arguments in each]
