"""Lal et al. (2006), Sec. 3: scaling factors on leukemia, and how long they take.

Every method selects k genes on the training rows of a nested cross-validation; a linear machine with its C from
cross-validation on them judges. ``planted`` and ``xor`` have the same methods on problems whose answer is known.
"""

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bench.papers.embedded_sparse import Maker, nested_leukemia
from bench.papers.planted import make_planted
from bench.speed.rfe_tall import processor_seconds
from bench.table import Targets, note, show
from tamis import ARD, JCFO, MED, RFE, AdaptiveScaling, FisherScore, MarginLP, ScalingFactors, ZeroNorm
from tamis.datasets import load, names

METHODS: dict[str, Maker] = {
    "Fisher": lambda k: FisherScore(stop=k),
    "RFE": lambda k: RFE(stop=k, step=0.05),
    "ZeroNorm, stopped at k": lambda k: ZeroNorm(stop=k),
    "AdaptiveScaling": lambda k: AdaptiveScaling(stop=k),
    "MarginLP": lambda k: MarginLP(stop=k),
    "ARD": lambda k: ARD(stop=k),
    "ARD, 10 rounds": lambda k: ARD(stop=k, early_stopping=10),
    "ARD, run to the end": lambda k: ARD(),
    "MED": lambda k: MED(stop=k),
    "JCFO, linear": lambda k: JCFO(stop=k, kernel="linear"),
    "ScalingFactors, linear": lambda k: ScalingFactors(stop=k, kernel="linear"),
}
LINEAR = ("AdaptiveScaling", "MarginLP", "ARD", "MED", "JCFO, linear", "ScalingFactors, linear")
PROTOTYPE = {
    "Fisher": "11.1 / 2.8",
    "RFE": "5.6 / 4.2",
    "ZeroNorm, stopped at k": "2.8 / 2.8",
    "ARD, 10 rounds": "2.8 / 2.8",
    "ARD, run to the end": "9.7 / 11.1",
    "MED": "11.1 / 2.8",
    "JCFO, linear": "12.5 / 9.7",
    "ScalingFactors, linear": "6.9 / 4.2",
}
SIZES = (5, 20)


def all_genes(n_repeats: int) -> float:
    """Error in percent of a support vector machine with all genes, which separate the classes at any C."""
    data = load("allaml")
    X, y, wrong = data.X, data.y, 0
    for seed in range(n_repeats):
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
            machine = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X[train], y[train])
            wrong += int(np.sum(machine.predict(X[test]) != y[test]))
    return 100.0 * wrong / (n_repeats * y.size)


def leukemia(quick: bool, targets: Targets) -> dict[str, float]:
    """Error at 5 and 20 genes."""
    n_repeats = 1 if quick else 5
    rows, found = nested_leukemia(METHODS, SIZES, n_repeats)
    found["all genes"] = all_genes(n_repeats)
    table = [(name, *cells, PROTOTYPE.get(name, "")) for name, *cells in rows]
    show(
        f"Leukemia: error in percent, nested 10-fold, {n_repeats} repetition(s); all genes {found['all genes']:.1f}",
        ("method", *[f"{k} genes" for k in SIZES], "seconds", "prototype, one pass"),
        table,
    )
    for k in SIZES:
        reached = found[f"ARD, 10 rounds, {k}"]
        targets.add(f"leukemia, ARD stopped after 10 rounds, {k} genes", f"{reached:.1f} %", "<= 4.2 %", reached <= 4.2)
    return found


def speed(targets: Targets) -> dict[str, float]:
    """Seconds of processor time, one thread."""
    found: dict[str, float] = {}
    with threadpool_limits(1):
        if "allaml" in names():
            data = load("allaml")
            for name in LINEAR:
                make = METHODS[name]
                make(5).fit(data.X[:, :50], data.y)  # imports
                found[name], _ = processor_seconds(lambda make=make: make(20).fit(data.X, data.y))
                targets.add(f"{name}, 72 x 7129", f"{found[name]:.2f} s", "< 1 s", found[name] < 1.0)
        X, y, _ = make_planted(200, 0)
        found["rbf"], _ = processor_seconds(lambda: ScalingFactors(stop=10, kernel="rbf").fit(X, y))
        targets.add("ScalingFactors, rbf, 200 x 1000", f"{found['rbf']:.2f} s", "< 2 s", found["rbf"] < 2.0)
    return found


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    found: dict[str, Any] = {}
    if "allaml" in names():
        found["leukemia"] = leukemia(quick, targets)
    else:
        note("data set missing, set TAMIS_DATA to its folder: allaml")
    found["seconds"] = speed(targets)
    return {"bench": "scaling", **found, "reached": targets.show()}
