"""The least-squares model that an orthogonal path builds along the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from tamis.base import LinearModel, Step


@dataclass(frozen=True)
class LeastSquaresModel(LinearModel):
    """Linear model on the first features of a path, in the order they came.

    Attributes
    ----------
    r2 : float
        Share of the target's variance that the model explains on the training rows.
    press : float
        Mean squared leave-one-out error.
    """

    r2: float
    press: float


@dataclass(frozen=True)
class Term:
    """One column of a model: its coordinates on the orthogonal directions, and what its own direction explains."""

    feature: int
    loading: np.ndarray
    projection: np.ndarray
    mean: float


def model_from_path(
    path: Sequence[Step],
    target_mean: np.ndarray,
    classes: np.ndarray | None,
    null_press: float,
    target_scale: np.ndarray | None = None,
) -> LeastSquaresModel:
    """Solve ``R coef = Q' Y`` with the triangular factor that the path recorded: no refit, no pass over the data.

    ``target_scale`` holds the units of several targets; the errors stay in these units.
    """
    terms: list[Term] = [term for step in path for term in step.info["terms"]]
    k, active = len(terms), [place for place, term in enumerate(terms) if term.loading.size]
    R = np.zeros((len(active), len(active)))
    for column, place in enumerate(active):
        R[: column + 1, column] = terms[place].loading
    projections = np.array([term.projection for term in terms]).reshape(k, target_mean.size)
    coef = np.zeros_like(projections)
    if active:
        coef[active] = solve_triangular(R, projections[active])
    features = np.array([term.feature for term in terms], dtype=np.int64)
    in_order = np.argsort(features, kind="stable")  # as transform gives the columns
    means = np.array([term.mean for term in terms])
    scale = 1.0 if target_scale is None else target_scale
    return LeastSquaresModel(
        features=features[in_order],
        coef=(coef * scale)[in_order],
        intercept=(target_mean - means @ coef) * scale,
        r2=path[-1].info["r2"] if k else 0.0,
        press=path[-1].info["press"] if k else null_press,
        classes=classes,
    )
