r"""Indicator variables and sparse weights have the same minimum (Lal et al. 2006, eq. 23), by enumeration.

.. math:: \min_{w,\ \sigma \in \{0, 1\}^D,\ l_0(\sigma) = s} T(w, \sigma) = \min_{l_0(w) = s} T(w, 1), \qquad
          T(w, \sigma) = \sum_k L(f(w * \sigma, x_k), y_k) + \Omega(w)
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

D = 5


def make(seed=0, n=14):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, D)
    return X, np.where(X[:, 1] - X[:, 3] + rng.randn(n) > 0, 1.0, -1.0)


def squared_with_indicators(X, y, sigma):
    """``min_w |y - X (w * sigma)|^2 + |w|^2``, over all of w."""
    Z = X * sigma
    w = np.linalg.solve(Z.T @ Z + np.eye(D), Z.T @ y)
    return np.sum((y - Z @ w) ** 2) + w @ w, w


def squared_over_support(X, y, support):
    """The same with w zero outside of the support, over its entries there only."""
    Z = X[:, support]
    w = np.linalg.lstsq(np.vstack([Z, np.eye(len(support))]), np.append(y, np.zeros(len(support))), rcond=None)[0]
    return np.sum((y - Z @ w) ** 2) + w @ w, w


def hinge(X, y):
    """``min_w sum_k max(0, 1 - y_k w'x_k) + |w|^2 / 2`` by its dual, a quadratic program in a box."""
    Q = (X * y[:, None]) @ (X * y[:, None]).T
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.full(len(y), 0.5),
        jac=True,
        bounds=[(0.0, 1.0)] * len(y),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
    )
    w = (found.x * y) @ X
    return -found.fun, np.sum(np.maximum(0.0, 1.0 - y * (X @ w))) + 0.5 * w @ w, w


@pytest.mark.parametrize("size", range(1, D + 1))
@pytest.mark.parametrize("seed", range(3))
def test_squared_loss_with_a_ridge(seed, size):
    X, y = make(seed)
    supports = [list(support) for support in combinations(range(D), size)]
    left = [squared_with_indicators(X, y, np.isin(np.arange(D), support)) for support in supports]
    right = [squared_over_support(X, y, support) for support in supports]
    assert min(value for value, _ in left) == pytest.approx(min(value for value, _ in right), rel=1e-10)
    best = int(np.argmin([value for value, _ in left]))
    outside = np.setdiff1d(np.arange(D), supports[best])
    np.testing.assert_allclose(left[best][1][outside], 0.0, atol=1e-12)  # where sigma is zero the ridge alone decides


@pytest.mark.parametrize("size", range(1, D + 1))
def test_hinge_with_a_squared_norm(size):
    X, y = make()
    left, right = [], []
    for support in combinations(range(D), size):
        lower, upper, w = hinge(X * np.isin(np.arange(D), support), y)
        assert upper == pytest.approx(lower, rel=1e-5)
        left.append(upper)
        assert np.count_nonzero(np.abs(w) > 1e-12) <= size
        right.append(hinge(X[:, support], y)[1])
    assert min(left) == pytest.approx(min(right), rel=1e-5)


@pytest.mark.parametrize("size", range(1, D + 1))
def test_hinge_with_an_absolute_norm(size):
    X, y = make()

    def minimum(Z):
        n, d = Z.shape
        A = -np.hstack([y[:, None] * Z, -y[:, None] * Z, np.eye(n)])
        return linprog(np.ones(2 * d + n), A, -np.ones(n), method="highs").fun

    supports = list(combinations(range(D), size))
    left = min(minimum(X * np.isin(np.arange(D), support)) for support in supports)
    right = min(minimum(X[:, support]) for support in supports)
    assert left == pytest.approx(right, rel=1e-9)
