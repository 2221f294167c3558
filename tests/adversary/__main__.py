"""Attack tamis with thousands of bad files, arrays and signals: ``python -m tests.adversary [--cases N] [--seed S]``.

The seed is printed, and ``--only NUMBER`` repeats one case of it. Methods, formats, and jobs that may be interrupted
have their turn one after another. The last table says how many attacks were tried and how many went wrong, over how
many methods, formats or jobs, and how many each of these had at least; the exit code is 1 if any went wrong.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from tests.adversary import arrays, estimators, files, new_rows, signals
from tests.adversary.isolation import Attack, Outcome, run_all

KINDS = {
    "arrays": arrays.make_attack,
    "estimators": estimators.make_attack,
    "rows": new_rows.make_attack,
    "files": files.make_attack,
    "signals": signals.make_attack,
}
ROUND = (*["arrays"] * 7, *["estimators"] * 4, *["rows"] * 5, *["files"] * 7, *["signals"] * 2)  # signals take longer


def attacks(n_cases: int, seed: int, kinds: list[str], only: int | None) -> Iterator[tuple[int, Attack]]:
    """Attack number i is the same for a seed, whatever else is run."""
    for number in range(n_cases) if only is None else [only]:
        rounds, place = divmod(number, len(ROUND))
        kind = ROUND[place]
        if kind in kinds:
            index = rounds * ROUND.count(kind) + ROUND[:place].count(kind)
            yield number, KINDS[kind](np.random.default_rng([seed, number]), index)


def show(outcomes: dict[str, list[Outcome]], seconds: float) -> None:
    """One line a kind, and one for all."""
    print(f"\n{'':10} {'tried':>6} {'bad':>4} {'longest':>8}  of each at least")
    for kind, found in outcomes.items():
        tried = Counter(outcome.attack.subject for outcome in found)
        bad, longest = sum(bool(outcome.wrong) for outcome in found), max(outcome.seconds for outcome in found)
        least = f"{len(tried)}: {min(tried.values())}"
        print(f"{kind:10} {len(found):6} {bad:4} {longest:7.1f}s  {least}")
    every = [outcome for found in outcomes.values() for outcome in found]
    print(f"{'all':10} {len(every):6} {sum(bool(outcome.wrong) for outcome in every):4} {seconds:7.1f}s in all")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.adversary", description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="drawn anew by default")
    parser.add_argument("--only", type=int, default=None, metavar="NUMBER", help="repeat this case alone")
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="may be repeated; all by default")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    start = time.perf_counter()
    for done in run_all(attacks(options.cases, seed, options.kind or list(KINDS), options.only), options.jobs):
        kind = done.attack.kind
        outcomes[kind].append(done)
        if done.wrong:
            print(f"bad: --seed {seed} --only {done.number}: {kind}: {done.attack.name}: {done.wrong}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{sum(map(len, outcomes.values()))} of {options.cases}", end="", file=sys.stderr)
    show(outcomes, time.perf_counter() - start)
    return int(any(outcome.wrong for found in outcomes.values() for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
