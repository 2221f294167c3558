"""``tamis list``: every method and every stopping rule."""

from __future__ import annotations

import argparse

from tamis.cli._environment import Environment
from tamis.cli._options import Command


def _add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def _run(args: argparse.Namespace, env: Environment) -> None:
    from tamis.cli._methods import all_methods, all_rules, kebab, summary
    from tamis.cli._render import json_object, text_table

    methods = dict(sorted((kebab(cls.__name__), cls) for cls in all_methods()))
    rules = all_rules()
    if args.json:
        env.emit(
            json_object(
                {
                    "methods": [
                        {"name": name, "class": cls.__name__, "summary": summary(cls), "supervised": cls.supervised}
                        for name, cls in methods.items()
                    ],
                    "rules": [
                        {"name": name, "class": cls.__name__, "summary": summary(cls)} for name, cls in rules.items()
                    ],
                }
            )
        )
        return
    env.emit(text_table(("method", ""), [(name, summary(cls)) for name, cls in methods.items()], "<<"))
    env.emit("")
    env.emit(text_table(("stopping rule", ""), [(name, summary(cls)) for name, cls in rules.items()], "<<"))


COMMAND = Command(
    name="list",
    summary="list the methods and the stopping rules",
    examples="  tamis list\n  tamis list --json",
    add_options=_add_options,
    run=_run,
)
