"""``tamis dimension``: how many dimensions the rows of a table have."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tamis.cli._environment import Environment
from tamis.cli._options import Command, add_memory_option, add_table_options, processes

if TYPE_CHECKING:
    from tamis.cli._memory import Budget
    from tamis.cli._table import Table
    from tamis.dimension import DimensionEstimator

# most trusted first; written out, for reading them off the classes would load these to print a help text
METHODS = (
    "two-nn",
    "mle",
    "gmst",
    "correlation-dimension",
    "packing-dimension",
    "box-counting",
    "pairwise-sparsity",
)

_EXAMPLES = """\
  tamis dimension table.csv --drop id
  tamis dimension spam.npz --raw
  tamis dimension faces.mat --method mle --param n_neighbors=10
  tamis dimension faces.mat --method all --jobs 2 --json"""


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_memory_option(add_table_options(parser))
    parser.add_argument("--encode", action="store_true", help="one-hot encode text and boolean columns")
    group = parser.add_argument_group("the estimate")
    group.add_argument(
        "--method",
        metavar="NAME",
        default=METHODS[0],
        help=f"{', '.join(METHODS)}, or all of them (default: %(default)s)",
    )
    group.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="parameter of the method, its value as JSON or plain text; may be repeated. With --method all it goes to "
        "every method that has it",
    )
    group.add_argument("--raw", action="store_true", help="take columns in their units, not with unit variance")
    group.add_argument("--seed", metavar="INT", type=int, default=0, help="seed of the subsamples (default: 0)")
    group.add_argument("--jobs", metavar="INT", type=processes, help="processes for the subsamples")


def _run(args: argparse.Namespace, env: Environment) -> None:
    from tamis.cli._fit import file_field, memory_budget, read_frame
    from tamis.cli._one_hot import check_numbers, encode_levels
    from tamis.cli._render import json_object, number, text_table
    from tamis.cli._table import Columns, prepare

    estimators = _make_estimators(args)
    columns = Columns(args.target, drop=args.drop)
    budget = memory_budget(args)
    frame = read_frame(args, env, budget)
    table = prepare(frame, columns, drop_rows_without_target=args.drop_rows_without_target, budget=budget)
    if args.encode:
        table = replace(table, features=encode_levels(table.features, budget))
    check_numbers(table.features)
    for estimator in estimators.values():
        _fit(estimator, table, budget)
    if args.json:
        report = {
            "file": file_field(args.file),
            "target": table.target,
            "n_rows": table.n_rows,
            "n_columns": len(table.names),
            "standardized": not args.raw,
            "estimates": [
                {"method": name, "dimension": found.dimension_, "standard_error": found.standard_error_}
                for name, found in estimators.items()
            ],
        }
        env.emit(json_object(report))
        return
    rows = [(name, number(found.dimension_), number(found.standard_error_, 2)) for name, found in estimators.items()]
    env.emit(text_table(("method", "dimension", "+-"), rows, "<>>"))
    for note in table.features.notes:
        env.say(note)
    if table.target is not None:
        env.say(f"the target '{table.target}' is left out")
    env.say(_sentence(table, *next(iter(estimators.items()))))


def _make_estimators(args: argparse.Namespace) -> dict[str, DimensionEstimator]:
    """The estimators asked for, by name."""
    import tamis.dimension
    from tamis.cli._methods import kebab, parse_parameters
    from tamis.cli._naming import suggest

    classes = {kebab(name): getattr(tamis.dimension, name) for name in tamis.dimension.__all__}
    if args.method not in (*METHODS, "all"):
        known = (*METHODS, "all")
        raise ValueError(
            f"--method {args.method}: no such method{suggest(args.method, known)}; choose of {', '.join(known)}"
        )
    chosen = METHODS if args.method == "all" else (args.method,)
    reserved = {"standardize": "--raw", "random_state": "--seed", "n_jobs": "--jobs"}
    shared = {"standardize": not args.raw, "random_state": args.seed, "n_jobs": args.jobs}
    estimators = {}
    for name in chosen:
        cls = classes[name]
        params = args.param if len(chosen) == 1 else _that_fit(args.param, cls, [classes[each] for each in chosen])
        given = parse_parameters("--param", params, cls, name, reserved=reserved)
        estimators[name] = cls(**shared, **given)
    return estimators


def _that_fit(
    params: Sequence[str], cls: type[DimensionEstimator], all_classes: Sequence[type[DimensionEstimator]]
) -> list[str]:
    """The settings that a class has, and those that none has: these are refused by name."""
    names = {setting: setting.partition("=")[0] for setting in params}
    known = {name for each in all_classes for name in each._get_param_names()}
    return [setting for setting in params if names[setting] in cls._get_param_names() or names[setting] not in known]


def _fit(estimator: DimensionEstimator, table: Table, budget: Budget) -> None:
    from scipy import sparse

    from tamis.cli._methods import kebab

    X = table.features.matrix()
    if sparse.issparse(X) and "sparse" not in estimator.provides:
        table.features.check_dense(budget, f"which {kebab(type(estimator).__name__)} needs")
        X = X.toarray()
    estimator.name_features(table.names).fit(X)


def _sentence(table: Table, name: str, found: DimensionEstimator) -> str:
    """What the first estimate says, in words."""
    extent = f"{table.n_rows} rows in {len(table.names)} column{'s' if len(table.names) > 1 else ''}"
    if not math.isfinite(found.dimension_):
        return f"{extent} have no finite dimension ({name}): all distances that it compares are equal"
    if found.dimension_ == 0:
        return f"{extent} have dimension 0 ({name}): all rows are copies of others"
    error = found.standard_error_
    doubt = "" if error is None else f", standard error {error:.2g}"
    spanned = max(1, table.n_rows - 1)
    least = min(max(1, math.ceil(found.dimension_)), spanned)
    features = "1 feature" if least == 1 else f"{least} features"
    limit = "" if found.dimension_ <= spanned else f", though {table.n_rows} rows span {spanned} at most"
    return f"{extent} have about {found.dimension_:.1f} dimensions ({name}{doubt}){limit}: keep at least {features}"


COMMAND = Command(
    name="dimension",
    summary="estimate how many dimensions the rows have: a lower bound on the features",
    examples=_EXAMPLES,
    add_options=_add_options,
    run=_run,
    usage="tamis dimension FILE [options]",
)
