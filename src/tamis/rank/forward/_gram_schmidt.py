"""Gram-Schmidt ranking (orthogonal least squares)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import StrOptions
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.solvers.group_search import GroupDirection, GroupSearch
from tamis.kernels.solvers.orthogonal_search import Direction, OrthogonalSearch
from tamis.rank.forward._least_squares import Idle, LeastSquaresRanker, starting_with


class GramSchmidt(LeastSquaresRanker):
    r"""Rank features by how much of the target they explain beyond the features before them.

    Step :math:`n` adds the candidate that leaves the smallest residual of the target,

    .. math:: \arg\max_j \cos^2(P x_j, P y) = \frac{(x_j^\top P y)^2}{\|P x_j\|^2 \|P y\|^2},
              \qquad P = I - X_S (X_S^\top X_S)^{-1} X_S^\top,

    with :math:`S` the features chosen before (Stoppiglia et al. 2003, Eq. 1 in the projected space; Lal et al. 2006,
    Eq. 11). With :math:`c > 2` classes, :math:`y` becomes the class indicators :math:`Y` and the step minimizes
    :math:`\det(Y^\top P Y)`, which is stepwise discriminant analysis by Wilks' lambda. A ``y`` of several columns of
    numbers is :math:`Y` itself: several targets, whose units do not matter, explained by the same features.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" is the calibrated random probe at a risk of 5 %, ``Probe(risk=0.05)``.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    multiclass : {"joint", "ovr", "ovo"}, default="joint"
        More than two classes jointly, or as one-vs-rest or one-vs-one problems whose selections are united
        (``subproblems_`` holds them).
    fit_intercept : bool, default=True
        Center the target and the features. The degrees of freedom of the stopping rules follow.
    orthogonalization : {"classical", "modified"}, default="classical"
        Classical or modified Gram-Schmidt, both repeated once: the same result to rounding.
    max_features : int, default=None
        End the path after this many steps, whatever the rule says.
    tol : float, default=None
        A candidate whose residual has less than this share of its squared norm is redundant and leaves the search;
        None is 1e-10, or 1e-5 for float32 input.
    dictionary : dictionary, default=None
        Source of candidates computed from ``X``, such as :class:`tamis.dictionary.Monomials`. Selected features are
        then the dictionary's: ``support_`` has one entry per candidate, ``transform`` computes the selected ones.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group enter together. The next group is
        the one that a random group of as many columns would least likely beat; ``scores_`` is then its squared multiple
        correlation with the residual of the target (one minus Wilks' lambda with more than two classes).

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. ``scores_`` is the squared cosine when the feature was chosen, NaN if it never was.
    estimator_ : LeastSquaresModel
        The linear model on the selected features; :meth:`model_at` gives it for any length of the path. With several
        targets its ``r2`` and ``press`` are over all of them, each in units of its standard deviation.
    redundant_ : dict
        For features of the path, the candidates that they made redundant.
    subproblems_ : dict
        Fitted rankers by class labels, with ``multiclass="ovr"`` or ``"ovo"``.

    Notes
    -----
    Cost: candidates are not projected but tracked by their inner products. Up to 6144 candidates a step is one pass
    over ``X`` (``X' q``) and O(n_features) memory. Above, a block of up to 24 steps needs one pass, exactly. A dense
    table with up to 600 columns and eight times as many rows, and any that is read in blocks of rows, is compressed
    first, in one pass of O(n_samples n_features^2), to a square one with the same norms and angles; leave-one-out
    errors take another pass for some dozens of steps. Where columns are nearly dependent it is compressed by an
    orthogonal factorization, so that no digits are lost. Sparse input is centered implicitly, float32 stays float32.
    Under scikit-learn's ``array_api_dispatch`` the search runs where ``X`` lives.

    Deviations from the paper: several classes at once; the search ends when the target is explained to rounding or all
    remaining candidates are redundant, so the order may be shorter than the list of features.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, "Ranking a random feature for variable and feature selection", JMLR 3, 2003.

    Examples
    --------
    >>> from tamis import GramSchmidt
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> selector = GramSchmidt().fit(X, y)
    >>> sorted(selector.order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    _parameter_constraints: ClassVar[dict] = {
        **LeastSquaresRanker._parameter_constraints,
        "orthogonalization": [StrOptions({"classical", "modified"})],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        task: str = "auto",
        multiclass: str = "joint",
        fit_intercept: bool = True,
        orthogonalization: str = "classical",
        max_features: int | None = None,
        tol: float | None = None,
        dictionary: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.task = task
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.orthogonalization = orthogonalization
        self.max_features = max_features
        self.tol = tol
        self.dictionary = dictionary
        self.groups = groups

    def _directions(
        self, columns: Columns, Y: np.ndarray, n_top: int | None, keep: np.ndarray
    ) -> Iterator[Direction | Idle]:
        search = OrthogonalSearch(columns, Y, orthogonalization=self.orthogonalization, tol=self.tol, limit=n_top)
        return starting_with(search, keep)

    def _group_directions(
        self, columns: Columns, members: list[np.ndarray], Y: np.ndarray, keep: np.ndarray
    ) -> Iterable[GroupDirection | Idle]:
        return starting_with(GroupSearch(columns, members, Y, tol=self.tol), keep)
