"""Elementary functions written in the kernel language: range reduction and polynomials, the same work in every lane.

Calls into libm would break a SIMD lane into single numbers, and sine and cosine through libm took a quarter of `kinematics`
on floats, so those two are ours on every machine. The others go through libm on single numbers: one call is faster and
rounds better. `FUNCTIONS` maps a function of the language to its libm counterpart for floats (None: ours as well) and to the
choice of kernel by precision.

Errors, measured against 40 digits, here with single precision in brackets: asin and atan2 within 2.1 (2.3) units in the last
place, acos, exp and log within 1.1, sin and cos within 4e-16 (2e-7) up to 1e6 rad (1e4 rad); with fused multiply-add, which
most processors have, up to 1e12 rad (1e6 rad). Beyond, the angle is lost, but both stay within [-1, 1]. NaN gives NaN.

The coefficients are minimax polynomials, made by Remez exchange in 60 to 120 digits, most with the leading ones rounded
before the rest were fitted; the comment beside each gives its largest error relative to the function.
"""

import math
from fractions import Fraction

from .. import ops
from ..decorator import kernel
from ..ops import absolute, copy_sign, maximum, minimum, rint, sqrt, where, zero
from .primitives import negate_if_odd, polynomial, power_of_two, split_power

PI = Fraction("3.14159265358979323846264338327950288419716939937510582")
LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525")
INF, NAN = math.inf, math.nan
PER_PI, PER_LN2 = 1 / math.pi, 1 / math.log(2.0)
TAN_EIGHTH = math.sqrt(2.0) - 1.0  # tan(pi/8)


def split(number, bits, parts):
    """A number as a sum of numbers of few bits each, so that k * part is exact; each precision needs its own split."""
    out = []
    for _ in range(parts - 1):
        unit = Fraction(2) ** (math.frexp(float(number))[1] - bits)
        out.append(float(round(number / unit) * unit))
        number -= Fraction(out[-1])
    return (*out, float(number))


def sine_and_cosine(sine, cosine, pi):
    """Reduced by multiples of pi, then polynomials on [-pi/2, pi/2]."""
    a, b, c = pi

    @kernel
    def sincos(x):
        """Both: where a kernel needs sine and cosine of one angle, the compiler does this work once."""
        k = rint(x * PER_PI)
        r = ((x - k * a) - k * b) - k * c
        r = minimum(1.6, maximum(-1.6, r))  # bounded also where x is too large to be reduced
        z = r * r
        return negate_if_odd(r + r * z * sine(z), k), negate_if_odd(1.0 + z * cosine(z), k)

    @kernel
    def sin(x):
        """Sine of x [rad]."""
        return sincos(x)[0]

    @kernel
    def cos(x):
        """Cosine of x [rad]."""
        return sincos(x)[1]

    return sin, cos


def arcs(series, half_pi):
    """asin(x) by its series up to 1/2 and as pi/2 - 2 asin(sqrt((1 - x) / 2)) above; acos(x) is pi/2 less that."""
    high, low = half_pi

    @kernel
    def arc(x):
        """Whether |x| is above 1/2, and asin(|x|), or half of acos(|x|) there."""
        a = minimum(1.0, absolute(x))  # in this order NaN stays
        above = a > 0.5
        z = where(above, 0.5 - 0.5 * a, a * a)
        s = where(above, sqrt(z), a)
        return above, s + s * z * series(z)

    @kernel
    def asin(x):
        """Arc sine [rad]."""
        above, angle = arc(x)
        return copy_sign(where(above, high - (2.0 * angle - low), angle), x)

    @kernel
    def acos(x):
        """Arc cosine [rad]."""
        above, angle = arc(x)
        end = where(x < 0.0, 2.0 * (high - (angle - low)), 2.0 * angle)
        return where(above, end, high - (copy_sign(angle, x) - low))

    return asin, acos


def arc_tangent(series, quarter_pi):
    """The angle from the nearest axis or diagonal, whose tangent is at most tan(pi/8), then turned by quarters of pi."""
    high, low = quarter_pi

    @kernel
    def atan2(y, x):
        """Angle of the vector (x, y) [rad], with C's answers for zeros of either sign and infinities."""
        a, b = absolute(y), absolute(x)
        steep = a > b
        short, long = where(steep, b, a), where(steep, a, b)
        infinite = short == INF
        diagonal = (short > TAN_EIGHTH * long) | infinite
        half = 0.5 * long  # halves, because the sum of two huge numbers overflows
        opposite = where(infinite, 0.0, where(diagonal, 0.5 * short - half, short))
        adjacent = where(diagonal, 0.5 * short + half, long)
        t = opposite / where(adjacent == 0.0, 1.0, adjacent)
        z = t * t
        angle = t + t * z * series(z)
        left = copy_sign(1.0, x) < 0.0
        turns = where(diagonal, zero(t) + 1.0, 0.0)  # quarters of pi
        turns = where(steep, 2.0 - turns, turns)
        turns = where(left, 4.0 - turns, turns)
        angle = where(steep, -angle, angle)
        angle = where(left, -angle, angle)
        return copy_sign(turns * high + (turns * low + angle), y)

    return atan2


def exponential(series, lowest, highest, ln2):
    """2^k exp(r) with |r| <= ln(2)/2; in two steps, because 2^k alone may overflow where the result does not."""
    high, low = ln2

    @kernel
    def exp(x):
        """Exponential."""
        x = minimum(highest, maximum(lowest, x))  # in this order NaN stays; beyond, the result is 0 or infinite
        k = rint(x * PER_LN2)
        r = (x - k * high) - k * low
        half = rint(0.5 * k)
        return (1.0 + (r + r * r * series(r))) * power_of_two(half) * power_of_two(k - half)

    return exp


