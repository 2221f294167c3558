"""Graphs of the samples and the factorizations that follow them."""
