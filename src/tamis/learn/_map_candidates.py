"""Feature maps that may enter an active set: all of a finite dictionary, or samples of an infinite one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed

from tamis._sklearn import array_namespace, device, is_numpy_namespace
from tamis.dictionary._base import Dictionary, FiniteDictionary
from tamis.kernels.arrays.blocks import blocks

_BLOCK_NUMBERS = 2**22  # entries of the features that one task computes
_CONSTANT = {"float32": 1e-6, "float64": 1e-12}  # spread that rounding alone explains, relative to the largest entry


@dataclass(frozen=True)
class FeatureMap:
    """One map of a dictionary, and how its columns are scaled: all that new signals need.

    Attributes
    ----------
    parameter : ndarray
        Of the map; its index in a finite dictionary.
    learned : ndarray or None
        What the map has learned from the training signals.
    mean, scale : ndarray of shape (n_columns,)
        Of the training signals; an infinite scale makes a constant column zero.
    """

    parameter: np.ndarray
    learned: Any
    mean: np.ndarray
    scale: np.ndarray

    @property
    def key(self) -> bytes:
        """What tells this map from others of the same dictionary."""
        return self.parameter.tobytes()


class MapCandidates(Protocol):
    """Where candidates come from.

    ``parameters`` are rows of parameters, or indices in a finite dictionary.
    """

    is_exhaustive: bool
    n_columns: int

    def propose(self, rng: np.random.RandomState) -> np.ndarray:
        """Parameters of the candidates of one round."""

    def negative_gradients(self, parameters: np.ndarray, signed_hinge: np.ndarray) -> np.ndarray:
        """Products of the scaled columns with the signed hinges: shape (n_parameters, n_columns, n_targets)."""

    def build_maps(self, parameters: np.ndarray) -> tuple[list[FeatureMap], np.ndarray]:
        """Maps, and their scaled columns in rows: shape (n_parameters * n_columns, n_samples)."""

    def perturb(self, parameter: np.ndarray, step: float, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Parameters around one; never asked where all candidates are evaluated."""


