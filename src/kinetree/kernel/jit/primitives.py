"""What elementary functions are made of: polynomials, and operations on the bits of floating-point numbers.

The Python bodies are the uncompiled meaning. Compiled, they are a few instructions on floats, strict reals and lanes,
written out in LLVM: with each polynomial as a kernel of its own, a sine took a third longer to compile.
"""

import math
from dataclasses import dataclass

from llvmlite import ir

from ..ops import copy_sign
from .types import FLOAT, NUMBERS, KernelError, Lane, Tuple
from .values import FAST_FLAGS, Value, cast

RULES = {}  # function -> what compiles a call of it: rule(translator, *values)
SUFFIX = {"float64": "f64", "float32": "f32"}


@dataclass(frozen=True)
class Format:
    """A floating-point format: bits of its fraction, of the whole number, and the bias of its exponent."""

    fraction: int
    size: int
    bias: int

    @property
    def one(self):
        """The bits of 1.0, those of the exponent's bias."""
        return self.bias << self.fraction

    @property
    def whole(self):
        """A number so large that adding a whole number k to it leaves k in the lowest bits, also a negative one."""
        return 1.5 * 2.0**self.fraction


FORMATS = {"float64": Format(52, 64, 1023), "float32": Format(23, 32, 127)}
SQRT_HALF_BITS = {"float64": 0x3FE6A09E667F3BCD, "float32": 0x3F3504F3}


class Emitter:
    """LLVM's builder with the types and constants of one scalar at hand."""

    def __init__(self, builder, scalar):
        lane = scalar if isinstance(scalar, Lane) else Lane("float64", 1)
        self.builder, self.lane, self.format = builder, lane, FORMATS[lane.dtype]
        self.real_type = lane.register
        integer = ir.IntType(self.format.size)
        self.integer_type = integer if lane.n == 1 else ir.VectorType(integer, lane.n)

    def real(self, value):
        """A real constant in every lane."""
        return ir.Constant(self.real_type, value if self.lane.n == 1 else [value] * self.lane.n)

    def integer(self, value):
        """An integer constant in every lane."""
        return ir.Constant(self.integer_type, value if self.lane.n == 1 else [value] * self.lane.n)

    def to_bits(self, x):
        """The number's bits as an integer."""
        return self.builder.bitcast(x, self.integer_type)

    def from_bits(self, x):
        """The number that has these bits."""
        return self.builder.bitcast(x, self.real_type)

    def whole_bits(self, k, offset=0):
        """k + offset, a small whole number, in the lowest bits of an integer; AVX2 has no instruction to convert it."""
        return self.to_bits(self.builder.fadd(k, self.real(self.format.whole + offset)))


def scalar_of(given):
    """The type in which numbers and lanes are computed together: the one kind of lanes among them, or a float."""
    lanes = {x.type for x in given if isinstance(x.type, Lane)}
    if len(lanes) > 1 or not all(isinstance(x.type, Lane) or x.type in NUMBERS for x in given):
        raise KernelError(f"no function of {', '.join(str(x.type) for x in given)}")
    return lanes.pop() if lanes else FLOAT


def intrinsic(builder, name, *args):
    """A function of LLVM whose arguments and result are of one type."""
    t = args[0].type
    lanes, element = (f"v{t.count}", t.element) if isinstance(t, ir.VectorType) else ("", t)
    symbol = f"llvm.{name}.{lanes}{'f64' if isinstance(element, ir.DoubleType) else 'f32'}"
    declared = builder.module.globals.get(symbol) or ir.Function(
        builder.module, ir.FunctionType(t, [t] * len(args)), symbol
    )
    return builder.call(declared, args)


def define(function, emit, arity=1, results=1):
    """Make a function of numbers or lanes, with results of the same type, part of the language."""

    def rule(translator, *given):
        if len(given) != arity:
            raise KernelError(f"{function.__name__} takes {arity} arguments, not {len(given)}")
        scalar = scalar_of(given)
        args = [cast(translator.builder, x, scalar).part for x in given]
        out = emit(Emitter(translator.builder, scalar), *args)
        return Value(scalar, (out,)) if results == 1 else Value(Tuple((scalar,) * results), tuple(out))

    RULES[function] = rule


def polynomial(*coefficients):
    """The function c0 + c1 x + c2 x² + ... by Horner's rule: Estrin's was measured slower on floats and on lanes."""

    def evaluate(x):
        total = coefficients[-1]
        for c in coefficients[-2::-1]:
            total = c + x * total
        return total

    def rule(emit, x):
        total = emit.real(coefficients[-1])
        for c in coefficients[-2::-1]:
            product = emit.builder.fmul(x, total, flags=FAST_FLAGS)
            total = emit.builder.fadd(emit.real(c), product, flags=FAST_FLAGS)
        return total

    define(evaluate, rule)
    return evaluate


def negate_if_odd(x, k):
    """x (-1)^k for a whole number k below 2**51, in single precision below 2**22."""
    return -x if k % 2 else x


def power_of_two(k):
    """2^k for a whole number k whose power is a normal number."""
    return math.ldexp(1.0, int(k))


def split_power(x):
    """The pair m, k with x = m 2^k and m in [sqrt(1/2), sqrt(2)), for a positive normal x."""
    m, k = math.frexp(x)
    return (m, float(k)) if m >= math.sqrt(0.5) else (2.0 * m, k - 1.0)


def _copy_sign(emit, x, y):
    return intrinsic(emit.builder, "copysign", x, y)


def _negate_if_odd(emit, x, k):
    sign = emit.builder.shl(emit.whole_bits(k), emit.integer(emit.format.size - 1))
    return emit.from_bits(emit.builder.xor(emit.to_bits(x), sign))


def _power_of_two(emit, k):
    biased = emit.whole_bits(k, emit.format.bias)
    return emit.from_bits(emit.builder.shl(biased, emit.integer(emit.format.fraction)))


def _split_power(emit, x):
    """Shifted so that the exponent steps at sqrt(2), the upper bits are the exponent of the power."""
    b, f = emit.builder, emit.format
    bits = emit.to_bits(x)
    shifted = b.add(bits, emit.integer(f.one - SQRT_HALF_BITS[emit.lane.dtype]))
    power = b.and_(shifted, emit.integer(-1 << f.fraction))
    m = emit.from_bits(b.sub(bits, b.sub(power, emit.integer(f.one))))
    # The biased exponent, put into the lowest bits of 2**fraction, makes the number 2**fraction + bias + k.
    above = b.or_(b.lshr(shifted, emit.integer(f.fraction)), emit.integer((f.bias + f.fraction) << f.fraction))
    return m, b.fsub(emit.from_bits(above), emit.real(2.0**f.fraction + f.bias))


define(copy_sign, _copy_sign, arity=2)
define(negate_if_odd, _negate_if_odd, arity=2)
define(power_of_two, _power_of_two)
define(split_power, _split_power, results=2)
