"""Timing in processes of their own, as a user would see it: nothing is warm, and memory is the contestant's alone."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def peak_megabytes() -> float:
    """Most memory that this process ever held (getrusage would count its parent's, too)."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def forget_peak() -> None:
    """Measure the peak anew from here on."""
    Path("/proc/self/clear_refs").write_text("5")


def in_fresh_process(module: str, *arguments: Any, timeout: float | None = None) -> dict[str, Any] | None:
    """Run a module with the given arguments in a process of its own; its last line of output is JSON.

    None if it takes longer than ``timeout`` seconds, all in all.
    """
    command = [sys.executable, "-W", "ignore", "-m", module, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
