"""Methods and stopping rules by the names that people type."""

from __future__ import annotations

import ast
import contextlib
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator

import tamis
from tamis.base import Ranker, StoppingRule, rule_class, rule_names

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKUP = re.compile(r"(?::\w+:)?`+([^`]*)`+")


def kebab(class_name: str) -> str:
    """``GramSchmidt`` -> ``gram-schmidt``, ``L1SVM`` -> ``l1-svm``."""
    return _WORD_START.sub("-", class_name).lower()


def summary(cls: type) -> str:
    """First line of the docstring, without its markup."""
    return _MARKUP.sub(r"\1", (cls.__doc__ or "").strip().partition("\n")[0])


def all_methods() -> Iterator[type[Ranker]]:
    """Every public ranker that can be imported here: one whose extra is not installed is left out."""
    for name in tamis.__all__:
        with contextlib.suppress(ImportError):
            value = getattr(tamis, name)
            if isinstance(value, type) and issubclass(value, Ranker):
                yield value


def all_rules() -> dict[str, type[StoppingRule]]:
    """Every stopping rule by name."""
    return {name: rule_class(name) for name in rule_names()}


def method_class(name: str) -> type[Ranker]:
    """The ranker of that name; only its own module is imported."""
    public = {kebab(public): public for public in tamis.__all__}
    value = getattr(tamis, public[name]) if name in public else None
    if isinstance(value, type) and issubclass(value, Ranker):
        return value
    known = [kebab(cls.__name__) for cls in all_methods()]
    raise ValueError(f"--method {name}: no such method{suggest(name, known)}; tamis list shows them all")


def suggest(name: str, known: Iterable[str]) -> str:
    """``" (did you mean ...?)"`` where something known looks like ``name``, in upper or lower case."""
    spellings: dict[str, list[str]] = {}
    for each in known:
        spellings.setdefault(each.lower(), []).append(each)
    close = difflib.get_close_matches(name.lower(), list(spellings), n=3, cutoff=0.6)
    found = [spelling for match in close for spelling in spellings[match]]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""


def make_ranker(
    method: type[Ranker],
    stop: Any,
    *,
    params: Sequence[str] = (),
    seed: int | None = None,
    jobs: int | None = None,
) -> Ranker:
    """A ranker with the parameters given by ``--param``, ``--seed`` and ``--jobs``."""
    given = parse_parameters("--param", params, method, kebab(method.__name__), reserved={"stop": "--stop"})
    return method(**{**_shared(method, seed, jobs), **given, "stop": stop})


def make_stop(
    method: type[Ranker],
    stop: str,
    *,
    options: Mapping[str, Any],
    params: Sequence[str] = (),
    seed: int | None = None,
    jobs: int | None = None,
) -> Any:
    """What ``--stop`` means together with the options on the rule.

    Parameters
    ----------
    method : type
        The ranker, whose own rule is meant by "auto".
    stop : str
        Name of a rule, "auto", a number or a fraction.
    options : mapping
        Options that set a parameter of the rule, as ``{"--risk": ("risk", 0.05)}``; a value of None was not given.
    params, seed, jobs
        As for :func:`make_ranker`, of the rule.

    Returns
    -------
    rule, or "auto"
    """
    given = {option: setting for option, setting in options.items() if setting[1] is not None}
    name, parameters, spoken = _named_rule(method, stop)
    rule = all_rules()[name]
    shared = _shared(rule, seed, jobs)
    if stop == "auto" and not (given or params or shared):
        return stop  # the method knows best
    for option, (parameter, _) in given.items():
        if parameter not in rule._get_param_names():
            takers = [other for other, cls in all_rules().items() if parameter in cls._get_param_names()]
            raise ValueError(f"{option} does not apply to the stopping rule {spoken}; it goes with {', '.join(takers)}")
    return rule(
        **{
            **parameters,
            **shared,
            **dict(given.values()),
            **parse_parameters("--stop-param", params, rule, name),
        }
    )


def _named_rule(method: type[Ranker], stop: str) -> tuple[str, Mapping[str, Any], str]:
    """Name of a rule, its parameters, and how to speak of it."""
    if stop == "auto":
        name, parameters = method.natural_stop
        return name, parameters, f"{name}, which is what {kebab(method.__name__)} does by default"
    if (number := _as_number(stop)) is not None:
        return "top-k", {"n_features": number}, f"top-k (--stop {stop})"
    known = rule_names()
    if stop not in known:
        raise ValueError(
            f"--stop {stop}: no such stopping rule{suggest(stop, known)}; give a number, a fraction, auto or one of "
            f"{', '.join(known)}"
        )
    return stop, {}, stop


def _as_number(text: str) -> float | None:
    """A number of features or a fraction of them; None where ``text`` is a name."""
    try:
        number = int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        return None
    if (isinstance(number, int) and number >= 1) or 0 < number < 1:
        return number
    raise ValueError(f"--stop {text}: a number of features is whole and at least 1, a fraction lies between 0 and 1")


def _shared(cls: type[Ranker] | type[StoppingRule], seed: int | None, jobs: int | None) -> dict[str, int]:
    """Seed and jobs, where the class has a use for them: neither changes what is asked for."""
    wanted = {"random_state": seed, "n_jobs": jobs}
    known = cls._get_param_names()
    return {name: value for name, value in wanted.items() if value is not None and name in known}


def parse_parameters(
    option: str,
    params: Sequence[str],
    cls: type[BaseEstimator],
    owner: str,
    reserved: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """``NAME=VALUE`` settings of a constructor, checked by name; values are read as JSON, else as text."""
    reserved = {} if reserved is None else reserved
    known = [name for name in cls._get_param_names() if name not in reserved]
    parsed = {}
    for setting in params:
        name, equals, text = setting.partition("=")
        if name in reserved:
            raise ValueError(f"{option} {setting}: use {reserved[name]}")
        if not equals or name not in known:
            problem = f"{owner} has no parameter '{name}'" if equals else "write it as NAME=VALUE"
            raise ValueError(f"{option} {setting}: {problem}; {owner} takes {', '.join(known) or 'none'}")
        parsed[name] = _value(text)
    return parsed


def _value(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):  # 0.8 and true, but also .8 and True
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text
