"""Radial basis functions of the rows of a table."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import array_namespace
from tamis.dictionary._base import Array, Parameter
from tamis.dictionary._table import TableDictionary, as_like, check_range, name_inputs, spell_point


class RBF(TableDictionary):
    r"""Gaussian bumps: how near is a row to a center?

    .. math:: \phi_{c, s}(x) = \exp\Bigl(-\frac{\|x - c\|^2}{2 s^2}\Bigr),

    for every center :math:`c` in the box of the training rows and every width :math:`s` in a range. With
    :class:`tamis.dictionary.Pool`, a library of fixed centers and widths from which :class:`tamis.GramSchmidt` selects
    the hidden units of an RBF network (Stoppiglia et al. 2003, Sec. 5; Chen, Cowan and Grant 1991).

    Parameters
    ----------
    width : tuple of float, default=(0.1, 2.0)
        Smallest and largest :math:`s`, in units of the spread of the data: the root mean square distance of the
        training rows to their mean.
    standardize : bool, default=True
        Measure distances, and so :math:`s`, in standard deviations of each column. Centers are always given in the
        table's own units.

    Attributes
    ----------
    spread_ : float
        The unit of ``width``.
    scale_ : ndarray of shape (n_features,)
        What columns are divided by before distances are taken; infinite for constant ones, which do not count.
    low_, high_, mean_, deviation_ : ndarray of shape (n_features,)
        Of the training columns.
    rows_ : ndarray of shape (n_rows, n_features)
        Training rows near which centers are drawn.
    n_features_in_ : int

    Notes
    -----
    The parameters of a feature are the numbers of its center, one per column, and its width. Centers are drawn near
    training rows (a random one, displaced by a tenth of each column's standard deviation), for most of a box is empty
    once there are many columns; widths are drawn evenly in their logarithm. The spread grows with the number of columns
    as distances do, so that ``width`` needs no change for wide tables. All distances are one matrix product, in the
    precision of the table: O(n_samples n_features n_parameters).

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 5. Chen, Cowan and Grant, "Orthogonal least squares
    learning algorithm for radial basis function networks", IEEE Transactions on Neural Networks 2, 1991.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GramSchmidt
    >>> from tamis.dictionary import RBF, Pool
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-3, 3, size=(300, 2))
    >>> y = np.exp(-np.sum((X - [1, -1]) ** 2, axis=1)) + 0.05 * rng.standard_normal(300)
    >>> found = GramSchmidt(stop=1, dictionary=Pool(RBF(), 500, random_state=0)).fit(X, y)
    >>> center = found.dictionary_.parameters_[found.order_[0], :2]
    >>> bool(np.linalg.norm(center - [1, -1]) < 0.5)
    True
    """

    _parameter_constraints: ClassVar[dict] = {"width": ["array-like"], "standardize": ["boolean"]}

    def __init__(self, *, width: tuple[float, float] = (0.1, 2.0), standardize: bool = True) -> None:
        self.width = width
        self.standardize = standardize

    def fit(self, signals: Array, y: Any = None) -> RBF:
        """Learn the box of the rows and their spread.

        Parameters
        ----------
        signals : array of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        check_range("width", self.width)
        super().fit(signals, y)
        unit = self.deviation_ if self.standardize else np.ones(self.n_features_in_)
        self.scale_ = np.where(self.deviation_ > 0, unit, np.inf)
        self.spread_ = float(np.linalg.norm(self.deviation_ / self.scale_))
        return self

    def space(self) -> tuple[Parameter, ...]:
        """A parameter per column for the center, and the width; known after ``fit``."""
        check_is_fitted(self)
        box = zip(self.low_, self.high_, strict=True)
        center = [Parameter(f"center {j}", float(low), float(high)) for j, (low, high) in enumerate(box)]
        low, high = (self.spread_ * end for end in self.width)
        return (*center, Parameter("width", low, high, "log"))

    def sample(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw ``n`` centers near training rows, and their widths."""
        check_is_fitted(self)
        low, high = self.width
        width = self.spread_ * low * (high / low) ** rng.uniform(size=n)
        return np.column_stack([self._near_rows(n, rng), width])

    def prepare(self, signals: Array) -> Array:
        """The rows, centered and scaled."""
        X = super().prepare(signals)
        return (X - as_like(self.mean_, X)) * as_like(1.0 / self.scale_, X)

    def compute(self, signals: Array, parameters: np.ndarray, learned: Any = None) -> Array:
        """One bump per parameter, of shape (n_samples, n_parameters)."""
        xp = array_namespace(signals)
        center = as_like((parameters[:, :-1] - self.mean_) / self.scale_, signals)
        decay = as_like(-0.5 / parameters[:, -1] ** 2, signals)
        product = signals @ center.T
        distance2 = xp.sum(signals**2, axis=1)[:, None] + xp.sum(center**2, axis=1)[None, :] - 2 * product
        return xp.exp(xp.clip(distance2, min=0.0) * decay[None, :])

    def names(self, parameters: np.ndarray, input_features: Any = None) -> np.ndarray:
        """Names such as ``rbf age=43.2 height=1.76 width=0.5``; of wide tables the first inputs only."""
        inputs = name_inputs(self.n_features_in_, input_features)
        return np.array(
            [f"rbf {spell_point(row[:-1], inputs)} width={row[-1]:.4g}" for row in parameters], dtype=object
        )
