"""The papers' generators, and loaders for their real data sets."""

from tamis.datasets._generators import make_linear, make_separable, make_sigmoid_network, make_ternary, make_xor
from tamis.datasets._load import data_folder, load, names

__all__ = [
    "data_folder",
    "load",
    "make_linear",
    "make_separable",
    "make_sigmoid_network",
    "make_ternary",
    "make_xor",
    "names",
]
