"""Generators of the papers' academic problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def make_linear(
    n_samples: int = 15,
    *,
    n_features: int = 10,
    coef: Sequence[float] | None = None,
    noise: float = 0.02**0.5,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Linear process of Stoppiglia et al. (2003), Sec. 3.1: :math:`y = X\theta + \omega`, Eq. (5).

    Parameters
    ----------
    n_samples : int, default=15
    n_features : int, default=10
    coef : sequence of float, default=None
        Coefficients of the first features; the others have none. None draws five from a standard normal law.
    noise : float, default=sqrt(0.02)
        Standard deviation of :math:`\omega`.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> X.shape
    (15, 10)
    """
    rng = check_random_state(random_state)
    theta = np.zeros(n_features)
    values = rng.standard_normal(min(5, n_features)) if coef is None else np.asarray(coef, dtype=float)
    if values.size > n_features:
        raise ValueError(f"coef has {values.size} entries, but there are {n_features} features")
    theta[: values.size] = values
    X = rng.standard_normal((n_samples, n_features))
    return X, X @ theta + noise * rng.standard_normal(n_samples)


def make_separable(
    n_samples: int = 800,
    *,
    n_distractors: int = 238,
    flip: float = 0.10,
    dependent: float = 0.2,
    repeated: float = 0.1,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Two true features and many others: the classification problem of Stoppiglia et al. (2003), Sec. 6.1.1.

    The label is the side of a line of random direction in the plane of the first two features, flipped at random for a
    share of the rows. The paper does not say how the other features depend on one another; here a share of them are
    random combinations of two independent ones, and a share repeat one.

    Parameters
    ----------
    n_samples : int, default=800
    n_distractors : int, default=238
    flip : float, default=0.10
        Share of labels that are flipped.
    dependent, repeated : float, default=0.2 and 0.1
        Shares of the distractors that combine, or repeat, other distractors.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2 + n_distractors)
        The true features come first.
    y : ndarray of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> from tamis.datasets import make_separable
    >>> X, y = make_separable(random_state=0)
    >>> X.shape
    (800, 240)
    """
    rng = check_random_state(random_state)
    angle = rng.uniform(0, 2 * np.pi)
    true = rng.standard_normal((n_samples, 2))
    y = (true @ [np.cos(angle), np.sin(angle)] > 0).astype(int)
    y = np.where(rng.uniform(size=n_samples) < flip, 1 - y, y)
    n_dependent, n_repeated = int(dependent * n_distractors), int(repeated * n_distractors)
    free = rng.standard_normal((n_samples, n_distractors - n_dependent - n_repeated))
    weights = rng.standard_normal((2, n_dependent))
    pairs = rng.randint(free.shape[1], size=(2, n_dependent))
    combined = free[:, pairs[0]] * weights[0] + free[:, pairs[1]] * weights[1]
    copies = free[:, rng.randint(free.shape[1], size=n_repeated)]
    return np.hstack([true, free, combined, copies]), y


def make_xor(
    n_samples: int = 100, *, n_distractors: int = 50, spread: float = 0.5, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Two classes in XOR positions among uniform noise: Stoppiglia et al. (2003), Sec. 6.1.2.

    Parameters
    ----------
    n_samples : int, default=100
        Half of them in each class.
    n_distractors : int, default=50
        Uniform on [-2, 2].
    spread : float, default=0.5
        Standard deviation around the centres (+-1, +-1), which the paper leaves open.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2 + n_distractors)
        The two relevant variables come first; neither tells anything alone.
    y : ndarray of shape (n_samples,)
        0 or 1, where the product of the two centres is negative or positive.

    Examples
    --------
    >>> from tamis.datasets import make_xor
    >>> X, y = make_xor(random_state=0)
    >>> X.shape
    (100, 52)
    """
    rng = check_random_state(random_state)
    y = np.arange(n_samples) % 2
    side = rng.choice([-1.0, 1.0], size=n_samples)
    centers = np.column_stack([side, np.where(y == 1, side, -side)])
    relevant = centers + spread * rng.standard_normal((n_samples, 2))
    return np.hstack([relevant, rng.uniform(-2, 2, size=(n_samples, n_distractors))]), y


