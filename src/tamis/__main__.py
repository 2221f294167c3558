"""The program: ``python -m tamis``, and what is installed as ``tamis``."""

from __future__ import annotations

from tamis._signals import take_signals


def run() -> None:
    """Run the command line of this process."""
    take_signals()  # before what takes time to load
    from tamis.cli import run as run_command

    run_command()


if __name__ == "__main__":
    run()
