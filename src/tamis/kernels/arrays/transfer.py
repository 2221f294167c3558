"""Small arrays from and to the device of a table.

scikit-learn's ``move_to`` finds out anew, at each call, which libraries the arrays are of: a tenth of a millisecond,
which a search that looks at a few numbers after each step on an accelerator pays dozens of times a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis._sklearn import (
    get_namespace_and_device,
    is_numpy_namespace,
    is_torch_array,
    max_precision_float_dtype,
    move_to,
)

Array = Any  # an array of any Array-API namespace


def is_on_host(X: Any) -> bool:
    """Whether a table is one of numpy or scipy; others may live on an accelerator, and belong to one thread."""
    return isinstance(X, np.ndarray) or sparse.issparse(X)


def to_numpy(values: Array) -> np.ndarray:
    """An array of any namespace and device as numpy; numpy's own pass at once, for this is called at every step."""
    if isinstance(values, np.ndarray):
        return values
    if is_torch_array(values):
        return values.detach().cpu().numpy()
    return move_to(values, xp=np, device="cpu")


def host_table(X: Any) -> Any:
    """A table on the host: one of numpy or scipy as it is, that of another library as numpy."""
    return X if is_on_host(X) else to_numpy(X)


def like(values: np.ndarray, X: Any) -> Array:
    """An array of numpy in the namespace, and on the device, of a table; labels that are no numbers stay numpy's."""
    xp, _, device = get_namespace_and_device(X)
    if is_numpy_namespace(xp) or values.dtype.kind in "OSU":
        return values
    return from_numpy(values, xp, device, max_precision_float_dtype(xp, device) if values.dtype.kind == "f" else None)


def from_numpy(values: np.ndarray, xp: Any, device: Any, dtype: Any = None) -> Array:
    """A numpy array in a namespace and on a device."""
    # torch does not wrap what may not be written, nor what is read backwards
    return xp.asarray(np.require(values, requirements=["C", "W"]), dtype=dtype, device=device)
