"""Numerics shared by the families: arrays in, arrays out; no estimator, no I/O."""
