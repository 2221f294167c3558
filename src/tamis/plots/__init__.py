"""Figures; each also yields its data."""

from tamis.plots._auto import AutoDisplay
from tamis.plots._comparison import ComparisonDisplay
from tamis.plots._dictionary import DictionaryDisplay
from tamis.plots._edge_map import EdgeMapDisplay
from tamis.plots._energy import EnergyDisplay
from tamis.plots._fit import FitDisplay
from tamis.plots._path import PathDisplay
from tamis.plots._probability import ProbabilityDisplay
from tamis.plots._rounds import RoundsDisplay

__all__ = [
    "AutoDisplay",
    "ComparisonDisplay",
    "DictionaryDisplay",
    "EdgeMapDisplay",
    "EnergyDisplay",
    "FitDisplay",
    "PathDisplay",
    "ProbabilityDisplay",
    "RoundsDisplay",
]