def make_sigmoid_network(
    n_samples: int = 2000,
    *,
    potential_std: float = 3.0,
    noise: float = 0.1,
    n_inputs: int = 10,
    n_irrelevant: int = 10,
    n_hidden: int = 5,
    weight_std: float = 0.1**0.5,
    output_std: float = 1.0,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""A network of sigmoid units as the process to find: Stoppiglia et al. (2003), Sec. 6.1.3.

    .. math:: y = c + \sum_{h} a_h \tanh(w_h^\top x + b_h) + \omega

    Parameters
    ----------
    n_samples : int, default=2000
        The paper takes 2000 to train and 2000 to test: draw 4000 and split.
    potential_std : float, default=3.0
        Standard deviation of :math:`w_h^\top x`, in the mean square over the units; it sets that of the inputs. The
        larger, the closer the units are to steps.
    noise : float, default=0.1
        Standard deviation of :math:`\omega`.
    n_inputs, n_irrelevant : int, default=10
        Inputs of the network, and others of the same law.
    n_hidden : int, default=5
    weight_std : float, default=sqrt(0.1)
        Standard deviation of :math:`w_h` and :math:`b_h`. The scale of :math:`w_h` cancels with that of the inputs.
    output_std : float, default=1.0
        Standard deviation of :math:`a_h` and :math:`c`: how loud a unit is beside the noise.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_inputs + n_irrelevant)
        The inputs of the network come first.
    y : ndarray of shape (n_samples,)

    Notes
    -----
    The paper draws all weights from "a gaussian distribution (0, 0.1)". Taken for the output weights too, its table 1
    does not come out: noise of 1 leaves one to three of the five units to be found if 0.1 is the variance, none or one
    if it is the standard deviation. Output weights of unit variance give the table: five at noise 0.1, four or fewer
    at 1.

    Examples
    --------
    >>> from tamis.datasets import make_sigmoid_network
    >>> X, y = make_sigmoid_network(random_state=0)
    >>> X.shape
    (2000, 20)
    """
    rng = check_random_state(random_state)
    weights = weight_std * rng.standard_normal((n_hidden, n_inputs))
    bias = weight_std * rng.standard_normal(n_hidden)
    output = output_std * rng.standard_normal(n_hidden + 1)
    input_std = potential_std / np.sqrt(np.mean(np.sum(weights**2, axis=1)))
    X = input_std * rng.standard_normal((n_samples, n_inputs + n_irrelevant))
    regression = output[0] + np.tanh(X[:, :n_inputs] @ weights.T + bias) @ output[1:]
    return X, regression + noise * rng.standard_normal(n_samples)


def make_ternary(
    n_samples: int = 500, *, n_features: int = 100, purity: float = 0.9, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Three classes that set some of many ternary features: Gadat & Younes (2007), Sec. 5.1.1.

    .. math:: \mu_i = \frac{q}{3} \sum_{j=1}^3 \mu(F_i^j) + (1 - q) \mu(\emptyset)

    Under :math:`\mu(G)` the features of G are 1 and all others uniform on -1, 0 and 1.

    Parameters
    ----------
    n_samples : int, default=500
        Classes are drawn evenly.
    n_features : int, default=100
        At least nine: the first nine matter, of which 1, 4 and 8, counted from one, to two classes.
    purity : float, default=0.9
        Share q of rows that show one of the patterns of their class.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        0, 1 or 2.

    Examples
    --------
    >>> from tamis.datasets import make_ternary
    >>> X, y = make_ternary(random_state=0)
    >>> X.shape
    (500, 100)
    """
    if n_features < 9:
        raise ValueError(f"n_features={n_features}: the patterns of the classes need nine")
    rng = check_random_state(random_state)
    y = rng.randint(3, size=n_samples)
    X = rng.randint(-1, 2, size=(n_samples, n_features)).astype(float)
    pattern = rng.randint(3, size=n_samples)
    pure = rng.random_sample(n_samples) < purity
    for (label, which), features in _PATTERNS.items():
        rows = np.flatnonzero(pure & (y == label) & (pattern == which))
        X[np.ix_(rows, np.array(features) - 1)] = 1.0
    return X, y


_PATTERNS = {
    (0, 0): (1, 3, 5, 7),
    (0, 1): (1, 5),
    (0, 2): (3, 7),
    (1, 0): (2, 4, 6, 8),
    (1, 1): (2, 4),
    (1, 2): (6, 8),
    (2, 0): (1, 4, 8, 9),
    (2, 1): (1, 8),
    (2, 2): (4, 9),
}  # F_i^j of Gadat & Younes (2007), features counted from one
