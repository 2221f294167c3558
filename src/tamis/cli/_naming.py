"""Columns by name, in sentences and in options that can be pasted."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence

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


def suggest(name: str, known: Iterable[str]) -> str:
    """``" (did you mean ...?)"`` where something known looks like ``name``, in upper or lower case."""
    spellings: dict[str, list[str]] = {}
    for each in known:
        spellings.setdefault(each.lower(), []).append(each)
    close = difflib.get_close_matches(name.lower(), list(spellings), n=3, cutoff=0.6)
    found = [spelling for match in close for spelling in spellings[match]]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""
