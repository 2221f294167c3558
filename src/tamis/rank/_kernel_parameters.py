"""Kernel parameters, which mean the same in every class and have scikit-learn's names and defaults."""

from numbers import Real
from typing import Any

from scipy import sparse

from tamis._sklearn import Interval, StrOptions

# kernel="linear", gamma="scale", degree=3, coef0=0.0; an unknown kernel is refused by FeatureKernel, which names those
# that are known. Degrees below one have no derivative at zero.
KERNEL_CONSTRAINTS = {
    "kernel": [str, callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
    "degree": [Interval(Real, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
}


def check_kernel_takes(table: Any, kernel: str) -> None:
    """Refuse sparse tables with a kernel other than the linear one, which would write them out."""
    if kernel != "linear" and sparse.issparse(table):
        raise ValueError(f"sparse input is not supported with kernel={kernel!r}; use 'linear', or X.toarray()")
