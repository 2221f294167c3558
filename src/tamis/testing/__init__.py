"""Checks that every ranker passes besides scikit-learn's own; for tamis's methods and for yours.

>>> from tamis import MaxVariance
>>> from tamis.testing import check_ranker
>>> check_ranker(MaxVariance(stop=1))
"""

from tamis.testing.checks import RANKER_CHECKS, check_ranker
from tamis.testing.instances import instances

__all__ = ["RANKER_CHECKS", "check_ranker", "instances"]
