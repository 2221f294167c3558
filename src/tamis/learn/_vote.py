"""Several fitted pipelines, each on columns of its own, that vote."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from tamis.learn._choice import vote
from tamis.learn._fold_work import decision_values
from tamis.table._source_columns import take_columns


def _has_classes(vote_of: VoteOfPipelines) -> bool:
    return vote_of.classes is not None


def _has_two_classes(vote_of: VoteOfPipelines) -> bool:
    return vote_of.classes is not None and len(vote_of.classes) == 2


class VoteOfPipelines(BaseEstimator):
    """What most of the pipelines predict, or the mean of what they predict.

    Parameters
    ----------
    pipelines : list of fitted pipelines
    places : list of ndarray of int
        Columns of each, among those that the vote is given.
    classes : ndarray or None
        None for quantities.
    """

    def __init__(self, pipelines: list[Any], places: list[np.ndarray], classes: np.ndarray | None) -> None:
        self.pipelines = pipelines
        self.places = places
        self.classes = classes

    def predict(self, X: Any) -> np.ndarray:
        """Codes of classes, or quantities.

        Parameters
        ----------
        X : table with the columns that are kept

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        outputs = self._outputs(X)
        if self.classes is None:
            return vote(outputs, "regression")
        return self.classes[vote(np.searchsorted(self.classes, outputs), "classification")]

    @available_if(_has_classes)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Share of the pipelines that predict each class.

        Parameters
        ----------
        X : table with the columns that are kept

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        votes = self._outputs(X)
        return np.stack([(votes == label).mean(axis=1) for label in np.asarray(self.classes)], axis=1)

    @available_if(_has_two_classes)
    def decision_function(self, X: Any) -> np.ndarray:
        """:meth:`mean_ranks` from -1 to 1: they order these rows, and part no classes.

        Parameters
        ----------
        X : table with the columns that are kept

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        ranks = self.mean_ranks(X)
        return 2.0 * ranks / (ranks.size + 1) - 1.0

    def mean_ranks(self, X: Any) -> np.ndarray:
        """How much speaks for the second of two classes: the mean rank of each row among these rows.

        Of decision values of different models only the ranks can be averaged.

        Parameters
        ----------
        X : table with the columns that are kept

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = [
            decision_values(pipeline, take_columns(X, places))
            for pipeline, places in zip(self.pipelines, self.places, strict=True)
        ]
        return rankdata(values, axis=1).mean(axis=0)

    def _outputs(self, X: Any) -> np.ndarray:
        return np.column_stack(
            [
                pipeline.predict(take_columns(X, places))
                for pipeline, places in zip(self.pipelines, self.places, strict=True)
            ]
        )

    def __sklearn_is_fitted__(self) -> bool:
        return True
