"""Loaders for the papers' real data sets, which lie outside the package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch


def data_folder() -> Path:
    """Folder of the real data sets: the variable ``TAMIS_DATA``, else ``../shared/data`` beside a source checkout."""
    if folder := os.environ.get("TAMIS_DATA"):
        return Path(folder)
    return Path(__file__).resolve().parents[4] / "shared" / "data"


def names() -> list[str]:
    """Names that :func:`load` knows on this machine."""
    return sorted(path.stem for path in data_folder().glob("*.npz"))


def load(name: str) -> Bunch:
    """Load a real data set by name.

    Parameters
    ----------
    name : str
        For instance "spambase" or "nips_dexter"; :func:`names` lists them.

    Returns
    -------
    Bunch
        ``X`` and ``y`` as stored, integers as floats; official splits as ``X_valid``, ``y_valid``, ``X_test``; sparse
        sets as CSR arrays; whatever else the file holds (``feature_names``, masks) under its own name.

    Raises
    ------
    FileNotFoundError
        With where it looked, when the data are not on this machine.
    """
    path = data_folder() / f"{name}.npz"
    if not path.is_file():
        known = ", ".join(names()) or "no data set"
        raise FileNotFoundError(
            f"no file {path.name} in the data folder; it holds {known}. Set TAMIS_DATA to the folder of data sets"
        )
    with np.load(path) as archive:
        parts = {key: archive[key] for key in archive.files}
    return Bunch(**assemble(parts))


def assemble(parts: dict[str, np.ndarray]) -> dict[str, Any]:
    """Turn the arrays of an archive into tables: CSR parts joined, integer tables as floats."""
    tables: dict[str, Any] = dict(parts)
    for prefix in ("", "valid_", "test_"):
        if f"{prefix}indptr" in tables:
            if missing := [part for part in ("data", "indices", "shape") if f"{prefix}{part}" not in tables]:
                raise ValueError(f"of a sparse table it holds '{prefix}indptr' and no '{prefix}{missing[0]}'")
            data, indices, indptr = (tables.pop(f"{prefix}{part}") for part in ("data", "indices", "indptr"))
            shape = tuple(int(size) for size in tables.pop(f"{prefix}shape"))
            kind = sparse.get_index_dtype((indices, indptr), maxval=max(shape), check_contents=True)
            table = sparse.csr_array((data.astype(float), indices.astype(kind), indptr.astype(kind)), shape)
            tables["X" if not prefix else f"X_{prefix[:-1]}"] = table
    for key, value in tables.items():
        if key.startswith("X") and isinstance(value, np.ndarray) and value.dtype.kind in "iub":
            tables[key] = value.astype(float)
    return tables
