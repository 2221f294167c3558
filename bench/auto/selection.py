"""AutoSelector on challenge sets and outer splits of twenty tables, beside what people write by hand.

One race of configurations per table and split serves the four preferences; "all + best model" is cross-validation over
the same models and scalings with every column. Twelve of the twenty tables played no part when the portfolio was chosen
("seen: no"). Nothing runs beside a race: its budget is of wall time, on one thread of BLAS.
"""

from __future__ import annotations

from typing import Any

from threadpoolctl import threadpool_limits

from bench.auto.challenge import ASKED, challenge
from bench.auto.sets import SETS
from bench.auto.splits import outer_splits
from bench.table import Targets, note

N_SPLITS = 3
BUDGET = 15.0
CHALLENGE_BUDGET = 90.0

QUICK_SETS = ("wine", "planted", "diabetes")


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    with threadpool_limits(1):
        figures = measure(quick, targets)
    reached = targets.show()
    if quick:
        note("Quick: no challenge set, and seconds too few for most of the portfolio; targets do not count.")
        return {"bench": "auto", **figures}
    return {"bench": "auto", **figures, "reached": reached}


def measure(quick: bool, targets: Targets) -> dict[str, Any]:
    """Print the tables, note the targets, and return the figures."""
    return {
        "challenge": {} if quick else challenge(CHALLENGE_BUDGET, tuple(ASKED), targets),
        "splits": outer_splits(
            1 if quick else N_SPLITS, 3.0 if quick else BUDGET, QUICK_SETS if quick else tuple(SETS), targets
        ),
    }
