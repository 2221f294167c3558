"""The papers' generators, and loaders for their real data sets."""

from tamis.datasets._generators import make_linear, make_separable, make_sigmoid_network, make_ternary, make_xor
from tamis.datasets._load import data_folder, load, names
from tamis.datasets._motor_imagery import make_motor_imagery
from tamis.datasets._recordings import read_motor_imagery

__all__ = [
    "data_folder",
    "load",
    "make_linear",
    "make_motor_imagery",
    "make_separable",
    "make_sigmoid_network",
    "make_ternary",
    "make_xor",
    "names",
    "read_motor_imagery",
]
