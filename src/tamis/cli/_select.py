"""``tamis select``: the features to keep, and why no more."""

from __future__ import annotations

import argparse
from pathlib import Path

from tamis.cli._environment import Environment
from tamis.cli._options import Command, add_method_options, add_rule_options, add_table_options

_EXAMPLES = """\
  tamis select table.csv --target price
  tamis select table.csv --target price --risk 0.01 --out kept.parquet
  tamis select table.csv --target city --drop id --encode --json
  tamis select spam.npz --method fisher-score --stop monte-carlo-probe --fdr 0.1 --draws 199 --seed 0
  tamis select spam.npz --stop cross-validation --stop-param rule=one-se --jobs 4
  tamis select faces.mat --method max-variance --stop 50 --out faces.npz"""


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_table_options(parser)
    add_method_options(parser)
    add_rule_options(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="write the kept columns and the target here: .csv, .tsv, .parquet, .arrow, .feather, .ipc or .npz",
    )


def _run(args: argparse.Namespace, env: Environment) -> None:
    from tamis.cli._fit import fit, load
    from tamis.cli._methods import make_ranker, make_stop, method_class
    from tamis.cli._render import feature_table, json_object
    from tamis.cli._results import kept_features
    from tamis.cli._write import check_destination, write

    if args.out is not None:
        check_destination(args.out, source=args.file)
    method = method_class(args.method)
    options = {"--risk": ("risk", args.risk), "--fdr": ("fdr", args.fdr), "--draws": ("n_draws", args.draws)}
    stop = make_stop(method, args.stop, options=options, params=args.stop_param, seed=args.seed, jobs=args.jobs)
    ranker = make_ranker(method, stop, params=args.param, seed=args.seed, jobs=args.jobs)
    table = load(args, method)
    fit(ranker, table, env, quiet=args.quiet or args.json)
    features = kept_features(ranker, table)
    reason = ranker.stop_.reason
    if args.out is not None:
        write(args.out, table, {feature.name for feature in features})
    if args.json:
        report = {
            "file": str(args.file),
            "method": args.method,
            "stop": args.stop,
            "target": table.target,
            "n_rows": table.n_rows,
            "n_features": table.n_features,
            "n_kept": len(features),
            "reason": reason,
            "curve": ranker.stop_.label or None,
            "threshold": ranker.stop_.threshold,
            "features": [feature.as_dict() for feature in features],
            "out": None if args.out is None else str(args.out),
        }
        env.emit(json_object(report))
        return
    if args.out is None:
        env.emit(feature_table(features, curve=ranker.stop_.label))
    env.say(f"kept {len(features)} of {table.n_features} features: {reason}")
    if args.out is not None:
        env.say(f"wrote {args.out}")


COMMAND = Command(
    name="select",
    summary="keep the features that matter, and say why no more",
    examples=_EXAMPLES,
    add_options=_add_options,
    run=_run,
)
