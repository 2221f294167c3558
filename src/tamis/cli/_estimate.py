"""The estimate of an automatic selection in the terms that people use: an error of 4.1 %, not a score of 0.959."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tamis.cli._render import number


class _Terms(NamedTuple):
    """What a metric is called, and its scores as ``start + factor * score``."""

    words: str
    start: float = 0.0
    factor: float = 1.0
    unit: str = ""
    aside: str = ""


_TERMS = {
    "accuracy": _Terms("error", 100.0, -100.0, " %"),
    "balanced_accuracy": _Terms("error", 100.0, -100.0, " %", ", all classes counting alike"),
    "roc_auc": _Terms("area under the ROC curve"),
    "r2": _Terms("R²"),
    "neg_mean_squared_error": _Terms("mean squared error", 0.0, -1.0),
    "neg_root_mean_squared_error": _Terms("root mean squared error", 0.0, -1.0),
    "neg_mean_absolute_error": _Terms("mean absolute error", 0.0, -1.0),
}


def estimate_sentence(estimate: Any, confidence: float) -> str:
    """What to expect of new rows, how sure that is, and what a guess would reach."""
    terms = _terms(estimate.metric)
    words = f"expected {terms.words} on new rows{terms.aside}"
    if math.isnan(estimate.value):
        return f"{words}: too few rows to tell"
    low, high = sorted(_told(terms, score) for score in (estimate.low, estimate.high))
    interval = f"{_digits(terms, low)} to {_digits(terms, high)}{terms.unit} with {100 * confidence:g} % confidence"
    value, chance = (score_text(estimate.metric, score) for score in (estimate.value, estimate.chance))
    return f"{words}: {value} ({interval}; by guessing {chance})"


def score_text(metric: str, score: float) -> str:
    """A score as people tell it."""
    terms = _terms(metric)
    return "-" if math.isnan(score) else f"{_digits(terms, _told(terms, score))}{terms.unit}"


def score_head(metric: str) -> str:
    """What stands above such scores."""
    return _terms(metric).words


def _terms(metric: str) -> _Terms:
    return _TERMS.get(metric, _Terms(metric))


def _told(terms: _Terms, score: float) -> float:
    return terms.start + terms.factor * score + 0.0  # no minus before a zero


def _digits(terms: _Terms, value: float) -> str:
    return f"{value:.1f}" if terms.unit else number(value, 3)
