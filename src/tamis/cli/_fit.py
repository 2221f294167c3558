"""What the commands that rank have in common: load a table, fit a ranker on it."""

from __future__ import annotations

import argparse
import contextlib

from scipy import sparse

from tamis.base import Ranker
from tamis.cli._environment import Environment
from tamis.cli._methods import kebab
from tamis.cli._progress import progress_bar
from tamis.cli._read import read
from tamis.cli._table import Table, prepare


def load(args: argparse.Namespace, method: type[Ranker]) -> Table:
    """Read the table that the options describe."""
    return prepare(
        read(args.file),
        target=args.target,
        drop=args.drop,
        encode=args.encode,
        needed_by=kebab(method.__name__) if method.supervised else None,
    )


def fit(ranker: Ranker, table: Table, env: Environment, *, quiet: bool) -> None:
    """Fit, with a progress bar for whoever watches; errors speak of columns by name."""
    X = table.features.matrix()
    if sparse.issparse(X) and "sparse" not in ranker.provides:
        X = X.toarray()
    with contextlib.nullcontext() if quiet else progress_bar(ranker, env):
        try:
            ranker.name_features(table.names).fit(X, table.y)
        except ValueError as error:
            message = str(error)
            about_target = message.startswith(("y ", "Input y"))
            raise ValueError(f"--target {table.target}: {message}" if about_target else message) from error
