"""scikit-learn's progress bar, on stderr."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tamis.base import Ranker
from tamis.cli._environment import Environment

T = TypeVar("T")


@contextlib.contextmanager
def progress_bar(ranker: Ranker, env: Environment) -> Iterator[None]:
    """Show how far ``ranker`` is while it is fitted; nothing where stderr is no terminal or rich is not installed."""
    rich = _rich(env)
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


def show_reading(env: Environment, parts: Iterable[T], total: int | None, purpose: str) -> Iterable[T]:
    """The same parts, with a bar that shows how far a pass over files is."""
    if _rich(env) is None:
        return parts
    progress = importlib.import_module("rich.progress")
    console = importlib.import_module("rich.console").Console(file=env.stderr)
    return progress.track(parts, f"reading {purpose}", total=total, console=console, transient=True)


@contextlib.contextmanager
def budget_bar(env: Environment, seconds: float) -> Iterator[None]:
    """Show how much of a budget of time is used up; nothing where stderr is no terminal or rich is not installed."""
    if _rich(env) is None:
        yield
        return
    progress: Any = importlib.import_module("rich.progress")
    bar = importlib.import_module("rich.progress_bar").ProgressBar

    class Used(progress.ProgressColumn):
        def render(self, task: Any) -> Any:
            return bar(total=seconds, completed=task.elapsed or 0.0, width=40)

    class Clock(progress.ProgressColumn):
        def render(self, task: Any) -> Any:
            return f"{task.elapsed or 0.0:.0f} of {seconds:g} s"

    console = importlib.import_module("rich.console").Console(file=env.stderr)
    shown = progress.Progress("{task.description}", Used(), Clock(), console=console, transient=True)
    with shown:
        shown.add_task("trying selections and models")
        yield


def _rich(env: Environment) -> Any:
    """The library that draws bars, where stderr is a terminal and it is installed."""
    try:
        return importlib.import_module("rich") if env.stderr.isatty() else None
    except ImportError:
        return None
