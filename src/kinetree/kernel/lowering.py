"""The functions of `ops` compiled: for floats and integers, strict reals, lanes and masks."""

import math

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, overload

from . import elementary, ops
from .scalars import NUMBER, SUFFIX, Lane, Mask, common_lane, declare_on_lanes, declare_on_masks, llvm_type

F64 = types.float64


def _numbers(args):
    return all(isinstance(a, NUMBER) for a in args)


def _declare_on_numbers(function, arity, keeps_integers=False):
    """Typing on plain numbers: float64, or integers where the function keeps them."""

    class Template(AbstractTemplate):
        key = function

        def generic(self, args, kws):
            if len(args) != arity or kws or not _numbers(args):
                return None
            whole = keeps_integers and all(isinstance(a, types.Integer) for a in args)
            t = types.int64 if whole else F64
            return signature(t, *[t] * arity)

    infer_global(function)(Template)


def _vector_intrinsic(context, builder, sig, args, name):
    lane = sig.return_type
    t = llvm_type(lane) if isinstance(lane, Lane) else ir.DoubleType()
    suffix = SUFFIX[lane.dtype] if isinstance(lane, Lane) else "f64"
    if isinstance(lane, Lane) and lane.n > 1:
        suffix = f"v{lane.n}{suffix}"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(t, [t]), f"llvm.{name}.{suffix}")
    return builder.call(function, args)


def _intrinsics():
    """Functions that are one instruction on every machine."""
    for function, name in ((ops.sqrt, "sqrt"), (ops.absolute, "fabs"), (ops.floor, "floor"), (ops.rint, "rint")):

        def lower(context, builder, sig, args, name=name):
            return _vector_intrinsic(context, builder, sig, args, name)

        _declare_on_numbers(function, 1)
        declare_on_lanes(function, 1)
        lower_builtin(function, types.Float)(lower)
        lower_builtin(function, Lane)(lower)


def _extrema():
    for function, symbol in ((ops.minimum, "<"), (ops.maximum, ">")):

        def on_reals(context, builder, sig, args, symbol=symbol):
            return builder.select(builder.fcmp_ordered(symbol, *args), *args)

        def on_integers(context, builder, sig, args, symbol=symbol):
            return builder.select(builder.icmp_signed(symbol, *args), *args)

        _declare_on_numbers(function, 2, keeps_integers=True)
        declare_on_lanes(function, 2)
        lower_builtin(function, types.Float, types.Float)(on_reals)
        lower_builtin(function, Lane, Lane)(on_reals)
        lower_builtin(function, types.Integer, types.Integer)(on_integers)


def _zero():
    _declare_on_numbers(ops.zero, 1)
    declare_on_lanes(ops.zero, 1)
    lower_builtin(ops.zero, types.Float)(lambda context, builder, sig, args: ir.Constant(ir.DoubleType(), 0.0))
    lower_builtin(ops.zero, Lane)(
        lambda context, builder, sig, args: ir.Constant(
            llvm_type(sig.return_type), 0.0 if sig.return_type.n == 1 else None
        )
    )


@infer_global(ops.where)
class Where(AbstractTemplate):
    """Typing of where(): the arms meet in one type; a mask needs at least one arm that is a lane or a mask."""

    def generic(self, args, kws):
        if len(args) != 3 or kws:
            return None
        condition, a, b = args
        lane = common_lane((a, b))
        if isinstance(condition, Mask):
            if any(isinstance(x, Mask) for x in (a, b)):
                return signature(condition, condition, condition, condition)
            if lane is None and _numbers((a, b)):
                raise TypingError("where(mask, number, number) has no lane type: write zero(x) + number for one arm")
            return None if lane is None else signature(lane, condition, lane, lane)
        if isinstance(condition, types.Boolean):
            meeting = lane if lane is not None else self.context.unify_types(a, b)
            return None if meeting is None else signature(meeting, condition, meeting, meeting)
        return None


