"""What the two orthogonal least-squares rankers share: candidates, steps, model, weights, dictionaries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import HasMethods, Interval, StrOptions, check_feature_names_in
from tamis.base import GROUPS_CONSTRAINT, Candidates, DictionaryCandidates, SequentialRanker, Step, WeightedRanker
from tamis.base._new_rows import check_new_rows
from tamis.base._validation import known_names
from tamis.engine import CompressedColumns, RowBlocks
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.targets import Target, encode_classes, encode_target, infer_task
from tamis.kernels.solvers.group_search import ColumnDirection, GroupDirection, GroupSearch
from tamis.kernels.solvers.orthogonal_search import Direction, OrthogonalSearch
from tamis.rank._subproblems import SubproblemMixin
from tamis.rank.forward._least_squares_errors import Idle, directions_of, errors_in_rows, errors_of_tall
from tamis.rank.forward._least_squares_model import LeastSquaresModel, Term, model_from_path


class LeastSquaresRanker(SubproblemMixin, WeightedRanker, SequentialRanker):
    """Sequential ranker whose k-th step extends a linear model: it provides ``"nested_linear"``.

    Rules that require ``"nested_linear"`` find in every ``Step.info``: ``dof`` (dimension of the space in which the
    step's squared cosine was taken), ``n_candidates``, ``n_targets``, ``r2`` and ``press``; and may ask the ranker for
    ``fit_intercept``, ``null_press_`` and :meth:`encode_target` to look at the data again.
    """

    units: ClassVar[str | None] = "columns"
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {
        "array_api",
        "dask",
        "dictionary",
        "groups",
        "nested_linear",
        "row_blocks",
        "several_targets",
        "sparse",
    }
    natural_stop: ClassVar = ("probe", {"risk": 0.05})

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "task": [StrOptions({"auto", "regression", "classification"})],
        "multiclass": [StrOptions({"joint", "ovr", "ovo"})],
        "fit_intercept": ["boolean"],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, 1, closed="neither"), None],
        "dictionary": [HasMethods(["compute"]), None],
        "groups": GROUPS_CONSTRAINT,
    }

    fit_intercept: bool
    max_features: int | None
    tol: float | None
    dictionary: Any
    groups: Any

    @abstractmethod
    def _directions(
        self, columns: Columns, Y: np.ndarray, n_top: int | None, keep: np.ndarray
    ) -> Iterator[Direction | Idle]:
        """The method's search, from the candidates that stay on."""

    @abstractmethod
    def _group_directions(
        self, columns: Columns, members: list[np.ndarray], Y: np.ndarray, keep: np.ndarray
    ) -> Iterable[GroupDirection | Idle]:
        """The same among groups of columns."""

    def _make_candidates(self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None) -> Candidates:
        if self.dictionary is not None and self.groups is not None:
            raise ValueError("groups are of columns of X, but a dictionary computes other features: give one of them")
        if self.dictionary is None:
            return super()._make_candidates(X, y, sample_weight)
        if isinstance(X, RowBlocks):
            raise ValueError("a dictionary computes features of rows in memory, and X is read in blocks: give an array")
        return DictionaryCandidates(
            _readable(X, _finite(self.dictionary)),
            self.dictionary,
            self._check_drawn(np.asarray(y)),
            sample_weight=sample_weight,
            column_names=known_names(self),
        )

    def _check_drawn(self, y: np.ndarray) -> np.ndarray:
        """The target as dictionaries know it, codes of classes or numbers, unless problems could not share features."""
        task = infer_task(y) if self.task == "auto" else self.task
        if task == "regression":
            return y
        classes, codes = encode_classes(y)
        if classes.size > 2 and self.multiclass != "joint" and getattr(self.dictionary, "is_drawn", False):
            raise ValueError(
                f"multiclass='{self.multiclass}' ranks for several problems, each of which would draw another "
                f"{type(self.dictionary).__name__}; use multiclass='joint'"
            )
        return codes

    def feature_name(self, j: int) -> str:
        """What people call feature ``j`` of ``support_``, after ``fit``."""
        if self.dictionary is None:
            return super().feature_name(j)
        return str(self.dictionary_.names(np.array([j]), check_feature_names_in(self))[0])

    def encode_target(self, y: np.ndarray) -> np.ndarray:
        """The target as columns: the quantity, or indicators of the classes."""
        return encode_target(y, self.task).in_safe_units().values

    def search(
        self, candidates: Candidates, values: np.ndarray, *, in_rows: bool = False
    ) -> OrthogonalSearch | GroupSearch:
        """A search among the candidates for what explains the target columns, at its start.

        That of a tall table is among compressed columns, unless it is wanted in the rows of the table.
        """
        columns, values = self._columns(candidates, values, in_rows)
        if candidates.members is None:
            return OrthogonalSearch(columns, values, tol=self.tol)
        return GroupSearch(columns, candidates.members, values, tol=self.tol)

    def _columns(self, candidates: Candidates, values: np.ndarray, in_rows: bool = False) -> tuple[Columns, np.ndarray]:
        """Columns to search among, with the targets in the same rows."""
        # leave-one-out errors of a tall table are computed of dense rows
        is_in_rows = (in_rows and not candidates.in_blocks) or sparse.issparse(candidates.table)
        compressed = None if is_in_rows else candidates.compressed_rows(values, fit_intercept=self.fit_intercept)
        if compressed is None:
            return candidates.as_columns(fit_intercept=self.fit_intercept), values
        return compressed, compressed.targets

    def _steps(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Iterator[Step]:
        target = encode_target(np.asarray(y), self.task).in_safe_units()
        columns, values = self._columns(candidates, target.values)
        self._set_null_model(columns, target, candidates.sample_weight)
        is_open = n_top is None  # a rule decides, and may ask for the shape of residuals
        n_top = min((most for most in (n_top, self.max_features) if most is not None), default=None)
        n_top = None if n_top is None else max(n_top, candidates.keep.size)
        if candidates.members is None:
            directions: Iterable[Any] = self._directions(columns, values, n_top, candidates.keep)
        else:
            directions = self._group_directions(columns, candidates.members, values, candidates.keep)
        return islice(self._described(candidates, columns, target.values, directions, n_top, is_open), n_top)

    def _path_along(self, candidates: Candidates, y: np.ndarray | None, order: np.ndarray) -> tuple[Step, ...]:
        values = self.encode_target(np.asarray(y))
        search = self.search(candidates, values)
        directions = search.follow(order.tolist())
        return tuple(self._described(candidates, search.columns, values, directions, order.size))

    def _described(
        self,
        candidates: Candidates,
        columns: Columns,
        values: np.ndarray,
        directions: Iterable[Direction | GroupDirection | Idle],
        n_top: int | None,
        with_shape: bool = False,
    ) -> Iterator[Step]:
        """Directions as steps, with the error of the least-squares model that they build."""
        errors: Iterator[tuple[Any, dict[str, Any]]]
        if isinstance(columns, CompressedColumns):
            errors = errors_of_tall(columns, values, directions, n_top, with_shape=with_shape)
        else:
            errors = errors_in_rows(
                columns, values, directions, fit_intercept=self.fit_intercept, with_shape=with_shape
            )
        n_terms = 0
        for place, (step, error) in enumerate(errors):
            added = directions_of(step)
            yield Step(
                step.feature,
                step.cos2,
                {
                    # dimension of the space in which the step's angle is taken: N - n once an intercept is out
                    "dof": columns.total - n_terms - int(self.fit_intercept),
                    "n_candidates": step.n_candidates,
                    "n_targets": step.n_targets,
                    "n_columns": len(added),
                    **error,
                    "redundant": np.array([candidates.label(j) for j in step.redundant.tolist()]),
                    "orthogonality": step.orthogonality_loss,
                    "terms": self._terms(candidates, columns, step, added),
                    "forced": place < candidates.keep.size,
                },
            )
            n_terms += len(added)

    def _terms(
        self,
        candidates: Candidates,
        columns: Columns,
        step: Direction | GroupDirection | Idle,
        added: Sequence[Direction | ColumnDirection],
    ) -> tuple[Term, ...]:
        """What the model needs to know of a step; columns of a candidate that adds nothing have a weight of zero."""
        if not isinstance(step, Idle):
            return tuple(_term(columns, each) for each in added)
        nothing = np.zeros(len(self._target_mean))
        own = candidates.columns_of(np.array([step.feature])).tolist()
        return tuple(Term(j, np.empty(0), nothing, 0.0) for j in own)

    def _set_null_model(self, columns: Columns, target: Target, weight: np.ndarray | None) -> None:
        """The model of no feature: the mean target, and its leave-one-out error ``null_press_``."""
        values = target.values
        mean = np.average(values, axis=0, weights=weight) if self.fit_intercept else np.zeros(values.shape[1])
        share = np.ones(len(values)) if weight is None else weight
        left_out = (values - mean) / (1 - share[:, None] / columns.total if self.fit_intercept else 1.0)
        self._target_mean = tuple(mean)
        self._target_scale = target.scale
        self.null_press_ = float(np.sum(share[:, None] * left_out**2) / columns.total)
        if target.classes is not None:
            self.classes_ = target.classes

    def _certificate(self, path: Sequence[Step]) -> dict[str, Any]:
        loss = max((step.info["orthogonality"] for step in path), default=0.0)
        return {"converged": True, "n_iter": len(path), "orthogonality": loss}

    def model_at(self, n_features: int) -> LeastSquaresModel:
        """Least-squares model on the first ``n_features`` of the path, without refitting."""
        check_is_fitted(self)
        if hasattr(self, "subproblems_"):
            raise ValueError("several problems have no single model; subproblems_ holds a fitted ranker for each")
        if not 0 <= n_features <= len(self.path_):
            raise ValueError(f"n_features={n_features}, but the path holds {len(self.path_)} steps")
        starts = [
            place == 0 or step.info["terms"] is not self.path_[place - 1].info["terms"]
            for place, step in enumerate(self.path_)
        ]  # columns of a group have their step in common
        if n_features < len(self.path_) and not starts[n_features]:
            raise ValueError(f"the first n_features={n_features} columns of the path end within a group of them")
        steps = [step for step, is_first in zip(self.path_[:n_features], starts, strict=False) if is_first]
        classes = self.classes_ if hasattr(self, "classes_") else None
        return model_from_path(steps, np.array(self._target_mean), classes, self.null_press_, self._target_scale)

    @property
    def estimator_(self) -> LeastSquaresModel:
        """The least-squares model on the selected features."""
        if hasattr(self, "subproblems_"):
            raise AttributeError("several problems have no single model; subproblems_ holds a fitted ranker for each")
        return self.model_at(self.stop_.n_features)

    @property
    def redundant_(self) -> dict[int, np.ndarray]:
        """Per feature of the path, or label of a group, the candidates in the span of the path since it was added."""
        check_is_fitted(self)
        redundant = ((step.info.get("group", step.feature), step.info["redundant"]) for step in self.path_)
        return {feature: others for feature, others in redundant if others.size}

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of ``X``, or compute the selected features of the dictionary.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        table of shape (n_samples, n_selected)
        """
        if self.dictionary is None:
            return super().transform(X)
        check_is_fitted(self)
        X = check_new_rows(self, X, accept_sparse=_takes_sparse(self.dictionary))
        return self.dictionary_.compute(X, self.get_support(indices=True))

    def inverse_transform(self, X: Any) -> Any:
        """Put the selected columns back in their places, with zeros where others were.

        Parameters
        ----------
        X : table of shape (n_samples, n_selected)

        Returns
        -------
        table of shape (n_samples, n_features)
        """
        if self.dictionary is not None:
            raise ValueError("features computed by a dictionary cannot be turned back into the variables")
        return super().inverse_transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the selected features; a dictionary's are made from the names of its variables."""
        if self.dictionary is None:
            return super().get_feature_names_out(input_features)
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        return self.dictionary_.names(self.get_support(indices=True), names)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.dictionary is not None:
            tags.input_tags.sparse = _takes_sparse(self.dictionary)
            tags.array_api_support = False
        return tags


def starting_with(search: Any, keep: np.ndarray, steps: Iterable[Any] | None = None) -> Iterator[Any]:
    """Steps of a search that first takes the given candidates; then its own, or those given."""
    for candidate in keep.tolist():
        yield next(search.follow([candidate]), Idle(candidate))
    yield from search if steps is None else steps


def _term(columns: Columns, direction: Direction | ColumnDirection) -> Term:
    """What the model needs to know of a column."""
    mean = float(columns.means(np.array([direction.feature]))[0])
    return Term(direction.feature, direction.loading, direction.projection, mean)


def _finite(dictionary: Any) -> Any:
    if not hasattr(dictionary, "candidates"):
        name = type(dictionary).__name__
        raise ValueError(
            f"{name} has infinitely many features, and this method ranks a finite set of them; give "
            f"dictionary=Pool({name}(...)), from tamis.dictionary"
        )
    return dictionary


def _takes_sparse(dictionary: Any) -> bool:
    return getattr(dictionary, "accepts_sparse", False)


def _readable(X: Any, dictionary: Any) -> Any:
    if not isinstance(X, np.ndarray) and not (sparse.issparse(X) and _takes_sparse(dictionary)):
        kind = "a sparse one; give X.toarray()" if sparse.issparse(X) else type(X).__name__
        raise ValueError(f"{type(dictionary).__name__} computes its features from a dense numpy table, not {kind}")
    return X
