"""Which configurations there are: ranker x number of features x scaling x model, in waves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tamis.learn._portfolio import ALL, ModelEntry

_MOST_IN_GRID = 2048
_IN_GRID = 9
_LARGEST_SHARE = 0.75  # of the features; more than that is as good as all


@dataclass(frozen=True)
class Configuration:
    """One way to select and learn.

    Attributes
    ----------
    ranker : str
        Name; "all" where nothing is selected.
    n_features : int
        Features that are kept, counted in columns of the user's table.
    scaling, model : str
    simplicity : int
        Of the model, the simplest first.
    """

    ranker: str
    n_features: int
    scaling: str
    model: str
    simplicity: int = 0

    @property
    def key(self) -> str:
        """Text that no other configuration has."""
        return f"{self.ranker}|{self.n_features}|{self.scaling}|{self.model}"

    def __str__(self) -> str:
        scaling = "" if self.scaling == "as it is" else f" on {self.scaling} columns"
        if self.ranker == ALL:
            return f"all {self.n_features} features, {self.model}{scaling}"
        return f"{self.n_features} features by {self.ranker}, {self.model}{scaling}"


def model_of(key: str) -> str:
    """The model's label in the key of a configuration."""
    return key.split("|", 3)[3]


def grid(n_features: int) -> list[int]:
    """Numbers of features to try besides all, about evenly on a logarithmic scale."""
    most = min(int(_LARGEST_SHARE * n_features), _MOST_IN_GRID)
    if most < 1:
        return []
    least = min(2, most)
    sizes = np.geomspace(least, most, min(_IN_GRID, most - least + 1))
    return [int(size) for size in np.unique(np.round(sizes)) if size < n_features]


def with_all(n_features: int, models: Sequence[ModelEntry], scalings: Sequence[str]) -> list[Configuration]:
    """The first wave: every model with every scaling that suits, on all features."""
    return [
        Configuration(ALL, n_features, scaling, model.label, model.simplicity)
        for model in models
        for scaling in (model.scalings or scalings)
    ]


def with_ranker(
    ranker: str, sizes: Sequence[int], models: Sequence[ModelEntry], scaling_of: Mapping[str, str]
) -> list[Configuration]:
    """The wave of one ranker: every model with the scaling that served it best on all features."""
    return [
        Configuration(ranker, size, scaling_of[model.label], model.label, model.simplicity)
        for model in models
        if model.label in scaling_of
        for size in sizes
    ]


def beside(
    configuration: Configuration, sizes: Sequence[int], models: Sequence[ModelEntry], scalings: Sequence[str]
) -> list[Configuration]:
    """What differs from a configuration by one step: in number of features, in scaling, or in the model's setting.

    Parameters
    ----------
    configuration : Configuration
    sizes : sequence of int
        Numbers of features that were tried with its ranker, ascending, all features included; steps go half-way to the
        next, as ratios.
    models : sequence of ModelEntry
    scalings : sequence of str
        Those that suit the table.
    """
    model = next(entry for entry in models if entry.label == configuration.model)
    others = [scaling for scaling in model.scalings or scalings if scaling != configuration.scaling]
    found = [replace(configuration, scaling=scaling) for scaling in others]
    found += [replace(configuration, model=entry.label) for entry in models if entry.is_next_to(model)]
    if configuration.ranker != ALL:
        size, tried = configuration.n_features, np.array(sizes)
        next_ones = [*tried[tried < size][-1:].tolist(), *tried[tried > size][:1].tolist()]
        half_way = [round(float(np.sqrt(size * other))) for other in next_ones]
        found += [replace(configuration, n_features=each) for each in half_way if each not in sizes]
    return found
