"""FIT: how well the kept features recover all features."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from tamis.assess._support import as_support, check_names
from tamis.assess._tables import kept_columns, read_table, read_test_table
from tamis.kernels.arrays.columns import to_numpy
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents, rescale_columns
from tamis.kernels.neighbors.approximate import SEARCHES
from tamis.kernels.neighbors.fit_criterion import fit_from_gram, own_neighbors, r2_from_neighbors, standardized_gram

MODES = ("loo", "thesis")


def _neighbors(
    X: Any, kept: np.ndarray, X_test: Any, n_neighbors: int, mode: str, standardize: bool, neighbors: str
) -> Any:
    """Rows of ``X`` that predict each judged row, found on the kept features alone."""
    if mode not in MODES:
        raise ValueError(f"mode={mode!r} is unknown; choose 'loo' or 'thesis'")
    if not (isinstance(n_neighbors, Integral) and n_neighbors >= 1):
        raise ValueError(f"n_neighbors={n_neighbors!r} must be a whole number, at least 1")
    if neighbors not in SEARCHES:
        raise ValueError(f"neighbors={neighbors!r} is unknown; choose one of {', '.join(map(repr, SEARCHES))}")
    known, asking = kept_columns(X, kept, X_test, standardize=standardize)
    most = X.shape[0] - (mode == "loo" and X_test is None)
    if n_neighbors > most:
        raise ValueError(f"n_neighbors={n_neighbors} is more than the {most} rows to choose from; ask for fewer")
    if asking is not None:
        return SEARCHES[neighbors](known, n_neighbors, query=asking)[0]
    return own_neighbors(known, n_neighbors, itself=mode == "thesis", search=SEARCHES[neighbors])


def _r2(
    X: Any, support: Any, n_neighbors: int, mode: str, standardize: bool, X_test: Any, neighbors: str
) -> np.ndarray:
    """R² of every feature, NaN where it is constant."""
    table, names = read_table(X)
    check_names(support, names)
    kept = as_support(support, table.shape[1])
    held_out = None if X_test is None else read_test_table(X_test, table, names)
    if standardize:  # then units do not matter, not even those whose squares are too large for a number
        exponents = overflow_exponents(table)
        table = ldexp_columns(table, exponents)
        held_out = None if held_out is None else ldexp_columns(held_out, exponents)
    near = _neighbors(table, kept, held_out, n_neighbors, mode, standardize, neighbors)
    return to_numpy(r2_from_neighbors(table, near, observed=held_out))


def feature_r2(
    X: Any,
    support: Any,
    *,
    n_neighbors: int = 5,
    mode: str = "loo",
    standardize: bool = True,
    X_test: Any = None,
    neighbors: str = "exact",
) -> np.ndarray:
    r"""R² of every feature, predicted by nearest neighbors that the kept features define.

    .. math:: R^2_j = 1 - \frac{\sum_i (x_{ij} - \hat x_{ij})^2}{\sum_i (x_{ij} - \bar x_j)^2},
              \qquad \hat x_{ij} = \frac{1}{p} \sum_{k \in N(i)} x_{kj}

    Doquet (2019), Eq. 5.10 and Algorithm 8: which features a selection leaves behind.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Dense, sparse, a data frame, or an Array-API array, which is judged on its device.
    support : mask, indices or fitted ranker
        The kept features; None stands for all.
    n_neighbors : int, default=5
        p.
    mode : {"loo", "thesis"}, default="loo"
        "loo" leaves a sample out of its own neighbors. "thesis" counts it among them, as the published tables do, which
        flatters every selection: with p = 1 any would be perfect.
    standardize : bool, default=True
        Search neighbors with kept columns of unit variance, so that units do not matter.
    X_test : table of shape (n_test, n_features), default=None
        Held-out rows to judge instead, from their neighbors in ``X``.
    neighbors : {"exact", "approximate"}, default="exact"
        How neighbors are searched: "approximate", for a hundred thousand dense rows or more, misses a few in a
        hundred and needs the extra ``scale``.

    Returns
    -------
    ndarray of shape (n_features,)
        At most 1; negative where predicting the mean does better; 1 for constant features, which anything recovers
        (0 where ``X_test`` has another constant than ``X``).

    Notes
    -----
    One neighbor search serves all features, then p additions per entry of ``X``, in blocks: memory stays bounded
    whatever the shape.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.assess import feature_r2
    >>> t = np.linspace(0, 1, 50)
    >>> X = np.column_stack([t, np.sin(3 * t), np.tile([0, 1], 25)])
    >>> feature_r2(X, [0], n_neighbors=2).round()
    array([ 1.,  1., -3.])
    """
    r2 = _r2(X, support, n_neighbors, mode, standardize, X_test, neighbors)
    return np.where(np.isnan(r2), 1.0, r2)


def fit_score(
    X: Any,
    support: Any,
    *,
    n_neighbors: int = 5,
    mode: str = "loo",
    standardize: bool = True,
    X_test: Any = None,
    neighbors: str = "exact",
    gram: np.ndarray | None = None,
) -> float:
    r"""FIT: how well all features can be recovered from the kept ones, on average.

    .. math:: \mathrm{FIT}(S) = \frac{1}{D} \sum_{j=1}^{D} R^2_j(S)

    over the D features that vary. Doquet (2019), Algorithm 8. 1 means that nothing is lost, 0 that the means of the
    features would do as well.

    Parameters
    ----------
    X, support, n_neighbors, mode, standardize, X_test, neighbors
        As for :func:`feature_r2`.
    gram : ndarray of shape (n_samples, n_samples), default=None
        ``feature_gram(X)``. With it the score looks at the kept columns only, whatever the number of features: for
        whoever scores many selections of one table. Rounding apart, the result is the same.

    Returns
    -------
    float

    Notes
    -----
    Random selections do well where features are redundant: never read a FIT without that of ``RandomSelection`` and of
    all features beside it.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 5.3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis.assess import fit_score
    >>> X, _ = load_wine(return_X_y=True)
    >>> fit_score(X, [0, 6]) < fit_score(X, None)
    True
    """
    if gram is None:
        r2 = _r2(X, support, n_neighbors, mode, standardize, X_test, neighbors)
        varies = ~np.isnan(r2)
        return float(r2[varies].mean()) if varies.any() else 1.0
    if X_test is not None:
        raise ValueError("gram holds the rows of X alone: leave it out to judge X_test")
    table, names = read_table(X)
    check_names(support, names)
    gram = np.asarray(gram)
    if gram.shape != (table.shape[0], table.shape[0]):
        raise ValueError(f"gram has shape {gram.shape}, but X has {table.shape[0]} rows: give feature_gram(X)")
    kept = as_support(support, table.shape[1])
    return fit_from_gram(gram, to_numpy(_neighbors(table, kept, None, n_neighbors, mode, standardize, neighbors)))


def feature_gram(X: Any) -> np.ndarray:
    """``K = Z Z' / D`` of the standardized features, for :func:`fit_score`.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Dense or sparse.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.assess import feature_gram, fit_score
    >>> X = np.random.default_rng(0).standard_normal((30, 200))
    >>> K = feature_gram(X)
    >>> bool(np.isclose(fit_score(X, [0, 1], gram=K), fit_score(X, [0, 1])))
    True
    """
    table, _ = read_table(X)
    return standardized_gram(rescale_columns(table))
