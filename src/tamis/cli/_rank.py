"""``tamis rank``: the whole order of the features."""

from __future__ import annotations

import argparse

from tamis.cli._environment import Environment
from tamis.cli._options import Command, add_method_options, add_table_options

_EXAMPLES = """\
  tamis rank table.csv --target price
  tamis rank table.csv --target price --drop id,name --encode --top 20
  tamis rank spam.npz --method fisher-score
  tamis rank spam.npz --param max_features=5 --json"""


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_table_options(parser)
    add_method_options(parser)
    parser.add_argument("--top", metavar="N", type=_positive, help="show the first N only")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, not '{text}'")
    return int(text)


def _run(args: argparse.Namespace, env: Environment) -> None:
    from tamis.cli._fit import fit, load
    from tamis.cli._methods import make_ranker, method_class
    from tamis.cli._render import feature_table, json_object
    from tamis.cli._results import ranked_features

    method = method_class(args.method)
    ranker = make_ranker(method, None, params=args.param, seed=args.seed, jobs=args.jobs)
    table = load(args, method)
    if args.top is not None and not table.levels:
        ranker.set_params(stop=min(args.top, len(table.names)))  # a sequential method need not go on
    fit(ranker, table, env, quiet=args.quiet or args.json)
    features = ranked_features(ranker, table)
    shown = features[: args.top]
    if args.json:
        report = {
            "file": str(args.file),
            "method": args.method,
            "target": table.target,
            "n_rows": table.n_rows,
            "n_features": table.n_features,
            "features": [feature.as_dict() for feature in shown],
        }
        env.emit(json_object(report))
        return
    env.emit(feature_table(shown))
    if args.top is None and (missing := table.n_features - len(features)):
        env.say(f"{missing} of {table.n_features} features are not ranked")


COMMAND = Command(
    name="rank",
    summary="order the features of a table, best first, with their scores",
    examples=_EXAMPLES,
    add_options=_add_options,
    run=_run,
)
