"""Sets of the NIPS 2003 challenge: learned on the training rows, judged on the validation rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from bench.auto.contenders import ALL, PREFERENCES, all_features, race
from bench.table import Targets, note, show
from tamis.datasets import load, names

# Balanced errors in percent, and columns kept, of a prototype with the same budget; of prototypes whose settings a
# person chose; and of the winners of the challenge.
PROTOTYPE = {
    "nips_arcene": {"accurate": "20.8 (2048)", ALL: "13.1", "vote": "14.0", "by hand": "14.2", "winners": "11-13"},
    "nips_dexter": {"accurate": "4.7 (2048)", ALL: "5.3", "vote": "5.0", "by hand": "4.7", "winners": "3.3-3.9"},
    "nips_dorothea": {"accurate": "12.1 (256)", ALL: "12.3", "vote": "14.6", "by hand": "10.9", "winners": "8.5"},
    "nips_madelon": {"accurate": "8.7 (20)", ALL: "18.7", "vote": "7.8", "by hand": "7.7", "winners": "6-7"},
}
ASKED = {"nips_arcene": 15.0, "nips_dexter": 5.0, "nips_dorothea": 12.5, "nips_madelon": 9.0}
N_SEEDS = 3
NOTE = """Means over three seeds of the folds, with the least and the largest. Validation sets have 100, 300, 350 (34
positive) and 600 rows: a figure has a standard error of 4, 1.4, 3 to 4 and 1.15 points whatever the seeds. The target
is judged by the default, balanced. What is "by hand", and the winners', has settings that people chose."""


@dataclass(frozen=True)
class Reached:
    """What one contender reached with one seed; errors in percent."""

    error: float
    n_features: int
    seconds: float
    estimate: Any


def challenge(budget: float, wanted: tuple[str, ...], targets: Targets) -> dict[str, Any]:
    """Print the table, note the targets, and return the figures."""
    rows, figures = [], {}
    for name in wanted:
        if name not in names():
            note(f"data set missing, set TAMIS_DATA to its folder: {name}")
            continue
        title, found = name.removeprefix("nips_").upper(), race_seeds(load(name), budget)
        rows += [(title, who, *described(some), PROTOTYPE[name].get(who, "-")) for who, some in found.items()]
        rows += [(title, who, "", "", "", "", "", PROTOTYPE[name][who]) for who in ("by hand", "winners")]
        errors = {who: mean_of(some, "error") for who, some in found.items()}
        print(f"  {title}: {', '.join(f'{who} {error:.1f}' for who, error in errors.items())}", flush=True)
        targets.add(
            f"{title}, balanced error with {mean_of(found['balanced'], 'n_features'):.0f} columns",
            f"{errors['balanced']:.1f} (least of the preferences {min(errors[who] for who in PREFERENCES):.1f})",
            f"<= {ASKED[name]:g}",
            errors["balanced"] <= ASKED[name],
        )
        figures[title] = {
            who: {key: [round(getattr(one, key), 2) for one in some] for key in ("error", "n_features", "seconds")}
            for who, some in found.items()
        }
    show(
        f"Challenge sets: balanced error in percent on the validation rows, {budget:g} s per race",
        (
            "set",
            "who",
            "error",
            "of seeds",
            "columns",
            "estimated (95 % interval)",
            "seconds",
            "prototype or published",
        ),
        rows,
    )
    note(NOTE)
    return figures


def race_seeds(data: Any, budget: float) -> dict[str, list[Reached]]:
    """Every preference and all features, once per seed."""
    found: dict[str, list[Reached]] = {}
    for seed in range(N_SEEDS):
        given = {"scoring": "balanced_accuracy", "random_state": seed}
        for fitted in (*race(data.X, data.y, budget, **given), all_features(data.X, data.y, budget, **given)):
            score = balanced_accuracy_score(data.y_valid, fitted.predictor.predict(data.X_valid))
            reached = Reached(100.0 * (1.0 - score), fitted.n_features, fitted.seconds, fitted.predictor.estimate_)
            found.setdefault(fitted.name, []).append(reached)
    return found


def mean_of(some: list[Reached], key: str) -> float:
    return float(np.mean([getattr(one, key) for one in some]))


def described(some: list[Reached]) -> tuple[str, ...]:
    errors = [one.error for one in some]
    return (
        f"{np.mean(errors):.1f}",
        f"{min(errors):.1f} to {max(errors):.1f}",
        f"{mean_of(some, 'n_features'):.0f}",
        estimated([one.estimate for one in some]),
        f"{mean_of(some, 'seconds'):.0f}",
    )


def estimated(estimates: list[Any]) -> str:
    """Expected balanced error in percent, and its interval, means over seeds."""
    value, low, high = (
        100.0 * (1.0 - float(np.mean([getattr(each, of) for each in estimates]))) for of in ("value", "high", "low")
    )
    return f"{value:.1f} ({low:.1f} to {high:.1f})"
