"""``tamis auto``: the features to keep, a fitted model and how well it will do, without any choice."""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
import time
from typing import TYPE_CHECKING

from tamis._signals import INTERRUPTED
from tamis.cli._environment import Environment
from tamis.cli._options import (
    Command,
    add_automatic_meaning_options,
    add_memory_option,
    add_out_option,
    add_run_options,
    add_table_options,
    file_path,
    names_with_commas,
    probability,
    seconds,
)

if TYPE_CHECKING:
    from tamis import AutoSelector
    from tamis.cli._table import Table
    from tamis.learn._race_file import RaceFile

_EXAMPLES = """\
  tamis auto table.csv --target price
  tamis auto table.csv --target price --budget 120 --out kept.parquet
  tamis auto table.csv --target city --drop 'my id' --model city.skops --json
  tamis auto table.csv --target city --prefer small --scoring accuracy
  tamis auto table.csv --target city --budget 3600 --checkpoint tried
  tamis auto table.csv --drop price --out kept.csv"""


_OPTIONS = {
    **{name: name for name in ("checkpoint", "models", "prefer", "rankers", "scoring")},
    "n_jobs": "jobs",
    "random_state": "seed",
    "time_budget": "budget",
}
_PARAMETER = re.compile(rf"^({'|'.join(_OPTIONS)})\b(=)?")


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_memory_option(add_table_options(parser))
    add_automatic_meaning_options(parser)
    group = parser.add_argument_group("the search")
    group.add_argument(
        "--budget",
        metavar="SECONDS",
        type=seconds,
        default=60.0,
        help="how long to look for the best ranking, number of features, scaling and model (default: 60)",
    )
    group.add_argument(
        "--prefer",
        choices=["balanced", "accurate", "small"],
        default="balanced",
        help="of selections that do about as well: fewer features within half a standard error of the best (balanced, "
        "the default), within one (small), or the best whatever its size (accurate)",
    )
    group.add_argument("--ensemble", action="store_true", help="let the best few vote: more accurate, more features")
    group.add_argument(
        "--rankers",
        metavar="NAME[,NAME]",
        type=names_with_commas,
        default="auto",
        help="only rank by these: fisher, rfe, forest, relief, l1; or all, which is no ranking",
    )
    group.add_argument(
        "--models",
        metavar="NAME[,NAME]",
        type=names_with_commas,
        default="auto",
        help="only learn by these: ridge, logistic, linear-svm, rbf-svm, knn, naive-bayes, boosting",
    )
    group.add_argument(
        "--scoring",
        metavar="NAME",
        help="what to do well in: balanced_accuracy, accuracy, roc_auc; r2, neg_root_mean_squared_error, ... (default: "
        "balanced_accuracy for classes, r2 for a quantity)",
    )
    group.add_argument(
        "--confidence", metavar="P", type=probability, default=0.95, help="of the interval (default: 0.95)"
    )
    group.add_argument(
        "--checkpoint",
        metavar="FILE",
        type=file_path,
        help="keep what is tried here: if the command is interrupted, the same command goes on from there",
    )
    add_run_options(group, "the search")
    group = parser.add_argument_group("the answer")
    add_out_option(group)
    group.add_argument(
        "--model",
        metavar="FILE",
        type=file_path,
        help="write the fitted model here, as .skops, a file without code that skops.io.load reads; it predicts from "
        "rows of the table as they are",
    )


