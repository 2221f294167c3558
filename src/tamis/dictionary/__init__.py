"""Features computed on demand, as candidates for a search that never holds them all."""

from tamis.dictionary._edges import Edges
from tamis.dictionary._monomials import Monomials

__all__ = ["Edges", "Monomials"]
