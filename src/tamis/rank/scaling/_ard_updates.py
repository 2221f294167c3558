r"""Updates of the prior variances of weights that raise the evidence, each no worse than the last.

From a posterior with :math:`\gamma_i` and :math:`w_i`, the precisions :math:`\beta_i` are replaced by

- "mackay": :math:`\gamma_i / w_i^2`, the fixed point of Lal et al. (2006, Eq. 22);
- "mm": its geometric mean with :math:`\beta_i`: the maximum of a lower bound of a Gaussian's evidence (Wipf and
  Nagarajan 2008), which can therefore not fall;

The sign of each of them is that of the evidence's derivative :math:`\tfrac12 (\gamma_i - \beta_i w_i^2)` by
:math:`\log \beta_i`, so that short steps in :math:`\log \beta` raise the evidence: they are halved until it does not
fall. With Laplace's approximation :math:`w_i^2` lacks a part of the derivative; where such steps do not help,
:math:`w_i^2 + 2 w_i q_i` takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tamis.rank.scaling._evidence import CenteredTable, Posterior, gaussian_posterior, logistic_posterior

UPDATES = ("mackay", "mm")
VANISHED = 1e-5  # of the largest scaling factor: below, a factor is zero and stays there
START_PRECISION = 2.0  # of the noise, relative to the target's variance: half of it is noise
MAX_PRECISION = 1e8  # of the noise: a target that few columns explain exactly has an unbounded evidence
_MAX_CHANGE = 1e6  # of a variance in one update
_N_FIXED_POINT = 3  # step lengths of the fixed point that are tried before the exact derivative is taken
_N_HALVINGS = 30
_EVIDENCE_ROUNDING = 1e-11  # relative to 1 + |evidence|: what is lost to rounding and to columns that vanish


@dataclass(frozen=True)
class Likelihood:
    """Targets, and how their posterior is computed.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_targets)
    cost : ndarray of shape (n_samples,)
        Weights of the rows' log likelihoods.
    loss : {"logistic", "squared"}
    noise_precision : float or None
        Of the squared loss; None learns it.
    """

    Y: np.ndarray
    cost: np.ndarray
    loss: str
    noise_precision: float | None

    def posterior(
        self, X: CenteredTable, variances: np.ndarray, noise_precision: float, start: Posterior | None = None
    ) -> Posterior:
        """Of all targets, with the given variances of the weights."""
        if self.loss == "logistic":
            return logistic_posterior(X, variances, self.Y, self.cost, start)
        return gaussian_posterior(X, variances, self.Y, self.cost, noise_precision)

    def learns_noise(self, n_columns: int) -> bool:
        """Only with fewer columns than rows: with more, the evidence is largest where the target is interpolated."""
        return self.loss == "squared" and self.noise_precision is None and n_columns < self.cost.sum()

    def updated_noise(self, posterior: Posterior) -> float:
        """Its fixed point, ``(n - sum gamma) / squared error`` (MacKay 1992)."""
        left = self.cost.sum() * self.Y.shape[1] - posterior.gamma.sum()
        return float(left / max(posterior.squared_error, left / MAX_PRECISION))

    def noise_gradient(self, posterior: Posterior, noise_precision: float) -> float:
        """Derivative of the evidence by the logarithm of the noise's precision; zero where that is at its bound."""
        left = self.cost.sum() * self.Y.shape[1] - posterior.gamma.sum()
        slope = 0.5 * float(left - noise_precision * posterior.squared_error)
        return 0.0 if slope > 0.0 and noise_precision >= MAX_PRECISION * (1.0 - 1e-9) else slope


@dataclass(frozen=True)
class Hyperparameters:
    """Variances of the weights, and the precision of the noise, with the posterior that they have.

    Attributes
    ----------
    alive : ndarray of int
        Places of the columns that have a variance.
    variances : ndarray
    noise_precision : float
    posterior : Posterior
    """

    alive: np.ndarray
    variances: np.ndarray
    noise_precision: float
    posterior: Posterior


@dataclass(frozen=True)
class EvidenceRound:
    """One update.

    Attributes
    ----------
    alive, sigma, updated, strength : ndarray
        As of every :class:`~tamis.rank._scaling_base.ScalingRound`.
    evidence_before : float
    after : Hyperparameters
        Its posterior is without what every row has: all rounds are kept to the end.
    has_moved : bool
        False where no step raised the evidence.
    gradient : float
        Largest derivative of the evidence by the logarithm of a precision, after the update.
    """

    alive: np.ndarray
    sigma: np.ndarray
    updated: np.ndarray
    strength: np.ndarray
    evidence_before: float
    after: Hyperparameters
    has_moved: bool
    gradient: float


