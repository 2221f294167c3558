"""Rivals that say how many of their columns are false, and two that do not; each as its own page advises.

``knockpy``: minimum variance-based reconstructability, difference of lasso coefficients, knockoff+. ``hidimstat``: its
knockoffs (equicorrelated, Ledoit-Wolf) and its desparsified lasso with Benjamini-Hochberg. Stability selection and
least squares are written here.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LinearRegression, LogisticRegression, lars_path
from sklearn.preprocessing import StandardScaler

from bench.errors.designs import Draw

RATE = 0.1


def knockpy_given(draw: Draw, seed: int) -> np.ndarray:
    """Second moments of X are told."""
    return _knockpy(draw, seed, draw.covariance, np.zeros(draw.X.shape[1]))


def knockpy_estimated(draw: Draw, seed: int) -> np.ndarray:
    """Second moments of X by its default, Ledoit and Wolf."""
    return _knockpy(draw, seed, None, None)


def _knockpy(draw: Draw, seed: int, covariance: np.ndarray | None, mean: np.ndarray | None) -> np.ndarray:
    from knockpy.knockoff_filter import KnockoffFilter

    np.random.seed(seed)  # noqa: NPY002, knockpy draws from it
    rule = KnockoffFilter(ksampler="gaussian", fstat="lasso", knockoff_kwargs={"method": "mvr"})
    return rule.forward(X=draw.X, y=draw.y.astype(float), mu=mean, Sigma=covariance, fdr=RATE).astype(bool)


def hidimstat_knockoffs(draw: Draw, seed: int) -> np.ndarray:
    from hidimstat import ModelXKnockoff

    found = ModelXKnockoff(random_state=seed)
    found.fit_importance(draw.X, draw.y)
    return np.asarray(found.fdr_selection(fdr=RATE)) != 0


def desparsified_lasso(draw: Draw, seed: int) -> np.ndarray:
    from hidimstat import DesparsifiedLasso

    found = DesparsifiedLasso(random_state=seed)
    found.fit_importance(draw.X, draw.y)
    return np.asarray(found.fdr_selection(fdr=RATE)) != 0


def least_squares(draw: Draw, seed: int) -> np.ndarray:
    """Student's test of every coefficient, then Benjamini and Hochberg."""
    n, p = draw.X.shape
    Z = np.column_stack([draw.X, np.ones(n)])
    inverse = np.linalg.inv(Z.T @ Z)
    weights = inverse @ (Z.T @ draw.y)
    variance = np.sum((draw.y - Z @ weights) ** 2) / (n - p - 1)
    t = np.abs(weights) / np.sqrt(variance * np.diag(inverse))
    return stats.false_discovery_control(2 * stats.t.sf(t[:p], n - p - 1)) <= RATE


def stability_selection(draw: Draw, seed: int, n_false: float = 2.0) -> np.ndarray:
    """Meinshausen and Bühlmann (2010): columns among the first q of the lasso's path in 90 % of 100 half samples.

    By their theorem 1 the expected number of false columns is at most ``q^2 / ((2 threshold - 1) p)``; q makes it
    ``n_false``, a tenth of the 20 columns that there are to find in most designs.
    """
    threshold, n_halves, rng = 0.9, 100, np.random.default_rng(seed)
    n, p = draw.X.shape
    q = int(np.sqrt(n_false * (2 * threshold - 1) * p))
    times = np.zeros(p)
    for _ in range(n_halves):
        half = rng.permutation(n)[: n // 2]
        Z, y = StandardScaler().fit_transform(draw.X[half]), draw.y[half] - draw.y[half].mean()
        path = lars_path(Z, y, method="lasso", max_iter=q)[2]
        times += (path != 0).any(axis=1)
    return times >= threshold * n_halves


def rfecv(draw: Draw, seed: int) -> np.ndarray:
    """scikit-learn's, one column at a time, on five folds."""
    model = LinearRegression() if draw.task == "regression" else LogisticRegression()
    return RFECV(model, cv=5).fit(StandardScaler().fit_transform(draw.X), draw.y).support_


def boruta(draw: Draw, seed: int) -> np.ndarray:
    """Trees of depth 5, as its page says, 100 of them and 50 rounds for its time; "tentative" columns are not kept."""
    from boruta import BorutaPy

    kind = RandomForestRegressor if draw.task == "regression" else RandomForestClassifier
    found = BorutaPy(kind(max_depth=5, random_state=seed), n_estimators=100, max_iter=50, random_state=seed)
    return found.fit(draw.X, draw.y).support_