def logarithm(series, smallest, lift, ln2):
    """k ln(2) + ln(m) with m in [sqrt(1/2), sqrt(2)), and ln(1 + f) = 2 artanh(s), s = f / (2 + f)."""
    high, low = ln2
    up = 2.0**lift

    @kernel
    def log(x):
        """Natural logarithm; -inf at 0, NaN below."""
        subnormal = x < smallest
        m, k = split_power(where(subnormal, x * up, x))
        k = where(subnormal, k - lift, k)
        f = m - 1.0
        s = f / (2.0 + f)
        z = s * s
        y = k * high + (f - (s * (f - z * series(z)) - k * low))
        y = where(x > 0.0, y, where(x == 0.0, zero(x) - INF, NAN))
        return where(x == INF, x, y)

    return log


SIN64 = polynomial(  # 3.0e-19
    -0.16666666666666666, 0.008333333333333207, -0.00019841269841212476, 2.755731921156833e-06,
    -2.5052106904243338e-08, 1.6058940989153513e-10, -7.643018913476677e-13, 2.7214134298181742e-15,
)  # fmt: skip
COS64 = polynomial(  # 4.3e-18, absolute
    -0.49999999999999983, 0.04166666666666443, -0.0013888888888787315, 2.4801587279375482e-05,
    -2.7557316542199824e-07, 2.0876568452015543e-09, -1.1463054956975365e-11, 4.6104332302107306e-14,
)  # fmt: skip
ASIN64 = polynomial(  # 9.6e-19
    0.1666666666666676, 0.07499999999970863, 0.04464285717456521, 0.030381942709610844, 0.022372214944004865,
    0.017351612696031617, 0.013980813289929884, 0.01139896563814388, 0.010779980728599998, 0.0037073501375260013,
    0.021705334833288046, -0.02099629067181375, 0.03262700889912538,
)  # fmt: skip
ATAN64 = polynomial(  # 1.3e-18
    -0.333333333333332, 0.1999999999995368, -0.1428571428020082, 0.11111110783578299, -0.09090897760486341,
    0.07692060270365733, -0.06663104848272829, 0.05847896656377551, -0.05039345357669455, 0.0380657909299997,
    -0.017908773342853113,
)  # fmt: skip
EXP64 = polynomial(  # 6.0e-18
    0.5, 0.16666666666666433, 0.041666666666604, 0.008333333333499853, 0.0013888888926778579,
    0.00019841269466564475, 2.480150870667747e-05, 2.7557640617241208e-06, 2.7625176538185717e-07,
    2.497843738914178e-08,
)  # fmt: skip
LOG64 = polynomial(  # 1.2e-18
    0.6666666666666734, 0.3999999999941707, 0.2857142874188561, 0.22222198622390218, 0.18183561868018305,
    0.1531411125917365, 0.14795361496414755,
)  # fmt: skip
SIN32 = polynomial(-0.1666666, 0.008333069, -0.00019809777, 2.6060952e-06)  # 6.2e-9
COS32 = polynomial(-0.5, 0.041666657, -0.0013888585, 2.477018e-05, -2.6208994e-07)  # 4.5e-10, absolute
ASIN32 = polynomial(0.1666666, 0.07500522, 0.044513386, 0.03183874, 0.0143178245, 0.03768927)  # 2.9e-10
ATAN32 = polynomial(-0.33333316, 0.19998528, -0.14244394, 0.10599208, -0.060901817)  # 7.0e-10
EXP32 = polynomial(0.49999994, 0.16666521, 0.041668385, 0.00836871, 0.0013814642)  # 3.7e-9
LOG32 = polynomial(0.66666776, 0.39977574, 0.29870927)  # 8.1e-10

SINCOS = sine_and_cosine(SIN64, COS64, split(PI, 33, 3)), sine_and_cosine(SIN32, COS32, split(PI, 11, 3))
ARCS = arcs(ASIN64, split(PI / 2, 53, 2)), arcs(ASIN32, split(PI / 2, 24, 2))
ATAN2 = arc_tangent(ATAN64, split(PI / 4, 53, 2)), arc_tangent(ATAN32, split(PI / 4, 24, 2))
EXP = exponential(EXP64, -746.0, 710.0, split(LN2, 42, 2)), exponential(EXP32, -104.0, 89.0, split(LN2, 16, 2))
LOG = logarithm(LOG64, 2.0**-1022, 54, split(LN2, 42, 2)), logarithm(LOG32, 2.0**-126, 25, split(LN2, 16, 2))
SIN, COS = zip(*SINCOS, strict=True)
ASIN, ACOS = zip(*ARCS, strict=True)


def by_precision(double, single):
    """Chooses the kernel of a precision."""
    return lambda dtype: double if dtype == "float64" else single


FUNCTIONS = {
    ops.sin: (None, by_precision(*SIN)),
    ops.cos: (None, by_precision(*COS)),
    ops.asin: ("asin", by_precision(*ASIN)),
    ops.acos: ("acos", by_precision(*ACOS)),
    ops.atan2: ("atan2", by_precision(*ATAN2)),
    ops.exp: ("exp", by_precision(*EXP)),
    ops.log: ("log", by_precision(*LOG)),
}
