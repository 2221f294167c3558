"""How many of the kept columns are false: probes of tamis beside knockoffs and other rules, on tables of known truth.

The false discovery rate asked for is .1 throughout. A conditional false discovery has a coefficient of zero, a marginal
one is independent of the target; a column beside a relevant one is the first and not the second. Knockoff+: minimum
variance-based reconstructability, difference of lasso coefficients (knockpy), with the true covariance of the columns
and with that of Ledoit and Wolf. RFECV and `Lasso()` promise no rate; Boruta and `RFE()` bound a risk; stability
selection promises two false columns at most in the mean. Some rivals take classes as numbers or not at all, and slow
ones run on a few designs. Seconds are of the processor, on one thread. All methods of a repetition see the same table.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from bench.errors.contestants import (
    CONTESTANTS,
    LEDOIT_WOLF,
    RATE,
    RISK,
    SAFE,
    SAFE_AT_RISK,
    SOME,
    WITHOUT_SIGNAL,
    Entry,
    installed,
)
from bench.errors.designs import DESIGNS, NOTHING_RELEVANT, Design
from bench.errors.plots import draw_errors
from bench.table import Targets, note, show

CONDITIONAL, MARGINAL, POWER, ANY, SECONDS = range(5)  # columns of what a fit is judged by
MOST_SECONDS = 0.5  # at 200 x 100
GAIN = 0.1  # of power over knockoff+
STRETCH = {"AR .95, signals of 1": 0.84, "n = 1000, block .7, signals of .15": 0.78}  # power
Found = dict[str, np.ndarray]


def repetition(design: Design, seed: int, entries: Mapping[str, Entry]) -> dict[str, tuple[float, ...]]:
    """What each contestant makes of one table."""
    draw, judged = design(seed), {}
    for name, entry in entries.items():
        start = time.process_time()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = entry.select(draw, seed)
        judged[name] = (*draw.judge(kept), time.process_time() - start)
    return judged


def one_repetition(where: str, label: str, seed: int, names: list[str]) -> dict[str, tuple[float, ...]]:
    """The same by name, as functions do not travel between processes."""
    designs, entries = (DESIGNS, CONTESTANTS) if where == "signal" else (NOTHING_RELEVANT, WITHOUT_SIGNAL)
    return repetition(designs[label], seed, {name: entries[name] for name in names})


def on_design(where: str, label: str, counts: Mapping[str, int]) -> Found:
    """Rows of figures by contestant, one per repetition."""
    seeds = range(max(counts.values(), default=0))
    done = Parallel(n_jobs=-1)(
        delayed(one_repetition)(where, label, seed, [name for name, n in counts.items() if seed < n]) for seed in seeds
    )
    return {name: np.array([each[name] for each in done if name in each], dtype=float) for name in counts}


def counts_of(label: str, design: Design, entries: Mapping[str, Entry], quick: bool) -> dict[str, int]:
    """Repetitions by contestant, of those that take the design."""
    full = {name: entry.repetitions_on(label, design) for name, entry in entries.items()}
    return {name: min(n, 2) if quick else n for name, n in full.items() if n and not (quick and entries[name].is_slow)}


def mean_and_error(values: np.ndarray, digits: int = 3) -> str:
    return f"{values.mean():.{digits}f} +- {standard_error(values):.{digits}f}"


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def show_design(label: str, design: Design, found: Found) -> None:
    has_marginal = bool(design(0).marginally_null.any())
    rows = [
        (
            name,
            len(each),
            mean_and_error(each[:, CONDITIONAL]),
            mean_and_error(each[:, MARGINAL]) if has_marginal else "-",
            mean_and_error(each[:, POWER], 2),
            f"{each[:, SECONDS].mean():.3f}",
        )
        for name, each in found.items()
    ]
    show(
        f"{label}: {design.n} x {design.p}, {design.n_signals} relevant",
        ("method", "repetitions", "FDR, conditional", "FDR, marginal", "power", "seconds"),
        rows,
    )


def show_summary(found: Mapping[str, Found]) -> None:
    """Of who ran on every design with at least two rows per column."""
    tall = [label for label in found if DESIGNS[label].is_tall]
    rows = []
    for name in CONTESTANTS:
        here = [found[label][name] for label in tall if name in found[label]]
        if len(here) < len(tall):
            continue
        rates = [each[:, CONDITIONAL].mean() for each in here]
        rows.append(
            (
                name,
                f"{max(rates):.3f} ({tall[int(np.argmax(rates))]})",
                f"{np.mean(rates):.3f}",
                f"{np.mean([each[:, POWER].mean() for each in here]):.3f}",
                f"{np.mean([each[:, SECONDS].mean() for each in here]):.3f}",
            )
        )
    show(
        f"The {len(tall)} designs with at least two rows per column",
        ("method", "largest conditional FDR", "mean", "mean power", "mean seconds"),
        rows,
    )


def show_without_signal(found: Mapping[str, Found]) -> None:
    rows = [
        (label, name, len(each), mean_and_error(each[:, ANY]), f"{limit_without_signal(name, len(each)):.3f}")
        for label, here in found.items()
        for name, each in here.items()
    ]
    show(
        "No column matters: any kept",
        ("design", "method", "repetitions", "any kept", "asked of ours at most, with two standard errors"),
        rows,
    )


def limit_without_signal(name: str, n: int) -> float:
    """At a rate the chance of any false discovery without signal is that rate."""
    level = RISK if "risk" in name else RATE
    return float(level + 2 * np.sqrt(level * (1 - level) / n))


def check(found: Mapping[str, Found], nothing: Mapping[str, Found]) -> bool:
    """The targets, of the lasso with knockoff probes."""
    targets = Targets()
    for label, here in found.items():
        if DESIGNS[label].is_tall:
            add_rate(targets, label, here[SAFE][:, CONDITIONAL])
    add_power(targets, found)
    for label, here in nothing.items():
        for name in (SAFE, SAFE_AT_RISK):
            any_kept, most = here[name][:, ANY].mean(), limit_without_signal(name, len(here[name]))
            targets.add(f"{name}, no signal, {label}: any kept", f"{any_kept:.3f}", f"<= {most:.3f}", any_kept <= most)
    seconds = found["block .7"][SAFE][:, SECONDS].mean()
    targets.add(f"{SAFE}, 200 x 100: seconds", f"{seconds:.2f}", f"<= {MOST_SECONDS}", seconds <= MOST_SECONDS)
    return targets.show()


def add_rate(targets: Targets, label: str, proportions: np.ndarray) -> None:
    rate, most = proportions.mean(), RATE + 2 * standard_error(proportions)
    targets.add(f"{SAFE}, {label}: conditional FDR", f"{rate:.3f}", f"<= .1 + 2 s.e. = {most:.3f}", rate <= most)


def add_power(targets: Targets, found: Mapping[str, Found]) -> None:
    both = [here for label, here in found.items() if DESIGNS[label].is_tall and {SAFE, LEDOIT_WOLF} <= set(here)]
    if both:
        ours, theirs = (np.mean([here[name][:, POWER].mean() for here in both]) for name in (SAFE, LEDOIT_WOLF))
        targets.add(
            f"{SAFE}: mean power over {len(both)} designs",
            f"{ours:.3f}",
            f">= {theirs:.3f} ({LEDOIT_WOLF}) + {GAIN}",
            ours >= theirs + GAIN,
        )


def show_stretch(found: Mapping[str, Found]) -> None:
    """What would be better still: printed, not asked for."""
    rows = []
    for label, here in found.items():
        rate, power = here[SAFE][:, CONDITIONAL].mean(), here[SAFE][:, POWER].mean()
        most = RATE + 2 * standard_error(here[SAFE][:, CONDITIONAL])
        if label in STRETCH:
            ok = rate <= RATE and power >= STRETCH[label]
            rows.append((label, f"{rate:.3f} / {power:.2f}", f"<= .1 / >= {STRETCH[label]}", "yes" if ok else "no"))
        elif not DESIGNS[label].is_tall:
            rows.append((label, f"{rate:.3f} / {power:.2f}", f"<= {most:.3f} / -", "yes" if rate <= most else "no"))
    if rows:
        show(f"Beyond the targets, {SAFE}: conditional FDR / power", ("design", "reached", "wished for", "ok"), rows)


def measure(where: str, designs: Mapping[str, Design], entries: Mapping[str, Entry], quick: bool) -> dict[str, Found]:
    chosen = {label: design for label, design in designs.items() if not quick or label in SOME}
    return {
        label: on_design(where, label, counts_of(label, design, entries, quick)) for label, design in chosen.items()
    }


def summarized(found: Mapping[str, Found]) -> dict[str, dict[str, dict[str, float]]]:
    names = {"fdr": CONDITIONAL, "fdr_marginal": MARGINAL, "power": POWER, "any": ANY, "seconds": SECONDS}
    return {
        label: {
            name: {"repetitions": len(each)}
            | {key: float(each[:, place].mean()) for key, place in names.items() if not np.isnan(each[:, place]).any()}
            for name, each in here.items()
        }
        for label, here in found.items()
    }


def run(*, quick: bool = False) -> dict[str, Any]:
    entries, without_signal = installed(CONTESTANTS), installed(WITHOUT_SIGNAL)
    for name in CONTESTANTS.keys() - entries.keys():
        note(f"{name} is left out: the package {CONTESTANTS[name].package} is not installed (group peers).")
    found = measure("signal", DESIGNS, entries, quick)
    for label, here in found.items():
        show_design(label, DESIGNS[label], here)
    show_summary(found)
    nothing = measure("no signal", NOTHING_RELEVANT, without_signal, quick)
    show_without_signal(nothing)
    show_stretch(found)
    figures = summarized(found)
    return {
        "bench": "error-control",
        "designs": figures,
        "no_signal": summarized(nothing),
        "plot": draw_errors(figures),
        "reached": check(found, nothing),
    }