def _run(args: argparse.Namespace, env: Environment) -> int:
    from tamis.cli._auto_report import is_interrupted, report_of, say_answer
    from tamis.cli._fit import memory_budget, read_frame, reading_notes
    from tamis.cli._naming import enumerate_names
    from tamis.cli._render import json_object
    from tamis.cli._table import Columns, prepare
    from tamis.cli._write import check_writable

    _check_files(args, env)
    columns = Columns(args.target, None, args.row_groups, args.drop, task=args.task)
    budget = memory_budget(args)
    frame = read_frame(args, env, budget)
    table = prepare(frame, columns, drop_rows_without_target=args.drop_rows_without_target, budget=budget)
    if args.out is not None:
        check_writable(args.out, table, mark_formulas=args.safe_csv)
    if not args.json:
        for line in reading_notes(table):
            env.say(line)
    selector, finished, elapsed = _fit(args, table, env)
    kept = [name for name, is_kept in zip(table.names, selector.get_support(), strict=True) if is_kept]
    try:
        not_written = _write_files(args, table, selector, set(kept))
    except KeyboardInterrupt:  # what took the time is done: it is not lost
        env.say(f"kept {enumerate_names(kept)}; interrupted before all files were written")
        raise
    if args.json:
        env.emit(json_object(report_of(selector, table, args, elapsed)))
    else:
        say_answer(selector, table, args, env)
    for error in not_written[:-1]:
        env.say(f"tamis: error: {error}")
    if not_written:  # the same command goes on from the checkpoint, once there is a place to write to
        raise not_written[-1]
    if finished is not None:
        finished.discard()
    return INTERRUPTED if is_interrupted(selector) else 0


def _write_files(args: argparse.Namespace, table: Table, selector: AutoSelector, kept: set[str]) -> list[Exception]:
    """Write what was asked for; what could not be written is told after the answer, which is then given in full."""
    from tamis.cli._fit import memory_budget
    from tamis.cli._save_model import save_model
    from tamis.cli._write import write

    errors: list[Exception] = []
    if args.out is not None:
        try:
            write(args.out, table, kept, memory_budget(args), mark_formulas=args.safe_csv)
        except Exception as error:
            errors.append(error)
            args.out = None
    if args.model is not None:
        try:
            save_model(args.model, selector.set_params(checkpoint=None))  # a path here is no part of a model
        except Exception as error:
            errors.append(error)
            args.model = None
    return errors


def _check_files(args: argparse.Namespace, env: Environment) -> None:
    """Refuse destinations that could not be written, before any work is done."""
    from tamis.cli._destinations import check_apart
    from tamis.cli._formulas import check_safe_csv
    from tamis.cli._save_model import check_model_destination
    from tamis.cli._write import check_destination, check_place

    if args.safe_csv:
        check_safe_csv(args.out)
    if args.out is not None:
        check_destination(args.out)
    if args.model is not None:
        check_model_destination(args.model)
    if args.checkpoint is not None:
        check_place(args.checkpoint, "--checkpoint")
    written = {"--out": args.out, "--model": args.model, "--checkpoint": args.checkpoint}
    check_apart(written, args.file, several=args.glob, env=env)


def _fit(args: argparse.Namespace, table: Table, env: Environment) -> tuple[AutoSelector, RaceFile | None, float]:
    """The fitted selector, its checkpoint and the seconds that it took, with a progress bar for whoever watches."""
    from tamis import AutoSelector
    from tamis.cli._progress import budget_bar

    selector = AutoSelector(
        args.budget,
        prefer=args.prefer,
        ensemble=args.ensemble,
        rankers=args.rankers,
        models=args.models,
        scoring=args.scoring,
        confidence=args.confidence,
        task=args.task,
        checkpoint=args.checkpoint,
        n_jobs=args.jobs,
        random_state=0 if args.seed is None else args.seed,
    )
    X = table.features.dense() if table.features.block is None else table.features.matrix()
    start = time.perf_counter()
    with contextlib.nullcontext() if args.quiet or args.json else budget_bar(env, args.budget):
        try:
            finished = selector._fit_keeping_checkpoint(X, table.y, row_groups=table.row_groups)
        except ValueError as error:
            raise ValueError(_in_options(str(error), table)) from error
    return selector, finished, time.perf_counter() - start


def _in_options(message: str, table: Table) -> str:
    """A message that begins with a parameter, or is about the target, with the option in its place."""
    if message.startswith(("y ", "Input y")):
        return f"--target {shlex.quote(str(table.target))}: {message}"
    return _PARAMETER.sub(lambda found: f"--{_OPTIONS[found[1]]}{' ' if found[2] else ''}", message)


COMMAND = Command(
    name="auto",
    summary="select and learn without any choice, and say how well that will do",
    examples=_EXAMPLES,
    add_options=_add_options,
    run=_run,
    usage="tamis auto FILE [--target NAME] [options]",
)
