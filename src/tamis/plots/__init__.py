"""Figures; each also yields its data."""

from tamis.plots._path import PathDisplay

__all__ = ["PathDisplay"]
