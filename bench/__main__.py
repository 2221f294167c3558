"""Run a benchmark, or all: tables for people, and as the last line one JSON object with the figures."""

import argparse
import importlib
import json
import subprocess
import sys
import time

from bench import BENCHES, figures
from bench.table import SHOWN


def run_all(options: list[str]) -> int:
    """Each in a process of its own, to the last, whatever became of those before; 1 if any missed a target."""
    codes = [
        subprocess.run([sys.executable, "-m", "bench", name, *options], check=False).returncode for name in BENCHES
    ]
    failed = [name for name, code in zip(BENCHES, codes, strict=True) if code]
    print(f"\nwith a target that was missed, or an error: {', '.join(failed) or 'none'}")
    return int(bool(failed))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=[*BENCHES, "all"])
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="fewer draws or smaller data: within about a minute")
    how.add_argument("--record", action="store_true", help="keep the tables of a full run and write docs/figures.md")
    arguments = parser.parse_args()
    if arguments.name == "all":
        return run_all([f"--{flag}" for flag in ("quick", "record") if getattr(arguments, flag)])
    start = time.perf_counter()
    found = importlib.import_module(BENCHES[arguments.name]).run(quick=arguments.quick)
    if arguments.record:
        figures.keep(arguments.name, SHOWN, time.perf_counter() - start)
        figures.write()
    print(json.dumps(found))
    return 0 if found.get("reached", True) else 1


if __name__ == "__main__":
    sys.exit(main())
