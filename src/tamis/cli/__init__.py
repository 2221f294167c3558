"""The command line: a table in a file, the features that matter out."""

from tamis.cli._environment import Environment
from tamis.cli._main import main, run

__all__ = ["Environment", "main", "run"]
