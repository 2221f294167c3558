"""What ``stop="auto"`` promises, which depends on the rule behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tamis.base import rule_class

if TYPE_CHECKING:
    from tamis.base import Ranker

_NOT_CALIBRATED = "not calibrated, may keep noise; use stop='monte-carlo-probe'"


@dataclass(frozen=True)
class Promise:
    """What can be said of the features that a rule keeps: in a word for tables, and in a sentence."""

    word: str
    sentence: str


# by the name of the rule
PROMISES = {
    "probe": Promise("{risk}", "calibrated: noise kept in at most {risk} of tables"),
    "monte-carlo-probe": Promise("{risk}", "calibrated: noise kept in at most {risk} of tables"),
    "own-choice": Promise("own", f"the method's own end: {_NOT_CALIBRATED}"),
    "effective-number": Promise("share", f"as many as share the probability: {_NOT_CALIBRATED}"),
    "fit-plateau": Promise("FIT", "as many as recover all features: no target, so no word on noise"),
    "top-k": Promise("half", "half of the features: no promise"),
}


def promise_of(method: type[Ranker]) -> Promise:
    """What ``stop="auto"`` of a method promises, as its ``natural_stop`` has it."""
    name, parameters = method.natural_stop
    promise = PROMISES[name]
    if "{risk}" not in promise.sentence:
        return promise
    risk = f"{100 * rule_class(name)(**parameters).risk:g} %"  # type: ignore[attr-defined]
    return replace(promise, word=risk, sentence=promise.sentence.format(risk=risk))
