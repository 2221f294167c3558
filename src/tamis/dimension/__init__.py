"""Intrinsic dimension: how many numbers it takes to tell the samples of a table apart, however many columns it has."""

from tamis.dimension._base import DimensionEstimator
from tamis.dimension._box_counting import BoxCounting
from tamis.dimension._correlation_dimension import CorrelationDimension
from tamis.dimension._gmst import GMST
from tamis.dimension._mle import MLE
from tamis.dimension._packing_dimension import PackingDimension
from tamis.dimension._pairwise_sparsity import PairwiseSparsity
from tamis.dimension._two_nn import TwoNN

__all__ = [
    "GMST",
    "MLE",
    "BoxCounting",
    "CorrelationDimension",
    "DimensionEstimator",
    "PackingDimension",
    "PairwiseSparsity",
    "TwoNN",
]