def _where():
    def lower(context, builder, sig, args):
        return builder.select(*args)

    lower_builtin(ops.where, Mask, types.Any, types.Any)(lower)
    lower_builtin(ops.where, types.Boolean, types.Any, types.Any)(lower)


def _bits(builder, mask):
    return builder.bitcast(mask, ir.IntType(mask.type.count))


def _mask_tests():
    def any_lane(context, builder, sig, args):
        return builder.icmp_unsigned("!=", _bits(builder, args[0]), ir.Constant(ir.IntType(sig.args[0].n), 0))

    def all_lanes(context, builder, sig, args):
        return builder.icmp_unsigned("==", _bits(builder, args[0]), ir.Constant(ir.IntType(sig.args[0].n), -1))

    def opposite(context, builder, sig, args):
        return builder.not_(args[0])

    for function, result, rule in (
        (ops.any_, types.boolean, any_lane),
        (ops.needs, types.boolean, any_lane),
        (ops.happens, types.boolean, any_lane),
        (ops.all_, types.boolean, all_lanes),
        (ops.not_, None, opposite),
    ):
        declare_on_masks(function, 1, result, rule)
    for function in (ops.any_, ops.all_, ops.needs, ops.happens):
        overload(function)(lambda condition: (lambda condition: condition) if _boolean(condition) else None)
    overload(ops.not_)(lambda condition: (lambda condition: not condition) if _boolean(condition) else None)


def _boolean(t):
    return isinstance(t, types.Boolean)


def _elementary():
    """libm where it is as good for single numbers, our own polynomials on lanes: LLVM would call libm once per lane."""
    for function, (libm, by_precision) in elementary.FUNCTIONS.items():
        arity = 2 if function is ops.atan2 else 1
        if libm is not None:
            _through_libm(function, libm, arity)
        choose = _choice_of_one if arity == 1 else _choice_of_two
        overload(function)(choose(by_precision, numbers_too=libm is None))


def _through_libm(function, libm, arity):
    """Numbers and strict reals call the C library."""

    class Template(AbstractTemplate):
        key = function

        def generic(self, args, kws):
            if len(args) != arity or kws:
                return None
            lane = common_lane(args)
            if lane is not None and lane.n == 1:
                return signature(lane, *[lane] * arity)
            return signature(F64, *[F64] * arity) if _numbers(args) else None

    infer_global(function)(Template)

    def lower(context, builder, sig, args):
        t = sig.return_type.dtype if isinstance(sig.return_type, Lane) else F64
        if libm in (math.asin, math.acos):
            args = [_clamped(builder, args[0])]
        return context.get_function(libm, signature(t, *[t] * len(args)))(builder, args)

    lower_builtin(function, *[types.Float] * arity)(lower)
    lower_builtin(function, *[Lane] * arity)(lower)


def _clamped(builder, x):
    """x taken into [-1, 1]."""
    for symbol, bound in ((">", 1.0), ("<", -1.0)):
        limit = ir.Constant(x.type, bound)
        x = builder.select(builder.fcmp_ordered(symbol, x, limit), limit, x)
    return x


def _kernel_for(args, by_precision, numbers_too):
    lane = common_lane(args)
    if lane is not None and (lane.n > 1 or numbers_too):
        return by_precision(lane.dtype)
    return by_precision(F64) if numbers_too and _numbers(args) else None


def _choice_of_one(by_precision, numbers_too):
    def choose(x):
        implementation = _kernel_for((x,), by_precision, numbers_too)
        return None if implementation is None else lambda x: implementation(x)

    return choose


def _choice_of_two(by_precision, numbers_too):
    def choose(y, x):
        implementation = _kernel_for((y, x), by_precision, numbers_too)
        return None if implementation is None else lambda y, x: implementation(y, x)

    return choose


_intrinsics()
_extrema()
_zero()
_where()
_mask_tests()
_elementary()
