"""``tamis demo``: real measurements among columns of noise, in one screen."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from tamis.cli._environment import Environment
from tamis.cli._options import Command

if TYPE_CHECKING:
    from tamis.base import Ranker
    from tamis.cli._table import Table

_N_NOISE = 100
_PYTHON = """\
  from tamis import GramSchmidt
  selector = GramSchmidt().fit(X, y)          # X: a pandas, polars or pyarrow table, or an array
  print(selector.get_feature_names_out(), selector.stop_.reason)"""


def _add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def _run(args: argparse.Namespace, env: Environment) -> None:
    from tamis import GramSchmidt
    from tamis.cli._fit import fit
    from tamis.cli._render import json_object
    from tamis.cli._results import kept_features
    from tamis.stop import Probe

    table = _table()
    calibrated, uncorrected = GramSchmidt(), GramSchmidt(stop=Probe(correction="none"))
    for ranker in (calibrated, uncorrected):
        fit(ranker, table, env, quiet=True)
    if args.json:
        report = {
            name: {
                "reason": ranker.stop_.reason,
                "n_noise": _count_noise(ranker, table),
                "features": [feature.as_dict() for feature in kept_features(ranker, table)],
            }
            for name, ranker in (("calibrated", calibrated), ("uncorrected", uncorrected))
        }
        env.emit(json_object(report))
        return
    env.emit(_report(table, calibrated, uncorrected))


def _table() -> Table:
    """scikit-learn's breast cancer table with columns of noise beside it."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from tamis.cli._frame import Frame
    from tamis.cli._table import Table

    data = load_breast_cancer()
    columns = {str(name): values for name, values in zip(data.feature_names, data.data.T, strict=True)}
    noise = np.random.default_rng(0).standard_normal((_N_NOISE, len(data.target)))
    columns |= {f"noise_{j:03d}": values for j, values in enumerate(noise, start=1)}
    return Table(Frame(columns), data.target_names[data.target], "diagnosis")


def _count_noise(ranker: Ranker, table: Table) -> int:
    from tamis.cli._results import kept_features

    return sum(feature.name.startswith("noise_") for feature in kept_features(ranker, table))


def _report(table: Table, calibrated: Ranker, uncorrected: Ranker) -> str:
    from tamis.cli._render import number, text_table
    from tamis.cli._results import kept_features

    steps = [
        (str(feature.rank), feature.name, f"{step.info['r2']:.1%}", number(feature.curve, digits=2))
        for feature, step in zip(kept_features(calibrated, table), calibrated.path_, strict=False)
    ]
    head = ("rank", "feature", "variance explained so far", "risk that a random feature does better")
    rules = [
        (name, str(len(kept_features(ranker, table))), f"{_count_noise(ranker, table)} of {_N_NOISE}")
        for name, ranker in (
            ("the default, a probe calibrated for the best of many", calibrated),
            ("the published probe, one random feature against the best", uncorrected),
        )
    ]
    paragraphs = [
        textwrap.fill(
            f"Breast cancer: {table.n_rows} tumors, {table.n_features - _N_NOISE} measurements of each, malignant or "
            f"benign. Beside them, {_N_NOISE} columns of pure noise. Which of the {table.n_features} columns matter, "
            "and how many should we keep?",
            width=100,
        ),
        text_table(head, steps, "><>>"),
        textwrap.fill(f"Why it stops there: {calibrated.stop_.reason}.", width=100),
        text_table(("stopping rule", "features kept", "noise among them"), rules, "<>>"),
        f"The same in Python:\n\n{_PYTHON}",
        "With your own table: tamis select FILE --target COLUMN",
    ]
    return "\n\n".join(paragraphs)


COMMAND = Command(
    name="demo",
    summary="select features on a small real table, in one screen",
    examples="  tamis demo\n  tamis demo --json",
    add_options=_add_options,
    run=_run,
)
