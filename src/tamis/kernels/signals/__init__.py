"""Filters and detectors of signals and images."""
