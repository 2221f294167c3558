"""How many of the kept features are known to mean nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.assess._support import as_support, known_length


def probe_fraction(support: Any, probes: Any) -> float:
    r"""Share of the kept features that are probes: features put there to mean nothing.

    .. math:: \frac{|S \cap P|}{|S|}

    Parameters
    ----------
    support : mask, indices or fitted ranker
        The kept features :math:`S`; None for all of them.
    probes : mask or indices
        The probes :math:`P`.

    Returns
    -------
    float
        In [0, 1]; a false discovery proportion, so that LOWER is better. 0 where nothing is kept, since no probe is.

    Notes
    -----
    Read it beside the share of probes among all the features, which is what a random selection keeps. Data sets of the
    NIPS 2003 challenge come with probes; elsewhere, shuffled copies of true columns will do.

    References
    ----------
    Guyon, Gunn, Ben-Hur and Dror, "Result analysis of the NIPS 2003 feature selection challenge", NIPS 17, 2004.

    Examples
    --------
    >>> from tamis.assess import probe_fraction
    >>> probe_fraction([0, 3, 5, 6], probes=[4, 5, 7])
    0.25
    """
    if probes is None:
        raise ValueError("probes=None does not say which features are probes: give a mask or indices")
    n_features = known_length(support)
    if n_features is None:
        n_features = known_length(probes)
    planted = as_support(probes, n_features, allow_empty=True, name="probes")
    kept = as_support(support, n_features, allow_empty=True)
    return float(np.isin(kept, planted).mean()) if kept.size else 0.0
