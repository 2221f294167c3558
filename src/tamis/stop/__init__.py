"""Stopping rules: how many features of a ranking to keep, and why."""

from tamis.stop._cross_validation import CrossValidation
from tamis.stop._effective_number import EffectiveNumber
from tamis.stop._fisher_test import FisherTest
from tamis.stop._fit_plateau import FITPlateau
from tamis.stop._intrinsic_dimension import IntrinsicDimension
from tamis.stop._leave_one_out import LeaveOneOut
from tamis.stop._monte_carlo_probe import MonteCarloProbe
from tamis.stop._own_choice import OwnChoice
from tamis.stop._probe import Probe
from tamis.stop._top_k import TopK

__all__ = [
    "CrossValidation",
    "EffectiveNumber",
    "FITPlateau",
    "FisherTest",
    "IntrinsicDimension",
    "LeaveOneOut",
    "MonteCarloProbe",
    "OwnChoice",
    "Probe",
    "TopK",
]
