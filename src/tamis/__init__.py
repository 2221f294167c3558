"""tamis, a sieve for features: which columns matter, how many to keep, and how sure that is."""

from __future__ import annotations

import importlib  # and no more, so that Ctrl-C soon after the start of the program finds it ready

__version__ = "0.1.0"

# The stub beside this file lists every public name once, for type checkers and for people; each is loaded on first use,
# so that `import tamis` pulls in no heavy dependency.
with open(f"{__file__.removesuffix('.py')}.pyi", encoding="utf-8") as _stub:
    _HOME = {words[3]: words[1] for words in map(str.split, _stub) if words[:1] == ["from"]}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'tamis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
