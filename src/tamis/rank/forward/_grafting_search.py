r"""Grafting: weights enter a linear model one by one, where the gradient is largest, and may leave again.

.. math:: C(W, b) = \sum_c \frac{1}{m} \sum_i L(z_i^\top w_c + b_c, y_{ic})
          + l_2 \|W\|_F^2 + \alpha \sum_{jc} |w_{jc}| + l_0 \, \#\{jc : w_{jc} \neq 0\}

over the columns z of a table, centered (which the intercepts b make up for) and scaled. Without the last term the
search ends at the minimum; with it, where no single weight that enters or leaves lowers C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tamis.kernels.arrays.columns import Columns
from tamis.kernels.solvers.orthant_newton import Loss, OrthantFit, minimize_in_orthant

_TIE = 1e-10  # gradients closer than this, relatively, are the same: rounding must not choose between them
_NOTHING = 1e-13  # gradient that rounding alone explains, relative to what a column and the residual could give


@dataclass(frozen=True)
class Graft:
    """A weight that has entered.

    Attributes
    ----------
    feature, target : int
    slope : float
        Size of the derivative of the loss by this weight, just before.
    alpha : float
    objective : float
        Once all weights that are in have been minimized over.
    """

    feature: int
    target: int
    slope: float
    alpha: float
    objective: float


@dataclass(frozen=True)
class _Part:
    """The model of one target: its features, their columns, and the fit."""

    features: np.ndarray
    Z: np.ndarray
    fit: OrthantFit


class GraftingSearch:
    """Weights that enter and leave a linear model of every target.

    Parameters
    ----------
    columns : Columns
        In double precision, with an intercept.
    Y : ndarray of shape (n_samples, n_targets)
    loss : Loss
    scale : ndarray of shape (n_features,)
        Factor of every column; a constant one needs none.
    l2, l0 : float
    tol : float
        Largest violation of the conditions for a minimum, relative to ``alpha_max``.
    step : int
        Weights that enter at once, unless ``l0`` asks for a trial of each.

    Attributes
    ----------
    alpha_max : float
        The smallest alpha at which no weight enters.
    gradient : ndarray of shape (n_features, n_targets)
        Of the mean loss, by the weights, where the search is now.
    is_settled : bool
        Whether the last descent has come to its end.

    Notes
    -----
    Cost: one product of the table with a vector per weight that enters, and some Newton steps over the few weights that
    are in. The columns of these are held, dense. With ``l0``, every weight that could enter or leave is tried before
    the search ends.
    """

    def __init__(
        self,
        columns: Columns,
        Y: np.ndarray,
        loss: Loss,
        *,
        scale: np.ndarray,
        l2: float = 0.0,
        l0: float = 0.0,
        tol: float = 1e-10,
        step: int = 1,
    ) -> None:
        self.columns, self.Y, self.loss, self.scale = columns, Y, loss, scale
        self.l2, self.l0, self.step = l2, l0, step
        self.alpha, self.tol, self.is_settled = 0.0, tol, False
        self.gradient = np.zeros((columns.n_candidates, Y.shape[1]))
        self._is_in = np.zeros(self.gradient.shape, dtype=bool)
        self._is_refused = np.zeros(self.gradient.shape, dtype=bool)
        empty = np.empty((len(Y), 0))
        self._parts = [_Part(np.empty(0, dtype=int), empty, self._minimize(empty, c)) for c in range(Y.shape[1])]
        for target, part in enumerate(self._parts):
            self._settle(target, part)
        largest = float(np.abs(self.gradient).max())
        possible = np.sqrt(np.max(columns.norm2 * scale**2) * np.max(np.sum(self._slopes() ** 2, axis=0)))
        self.alpha_max = largest if largest > _NOTHING * possible else 0.0
        self.tol = tol * (self.alpha_max or float(possible) or 1.0)
        self._least_gain = 1e-10 * self.objective()

    def descend(self, alpha: float) -> Iterator[Graft]:
        """Go on from where the search is, until no weight violates the conditions for a minimum at ``alpha``."""
        self.alpha, self.is_settled = alpha, False
        for target, part in enumerate(self._parts):
            fit = self._minimize(part.Z, target, part.fit.weights, part.fit.intercept)
            self._settle(target, _Part(part.features[fit.kept], part.Z[:, fit.kept], fit))
        yield from self._grow()
        while self.l0 > 0 and self._drop_one():
            yield from self._grow()
        self.is_settled = True

    def objective(self) -> float:
        """C at the current alpha."""
        return sum(self._cost(part.fit) for part in self._parts)

    def violation(self) -> float:
        """Largest violation of the conditions for a minimum over all features; over those that are in, with ``l0``."""
        inside = max(part.fit.residual for part in self._parts)
        return inside if self.l0 > 0 else max(inside, float(np.max(self._excess(), initial=0.0)))

    def gap(self) -> float:
        """How far C may be from its minimum, at most: the duality gap, for ``l0=0``.

        The slopes of the loss, brought nearer to zero until no feature violates a condition (which a ridge makes
        unnecessary), are a point of the dual problem.
        """
        slopes = self._slopes()
        size = np.abs(self.gradient).max(axis=0)
        if self.l2 > 0:
            pull = np.maximum(0.0, np.abs(self.gradient) - self.alpha)
            shrink, ridge = np.ones(size.size), float(np.sum(pull**2)) / (4.0 * self.l2)
        else:
            shrink, ridge = np.divide(self.alpha, size, out=np.ones(size.size), where=size > self.alpha), 0.0
        conjugate = self.loss.conjugate(len(self.Y) * shrink * slopes, self.Y)
        return max(0.0, self.objective() + float(conjugate.mean(axis=0).sum()) + ridge)

    def weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features that are in, ascending, their weights of shape (n_in, n_targets), and the intercepts."""
        features = np.flatnonzero(self._is_in.any(axis=1))
        weights = np.zeros((features.size, len(self._parts)))
        for target, part in enumerate(self._parts):
            weights[np.searchsorted(features, part.features), target] = part.fit.weights
        return features, weights, np.array([part.fit.intercept for part in self._parts])

    def holds(self, graft: Graft) -> bool:
        """Whether a weight that entered is still in."""
        return bool(self._is_in[graft.feature, graft.target])

    def _grow(self) -> Iterator[Graft]:
        """Let weights enter while the loss falls faster along one of them than ``alpha`` makes up for."""
        while (entering := self._most_wanted()).size:
            for target in np.unique(entering[:, 1]):
                features = entering[entering[:, 1] == target, 0]
                slopes = np.abs(self.gradient[features, target])
                if not self._try_with(features, int(target)):
                    self._is_refused[features, target] = True
                    continue
                objective = self.objective()
                for feature, slope in zip(features.tolist(), slopes.tolist(), strict=True):
                    if self._is_in[feature, target]:
                        yield Graft(feature, int(target), slope, self.alpha, objective)

    def _excess(self) -> np.ndarray:
        """By how much the gradient exceeds alpha, for weights that are not in."""
        return np.where(self._is_in, -np.inf, np.abs(self.gradient) - self.alpha)

    def _most_wanted(self) -> np.ndarray:
        """Feature and target of the weights to enter next, one per row."""
        excess = np.where(self._is_refused, -np.inf, self._excess()).ravel()
        n_wanted = 1 if self.l0 > 0 else min(self.step, excess.size)
        least = max(float(np.partition(excess, -n_wanted)[-n_wanted]), 0.0)
        chosen = np.flatnonzero(excess >= least - _TIE * (least + self.alpha))
        if chosen.size:  # the first of equals; once it is in, its copies have nothing to add
            chosen = chosen[np.argsort(-excess[chosen], kind="stable")]
            size = excess[chosen] + self.alpha
            chosen = np.minimum.reduceat(chosen, np.flatnonzero(np.diff(size, prepend=np.inf) < -_TIE * size))
        chosen = chosen[excess[chosen] > self.tol]
        return np.column_stack(np.unravel_index(chosen, self.gradient.shape))

    def _try_with(self, features: np.ndarray, target: int) -> bool:
        """Let weights enter, if one of them stays and C is the lower for it."""
        part = self._parts[target]
        everything = np.append(part.features, features)
        Z = np.column_stack([part.Z, self._columns(features)])
        weights = np.append(part.fit.weights, np.zeros(features.size))
        sign = np.append(np.sign(part.fit.weights), -np.sign(self.gradient[features, target]))
        fit = self._minimize(Z, target, weights, part.fit.intercept, sign)
        stay = bool(np.any(fit.kept >= part.features.size))
        if not stay or (self.l0 > 0 and self._cost(fit) >= self._cost(part.fit) - self._least_gain):
            return False
        self._settle(target, _Part(everything[fit.kept], Z[:, fit.kept], fit))
        return True

    def _drop_one(self) -> bool:
        """Take out the first weight, from the smallest on, without which C is lower."""
        for target, part in enumerate(self._parts):
            for place in np.argsort(np.abs(part.fit.weights), kind="stable"):
                Z, features = np.delete(part.Z, place, axis=1), np.delete(part.features, place)
                fit = self._minimize(Z, target, np.delete(part.fit.weights, place), part.fit.intercept)
                if self._cost(fit) < self._cost(part.fit) - self._least_gain:
                    self._settle(target, _Part(features[fit.kept], Z[:, fit.kept], fit))
                    return True
        return False

    def _columns(self, features: np.ndarray) -> np.ndarray:
        return self.columns.columns(features) * self.scale[features]

    def _minimize(
        self,
        Z: np.ndarray,
        target: int,
        weights: np.ndarray | None = None,
        intercept: float = 0.0,
        sign: np.ndarray | None = None,
    ) -> OrthantFit:
        weights = np.empty(0) if weights is None else weights
        sign = np.sign(weights) if sign is None else sign
        y, tol = self.Y[:, target], 0.1 * self.tol  # closer than a violation has to be to count
        return minimize_in_orthant(Z, y, self.loss, weights, intercept, sign, alpha=self.alpha, l2=self.l2, tol=tol)

    def _settle(self, target: int, part: _Part) -> None:
        """Take over the model of a target, and the gradient there: one product with the table."""
        self._parts[target] = part
        self._is_in[:, target] = False
        self._is_in[part.features, target] = True
        self._is_refused[:, target] = False
        self.gradient[:, target] = self.columns.dot(self._slopes(target))[:, 0] * self.scale

    def _slopes(self, target: int | None = None) -> np.ndarray:
        """Derivatives of the mean loss by the outputs, centered as the columns are: one column per target."""
        chosen = range(len(self._parts)) if target is None else [target]
        outputs = np.column_stack([self._parts[c].fit.outputs for c in chosen])
        slopes = self.loss.slope(outputs, self.Y[:, list(chosen)]) / len(self.Y)
        return slopes - slopes.mean(axis=0)

    def _cost(self, fit: OrthantFit) -> float:
        return fit.objective + self.l0 * fit.kept.size
