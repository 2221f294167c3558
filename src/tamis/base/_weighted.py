"""The base of methods whose rows may be weighted."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis._sklearn import fit_context
from tamis.base._ranker import Ranker


class WeightedRanker(Ranker):
    """A supervised ranker whose ``fit`` takes weights of the rows, which candidates then carry."""

    provides: ClassVar[frozenset[str]] = Ranker.provides | {"sample_weight"}

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, row_groups: Any = None) -> WeightedRanker:
        """Rank the features of ``X`` and decide how many to keep.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts; stopping rules take its sum as the number of samples.
        row_groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as those of one patient, for rules that split rows.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, row_groups)
        return self
