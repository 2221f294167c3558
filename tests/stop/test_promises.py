"""What stop="auto" promises, method by method: docs, command line and classes say the same."""

import re
from pathlib import Path

import numpy as np
import pytest

from tamis.base import ColumnCandidates, rule_class
from tamis.cli._methods import all_methods
from tamis.stop._promises import promise_of

METHODS = list(all_methods())
PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()


def test_the_docs_list_every_method_under_the_promise_of_its_auto_rule():
    table = PAGE.partition('## What `stop="auto"` promises')[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    told = {name: (word, said) for word, said, methods in rows for name in re.findall(r"`(\w+)`", methods)}
    assert told == {method.__name__: (promise_of(method).word, promise_of(method).sentence) for method in METHODS}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_a_promise_is_that_of_the_rule_behind_auto(method):
    name, parameters = method.natural_stop
    promise = promise_of(method)
    assert ("calibrated: " in promise.sentence) == (name in ("probe", "monte-carlo-probe"))
    assert ("not calibrated" in promise.sentence) == (name in ("own-choice", "effective-number"))
    if name in ("probe", "monte-carlo-probe"):
        assert promise.word == f"{100 * rule_class(name)(**parameters).risk:g} %"


@pytest.mark.parametrize(
    "method",
    [method for method in METHODS if "stop='monte-carlo-probe'" in promise_of(method).sentence],
    ids=lambda method: method.__name__,
)
def test_the_rule_to_use_instead_takes_the_method(method):
    rule_class("monte-carlo-probe")().check(method(), ColumnCandidates(np.zeros((3, 2))))
