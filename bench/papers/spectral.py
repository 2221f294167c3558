"""Doquet (2019), tables 6.7 to 6.9 and 6.12: the unsupervised baselines at k = 100, the thesis's figures beside ours.

Rows "as the thesis" have scikit-feature's settings, which the thesis used; the others are our defaults. Figures of
methods that draw at random are means over seeds, clustering figures means over starts of k-means. "~" marks what is
within one standard deviation of random selections, or below. FIT stands in both modes: "thesis" counts every sample
among its own neighbors, as table 6.12 does; leave-one-out is the honest figure.
"""

import os
from typing import Any

import numpy as np

from bench.table import Targets, note, show
from tamis import (
    CGSSL,
    MCFS,
    NDFS,
    RSFS,
    RUFS,
    SOGFS,
    SPEC,
    FeatureMedoids,
    GreedyReconstruction,
    LaplacianScore,
    MaxVariance,
    PCALeverage,
    PivotedQR,
)
from tamis.assess import Comparison, compare
from tamis.base import Ranker
from tamis.datasets import load, names

K = 100
SETS = {
    "arcene": "Arcene",
    "isolet": "Isolet",
    "orl": "ORL",
    "pixraw10p": "pixraw10P",
    "prostate_ge": "ProstateGE",
    "tox171": "TOX171",
    "warppie10p": "warpPIE10P",
    "yale": "Yale",
}
AS_THESIS = " (as the thesis)"
# Tables 6.12, 6.7, 6.8 and 6.9, in the order of SETS.
PUBLISHED = {
    "fit-thesis": {
        "AGNOS-S": (0.610, 0.763, 0.800, 0.855, 0.662, 0.581, 0.910, 0.703),
        "AGNOS-W": (0.460, 0.762, 0.795, 0.782, 0.620, 0.580, 0.897, 0.696),
        "AGNOS-G": (0.560, 0.701, 0.780, 0.832, 0.606, 0.528, 0.901, 0.671),
        "Laplacian": (0.576, 0.680, 0.789, 0.840, 0.655, 0.563, 0.903, 0.601),
        "MCFS": (0.275, 0.720, 0.763, 0.785, 0.634, 0.549, 0.870, 0.652),
        "NDFS": (0.490, 0.747, 0.796, 0.835, 0.614, 0.520, 0.904, 0.677),
        "SPEC": (0.548, 0.733, 0.769, 0.761, 0.646, 0.559, 0.895, 0.659),
    },
    "knn_accuracy": {
        "AGNOS-S": (0.81, 0.83, 0.93, 0.97, 0.76, 0.66, 0.99, 0.63),
        "AGNOS-W": (0.77, 0.84, 0.93, 0.93, 0.83, 0.86, 0.98, 0.60),
        "AGNOS-G": (0.75, 0.65, 0.89, 0.99, 0.75, 0.63, 0.98, 0.61),
        "Laplacian": (0.67, 0.68, 0.92, 0.99, 0.75, 0.84, 0.99, 0.56),
        "MCFS": (0.52, 0.65, 0.90, 0.95, 0.74, 0.74, 0.96, 0.53),
        "NDFS": (0.69, 0.82, 0.91, 0.98, 0.71, 0.67, 0.98, 0.63),
        "SPEC": (0.70, 0.74, 0.87, 0.85, 0.70, 0.78, 0.98, 0.58),
    },
    "clustering_accuracy": {
        "AGNOS-S": (0.67, 0.54, 0.57, 0.81, 0.61, 0.40, 0.27, 0.51),
        "AGNOS-W": (0.62, 0.58, 0.55, 0.64, 0.59, 0.29, 0.36, 0.38),
        "AGNOS-G": (0.63, 0.41, 0.53, 0.78, 0.57, 0.36, 0.42, 0.53),
        "Laplacian": (0.66, 0.48, 0.55, 0.80, 0.58, 0.45, 0.29, 0.44),
        "MCFS": (0.56, 0.41, 0.56, 0.75, 0.59, 0.48, 0.36, 0.40),
        "NDFS": (0.51, 0.57, 0.54, 0.78, 0.57, 0.46, 0.29, 0.44),
        "SPEC": (0.66, 0.57, 0.47, 0.48, 0.59, 0.47, 0.33, 0.40),
    },
    "normalized_mutual_info": {
        "AGNOS-S": (0.08, 0.69, 0.76, 0.87, 0.06, 0.23, 0.28, 0.54),
        "AGNOS-W": (0.02, 0.70, 0.77, 0.76, 0.13, 0.15, 0.35, 0.50),
        "AGNOS-G": (0.04, 0.58, 0.73, 0.81, 0.01, 0.08, 0.33, 0.56),
        "Laplacian": (0.09, 0.62, 0.76, 0.86, 0.02, 0.27, 0.30, 0.49),
        "MCFS": (0.20, 0.56, 0.78, 0.86, 0.02, 0.22, 0.30, 0.52),
        "NDFS": (0.01, 0.70, 0.74, 0.84, 0.01, 0.33, 0.34, 0.48),
        "SPEC": (0.09, 0.69, 0.70, 0.66, 0.02, 0.24, 0.34, 0.44),
    },
}
TITLES = {
    "fit-thesis": "Table 6.12: FIT, a sample among its own neighbors",
    "fit": "FIT, leave-one-out",
    "knn_accuracy": "Table 6.7: 1-NN accuracy, leave-one-out (the thesis says 5-NN)",
    "clustering_accuracy": "Table 6.8: ACC (best matching of clusters and classes)",
    "normalized_mutual_info": "Table 6.9: NMI",
}


