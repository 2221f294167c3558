"""A fitted ranker in the terms of the table that the user gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tamis.base import Ranker
from tamis.cli._table import Table


@dataclass(frozen=True)
class Feature:
    """One feature of an order.

    Attributes
    ----------
    rank : int
        1 is best.
    name : str
    score : float
    curve : float or None
        What the stopping rule saw when this feature was the last one.
    levels : tuple of str
        Levels of an encoded column.
    """

    rank: int
    name: str
    score: float
    curve: float | None = None
    levels: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Fields for JSON; curve and levels only where there are any."""
        fields: dict[str, Any] = {"rank": self.rank, "name": self.name, "score": self.score}
        if self.curve is not None:
            fields["curve"] = self.curve
        if self.levels:
            fields["levels"] = list(self.levels)
        return fields


def ranked_features(ranker: Ranker, table: Table) -> list[Feature]:
    """The whole order of a fitted ranker."""
    return _features(ranker, table, len(ranker.order_))


def kept_features(ranker: Ranker, table: Table) -> list[Feature]:
    """The features that a fitted ranker keeps, best first."""
    return _features(ranker, table, ranker.stop_.n_features)


def _features(ranker: Ranker, table: Table, n_columns: int) -> list[Feature]:
    """Features of the first columns of the order; an encoded one comes when its first level does."""
    curve = dict(zip(ranker.stop_.curve_at.tolist(), ranker.stop_.curve.tolist(), strict=True))
    owners = table.owners
    features: dict[str, Feature] = {}
    for place, column in enumerate(ranker.order_[:n_columns].tolist(), start=1):
        if (name := owners[column]) not in features:
            levels = tuple(table.levels.get(name, {}).values())
            score = float(ranker.scores_[column])
            features[name] = Feature(len(features) + 1, name, score, curve.get(place), levels)
    return list(features.values())
