"""Fitted selectors in files that hold no code: skops, which comes with the extra ``cli``, in place of pickle."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from tamis.base import written_whole
from tamis.cli._naming import enumerate_names
from tamis.cli._write import check_place

_SUFFIX = ".skops"
_OURS = ("tamis.", "sklearn.")  # skops itself vouches for most of scikit-learn's types, not for its trees


def check_model_destination(path: Path) -> None:
    """Refuse what could not be written, before any work is done."""
    if path.suffix.lower() != _SUFFIX:
        raise ValueError(f"--model {path}: models are written as {_SUFFIX}, not '{path.suffix}'")
    check_place(path, "--model")
    _require_skops()


def save_model(path: Path, model: Any) -> None:
    """Write a fitted estimator, whole or not at all."""
    skops_io = _require_skops()
    with written_whole(path) as part:
        skops_io.dump(model, part)
        if others := foreign_types(part):
            raise ValueError(
                f"--model {path}: the model holds types of other packages that whoever loads it would have to trust: "
                f"{enumerate_names(others)}; choose other --models"
            )


def foreign_types(path: Path) -> list[str]:
    """Types in a file that are neither scikit-learn's nor ours."""
    return [name for name in _require_skops().get_untrusted_types(file=path) if not name.startswith(_OURS)]


def _require_skops() -> Any:
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:
        raise ImportError("--model needs skops; install it with: pip install 'tamis[cli]'") from error
