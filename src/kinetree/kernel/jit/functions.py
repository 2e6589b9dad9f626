"""The functions of `ops`, and Python's own that kernels may call: what each is on numbers, lanes and masks.

`RULES` maps a function to what compiles a call of it: rule(translator, *values). Those that are written bit by bit are in
`primitives.py`, those about threads and signals in `guard.py`.
"""

from llvmlite import ir

from .. import ops
from . import elementary, guard, raw  # noqa: F401  have rules of their own
from .primitives import RULES, define, intrinsic, scalar_of
from .types import BOOL, F32, F64, FLOAT, I64, INT, KernelError, Lane, Mask, Tuple, Whole, meet
from .values import Value, cast, constant

for _function, _name in ((ops.sqrt, "sqrt"), (ops.absolute, "fabs"), (ops.floor, "floor"), (ops.rint, "rint")):
    define(_function, lambda emit, x, name=_name: intrinsic(emit.builder, name, x))


def rule(function):
    """Decorator: how calls of a function are compiled."""

    def decorate(compile_call):
        RULES[function] = compile_call
        return compile_call

    return decorate


def _extremum(symbol):
    def compile_call(translator, a, b):
        builder, scalar = translator.builder, meet(a.type, b.type)
        whole = scalar == INT or isinstance(scalar, Whole)
        scalar = scalar if whole else scalar_of((a, b))
        x, y = (cast(builder, value, scalar).part for value in (a, b))
        kind = builder.icmp_signed if whole else builder.fcmp_ordered
        return Value(scalar, (builder.select(kind(symbol, x, y), x, y),))

    return compile_call


RULES[ops.minimum], RULES[ops.maximum] = _extremum("<"), _extremum(">")


@rule(ops.zero)
def _zero(translator, x):
    return cast(translator.builder, constant(0.0), scalar_of((x,)))


@rule(ops.shared)
def _shared(translator, x):
    """That of the first lane."""
    scalar, builder = scalar_of((x,)), translator.builder
    if not isinstance(scalar, Lane):
        return cast(builder, x, FLOAT)
    first = x.part if scalar.n == 1 else builder.extract_element(x.part, ir.Constant(I64, 0))
    return Value(FLOAT, (first if scalar.dtype == "float64" else builder.fpext(first, F64),))


def _of_precision(double, single):
    """A rule for a constant that depends on the precision of its argument's type."""

    def compile_call(translator, x):
        scalar = scalar_of((x,))
        narrow = isinstance(scalar, Lane) and scalar.dtype == "float32"
        return cast(translator.builder, constant(single if narrow else double), scalar)

    return compile_call


RULES[ops.eps], RULES[ops.huge] = _of_precision(ops.DOUBLE, ops.SINGLE), _of_precision(1e150, 1e18)


@rule(ops.where_needed)
@rule(ops.where)
def _where(translator, condition, a, b):
    """The arms meet in one type; of two numbers a mask chooses only integers, as they tell not what a lane is."""
    builder, common = translator.builder, meet(a.type, b.type)
    if isinstance(condition.type, Mask):
        if common == BOOL:
            common = condition.type
        if common == INT:
            common = Whole(condition.type.n)
        if not isinstance(common, (Lane, Mask, Whole)):
            raise KernelError("where(mask, number, number) has no lane type: write zero(x) + number for one arm")
    elif condition.type != BOOL or common is None:
        raise KernelError(f"where({condition.type}, {a.type}, {b.type})")
    arms = zip(cast(builder, a, common).parts, cast(builder, b, common).parts, strict=True)
    return Value(common, tuple(builder.select(condition.part, x, y) for x, y in arms))


def _bits(builder, mask):
    return builder.bitcast(mask.part, ir.IntType(mask.type.n))


def _of_lanes(symbol, wanted):
    def compile_call(translator, mask):
        if isinstance(mask.type, Mask):
            all_bits = ir.Constant(ir.IntType(mask.type.n), wanted)
            return Value(BOOL, (translator.builder.icmp_unsigned(symbol, _bits(translator.builder, mask), all_bits),))
        return _condition(mask)

    return compile_call


def _condition(x):
    if x.type != BOOL and not isinstance(x.type, Mask):
        raise KernelError(f"a value of type {x.type} is no condition")
    return x


RULES[ops.any_] = RULES[ops.needs] = RULES[ops.happens] = _of_lanes("!=", 0)
RULES[ops.all_] = _of_lanes("==", -1)


@rule(ops.not_)
def _not(translator, x):
    return Value(_condition(x).type, (translator.builder.not_(x.part),))


@rule(int)
def _int(translator, x):
    if x.type == FLOAT or (isinstance(x.type, Lane) and x.type.n == 1):
        return Value(INT, (translator.builder.fptosi(x.part, I64),))
    return cast(translator.builder, x, INT)


@rule(float)
def _float(translator, x):
    return cast(translator.builder, x, FLOAT)


@rule(len)
def _len(translator, x):
    if not isinstance(x.type, Tuple):
        raise KernelError(f"a value of type {x.type} has no length")
    return constant(len(x.type.items))


def _clamped(builder, x):
    """x taken into [-1, 1]."""
    for symbol, bound in ((">", 1.0), ("<", -1.0)):
        limit = ir.Constant(x.type, bound)
        x = builder.select(builder.fcmp_ordered(symbol, x, limit), limit, x)
    return x


def _elementary(libm, by_precision):
    """libm where it is as good for single numbers, our own polynomials on lanes: LLVM would call libm once per lane."""

    def compile_call(translator, *given):
        builder, scalar = translator.builder, scalar_of(given)
        args = [cast(builder, x, scalar) for x in given]
        dtype = scalar.dtype if isinstance(scalar, Lane) else "float64"
        if libm is None or (isinstance(scalar, Lane) and scalar.n > 1):
            return translator.call(by_precision(dtype), args)
        t, symbol = (F64, libm) if dtype == "float64" else (F32, f"{libm}f")
        parts = [x.part for x in args]
        if libm in ("asin", "acos"):
            parts = [_clamped(builder, *parts)]
        declared = builder.module.globals.get(symbol) or ir.Function(
            builder.module, ir.FunctionType(t, [t] * len(parts)), symbol
        )
        return Value(scalar, (builder.call(declared, parts),))

    return compile_call


for _function, (_libm, _kernels) in elementary.FUNCTIONS.items():
    RULES[_function] = _elementary(_libm, _kernels)
