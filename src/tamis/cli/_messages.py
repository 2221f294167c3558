"""Messages of the library in the words of the command line: options in place of parameters and of calls."""

from __future__ import annotations

import re

from tamis.cli._catalog import CATALOG

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARAMETER = re.compile(r"\b(task|missing|stop)='([\w-]+)'")
_TASK_IN_SELECTOR = re.compile(r"(write )?TableSelector\(\w+\((task='\w+')\)\)")
_IN_SELECTOR = re.compile(r"TableSelector\((\w+\([\w=.]*\))\)")
_CALL = re.compile(r"\b([A-Z]\w+)\((\w+=[\w.]+)?\)")
_NO_OPTION = re.compile(r"(,| or) \w+\(dictionary=\w+\(\w*\)\)")  # what only Python can ask for
_RULE_REFUSED = re.compile(
    r"^([A-Z]\w+): (?:([A-Z]\w+)(?= ranks))?(.*); use a number of features(?:, such as stop=20)?, or (\w+) with (\w+)$"
)
_ADVICE = re.compile(r"\. ((?:A forest on|More rows).*)", re.DOTALL)


def shorten(text: str, longest: int = 100) -> str:
    """The text itself, or its two ends where it is too long to be read."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} ... {text[-half:]}"


def kebab(class_name: str) -> str:
    """``GramSchmidt`` -> ``gram-schmidt``, ``L1SVM`` -> ``l1-svm``."""
    return _WORD_START.sub("-", class_name).lower()


def in_options(message: str) -> str:
    """A message with options of the command line where it speaks of parameters and rankers of Python."""
    message = _TASK_IN_SELECTOR.sub(lambda found: f"{'give ' * bool(found[1])}{found[2]}", message)
    message = _IN_SELECTOR.sub(r"\1", message)
    message = _RULE_REFUSED.sub(_rule_options, message)
    message = _PARAMETER.sub(r"--\1 \2", message)
    return _CALL.sub(_method_option, _NO_OPTION.sub("", message))


def warning_text(message: Warning | str) -> str:
    """What a warning tells a person; that nothing is kept, and why, is in the answer itself."""
    text = str(message)
    if type(message).__name__ == "NothingKeptWarning" and (advice := _ADVICE.search(text)):
        text = f"nothing is kept. {advice[1]}"
    return in_options(text)


def _rule_options(found: re.Match[str]) -> str:
    ranker = kebab(found[2] or "")
    other = f"--method {kebab(found[4])} --stop {kebab(found[5])}"
    return f"--stop {kebab(found[1])}: {ranker}{found[3]}; use a number of features, such as --stop 5, or {other}"


def _method_option(call: re.Match[str]) -> str:
    name, setting = kebab(call[1]), call[2]
    if name not in CATALOG:
        return call[0]
    return f"--method {name} --param {setting}" if setting else f"--method {name}"
