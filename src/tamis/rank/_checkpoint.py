"""The state of a long run on disk, written whole: a run that was interrupted goes on from there."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from tamis.base import remove_abandoned_parts, what_prevents_writing, written_whole

_SECONDS = 10.0  # between two writes
_MARK = b"tamis checkpoint, sha256 "
_TRAILER_SIZE = len(_MARK) + hashlib.sha256().digest_size

Content = dict[str, Any]


def check_place(path: str | os.PathLike | None) -> None:
    """Refuse a path where no file can be written, before hours of work."""
    if path is None:
        return
    if reason := what_prevents_writing(path):
        raise ValueError(f"checkpoint='{path}' cannot be written: {reason}")


def fingerprint(X: Any) -> str:
    """What tells one array, or sparse table, from another."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return f"{X.shape} {digest.hexdigest()}"


def dump_arrays(content: Content, file: BinaryIO) -> None:
    """Write a state that is made of arrays."""
    head = json.dumps({"fingerprint": content["fingerprint"], "seed": content["seed"]})
    np.savez(file, **content["state"], head=np.array(head))


def load_arrays(file: BinaryIO) -> Content:
    """Read what :func:`dump_arrays` wrote."""
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return {**json.loads(str(arrays.pop("head"))), "state": arrays}


def _trailer(content: bytes | memoryview) -> bytes:
    """What stands behind the content, so that a file of which a single bit was changed is not taken for a state."""
    return _MARK + hashlib.sha256(content).digest()


def _checked(stored: bytes) -> bytes:
    """The content of a file, if it is what was written."""
    content = stored[: len(stored) - _TRAILER_SIZE]
    if stored[len(content) :] != _trailer(content):
        raise ValueError("the file is damaged, or none of ours")
    return content


class Checkpoint:
    """Where a run keeps its state, or nowhere; the file is taken away when the run ends well.

    Parameters
    ----------
    path : str, path or None
    fingerprint : dict
        What the run depends on: a file of another run is refused.
    dump, load : callables
        Write a dictionary of fingerprint, seed and state to an open file, and read it.
    """

    def __init__(
        self,
        path: str | os.PathLike | None,
        fingerprint: dict[str, Any],
        *,
        dump: Callable[[Content, BinaryIO], None] = dump_arrays,
        load: Callable[[BinaryIO], Content] = load_arrays,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self._dump, self._load = dump, load
        self._written = time.monotonic()
        self._has_warned = False

    def resume(self, seed: int, *, is_free: bool) -> tuple[int, dict[str, Any] | None]:
        """Seed and state that an interrupted run left; the seed given and None if there is no such run.

        Where the seed is not free, a run with another one is another run.
        """
        self._seed = seed
        if self.path is None:
            return seed, None
        remove_abandoned_parts(self.path)  # here, for a run that is over soon never writes its state
        if not self.path.exists():
            return seed, None
        try:
            saved = self._load(io.BytesIO(_checked(self.path.read_bytes())))
            fingerprint, self._seed = saved["fingerprint"], saved["seed"]
        except Exception as error:  # readers raise whatever they meet
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
        """Write the state, whole or not at all; where that fails, the run goes on, and the last state stays."""
        try:
            self.write(state)
        except OSError as error:
            self._written = time.monotonic()
            if not self._has_warned:
                self._has_warned = True
                message = (
                    "The run goes on; if it is interrupted, it resumes from the last state that was written, if any"
                )
                warnings.warn(f"checkpoint: {error}. {message}", UserWarning, stacklevel=2)

    def write(self, state: dict[str, Any]) -> None:
        """The same, with an error where it fails."""
        if self.path is None:
            return
        content = io.BytesIO()
        self._dump({"fingerprint": self.fingerprint, "seed": self._seed, "state": state}, content)
        with written_whole(self.path) as part, open(part, "xb") as file:
            file.write(content.getbuffer())
            file.write(_trailer(content.getbuffer()))
        self._written = time.monotonic()

    def discard(self) -> None:
        """The run has ended: nothing is left to resume. Where the path is a link, it stays, and its file goes."""
        if self.path is not None:
            with suppress(OSError):  # what was computed is worth more than a tidy folder
                Path(os.path.realpath(self.path)).unlink(missing_ok=True)
