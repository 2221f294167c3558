"""Methods and stopping rules by the names that people type."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

import tamis
from tamis.base import Ranker, StoppingRule, rule_class, rule_names
from tamis.cli._catalog import CATALOG
from tamis.cli._messages import kebab, shorten
from tamis.cli._names_elsewhere import RULES, equivalent, suggest_command
from tamis.cli._naming import suggest

_MOST_NAMED = 8
_RESERVED = {
    "stop": "--stop",
    "keep": "--keep",
    "exclude": "--drop",
    "min_features": "--min-features",
}
_MARKUP = re.compile(r"(?::\w+:)?`+([^`]*)`+")


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


def method_class(name: str, command: Sequence[str] = ()) -> type[Ranker]:
    """The ranker of that name; only its own module is imported.

    Where people know the name from elsewhere, the error repeats ``command``, the arguments given, with what is meant.
    """
    public = {kebab(public): public for public in tamis.__all__}
    value = getattr(tamis, public[name]) if name in public else None
    if isinstance(value, type) and issubclass(value, Ranker):
        return value
    if found := equivalent(kebab(name)):
        command = command or ("select", "FILE", "--target", "NAME", "--method", name)
        raise ValueError(
            f"--method {name}: no such method; did you mean this ({found.sentence})? {suggest_command(found, command)}"
        )
    known = [kebab(cls.__name__) for cls in all_methods()]
    raise ValueError(f"--method {name}: no such method{suggest(name, known)}; tamis list shows them all")


@dataclass(frozen=True)
class Settings:
    """What the options say of the method, whichever it is.

    Attributes
    ----------
    params : sequence of str
        Parameters by ``--param``.
    seed, jobs : int or None
    task : str
        "auto", "classification" or "regression".
    min_features : int or None
    """

    params: Sequence[str] = ()
    seed: int | None = None
    jobs: int | None = None
    task: str = "auto"
    min_features: int | None = None


def make_ranker(method: type[Ranker], stop: Any, settings: Settings) -> Ranker:
    """A ranker with the parameters that the options give."""
    name = kebab(method.__name__)
    given = parse_parameters("--param", settings.params, method, name, reserved=_RESERVED)
    return method(
        **{
            **_shared(method, settings.seed, settings.jobs),
            **_task_parameter(method, settings.task),
            **given,
            "stop": stop,
            "min_features": settings.min_features,
        }
    )


def _task_parameter(method: type[Ranker], task: str) -> dict[str, str]:
    """The parameter that says what the target is, where a method can do both; what it cannot do is refused."""
    if task == "auto":
        return {}
    name = kebab(method.__name__)
    if not method.supervised:
        raise ValueError(f"--task {task}: {name} looks at no target; tamis list shows which methods do")
    if task not in method.tasks:
        others = _enumerate(cls for cls in all_methods() if cls.supervised and task in cls.tasks)
        raise ValueError(
            f"--task {task}: {name} is for {next(iter(method.tasks))} only; {task} can be done by {others}"
        )
    return {"task": task} if "task" in method._get_param_names() else {}


def check_takes_weights(ranker: Ranker) -> None:
    """Refuse ``--weights`` for a method that has no use for them."""
    if "sample_weight" in ranker.provides:
        return
    name = kebab(type(ranker).__name__)
    others = _enumerate(cls for cls in all_methods() if "sample_weight" in cls().provides)
    raise ValueError(f"--weights: {name} takes no weights of rows; these do: {others}")


def check_takes_missing(ranker: Ranker) -> None:
    """Refuse ``--missing pass`` for a method that takes no missing values."""
    if get_tags(ranker).input_tags.allow_nan:
        return
    name = kebab(type(ranker).__name__)
    others = _enumerate(cls for cls in all_methods() if get_tags(cls()).input_tags.allow_nan)
    raise ValueError(f"--missing pass: {name} takes no missing values; these do: {others}; else say --missing impute")


def check_splits_rows(ranker: Ranker) -> None:
    """Refuse ``--row-groups`` where neither the method nor the rule splits rows, so that they would change nothing."""
    rule = ranker._stopping_rule()
    if "cv" in ranker.get_params(deep=False) or "cv" in rule.get_params(deep=False):
        return
    name = kebab(type(ranker).__name__)
    raise ValueError(
        f"--row-groups: neither {name} nor its stopping rule {kebab(type(rule).__name__)} splits rows, so groups would "
        "change nothing; they go with --stop cross-validation"
    )


def _enumerate(methods: Iterable[type[Ranker]]) -> str:
    """The first few methods in the order of ``tamis list``, and how many more there are."""
    found = {kebab(cls.__name__) for cls in methods}
    names = [name for name in CATALOG if name in found]
    more = f" and {len(names) - _MOST_NAMED} more (see tamis list)" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


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
        As in :class:`Settings`, of the rule.

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
        meant = f" (did you mean '--stop {RULES[stop.lower()]}'?)" if stop.lower() in RULES else suggest(stop, known)
        raise ValueError(
            f"--stop {stop}: no such stopping rule{meant}; give a number, a fraction, auto or one of {', '.join(known)}"
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
            raise ValueError(f"{option} {shorten(setting)}: use {reserved[name]}")
        if not equals or name not in known:
            problem = f"{owner} has no parameter '{shorten(name)}'" if equals else "write it as NAME=VALUE"
            raise ValueError(f"{option} {shorten(setting)}: {problem}; {owner} takes {', '.join(known) or 'none'}")
        if name in parsed:
            raise ValueError(f"{option} {shorten(setting)}: '{name}' is given twice; give it once")
        parsed[name] = _value(text, f"{option} {shorten(setting)}")
    return parsed


def _value(text: str, setting: str) -> Any:
    """A value in JSON or Python, else the text itself."""
    for read in (json.loads, ast.literal_eval):  # 0.8 and true, but also .8 and True
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
        except (RecursionError, MemoryError):  # the second is what Python's own parser says
            raise ValueError(f"{setting}: the value is nested too deep to be read; give a flatter one") from None
    return text
