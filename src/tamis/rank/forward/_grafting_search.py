r"""Grafting: an active-set search in which the weight with the largest gradient enters (Perkins et al. 2003).

.. math:: C(W, b) = \sum_c \frac{1}{m} \sum_i L(z_i^\top w_c + b_c, y_{ic})
          + l_2 \|W\|_F^2 + \alpha \sum_{jc} |w_{jc}| + l_0 \, \#\{jc : w_{jc} \neq 0\}

over the columns z of a table, centered (which the intercepts b make up for) and scaled. Without the last term
:math:`(W, b)` is a minimum if and only if (KKT), with :math:`g_{jc}` the derivative of the mean loss,

.. math:: g_{jc} + 2 l_2 w_{jc} = -\alpha\, \mathrm{sign}(w_{jc}) \text{ where } w_{jc} \ne 0, \qquad
          |g_{jc}| \le \alpha \text{ where } w_{jc} = 0.

The first holds for the active weights after every minimization over them; the weight that violates the second most
enters next, until none does. With the last term the search ends where no single weight that enters or leaves lowers C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.tolerances import TIE
from tamis.kernels.solvers.losses import Loss
from tamis.kernels.solvers.orthant_newton import Curvature, OrthantFit, minimize_in_orthant

_ACTIVE_PER_ENTERING = 10  # active weights per weight that enters at once, with step="auto"
_NOTHING = 1e-13  # gradient that rounding alone explains, relative to what a column and the residual could give


@dataclass(frozen=True)
class Graft:
    """A weight that has entered.

    Attributes
    ----------
    feature, target : int
    gradient : float
        Absolute derivative of the mean loss by this weight, just before.
    alpha : float
    objective : float
        C, after minimization over all active weights.
    """

    feature: int
    target: int
    gradient: float
    alpha: float
    objective: float


@dataclass(frozen=True)
class _TargetModel:
    """The model of one target: its active features, their columns, and the fit."""

    features: np.ndarray
    Z: np.ndarray
    fit: OrthantFit


class GraftingSearch:
    """Weights that enter and leave the active set of a linear model of every target.

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
    step : int or "auto"
        Weights that enter at once, unless ``l0`` asks for a trial of each; "auto" is a tenth of the active ones.

    Attributes
    ----------
    alpha_max : float
        The smallest alpha at which no weight enters.
    gradient : ndarray of shape (n_features, n_targets)
        Of the mean loss, by the weights, where the search is now.
    has_ended : bool
        Whether the last descent went on until no weight was to enter.

    Notes
    -----
    Cost: one product of the table with a vector per weight that enters, and some Newton steps over the few weights that
    are active. The columns of these are held, dense. With ``l0``, every weight that could enter or leave is tried
    before the search ends.
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
        step: int | str = "auto",
    ) -> None:
        self.columns, self.Y, self.loss, self.scale = columns, Y, loss, scale
        self.l2, self.l0, self.step = l2, l0, step
        self.alpha, self.tol, self.has_ended = 0.0, tol, False
        self.gradient = np.zeros((columns.n_candidates, Y.shape[1]))
        self._is_active = np.zeros(self.gradient.shape, dtype=bool)
        self._is_rejected = np.zeros(self.gradient.shape, dtype=bool)
        empty = np.empty((len(Y), 0))
        self._models = [
            _TargetModel(np.empty(0, dtype=int), empty, self._minimize(empty, target)) for target in range(Y.shape[1])
        ]
        for target, model in enumerate(self._models):
            self._set_model(target, model)
        largest = float(np.abs(self.gradient).max())
        possible = np.sqrt(np.max(columns.norm2 * scale**2) * np.max(np.sum(self._output_gradients() ** 2, axis=0)))
        self.alpha_max = largest if largest > _NOTHING * possible else 0.0
        self.tol = tol * (self.alpha_max or float(possible) or 1.0)
        self._least_decrease = 1e-10 * self.objective()

    def descend(self, alpha: float) -> Iterator[Graft]:
        """Go on from where the search is, until no weight violates the conditions for a minimum at ``alpha``."""
        self.alpha, self.has_ended = alpha, False
        for target, model in enumerate(self._models):
            fit = self._minimize(model.Z, target, model.fit.weights, model.fit.intercept, curvature=model.fit.curvature)
            self._set_model(target, _TargetModel(model.features[fit.kept], model.Z[:, fit.kept], fit))
        yield from self._enter_all()
        while self.l0 > 0 and self._leave_one():
            yield from self._enter_all()
        self.has_ended = True

    def objective(self) -> float:
        """C at the current alpha."""
        return sum(self._target_objective(model.fit) for model in self._models)

    def kkt_violation(self) -> float:
        """Largest violation of the conditions for a minimum over all features; over active ones, with ``l0``."""
        active = max(model.fit.gradient_norm for model in self._models)
        return active if self.l0 > 0 else max(active, float(np.max(self._inactive_violations(), initial=0.0)))

    def duality_gap(self) -> float:
        """Upper bound on how far C is from its minimum, for ``l0=0``.

        The dual point is the derivatives u of the loss by the outputs. Without a ridge they are scaled until
        ``|z_j' u| <= alpha`` for all features; with one, any u is feasible and what exceeds alpha is paid for.
        """
        u = self._output_gradients()
        largest = np.abs(self.gradient).max(axis=0)
        if self.l2 > 0:
            excess = np.maximum(0.0, np.abs(self.gradient) - self.alpha)
            shrink, ridge = np.ones(largest.size), float(np.sum(excess**2)) / (4.0 * self.l2)
        else:
            shrink, ridge = np.divide(self.alpha, largest, out=np.ones(largest.size), where=largest > self.alpha), 0.0
        conjugate = self.loss.conjugate(len(self.Y) * shrink * u, self.Y)
        return max(0.0, self.objective() + float(conjugate.mean(axis=0).sum()) + ridge)

    def weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Active features, ascending, their weights of shape (n_active, n_targets), and the intercepts."""
        features = np.flatnonzero(self._is_active.any(axis=1))
        weights = np.zeros((features.size, len(self._models)))
        for target, model in enumerate(self._models):
            weights[np.searchsorted(features, model.features), target] = model.fit.weights
        return features, weights, np.array([model.fit.intercept for model in self._models])

    def is_active(self, graft: Graft) -> bool:
        """Whether a weight that entered has not left."""
        return bool(self._is_active[graft.feature, graft.target])

    def _enter_all(self) -> Iterator[Graft]:
        """Let weights enter until no inactive one violates the conditions for a minimum, but those rejected by l0."""
        while (entering := self._most_violating()).size:
            gradients = np.abs(self.gradient[entering[:, 0], entering[:, 1]])
            for target in np.unique(entering[:, 1]):
                features = entering[entering[:, 1] == target, 0]
                if not self._enter(features, int(target)):
                    self._is_rejected[features, target] = True
            objective = self.objective()
            for (feature, target), gradient in zip(entering.tolist(), gradients.tolist(), strict=True):
                if self._is_active[feature, target]:
                    yield Graft(feature, target, gradient, self.alpha, objective)

    def _inactive_violations(self) -> np.ndarray:
        """``|g_jc| - alpha`` of the inactive weights."""
        return np.where(self._is_active, -np.inf, np.abs(self.gradient) - self.alpha)

    def _most_violating(self) -> np.ndarray:
        """Feature and target of the weights to enter next, one per row: the ``step`` largest violations."""
        violation = np.where(self._is_rejected, -np.inf, self._inactive_violations()).ravel()
        n_entering = min(self._n_entering(), violation.size)
        least = max(float(np.partition(violation, -n_entering)[-n_entering]), 0.0)
        entering = np.flatnonzero(violation >= least - TIE.float64 * (least + self.alpha))
        if entering.size:  # of tied weights only the first: once a column is active, its copies have nothing to add
            entering = entering[np.argsort(-violation[entering], kind="stable")]
            gradient = violation[entering] + self.alpha
            ties_start = np.flatnonzero(np.diff(gradient, prepend=np.inf) < -TIE.float64 * gradient)
            entering = np.minimum.reduceat(entering, ties_start)
        entering = entering[violation[entering] > self.tol]
        return np.column_stack(np.unravel_index(entering, self.gradient.shape))

    def _n_entering(self) -> int:
        if self.l0 > 0:
            return 1
        if self.step == "auto":
            return max(1, int(np.count_nonzero(self._is_active)) // _ACTIVE_PER_ENTERING)
        return int(self.step)

    def _enter(self, features: np.ndarray, target: int) -> bool:
        """Minimize over the active and the given weights; rejected unless one of these stays and lowers C."""
        model = self._models[target]
        tried = np.append(model.features, features)
        Z = np.column_stack([model.Z, self._columns(features)])
        weights = np.append(model.fit.weights, np.zeros(features.size))
        sign = np.append(np.sign(model.fit.weights), -np.sign(self.gradient[features, target]))
        curvature = model.fit.curvature
        curvature = None if curvature is None else curvature.append(Z, features.size)
        fit = self._minimize(Z, target, weights, model.fit.intercept, sign, curvature)
        one_stays = bool(np.any(fit.kept >= model.features.size))
        if not one_stays or (self.l0 > 0 and not self._is_lower(fit, model.fit)):
            return False
        self._set_model(target, _TargetModel(tried[fit.kept], Z[:, fit.kept], fit))
        return True

    def _leave_one(self) -> bool:
        """Take the first weight, from the smallest on, without which C is lower out of the active set."""
        for target, model in enumerate(self._models):
            for place in np.argsort(np.abs(model.fit.weights), kind="stable"):
                others = np.delete(np.arange(model.features.size), place)
                Z, features = model.Z[:, others], model.features[others]
                curvature = model.fit.curvature and model.fit.curvature.restrict_to(others)
                weights, intercept = model.fit.weights[others], model.fit.intercept
                fit = self._minimize(Z, target, weights, intercept, curvature=curvature)
                if self._is_lower(fit, model.fit):
                    self._set_model(target, _TargetModel(features[fit.kept], Z[:, fit.kept], fit))
                    return True
        return False

    def _is_lower(self, fit: OrthantFit, current: OrthantFit) -> bool:
        return self._target_objective(fit) < self._target_objective(current) - self._least_decrease

    def _columns(self, features: np.ndarray) -> np.ndarray:
        return self.columns.columns(features) * self.scale[features]

    def _minimize(
        self,
        Z: np.ndarray,
        target: int,
        weights: np.ndarray | None = None,
        intercept: float = 0.0,
        sign: np.ndarray | None = None,
        curvature: Curvature | None = None,
    ) -> OrthantFit:
        weights = np.empty(0) if weights is None else weights
        sign = np.sign(weights) if sign is None else sign
        y, tol = self.Y[:, target], 0.1 * self.tol  # below what counts as a violation
        return minimize_in_orthant(
            Z,
            y,
            self.loss,
            weights,
            intercept,
            sign,
            alpha=self.alpha,
            l2=self.l2,
            tol=tol,
            curvature=curvature,
        )

    def _set_model(self, target: int, model: _TargetModel) -> None:
        """Replace the model of a target, its active set and the gradient there: one product with the table."""
        self._models[target] = model
        self._is_active[:, target] = False
        self._is_active[model.features, target] = True
        self._is_rejected[:, target] = False
        self.gradient[:, target] = self.columns.dot(self._output_gradients(target))[:, 0] * self.scale

    def _output_gradients(self, target: int | None = None) -> np.ndarray:
        """Derivatives of the mean loss by the outputs, centered as the columns are: one column per target."""
        chosen = range(len(self._models)) if target is None else [target]
        outputs = np.column_stack([self._models[c].fit.outputs for c in chosen])
        gradients = self.loss.derivative(outputs, self.Y[:, list(chosen)]) / len(self.Y)
        return gradients - gradients.mean(axis=0)

    def _target_objective(self, fit: OrthantFit) -> float:
        return fit.objective + self.l0 * fit.kept.size
