"""Index types of sparse tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def with_short_indices(X: Any) -> Any:
    """A sparse table with indices of 32 bits where these suffice: liblinear, libsvm and trees take no others.

    Values are shared with ``X``; anything but a table of sparse rows or columns comes back as it is.
    """
    if not (sparse.issparse(X) and X.format in ("csr", "csc")) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    short = type(X)(parts, shape=X.shape)
    short.has_sorted_indices = X.has_sorted_indices
    short.has_canonical_format = X.has_canonical_format
    return short
