"""Run one benchmark: a table for people, and as the last line one JSON object with the figures."""

import argparse
import importlib
import json
import sys

BENCHES = {
    "agnos": "bench.papers.agnos",
    "agnos-speed": "bench.speed.agnos",
    "dimension": "bench.papers.dimension",
    "spectral": "bench.papers.spectral",
    "embedded": "bench.papers.embedded",
    "hidden-units": "bench.papers.hidden_units",
    "infinite": "bench.papers.infinite",
    "infinite-gpu": "bench.speed.infinite_gpu",
    "infinite-speed": "bench.speed.infinite",
    "ofw": "bench.papers.ofw",
    "ofw-speed": "bench.speed.ofw",
    "rfe-speed": "bench.speed.rfe",
    "probe": "bench.papers.probe",
    "gram-schmidt-speed": "bench.speed.gram_schmidt",
    "spectral-speed": "bench.speed.spectral",
    "fit-speed": "bench.speed.fit",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=BENCHES)
    parser.add_argument("--quick", action="store_true", help="fewer draws or smaller data: within about a minute")
    arguments = parser.parse_args()
    figures = importlib.import_module(BENCHES[arguments.name]).run(quick=arguments.quick)
    print(json.dumps(figures))
    return 0 if figures.get("reached", True) else 1


if __name__ == "__main__":
    sys.exit(main())
