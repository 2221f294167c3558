"""A program that signals itself at the so-and-so-many-th import after its start: ``NUMBER SIGNAL ENTRY ARGUMENTS``.

Moments of a clock differ from run to run, and a signal among imports finds libraries half loaded: counted ones repeat.
"""

import importlib
import os
import sys

_moment, _signal, _entry, *_arguments = sys.argv[1:]
_left = [int(_moment)]


def _watch(event: str, arguments: tuple) -> None:
    if event == "import":
        _left[0] -= 1
        if _left[0] == 0:
            os.kill(os.getpid(), int(_signal))


_module, _, _name = _entry.partition(":")
sys.argv = ["tamis", *_arguments]
sys.addaudithook(_watch)
getattr(importlib.import_module(_module), _name)()