def contestants(n_classes: int) -> dict[str, Ranker]:
    """Ours by default, and with scikit-feature's settings."""
    heat = {"weight": "heat", "width": 1.0, "self_loops": True}
    return {
        f"Laplacian{AS_THESIS}": LaplacianScore(**heat),
        f"SPEC{AS_THESIS}": SPEC(weight="rbf", width=0.5**0.5, self_loops=True, prefer="rough", algorithm="spectrum"),
        f"MCFS{AS_THESIS}": MCFS(weight="binary", self_loops=True, n_nonzero=K, absolute=False),
        f"NDFS{AS_THESIS}": NDFS(n_clusters=n_classes, gamma=1e9, **heat),
        "Laplacian": LaplacianScore(),
        "SPEC, phi 3": SPEC(phi=3, n_clusters=n_classes),
        "MCFS": MCFS(),
        "NDFS": NDFS(n_clusters=n_classes),
        "CGSSL": CGSSL(n_clusters=n_classes),
        "RSFS": RSFS(n_clusters=n_classes),
        "RUFS": RUFS(n_clusters=n_classes),
        "SOGFS": SOGFS(n_clusters=n_classes),
        "max variance": MaxVariance(),
        "PCA leverage": PCALeverage(),
        "pivoted QR": PivotedQR(standardize=False),
        "medoids": FeatureMedoids(),
        "greedy": GreedyReconstruction(),
    }


def judged(name: str, *, quick: bool) -> Comparison:
    data = load(name)
    X, y = data.X.astype(float), data.y
    return compare(
        contestants(np.unique(y).size),
        {name: (X, y)},
        ks=[K],
        metrics=list(TITLES),
        evaluation="in-sample",
        n_seeds=1 if quick else 3,
        n_jobs=min(2, os.cpu_count() or 1),
    )


def tables(comparisons: dict[str, Comparison]) -> dict[str, dict[str, dict[str, tuple[float, bool]]]]:
    """Figure and mark per metric, method and data set."""
    found: dict[str, dict[str, dict[str, tuple[float, bool]]]] = {metric: {} for metric in TITLES}
    for name, comparison in comparisons.items():
        summary = comparison.summary()
        for metric, method, mean, mark in zip(
            summary["metric"], summary["ranker"], summary["mean"], summary["like_random"], strict=True
        ):
            found[metric].setdefault(method, {})[name] = (mean, bool(mark) and method not in ("random", "all features"))
    return found


def show_table(metric: str, table: dict[str, dict[str, tuple[float, bool]]], chosen: list[str]) -> None:
    published = PUBLISHED.get(metric, {})
    rows = []
    for method, values in published.items():
        row = [values[list(SETS).index(name)] for name in chosen]
        rows.append((f"thesis: {method}", *(f"{value:.3f}" for value in row), f"{np.mean(row):.3f}"))
    for method, figures in table.items():
        row = [figures[name][0] for name in chosen]
        marked = (f"{value:.3f}{' ~' if figures[name][1] else ''}" for name, value in zip(chosen, row, strict=True))
        rows.append((method, *marked, f"{np.mean(row):.3f}"))
    show(TITLES[metric], ("method", *(SETS[name] for name in chosen), "mean"), rows)


def run(*, quick: bool = False) -> dict[str, Any]:
    wanted = ["orl", "warppie10p", "yale"] if quick else list(SETS)
    chosen = [name for name in wanted if name in names()]
    if missing := [name for name in wanted if name not in chosen]:
        note(f"data sets missing, set TAMIS_DATA to their folder: {', '.join(missing)}")
    found = tables({name: judged(name, quick=quick) for name in chosen})
    for metric, table in found.items():
        show_table(metric, table, chosen)
    targets = Targets()
    for name in ("yale", "orl", "warppie10p", "isolet"):
        if name in chosen:
            ours = found["fit-thesis"][f"SPEC{AS_THESIS}"][name][0]
            paper = PUBLISHED["fit-thesis"]["SPEC"][list(SETS).index(name)]
            targets.add(f"SPEC, FIT of {SETS[name]}", f"{ours:.4f}", f"{paper} +- .001", abs(ours - paper) <= 0.001)
    reached = targets.show()
    figures = {
        metric: {method: {name: figures[name][0] for name in chosen} for method, figures in table.items()}
        for metric, table in found.items()
    }
    return {"bench": "spectral", "k": K, "figures": figures, "reached": reached}
