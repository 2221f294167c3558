"""Attack tamis with thousands of bad files, arrays and signals: ``python -m tests.adversary [--cases N] [--seed S]``.

The seed is printed, and ``--only NUMBER`` repeats one case of it. The last table says how many were tried and how many
went wrong; the exit code is 1 if any did.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tests.adversary import arrays, files, signals
from tests.adversary.isolation import Attack, run_all

KINDS = {  # who makes them, and their share
    "arrays": (arrays.make_attack, 0.45),
    "files": (files.make_attack, 0.45),
    "signals": (signals.make_attack, 0.1),
}


def attacks(n_cases: int, seed: int, kinds: list[str], only: int | None) -> Iterator[tuple[int, Attack]]:
    """Attack number i is the same for a seed, whatever else is run."""
    names = list(KINDS)
    shares = np.array([KINDS[name][1] for name in names])
    for number in range(n_cases) if only is None else [only]:
        rng = np.random.default_rng([seed, number])
        kind = names[rng.choice(len(names), p=shares / shares.sum())]
        if kind in kinds:
            yield number, KINDS[kind][0](rng)


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
    tried, bad, longest, start = Counter(), Counter(), Counter(), time.perf_counter()
    for done in run_all(attacks(options.cases, seed, options.kind or list(KINDS), options.only), options.jobs):
        kind = done.attack.kind
        tried[kind] += 1
        longest[kind] = max(longest[kind], done.seconds)
        if done.wrong:
            bad[kind] += 1
            print(f"bad: --seed {seed} --only {done.number}: {kind}: {done.attack.name}: {done.wrong}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{sum(tried.values())} of {options.cases}", end="", file=sys.stderr)
    print(f"\n{'':10} {'tried':>6} {'bad':>5} {'longest':>9}")
    for kind in KINDS:
        print(f"{kind:10} {tried[kind]:6} {bad[kind]:5} {longest[kind]:8.1f}s")
    print(f"{'all':10} {sum(tried.values()):6} {sum(bad.values()):5} {time.perf_counter() - start:8.1f}s in all")
    return int(bool(sum(bad.values())))


if __name__ == "__main__":
    sys.exit(main())
