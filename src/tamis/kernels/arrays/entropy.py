"""Entropy of a probability."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy


def effective_number(probability: np.ndarray) -> float:
    """Exponential of the entropy: how many features share the mass, if they shared it evenly."""
    return float(np.exp(-xlogy(probability, probability).sum()))
