"""Spectra of signals."""