def evidence_rounds(
    X: CenteredTable,
    start: Hyperparameters,
    likelihood: Likelihood,
    owners: np.ndarray | None,
    update: str,
    tol: float,
) -> Iterator[EvidenceRound]:
    """Updates until every derivative of the evidence is below ``tol``, or none raises it any more.

    Parameters
    ----------
    X : CenteredTable
        The columns that have a variance at the start.
    start : Hyperparameters
    likelihood : Likelihood
    owners : ndarray or None
        The group of every place: columns of a group have one variance. None where each is one by itself.
    update : {"mackay", "mm"}
    tol : float
    """
    now, is_exact = start, likelihood.loss == "squared"
    while True:
        posterior, raised = now.posterior, None
        if not is_exact:
            raised = _raised(X, now, posterior.weights2, likelihood, owners, update, _N_FIXED_POINT)
        if raised is None:
            is_exact = True
            raised = _raised(X, now, posterior.moment, likelihood, owners, update, _N_HALVINGS)
        X, after, factor = (X, now, np.ones_like(now.variances)) if raised is None else raised
        sigma = np.sqrt(now.variances)
        updated = np.zeros_like(sigma)
        updated[np.isin(now.alive, after.alive, assume_unique=True)] = np.sqrt(after.variances)
        slope = gradient(after, after.posterior.moment, likelihood, owners)
        kept = replace(after, posterior=after.posterior.without_rows())
        strength, has_moved = sigma * np.sqrt(factor), raised is not None
        yield EvidenceRound(now.alive, sigma, updated, strength, posterior.evidence, kept, has_moved, slope)
        if not has_moved or slope <= tol:
            return
        now, raised = after, None
        is_exact = is_exact or gradient(now, now.posterior.weights2, likelihood, owners) <= tol


def started(X: CenteredTable, alive: np.ndarray, variance: float, likelihood: Likelihood) -> Hyperparameters:
    """One variance for all columns."""
    variances = np.full(alive.size, variance)
    precision = START_PRECISION if likelihood.noise_precision is None else likelihood.noise_precision
    return Hyperparameters(alive, variances, precision, likelihood.posterior(X, variances, precision))


def gradient(now: Hyperparameters, moment: np.ndarray, likelihood: Likelihood, owners: np.ndarray | None) -> float:
    """Largest derivative of the evidence by the logarithm of a precision, that of the noise included if it is learned.

    Variances cannot fall below zero; there, a derivative by their logarithm is zero.
    """
    gamma, moment = _of_groups(now, moment, owners)
    slope = float(np.abs(0.5 * (gamma - moment / now.variances)).max(initial=0.0))
    if likelihood.learns_noise(now.alive.size):
        slope = max(slope, abs(likelihood.noise_gradient(now.posterior, now.noise_precision)))
    return slope


def _raised(
    X: CenteredTable,
    now: Hyperparameters,
    moment: np.ndarray,
    likelihood: Likelihood,
    owners: np.ndarray | None,
    update: str,
    n_steps: int,
) -> tuple[CenteredTable, Hyperparameters, np.ndarray] | None:
    """The update, halved until the evidence does not fall, and its factors of the variances before any vanishes.

    With the columns that are left; None where no step length does it.
    """
    factor, noise_factor = _factors(now, moment, owners, update), 1.0
    if likelihood.learns_noise(now.alive.size):
        noise_factor = likelihood.updated_noise(now.posterior) / now.noise_precision
    for length in 0.5 ** np.arange(n_steps):
        moved = _moved(X, now, factor**length, noise_factor**length, likelihood)
        if moved is not None:
            return *moved, factor**length
    return None


def _moved(
    X: CenteredTable, now: Hyperparameters, factor: np.ndarray, noise_factor: float, likelihood: Likelihood
) -> tuple[CenteredTable, Hyperparameters] | None:
    """Variances times factors, those that are relatively tiny removed; None where the evidence falls."""
    least = now.posterior.evidence - _EVIDENCE_ROUNDING * (1.0 + abs(now.posterior.evidence))
    variances, precision = now.variances * factor, now.noise_precision * noise_factor
    stay = (variances > VANISHED**2 * variances.max()) | (factor > 1.0)
    for left in (np.flatnonzero(stay), np.arange(variances.size)):
        whole = left.size == variances.size
        part = X if whole else X.take(left)
        start = now.posterior if whole else replace(now.posterior, coef=now.posterior.coef[left])
        posterior = likelihood.posterior(part, variances[left], precision, start)
        if posterior.evidence >= least:
            return part, Hyperparameters(now.alive[left], variances[left], precision, posterior)
        if whole:
            break
    return None


def _factors(now: Hyperparameters, moment: np.ndarray, owners: np.ndarray | None, update: str) -> np.ndarray:
    """What an update multiplies the variances by."""
    gamma, moment = _of_groups(now, moment, owners)
    of_moment = moment / now.variances  # beta w^2
    factor = np.divide(of_moment, gamma, out=np.ones_like(gamma), where=gamma > 0.0)
    factor = np.clip(factor, 1.0 / _MAX_CHANGE, _MAX_CHANGE)
    return np.sqrt(factor) if update == "mm" else factor


def _of_groups(now: Hyperparameters, moment: np.ndarray, owners: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Sums of gamma and of squared weights over the columns that share a variance, for each of them."""
    if owners is None:
        return now.posterior.gamma, moment
    owner = owners[now.alive]
    return np.bincount(owner, weights=now.posterior.gamma)[owner], np.bincount(owner, weights=moment)[owner]
