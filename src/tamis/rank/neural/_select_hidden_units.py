"""How many hidden units a network needs, by the random probe."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from tamis._sklearn import Interval, StrOptions, validate_params
from tamis.base._validation import check_table
from tamis.kernels.arrays.scaling import standardize_with_units
from tamis.kernels.probe.law import best_of
from tamis.rank.neural._sigmoid_network import SigmoidNetwork, Trained, Trainer, draw_useful_unit
from tamis.rank.neural._unit_probe import chance_on_held_out_rows, chance_on_training_rows, rank_units

Judge = Callable[[SigmoidNetwork, SigmoidNetwork], float]  # the larger network and the smaller one

_CONSTRAINTS = {
    "n_hidden": [Interval(Integral, 1, None, closed="left")],
    "direction": [StrOptions({"destructive", "constructive"})],
    "risk": [Interval(Real, 0, 1, closed="neither")],
    "correction": [StrOptions({"held-out", "best-of-remaining", "none"})],
    "n_starts": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class HiddenUnitsRound:
    """One network on the way to the final number of hidden units.

    Attributes
    ----------
    n_hidden : int
    chance : float
        That a random vector does better than the least relevant of these units: what is held against the risk.
    error : float
        Root mean square error on the rows that trained it.
    """

    n_hidden: int
    chance: float
    error: float


@dataclass(frozen=True)
class HiddenUnits:
    """What :func:`select_hidden_units` found.

    Attributes
    ----------
    n_hidden : int
        Hidden units that matter; none if the target could as well be constant.
    network : SigmoidNetwork
        The network with that many, trained on all rows: ``hidden_weights``, ``hidden_bias``, ``output_weights``,
        ``output_bias``.
    error : float
        Its root mean square error on them.
    path : tuple of HiddenUnitsRound
        The networks that were judged, in turn.
    reason : str
        Why it ended there, in words.
    converged : bool
        Whether the training of the network did.
    """

    n_hidden: int
    network: SigmoidNetwork
    error: float
    path: tuple[HiddenUnitsRound, ...]
    reason: str
    converged: bool

    def predict(self, X: Any) -> np.ndarray:
        """Output of the network, of shape (n_samples,), for a table of shape (n_samples, n_features)."""
        table = check_array(X, dtype=np.float64)
        n_features = self.network.hidden_weights.shape[1]
        if table.shape[1] != n_features:
            raise ValueError(f"X has {table.shape[1]} columns, but the network has {n_features} inputs")
        return self.network.predict(table)


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def select_hidden_units(
    X: Any,
    y: Any,
    *,
    n_hidden: int = 10,
    direction: str = "destructive",
    risk: float = 0.05,
    correction: str = "held-out",
    n_starts: int = 5,
    max_iter: int = 500,
    tol: float = 1e-4,
    random_state: Any = None,
) -> HiddenUnits:
    r"""Number of hidden units that a network needs: those that explain more than a random vector would.

    The network

    .. math:: f_H(x) = c + \sum_{h=1}^{H} a_h \tanh(w_h^\top x + b_h)

    is linear in the outputs of its hidden units, so the probe that tells whether one more feature matters also tells
    whether one more unit does (Stoppiglia et al. 2003, Sec. 5). Two networks, of :math:`H - 1` and :math:`H` units, are
    trained on one half of the rows. On the other half, with :math:`P` the projector off the derivatives of
    :math:`f_{H-1}` by its weights, of rank :math:`p`, the larger one matters if

    .. math:: \cos^2\varphi = \cos^2\big(P (f_H - f_{H-1}),\; P (y - f_{H-1})\big), \qquad
              P_{n - p}(\cos^2\varphi) \le \text{risk},

    where :math:`P_v` is the chance that a random vector in :math:`v` dimensions has the smaller angle (Eq. 3).

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        The inputs, selected before (by :class:`tamis.GramSchmidt`, say). Standardized inside.
    y : array-like of shape (n_samples,)
        Continuous target.
    n_hidden : int, default=10
        Units to start from, or at most to reach.
    direction : {"destructive", "constructive"}, default="destructive"
        Discard the least relevant unit and train again, until the probe says that it matters; or add units to an empty
        network until one does not. Constructive is several times faster; where noise is loud it ends with fewer units.
    risk : float, default=0.05
        Risk of keeping a unit that matters no more than a random vector.
    correction : {"held-out", "best-of-remaining", "none"}, default="held-out"
        "none" is the paper's rule: the outputs of the units are ranked by Gram-Schmidt on the rows that trained
        them, and the last is kept while :math:`G_n \le \text{risk}` (Eq. 4). A unit that was trained on noise beats
        a random vector there, so that it keeps nearly all. "best-of-remaining", the calibrated rule of
        :class:`tamis.stop.Probe`, knows that the best of several units is chosen but not that they were trained.
    n_starts : int, default=5
        Trainings of each network, of which the best counts; one starts from the network before.
    max_iter : int, default=500
        Most steps of a training.
    tol : float, default=1e-4
        A training ends when five steps in a row lower the squared error by a smaller share.
    random_state : int, RandomState or None, default=None
        Draws the halves and the starts.

    Returns
    -------
    HiddenUnits
        With ``n_hidden``, ``network``, ``error``, ``path``, ``reason``, ``converged`` and ``predict(X)``.

    Warns
    -----
    ConvergenceWarning
        If the final training took all ``max_iter`` steps.

    Notes
    -----
    Cost: a step of a training is O(n_samples (n_hidden n_features)^2), by Levenberg-Marquardt with the output layer in
    closed form.

    Deviations from the paper: units are judged on rows that they have not seen, where they are as fixed as any feature
    and the law of the probe is exact, up to the curvature of the smaller network; in the destructive direction, up to
    H rounds may follow at H units, so the chance is that of the best of H probes; one unit is discarded at a time;
    training is by Levenberg-Marquardt and not by BFGS. Half of the rows decide, all of them train the final network.

    The law is least exact where many units are superfluous and the noise is loud: the destructive way then stops too
    early more often than the risk says. A unit that matters is rarely in doubt, so a risk of 0.01 costs little there.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, "Ranking a random feature for variable and feature selection", JMLR 3, 2003,
    Secs. 5 and 6.1.3. Golub and Pereyra, "Separable nonlinear least squares: the variable projection method and its
    applications", Inverse Problems 19, 2003.

    Examples
    --------
    >>> from tamis.datasets import make_sigmoid_network
    >>> from tamis.rank.neural import select_hidden_units
    >>> X, y = make_sigmoid_network(600, n_inputs=3, n_irrelevant=0, n_hidden=2, noise=0.1, random_state=0)
    >>> found = select_hidden_units(X, y, n_hidden=4, random_state=0)
    >>> found.n_hidden
    2
    >>> [round.n_hidden for round in found.path]
    [4, 3, 2]
    """
    table, target = _read(X, y)
    Z, mean, scale, _ = standardize_with_units(table)
    Z = np.ascontiguousarray(Z)
    (t,), (y_mean,), (y_scale,) = (part.T for part in standardize_with_units(target[:, None])[:3])
    rng = check_random_state(random_state)

    held_out = np.zeros(len(t), dtype=bool)
    if correction == "held-out":
        held_out[rng.permutation(len(t))[len(t) // 2 :]] = True

    def judge(larger: SigmoidNetwork, smaller: SigmoidNetwork) -> float:
        if correction != "held-out":
            return chance_on_training_rows(larger, Z, t, correction)
        chance = chance_on_held_out_rows(larger, smaller, Z[held_out], t[held_out])
        # from above, a false alarm in any round still to come would end the search too early
        return best_of(chance, larger.n_hidden) if direction == "destructive" else chance

    search = _discard_units if direction == "destructive" else _add_units
    chosen, path = search(Trainer(Z[~held_out], t[~held_out], n_starts, max_iter, tol, rng), judge, n_hidden, risk)
    if held_out.any():
        chosen = Trainer(Z, t, n_starts, max_iter, tol, rng).from_units(chosen.network.units)
    if not chosen.converged:
        message = f"training ended after max_iter={max_iter} steps before it converged; raise max_iter or tol"
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return HiddenUnits(
        n_hidden=chosen.network.n_hidden,
        network=_in_units(chosen.network, mean, scale, float(y_mean), float(y_scale)),
        error=chosen.error * float(y_scale),
        path=tuple(replace(tried, error=tried.error * float(y_scale)) for tried in path),
        reason=_reason(chosen.network.n_hidden, path, risk),
        converged=chosen.converged,
    )


class _Reader(BaseEstimator):
    """Stands in for the estimator that scikit-learn's validation wants to speak of."""


