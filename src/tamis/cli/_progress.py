"""scikit-learn's progress bar, on stderr."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator

from tamis.base import Ranker
from tamis.cli._environment import Environment


@contextlib.contextmanager
def progress_bar(ranker: Ranker, env: Environment) -> Iterator[None]:
    """Show how far ``ranker`` is while it is fitted; nothing where stderr is no terminal or rich is not installed."""
    try:
        rich = importlib.import_module("rich") if env.stderr.isatty() else None
    except ImportError:
        rich = None
    if rich is None:
        yield
        return
    from sklearn.callback import ProgressBar

    # The bar draws on rich's global console, which writes to stdout and cannot be passed in: lend it ours.
    console = rich.get_console()
    before = console.__dict__
    rich.reconfigure(file=env.stderr)
    ranker.set_callbacks(ProgressBar())
    try:
        yield
    finally:
        ranker.set_callbacks()
        console.__dict__ = before
