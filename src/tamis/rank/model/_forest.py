"""A random forest that grows in batches, between which its progress is told and Ctrl-C can end it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from tamis.kernels.background import call_in_background

_BATCHES = 20  # the trees are the same as those of one batch


def batch_ends(n_trees: int) -> list[int]:
    """How many trees there are after each batch."""
    return np.unique(np.linspace(0, n_trees, min(n_trees, _BATCHES) + 1).astype(int))[1:].tolist()


def grow_forest(
    forest: Any, sizes: list[int], table: Any, target: np.ndarray, weight: np.ndarray | None
) -> Iterator[Any]:
    """Forests of ever more trees, each with those of the one before; Ctrl-C is seen while trees are grown.

    Parameters
    ----------
    forest : RandomForestClassifier or RandomForestRegressor
        With ``warm_start``, not fitted.
    sizes : list of int
        Ascending numbers of trees.
    table, target, weight
        What to fit it on.
    """
    for size in sizes:
        larger = copy(forest)  # trees that grow on after Ctrl-C belong to no forest that was handed out
        if hasattr(forest, "estimators_"):
            larger.estimators_ = list(forest.estimators_)
        larger.set_params(n_estimators=size)
        forest = call_in_background(partial(larger.fit, table, target, sample_weight=weight))
        yield forest
