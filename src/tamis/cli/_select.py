"""``tamis select``: the features to keep, and why no more."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from tamis.cli._environment import Environment
from tamis.cli._naming import enumerate_names
from tamis.cli._options import (
    Command,
    add_meaning_options,
    add_method_options,
    add_out_option,
    add_rule_options,
    add_size_options,
    add_table_options,
)

_EXAMPLES = """\
  tamis select table.csv --target price
  tamis select table.csv --target price --risk 0.01 --out kept.parquet
  tamis select table.csv --target city --drop 'my id' --keep age --json
  zcat table.csv.gz | tamis select - --target price
  tamis select --glob 'part-*.csv' --target price --row-groups patient \\
      --stop cross-validation
  tamis select --glob 'part-*.parquet' --target price --memory 2GB
  tamis select spam.npz --method fisher-score --fdr 0.1 --draws 199 --seed 0
  tamis select spam.npz --stop cross-validation --stop-param rule=one-se
  tamis select faces.mat --method max-variance --stop 50 --out faces.npz"""


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_table_options(parser)
    add_meaning_options(parser)
    add_method_options(parser)
    add_rule_options(parser)
    add_size_options(parser)
    add_out_option(parser)


def _run(args: argparse.Namespace, env: Environment) -> int:
    from tamis.cli._destinations import check_apart
    from tamis.cli._fit import check_options, exit_code, fit, load, memory_budget
    from tamis.cli._formulas import check_safe_csv
    from tamis.cli._methods import Settings, make_ranker, make_stop, method_class
    from tamis.cli._results import kept_features
    from tamis.cli._write import check_destination

    if args.safe_csv:
        check_safe_csv(args.out)
    if args.out is not None:
        check_destination(args.out)
    method = method_class(args.method, args.given)
    options = {"--risk": ("risk", args.risk), "--fdr": ("fdr", args.fdr), "--draws": ("n_draws", args.draws)}
    stop = make_stop(method, args.stop, options=options, params=args.stop_param, seed=args.seed, jobs=args.jobs)
    settings = Settings(args.param, args.seed, args.jobs, args.task, args.min_features)
    ranker = make_ranker(method, stop, settings)
    written = {"--out": args.out, "--param checkpoint": ranker.get_params(deep=False).get("checkpoint")}
    check_apart(written, args.file, several=args.glob, env=env)
    check_options(args, ranker)
    table = load(args, env, ranker)
    if args.out is not None:
        _check_writable(args, table)
    quiet = args.quiet or args.json
    selector = fit(ranker, table, env, missing=args.missing, quiet=quiet, budget=memory_budget(args))
    features = kept_features(selector, table)
    not_written: Exception | None = None
    if args.out is not None:
        try:
            _write(args, table, {feature.name for feature in features})
        except KeyboardInterrupt:  # what took the time is done: it is not lost
            env.say(f"kept {enumerate_names([feature.name for feature in features])}; {args.out} was not written")
            raise
        except Exception as error:  # neither is it here: the answer is told as without --out
            args.out, not_written = None, error
    tell = _tell_programs if args.json else _tell_people
    tell(args, env, selector, table, features)
    if not_written is not None:
        raise not_written
    return exit_code(selector)


def _check_writable(args: argparse.Namespace, table: Any) -> None:
    from tamis.cli._large import LargeTable, check_writable_large
    from tamis.cli._write import check_writable

    check = check_writable_large if isinstance(table, LargeTable) else check_writable
    check(args.out, table, mark_formulas=args.safe_csv)


def _write(args: argparse.Namespace, table: Any, kept: set[str]) -> None:
    from tamis.cli._fit import memory_budget
    from tamis.cli._large import LargeTable, write_large
    from tamis.cli._write import write

    if isinstance(table, LargeTable):
        write_large(args.out, table, kept, mark_formulas=args.safe_csv)
    else:
        write(args.out, table, kept, memory_budget(args), mark_formulas=args.safe_csv)


def _tell_programs(
    args: argparse.Namespace, env: Environment, selector: Any, table: Any, features: Sequence[Any]
) -> None:
    from tamis.cli._fit import file_field, report_of
    from tamis.cli._render import json_object
    from tamis.cli._results import curve_label

    report = {
        "file": file_field(args.file),
        "method": args.method,
        "stop": args.stop,
        **report_of(selector, table),
        "n_kept": len(features),
        "reason": selector.stop_.reason,
        "curve": curve_label(selector) or None,
        "threshold": selector.stop_.threshold,
        "features": [feature.as_dict() for feature in features],
        "out": None if args.out is None else str(args.out),
    }
    env.emit(json_object(report))


def _tell_people(
    args: argparse.Namespace, env: Environment, selector: Any, table: Any, features: Sequence[Any]
) -> None:
    from tamis.cli._fit import say_what_was_done
    from tamis.cli._render import MOST_SHOWN, feature_table
    from tamis.cli._results import curve_label

    say_what_was_done(selector, table, env)
    if args.out is None:
        env.emit(feature_table(features[:MOST_SHOWN], curve=curve_label(selector)))
        if len(features) > MOST_SHOWN:
            env.say(f"{len(features) - MOST_SHOWN} more are kept: --json tells all, and --out FILE writes them")
    env.say(f"kept {len(features)} of {table.n_features} features: {selector.stop_.reason}")
    if args.out is not None:
        names = enumerate_names([feature.name for feature in features])
        env.say(f"wrote {args.out}" + (f": {names}" if names else ""))


COMMAND = Command(
    name="select",
    summary="keep the features that matter, and say why no more",
    examples=_EXAMPLES,
    add_options=_add_options,
    run=_run,
    usage="tamis select FILE --target NAME [options]",
)
