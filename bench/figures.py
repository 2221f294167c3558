"""Figures of full runs, kept in ``bench/results``, and ``docs/figures.md`` written from them: none is typed by hand.

``python -m bench NAME --record`` keeps the tables of one bench and writes the page; ``make bench`` records them all.
"""

import datetime
import importlib
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import BENCHES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "figures.md"

HEAD = """# Figures

Written by `python -m bench NAME --record` from `bench/results`, where the tables of the last full run of each bench are
kept; do not edit it by hand. `make bench` runs and records them all. The papers' data come from the folder that
`TAMIS_DATA` names; speeds are ratios within one run.
"""


def keep(name: str, shown: list[dict[str, Any]], seconds: float) -> None:
    """Keep what a full run of a bench showed; a run without any table, such as one that lacks a GPU, is not kept."""
    if not any("rows" in each for each in shown):
        return
    record = {
        "date": datetime.date.today().isoformat(),
        "versions": {package: version(package) for package in ("tamis", "numpy", "scipy", "scikit-learn")},
        "cores": os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0)),
        "seconds": round(seconds),
        "shown": shown,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def records() -> dict[str, dict[str, Any]]:
    """What is kept, by bench."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


def page(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """The page in Markdown: one section per bench, in the order of `BENCHES`, recorded or not."""
    return "\n".join([HEAD, *(section(name, kept.get(name)) for name in BENCHES)])


def section(name: str, record: Mapping[str, Any] | None) -> str:
    about = (importlib.import_module(BENCHES[name]).__doc__ or "").splitlines()[0]
    if record is None:
        return f"## {name}\n\n{about}\n\nNo full run is recorded yet.\n"
    packages = ", ".join(f"{package} {number}" for package, number in record["versions"].items())
    run = f"Full run of {record['date']}: {packages}; {record['cores']} cores, {record['seconds']} s."
    return "\n".join([f"## {name}\n\n{about}\n\n{run}\n", *map(markdown, record["shown"])])


def markdown(shown: Mapping[str, Any]) -> str:
    """A table or a note."""
    if "note" in shown:
        return shown["note"] + "\n"
    rows = [shown["head"], ["---"] * len(shown["head"]), *shown["rows"]]
    return "\n".join([f"**{shown['title']}**\n", *(_row(row) for row in rows), ""])


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write() -> None:
    PAGE.write_text(page(records()))
