"""The table that a comparison yields: tidy rows, a summary against random, text, HTML and a figure."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.kernels.arrays.tolerances import ROUNDING

RANDOM, ALL_FEATURES = "random", "all features"

_COLUMNS = ("dataset", "ranker", "seed", "k", "metric", "value", "seconds", "n_kept", "evaluation", "error")
_LEGEND = {
    "~": "within one standard deviation of random, or worse",
    "<": "judged with fewer features than k: no more were ranked",
    "!": "failed for some seeds or all, see the column 'error'",
}
_MARGIN = len(" ± 0.000 ~~")


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found.

    Attributes
    ----------
    rows : list of dict
        One per data set, ranker, seed, k and metric: ``value`` (NaN where it failed), ``seconds`` that the ranking
        took, ``n_kept`` (less than k where the ranker ranked fewer), ``evaluation`` ("in-sample" or "held-out") and
        ``error`` (empty where all went well). The line "random" has a seed per draw; "all features" stands at k = D.
    higher_is_better : mapping of metric to bool
    notes : tuple of str
        What was left out, and why.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import MaxVariance
    >>> from tamis.assess import compare
    >>> table = compare([MaxVariance()], load_wine().data, ks=[3])
    >>> table.summary()["ranker"]
    ['MaxVariance', 'random', 'all features']
    """

    rows: list[dict[str, Any]]
    higher_is_better: Mapping[str, bool]
    notes: tuple[str, ...] = ()

    def frame(self) -> dict[str, list[Any]]:
        """The rows as columns, ready for any data frame library."""
        return {name: [row[name] for row in self.rows] for name in _COLUMNS}

    def summary(self) -> dict[str, list[Any]]:
        """Mean and spread over the seeds, with those of random beside, as columns.

        Returns
        -------
        dict of list
            ``dataset``, ``ranker``, ``k``, ``metric``, ``evaluation``; ``mean`` and ``std`` (n - 1; 0 for one value)
            of the ``n_values`` that did not fail, out of ``n_seeds``; ``n_kept``, the least; ``seconds``, the mean;
            ``random_mean``, ``random_std`` at the same k, NaN where there is none; ``like_random``: the mean is within
            one standard deviation of random's, or on the wrong side of it.
        """
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in self.rows:
            key = (row["dataset"], row["metric"], row["ranker"], row["k"], row["evaluation"])
            groups.setdefault(key, []).append(row)
        lines = [_summarize(rows) for rows in groups.values()]
        random = {
            (line["dataset"], line["metric"], line["k"]): (line["mean"], line["std"])
            for line in lines
            if line["ranker"] == RANDOM
        }
        for line in lines:
            center, spread = random.get((line["dataset"], line["metric"], line["k"]), (math.nan, math.nan))
            sign = 1.0 if self.higher_is_better[line["metric"]] else -1.0
            line["random_mean"], line["random_std"] = center, spread
            line["like_random"] = bool(sign * (line["mean"] - center) <= spread + ROUNDING.float64 * abs(center))
        return {name: [line[name] for line in lines] for name in lines[0]} if lines else {}

    def plot(self, *, metric: str | None = None, dataset: str | None = None, ax: Any = None) -> Any:
        """Draw the values against k.

        Parameters
        ----------
        metric, dataset : str, default=None
            None draws all, a panel each.
        ax : matplotlib axes, default=None
            Where to draw, if there is one panel only; None makes a new figure.

        Returns
        -------
        tamis.plots.ComparisonDisplay
        """
        # found at run time, for figures are made of assessments and import them
        display = importlib.import_module("tamis.plots").ComparisonDisplay
        return display.from_comparison(self, metric=metric, dataset=dataset, ax=ax)

    def __str__(self) -> str:
        blocks = []
        for title, cells in self._tables():
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            lines = [
                "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in cells
            ]
            blocks.append("\n".join([title, *lines]))
        return "\n\n".join([*blocks, "\n".join(self._remarks())]).rstrip()

    def _repr_html_(self) -> str:
        parts = []
        for title, (head, *body) in self._tables():
            parts.append(f"<table><caption>{html.escape(title)}</caption>")
            parts.append(f"<thead><tr>{_html_cells('th', head)}</tr></thead><tbody>")
            parts += [f"<tr>{_html_cells('td', row)}</tr>" for row in body]
            parts.append("</tbody></table>")
        parts += [f"<p>{html.escape(remark)}</p>" for remark in self._remarks()]
        return "\n".join(parts)

    def _tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Title and cells, head first, of one table per data set and metric."""
        lines = _records(self.summary())
        for dataset, metric in dict.fromkeys((line["dataset"], line["metric"]) for line in lines):
            here = [line for line in lines if (line["dataset"], line["metric"]) == (dataset, metric)]
            ks = list(dict.fromkeys(line["k"] for line in here if line["ranker"] != ALL_FEATURES))
            better = "higher" if self.higher_is_better[metric] else "lower"
            cells = [["", *(f"k = {k}{' ' * _MARGIN}" for k in ks)]]
            for ranker in dict.fromkeys(line["ranker"] for line in here):
                at = {line["k"]: line for line in here if line["ranker"] == ranker}
                if ranker == ALL_FEATURES:
                    [(n_features, line)] = at.items()
                    cells.append([f"all {n_features} features", *(_cell(line, marked=False) for _ in ks)])
                else:
                    cells.append([ranker, *(_cell(at[k], marked=ranker != RANDOM) for k in ks)])
            yield f"{dataset}: {metric}, {here[0]['evaluation']}, {better} is better", cells

    def _remarks(self) -> list[str]:
        """What the marks in the tables mean, and what was left out."""
        lines = [line for line in _records(self.summary()) if line["ranker"] not in (RANDOM, ALL_FEATURES)]
        seen = {mark for line in lines for mark in _marks(line)}
        return [*(f"{mark} {meaning}" for mark, meaning in _LEGEND.items() if mark in seen), *self.notes]


def _summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and spread of the values of one line at one k."""
    values = np.array([row["value"] for row in rows if not row["error"]])
    names = ("dataset", "ranker", "k", "metric", "evaluation")
    return {name: rows[0][name] for name in names} | {
        "mean": float(values.mean()) if values.size else math.nan,
        "std": float(values.std(ddof=1)) if values.size > 1 else 0.0,
        "n_values": int(values.size),
        "n_seeds": len(rows),
        "n_kept": min(row["n_kept"] for row in rows),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }


def _records(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _marks(line: Mapping[str, Any]) -> str:
    failed = line["n_values"] < line["n_seeds"]
    fewer = line["n_kept"] < line["k"] and not failed
    return "~" * line["like_random"] + "<" * fewer + "!" * failed


def _cell(line: Mapping[str, Any], *, marked: bool) -> str:
    """``0.563 ± 0.012 ~``; the marks have a place of their own, so that numbers stand under each other."""
    figure = f"{line['mean']:.3f}" if line["n_values"] else "failed"
    spread = f" ± {line['std']:.3f}" if line["n_values"] > 1 else ""
    return f"{figure}{spread:8} {_marks(line) if marked else '':2}"


def _html_cells(tag: str, row: list[str]) -> str:
    return "".join(f"<{tag}>{html.escape(' '.join(cell.split()))}</{tag}>" for cell in row)
