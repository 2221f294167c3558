"""AGNOS-S: an autoencoder that reads every feature through a slack variable."""

from __future__ import annotations

from typing import ClassVar

from tamis.rank.neural._agnos import AgnosRanker


class AgnosS(AgnosRanker):
    r"""Rank features by how much an autoencoder needs them to recover all features.

    .. math:: L_S = \sum_{i=1}^D \|\hat f_i - f_i\|_2^2 + \lambda \sum_{i=1}^D |a_i|, \qquad
              \phi(x) = \tanh\big(W'(a \circ x)\big), \qquad \text{score}_i = |a_i|

    (Eqs. 4.12 and 4.13 of Doquet 2019): every feature enters the encoder through a slack variable :math:`a_i`, whose l1
    penalty keeps few of them. No target is used. Columns are standardized; constant columns and copies of another
    column never enter and are not ranked.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    mode : {"elimination", "thesis"}, default="elimination"
        "elimination" is faster and recovers more (see Notes); "thesis" trains as the thesis does: tanh on both sides,
        Adam on all samples, scores when training ends.
    n_components : int or "auto", default="auto"
        Units of the bottleneck. "auto" is the 2-NN dimension of the table, rounded up; by elimination at least 20 and
        at most 128, which only the dimension of tables whose columns share nothing exceeds.
    alpha : float or "auto", default="auto"
        Strength :math:`\lambda` of the penalty: 1 in the thesis; relative to the mean slack by elimination, 0.02.
    hidden_units : tuple of int, default=()
        Layers before the bottleneck, for "elimination".
    learning_rate : float or "auto", default="auto"
        Of Adam: 1e-3 in the thesis; relative to the size of the weights by elimination, 0.05.
    max_iter : int or "auto", default="auto"
        Steps of training: 3000 in the thesis, 350 by elimination.
    batch_size : int or "auto", default="auto"
        Rows per step. "auto" takes all rows of a table that fits on the device, and batches of a larger one; on the CPU
        batches of 10 000 rows of a table that has more.
    device : str, default="auto"
        Where torch computes; "auto" is the GPU if there is one.
    checkpoint : str, path or None, default=None
        File that keeps the state of the training: a run that was interrupted goes on from there to the same result.
        It is written whole every few seconds and removed when the run ends.
    random_state : int, RandomState instance or None, default=None
        Seed. By elimination little depends on it: the order of batches, and rounding.

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. ``scores_`` holds slack variables: when training ended, or, by elimination, when the
        feature was eliminated; the later, the better its rank. NaN for columns that never entered.
    n_components_ : int
        Units of the bottleneck.
    dimension_ : float
        2-NN dimension, where ``n_components`` was left to it.
    n_iter_ : int
        Steps of training.
    history_ : dict of ndarray
        ``loss`` and ``n_features`` in use at every step.

    Notes
    -----
    By elimination, the encoder starts at the principal components of the table. At each step the best linear decoder
    is known in closed form, behind noise on the inputs (see :math:`L` in ``_denoising``): a decoder that may not trust
    any single feature spreads its weight over what many share, as nearest neighbors do. Rows of W are scaled so that a
    slack variable is the feature's influence on the reconstructions (Sec. 7.2.3). After a proximal step on the slack
    variables, the least of them are set to zero for good, a share of them per step, until one remains (Sec. 7.2.1):
    the cost falls with them. Targets are the leading principal components, weighted by the fourth root of their size.

    Cost: about four passes over the table for the components, then O(n D d) for the first steps and geometrically less;
    memory: the table in single precision and a copy of the columns in use, or a batch of rows at a time where it does
    not fit, from a memory map, a sparse matrix or a dask array, whose rows should not be sorted across chunks. The
    stopping rule sees 2000 rows of a dask array, and the dimension is measured on 2000. Where 500 rows of 20 000
    columns share nothing, the bottleneck is as wide as it gets, and a fit takes half a minute of a processor.

    Rows of files (:class:`tamis.engine.FileTable`), and of other tables that are read in blocks, are read once: as many
    as the memory of the table holds, at 64 bytes an entry, are drawn at random over all of them, and the encoder and
    the stopping rule see these alone; the reason says how many. A fit looks at rows hundreds of times, neighboring rows
    of a file may be alike, and what is to be learned, how columns depend on each other, a sample tells. A table that
    fits as a whole gives what it gives in memory. Columns that are constant on the rows that were drawn are not ranked;
    entries that are no numbers are refused in any row.

    Deviations from the thesis: in its mode, the loss is averaged over samples, which reproduces its tables; the
    normalization of W is by its Frobenius norm after each step.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Secs. 4.4.3 and 7.2. Doquet and Sebag, "Agnostic feature
    selection", ECML PKDD 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import AgnosS
    >>> rng = np.random.RandomState(0)
    >>> hidden = rng.standard_normal((100, 2))
    >>> X = np.repeat(hidden, [5, 5], axis=1) + 0.1 * rng.standard_normal((100, 10))
    >>> kept = AgnosS(stop=2, random_state=0).fit(X).get_support(indices=True)
    >>> sorted((kept // 5).tolist())  # one of each group
    [0, 1]
    """

    _score: ClassVar[str] = "slack"
