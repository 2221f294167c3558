"""A grafting search on a table and a target in their own units, and the linear model that it ends with."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis._sklearn import safe_indexing
from tamis.base import LinearModel, Step
from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents
from tamis.kernels.arrays.targets import Target
from tamis.kernels.solvers.losses import LOSSES, weighted_loss
from tamis.rank.forward._grafting_search import Graft, GraftingSearch


class GraftingProblem:
    """A search in units in which columns and a quantity to predict are of size one, and the way back.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    target : Target
    loss : {"logistic", "squared", "squared_hinge"}
    l2, l0, tol, step
        As for :class:`GraftingSearch`, in the units of the target.
    standardize : bool
    weight : ndarray of shape (n_samples,) or None
        How often each row counts.

    Attributes
    ----------
    search : GraftingSearch
    unit : float
        Of the target: weights, derivatives and alpha have to be multiplied by it, objectives twice.
    """

    def __init__(
        self,
        X: Any,
        target: Target,
        loss: str,
        *,
        l2: float,
        l0: float,
        tol: float,
        step: int | str,
        standardize: bool,
        weight: np.ndarray | None = None,
    ) -> None:
        self._weight = weight
        self.X, self.classes, self.standardize = X, target.classes, standardize
        self._target, self._loss, self._l2, self._tol, self._step = target, loss, l2, tol, step
        Y, self._center, self.unit = _standardize(target, weight)
        self._exponents = overflow_exponents(X) if standardize else None
        table = ldexp_columns(X, self._exponents).astype(float, copy=False)
        self._columns = as_columns(table)
        weighted = self._columns if weight is None else as_columns(table, weight)
        spread = np.sqrt(np.where(weighted.norm2 > 0, weighted.norm2, weighted.total) / weighted.total)
        self._scale = 1.0 / spread if standardize else np.ones(spread.size)
        scaled_l0 = l0 / self.unit / self.unit
        each_loss = LOSSES[loss] if weight is None else weighted_loss(LOSSES[loss], weight / weight.mean())
        self.search = GraftingSearch(
            self._columns, Y, each_loss, scale=self._scale, l2=l2, l0=scaled_l0, tol=tol, step=step
        )
        self._constant = self._center + self.unit * self.search.weights()[2]

    def describe(self, graft: Graft) -> Step:
        """A graft as a step, in the units of the target."""
        info: dict[str, Any] = {"alpha": graft.alpha * self.unit, "objective": graft.objective * self.unit * self.unit}
        if self.classes is not None:
            info["class"] = self.classes[graft.target if self._target.values.shape[1] > 1 else 1]
        return Step(graft.feature, graft.gradient * self.unit, info)

    def model(self, features: np.ndarray) -> LinearModel:
        """The minimum over the given features, ascending: the search's own, unless other features are active in it."""
        active, weights, intercept = self.search.weights()
        if not np.array_equal(active, features):
            return self._refit(features)
        coef = weights * self._scale[active, None] * self.unit
        intercept = self._center + self.unit * intercept - self._columns.means(active) @ coef
        if self._exponents is not None:
            with np.errstate(over="ignore"):
                coef = np.ldexp(coef, -self._exponents[active, None])
        return LinearModel(features, coef, intercept, self.classes)

    def _refit(self, features: np.ndarray) -> LinearModel:
        """Minimize over the given features only, without ``l0``: their number is given."""
        if not features.size:
            return LinearModel(features, np.zeros((0, self._constant.size)), self._constant, self.classes)
        part = GraftingProblem(
            safe_indexing(self.X, features, axis=1),
            self._target,
            self._loss,
            l2=self._l2,
            l0=0.0,
            tol=self._tol,
            step=self._step,
            standardize=self.standardize,
            weight=self._weight,
        )
        for _ in part.search.descend(self.search.alpha):
            pass
        active = part.search.weights()[0]
        model = part.model(active)
        coef = np.zeros((features.size, model.intercept.size))
        coef[active] = model.coef
        return LinearModel(features, coef, model.intercept, self.classes)


def _standardize(target: Target, weight: np.ndarray | None) -> tuple[np.ndarray, float, float]:
    """Classes as -1 and 1, a quantity at zero mean and unit variance; mean and unit of the latter."""
    values = target.values
    if target.classes is not None:
        return (values if values.shape[1] == 1 else 2.0 * values - 1.0), 0.0, 1.0
    size = float(np.abs(values).max())  # first, so that squares of very large or small numbers do not overflow
    values = values / size
    mean = float(np.average(values[:, 0], weights=weight))
    variance = float(np.average((values[:, 0] - mean) ** 2, weights=weight))
    spread = max(variance**0.5, np.finfo(float).tiny)
    return (values - mean) / spread, mean * size, spread * size
