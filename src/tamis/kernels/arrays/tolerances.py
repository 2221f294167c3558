"""Tolerances that more than one module uses: each has one name here, and the reason for its size.

A relative error of rounding is 1.1e-16 in double and 6e-8 in single precision for one operation, and grows with what is
done to a figure. Three sizes follow for "the same but for rounding": figures that are sums over the table
(:data:`ROUNDING`), figures of a linear system or of repeated projections (:data:`TIE`), and figures of a model that was
trained or grown (:data:`TRAINED_TIE`). A tolerance that belongs to one algorithm stands beside it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Tolerance(NamedTuple):
    """A tolerance for each precision of a table."""

    float64: float
    float32: float

    def of(self, X: Any) -> float:
        """The one that goes with the type of an array of any namespace, or of a sparse table."""
        return self.float32 if str(X.dtype).endswith("float32") else self.float64


# Standard deviation of a column, relative to its largest or root mean square value, below which it is constant. Means
# are summed in double precision, pairwise or with a second pass over the deviations, and off by some ten roundings
# (1e-15); two digits more are left to values that were themselves computed.
CONSTANT = 1e-13

# Relative difference of two figures that are each a sum over the rows (a variance, a correlation, a distance), which
# blocks of rows or another place in the table may have summed in another order.
ROUNDING = Tolerance(1e-12, 1e-6)

# Relative difference of two criteria below which features are tied. Criteria that go through a linear system or through
# one projection after another lose some digits more than sums do; copies of a column must stay tied nevertheless.
TIE = Tolerance(1e-10, 1e-5)

# The same for models that are trained or grown: thousands of updates, in each of which copies are summed apart.
TRAINED_TIE = 1e-9

# Error of the product of two vectors, relative to the product of their norms: some 50 roundings in double precision, as
# BLAS sums in blocks; in single precision the entries alone are off by 6e-8.
PRODUCT_ERROR = Tolerance(1e-14, 1e-6)

# Share of the squared norm of a column that remains once others are projected out, below which it lies in their span:
# the square root, 1e-5 of its length, is where a direction has lost half of its digits.
REDUNDANT = Tolerance(1e-10, 1e-5)

# Share of the squared norm of a target that remains once features are projected out, below which it is explained. The
# residual itself, and not a difference of squares, is at hand, so that it may fall to 1e-10 of the target's norm.
EXPLAINED = Tolerance(1e-20, 1e-12)

# Singular value of several targets, relative to the largest, below which a target depends on the others: indicators of
# all classes sum to one.
DEPENDENT = 1e-12

# One minus the leverage of a row below which least squares predicts the row by itself alone, so that its error when
# left out is unknown: that error is divided by this number, of which rounding alone makes some 1e-14.
FULL_LEVERAGE = 1e-10

# Relative difference of two distances, or logarithm of their ratio, below which they are equal. Points of one lattice
# have many equal distances, each computed from other coordinates, always in double precision.
EQUAL_DISTANCE = 1e-12

# Share of the mean squared distance by which every further row counts as farther: of rows at equal distance the lowest
# is the nearest. Squared distances come from a Gram matrix, and lose a digit more than those from differences.
NEAREST_TIE = 1e-11

# Share of the largest squared weight below which a squared weight is rounding: the square of 1e-13.
NEGLIGIBLE_WEIGHT2 = 1e-26

# Relative error of a weight, as a sum over the rows, times the root of their number: a few roundings.
WEIGHT_ERROR = 8 * 2.0**-52

# Relative difference of two objectives that rounding explains: some 50 roundings, for they are sums over the rows.
OBJECTIVE_ROUNDING = 1e-14

# Added to the unit diagonal of a scaled Hessian, so that it can be factored where columns depend on each other, and
# small enough to leave Newton's steps as they are.
HESSIAN_RIDGE = 1e-13

# What is added to a product of a share and a count before it is cut to a whole number: 0.29 * 100 is
# 28.999999999999996, and means 29.
_WHOLE = 1e-9


def floor_count(share: float) -> int:
    """Largest whole number that is not above, but for rounding."""
    return math.floor(share + _WHOLE)


def ceil_count(share: float) -> int:
    """Smallest whole number that is not below, but for rounding."""
    return math.ceil(share - _WHOLE)
