"""What a dictionary of features is: a space of parameters, a sampler, and a map from signals to columns."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator

from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.tolerances import floor_count

Array = Any  # numpy, or torch where the map allows it


@dataclass(frozen=True)
class Parameter:
    """One continuous parameter of a feature.

    Attributes
    ----------
    name : str
    low, high : float
        Ends of its range.
    scale : {"linear", "log", "circular"}
        "log" draws ratios evenly (both ends must be positive); "circular" joins the ends, as for an angle.
    unit : str
        For people, such as "Hz".
    """

    name: str
    low: float
    high: float
    scale: Literal["linear", "log", "circular"] = "linear"
    unit: str = ""


class Dictionary(BaseEstimator):
    r"""Features :math:`\phi_\theta(x)` of signals, one block of columns for every :math:`\theta` of a continuous space.

    A dictionary of your own is a subclass with :meth:`space` and :meth:`compute`; all else has defaults. ``fit`` sees
    the training signals once (it may set ranges of parameters), :meth:`prepare` does per signal what all features share
    (a spectrum), :meth:`learn` finds what a map needs to know of the training signals and labels (the filters of a
    CSP), and ``compute`` applies maps, to training and new signals alike.

    Attributes
    ----------
    n_columns : int
        Columns per parameter, known after ``fit`` at the latest.
    is_learned : bool
        Whether :meth:`learn` has anything to learn: then ``compute`` is given what it returned.
    accepts_sparse : bool
        Whether signals may be a scipy sparse table.
    accepts_torch : bool
        Whether they may be torch tensors; otherwise they are given as numpy arrays.
    """

    n_columns: int = 1
    is_learned: ClassVar[bool] = False
    accepts_sparse: ClassVar[bool] = False
    accepts_torch: ClassVar[bool] = True

    @abstractmethod
    def space(self) -> tuple[Parameter, ...]:
        """The parameters, in the order of the columns of ``parameters`` everywhere."""

    @abstractmethod
    def compute(self, signals: Array, parameters: np.ndarray, learned: Any = None) -> Array:
        """The features of each parameter.

        Parameters
        ----------
        signals : array
            What :meth:`prepare` returned.
        parameters : ndarray of shape (n_parameters, len(space()))
        learned : ndarray whose first axis is that of ``parameters``, or None
            What :meth:`learn` returned for these parameters on the training signals; absent where nothing is learned.

        Returns
        -------
        array of shape (n_samples, n_parameters * n_columns)
            Blocks side by side; of the namespace and on the device of ``signals``.
        """

    def fit(self, signals: Array, y: Any = None) -> Dictionary:
        """Look at the training signals: check their shape, set ranges.

        Parameters
        ----------
        signals : array of shape (n_samples, ...)
        y : array of shape (n_samples,), default=None
            Classes, or the quantity of a regression.

        Returns
        -------
        self
        """
        self.signal_shape_ = tuple(signals.shape[1:])
        return self

    def prepare(self, signals: Array) -> Array:
        """What of the signals is worth computing once, one entry per signal along the first axis."""
        return signals

    def learn(self, signals: Array, y: np.ndarray, parameters: np.ndarray) -> Any:
        """What the maps of these parameters must know of the (prepared) training signals and their classes.

        Returns
        -------
        ndarray whose first axis is that of ``parameters``, or None
        """
        return None

    def sample(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw ``n`` parameters: by default evenly over the space, of shape (n, len(space()))."""
        return self.from_unit(rng.uniform(size=(n, len(self.space()))))

    def grid(self, n: int) -> np.ndarray:
        """A regular grid of at most ``n`` parameters, as many values of each: what people do without this package."""
        size = len(self.space())
        if 2**size > n:
            return self.from_unit(np.full((1, size), 0.5))
        levels = max(1, floor_count(n ** (1.0 / size)))
        ends = [p.scale != "circular" for p in self.space()]
        axes = [np.linspace(0.0, 1.0, levels, endpoint=end) for end in ends]
        return self.from_unit(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size))

    def clip(self, parameters: np.ndarray) -> np.ndarray:
        """The nearest parameters that the space holds."""
        return self.from_unit(self.to_unit(parameters))

    def to_unit(self, parameters: np.ndarray) -> np.ndarray:
        """Parameters as points of the unit cube, where a step means as much along every axis."""
        unit = np.empty(np.shape(parameters))
        for column, parameter in enumerate(self.space()):
            values, low, high = parameters[:, column], parameter.low, parameter.high
            if parameter.scale == "log":
                values, low, high = np.log(np.maximum(values, low)), np.log(low), np.log(high)
            unit[:, column] = (values - low) / (high - low) if high > low else 0.0
        return unit

    def from_unit(self, unit: np.ndarray) -> np.ndarray:
        """Parameters at points of the unit cube; points beyond it are brought to its border, or around a circle."""
        parameters = np.empty(np.shape(unit))
        for column, parameter in enumerate(self.space()):
            low, high = parameter.low, parameter.high
            share = unit[:, column] % 1.0 if parameter.scale == "circular" else np.clip(unit[:, column], 0.0, 1.0)
            if parameter.scale == "log":
                parameters[:, column] = np.clip(low * (high / low) ** share, low, high)
            else:
                parameters[:, column] = low + (high - low) * share
        return parameters

    def names(self, parameters: np.ndarray, input_features: Any = None) -> np.ndarray:
        """What people call these features, one name per column: ``gabor angle=0.52 frequency=0.2``."""
        stem, space = type(self).__name__.lower(), self.space()
        blocks = [
            " ".join([stem, *(f"{p.name}={value:.4g}{p.unit}" for p, value in zip(space, row, strict=True))])
            for row in parameters
        ]
        if self.n_columns == 1:
            return np.array(blocks, dtype=object)
        return np.array([f"{block} [{j}]" for block in blocks for j in range(self.n_columns)], dtype=object)


class FiniteDictionary(BaseEstimator):
    """Features that can be counted: a search looks at every one, and parameters are their indices.

    Attributes
    ----------
    n_columns : int
        Neighboring features that belong together, such as the columns of one map.
    accepts_sparse : bool
        Whether signals may be a scipy sparse table.
    accepts_torch : bool
        Whether they may be torch tensors.
    is_drawn : bool
        Whether ``fit`` draws the features at random, so that two fits have different ones.
    """

    n_columns: int = 1
    accepts_sparse: ClassVar[bool] = False
    accepts_torch: ClassVar[bool] = False
    is_drawn: ClassVar[bool] = False

    @abstractmethod
    def n_candidates(self, n_features: int) -> int:
        """How many features signals of ``n_features`` numbers give, exactly after ``fit``."""

    @abstractmethod
    def fit(self, X: Any, y: Any = None, *, sample_weight: np.ndarray | None = None) -> FiniteDictionary:
        """Learn from the training signals what the features need."""

    @abstractmethod
    def candidates(self, X: Any, sample_weight: np.ndarray | None = None, *, fit_intercept: bool = True) -> Columns:
        """All features of ``X`` as an operator that a search multiplies with."""

    @abstractmethod
    def compute(self, X: Any, indices: np.ndarray) -> np.ndarray:
        """The given features of ``X``: shape (n_samples, len(indices))."""

    @abstractmethod
    def names(self, indices: np.ndarray, input_features: Any) -> np.ndarray:
        """What people call the given features."""
