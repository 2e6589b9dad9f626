"""Thresholds that all mathematics shares."""

from ..kernel import kernel
from ..kernel.ops import DOUBLE, eps, maximum

MIN_VALUE = 1e-15  # MuJoCo's mjMINVAL: below this a length counts as zero
MAX_VALUE = 1e10  # MuJoCo's mjMAXVAL: beyond it a number counts as bad


@kernel
def coarse(x):
    """The rounding of x's type beyond that of double precision: nothing in double."""
    return eps(x) - DOUBLE


@kernel
def resolved(threshold, x):
    """A threshold made for double precision; in single at least four roundings of numbers around one."""
    return maximum(threshold, 4.0 * coarse(x))
