"""The state of a training run on disk, written whole: a run that was interrupted goes on from there."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import torch

_SECONDS = 10.0  # between two writes


def check_place(path: str | os.PathLike | None) -> None:
    """Refuse a path where no file can be written, before hours of training."""
    if path is None:
        return
    folder = Path(path).parent
    if Path(path).is_dir():
        raise ValueError(f"checkpoint='{path}' is a folder: give the path of a file in it")
    if not folder.is_dir():
        raise ValueError(f"checkpoint='{path}' cannot be written: there is no folder '{folder}', create it first")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"checkpoint='{path}' cannot be written: no permission for the folder '{folder}'")


class Checkpoint:
    """Where a run keeps its state, or nowhere; the file is taken away when the run ends well.

    Parameters
    ----------
    path : str, path or None
    fingerprint : dict
        What the run depends on: a file of another run is refused.
    """

    def __init__(self, path: str | os.PathLike | None, fingerprint: dict[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self._written = time.monotonic()

    def resume(self, seed: int, *, is_free: bool) -> tuple[int, dict[str, Any] | None]:
        """Seed and state that an interrupted run left; the seed given and None if there is no such run.

        Where the seed is not free, a run with another one is another run.
        """
        self._seed = seed
        if self.path is None or not self.path.exists():
            return seed, None
        try:
            saved = torch.load(self.path, weights_only=True, map_location="cpu")
            fingerprint, self._seed = saved["fingerprint"], saved["seed"]
        except Exception as error:  # torch raises whatever its unpickler meets
            raise ValueError(f"checkpoint='{self.path}' is no state of a training run: remove it first") from error
        other = sorted(key for key in self.fingerprint if fingerprint.get(key) != self.fingerprint[key])
        if not is_free and self._seed != seed:
            other.append("random_state")
        if other:
            raise ValueError(
                f"checkpoint='{self.path}' belongs to another run ({', '.join(other)} differ): remove it, or give "
                "another path"
            )
        return self._seed, saved["state"]

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return self.path is not None and time.monotonic() - self._written >= _SECONDS

    def save(self, state: dict[str, Any]) -> None:
        """Write to a temporary file beside it, then rename: there is never half a file."""
        if self.path is None:
            return
        partial = self.path.with_name(f"{self.path.name}.{os.getpid()}-{threading.get_ident()}.partial")
        try:
            torch.save({"fingerprint": self.fingerprint, "seed": self._seed, "state": state}, partial)
            os.replace(partial, self.path)
        finally:
            partial.unlink(missing_ok=True)
        self._written = time.monotonic()

    def discard(self) -> None:
        """The run has ended: nothing is left to resume."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
