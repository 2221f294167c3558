"""Nearest neighbors and what is computed from them."""
