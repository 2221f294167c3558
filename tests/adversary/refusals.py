"""The command line in this process, and what it owes to those who give it something bad: one line, and exit code 2."""

from __future__ import annotations

import io

from tamis.cli import Environment, main

_LONGEST = 700  # characters of an error


def command(*arguments: object) -> tuple[int, str, str]:
    """Exit code, answer and messages."""
    env = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    code = main([str(argument) for argument in arguments], env)
    return code, env.stdout.getvalue(), env.stderr.getvalue()


def refuses(*arguments: object, words: tuple[str, ...] | list[str]) -> None:
    """Assert that a command ends with one line that holds these words, and without an answer."""
    code, answer, said = command(*arguments)
    assert (code, answer) == (2, ""), said
    (line,) = said.splitlines()
    assert line.startswith("tamis: error: ")
    assert len(line) < _LONGEST
    for word in words:
        assert word in line
