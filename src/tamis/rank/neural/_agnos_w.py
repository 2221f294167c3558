"""AGNOS-W: an autoencoder with a group lasso on the weights of each feature."""

from __future__ import annotations

from typing import ClassVar

from tamis.rank.neural._agnos import AgnosRanker


class AgnosW(AgnosRanker):
    r"""Rank features by their weights in an autoencoder that may keep few of them.

    .. math:: L_W = \sum_{i=1}^D \|\hat f_i - f_i\|_2^2 + \lambda \sum_{i=1}^D \|W_{i,*}\|_2, \qquad
              \phi(x) = \tanh(W'x), \qquad \text{score}_i = \|W_{i,*}\|_\infty

    (Eqs. 4.5 and 4.6 of Doquet 2019).

    No target is used. Columns are standardized; constant columns and copies of another column never enter.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    mode, n_components, alpha, hidden_units, learning_rate, max_iter : as for AgnosS
        In the thesis's mode, :math:`\lambda` is ``alpha`` divided by the units of the bottleneck.
    batch_size, device, checkpoint, random_state : as for AgnosS

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. ``scores_`` when training ended, or when the feature was eliminated; NaN for columns
        that never entered.
    n_components_, dimension_, n_iter_, history_
        As for AgnosS.

    Notes
    -----
    By elimination (see AgnosS), a feature's score is the norm of its weights on the way to all reconstructions, the
    products of the encoder's and the decoder's: a unit that matters little to the reconstructions then lends little to
    the features it reads, which the largest weight alone cannot tell (Sec. 7.2.3). The group lasso is a proximal step
    in that norm, so that zeros are exact.

    Cost and memory as for AgnosS.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Secs. 4.4.1 and 7.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import AgnosW
    >>> rng = np.random.RandomState(0)
    >>> hidden = rng.standard_normal((100, 2))
    >>> X = np.repeat(hidden, [5, 5], axis=1) + 0.1 * rng.standard_normal((100, 10))
    >>> kept = AgnosW(stop=2, random_state=0).fit(X).get_support(indices=True)
    >>> sorted((kept // 5).tolist())  # one of each group
    [0, 1]
    """

    _score: ClassVar[str] = "weights"
