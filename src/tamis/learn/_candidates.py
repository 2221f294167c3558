"""Features that may enter an active set: all of a finite dictionary, or draws from an infinite one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from sklearn.externals.array_api_compat import array_namespace, device, is_numpy_namespace

from tamis.dictionary._base import Dictionary, FiniteDictionary
from tamis.kernels.arrays.blocks import blocks

_BLOCK_NUMBERS = 2**22  # of the features that one task computes
_CONSTANT = {"float32": 1e-6, "float64": 1e-12}  # spread that rounding alone explains, relative to the largest entry


@dataclass(frozen=True)
class Block:
    """The columns of one map, and how they are scaled: all that new signals need.

    Attributes
    ----------
    parameter : ndarray
        Of the map; its index in a finite dictionary.
    learned : ndarray or None
        What the map knows of the training signals.
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


class Candidates(Protocol):
    """Where candidates come from.

    ``parameters`` are rows of parameters, or indices in a finite dictionary.
    """

    is_exhaustive: bool
    n_columns: int

    def propose(self, rng: np.random.RandomState) -> np.ndarray:
        """Parameters of the candidates of one round."""

    def pulls(self, parameters: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """Products of the scaled columns with ``slack``: shape (n_parameters, n_columns, n_targets)."""

    def take(self, parameters: np.ndarray) -> tuple[list[Block], np.ndarray]:
        """Blocks, and their scaled columns in rows: shape (n_parameters * n_columns, n_samples)."""

    def near(self, parameter: np.ndarray, step: float, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Parameters around one; never asked of a sweep."""


class Drawn:
    """Draws from an infinite dictionary, new ones in every round.

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
        self._last: tuple[np.ndarray, Any, Any] | None = None  # of few candidates: parameters, learned, features

    def propose(self, rng: np.random.RandomState) -> np.ndarray:
        """Draw parameters."""
        return self.dictionary.sample(self.n_candidates, rng)

    def pulls(self, parameters: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """Products of the scaled columns with ``slack``, in blocks of candidates that workers share out."""
        size = _BLOCK_NUMBERS // (len(slack) * self.n_columns)
        parts = [parameters[part] for part in blocks(len(parameters), size)]
        self._last = None
        if len(parts) == 1 or self.n_jobs in (None, 1):
            found = [self._pull(part, slack, is_all=len(parts) == 1) for part in parts]
        else:  # threads, for workers would need a copy of all signals in every round
            found = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(self._pull)(part, slack) for part in parts)
        return np.concatenate(found)

    def take(self, parameters: np.ndarray) -> tuple[list[Block], np.ndarray]:
        """Maps to keep, from what was computed last, or computed once more."""
        learned, features = self._recall(parameters) or self._compute(parameters)
        features = np.asarray(_to_cpu(features), dtype=float)
        mean, scale = measure(features, standardize=self.standardize)
        columns = ((features - mean) / scale).T
        by_block = (len(parameters), self.n_columns)
        kept = [
            Block(parameter.copy(), None if learned is None else learned[i], mean_i, scale_i)
            for i, (parameter, mean_i, scale_i) in enumerate(
                zip(parameters, mean.reshape(by_block), scale.reshape(by_block), strict=True)
            )
        ]
        return kept, columns

    def near(self, parameter: np.ndarray, step: float, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Normal steps of a given size around a parameter, within the space."""
        unit = self.dictionary.to_unit(parameter[None, :])
        return self.dictionary.from_unit(unit + step * rng.standard_normal((n, unit.shape[1])))

    def _recall(self, parameters: np.ndarray) -> tuple[Any, Any] | None:
        """What was just computed for these parameters, if it was."""
        if self._last is None:
            return None
        known, learned, features = self._last
        same = (known[None, :, :] == parameters[:, None, :]).all(axis=2)
        if not same.any(axis=1).all():
            return None
        at = same.argmax(axis=1)
        columns = (at[:, None] * self.n_columns + np.arange(self.n_columns)).ravel()
        return None if learned is None else learned[at], features[:, columns]

    def _compute(self, parameters: np.ndarray) -> tuple[Any, Any]:
        learned = None
        if self.dictionary.is_learned:
            learned = self.dictionary.learn(self.signals, self.labels, parameters)
        return learned, compute_features(self.dictionary, self.signals, parameters, learned)

    def _pull(self, parameters: np.ndarray, slack: np.ndarray, *, is_all: bool = False) -> np.ndarray:
        """Of one block, where the signals live; only the products come back."""
        learned, features = self._compute(parameters)
        if is_all:
            self._last = (parameters, learned, features)
        xp = array_namespace(features)
        mean, scale = measure(features, standardize=self.standardize)
        if is_numpy_namespace(xp):
            pull = (features - mean).T @ slack.astype(features.dtype, copy=False)
        else:
            weights = xp.asarray(slack, dtype=features.dtype, device=device(features))
            pull = (features - mean).T @ weights
        pull = np.asarray(_to_cpu(pull / scale[:, None]), dtype=float)
        if not np.isfinite(pull).all():
            self._complain(parameters, pull)
        return pull.reshape(len(parameters), self.n_columns, slack.shape[1])

    def _complain(self, parameters: np.ndarray, pull: np.ndarray) -> None:
        guilty = parameters[np.flatnonzero(~np.isfinite(pull).all(axis=1))[0] // self.n_columns]
        raise ValueError(
            f"{type(self.dictionary).__name__}.compute returned NaN or infinity for the parameters {guilty.tolist()}: "
            "features must be finite for all parameters that it samples"
        )


class Swept:
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
        """Everything."""
        return np.arange(self.columns.n_candidates // self.n_columns)

    def pulls(self, parameters: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """One pass over all features."""
        pull = self.columns.dot(slack) / self.scale[:, None]
        return pull.reshape(-1, self.n_columns, slack.shape[1])[parameters]

    def take(self, parameters: np.ndarray) -> tuple[list[Block], np.ndarray]:
        """The columns of some features."""
        indices = (parameters[:, None] * self.n_columns + np.arange(self.n_columns)).ravel()
        columns = (self.columns.columns(indices) / self.scale[indices]).T
        by_block = (len(parameters), self.n_columns)
        mean, scale = self.columns.means(indices).reshape(by_block), self.scale[indices].reshape(by_block)
        return [Block(parameters[i], None, mean[i], scale[i]) for i in range(len(parameters))], columns


def measure(features: Any, *, standardize: bool) -> tuple[Any, Any]:
    """What is taken out of every column, and what it is divided by; constant ones by infinity."""
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
    """What the dictionary computes, of the shape that it must have."""
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


def compute_columns(dictionary: Any, prepared: Any, kept: Sequence[Block]) -> np.ndarray:
    """Scaled columns of new signals: shape (n_samples, n_blocks * n_columns), double precision."""
    if not kept:
        return np.empty((prepared.shape[0], 0))
    parameters = np.stack([block.parameter for block in kept])
    if isinstance(dictionary, FiniteDictionary):
        width = dictionary.n_columns
        features = dictionary.compute(prepared, (parameters[:, None] * width + np.arange(width)).ravel())
    else:
        learned = np.stack([block.learned for block in kept]) if dictionary.is_learned else None
        features = compute_features(dictionary, prepared, parameters, learned)
    mean = np.concatenate([block.mean for block in kept])
    scale = np.concatenate([block.scale for block in kept])
    columns = (np.asarray(_to_cpu(features), dtype=float) - mean) / scale
    guilty = np.flatnonzero(~np.isfinite(columns).all(axis=1))
    if guilty.size:
        raise ValueError(f"{type(dictionary).__name__}.compute returned NaN or infinity for signal {guilty[0]}")
    return columns


def _to_cpu(values: Any) -> Any:
    return values if isinstance(values, np.ndarray) else values.cpu()
