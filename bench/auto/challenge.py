"""Sets of the NIPS 2003 challenge: learned on the training rows, judged on the validation rows."""

from __future__ import annotations

from typing import Any

from sklearn.metrics import balanced_accuracy_score

from bench.auto.contenders import ALL, all_features, race
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
NOTE = """Validation sets have 100, 300, 350 (34 positive) and 600 rows: a figure has a standard error of 4, 1.4, 3 to 4
and 1.15 points. The target is judged by the default, balanced. What is "by hand", and the winners', has settings that
people chose."""


def challenge(budget: float, wanted: tuple[str, ...], targets: Targets) -> dict[str, Any]:
    """Print the table, note the targets, and return the figures."""
    rows, figures = [], {}
    for name in wanted:
        if name not in names():
            note(f"data set missing, set TAMIS_DATA to its folder: {name}")
            continue
        data, title = load(name), name.removeprefix("nips_").upper()
        given = {"scoring": "balanced_accuracy", "random_state": 0}
        found: dict[str, Any] = {}
        for fitted in (*race(data.X, data.y, budget, **given), all_features(data.X, data.y, budget, **given)):
            predicted = fitted.predictor.predict(data.X_valid)
            error = 100.0 * (1.0 - balanced_accuracy_score(data.y_valid, predicted))
            found[fitted.name] = {
                "error": round(error, 2),
                "kept": fitted.n_features,
                "seconds": round(fitted.seconds, 1),
            }
            rows.append(
                (
                    title,
                    fitted.name,
                    f"{error:.1f}",
                    fitted.n_features,
                    estimated(fitted.predictor.estimate_),
                    PROTOTYPE[name].get(fitted.name, "-"),
                    f"{fitted.seconds:.0f}",
                )
            )
        rows += [(title, who, "", "", "", PROTOTYPE[name][who], "") for who in ("by hand", "winners")]
        print(f"  {title}: {found}", flush=True)
        asked, reached = ASKED[name], found["balanced"]
        least = min(each["error"] for who, each in found.items() if who != ALL)
        targets.add(
            f"{title}, balanced error with {reached['kept']} columns",
            f"{reached['error']:.1f} (least of the preferences {least:.1f})",
            f"<= {asked:g}",
            reached["error"] <= asked,
        )
        figures[title] = found
    show(
        f"Challenge sets: balanced error in percent on the validation rows, {budget:g} s per race",
        ("set", "who", "error", "columns", "estimated (95 % interval)", "prototype or published", "seconds"),
        rows,
    )
    note(NOTE)
    return figures


def estimated(estimate: Any) -> str:
    """Expected balanced error in percent, and its interval."""
    value, low, high = (100.0 * (1.0 - score) for score in (estimate.value, estimate.high, estimate.low))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"
