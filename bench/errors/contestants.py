"""Who decides which columns matter: rankers of tamis with their rules, and rivals, from a draw and a seed to a mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from bench.errors import rivals
from bench.errors.designs import Design, Draw
from tamis import RFE, CorrelationScore, GramSchmidt, Lasso, LogisticLasso
from tamis.base import Ranker
from tamis.stop import MonteCarloProbe, Probe

RATE, RISK, N_DRAWS = 0.1, 0.05, 19
WIDTHS = (100, 500, 1000)  # columns
Contestant = Callable[[Draw, int], np.ndarray]


def lasso(draw: Draw, stop: Any) -> Ranker:
    """That of the task."""
    return Lasso(stop=stop) if draw.task == "regression" else LogisticLasso(stop=stop)


def fdr_probe(seed: int, **given: Any) -> MonteCarloProbe:
    return MonteCarloProbe(fdr=RATE, n_draws=N_DRAWS, random_state=seed, **given)


def risk_probe(seed: int, **given: Any) -> MonteCarloProbe:
    return MonteCarloProbe(RISK, n_draws=N_DRAWS, random_state=seed, **given)


def fitted(ranker: Callable[[Draw, int], Ranker]) -> Contestant:
    """The mask of a ranker that is built for the draw."""

    def select(draw: Draw, seed: int) -> np.ndarray:
        return ranker(draw, seed).fit(draw.X, draw.y).get_support()

    return select


@dataclass(frozen=True)
class Entry:
    """A contestant, the package that it needs, what it takes, and how much of it there is time for.

    ``repetitions`` are those on designs of 100, of 500 and of 1000 columns; ``designs`` are the only ones that it runs
    on, None for all.
    """

    select: Contestant
    package: str = "tamis"
    tasks: tuple[str, ...] = ("regression", "classification")
    needs_more_rows: bool = False  # than columns
    repetitions: tuple[int, int, int] = (100, 100, 100)
    designs: tuple[str, ...] | None = None

    @property
    def is_slow(self) -> bool:
        return self.repetitions[0] < 20

    def repetitions_on(self, label: str, design: Design) -> int:
        """0 where it does not run."""
        takes = design.task in self.tasks and (design.n > design.p + 1 or not self.needs_more_rows)
        is_asked = self.designs is None or label in self.designs
        return self.repetitions[WIDTHS.index(design.p)] if takes and is_asked else 0


SAFE, PERMUTED, GIVEN = "lasso, knockoff probes", "lasso, permuted probes", "lasso, knockoff probes, true covariance"
SAFE_AT_RISK = f"{SAFE}, risk .05"
LEDOIT_WOLF = "knockpy, Ledoit-Wolf"
SOME = ("AR .5", "block .7", "block .9, signals of .7")

CONTESTANTS = {
    SAFE: Entry(fitted(lambda draw, seed: lasso(draw, fdr_probe(seed, probes="knockoff"))), repetitions=(100, 100, 20)),
    GIVEN: Entry(
        fitted(lambda draw, seed: lasso(draw, fdr_probe(seed, probes="knockoff", covariance=draw.covariance))),
        repetitions=(30, 20, 5),
    ),
    PERMUTED: Entry(
        fitted(lambda draw, seed: lasso(draw, fdr_probe(seed, probes="permuted"))), repetitions=(50, 20, 5)
    ),
    "RFE, permuted probes": Entry(
        fitted(lambda draw, seed: RFE(stop=fdr_probe(seed, probes="permuted"))), repetitions=(50, 20, 5)
    ),
    "GramSchmidt, permuted probes": Entry(
        fitted(lambda draw, seed: GramSchmidt(stop=fdr_probe(seed, probes="permuted"))),
        designs=SOME,
        repetitions=(30, 0, 0),
    ),
    "GramSchmidt, Probe(.05)": Entry(fitted(lambda draw, seed: GramSchmidt(stop=Probe(RISK)))),
    "CorrelationScore, permuted probes": Entry(
        fitted(lambda draw, seed: CorrelationScore(stop=fdr_probe(seed, probes="permuted")))
    ),
    "RFE()": Entry(fitted(lambda draw, seed: RFE()), repetitions=(10, 5, 2)),
    "Lasso()": Entry(fitted(lambda draw, seed: lasso(draw, "auto")), repetitions=(10, 5, 2)),
    "knockpy, true covariance": Entry(rivals.knockpy_given, "knockpy", repetitions=(50, 10, 3)),
    LEDOIT_WOLF: Entry(rivals.knockpy_estimated, "knockpy", repetitions=(100, 10, 3)),
    "hidimstat, knockoffs": Entry(
        rivals.hidimstat_knockoffs, "hidimstat", ("regression",), repetitions=(2, 0, 0), designs=SOME[:2]
    ),
    "hidimstat, desparsified lasso + BH": Entry(
        rivals.desparsified_lasso, "hidimstat", ("regression",), repetitions=(10, 3, 0)
    ),
    "least squares + BH": Entry(rivals.least_squares, "scipy", ("regression",), needs_more_rows=True),
    "stability selection": Entry(rivals.stability_selection, "sklearn", ("regression",), repetitions=(50, 10, 3)),
    "RFECV": Entry(rivals.rfecv, "sklearn", repetitions=(10, 0, 0), designs=SOME),
    "Boruta": Entry(rivals.boruta, "boruta", repetitions=(2, 0, 0), designs=SOME),
}

WITHOUT_SIGNAL = {
    SAFE: CONTESTANTS[SAFE],
    SAFE_AT_RISK: Entry(fitted(lambda draw, seed: lasso(draw, risk_probe(seed, probes="knockoff")))),
    PERMUTED: CONTESTANTS[PERMUTED],
    f"{PERMUTED}, risk .05": Entry(
        fitted(lambda draw, seed: lasso(draw, risk_probe(seed, probes="permuted"))), repetitions=(50, 20, 5)
    ),
    "RFE, permuted probes": CONTESTANTS["RFE, permuted probes"],
    "RFE, permuted probes, risk .05": Entry(fitted(lambda draw, seed: RFE(stop=risk_probe(seed, probes="permuted")))),
    LEDOIT_WOLF: CONTESTANTS[LEDOIT_WOLF],
    "least squares + BH": CONTESTANTS["least squares + BH"],
    "stability selection": CONTESTANTS["stability selection"],
}


def installed(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Those whose package is here."""
    return {name: entry for name, entry in entries.items() if find_spec(entry.package) is not None}