_Reader.__name__ = "select_hidden_units"  # what its messages say


def _read(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Validated table and target, in double precision."""
    if y is None:
        raise ValueError("y is None: select_hidden_units needs a target")
    table, target = check_table(_Reader(), X, y, accept_sparse=False)
    try:
        return np.ascontiguousarray(table, dtype=float), np.asarray(target, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError("y holds labels: the network is for a continuous target; give numbers") from error


def _in_units(
    network: SigmoidNetwork, mean: np.ndarray, scale: np.ndarray, y_mean: float, y_scale: float
) -> SigmoidNetwork:
    """The network for raw data."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = network.rescaled(mean, scale, y_mean, y_scale)
    if not all(np.isfinite(part).all() for part in vars(found).values()):
        raise ValueError("the weights are beyond the range of numbers in the units of X and y: give these in others")
    return found


def _add_units(trainer: Trainer, judge: Judge, n_hidden: int, risk: float) -> tuple[Trained, list[HiddenUnitsRound]]:
    """Constructive: from the constant network upwards, until another unit does not matter."""
    smaller, path = trainer.from_random_units(0), []
    while smaller.network.n_hidden < n_hidden:
        another = draw_useful_unit(smaller.network, trainer.X, trainer.y, trainer.rng)
        larger = trainer.from_units(np.vstack([smaller.network.units, another]))
        chance = judge(larger.network, smaller.network)
        path.append(HiddenUnitsRound(larger.network.n_hidden, chance, larger.error))
        if chance > risk:
            break
        smaller = larger
    return smaller, path


def _discard_units(
    trainer: Trainer, judge: Judge, n_hidden: int, risk: float
) -> tuple[Trained, list[HiddenUnitsRound]]:
    """Destructive: from all units downwards, until the least relevant one matters."""
    larger, path = trainer.from_random_units(n_hidden), []
    while n_units := larger.network.n_hidden:
        order = [step.feature for step in rank_units(larger.network, trainer.X, trainer.y)]
        redundant = np.setdiff1d(np.arange(n_units), order)
        smaller = trainer.from_units(larger.network.units[[*order, *redundant][:-1]])
        chance = judge(larger.network, smaller.network)
        path.append(HiddenUnitsRound(n_units, chance, larger.error))
        if chance <= risk:
            break
        larger = smaller
    return larger, path


def _reason(n_hidden: int, path: list[HiddenUnitsRound], risk: float) -> str:
    if path[-1].chance > risk:
        refused = path[-1].n_hidden
        return f"of {refused} units one would beat a random vector with probability {1 - path[-1].chance:.3g} only"
    return f"each of the {n_hidden} units matters at a risk of {risk:g}"
