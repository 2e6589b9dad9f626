"""Functions of the kernel language. A kernel takes these from here, never from `math` or `numpy`.

The Python bodies below are the uncompiled meaning, for numbers and for CasADi symbols (`math.sin(SX)` silently gives NaN,
`if SX:` raises). `jit/functions.py` has the same functions for floats, strict reals and SIMD lanes.

Conventions that keep a kernel runnable on every machine:
* decide on values with `where`; combine conditions with `&`, `|`, `not_` (never `and`, `or`, `not`, `~`, chained comparisons);
* `minimum`, `maximum`, `absolute` instead of the builtins; no `**`;
* `zero(x)` where a literal must have the scalar type of x, as in a tuple that is indexed by a variable;
* loops that end on values end on `any_(active)`; both arms of `where` are evaluated.
"""

import math

import numpy as np

NUMBERS = (float, int, np.floating, np.integer)
BOOLEANS = (bool, np.bool_)
DOUBLE, SINGLE = 2.0**-52, 2.0**-23  # steps from 1 to the next number, of both precisions


def _symbolic(name, *args):
    """CasADi's function of that name: the only place in the physics that knows a symbolic library."""
    import casadi

    return getattr(casadi, name)(*args)


def teach_symbols():
    """Give CasADi's symbols `&` and `|`, which they lack and with which kernels combine conditions."""
    import casadi

    for kind in (casadi.SX, casadi.MX):
        kind.__and__ = kind.__rand__ = lambda a, b: casadi.logic_and(a, b)
        kind.__or__ = kind.__ror__ = lambda a, b: casadi.logic_or(a, b)


def _number(function, x):
    """A function of `math`, which raises where C gives infinity or NaN; here it gives what compiled code gives."""
    try:
        return function(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return -math.inf if x == 0.0 else math.nan


def _clamped(x):
    """x taken into [-1, 1]; NaN stays."""
    return x if x != x else min(1.0, max(-1.0, x))


def sin(x):
    """Sine of x [rad]."""
    return _number(math.sin, x) if isinstance(x, NUMBERS) else _symbolic("sin", x)


def cos(x):
    """Cosine of x [rad]."""
    return _number(math.cos, x) if isinstance(x, NUMBERS) else _symbolic("cos", x)


def asin(x):
    """Arc sine [rad]; x is taken into [-1, 1] first, so rounding never gives NaN."""
    return math.asin(_clamped(x)) if isinstance(x, NUMBERS) else _symbolic("asin", minimum(1.0, maximum(-1.0, x)))


def acos(x):
    """Arc cosine [rad]; x is taken into [-1, 1] first, so rounding never gives NaN."""
    return math.acos(_clamped(x)) if isinstance(x, NUMBERS) else _symbolic("acos", minimum(1.0, maximum(-1.0, x)))


def atan2(y, x):
    """Angle of the vector (x, y) [rad]; 0 at the origin."""
    both = isinstance(y, NUMBERS) and isinstance(x, NUMBERS)
    return math.atan2(y, x) if both else _symbolic("atan2", y, x)


def exp(x):
    """Exponential."""
    return _number(math.exp, x) if isinstance(x, NUMBERS) else _symbolic("exp", x)


def log(x):
    """Natural logarithm of a positive x."""
    return _number(math.log, x) if isinstance(x, NUMBERS) else _symbolic("log", x)


def sqrt(x):
    """Square root."""
    return _number(math.sqrt, x) if isinstance(x, NUMBERS) else _symbolic("sqrt", x)


def absolute(x):
    """Absolute value."""
    return abs(x) if isinstance(x, NUMBERS) else _symbolic("fabs", x)


def floor(x):
    """Largest whole number not above x, as a scalar."""
    return float(np.floor(x)) if isinstance(x, NUMBERS) else _symbolic("floor", x)


def rint(x):
    """Nearest whole number, as a scalar; ties go to the even one (for symbols upward)."""
    return float(np.rint(x)) if isinstance(x, NUMBERS) else _symbolic("floor", x + 0.5)


def minimum(a, b):
    """The smaller of two scalars."""
    both = isinstance(a, NUMBERS) and isinstance(b, NUMBERS)
    return (a if a < b else b) if both else _symbolic("fmin", a, b)


def maximum(a, b):
    """The larger of two scalars."""
    both = isinstance(a, NUMBERS) and isinstance(b, NUMBERS)
    return (a if a > b else b) if both else _symbolic("fmax", a, b)


def copy_sign(x, y):
    """|x| with the sign of y, also where y is a zero."""
    both = isinstance(x, NUMBERS) and isinstance(y, NUMBERS)
    return math.copysign(x, y) if both else _symbolic("copysign", x, y)


def where(condition, a, b):
    """a where the condition holds, else b; both are evaluated."""
    if isinstance(condition, BOOLEANS):
        return a if condition else b
    return _symbolic("if_else", condition, a, b)


def any_(condition):
    """Whether the condition holds in any world."""
    return _decided(condition)


def all_(condition):
    """Whether the condition holds in every world."""
    return _decided(condition)


def needs(condition):
    """Whether a step that changes nothing where the condition is false has to run: if any world needs it.

    For a symbol the answer is yes: the step is then part of the expression.
    """
    return bool(condition) if isinstance(condition, BOOLEANS) else True


def where_needed(condition, a, b):
    """`where`, for a step that `needs` lets run: for a symbol a."""
    return (a if condition else b) if isinstance(condition, BOOLEANS) else a


def happens(condition):
    """Whether a condition that only bad input or rounding fulfils holds in any world; for a symbol no: it has neither."""
    return bool(condition) if isinstance(condition, BOOLEANS) else False


def not_(condition):
    """The opposite condition. Never `~`: ~True is -2 uncompiled."""
    return not condition if isinstance(condition, BOOLEANS) else _symbolic("logic_not", condition)


def zero(x):
    """A zero of x's own scalar type."""
    return 0.0


def shared(x):
    """A number that is known to be the same in all worlds, as one that may steer addresses."""
    return x


def eps(x):
    """The step from 1 to the next number of x's scalar type: 2.2e-16, or 1.2e-7 in single precision."""
    return DOUBLE


def huge(x):
    """A number of x's scalar type beyond all that occur, whose square is one too: 1e150, or 1e18 in single precision."""
    return 1e150


def _decided(condition):
    if not isinstance(condition, BOOLEANS):
        raise TypeError(f"a symbolic condition cannot steer control flow: {condition}")
    return bool(condition)
