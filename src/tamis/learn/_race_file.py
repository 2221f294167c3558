"""What a race has found, on disk: a run that was interrupted goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import joblib
import numpy as np
from scipy import sparse

from tamis.learn._fold_results import Ledger
from tamis.learn._fold_work import Outcome
from tamis.learn._learning_table import LearningTable
from tamis.rank._checkpoint import Checkpoint, check_place, fingerprint


class RaceFile:
    """The ledger of a race in a file, or nowhere.

    Parameters
    ----------
    path : path or None
    data : LearningTable
    settings : mapping
        What else the results depend on.
    """

    def __init__(self, path: str | os.PathLike | None, data: LearningTable, settings: Mapping[str, Any]) -> None:
        check_place(path)
        depends: dict[str, str] = {}
        if path is not None:
            table = data.table
            is_plain = sparse.issparse(table) or isinstance(table, np.ndarray)
            depends = {"X": fingerprint(table) if is_plain else joblib.hash(table), "y": fingerprint(data.y)}
            depends |= {name: _describe(value) for name, value in settings.items()}
            depends |= {f"version of {name}": version(name) for name in ("tamis", "scikit-learn")}
        self._file = Checkpoint(path, depends)

    def resume(self, seed: int) -> tuple[Ledger, float]:
        """What an earlier run has found, and the seconds that it took."""
        _, state = self._file.resume(seed, is_free=False)
        if state is None:
            return Ledger(), 0.0
        try:
            return _read(state), float(state["seconds"])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"checkpoint='{self._file.path}' is damaged: remove it first") from error

    def begin(self, ledger: Ledger, seconds: float) -> None:
        """Write at once: what cannot be written should be known before the work is done."""
        try:
            self._file.write(_state(ledger, seconds))
        except OSError as error:
            raise ValueError(f"checkpoint: {error}") from error

    def save_if_due(self, ledger: Ledger, seconds: float) -> None:
        """Write now and then."""
        if self._file.is_due():
            self.save(ledger, seconds)

    def save(self, ledger: Ledger, seconds: float) -> None:
        """Write the whole file; where that fails, the run goes on without it."""
        self._file.save(_state(ledger, seconds))

    def discard(self) -> None:
        """The run has ended: nothing is left to resume."""
        self._file.discard()


def _describe(value: Any) -> str:
    """Text of a parameter; of estimators what tells them apart, for their own text is cut where it is long."""
    if isinstance(value, Mapping):
        return str({name: f"{type(each).__name__} {joblib.hash(each)}" for name, each in value.items()})
    if isinstance(value, np.ndarray) or (
        isinstance(value, list | tuple) and any(hasattr(each, "shape") for each in value)
    ):
        return str(joblib.hash(value))
    return repr(value)


def _state(ledger: Ledger, seconds: float) -> dict[str, np.ndarray]:
    state: dict[str, np.ndarray] = {"seconds": np.array(seconds)}
    for kind, found in (("orders", ledger.orders), ("outputs", ledger.outputs)):
        index = [
            [name, fold, each.seconds, each.error, each.n_columns, each.output is not None]
            for (name, fold), each in found.items()
        ]
        arrays = [each.output for each in found.values() if each.output is not None]
        dtype = arrays[0].dtype if arrays else np.dtype(float)
        state[f"{kind}_index"] = np.array(json.dumps(index))
        state[f"{kind}_values"] = np.concatenate(arrays) if arrays else np.empty(0, dtype)
        state[f"{kind}_sizes"] = np.array([each.size for each in arrays], dtype=np.int64)
    return state


def _read(state: Mapping[str, np.ndarray]) -> Ledger:
    ledger = Ledger()
    for kind, found in (("orders", ledger.orders), ("outputs", ledger.outputs)):
        ends = np.cumsum(state[f"{kind}_sizes"])
        values = state[f"{kind}_values"]
        if (ends[-1] if ends.size else 0) != values.size:
            raise ValueError("sizes do not add up")
        parts = iter(np.split(values, ends[:-1]) if ends.size else [])
        for name, fold, seconds, error, n_columns, has_output in json.loads(str(state[f"{kind}_index"])):
            output = next(parts) if has_output else None
            found[str(name), int(fold)] = Outcome(output, float(seconds), str(error), int(n_columns))  # type: ignore[index]
    return ledger
