"""What a linear classifier on selected feature maps does once it is fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import check_feature_names_in
from tamis.dictionary._base import FiniteDictionary
from tamis.learn._candidates import Block, compute_columns
from tamis.learn._signals import check_new_signals

Stage = tuple[list[Block], np.ndarray, np.ndarray]  # maps, weights (n_maps, n_columns, n_targets), intercepts


class MapClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Base of classifiers whose ``fit`` sets ``dictionary_``, ``classes_``, ``coef_``, ``intercept_`` and the maps."""

    _kept: list[Block]
    _stages: list[Stage]

    def transform(self, X: Any) -> np.ndarray:
        """The selected features of signals, scaled as on the training signals.

        Parameters
        ----------
        X : array of shape (n_samples, ...)

        Returns
        -------
        ndarray of shape (n_samples, n_selected * n_columns)
        """
        check_is_fitted(self)
        return self._columns(X, self._kept)

    def _columns(self, X: Any, kept: list[Block]) -> np.ndarray:
        signals = check_new_signals(self, X)
        finite = isinstance(self.dictionary_, FiniteDictionary)
        return compute_columns(self.dictionary_, signals if finite else self.dictionary_.prepare(signals), kept)

    def decision_function(self, X: Any) -> np.ndarray:
        """How far signals are on a class's side: one figure for two classes, one per class otherwise.

        Parameters
        ----------
        X : array of shape (n_samples, ...)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        outputs = self.transform(X) @ self.coef_.T + self.intercept_
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: Any) -> np.ndarray:
        """Class of each signal.

        Parameters
        ----------
        X : array of shape (n_samples, ...)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(self.decision_function(X))

    def _decide(self, outputs: np.ndarray) -> np.ndarray:
        codes = (outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)
        return self.classes_[codes]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Class of each signal after every round.

        Parameters
        ----------
        X : array of shape (n_samples, ...)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        every = {block.key: block for kept, _, _ in self._stages for block in kept}
        place = {key: i for i, key in enumerate(every)}
        columns = self._columns(X, list(every.values()))
        by_block = columns.reshape(len(columns), len(every), self.dictionary_.n_columns)
        for kept, weights, intercept in self._stages:
            rows = [place[block.key] for block in kept]
            outputs = np.einsum("nmq,mqk->nk", by_block[:, rows], weights) + intercept
            yield self._decide(outputs[:, 0] if outputs.shape[1] == 1 else outputs)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of what :meth:`transform` gives."""
        check_is_fitted(self)
        if not self._kept:
            return np.empty(0, dtype=object)
        parameters = np.stack([block.parameter for block in self._kept])
        if not isinstance(self.dictionary_, FiniteDictionary):
            is_table = len(self.signal_shape_) == 1
            return self.dictionary_.names(
                parameters, check_feature_names_in(self, input_features) if is_table else input_features
            )
        width = self.dictionary_.n_columns
        indices = (parameters[:, None] * width + np.arange(width)).ravel()
        return self.dictionary_.names(indices, check_feature_names_in(self, input_features))
