"""Columns by name, in sentences and in options that can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_MOST_NAMED = 5


def drop_option(names: Sequence[str]) -> str:
    """The option that leaves columns out, as it is typed in a shell."""
    return f"--drop {shlex.quote(','.join(names))}"


def columns_hold(names: Sequence[str]) -> str:
    """``column 'a' holds``, or ``columns 'a', 'b' hold``."""
    return f"column {enumerate_names(names)} holds" if len(names) == 1 else f"columns {enumerate_names(names)} hold"


def enumerate_names(names: Sequence[str]) -> str:
    """The first few names in quotes, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:_MOST_NAMED]) + more


def them(names: Sequence[str]) -> str:
    """``it`` or ``them``."""
    return "it" if len(names) == 1 else "them"
