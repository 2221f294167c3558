"""What is refused, or read otherwise, before a table or a target is looked at: containers that would mislead."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

_MOST_NAMED = 5
_MOST_SHOWN = 40  # characters of a name in an error


def check_container(values: Any, role: str = "X") -> Any:
    """The same table or target, masked entries of numpy as missing ones; others that cannot be read are refused.

    Parameters
    ----------
    values : table or target of any library
    role : str, default="X"
        What people call it.
    """
    values = fill_masked(values)
    if nw.dependencies.is_polars_lazyframe(values):
        raise ValueError(f"{role} is a LazyFrame, which holds no rows yet: give {role}.collect()")
    if type(values).__module__.partition(".")[0] == "torch":
        _check_tensor(values, role)
    if sparse.issparse(values):
        _check_sparse_indices(values, role)
    if isinstance(values, np.ndarray) and values.dtype.names is not None:
        raise ValueError(
            f"{role} is a structured array of the fields {', '.join(map(shown, values.dtype.names[:_MOST_NAMED]))}: "
            "give pandas.DataFrame(...) of it, or numpy.lib.recfunctions.structured_to_unstructured"
        )
    if _is_complex(getattr(values, "dtype", None)):
        raise ValueError(f"Complex data not supported: {role} holds complex numbers; give their parts as columns")
    if nw.dependencies.is_pandas_dataframe(values):
        _check_names(values, role)
        if any(map(_is_complex, pandas_dtypes(values))):
            guilty = [name for name, dtype in zip(values.columns, values.dtypes, strict=True) if _is_complex(dtype)]
            raise ValueError(
                f"Complex data not supported: column {shown(guilty[0])} of {role} holds complex numbers; give their "
                "parts as columns"
            )
    return values


def pandas_dtypes(frame: Any) -> set[Any]:
    """Types that the columns of a data frame of pandas have: few, however many columns there are."""
    return set(frame.dtypes.to_numpy())


def fill_masked(values: Any) -> Any:
    """The same, masked entries of numpy as missing ones: scikit-learn would take what is under the mask."""
    return _fill_masked(values) if isinstance(values, np.ma.MaskedArray) else values


def shown(name: Any) -> str:
    """A name in quotes, on one line and not too long, as errors show it."""
    text = str(name)
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}...")


def check_two_dimensional(X: Any) -> None:
    """Refuse tables of other shapes than rows x columns."""
    shape = getattr(X, "shape", None)
    if isinstance(X, int | float | complex | np.generic) and not isinstance(X, np.void):
        shape = ()
    if not isinstance(shape, tuple) or len(shape) == 2:
        return
    if len(shape) == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead: X has shape {shape}. Reshape your data using X.reshape(-1, 1) "
            "if it is one feature, or X.reshape(1, -1) if it is one row"
        )
    what = "scalar array" if not shape else f"{len(shape)}D array"
    raise ValueError(f"Expected 2D array, got {what} instead: X has shape {shape}, and needs rows x columns")


def _is_complex(dtype: Any) -> bool:
    return getattr(dtype, "kind", "") == "c"


def _check_tensor(tensor: Any, role: str) -> None:
    """Refuse tensors whose values numpy cannot read, or that belong to a training."""
    if getattr(tensor, "requires_grad", False) is True:
        raise ValueError(f"{role} is a tensor that tracks gradients, which a ranking has not: give {role}.detach()")
    if getattr(tensor, "is_meta", False):
        raise ValueError(f"{role} is a tensor on the device 'meta', which holds no values")
    if (layout := str(getattr(tensor, "layout", "torch.strided"))) != "torch.strided":
        raise ValueError(f"{role} is a tensor of layout {layout}: give {role}.to_dense(), or a sparse array of scipy")
    dtype = str(getattr(tensor, "dtype", ""))
    if "complex" in dtype:
        raise ValueError(f"Complex data not supported: {role} holds complex numbers; give their parts as columns")
    if dtype == "torch.bfloat16" or "float8" in dtype:
        raise ValueError(f"{role} is a tensor of {dtype}, which numpy has not: give {role}.float()")


def _check_sparse_indices(table: Any, role: str) -> None:
    """Refuse sparse tables whose indices point outside: compiled code would follow them."""
    outside = "" if table.ndim == 2 else f"it has shape {table.shape}"
    if table.format in ("csr", "csc", "bsr"):
        try:
            table.check_format(full_check=True)
        except ValueError as error:
            outside = str(error).partition("\n")[0]
    elif table.format == "coo":
        for indices, size in zip(table.coords, table.shape, strict=True):
            if indices.size and not 0 <= indices.min() <= indices.max() < size:
                outside = f"it has an index {max(indices.max(), -indices.min())} along an axis of {size}"
    if outside:
        raise ValueError(f"{role} is a sparse table that does not hold together: {outside}; build it anew")


def _fill_masked(values: Any) -> np.ndarray:
    if not np.ma.is_masked(values):
        return np.asarray(values)
    if values.dtype.kind in "fiub":
        return np.asarray(values.astype(float).filled(np.nan))
    return np.asarray(values.astype(object).filled(None))


def _check_names(frame: Any, role: str) -> None:
    """Refuse columns of one name: no answer by name would say which of them is meant."""
    if frame.columns.is_unique:
        return
    times = {shown(name): count for name, count in Counter(frame.columns).items() if count > 1}
    named = ", ".join(f"{count} columns {name}" for name, count in list(times.items())[:_MOST_NAMED])
    more = f" and {len(times) - _MOST_NAMED} more such names" if len(times) > _MOST_NAMED else ""
    raise ValueError(f"{role} has {named}{more}: give each column a name of its own")
