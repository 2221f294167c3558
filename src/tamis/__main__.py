"""``python -m tamis``."""

from tamis.cli import run

if __name__ == "__main__":
    run()