class SampledCandidates:
    """Samples of an infinite dictionary, new ones in every round.

    Parameters
    ----------
    dictionary : fitted Dictionary
    signals : array
        What the dictionary's ``prepare`` made of the training signals.
    labels : ndarray of shape (n_samples,)
        Classes, from which maps may learn.
    n_candidates : int
        Per round.
    standardize : bool
        Zero mean and unit variance; otherwise unit norm.
    n_jobs : int or None
    """

    is_exhaustive = False

    def __init__(
        self,
        dictionary: Dictionary,
        signals: Any,
        labels: np.ndarray,
        *,
        n_candidates: int,
        standardize: bool,
        n_jobs: int | None,
    ) -> None:
        self.dictionary, self.signals, self.labels = dictionary, signals, labels
        self.n_candidates, self.standardize, self.n_jobs = n_candidates, standardize, n_jobs
        self.n_columns = dictionary.n_columns
        # parameters, learned and features of the last candidates, if they fitted into one block
        self._cache: tuple[np.ndarray, Any, Any] | None = None

    def propose(self, rng: np.random.RandomState) -> np.ndarray:
        """Sample parameters."""
        return self.dictionary.sample(self.n_candidates, rng)

    def negative_gradients(self, parameters: np.ndarray, signed_hinge: np.ndarray) -> np.ndarray:
        """Products of the scaled columns with the signed hinges, in blocks of candidates that threads share."""
        size = _BLOCK_NUMBERS // (len(signed_hinge) * self.n_columns)
        parts = [parameters[part] for part in blocks(len(parameters), size)]
        self._cache = None
        if len(parts) == 1 or self.n_jobs in (None, 1):
            products = [self._evaluate_block(part, signed_hinge, keep=len(parts) == 1) for part in parts]
        else:  # threads: processes would need a copy of all signals in every round
            products = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._evaluate_block)(part, signed_hinge) for part in parts
            )
        return np.concatenate(products)

    def build_maps(self, parameters: np.ndarray) -> tuple[list[FeatureMap], np.ndarray]:
        """Maps and their columns, from the features that were computed last, or computed anew."""
        learned, features = self._from_cache(parameters) or self._compute(parameters)
        features = np.asarray(_to_cpu(features), dtype=float)
        mean, scale = center_and_scale(features, standardize=self.standardize)
        columns = ((features - mean) / scale).T
        by_map = (len(parameters), self.n_columns)
        maps = [
            FeatureMap(parameter.copy(), None if learned is None else learned[i], mean_i, scale_i)
            for i, (parameter, mean_i, scale_i) in enumerate(
                zip(parameters, mean.reshape(by_map), scale.reshape(by_map), strict=True)
            )
        ]
        return maps, columns

    def perturb(self, parameter: np.ndarray, step: float, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Normal steps of a given size around a parameter, within the space."""
        unit = self.dictionary.to_unit(parameter[None, :])
        return self.dictionary.from_unit(unit + step * rng.standard_normal((n, unit.shape[1])))

    def _from_cache(self, parameters: np.ndarray) -> tuple[Any, Any] | None:
        """Learned quantities and features of these parameters, if they were just computed."""
        if self._cache is None:
            return None
        cached, learned, features = self._cache
        is_same = (cached[None, :, :] == parameters[:, None, :]).all(axis=2)
        if not is_same.any(axis=1).all():
            return None
        positions = is_same.argmax(axis=1)
        return None if learned is None else learned[positions], features[:, column_indices(positions, self.n_columns)]

    def _compute(self, parameters: np.ndarray) -> tuple[Any, Any]:
        learned = None
        if self.dictionary.is_learned:
            learned = self.dictionary.learn(self.signals, self.labels, parameters)
        return learned, compute_features(self.dictionary, self.signals, parameters, learned)

    def _evaluate_block(self, parameters: np.ndarray, signed_hinge: np.ndarray, *, keep: bool = False) -> np.ndarray:
        """Negative gradients of one block, computed on the device of the signals; only the products come back."""
        learned, features = self._compute(parameters)
        if keep:
            self._cache = (parameters, learned, features)
        xp = array_namespace(features)
        mean, scale = center_and_scale(features, standardize=self.standardize)
        if is_numpy_namespace(xp):
            right = signed_hinge.astype(features.dtype, copy=False)
        else:
            right = xp.asarray(signed_hinge, dtype=features.dtype, device=device(features))
        products = (features - mean).T @ right
        products = np.asarray(_to_cpu(products / scale[:, None]), dtype=float)
        if not np.isfinite(products).all():
            guilty = parameters[np.flatnonzero(~np.isfinite(products).all(axis=1))[0] // self.n_columns]
            raise ValueError(
                f"{type(self.dictionary).__name__}.compute returned NaN or infinity for the parameters "
                f"{guilty.tolist()}: features must be finite for all parameters that it samples"
            )
        return products.reshape(len(parameters), self.n_columns, signed_hinge.shape[1])


class ExhaustiveCandidates:
    """All features of a finite dictionary, in every round.

    Parameters
    ----------
    dictionary : fitted FiniteDictionary
    signals : array or sparse table
    standardize : bool
        Zero mean and unit variance; otherwise unit norm.
    """

    is_exhaustive = True

    def __init__(self, dictionary: FiniteDictionary, signals: Any, *, standardize: bool) -> None:
        self.dictionary = dictionary
        self.columns = dictionary.candidates(signals, fit_intercept=standardize)
        self.n_columns = dictionary.n_columns
        size = np.sqrt(self.columns.norm2 / (self.columns.n_samples if standardize else 1.0))
        self.scale = np.where(size > 0, size, np.inf)

    def propose(self, rng: np.random.RandomState) -> np.ndarray:
        """All of them."""
        return np.arange(self.columns.n_candidates // self.n_columns)

    def negative_gradients(self, parameters: np.ndarray, signed_hinge: np.ndarray) -> np.ndarray:
        """One pass over all features."""
        products = self.columns.dot(signed_hinge) / self.scale[:, None]
        return products.reshape(-1, self.n_columns, signed_hinge.shape[1])[parameters]

    def build_maps(self, parameters: np.ndarray) -> tuple[list[FeatureMap], np.ndarray]:
        """Some of the maps and their columns."""
        indices = column_indices(parameters, self.n_columns)
        columns = (self.columns.columns(indices) / self.scale[indices]).T
        by_map = (len(parameters), self.n_columns)
        mean, scale = self.columns.means(indices).reshape(by_map), self.scale[indices].reshape(by_map)
        return [FeatureMap(parameters[i], None, mean[i], scale[i]) for i in range(len(parameters))], columns


def center_and_scale(features: Any, *, standardize: bool) -> tuple[Any, Any]:
    """Mean and standard deviation of every column, or zero and its norm; constant columns have an infinite scale."""
    xp = array_namespace(features)
    mean = xp.mean(features, axis=0)
    largest = xp.max(xp.abs(features), axis=0)
    spread = xp.sqrt(xp.mean((features - mean) ** 2, axis=0))
    precision = "float32" if "float32" in str(features.dtype) else "float64"
    is_constant = spread <= _CONSTANT[precision] * largest
    if not standardize:
        mean, spread = xp.zeros_like(mean), xp.sqrt(xp.sum(features**2, axis=0))
    return mean, xp.where(is_constant, xp.full_like(spread, float("inf")), spread)


def compute_features(dictionary: Dictionary, prepared: Any, parameters: np.ndarray, learned: Any) -> Any:
    """Features by the dictionary, checked for their shape."""
    given = () if learned is None else (learned,)
    features = dictionary.compute(prepared, parameters, *given)
    wanted = (prepared.shape[0], len(parameters) * dictionary.n_columns)
    shape = getattr(features, "shape", None)
    if shape is None or tuple(shape) != wanted:
        what = f"a {type(features).__name__}" if shape is None else f"an array of shape {tuple(shape)}"
        raise ValueError(
            f"{type(dictionary).__name__}.compute returned {what}, and an array of shape {wanted} is expected: a row "
            f"per signal, n_columns={dictionary.n_columns} for each of {len(parameters)} parameters"
        )
    return features


def prepare_signals(dictionary: Any, signals: Any) -> Any:
    """What :func:`compute_columns` needs of signals, computed once; finite dictionaries take signals as they are."""
    return signals if isinstance(dictionary, FiniteDictionary) else dictionary.prepare(signals)


def compute_columns(dictionary: Any, prepared: Any, maps: Sequence[FeatureMap]) -> np.ndarray:
    """Scaled columns of new signals: shape (n_samples, n_maps * n_columns), double precision."""
    if not maps:
        return np.empty((prepared.shape[0], 0))
    parameters = np.stack([feature_map.parameter for feature_map in maps])
    if isinstance(dictionary, FiniteDictionary):
        features = dictionary.compute(prepared, column_indices(parameters, dictionary.n_columns))
    else:
        learned = np.stack([feature_map.learned for feature_map in maps]) if dictionary.is_learned else None
        features = compute_features(dictionary, prepared, parameters, learned)
    mean = np.concatenate([feature_map.mean for feature_map in maps])
    scale = np.concatenate([feature_map.scale for feature_map in maps])
    columns = (np.asarray(_to_cpu(features), dtype=float) - mean) / scale
    guilty = np.flatnonzero(~np.isfinite(columns).all(axis=1))
    if guilty.size:
        raise ValueError(f"{type(dictionary).__name__}.compute returned NaN or infinity for signal {guilty[0]}")
    return columns


def column_indices(maps: np.ndarray, n_columns: int) -> np.ndarray:
    """Indices of the columns of the given maps, ``n_columns`` neighbors each."""
    return (maps[:, None] * n_columns + np.arange(n_columns)).ravel()


def _to_cpu(values: Any) -> Any:
    return values if isinstance(values, np.ndarray) else values.cpu()
