"""Products of variables as candidate features."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement
from math import comb
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import Interval
from tamis.dictionary._base import FiniteDictionary
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.scaling import measure_columns
from tamis.kernels.arrays.tolerances import ROUNDING

_MOST_CANDIDATES = 50_000_000
_GROUP_WIDTH = 256  # columns of the left factor of one matrix product


class Monomials(FiniteDictionary):
    r"""All products of up to ``degree`` variables, :math:`x_{i_1} x_{i_2} \cdots x_{i_d}`.

    Candidates for :class:`tamis.GramSchmidt` when the target depends on interactions (Stoppiglia et al. 2003, Secs. 5
    and 6.1.2). They are never all materialized: with :math:`u` the product of all factors but the last,
    :math:`(u \circ x_j)^\top q = x_j^\top (u \circ q)`, so one matrix product serves all candidates that share
    :math:`u`.

    Parameters
    ----------
    degree : int, default=2
    min_degree : int, default=1
        2 leaves the variables themselves out.
    interaction_only : bool, default=False
        Leave out products in which a variable appears twice.
    standardize : bool, default=True
        Multiply variables of zero mean and unit variance: products of raw variables are nearly copies of their factors
        when means are large. The training means and scales also apply to new data.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_features,)
        What ``standardize`` takes out, and divides by.

    Notes
    -----
    Memory: the variables, a few vectors with one entry per candidate, and one block of products of directions with all
    candidates (256 MB at most); two million candidates fit.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 5.

    Examples
    --------
    >>> from tamis import GramSchmidt
    >>> from tamis.datasets import make_xor
    >>> from tamis.dictionary import Monomials
    >>> X, y = make_xor(random_state=0)
    >>> GramSchmidt(dictionary=Monomials(2)).fit(X, y).get_feature_names_out()
    array(['x0*x1'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict] = {
        "degree": [Interval(Integral, 1, None, closed="left")],
        "min_degree": [Interval(Integral, 1, None, closed="left")],
        "interaction_only": ["boolean"],
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        degree: int = 2,
        *,
        min_degree: int = 1,
        interaction_only: bool = False,
        standardize: bool = True,
    ) -> None:
        self.degree = degree
        self.min_degree = min_degree
        self.interaction_only = interaction_only
        self.standardize = standardize

    def n_candidates(self, n_features: int) -> int:
        """How many monomials ``n_features`` variables give."""
        self._validate_params()
        if self.min_degree > self.degree:
            raise ValueError(f"min_degree={self.min_degree} is above degree={self.degree}")
        repeat = 0 if self.interaction_only else 1
        total = sum(comb(n_features + repeat * (d - 1), d) for d in range(self.min_degree, self.degree + 1))
        if total == 0:
            raise ValueError(f"{n_features} variables have no monomial of degree {self.min_degree} to {self.degree}")
        if total > _MOST_CANDIDATES:
            raise ValueError(f"degree={self.degree} of {n_features} variables is {total:.2g} candidates; lower it")
        return total

    def fit(self, X: np.ndarray, y: Any = None, *, sample_weight: np.ndarray | None = None) -> Monomials:
        """Learn the means and scales of the variables; constant ones become exactly zero."""
        self.n_features_in_ = X.shape[1]
        self.mean_, self.scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            mean, inverse = measure_columns(X, sample_weight)
            varies = inverse > 0
            self.mean_ = np.where(varies, mean, X[0])
            self.scale_ = 1.0 / np.where(varies, inverse, 1.0)
        return self

    def candidates(
        self, X: np.ndarray, sample_weight: np.ndarray | None = None, *, fit_intercept: bool = True
    ) -> Columns:
        """The monomials of ``X`` as an operator for a least-squares search."""
        return _MonomialColumns(self, X, sample_weight, fit_intercept)

    def compute(self, X: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """The given monomials of ``X``: shape (n_samples, len(indices))."""
        V = self._variables(X)
        return np.column_stack(
            [np.prod(V[:, factors], axis=1) for factors in self.factors(indices)] or [np.empty((len(X), 0))]
        )

    def factors(self, indices: np.ndarray) -> list[list[int]]:
        """The variables behind the given monomials."""
        check_is_fitted(self)
        prefixes, first, start = self._layout(self.n_features_in_)
        at = np.searchsorted(start, indices, side="right") - 1
        return [[*prefixes[p], int(first[p] + j - start[p])] for p, j in zip(at, indices, strict=True)]

    def names(self, indices: np.ndarray, input_features: Any) -> np.ndarray:
        """Names such as ``age*weight^2``."""
        return np.array([_name(factors, input_features) for factors in self.factors(indices)], dtype=object)

    def _variables(self, X: np.ndarray) -> np.ndarray:
        check_is_fitted(self)
        return (np.asarray(X, dtype=float) - self.mean_) / self.scale_

    def _layout(self, n_features: int) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
        """Products of all factors but the last, the first variable each may be multiplied by, and where it starts."""
        choose = combinations if self.interaction_only else combinations_with_replacement
        prefixes = [prefix for d in range(self.min_degree - 1, self.degree) for prefix in choose(range(n_features), d)]
        step = 1 if self.interaction_only else 0
        first = np.array([prefix[-1] + step if prefix else 0 for prefix in prefixes])
        start = np.concatenate([[0], np.cumsum(n_features - first)[:-1]])
        return prefixes, first, start


class _MonomialColumns(Columns):
    """Monomials as columns: products with them are matrix products with the variables."""

    def __init__(
        self, dictionary: Monomials, X: np.ndarray, sample_weight: np.ndarray | None, fit_intercept: bool
    ) -> None:
        self._set_rows(X, sample_weight, fit_intercept)
        self.dictionary = dictionary
        self.variables = dictionary._variables(X)
        self.n_candidates = dictionary.n_candidates(X.shape[1])
        self.prefixes, self.first, self.start = dictionary._layout(X.shape[1])
        weight = (self.sqrt_weight**2)[:, None]
        mean = self._product(self.variables, weight)[:, 0] / self.total
        size = self._product(self.variables**2, weight, power=2)[:, 0]
        self._mean = mean if fit_intercept else np.zeros_like(mean)
        norm2 = size - self.total * self._mean**2
        self.norm2 = np.where(norm2 <= ROUNDING.float64 * size, 0.0, norm2)

    def _groups(self, width: int) -> Iterator[slice]:
        """Runs of prefixes that share one matrix product with ``width`` columns each."""
        step = max(1, _GROUP_WIDTH // width)
        for begin in range(0, len(self.prefixes), step):
            yield slice(begin, min(begin + step, len(self.prefixes)))

    def _product(self, variables: np.ndarray, V: np.ndarray, power: int = 1) -> np.ndarray:
        """``C' V`` with column (p, j) of C equal to prefix p times variable j, each to the given power."""
        m = V.shape[1]
        out = np.empty((m, self.n_candidates))
        for group in self._groups(m):
            lowest = int(self.first[group].min())
            if lowest >= variables.shape[1]:
                continue  # the last variable has no successor to be multiplied by
            u = np.column_stack([np.prod(self.variables[:, p], axis=1) for p in self.prefixes[group]])
            left = (u**power)[:, :, None] * V[:, None, :]
            product = left.reshape(len(V), -1).T @ variables[:, lowest:]
            for row, p in enumerate(range(group.start, group.stop)):
                skip = self.first[p] - lowest
                length = variables.shape[1] - self.first[p]
                out[:, self.start[p] : self.start[p] + length] = product[row * m : (row + 1) * m, skip:]
        return out.T

    def dot(self, V: np.ndarray) -> np.ndarray:
        """``Z' V`` without forming a single product column."""
        return self._product(self.variables, V * self.sqrt_weight[:, None])

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """The given monomials, centered and weighted."""
        prefix = np.searchsorted(self.start, indices, side="right") - 1
        last = self.first[prefix] + indices - self.start[prefix]
        raw = self.variables[:, last].copy()
        for d in range(max(map(len, self.prefixes))):
            has = np.flatnonzero([len(self.prefixes[p]) > d for p in prefix])
            raw[:, has] *= self.variables[:, [self.prefixes[p][d] for p in prefix[has]]]
        raw -= self._mean[indices]
        return raw * self.sqrt_weight[:, None]

    def means(self, indices: np.ndarray) -> np.ndarray:
        """Weighted means of the given monomials."""
        return self._mean[indices]


def _name(factors: list[int], input_features: Any) -> str:
    powers = {j: factors.count(j) for j in factors}
    return "*".join(f"{input_features[j]}^{n}" if n > 1 else str(input_features[j]) for j, n in powers.items())
