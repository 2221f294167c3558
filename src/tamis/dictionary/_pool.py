"""A finite set of features out of an infinite dictionary."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import HasMethods, Interval, StrOptions
from tamis.dictionary._base import Array, Dictionary, FiniteDictionary
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import Columns, as_columns, to_numpy
from tamis.kernels.arrays.tolerances import CONSTANT

_MOST_BYTES = 2**29  # of features held at once
_BLOCK_ELEMENTS = 2**22  # features computed at once, times samples


class Pool(FiniteDictionary):
    r"""Features at some parameters of an infinite dictionary, drawn once.

    .. math:: \{\phi_{\theta_1}, ..., \phi_{\theta_m}\} \subset \{\phi_\theta : \theta \in \Theta\}

    The library of fixed centers and widths, or translations and dilations, that Stoppiglia et al. (2003, Sec. 5) let
    :class:`tamis.GramSchmidt` rank; with ``method="grid"``, the sampled parameters that Flamary et al. (2011, Sec. 3)
    compare the infinite set with.

    Parameters
    ----------
    dictionary : Dictionary
        Where the features come from, such as :class:`tamis.dictionary.RBF`.
    n_parameters : int, default=1000
        How many are drawn; a grid has as many values of each parameter, and at most ``n_parameters`` points.
    method : {"random", "grid"}, default="random"
        "random" asks the dictionary for draws. "grid" is regular, and for dictionaries whose ranges do not depend on
        the data.
    parameters : array-like of shape (m, n_parameters_of_a_feature), default=None
        Parameters given instead, in the order of the dictionary's ``space()``; ``n_parameters`` and ``method`` are then
        not used.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Attributes
    ----------
    dictionary_ : Dictionary
        Fitted on the training signals.
    parameters_ : ndarray of shape (m, n_parameters_of_a_feature)
        Those of the pool. Feature ``j`` is column ``j % n_columns`` of parameter ``j // n_columns``.
    learned_ : array or None
        What the maps know of the training signals and labels, where the dictionary learns.

    Notes
    -----
    Up to 512 MB of features are computed once and held; beyond, they are computed again, in blocks, whenever the search
    multiplies with them. Row weights do not change what is drawn.

    Features that are drawn without use of the target keep the risk of :class:`tamis.stop.Probe` valid.
    Features LEARNED from labels (those of a CSP) are not independent of them: all of them then beat a random feature.
    Judge these on held-out samples, and learn them again in each fold.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 5. Flamary, Yger and Rakotomamonjy, "Selecting from an
    infinite set of features in SVM", ESANN, 2011, Sec. 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dictionary import RBF, Pool
    >>> X = np.random.RandomState(0).standard_normal((50, 3))
    >>> pool = Pool(RBF(), 20, random_state=0).fit(X)
    >>> pool.parameters_.shape
    (20, 4)
    >>> pool.compute(X, np.array([3, 7])).shape
    (50, 2)
    """

    # what feature j is depends on the rows seen in fit: two fitted pools have no candidates in common
    is_drawn: ClassVar[bool] = True
    accepts_torch: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {
        "dictionary": [HasMethods(["space", "sample", "compute"])],
        "n_parameters": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"random", "grid"})],
        "parameters": ["array-like", None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        dictionary: Dictionary,
        n_parameters: int = 1000,
        *,
        method: str = "random",
        parameters: Any = None,
        random_state: Any = None,
    ) -> None:
        self.dictionary = dictionary
        self.n_parameters = n_parameters
        self.method = method
        self.parameters = parameters
        self.random_state = random_state

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """Columns per parameter."""
        return self.dictionary_.n_columns if hasattr(self, "dictionary_") else self.dictionary.n_columns

    def n_candidates(self, n_features: int) -> int:
        """How many features the pool holds, whatever the signals are.

        Exact before ``fit`` where the dictionary knows by then how many columns a parameter has.
        """
        self._validate_params()
        if hasattr(self, "parameters_"):
            return len(self.parameters_) * self.n_columns
        if self.parameters is not None:
            return len(self.parameters) * self.n_columns
        if self.method == "random":
            return self.n_parameters * self.n_columns
        try:
            return len(self.dictionary.grid(self.n_parameters)) * self.n_columns
        except AttributeError as error:  # also what scikit-learn raises where something is not fitted
            name = type(self.dictionary).__name__
            raise ValueError(
                f"method='grid' needs ranges that are known beforehand, and those of {name} depend on the data; use "
                f"method='random', or give a grid of your own: parameters={name}(...).fit(X).grid(n)"
            ) from error

    def fit(self, X: Array, y: Any = None, *, sample_weight: np.ndarray | None = None) -> Pool:
        """Draw the parameters, and learn what the maps need.

        Parameters
        ----------
        X : array of shape (n_samples, ...)
            Training signals.
        y : array of int of shape (n_samples,), default=None
            Codes of the classes; needed by dictionaries that learn.
        sample_weight : ignored

        Returns
        -------
        self
        """
        self._validate_params()
        inner = clone(self.dictionary).fit(X, y)
        if inner.is_learned and y is None:
            raise ValueError(f"{type(inner).__name__} learns its features from labels: give y")
        if self.parameters is not None:
            parameters = self._check_parameters(inner)
        elif self.method == "grid":
            parameters = inner.grid(self.n_parameters)
        else:
            parameters = inner.sample(self.n_parameters, check_random_state(self.random_state))
        self.dictionary_, self.parameters_ = inner, parameters
        self.learned_ = inner.learn(inner.prepare(X), np.asarray(y), parameters) if inner.is_learned else None
        return self

    def _check_parameters(self, inner: Dictionary) -> np.ndarray:
        parameters = np.array(self.parameters, dtype=float)
        names = [parameter.name for parameter in inner.space()]
        if parameters.ndim != 2 or parameters.shape[1] != len(names) or len(parameters) == 0:
            raise ValueError(
                f"parameters has shape {parameters.shape}; give one row per feature of {type(inner).__name__}, with "
                f"{len(names)} numbers: {', '.join(names[:6])}{' ...' if len(names) > 6 else ''}"
            )
        if not np.isfinite(parameters).all():
            row = int(np.flatnonzero(~np.isfinite(parameters).all(axis=1))[0])
            raise ValueError(f"parameters holds NaN or infinity in row {row}; give finite numbers")
        self._check_space(inner, parameters)
        return parameters

    def _check_space(self, inner: Dictionary, parameters: np.ndarray) -> None:
        """Refuse parameters that no draw could give; where ranges follow the data, only those that mean nothing."""
        space = inner.space()
        nearest = np.where([p.scale == "circular" for p in space], parameters, inner.clip(parameters))
        if self._space_follows_data():
            nearest = np.where([p.scale == "log" for p in space] & (parameters <= 0), nearest, parameters)
        is_outside = np.abs(nearest - parameters) > 1e-9 * np.array([p.high - p.low for p in space])
        if invalid := np.argwhere(is_outside).tolist():
            row, column = invalid[0]
            raise ValueError(
                f"parameters holds {space[column].name}={parameters[row, column]:g} in row {row}, outside of the space "
                f"of {type(inner).__name__}: the nearest there is {nearest[row, column]:g}"
            )

    def _space_follows_data(self) -> bool:
        try:
            clone(self.dictionary).space()
        except NotFittedError:
            return True
        return False

    def candidates(self, X: Array, sample_weight: np.ndarray | None = None, *, fit_intercept: bool = True) -> Columns:
        """All features of ``X`` as an operator: held if they fit in 512 MB, computed on demand if not."""
        check_is_fitted(self)
        prepared = self.dictionary_.prepare(X)
        n, m = X.shape[0], len(self.parameters_) * self.n_columns
        first = self._at(prepared, np.arange(1))
        if n * m * first.dtype.itemsize > _MOST_BYTES:
            return _PoolColumns(self, prepared, first, sample_weight, fit_intercept)
        table = np.empty((n, m), dtype=first.dtype)
        for part in self._parts(n):
            table[:, self._span(part)] = self._at(prepared, np.arange(part.start, part.stop))
        return as_columns(table, sample_weight, fit_intercept=fit_intercept)

    def compute(self, X: Array, indices: np.ndarray) -> np.ndarray:
        """The given features of ``X``: shape (n_samples, len(indices))."""
        check_is_fitted(self)
        return self._pick(self.dictionary_.prepare(X), np.asarray(indices, dtype=np.int64))

    def names(self, indices: np.ndarray, input_features: Any = None) -> np.ndarray:
        """What the dictionary calls the given features."""
        check_is_fitted(self)
        which, column = np.divmod(np.asarray(indices, dtype=np.int64), self.n_columns)
        names = self.dictionary_.names(self.parameters_[which], input_features)
        return names[np.arange(which.size) * self.n_columns + column]

    def _at(self, prepared: Array, which: np.ndarray) -> np.ndarray:
        """The features of some of the parameters, computed where the signals are; searches want them in memory."""
        parameters = self.parameters_[which]
        learned = () if self.learned_ is None else (self.learned_[which],)
        features = self.dictionary_.compute(prepared, parameters, *learned)
        features = features if isinstance(features, np.ndarray) else np.asarray(features.cpu())
        if not np.isfinite(features).all():
            invalid = int(which[np.flatnonzero(~np.isfinite(features).all(axis=0))[0] // self.n_columns])
            raise ValueError(
                f"{type(self.dictionary_).__name__}.compute returned NaN or infinity for the parameters "
                f"{self.parameters_[invalid][:6].tolist()}"
            )
        return features

    def _pick(self, prepared: Array, indices: np.ndarray) -> np.ndarray:
        """Some features, each parameter computed once."""
        which, column = np.divmod(indices, self.n_columns)
        needed, place = np.unique(which, return_inverse=True)
        features = self._at(prepared, needed if needed.size else np.arange(1))
        return features[:, place * self.n_columns + column]

    def _parts(self, n_samples: int) -> list[slice]:
        """Runs of parameters whose features are computed together."""
        return list(blocks(len(self.parameters_), _BLOCK_ELEMENTS // (n_samples * self.n_columns)))

    def _span(self, part: slice) -> slice:
        return slice(part.start * self.n_columns, part.stop * self.n_columns)


class _PoolColumns(Columns):
    """Features of a pool that are too many to hold: every product computes them again, in blocks."""

    def __init__(
        self, pool: Pool, prepared: Array, first: Array, sample_weight: np.ndarray | None, fit_intercept: bool
    ) -> None:
        self._set_rows(first, sample_weight, fit_intercept)
        self.pool, self.prepared = pool, prepared
        self.X = first[:, :0]  # its type tells the search how precise the features are
        self.n_candidates = len(pool.parameters_) * pool.n_columns
        self._mean = self.xp.zeros(self.n_candidates, dtype=self.accumulator, device=self.device)
        self.norm2 = self.xp.zeros(self.n_candidates, dtype=self.accumulator, device=self.device)
        weight = self.sqrt_weight**2 / self.total
        for part in pool._parts(self.n_samples):
            raw, span = self._raw(part), pool._span(part)
            size = self.total * (weight @ raw**2)
            if fit_intercept:
                self._mean[span] = weight @ raw
            norm2 = self.total * (weight @ (raw - self._mean[None, span]) ** 2)
            self.norm2[span] = self.xp.where(norm2 <= CONSTANT**2 * size, self.xp.zeros_like(norm2), norm2)

    def _raw(self, part: slice) -> Array:
        features = self.pool._at(self.prepared, np.arange(part.start, part.stop))
        return self.xp.astype(features, self.accumulator, copy=False)

    def dot(self, V: Array) -> Array:
        """``Z' V``, a block of features at a time."""
        weighted = V * self.sqrt_weight[:, None]
        product = self.xp.empty((self.n_candidates, V.shape[1]), dtype=self.accumulator, device=self.device)
        for part in self.pool._parts(self.n_samples):
            span = self.pool._span(part)
            product[span, :] = (self._raw(part) - self._mean[None, span]).T @ weighted
        return product

    def columns(self, indices: np.ndarray) -> Array:
        """The given features, centered and weighted."""
        raw = self.xp.astype(self.pool._pick(self.prepared, np.asarray(indices, dtype=np.int64)), self.accumulator)
        return (raw - self.xp.take(self._mean, self.as_index(indices))[None, :]) * self.sqrt_weight[:, None]

    def means(self, indices: np.ndarray) -> np.ndarray:
        """Weighted means of the given features."""
        return to_numpy(self.xp.take(self._mean, self.as_index(indices)))
