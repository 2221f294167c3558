"""The choice among configurations and its bias-corrected estimate, row by row and sample by sample."""

import math

import numpy as np


def score_of(name, y, losses, rows):
    """Score of some rows, each as often as it is listed."""
    if name == "balanced_accuracy":
        per_class = [np.mean([losses[i] for i in rows if y[i] == code]) for code in sorted({y[i] for i in rows})]
        return 1 - float(np.mean(per_class))
    if name == "r2":
        values = np.array([y[i] for i in rows])
        return 1 - sum(losses[i] for i in rows) / float(((values - values.mean()) ** 2).sum())
    return 1 - float(np.mean([losses[i] for i in rows]))


def unit(name, y, rows):
    """What the loss of each listed row is multiplied with, so that their mean is one minus the score."""
    n = len(rows)
    if name == "balanced_accuracy":
        codes = [y[i] for i in rows]
        return [n / (len(set(codes)) * codes.count(code)) for code in codes]
    if name == "r2":
        values = np.array([y[i] for i in rows])
        return [n / float(((values - values.mean()) ** 2).sum())] * n
    return [1.0] * n


def choose(name, y, losses, rows, tolerance):
    """The first configuration that is not worse than the best by so many standard errors of the paired difference."""
    units = unit(name, y, rows)
    means = [1 - score_of(name, y, losses[:, j], rows) for j in range(losses.shape[1])]
    best = int(np.argmin(means))
    for j in range(losses.shape[1]):
        differences = [u * (losses[i, j] - losses[i, best]) for u, i in zip(units, rows, strict=True)]
        mean = sum(differences) / len(rows)
        variance = sum((d - mean) ** 2 for d in differences) / len(rows)
        if mean <= tolerance * math.sqrt(variance / len(rows)) + 1e-12:
            return j
    raise AssertionError("the best is not worse than itself")


def bias_corrected(name, y, losses, samples, tolerance):
    """Scores, on the rows left out, of what each sample chooses; samples list rows."""
    scores = []
    for rows in samples:
        chosen = choose(name, y, losses, rows, tolerance)
        left_out = sorted(set(range(len(y))) - set(rows))
        scores.append(score_of(name, y, losses[:, chosen], left_out))
    return scores


def error_of_difference_of_areas(y, decisions):
    """Standard error of the difference of two areas under the ROC curve, pair by pair (DeLong et al. 1988)."""
    first, second = [i for i in range(len(y)) if y[i] == 0], [i for i in range(len(y)) if y[i] == 1]

    def placed(i, j, k):
        return 1.0 if decisions[i, k] < decisions[j, k] else 0.5 if decisions[i, k] == decisions[j, k] else 0.0

    of_first = [np.mean([placed(i, j, 0) - placed(i, j, 1) for j in second]) for i in first]
    of_second = [np.mean([placed(i, j, 0) - placed(i, j, 1) for i in first]) for j in second]
    return math.sqrt(np.var(of_first) / len(first) + np.var(of_second) / len(second))
