"""Benchmarks: the papers' figures and ours, and peers' speed, side by side. ``python -m bench NAME [--quick]``."""
