"""Permutation probes with plain loops: per step for least squares, step-down and false discovery for any score."""

import numpy as np

from tests.oracles.gram_schmidt import centered, residual


def draw_seeds(seed, n_draws):
    """One seed per draw, as MonteCarloProbe derives them from its own."""
    return np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_draws)


def scores_of_copies(score, X, y, seeds):
    """Scores of every column and of its row-permuted copy, one row per draw, for a one-column-at-a-time score."""
    real, copies = [], []
    for seed in seeds:
        rows = np.random.RandomState(seed).permutation(len(X))
        real.append([score(X[:, j], y) for j in range(X.shape[1])])
        copies.append([score(X[rows, j], y) for j in range(X.shape[1])])
    return np.array(real), np.array(copies)


def step_down(scores, copies, risk):
    """Kept features: those that few draws' best copy reaches, the copies of kept features not counting."""
    n_draws, n_features = copies.shape
    kept = set()
    while True:
        joined = set()
        for j in range(n_features):
            if j in kept:
                continue
            reached = 0
            for b in range(n_draws):
                best = max((copies[b, k] for k in range(n_features) if k not in kept), default=-np.inf)
                reached += best >= scores[j]
            if (1 + reached) / (1 + n_draws) <= risk:
                joined.add(j)
        if not joined:
            return kept
        kept |= joined


def pooled_p_values(scores, copies):
    """Share of all copies of all draws that reach each feature."""
    return [(1 + sum(float(c) >= s for c in copies.ravel())) / (1 + copies.size) for s in scores]


def benjamini_hochberg(p_values, rate):
    """Rejected hypotheses, from the definition: the largest k with p_(k) <= k rate / m."""
    m = len(p_values)
    order = sorted(range(m), key=lambda j: p_values[j])
    largest = max((k for k in range(1, m + 1) if p_values[order[k - 1]] <= k * rate / m), default=0)
    return set(order[:largest])


def permuted_best(X, y, kept, candidates, n_draws, rng, fit_intercept=True):
    """Best squared cosine, over the candidates, with the permuted residual of y: one per draw.

    The kept features are projected out of the candidates, of y, and of the permuted residual again.
    """
    Z, target = centered(X, None, fit_intercept), centered(y[:, None], None, fit_intercept)
    A = np.hstack([np.ones((len(X), 1 if fit_intercept else 0)), X[:, kept]])
    left, rest = residual(A, target)[:, 0], residual(A, Z[:, candidates])
    best = []
    for _ in range(n_draws):
        drawn = residual(A, left[rng.permutation(len(left))][:, None])[:, 0]
        cosines = [(x @ drawn) ** 2 / ((x @ x) * (drawn @ drawn)) for x in rest.T]
        best.append(max(cosines))
    return np.array(best)
