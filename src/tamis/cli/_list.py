"""``tamis list``: every method and every stopping rule."""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING

from tamis.cli._environment import Environment
from tamis.cli._options import Command

if TYPE_CHECKING:
    from tamis.base import Ranker

_WITHOUT_TERMINAL = (100, 24)
_LEGEND = {
    "both": "classification and regression",
    "classes": "classification only",
    "none": "looks at no target",
}


def _add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def _run(args: argparse.Namespace, env: Environment) -> None:
    from tamis.cli._catalog import CATALOG, COSTS, FAMILIES
    from tamis.cli._messages import in_options
    from tamis.cli._methods import all_methods, all_rules, kebab, summary
    from tamis.cli._render import json_object, text_table
    from tamis.stop._promises import promise_of

    methods = {kebab(cls.__name__): cls for cls in all_methods()}
    rules = all_rules()
    if args.json:
        env.emit(
            json_object(
                {
                    "methods": [
                        {
                            "name": name,
                            "class": cls.__name__,
                            "family": _family(cls),
                            "supervised": cls.supervised,
                            "tasks": sorted(cls.tasks) if cls.supervised else [],
                            "cost": CATALOG[name][0],
                            "use": CATALOG[name][1],
                            "auto": {"rule": cls.natural_stop[0], "promise": promise_of(cls).sentence},
                            "summary": summary(cls),
                        }
                        for name, cls in sorted(methods.items())
                    ],
                    "rules": [
                        {"name": name, "class": cls.__name__, "summary": summary(cls)} for name, cls in rules.items()
                    ],
                }
            )
        )
        return
    width = shutil.get_terminal_size(_WITHOUT_TERMINAL).columns
    rows: list[tuple[str, ...]] = []
    for family, meaning in FAMILIES.items():
        rows.append((f"{family}: {meaning}",))
        rows += [
            (f"  {name}", _task(methods[name]), promise_of(methods[name]).word, *CATALOG[name])
            for name in CATALOG
            if name in methods and _family(methods[name]) == family
        ]
    env.emit(text_table(("method", "task", "auto", "cost", "when to use it"), rows, "<<<<<", width=width))
    env.emit("")
    env.emit(
        text_table(("stopping rule", ""), [(name, summary(cls)) for name, cls in rules.items()], "<<", width=width)
    )
    env.emit("")
    legend = [(f"task {word}", meaning) for word, meaning in _LEGEND.items()]
    promises = {promise.word: promise.sentence for promise in map(promise_of, methods.values())}
    legend += [(f"auto {word}", in_options(sentence)) for word, sentence in sorted(promises.items())]
    legend += [(f"cost {word}", meaning) for word, meaning in COSTS.items()]
    env.emit(text_table(("", ""), legend, "<<", width=width).lstrip("\n"))


def _family(cls: type[Ranker]) -> str:
    """The folder of ``tamis.rank`` that a method is in."""
    return cls.__module__.split(".")[2]


def _task(cls: type[Ranker]) -> str:
    if not cls.supervised:
        return "none"
    return "both" if len(cls.tasks) > 1 else {"classification": "classes", "regression": "quantity"}[min(cls.tasks)]


COMMAND = Command(
    name="list",
    summary="list the methods and the stopping rules",
    examples="  tamis list\n  tamis list --json",
    add_options=_add_options,
    run=_run,
)
