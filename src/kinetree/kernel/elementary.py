"""Elementary functions written in the kernel language: range reduction and polynomials, the same work in every lane.

Calls into libm would break a SIMD lane into single numbers, and sine and cosine through libm took a quarter of `kinematics`
on floats, so those two are ours on every machine. `FUNCTIONS` maps a function of the language to its libm counterpart for
floats (None: ours as well) and to the choice of kernel by precision.
"""

import math
from fractions import Fraction

from numba.core import types

from . import ops
from .decorator import kernel
from .ops import floor, rint


def split_pi(bits, parts):
    """pi as a sum of numbers of few bits each, so that k * part is exact; each precision needs its own split."""
    rest, out = Fraction("3.14159265358979323846264338327950288419716939937510582"), []
    for _ in range(parts - 1):
        unit = Fraction(2) ** (math.frexp(float(rest))[1] - bits)
        out.append(float(round(rest / unit) * unit))
        rest -= Fraction(out[-1])
    return (*out, float(rest))


A64, B64, C64 = split_pi(33, 3)
A32, B32, C32 = split_pi(11, 3)


@kernel
def sincos64(x):
    """Sine and cosine: reduce by multiples of pi, then Taylor series on [-pi/2, pi/2]."""
    k = rint(x * (1 / math.pi))
    r = ((x - k * A64) - k * B64) - k * C64
    sign = 1.0 - 2.0 * (k - 2.0 * floor(k * 0.5))
    r2 = r * r
    s = -1 / 6 + r2 * (1 / 120 + r2 * (-1 / 5040 + r2 * (1 / 362880 + r2 * (-1 / 39916800 + r2 * (1 / 6227020800
        + r2 * (-1 / 1307674368000 + r2 * (1 / 355687428096000 + r2 * (-1 / 121645100408832000))))))))  # fmt: skip
    c = -1 / 2 + r2 * (1 / 24 + r2 * (-1 / 720 + r2 * (1 / 40320 + r2 * (-1 / 3628800 + r2 * (1 / 479001600
        + r2 * (-1 / 87178291200 + r2 * (1 / 20922789888000 + r2 * (-1 / 6402373705728000
        + r2 * (1 / 2432902008176640000)))))))))  # fmt: skip
    return (r + r * r2 * s) * sign, (1.0 + r2 * c) * sign


@kernel
def sincos32(x):
    """Sine and cosine in single precision."""
    k = rint(x * (1 / math.pi))
    r = ((x - k * A32) - k * B32) - k * C32
    sign = 1.0 - 2.0 * (k - 2.0 * floor(k * 0.5))
    r2 = r * r
    s = -1 / 6 + r2 * (1 / 120 + r2 * (-1 / 5040 + r2 * (1 / 362880 + r2 * (-1 / 39916800))))
    c = -1 / 2 + r2 * (1 / 24 + r2 * (-1 / 720 + r2 * (1 / 40320 + r2 * (-1 / 3628800 + r2 * (1 / 479001600)))))
    return (r + r * r2 * s) * sign, (1.0 + r2 * c) * sign


@kernel
def sin64(x):
    """Sine."""
    return sincos64(x)[0]


@kernel
def cos64(x):
    """Cosine."""
    return sincos64(x)[1]


@kernel
def sin32(x):
    """Sine in single precision."""
    return sincos32(x)[0]


@kernel
def cos32(x):
    """Cosine in single precision."""
    return sincos32(x)[1]


def by_precision(double, single):
    """Chooses the kernel of a precision."""
    return lambda dtype: double if dtype == types.float64 else single


FUNCTIONS = {
    ops.sin: (None, by_precision(sin64, sin32)),
    ops.cos: (None, by_precision(cos64, cos32)),
}
