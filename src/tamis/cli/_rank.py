"""``tamis rank``: the whole order of the features."""

from __future__ import annotations

import argparse

from tamis.cli._environment import Environment
from tamis.cli._options import (
    Command,
    add_meaning_options,
    add_method_options,
    add_size_options,
    add_table_options,
    positive,
)

_EXAMPLES = """\
  tamis rank table.csv --target price
  tamis rank table.csv --target price --drop id,name --top 20
  tamis rank spam.npz --method fisher-score
  tamis rank spam.npz --param max_features=5 --json"""


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_table_options(parser)
    add_meaning_options(parser)
    add_method_options(parser)
    add_size_options(parser)
    parser.add_argument(
        "--top", metavar="N", type=positive, help="show the first N only (default: 100, and all with --json)"
    )


def _run(args: argparse.Namespace, env: Environment) -> int:
    from tamis.cli._destinations import check_apart
    from tamis.cli._fit import (
        check_options,
        exit_code,
        file_field,
        fit,
        load,
        memory_budget,
        report_of,
        say_what_was_done,
    )
    from tamis.cli._large import LargeTable
    from tamis.cli._methods import Settings, make_ranker, method_class
    from tamis.cli._render import MOST_SHOWN, feature_table, json_object
    from tamis.cli._results import not_ranked, ranked_features

    method = method_class(args.method, args.given)
    ranker = make_ranker(method, None, Settings(args.param, args.seed, args.jobs, args.task))
    written = {"--param checkpoint": ranker.get_params(deep=False).get("checkpoint")}
    check_apart(written, args.file, several=args.glob, env=env)
    check_options(args, ranker)
    table = load(args, env, ranker)
    if args.top is not None and (isinstance(table, LargeTable) or table.is_numeric()):
        ranker.set_params(stop=min(args.top, table.n_features))  # a sequential method need not go on
    selector = fit(
        ranker,
        table,
        env,
        missing=args.missing,
        quiet=args.quiet or args.json,
        budget=memory_budget(args),
    )
    most = MOST_SHOWN if args.top is None and not args.json else args.top
    shown = ranked_features(selector, table, most)
    if args.json:
        report = {
            "file": file_field(args.file),
            "method": args.method,
            **report_of(selector, table),
            "features": [feature.as_dict() for feature in shown],
        }
        env.emit(json_object(report))
        return exit_code(selector)
    say_what_was_done(selector, table, env)
    env.emit(feature_table(shown))
    n_ranked = len(selector.order_)
    if args.top is None and n_ranked > len(shown):
        env.say(f"{n_ranked - len(shown)} more of {n_ranked} features: --top N shows more of them, and --json all")
    n_unranked = table.n_features - n_ranked
    if args.top is None and n_unranked > len(not_ranked(selector)):
        env.say(f"{n_unranked} of {table.n_features} features are not ranked")
    return exit_code(selector)


COMMAND = Command(
    name="rank",
    summary="order the features of a table, best first, with their scores",
    examples=_EXAMPLES,
    add_options=_add_options,
    run=_run,
    usage="tamis rank FILE --target NAME [options]",
)
