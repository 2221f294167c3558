"""What dictionaries of tables share: checks, the box of the training rows, and draws near these rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import array_namespace, device
from tamis.dictionary._base import Array, Dictionary

_MOST_ROWS = 4096  # that are kept to draw near
_JITTER = 0.1  # of a column's standard deviation
_MOST_NAMED = 6  # inputs of a table whose values a name spells out


class TableDictionary(Dictionary):
    """Functions of the rows of a table, each at home somewhere among the training rows.

    Attributes
    ----------
    low_, high_, mean_, deviation_ : ndarray of shape (n_features,)
        Of the training columns; constant ones have a deviation of exactly zero.
    rows_ : ndarray of shape (n_rows, n_features)
        Training rows to draw near, evenly picked where there are more than 4096.
    n_features_in_ : int
    """

    def fit(self, signals: Array, y: Any = None) -> TableDictionary:
        """Learn the range and the spread of every column.

        Parameters
        ----------
        signals : array of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._validate_params()
        X = check_rows(self, signals)
        xp = array_namespace(X)
        super().fit(X, y)
        self.n_features_in_ = int(X.shape[1])
        low, high = xp.min(X, axis=0), xp.max(X, axis=0)
        if not bool(xp.any(high > low)):
            raise ValueError("every column of the table is constant: a function of it does not vary; add other columns")
        # measure_columns would need scikit-learn's array-API dispatch to be on for tensors; dictionaries do not
        _, exponents = np.frexp(np.maximum(np.abs(_as_numpy(low)), np.abs(_as_numpy(high))).astype(float))
        unit = xp.asarray(np.ldexp(1.0, exponents - 1), device=device(X))  # whose squares are not lost
        wide = xp.astype(X, xp.float64) / unit
        mean = xp.mean(wide, axis=0) * unit
        deviation = xp.where(high > low, xp.std(wide, axis=0) * unit, xp.zeros_like(mean))
        self.low_, self.high_, self.mean_, self.deviation_ = (_as_numpy(v) for v in (low, high, mean, deviation))
        picked = np.linspace(0, len(X) - 1, min(len(X), _MOST_ROWS)).astype(np.int64)
        self.rows_ = _as_numpy(xp.take(X, xp.asarray(picked, device=device(X)), axis=0))
        return self

    def prepare(self, signals: Array) -> Array:
        """The rows, checked against those of ``fit``; floats keep their precision."""
        check_is_fitted(self)
        X = check_rows(self, signals)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"the table has {X.shape[1]} columns, but {type(self).__name__} was fitted on {self.n_features_in_}; "
                "give the same columns"
            )
        return X

    def _near_rows(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Points near random training rows, inside of their box."""
        near = self.rows_[rng.randint(len(self.rows_), size=n)]
        near = near + _JITTER * self.deviation_ * rng.standard_normal(near.shape)
        return np.clip(near, self.low_, self.high_)


def check_rows(dictionary: Any, signals: Any) -> Array:
    """A dense, finite table of floats, or an error that says what to do."""
    name = type(dictionary).__name__
    if not hasattr(signals, "shape") or not hasattr(signals, "__array__"):
        raise ValueError(f"{name} computes its features from a dense array, not {type(signals).__name__}")
    if len(signals.shape) != 2:
        raise ValueError(
            f"{name} takes a table of shape (n_samples, n_features), not an array of {len(signals.shape)} axes; "
            "reshape it to one row per sample"
        )
    if 0 in signals.shape:
        raise ValueError(f"{name} takes at least one row and one column, not a table of shape {tuple(signals.shape)}")
    xp = array_namespace(signals)
    if not xp.isdtype(signals.dtype, "real floating"):
        signals = xp.astype(signals, xp.float64)
    finite = xp.isfinite(signals)
    if not bool(xp.all(finite)):
        column = int(np.flatnonzero(~_as_numpy(xp.all(finite, axis=0)).astype(bool))[0])
        count = int(xp.sum(xp.astype(~finite[:, column], xp.int64)))
        raise ValueError(
            f"column {column} holds {count} missing or infinite value{'s' if count > 1 else ''}; "
            "impute or drop them first"
        )
    return signals


def as_like(values: np.ndarray, signals: Array) -> Array:
    """Numbers of the namespace, device and precision of ``signals``."""
    xp = array_namespace(signals)
    return xp.asarray(values, dtype=signals.dtype, device=device(signals))


def name_inputs(n_features: int, input_features: Any) -> list[str]:
    """What people call the columns: their names, or their places."""
    return [f"x{j}" for j in range(n_features)] if input_features is None else [str(name) for name in input_features]


def spell_point(point: np.ndarray, names: list[str]) -> str:
    """A point of the table in words; the first inputs only, where there are many."""
    spelled = " ".join(f"{name}={value:.4g}" for name, value in zip(names[:_MOST_NAMED], point, strict=False))
    return spelled if len(names) <= _MOST_NAMED else f"{spelled} ..."


def _as_numpy(values: Array) -> np.ndarray:
    values = values.detach().cpu().numpy() if hasattr(values, "detach") else values
    return np.asarray(values, dtype=float)


def check_range(name: str, ends: tuple[float, float]) -> None:
    """Refuse a range that is none, or upside down."""
    if len(ends) != 2 or not 0 < ends[0] <= ends[1] < np.inf:
        raise ValueError(f"{name}={ends!r} must be a pair (low, high) with 0 < low <= high")
