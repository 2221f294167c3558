"""Figures; each also yields its data."""

from tamis.plots._comparison import ComparisonDisplay
from tamis.plots._fit import FitDisplay
from tamis.plots._path import PathDisplay

__all__ = ["ComparisonDisplay", "FitDisplay", "PathDisplay"]
