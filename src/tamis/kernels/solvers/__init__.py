"""Solvers of the optimization problems that several methods pose."""
