"""What the estimators of intrinsic dimension share: validation, standardization, and the error by subsampling."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.parallel import Parallel, delayed

from tamis._sklearn import Interval, fit_context, get_namespace_and_device, is_numpy_namespace, move_to, safe_indexing
from tamis.base import Shared, scattered
from tamis.base._row_sample import MAX_SAMPLES_CONSTRAINT, draw_rows
from tamis.base._validation import check_array_library, check_not_lost_to_rounding, check_table
from tamis.kernels.arrays.scaling import rescale_safely, standardize_columns
from tamis.kernels.arrays.tolerances import floor_count

_LEAST_SAMPLES = 3  # two points have one distance, which can be compared with nothing


class DimensionEstimator(BaseEstimator):
    """Base of every estimator: ``fit`` = validate, draw rows, standardize, estimate, subsample.

    A method writes :meth:`_estimate`. The class attribute ``provides`` says which input it takes besides dense numpy:
    "sparse", "array_api".
    """

    provides: ClassVar[frozenset[str]] = frozenset()

    _parameter_constraints: ClassVar[dict] = {
        "standardize": ["boolean"],
        "n_subsamples": [Interval(Integral, 0, None, closed="left")],
        "subsample": [Interval(Real, 0, 1, closed="neither")],
        "max_samples": MAX_SAMPLES_CONSTRAINT,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        standardize: bool = True,
        n_subsamples: int = 20,
        subsample: float = 0.8,
        max_samples: int | None = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.standardize = standardize
        self.n_subsamples = n_subsamples
        self.subsample = subsample
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _estimate(self, state: Any, rows: np.ndarray, rng: np.random.RandomState) -> float:
        """Dimension of the given rows of what :meth:`_prepare` made: the one hook that a method writes."""

    def _prepare(self, X: Any) -> Any:
        """What all estimates on rows of ``X`` have in common; by default ``X`` itself."""
        return X

    def _local(self, state: Any) -> np.ndarray | None:
        """Dimension around each sample, where the method knows it."""
        return None

    def name_features(self, names: Sequence[str]) -> DimensionEstimator:
        """Name the columns of tables that carry no names, so that errors speak of them.

        Parameters
        ----------
        names : sequence of str
            One per column.

        Returns
        -------
        self
        """
        self._feature_names = list(names)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> DimensionEstimator:
        """Estimate the dimension of the rows of ``X``.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        check_array_library(self, X, self.provides)
        table, _ = check_table(self, X, accept_sparse="sparse" in self.provides)
        if table.shape[0] < _LEAST_SAMPLES:
            raise ValueError(
                f"{type(self).__name__} needs at least {_LEAST_SAMPLES} samples, and X has {table.shape[0]}"
            )
        check_not_lost_to_rounding(table)
        rows = draw_rows(table.shape[0], self.max_samples, self.random_state)
        taken = np.arange(table.shape[0]) if rows is None else rows
        table = table if rows is None else safe_indexing(table, rows)
        state = self._prepare(self._measurable(table))
        rng = check_random_state(self.random_state)
        everything = np.arange(table.shape[0])
        self.dimension_ = self._estimate(state, everything, rng)
        draws, size = self._subsample(state, everything.size, rng)
        known = np.isfinite(self.dimension_)
        self.standard_error_ = standard_error(draws, everything.size, size) if known else None
        arrays = {"subsample_dimensions_": draws, "local_dimension_": self._local(state)}
        for name, values in arrays.items():
            if values is not None:
                setattr(self, name, _like(values, table))
        xp, _, device = get_namespace_and_device(table)
        self.sample_indices_ = taken if is_numpy_namespace(xp) else move_to(taken, xp=xp, device=device)
        return self

    def _measurable(self, table: Any) -> Any:
        """The table in units in which distances mean something and their squares neither overflow nor vanish."""
        searches_neighbors = "array_api" in self.provides  # in any kind of table, which is centered on the way
        table = table if searches_neighbors else table.astype(float, copy=False)
        if self.standardize:
            return standardize_columns(table)
        table = rescale_safely(table)
        if searches_neighbors:
            return table.tocsr() if sparse.issparse(table) else table
        return table - table.mean(axis=0)  # distances stay, digits are saved

    def _subsample(self, state: Any, n_samples: int, rng: np.random.RandomState) -> tuple[np.ndarray, int]:
        """Dimensions of random subsamples, and how many rows each has."""
        size = max(floor_count(self.subsample * n_samples), _LEAST_SAMPLES)
        n_draws = self.n_subsamples if size < n_samples else 0
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_draws)
        shared = Shared(state)
        with scattered([shared]):
            estimates = Parallel(n_jobs=self.n_jobs)(
                delayed(_estimate_draw)(self, shared, n_samples, size, seed) for seed in seeds
            )
        return np.array(estimates, dtype=float), size

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = "sparse" in self.provides
        tags.array_api_support = "array_api" in self.provides
        return tags


def _estimate_draw(estimator: DimensionEstimator, state: Shared[Any], n_samples: int, size: int, seed: int) -> float:
    """Dimension of rows drawn without replacement."""
    rng = np.random.RandomState(seed)
    return estimator._estimate(state.value, np.sort(rng.choice(n_samples, size, replace=False)), rng)


def standard_error(draws: np.ndarray, n_samples: int, size: int) -> float | None:
    r"""Delete-d jackknife from random subsamples: :math:`\sqrt{b / (n - b)}` times their standard deviation.

    Subsamples of b among n rows share most of these, so that they differ less than two samples of n rows would
    (Shao and Wu 1989). It suits smooth statistics, such as :class:`PairwiseSparsity`, and is too large rather than too
    small for those of nearest neighbors, which leave their old neighbors behind.
    None where fewer than two finite estimates are at hand.
    """
    if draws.size < 2 or not np.all(np.isfinite(draws)):
        return None
    return float(np.sqrt(size / (n_samples - size)) * np.std(draws, ddof=1))


def _like(values: np.ndarray, table: Any) -> Any:
    """The values in the namespace, on the device and in the precision of the table."""
    xp, _, device = get_namespace_and_device(table)
    values = values.astype(np.float32 if table.dtype == xp.float32 else float, copy=False)
    return values if is_numpy_namespace(xp) else move_to(values, xp=xp, device=device)


def rows_of(table: Any, rows: np.ndarray) -> Any:
    """The given rows; the table itself, not a copy, where these are all."""
    return table if rows.size == table.shape[0] else safe_indexing(table, rows)
