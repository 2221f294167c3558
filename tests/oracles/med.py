"""Maximum entropy discrimination, by quadrature and a general solver for constrained problems."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import LinearConstraint, minimize


def class_potential(lam, c):
    """Minus the logarithm of the partition function of a margin below one, whose prior falls exponentially."""
    total, _ = quad(lambda gap: c * np.exp(-lam * (1.0 - gap) - c * gap), 0, np.inf, epsabs=1e-13)
    return -np.log(total)


def tube_potential(lam, c, epsilon):
    """The same of an error above zero, whose prior is flat up to epsilon and then falls exponentially."""
    inside, _ = quad(lambda g: np.exp(lam * g), 0, epsilon, epsabs=1e-13)
    outside, _ = quad(lambda g: np.exp(lam * (g + epsilon) - c * g), 0, np.inf, epsabs=1e-13)
    return -np.log((inside + outside) / (epsilon + 1.0 / c))


def potential(a, c, epsilon):
    """In closed form; of classes where ``epsilon`` is None."""
    if epsilon is None:
        return a + np.log(1.0 - a / c)
    return np.log(epsilon + 1.0 / c) - epsilon * a - np.log(1.0 / (c - a) - np.expm1(-epsilon * a) / a)


def dual_value(lam, machines, groups, p0, kappa, c, epsilon=None):
    """The dual objective, as printed: machines are (rows, signs, target, weights of rows), one after another."""
    total, squares, start = 0.0, np.zeros(len(groups)), 0
    for rows, sign, target, weight in machines:
        own = lam[start : start + len(sign)]
        start += len(sign)
        total += np.sum(weight * potential(own / weight, c, epsilon)) + np.sum(sign * target * own)
        squares += (rows.T @ (own * sign)) ** 2
    for group in np.unique(groups):
        total -= np.logaddexp(np.log(1.0 - p0), np.log(p0) + kappa * squares[groups == group].sum())
    return total


def dual_gradient(lam, machines, groups, p0, kappa, c, epsilon=None):
    """Its derivatives, those of the potential by a complex step."""
    starts = np.cumsum([0, *(len(sign) for _, sign, *_ in machines)])
    parts = [lam[starts[m] : starts[m + 1]] for m in range(len(machines))]
    W = [rows.T @ (own * sign) for (rows, sign, *_), own in zip(machines, parts, strict=True)]
    squares = np.sum(np.square(W), axis=0)
    sums = np.array([squares[groups == group].sum() for group in groups])
    active = 1.0 / (1.0 + (1.0 - p0) / p0 * np.exp(-kappa * sums))
    slopes = []
    for (rows, sign, target, weight), own, w in zip(machines, parts, W, strict=True):
        a = own / weight
        slope = potential(a + 1e-30j, c, epsilon).imag / 1e-30
        slopes.append(slope + sign * target - sign * (rows @ (2.0 * kappa * w * active)))
    return np.concatenate(slopes)


def maximize(machines, groups, p0, kappa, c, epsilon=None):
    """Multipliers and the largest value, by sequential quadratic programming."""
    weights = np.concatenate([weight for *_, weight in machines])
    constraints, start = np.zeros((len(machines), weights.size)), 0
    first = []
    for m, (_, sign, _, weight) in enumerate(machines):
        constraints[m, start : start + len(sign)] = sign
        start += len(sign)
        sums = {s: weight[sign == s].sum() for s in (-1.0, 1.0)}
        first.append(0.05 * weight * min(sums.values()) / np.array([sums[s] for s in sign]))
    found = minimize(
        lambda lam: -dual_value(lam, machines, groups, p0, kappa, c, epsilon),
        np.concatenate(first),
        jac=lambda lam: -dual_gradient(lam, machines, groups, p0, kappa, c, epsilon),
        method="SLSQP",
        bounds=[(1e-7, (1.0 - 1e-9) * c * w) for w in weights],
        constraints=LinearConstraint(constraints, 0.0, 0.0),
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    return found.x, -found.fun


def smooth_hinge(margin, c):
    """``sup_a a + log(1 - a / c) - a * margin``: what an error costs in the primal problem."""
    s = c * (1.0 - margin)
    return np.where(s > 1.0, s - 1.0 - np.log(np.maximum(s, 1.0)), 0.0)


def machine_with_all_switches_on(Z, sign, kappa, c):
    """Weights and bias of ``|u|^2 / (4 kappa) + sum_t smooth_hinge``, the primal problem of ``p0 = 1``."""

    def objective(parameters):
        u, b = parameters[:-1], parameters[-1]
        margin = sign * (Z @ u + b)
        s = c * (1.0 - margin)
        slope = np.where(s > 1.0, -c * (1.0 - 1.0 / np.maximum(s, 1.0)), 0.0) * sign
        value = u @ u / (4.0 * kappa) + smooth_hinge(margin, c).sum()
        return value, np.append(u / (2.0 * kappa) + Z.T @ slope, slope.sum())

    options = {"maxiter": 20000, "maxfun": 50000, "ftol": 1e-16, "gtol": 1e-11}
    found = minimize(objective, np.zeros(Z.shape[1] + 1), jac=True, method="L-BFGS-B", options=options)
    return found.x[:-1], found.x[-1], found.fun
