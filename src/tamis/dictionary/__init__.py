"""Features computed on demand, as candidates for a search that never holds them all."""

from tamis.dictionary._band_pass import BandPass
from tamis.dictionary._band_pass_csp import BandPassCSP
from tamis.dictionary._base import Dictionary, FiniteDictionary, Parameter
from tamis.dictionary._columns import Columns
from tamis.dictionary._edges import Edges
from tamis.dictionary._gabor import Gabor
from tamis.dictionary._monomials import Monomials
from tamis.dictionary._pool import Pool
from tamis.dictionary._rbf import RBF
from tamis.dictionary._wavelet_coefficients import WaveletCoefficients
from tamis.dictionary._wavelets import Wavelets

__all__ = [
    "RBF",
    "BandPass",
    "BandPassCSP",
    "Columns",
    "Dictionary",
    "Edges",
    "FiniteDictionary",
    "Gabor",
    "Monomials",
    "Parameter",
    "Pool",
    "WaveletCoefficients",
    "Wavelets",
]
