"""Forward selection on the residual alone (orthogonal matching pursuit), and the order of least-angle regression."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from tamis._sklearn import StrOptions, move_to
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.copies import distinct_columns
from tamis.kernels.solvers.group_search import GroupDirection, GroupSearch
from tamis.kernels.solvers.orthogonal_search import Direction, OrthogonalSearch
from tamis.rank.forward._least_squares import Idle, LeastSquaresRanker, starting_with


class ForwardLeastSquares(LeastSquaresRanker):
    r"""Rank features by their fit to what the features before them leave of the target.

    .. math:: \arg\max_j \frac{(x_j^\top P y)^2}{\|x_j\|^2 \|P y\|^2},
              \qquad P = I - X_S (X_S^\top X_S)^{-1} X_S^\top

    (Lal et al. 2006, Sec. 2.2): only the target is projected, not the candidates as in :class:`GramSchmidt`. The two
    differ when features are correlated; this one is orthogonal matching pursuit.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" is ``Probe(risk=0.05)``.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    algorithm : {"omp", "lars"}, default="omp"
        "lars" takes the order in which features enter scikit-learn's least-angle regression instead (one target only).
    task : {"auto", "regression", "classification"}, default="auto"
    multiclass : {"joint", "ovr", "ovo"}, default="joint"
    fit_intercept : bool, default=True
    max_features : int, default=None
        End the path after this many steps.
    tol : float, default=None
        Share of its squared norm below which a candidate is redundant.
    dictionary : dictionary, default=None
        Source of computed candidates, as for :class:`GramSchmidt` (``algorithm="omp"`` only).
    groups : array-like of shape (n_features,) or mapping, default=None
        Columns that enter together, as for :class:`GramSchmidt` (``algorithm="omp"`` only).

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_, estimator_, redundant_, subproblems_
        As for :class:`GramSchmidt`; ``scores_`` is the squared cosine in the projected space, so that the same
        stopping rules apply.

    Notes
    -----
    Cost: as :class:`GramSchmidt`; ``algorithm="lars"`` holds a dense, standardized copy of the columns. Deviation from
    the paper: candidates need no scaling to unit norm, the criterion divides by it.

    References
    ----------
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006.

    Examples
    --------
    >>> from tamis import ForwardLeastSquares
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(ForwardLeastSquares(stop=5).fit(X, y).get_support(indices=True).tolist())
    [0, 1, 2, 3, 4]
    """

    _parameter_constraints: ClassVar[dict] = {
        **LeastSquaresRanker._parameter_constraints,
        "algorithm": [StrOptions({"omp", "lars"})],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        algorithm: str = "omp",
        task: str = "auto",
        multiclass: str = "joint",
        fit_intercept: bool = True,
        max_features: int | None = None,
        tol: float | None = None,
        dictionary: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.algorithm = algorithm
        self.task = task
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_features = max_features
        self.tol = tol
        self.dictionary = dictionary
        self.groups = groups

    def _directions(
        self, columns: Columns, Y: np.ndarray, n_top: int | None, keep: np.ndarray
    ) -> Iterator[Direction | Idle]:
        search = OrthogonalSearch(
            columns, Y, project_candidates=False, tol=self.tol, limit=n_top if self.algorithm == "omp" else None
        )
        if self.algorithm == "omp":
            return starting_with(search, keep)
        if self.dictionary is not None or Y.shape[1] > 1:
            raise ValueError(
                "algorithm='lars' takes neither a dictionary nor more than two classes at once; use algorithm='omp', "
                "or multiclass='ovr' or 'ovo'"
            )
        order = [j for j in _lars_order(columns, search, n_top) if j not in keep]
        return starting_with(search, keep, search.follow(order))

    def _group_directions(
        self, columns: Columns, members: list[np.ndarray], Y: np.ndarray, keep: np.ndarray
    ) -> Iterable[GroupDirection | Idle]:
        if self.algorithm == "lars":
            raise ValueError("algorithm='lars' takes no groups of columns; use algorithm='omp'")
        return starting_with(GroupSearch(columns, members, Y, project_candidates=False, tol=self.tol), keep)


def _lars_order(columns: Columns, search: OrthogonalSearch, limit: int | None) -> list[int]:
    """Order in which the standardized columns enter least-angle regression."""
    size = move_to(columns.norm2, xp=np, device="cpu")
    varying = np.flatnonzero(size > 0)
    Z, Y = move_to(columns.columns(varying), search.Y, xp=np, device="cpu")
    Z = Z / np.sqrt(size[varying])
    y = Y[:, 0] * (len(Y) / (np.linalg.norm(Y[:, 0]) or 1.0))  # the path ends at an absolute covariance of rounding
    distinct = distinct_columns(Z, np.ones(varying.size))  # equal ones would tie all along the path
    Z, varying = Z[:, distinct], varying[distinct]
    n_steps = min(Z.shape) if limit is None else limit
    while True:
        max_iter = 2 * n_steps + 8  # features that depend on the active ones are tried, too, and dropped
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            alphas, active, _ = lars_path(Z, y, max_iter=max_iter, method="lar")
        if len(active) >= n_steps or len(alphas) <= max_iter:
            return varying[active[:n_steps]].tolist()
        n_steps *= 2
